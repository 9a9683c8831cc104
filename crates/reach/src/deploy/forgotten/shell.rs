//! The look by a shell on the host.

use super::{Forgotten, is_ours};
use crate::deploy::{DIRECTORIES, HOME, PATIENCE};
use crate::{Reach, private_dir, quote};

/// `space`: this boot of the host and this namespace of processes, as [`plimsoll_process::space`] has it.
pub(crate) const SPACE: &str = r#"
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
    case $above in /*) ;; *) continue ;; esac
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

/// The user's own directory; no word where there is none, as for a service: the others are looked at all the same.
const HOME_IF_SET: &str = r#"${HOME:+"$HOME"}"#;

/// Looks by a shell; `ended` are the spaces whose processes have all ended.
pub(super) fn look(reach: &dyn Reach, ended: &[String]) -> Forgotten {
    let functions = private_dir::FUNCTIONS;
    let ended = quote(&format!("|{}|", ended.join("|")));
    let places = DIRECTORIES.map(|word| if word == HOME { HOME_IF_SET } else { word });
    let look = LOOK.replace("ENDED", &ended).replace("DIRECTORIES", &places.join(" "));
    let look = format!("LC_ALL=C; export LC_ALL\n{functions}{SPACE}{look}");
    let Ok(output) = reach.run(&look, b"", PATIENCE) else { return Forgotten::default() };
    let text = String::from_utf8_lossy(&output.output);
    let all = |word: &str| text.lines().filter_map(|line| path(line.strip_prefix(word)?)).collect();
    Forgotten { removed: all("removed "), kept: all("kept ") }
}

/// A path that a host printed; `None` of one that is no directory of ours.
fn path(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once('/')?;
    let sane = path.starts_with('/') && !path.contains(char::is_control);
    (sane && is_ours(name)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn only_directories_of_ours_are_named() {
        let ours = "/dev/shm/plimsoll-0123456789abcdef";
        assert_eq!(path(ours).as_deref(), Some(ours));
        for line in [
            "/etc",
            "dev/shm/plimsoll-0123456789abcdef",
            "/dev/shm/plimsoll-0123456789abcde",
            "/dev/shm/plimsoll-0123456789ABCDEF",
            "/dev/\u{1b}shm/plimsoll-0123456789abcdef",
        ] {
            assert_eq!(path(line), None, "{line:?}");
        }
    }
}
