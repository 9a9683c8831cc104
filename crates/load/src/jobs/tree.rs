//! Trees of names of our own making: `d000001/f000001` below a directory of the run. No name in them is
//! the user's, so what is left of them is distinguishable from everything else and can be removed.

use crate::dataset::shape;
use crate::entry::{Entry, EntryKind};
use crate::random::mix;
use crate::share::Namespace;
use plimsoll_model::Failure;

/// Trees are no deeper: what is, is not ours.
const DEEPEST: usize = 32;

/// What the name of a tree begins with, by what it is for.
pub(super) const SCAN: &str = "scan-";
/// The same of what operations are tried on.
pub(super) const OPERATIONS: &str = "operations-";
/// The same of databases.
pub(super) const DATABASE: &str = "database-";
/// The same of copies.
pub(super) const COPY: &str = "copy-";

/// What temporary names end with.
const TEMPORARY: &str = ".new";

/// The name of a directory of a tree, from 0.
pub(super) fn directory(number: usize) -> String {
    format!("d{number:06}")
}

/// The name of a file, from 0.
pub(super) fn file(number: usize) -> String {
    format!("f{number:06}")
}

/// The name of a file, from 0, as long as names of source files are: `f000001_rxqk.c`. What follows the
/// number depends on it alone, so that it can be told from a name of the user's.
pub(super) fn long_file(number: usize) -> String {
    let drawn = mix(number as u64);
    let share = (drawn >> 32) as f64 / f64::from(u32::MAX);
    let length = shape::at(shape::NAMES, share).round() as usize;
    let mut name = file(number);
    while name.len() + 2 < length {
        let letter = mix(drawn ^ name.len() as u64) % 26;
        name.push(if name.len() == 7 { '_' } else { char::from(b'a' + letter as u8) });
    }
    name.push_str(if drawn.is_multiple_of(5) { ".h" } else { ".c" });
    name
}

/// The name that a file of this name has while it is copied as rsync copies: in the same directory, but
/// without rsync's dot at its beginning, because some servers refuse such names (`veto files` of Samba).
pub(super) fn temporary(name: &str) -> String {
    format!("{name}{TEMPORARY}")
}

/// The name within one that a file has while it is copied: by plimsoll (`name.new`; earlier versions
/// `.name.new`) or by rsync (`.name.x3Yz1Q`).
fn within_temporary(name: &str) -> Option<&str> {
    let hidden = name.strip_prefix('.');
    if let Some(name) = hidden.unwrap_or(name).strip_suffix(TEMPORARY) {
        return Some(name);
    }
    let (name, ending) = hidden?.rsplit_once('.')?;
    (ending.len() == 6 && ending.bytes().all(|b| b.is_ascii_alphanumeric())).then_some(name)
}

/// Whether this is the name of a file of ours.
fn is_file(name: &str) -> bool {
    let name = within_temporary(name).unwrap_or(name);
    let digits = name.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    match name.split_at_checked(1 + digits) {
        Some((short, "")) => number('f', short).is_some(),
        Some((short, _)) => number('f', short).is_some_and(|number| long_file(number) == name),
        None => false,
    }
}

/// The number in a name that begins with this letter.
pub(super) fn number(letter: char, name: &str) -> Option<usize> {
    let digits = name.strip_prefix(letter)?;
    (digits.len() >= 6 && all_digits(digits)).then(|| digits.parse().ok())?
}

/// Whether an entry of a run's directory is a tree of ours.
pub fn is_tree(entry: &Entry) -> bool {
    let rest =
        [SCAN, OPERATIONS, DATABASE, COPY].into_iter().find_map(|of| entry.name.strip_prefix(of));
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
    remove_below(names, tree, 0, progress, &mut foreign)?;
    Ok(foreign)
}

fn remove_below(
    names: &mut dyn Namespace,
    directory: &str,
    depth: usize,
    progress: &mut dyn FnMut(),
    foreign: &mut Vec<String>,
) -> Result<(), Failure> {
    let before = foreign.len();
    for entry in names.list(directory)? {
        let path = format!("{directory}/{}", entry.name);
        let is_directory = number('d', &entry.name).is_some() && depth < DEEPEST;
        match entry.kind {
            EntryKind::Directory if is_directory => {
                remove_below(names, &path, depth + 1, progress, foreign)?;
            }
            EntryKind::File if depth > 0 && is_file(&entry.name) => {
                names.remove_file(&path)?;
                progress();
            }
            _ => foreign.push(path),
        }
    }
    if foreign.len() == before {
        names.remove_directory(directory)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Space;
    use crate::memory::Memory;

    fn entry(name: &str, kind: EntryKind) -> Entry {
        Entry { name: name.to_owned(), kind }
    }

    #[test]
    fn only_exact_names_are_ours() {
        for name in ["scan-0", "operations-3", "database-2", "copy-12-345"] {
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
        let long = long_file(7);
        let (temporary, by_rsync) = (temporary(&long), format!(".{long}.x3Yz1Q"));
        let (hidden, plain) = (format!(".{long}.new"), format!("{}.new", file(7)));
        assert!(!temporary.starts_with('.'), "a server may refuse it: {temporary}");
        for name in
            [&file(7), &long, &long_file(12_345_678), &temporary, &hidden, &plain, &by_rsync]
        {
            assert!(is_file(name), "{name}");
        }
        for name in ["f00000", "f000007_holiday.jpg", "f000007.txt", "f", "\u{e9}000007", "d000007"]
        {
            assert!(!is_file(name), "{name}");
        }
        for ending in [".x3Yz1", ".x3Yz1Q7", ".x3Y-1Q", ".new.new", ".newer"] {
            assert!(!is_file(&format!("{long}{ending}")), "{ending}");
            assert!(!is_file(&format!(".{long}{ending}")), "{ending}");
        }
        assert!(!is_file("holiday.new") && !is_file(".new"));
        assert!(!is_file(&long.replace("f000007", "f000008")), "of another number");
    }

    #[test]
    fn long_names_are_as_long_as_those_of_sources_and_differ() {
        let names: Vec<String> = (0..20_000).map(long_file).collect();
        let mean = names.iter().map(String::len).sum::<usize>() as f64 / names.len() as f64;
        assert!((12.0..14.5).contains(&mean), "{mean}");
        assert!(names.iter().all(|name| (9..=60).contains(&name.len())));
        let safe = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_.".contains(&c);
        assert!(names.iter().all(|name| name.bytes().all(safe)));
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    }

    /// Directories in directories; and a server that shows more levels than there can be.
    #[test]
    fn trees_are_removed_level_by_level() {
        let mut names = Memory::new(Space::default());
        let mut deep = "run/copy-0-0".to_owned();
        names.make_directory("run").unwrap();
        names.make_directory(&deep).unwrap();
        for level in 0..DEEPEST {
            deep = format!("{deep}/{}", directory(level));
            names.make_directory(&deep).unwrap();
            names.create(&format!("{deep}/{}", long_file(level))).unwrap();
        }
        let too_deep = format!("{deep}/{}", directory(DEEPEST));
        names.make_directory(&too_deep).unwrap();
        let mut remove = || remove_tree(&mut names, "run/copy-0-0", &mut || {}).unwrap();
        assert_eq!(remove(), [too_deep.as_str()]);
        names.remove_directory(&too_deep).unwrap();
        assert_eq!(remove_tree(&mut names, "run/copy-0-0", &mut || {}).unwrap(), [""; 0]);
        assert_eq!(names.paths(), ["run"]);
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
