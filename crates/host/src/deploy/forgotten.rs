//! Directories of programs that nobody uses any more: their guard was killed with everything else of the run.

use super::{DIRECTORIES, PATIENCE};
use crate::reach::{Reach, quote};

/// `space`: this boot of the host and this namespace of processes, as [`plimsoll_process::space`] has it.
pub(super) const SPACE: &str = r#"
space() {
    space=$(ls -l /proc/self/ns/pid 2>/dev/null)
    echo "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) ${space##* }"
}
"#;

/// Looks at each directory of this user in which a program was deployed and whose name is in no command line:
/// neither its guard nor its program runs here. It is removed if they would run here, or in a space that has
/// ended. The first namespace sees the processes of all others. Where others can exchange names, and where the shell
/// cannot read its own command line, nothing is removed.
const LOOK: &str = r#"
ended=ENDED
own=$(space)
boot=${own%% *}
sees=$(tr '\0' ' ' <"/proc/$$/cmdline" 2>/dev/null)
would_be_here() {
    [ -n "$1" ] && [ -n "$boot" ] && [ -n "$sees" ] || return 1
    case $ended in *"|$1|"*) return 0 ;; esac
    [ "$1" = "$own" ] || { [ "$own" = "$boot pid:[4026531836]" ] && [ "${1%% *}" = "$boot" ]; }
}
for above in DIRECTORIES; do
    safe=y
    enter_below "$above" sticky || { safe=; cd -P "$above" || continue; }
    for d in ./plimsoll-????????????????; do
        name=${d#./}
        case ${name#plimsoll-} in *[!0-9a-f]*) continue ;; esac
        [ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] || continue
        used=
        for p in /proc/[0-9]*; do
            case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *"$name"*) used=y; break ;; esac
        done
        [ -z "$used" ] || continue
        place=$(pwd -P)/$name
        if [ -n "$safe" ] && would_be_here "$(cat "$d/owner")" && rm -rf "$d"; then
            echo "removed $place"
        else
            echo "kept $place"
        fi
    done
done 2>/dev/null
true"#;

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
    let functions = crate::private_dir::FUNCTIONS;
    let ended = quote(&format!("|{}|", ended.join("|")));
    let look = LOOK.replace("ENDED", &ended).replace("DIRECTORIES", &DIRECTORIES.join(" "));
    let look = format!("LC_ALL=C; export LC_ALL\n{functions}{SPACE}{look}");
    let Ok(output) = reach.run(&look, b"", PATIENCE) else { return Forgotten::default() };
    let text = String::from_utf8_lossy(&output.output);
    let all = |word: &str| text.lines().filter_map(|line| path(line.strip_prefix(word)?)).collect();
    Forgotten { removed: all("removed "), kept: all("kept ") }
}

/// A path; `None` of one that is no directory of ours.
fn path(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once("/plimsoll-")?;
    let is_ours = name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit());
    (path.starts_with('/') && is_ours && !path.contains(char::is_control)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::RemoteDir;
    use crate::probe::BUNDLE;
    use crate::reach::{Channel, Local, Output};
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

    /// What kill -9 of everything left in /dev/shm was named by nothing.
    #[test]
    fn a_directory_without_its_guard_is_found_and_one_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let below = |name: &str| home.path().join(name);
        let left = |number: u8, owner: Option<&str>| {
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
        let dead = [left(0, Some(&own)), left(1, Some(&gone))];
        let unknown = [left(2, None), left(3, Some("another-boot pid:[4026531836]"))];
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
        let found = forgotten(&At(home.path(), ""), &["x".into(), gone]);
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
        let own = left(4, Some(&own));
        let found = forgotten(&At(home.path(), ""), &[]);
        assert!(own.exists() && own_of(found.removed).is_empty());
        assert_eq!(own_of(found.kept).len(), 3);
    }

    /// The first namespace of processes sees all others; from within another one nothing is known of the first.
    #[test]
    fn what_another_namespace_left_is_removed_from_where_its_processes_could_be_seen() {
        const FIRST: &str = "pid:[4026531836]";
        let own = plimsoll_process::space();
        if !own.ends_with(FIRST) {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("plimsoll-0123456789abcdef");
        create_dir(&place).unwrap();
        write(place.join("owner"), own.replace(FIRST, "pid:[17]")).unwrap();
        forgotten(&At(home.path(), ""), &[]);
        assert!(!place.exists());
    }

    #[test]
    fn where_command_lines_cannot_be_read_nothing_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("plimsoll-0123456789abcdef");
        create_dir(&place).unwrap();
        write(place.join("owner"), plimsoll_process::space()).unwrap();
        let found = forgotten(&At(home.path(), "tr() { return 127; }"), &[]);
        assert!(place.exists() && found.removed.is_empty(), "{found:?}");
        forgotten(&At(home.path(), ""), &[]);
        assert!(!place.exists());
    }

    #[test]
    fn only_directories_of_ours_are_named() {
        let ours = "/dev/shm/plimsoll-0123456789abcdef";
        assert_eq!(path(ours).as_deref(), Some(ours));
        for line in [
            "/etc",
            "dev/shm/plimsoll-0123456789abcdef",
            "/dev/shm/plimsoll-0123456789abcde",
            "/dev/\u{1b}shm/plimsoll-0123456789abcdef",
        ] {
            assert_eq!(path(line), None, "{line:?}");
        }
    }
}
