//! The undo journal on the host itself: a file for each setting that is changed, in a directory of
//! the login's user alone.
//!
//! It lies in the first of `PLACES` that is not in memory and can be written to; else in the
//! first that can be written to at all, where it outlives this program but no reboot. Entries have
//! commands that root runs, so only what others cannot exchange is a place (`private_dir`), and
//! only the login user's regular files are entries.

use super::{Entry, Origin, Unreadable, command, entry, origin};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Channel, Output, Reach, private_dir, quote};
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// Where it may lie, words of the shell; the directory above each must be there. None is below a
/// directory such as /tmp: there, others can make the journal first.
const PLACES: [&str; 5] = [
    "/var/lib/plimsoll",
    "/etc/plimsoll",
    r#""${HOME:-/root}/.plimsoll""#,
    "/run/plimsoll",
    "/dev/plimsoll",
];

/// What is not finished has `writer` at the end of its name. `is_gone FILE` says whether that shell is gone. Hosts of a
/// lab may have one disk with this machine and process numbers of their own, so the namespace of the numbers is part of
/// the name. `is_near FILE` says whether it is this shell's; of a shell in another one, only the age of its file is known.
const WRITERS: &str = r#"
space=$(readlink /proc/self/ns/pid 2>/dev/null | tr -cd 0-9)
writer="$space.$$"
is_near() {
    before=${1%.*}
    [ "${before##*.}" = "$space" ]
}
is_gone() {
    if is_near "$1"; then
        [ ! -d "/proc/${1##*.}" ]
    else
        [ -n "$(find "$1" -mmin +60 2>/dev/null)" ]
    fi
}
"#;

