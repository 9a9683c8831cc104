//! Directories of programs that nobody uses any more: their guard was killed with everything else of the run.
//!
//! The rules are those of `shell.rs`, which looks on hosts. On this machine the same is done without a shell
//! (`here.rs`): every run looks, and starting programs would cost more than it finds.

mod here;
mod shell;

pub(super) use shell::SPACE;

use crate::Reach;

/// Directories of programs that killed runs left on a host, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Removed just now: nothing can use them any more.
    pub removed: Vec<String>,
    /// Not removed: processes that cannot be seen may use them, as those of another container, or others can
    /// exchange names there.
    pub kept: Vec<String>,
}

/// Removes what killed runs left on a host; `ended` are the spaces ([`plimsoll_process::space`]) whose processes
/// have all ended. Empty also where the host does not say.
pub fn forgotten(reach: &dyn Reach, ended: &[String]) -> Forgotten {
    match reach.is_here() {
        true => here::look(&here::places(), ended, here::command_line),
        false => shell::look(reach, ended),
    }
}

/// Whether a directory has the name of one for a program.
fn is_ours(name: &str) -> bool {
    let digits = name.strip_prefix("plimsoll-").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::RemoteDir;
    use crate::probe::BUNDLE;
    use crate::{Channel, Local, Output, quote};
    use plimsoll_model::Failure;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// This machine with another HOME, and with other commands by functions of the shell.
    struct At<'a>(&'a Path, &'a str);

    impl Reach for At<'_> {
        fn name(&self) -> &str {
            "local"
        }
        fn run(&self, text: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
            let home = quote(self.0.to_str().unwrap());
            Local.run(&format!("HOME={home}\n{}\n{text}", self.1), input, limit)
        }
        fn open(&self, text: &str) -> Result<Box<dyn Channel>, Failure> {
            Local.open(text)
        }
    }

    /// A look at one place of this machine, where command lines can be read or not.
    type Look = fn(&Path, &[String], bool) -> Forgotten;

    /// The shell's, and the one without a shell.
    const LOOKS: [Look; 2] = [
        |home, ended, sees| {
            let functions = if sees { "" } else { "tr() { return 127; }" };
            forgotten(&At(home, functions), ended)
        },
        |home, ended, sees| {
            let lines: fn(&str) -> Vec<u8> = if sees { here::command_line } else { |_| Vec::new() };
            here::look(&[home.to_owned()], ended, lines)
        },
    ];

    /// What kill -9 of everything left in /dev/shm was named by nothing.
    #[test]
    fn a_directory_without_its_guard_is_found_and_one_in_use_is_not() {
        LOOKS.into_iter().for_each(finds_those_without_a_guard);
    }

    fn finds_those_without_a_guard(look: Look) {
        let home = tempfile::tempdir().unwrap();
        let below = |name: &str| home.path().join(name);
        let leftover = |number: u8, owner: Option<&str>| {
            let place = below(&format!("plimsoll-0123456789abcde{number}"));
            create_dir(&place).unwrap();
            write(place.join("plimsoll-runner"), "").unwrap();
            if let Some(owner) = owner {
                write(place.join("owner"), format!("{owner}\n")).unwrap();
            }
            place
        };
        let (own, boot) = (plimsoll_process::space(), plimsoll_process::boot());
        let gone = format!("{boot} pid:[17]");
        let dead = [leftover(0, Some(&own)), leftover(1, Some(&gone))];
        let unknown = [leftover(2, None), leftover(3, Some("another-boot pid:[4026531836]"))];
        for other in ["plimsoll-0123456789abcdeX", "plimsoll-notes", "music-0123456789abcdef"] {
            create_dir(below(other)).unwrap();
        }
        std::os::unix::fs::symlink("/tmp", below("plimsoll-00000000000000ff")).unwrap();
        let Ok(mut used) = RemoteDir::make(&Local, BUNDLE, &quote(home.path().to_str().unwrap()))
        else {
            panic!("a directory in use")
        };
        let here = home.path().canonicalize().unwrap();
        let own_of = |found: Vec<String>| -> Vec<PathBuf> {
            let mut own: Vec<PathBuf> = found.into_iter().map(PathBuf::from).collect();
            own.retain(|path| path.starts_with(&here));
            own.sort();
            own
        };
        let found = look(home.path(), &["x".into(), gone], true);
        assert_eq!(
            own_of(found.removed),
            dead.each_ref().map(|p| here.join(p.file_name().unwrap()))
        );
        assert_eq!(
            own_of(found.kept),
            unknown.each_ref().map(|p| here.join(p.file_name().unwrap()))
        );
        assert!(dead.iter().all(|path| !path.exists()) && unknown.iter().all(|path| path.exists()));
        assert!(Path::new(&used.directory).join("owner").exists());
        used.remove(&Local).unwrap();

        // Others can exchange names there.
        set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
        let own = leftover(4, Some(&own));
        let found = look(home.path(), &[], true);
        assert!(own.exists() && own_of(found.removed).is_empty());
        assert_eq!(own_of(found.kept).len(), 3);
    }

    /// A user without HOME, such as a service, was looked for nowhere.
    #[test]
    fn without_home_the_other_places_are_looked_at() {
        let there = tempfile::tempdir().unwrap();
        let place = there.path().canonicalize().unwrap().join("plimsoll-0123456789abcdef");
        create_dir(&place).unwrap();
        write(place.join("owner"), format!("{}\n", plimsoll_process::space())).unwrap();
        // What others have in the real places is theirs.
        let tmp = quote(there.path().to_str().unwrap());
        let functions = format!(
            "unset HOME\ncd() {{ case $2 in /tmp) command cd -P {tmp} ;; /*) return 1 ;; \
             *) command cd \"$@\" ;; esac; }}"
        );
        let found = forgotten(&At(there.path(), &functions), &[]);
        assert_eq!(found.removed, [place.to_str().unwrap()]);
        assert!(!place.exists());
    }

    /// The first namespace of processes sees all others; from within another one nothing is known of the first.
    #[test]
    fn what_another_namespace_left_is_removed_from_where_its_processes_could_be_seen() {
        const FIRST: &str = "pid:[4026531836]";
        let own = plimsoll_process::space();
        if !own.ends_with(FIRST) {
            return;
        }
        for look in LOOKS {
            let home = tempfile::tempdir().unwrap();
            let place = home.path().join("plimsoll-0123456789abcdef");
            create_dir(&place).unwrap();
            write(place.join("owner"), own.replace(FIRST, "pid:[17]")).unwrap();
            look(home.path(), &[], true);
            assert!(!place.exists());
        }
    }

    #[test]
    fn where_command_lines_cannot_be_read_nothing_is_removed() {
        for look in LOOKS {
            let home = tempfile::tempdir().unwrap();
            let place = home.path().join("plimsoll-0123456789abcdef");
            create_dir(&place).unwrap();
            write(place.join("owner"), plimsoll_process::space()).unwrap();
            let found = look(home.path(), &[], false);
            assert!(place.exists() && found.removed.is_empty(), "{found:?}");
            look(home.path(), &[], true);
            assert!(!place.exists());
        }
    }

    /// Somebody puts a link or a pipe in the place of the owner's note: nothing is followed, and nothing waits.
    #[test]
    fn a_note_that_is_no_file_of_this_user_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("plimsoll-0123456789abcdef");
        create_dir(&place).unwrap();
        write(home.path().join("note"), plimsoll_process::space()).unwrap();
        let owner = place.join("owner");
        std::os::unix::fs::symlink("../note", &owner).unwrap();
        let look = || here::look(&[home.path().to_owned()], &[], here::command_line);
        assert_eq!(look().kept.len(), 1);
        std::fs::remove_file(&owner).unwrap();
        nix::unistd::mkfifo(&owner, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(look().kept.len(), 1);
        assert!(place.exists());
    }

    /// A link that lies in the directory is removed, and where it leads stays.
    #[test]
    fn what_links_lead_to_is_not_removed() {
        for look in LOOKS {
            let home = tempfile::tempdir().unwrap();
            let (place, films) =
                (home.path().join("plimsoll-0123456789abcdef"), home.path().join("films"));
            create_dir(&place).unwrap();
            create_dir(&films).unwrap();
            write(films.join("one"), "precious").unwrap();
            std::os::unix::fs::symlink(&films, place.join("link")).unwrap();
            write(place.join("owner"), plimsoll_process::space()).unwrap();
            look(home.path(), &[], true);
            assert!(!place.exists() && films.join("one").exists());
        }
    }
}
