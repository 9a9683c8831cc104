//! Directories of programs that nobody uses any more: their guard was killed with everything else of the run.

use super::{DIRECTORIES, PATIENCE};
use crate::reach::Reach;

/// Prints each directory of this user in which a program was deployed and whose name is in no command line: neither
/// its guard nor its program runs. Of what another container runs the host's shell sees nothing, so none is removed.
const LOOK: &str = r#"
for above in DIRECTORIES; do
    cd -P "$above" 2>/dev/null || continue
    for d in ./plimsoll-????????????????; do
        name=${d#./}
        case ${name#plimsoll-} in *[!0-9a-f]*) continue ;; esac
        [ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] || continue
        used=
        for p in /proc/[0-9]*; do
            case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *"$name"*) used=y; break ;; esac
        done
        [ -n "$used" ] || echo "forgotten $(pwd -P)/$name"
    done
done 2>/dev/null
true"#;

/// The directories on a host that programs were deployed to and that nobody uses any more, by their paths. Empty
/// also where the host does not say.
pub fn forgotten(reach: &dyn Reach) -> Vec<String> {
    let look = LOOK.replace("DIRECTORIES", &DIRECTORIES.join(" "));
    let Ok(output) = reach.run(&look, b"", PATIENCE) else { return Vec::new() };
    String::from_utf8_lossy(&output.output).lines().filter_map(path).collect()
}

/// The path in a line; `None` of one that is no directory of ours.
fn path(line: &str) -> Option<String> {
    let path = line.strip_prefix("forgotten ")?;
    let (_, name) = path.rsplit_once("/plimsoll-")?;
    let is_ours = name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit());
    (path.starts_with('/') && is_ours && !path.contains(char::is_control)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::RemoteDir;
    use crate::probe::BUNDLE;
    use crate::reach::{Channel, Local, Output, quote};
    use plimsoll_model::Failure;
    use std::fs::{create_dir, write};
    use std::path::Path;
    use std::time::Duration;

    /// This machine with another HOME.
    struct At<'a>(&'a Path);

    impl Reach for At<'_> {
        fn name(&self) -> &str {
            "local"
        }
        fn run(&self, text: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
            Local.run(&format!("HOME={}\n{text}", quote(self.0.to_str().unwrap())), input, limit)
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
        let left = below("plimsoll-0123456789abcdef");
        create_dir(&left).unwrap();
        write(left.join("plimsoll-runner"), "").unwrap();
        for other in ["plimsoll-0123456789abcdeX", "plimsoll-notes", "music-0123456789abcdef"] {
            create_dir(below(other)).unwrap();
        }
        std::os::unix::fs::symlink("/tmp", below("plimsoll-00000000000000ff")).unwrap();
        let Ok(mut used) = RemoteDir::make(&Local, BUNDLE, &quote(home.path().to_str().unwrap()))
        else {
            panic!("a directory in use")
        };
        let here = home.path().canonicalize().unwrap();
        let found = forgotten(&At(home.path()));
        let found: Vec<&String> =
            found.iter().filter(|f| Path::new(f).starts_with(&here)).collect();
        assert_eq!(found, [here.join("plimsoll-0123456789abcdef").to_str().unwrap()]);
        used.remove(&Local).unwrap();
    }

    #[test]
    fn only_directories_of_ours_are_named() {
        let path = |line: &str| super::path(line);
        let ours = "/dev/shm/plimsoll-0123456789abcdef";
        assert_eq!(path(&format!("forgotten {ours}")).as_deref(), Some(ours));
        for line in [
            ours,
            "forgotten /etc",
            "forgotten dev/shm/plimsoll-0123456789abcdef",
            "forgotten /dev/shm/plimsoll-0123456789abcde",
            "forgotten /dev/\u{1b}shm/plimsoll-0123456789abcdef",
        ] {
            assert_eq!(path(line), None, "{line:?}");
        }
    }
}
