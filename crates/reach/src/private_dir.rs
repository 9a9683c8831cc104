//! Directories on a host in which nobody but the login's user can exchange anything: functions of
//! POSIX shell, for commands through [`crate::Reach`].
//!
//! A directory that is tested by its name may be another one when it is used. So it is entered
//! first (`cd -P`), and `.` is tested, with every directory above it: where others can write to one
//! of them, they can put a link or a directory of their own in the place of what was tested. Only
//! `sh`, `ls` and `test` are needed, which BusyBox has in every configuration.
//!
//! `is_closed` has the same rule for a directory of this machine, without a shell.

use crate::open_directory::{OpenDirectory, is_own};
use nix::fcntl::OFlag;
use std::io;
use std::os::unix::fs::MetadataExt;

/// `closed`: nobody but the login's user and the system can change what is in the current
/// directory. The system's own is the owner of `/`: in a user namespace that is not user 0.
///
/// `enter_below DIRECTORY [sticky]`: enters a directory if that holds for it and for all above it.
/// With `sticky`, directories such as /tmp will do too: others can make names in them, but not
/// exchange those of the login's user. What is made there has to be made newly, as by mkdir.
///
/// `enter_own NAME`: enters a directory of the login's user in the current one, which has been
/// entered by `enter_below`. Nothing is changed about one that is there.
pub const FUNCTIONS: &str = r#"
system=$(set -- $(ls -ldn /); echo "$3")
closed() {
    set -- "$1" $(ls -ldn .)
    case $1:$2 in
        *:d????-??-*) ;;
        sticky:d????????[tT]*) ;;
        *) return 1 ;;
    esac
    [ -O . ] || [ "$4" = 0 ] || [ "$4" = "$system" ]
}
enter_below() {
    cd -P "$1" 2>/dev/null || return 1
    (
        steps=0
        while closed "$2"; do
            [ "$(pwd -P)" != / ] || exit 0
            steps=$((steps + 1))
            [ "$steps" -lt 64 ] && cd -P .. || exit 1
        done
        exit 1
    )
}
enter_own() {
    [ -d "./$1" ] && [ ! -L "./$1" ] && cd -P "./$1" 2>/dev/null && [ -O . ] && closed no
}
"#;

/// Most directories above one that are looked at.
const DEEPEST: usize = 64;

/// Whether nobody but this user and the system can exchange what is this user's in a directory, nor one of the
/// directories above it: where `enter_below DIRECTORY sticky` enters.
pub(crate) fn is_closed(directory: &OpenDirectory) -> io::Result<bool> {
    let system = std::fs::metadata("/")?.uid();
    let mut above = OpenDirectory::open(&directory.path(), OFlag::O_PATH)?;
    for _ in 0..DEEPEST {
        let about = above.metadata()?;
        let others_exchange = about.mode() & 0o022 != 0 && about.mode() & 0o1000 == 0;
        let trusted = is_own(&about) || about.uid() == 0 || about.uid() == system;
        if others_exchange || !trusted {
            return Ok(false);
        }
        let next = OpenDirectory::open(&above.path().join(".."), OFlag::O_PATH)?;
        let same = next.metadata()?;
        if (same.dev(), same.ino()) == (about.dev(), about.ino()) {
            return Ok(true);
        }
        above = next;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, is_closed};
    use crate::open_directory::OpenDirectory;
    use nix::fcntl::OFlag;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::Path;
    use std::process::Command;

    /// The shells that hosts have, as far as they are here.
    fn shells() -> Vec<Vec<&'static str>> {
        let all = [vec!["sh"], vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"]];
        let runs = |shell: &Vec<&str>| {
            let run = Command::new(shell[0]).args(&shell[1..]).args(["-c", "exit 0"]).output();
            run.is_ok_and(|output| output.status.success())
        };
        all.into_iter().filter(runs).collect()
    }

    /// Whether all shells agree to do it.
    #[track_caller]
    fn does(text: &str, base: &Path) -> bool {
        let run = |shell: Vec<&str>| {
            let text = format!("{FUNCTIONS}{text}");
            let mut command = Command::new(shell[0]);
            command.args(&shell[1..]).args(["-c", &text]).current_dir(base);
            command.status().unwrap().success()
        };
        let mut answers: Vec<bool> = shells().into_iter().map(run).collect();
        answers.dedup();
        assert_eq!(answers.len(), 1, "shells differ: {text}");
        answers[0]
    }

    /// Whether a directory is one that all shells enter and that counts as closed without a shell.
    #[track_caller]
    fn enters(name: &str, base: &Path) -> bool {
        let shells = does(&format!("enter_below ./{name} sticky"), base);
        let held = OpenDirectory::open(&base.join(name), OFlag::empty());
        let here = held.is_ok_and(|held| is_closed(&held).unwrap());
        assert_eq!(shells, here, "{name}");
        here
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn directories_that_others_can_exchange_are_not_entered() {
        let base = tempfile::tempdir().unwrap();
        let [above, own] = ["above", "above/own"].map(|name| base.path().join(name));
        fs::create_dir_all(&own).unwrap();
        mode(&own, 0o700);
        // The directory for temporary files is one that all can write to, with the sticky bit.
        for (bits, will) in [(0o755, true), (0o700, true), (0o775, false), (0o757, false)] {
            mode(&above, bits);
            assert_eq!(enters("above", base.path()), will, "{bits:o}");
        }
        mode(&above, 0o1777);
        assert!(enters("above", base.path()));
        assert!(!does("enter_below ./above", base.path()), "nor below one with the sticky bit");
        assert!(!enters("none", base.path()));
        // What is below it is no better.
        assert!(enters("above/own", base.path()));
        mode(&above, 0o777);
        assert!(!enters("above/own", base.path()));
        mode(&above, 0o755);
        let enter = "enter_below ./above sticky && enter_own own && [ \"${PWD##*/}\" = own ]";
        for (bits, will) in [(0o700, true), (0o755, true), (0o770, false), (0o1777, false)] {
            mode(&own, bits);
            assert_eq!(does(enter, base.path()), will, "{bits:o}");
            assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o7777, bits);
        }
        mode(&own, 0o700);
        symlink("own", above.join("link")).unwrap();
        fs::write(above.join("file"), "").unwrap();
        for name in ["link", "file", "none"] {
            let text = format!("enter_below ./above sticky && enter_own {name}");
            assert!(!does(&text, base.path()), "{name}");
        }
        if nix::unistd::geteuid().is_root() && chown(&own, Some(12345), None).is_ok() {
            assert!(!does(enter, base.path()), "another user's");
            assert!(!enters("above/own", base.path()), "another user's");
        }
    }
}
