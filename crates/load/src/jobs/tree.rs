//! Trees of names of our own making: `d000001/f000001` below a directory of the run. No name in them is
//! the user's, so what is left of them is distinguishable from everything else and can be removed.

use crate::share::{Entry, EntryKind, Namespace};
use plimsoll_model::Failure;

/// What the name of a tree begins with, by what it is for.
pub(super) const SCAN: &str = "scan-";
/// The same of copies.
pub(super) const COPY: &str = "copy-";

/// The name of a directory of a tree, from 0.
pub(super) fn directory(number: usize) -> String {
    format!("d{number:06}")
}

/// The name of a file, from 0.
pub(super) fn file(number: usize) -> String {
    format!("f{number:06}")
}

/// The number in a name that begins with this letter.
pub(super) fn number(letter: char, name: &str) -> Option<usize> {
    let digits = name.strip_prefix(letter)?;
    (digits.len() >= 6 && all_digits(digits)).then(|| digits.parse().ok())?
}

/// Whether an entry of a run's directory is a tree of ours.
pub fn is_tree(entry: &Entry) -> bool {
    let rest = entry.name.strip_prefix(SCAN).or_else(|| entry.name.strip_prefix(COPY));
    let is_ours = |rest: &str| rest.split('-').all(all_digits);
    entry.kind == EntryKind::Directory && rest.is_some_and(is_ours)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Removes a tree with all that is ours in it; returns the paths of what is not, which stays, and
/// the directories that it is in with it. `progress` is called now and then.
pub fn remove_tree(
    names: &mut dyn Namespace,
    tree: &str,
    progress: &mut dyn FnMut(),
) -> Result<Vec<String>, Failure> {
    let mut foreign = Vec::new();
    for entry in names.list(tree)? {
        let path = format!("{tree}/{}", entry.name);
        if entry.kind != EntryKind::Directory || number('d', &entry.name).is_none() {
            foreign.push(path);
            continue;
        }
        let before = foreign.len();
        for file in names.list(&path)? {
            let below = format!("{path}/{}", file.name);
            if file.kind != EntryKind::File || number('f', &file.name).is_none() {
                foreign.push(below);
                continue;
            }
            names.remove_file(&below)?;
            progress();
        }
        if foreign.len() == before {
            names.remove_directory(&path)?;
        }
    }
    if foreign.is_empty() {
        names.remove_directory(tree)?;
    }
    Ok(foreign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::share::Space;

    fn entry(name: &str, kind: EntryKind) -> Entry {
        Entry { name: name.to_owned(), kind }
    }

    #[test]
    fn only_exact_names_are_ours() {
        for name in ["scan-0", "copy-12-345"] {
            assert!(is_tree(&entry(name, EntryKind::Directory)), "{name}");
            assert!(!is_tree(&entry(name, EntryKind::File)), "{name}");
        }
        for name in ["scan-", "scan", "copy-1-", "copy-1/..", "copy--1", "copy-x", "my-copy-1"] {
            assert!(!is_tree(&entry(name, EntryKind::Directory)), "{name}");
        }
        assert_eq!(number('d', &directory(7)), Some(7));
        assert_eq!(number('f', &file(12_345_678)), Some(12_345_678));
        for name in ["d1", "f000001", "d00000x", "d", "D000001", "d+00001"] {
            assert_eq!(number('d', name), None, "{name}");
        }
    }

    #[test]
    fn what_is_not_ours_stays_with_the_directories_it_is_in() {
        let mut names = Memory::new(Space::default());
        for directory in ["run", "run/copy-0-1", "run/copy-0-1/d000000", "run/copy-0-1/d000001"] {
            names.make_directory(directory).unwrap();
        }
        for file in ["d000000/f000000", "d000000/f000001", "d000001/f000002", "d000001/holiday"] {
            names.create(&format!("run/copy-0-1/{file}")).unwrap();
        }
        let mut removed = 0;
        let left = remove_tree(&mut names, "run/copy-0-1", &mut || removed += 1).unwrap();
        assert_eq!((left, removed), (vec!["run/copy-0-1/d000001/holiday".to_owned()], 3));
        let holiday = "run/copy-0-1/d000001/holiday";
        assert_eq!(names.paths(), ["run", "run/copy-0-1", "run/copy-0-1/d000001", holiday]);
        names.remove_file(holiday).unwrap();
        assert_eq!(remove_tree(&mut names, "run/copy-0-1", &mut || {}).unwrap(), [""; 0]);
        assert_eq!(names.paths(), ["run"]);
    }
}