/// Enters a place, or makes one and enters it; its path is in `place` then. A file `.try` in it keeps others from
/// removing it.
const FIND: &str = r#"
umask 077
lasting() {
    at=$(df -P . 2>/dev/null | sed -n '$s/.* //p') kind=
    while read -r _ where type _; do
        [ "$where" != "$at" ] || kind=$type
    done </proc/mounts
    case $kind in tmpfs|ramfs|rootfs|devtmpfs) return 1 ;; esac
}
usable() {
    mkdir -m 700 "./$1" 2>/dev/null
    enter_own "$1" && { true >"./.try.$writer"; } 2>/dev/null
}
find_place() {
    for wanted in lasting true; do
        for d in PLACES; do
            enter_below "${d%/*}" || continue
            place=$(pwd -P)/${d##*/}
            (enter_own "${d##*/}"; "$wanted") || continue
            # Another run may remove it in between, when its last entry goes.
            usable "${d##*/}" || usable "${d##*/}" || continue
            return 0
        done
    done
    echo 'no directory is writable for this user only' >&2
    return 1
}
"#;

/// A loop over the places that are there, each entered, with its path in `place`; `BODY` is what is
/// done in it. Most are not there: to test what is above one takes several programs.
const EACH: &str = r#"
for d in PLACES; do
    [ -d "$d" ] || continue
    enter_below "${d%/*}" && enter_own "${d##*/}" || continue
    place=$(pwd -P)
    BODY
done
"#;

/// Prints each place that has entries and is not entered because others can write to it, or to what is above it:
/// of root every such place, of another user those of its own.
const SKIPPED: &str = r#"
for d in PLACES; do
    [ -d "$d" ] || continue
    enter_below "${d%/*}" && enter_own "${d##*/}" && continue
    [ -O "$d" ] || [ "$(id -u)" = 0 ] || continue
    for f in "$d"/*.json; do [ ! -e "$f" ] || { echo "skipped $d"; break; }; done
done
"#;

fn each(body: &str) -> String {
    let each = EACH.replace("PLACES", &PLACES.join(" ")).replace("BODY", body);
    format!("{}{each}", private_dir::FUNCTIONS)
}

/// Exit code of a command behind a [`Fenced`] whose entry is gone.
const GONE: i32 = 97;

/// Most entries that are read of a host.
const MOST_ENTRIES: usize = 64;

/// An entry on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnHost {
    /// Where it lies there.
    pub path: String,
    /// What it says.
    pub entry: Entry,
}

/// Writes an entry, and returns when it is on the host's disk; its path there.
///
/// # Errors
/// [`Cause::Usage`] where another run has one for this setting; else why it cannot be kept.
pub fn add(host: &dyn Reach, entry: &Entry) -> Result<String, Failure> {
    const TRIED: &str = "write the undo journal on the host";
    let bytes = entry.to_bytes().unwrap_or_default();
    let (find, functions) = (FIND.replace("PLACES", &PLACES.join(" ")), private_dir::FUNCTIONS);
    // A link is made whole or not at all, and never in the place of another. Where there are no
    // links, as on FAT, what is there is looked for first.
    let (file, length) = (entry.name_on_host(), bytes.len());
    let text = format!(
        "{functions}{WRITERS}{find}find_place || exit 1
        f=./{file}; p=\"$f.$writer\"; trap 'rm -f \"$p\" \"./.try.$writer\"' EXIT
        cat >\"$p\" && [ \"$(wc -c <\"$p\")\" -eq {length} ] && sync || exit 1
        echo \"$place\"
        ln \"$p\" \"$f\" 2>/dev/null || {{ [ ! -e \"$f\" ] && mv \"$p\" \"$f\"; }} ||
            {{ echo exists; exit 0; }}
        rm -f \"$p\" \"./.try.$writer\"; sync"
    );
    let said = command(host, TRIED, &text, &bytes)?;
    let mut lines = said.lines();
    let path = format!("{}/{file}", lines.next().unwrap_or_default());
    if !is_path(&path) {
        let happened = "the host names an invalid directory";
        return Err(Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(happened));
    }
    match lines.next() {
        None => Ok(path),
        Some(_) => match list(host)?.0.iter().find(|other| other.path == path) {
            Some(other) => Err(super::unrestored::failure(&other.entry)),
            None => {
                let happened = format!("{path} already exists");
                let next = "Check it on the host, and remove it if no program uses it.";
                Err(Failure::new(Cause::NotPermitted, TRIED)
                    .on(host.name())
                    .happened(happened)
                    .next(next))
            }
        },
    }
}

/// Whether a place of this machine, as a host, has an entry, or what may become one: without, nobody need ask a shell.
pub fn may_be_here() -> bool {
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let places = PLACES.map(|place| place.trim_matches('"').replace("${HOME:-/root}", &home));
    places.iter().any(|place| may_have_entries(Path::new(place)))
}

/// Whether a place has a name that [`add`] makes. One that is there and cannot be read may have them.
fn may_have_entries(place: &Path) -> bool {
    let is_ours = |name: &str| name.contains(".json") || name.starts_with(".try.");
    let may_be_one = |entry: io::Result<DirEntry>| match entry {
        Ok(entry) => is_ours(&entry.file_name().to_string_lossy()),
        Err(_) => true,
    };
    match fs::read_dir(place) {
        Ok(mut entries) => entries.any(may_be_one),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// What is in the journal on a host, as far as it is of this host ([`Origin::is`]); and what is no
/// entry. What writers that are gone there had not finished is removed.
pub fn list(host: &dyn Reach) -> Result<(Vec<OnHost>, Vec<Unreadable>), Failure> {
    read(host).map(|there| (there.entries, there.unreadable))
}

/// The journal on a host, and which host that is.
pub(super) struct There {
    pub origin: Origin,
    pub entries: Vec<OnHost>,
    pub unreadable: Vec<Unreadable>,
}

pub(super) fn read(host: &dyn Reach) -> Result<There, Failure> {
    const TRIED: &str = "read the undo journal on the host";
    let names = each(
        // The shell of a killed run may still be writing, and a slow disk takes seconds. How long one in another
        // namespace takes cannot be seen.
        "seconds=10
        for f in ./.try.* ./*.json.*; do
            [ -f \"$f\" ] || continue
            while [ -f \"$f\" ] && is_near \"$f\" && ! is_gone \"$f\" && [ $seconds -gt 0 ]; do
                sleep 1
                seconds=$((seconds - 1))
            done
            [ ! -f \"$f\" ] || ! is_gone \"$f\" || rm -f \"$f\"
        done
        # What was waited for may have written more.
        for f in ./*.json.*; do [ ! -f \"$f\" ] || ! is_gone \"$f\" || rm -f \"$f\"; done
        for f in ./*.json; do [ ! -e \"$f\" ] && [ ! -L \"$f\" ] || echo \"$place/${f#./}\"; done",
    );
    let skipped = SKIPPED.replace("PLACES", &PLACES.join(" "));
    let names =
        command(host, TRIED, &format!("{}{WRITERS}{names}{skipped}true", origin::PRINT), b"")?;
    let origin = Origin::from_lines(names.lines());
    let skipped = names.lines().filter_map(|line| line.strip_prefix("skipped "));
    let unreadable = skipped.map(|place| Unreadable {
        path: place.to_owned(),
        why:
            "other users can write to it or to a directory above it, so its entries are not used. \
        Check who wrote them, remove the write permission of others (chmod go-w), and run plimsoll \
        restore again"
                .to_owned(),
    });
    let (mut entries, mut unreadable) = (Vec::new(), unreadable.collect::<Vec<_>>());
    let paths = names.lines().skip(origin::LINES).filter(|path| is_path(path));
    for path in paths.take(MOST_ENTRIES) {
        let said = command(host, TRIED, &contents(path), b"").map_err(|failure| failure.happened);
        // Its run may have ended since the names were read.
        if said.is_err() && is_gone(host, path) {
            continue;
        }
        match said.and_then(|text| Entry::from_bytes(text.as_bytes())) {
            Ok(entry) if path.ends_with(&entry.name_on_host()) => {
                if entry.is_of(&origin) {
                    entries.push(OnHost { path: path.to_owned(), entry });
                }
            }
            other => {
                let why = other.err().unwrap_or_else(|| "it has the name of another entry".into());
                unreadable.push(Unreadable { path: path.to_owned(), why });
            }
        }
    }
    Ok(There { origin, entries, unreadable })
}

/// Whether nothing has this path any more.
fn is_gone(host: &dyn Reach, path: &str) -> bool {
    let path = quote(path);
    let test = format!("[ -e {path} ] || [ -L {path} ] || echo gone");
    command(host, "look for an entry of the undo journal", &test, b"")
        .is_ok_and(|said| said.trim() == "gone")
}

/// The command that prints an entry.
fn contents(path: &str) -> String {
    let (place, file) = path.rsplit_once('/').unwrap_or_default();
    let (above, place) = place.rsplit_once('/').unwrap_or_default();
    let above = if above.is_empty() { "/" } else { above };
    let (above, place, file) = (quote(above), quote(place), quote(file));
    let (functions, most) = (private_dir::FUNCTIONS, entry::MOST_BYTES + 1);
    format!(
        "{functions}enter_below {above} && enter_own {place} || exit 1
        f=./{file}
        [ -f \"$f\" ] && [ ! -L \"$f\" ] && [ -O \"$f\" ] ||
            {{ echo 'it is not a regular file of this user' >&2; exit 1; }}
        head -c {most} \"$f\""
    )
}

/// Removes an entry, wherever it lies, with what a killed run has not finished writing or is about
/// to finish; and its directory if nothing else is in it. Returns when that is on the host's disk.
pub fn remove(host: &dyn Reach, entry: &Entry) -> Result<(), Failure> {
    let name = entry.name_on_host();
    let each = each(&format!(
        "rm -f \"./{name}\".* \"./{name}\" || exit 1
        for f in ./.try.*; do [ ! -e \"$f\" ] || ! is_gone \"$f\" || rm -f \"$f\"; done
        cd / && rmdir \"$place\" 2>/dev/null"
    ));
    command(host, "write the undo journal on the host", &format!("{WRITERS}{each}sync"), b"")
        .map(drop)
}

/// Whether this is where an entry may lie.
pub(super) fn is_path(path: &str) -> bool {
    let sound = path.starts_with('/') && !path.contains(char::is_control);
    sound && path.rsplit_once("plimsoll/").is_some_and(|(_, name)| entry::is_name(name))
}

/// A host on which commands run only while an entry is in its journal. The last command of a run
/// that was killed may begin after [`super::restore`] has put things back: then it does nothing.
pub(super) struct Fenced<'a> {
    /// The host.
    pub host: &'a dyn Reach,
    /// The entry's path.
    pub entry: &'a str,
}

impl Fenced<'_> {
    fn fenced(&self, text: &str) -> String {
        format!("[ -e {} ] || exit {GONE}\n{text}", quote(self.entry))
    }
}

impl Reach for Fenced<'_> {
    fn name(&self) -> &str {
        self.host.name()
    }

    fn run(&self, text: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        let output = self.host.run(&self.fenced(text), input, limit)?;
        if output.status == Some(GONE) {
            let happened =
                "its entry in the undo journal is gone: it was restored during the study";
            let next = "Start the study again.";
            return Err(Failure::new(Cause::Trial, "change a setting")
                .on(self.name())
                .happened(happened)
                .next(next));
        }
        Ok(output)
    }

    fn open(&self, text: &str) -> Result<Box<dyn Channel>, Failure> {
        self.host.open(&self.fenced(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place without entries, such as that of a lab, cost each run sixty processes.
    #[test]
    fn a_shell_is_asked_where_there_may_be_an_entry() {
        let place = tempfile::tempdir().unwrap();
        let named = place.path().join("plimsoll");
        assert!(!may_have_entries(&named), "it is not there");
        fs::write(&named, "").unwrap();
        assert!(!may_have_entries(&named), "it is a file");
        fs::remove_file(&named).unwrap();
        fs::create_dir_all(named.join("lab")).unwrap();
        assert!(!may_have_entries(&named));
        for (name, may) in [
            ("0123456789abcdef.json", true),
            ("0123456789abcdef.json.4026531836.17", true),
            (".try.4026531836.17", true),
            ("notes", false),
        ] {
            fs::write(named.join(name), "").unwrap();
            assert_eq!(may_have_entries(&named), may, "{name}");
            fs::remove_file(named.join(name)).unwrap();
        }
        // As for a shell, links lead to it, also where nothing is at their end.
        std::os::unix::fs::symlink("0123456789abcdee", named.join("0123456789abcdef.json"))
            .unwrap();
        std::os::unix::fs::symlink("plimsoll", place.path().join("link")).unwrap();
        assert!(may_have_entries(&place.path().join("link")));
    }

    #[test]
    fn paths_of_entries() {
        assert!(is_path("/var/lib/plimsoll/0123456789abcdef.json"));
        assert!(is_path("/root/.plimsoll/0123456789abcdef.json"));
        for path in [
            "",
            "plimsoll/0123456789abcdef.json",
            "/etc/shadow",
            "/var/lib/plimsoll/",
            "/var/lib/plimsoll/../0123456789abcdef.json",
            "/var/\x1blib/plimsoll/0123456789abcdef.json",
        ] {
            assert!(!is_path(path), "{path:?}");
        }
    }
}
