//! A directory on the host for a program, and the guard that removes it.
//!
//! It has a random name, is for its user alone, and holds the program. The guard, a shell that
//! waits for the end of its input, has made it and removes it: when this program says so, and just
//! as well when this program is killed or the connection lost, which all close that input. Of a
//! connection that falls silent the host's ssh server learns in its own time.

use super::PATIENCE;
use super::bundle::Bundle;
use super::ending::Ending;
use super::forgotten::SPACE;
use super::refusal::Refusal;
use crate::printed::last_line;
use crate::{Channel, Output, Reach, private_dir, put, quote};
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What the guard says when the directory is there, before its path.
const READY: &str = "plimsoll-place ";

/// Why no program is put below a directory.
const EXCHANGED: &str =
    "other users can replace its files or a directory above it: permission denied";

/// A directory on the host with its guard.
pub(crate) struct RemoteDir {
    /// Its path.
    pub directory: String,
    bundle: Bundle,
    /// Used only to remove the directory. The lock lets several threads use what is in the directory.
    guard: Mutex<Option<Box<dyn Channel>>>,
}

impl RemoteDir {
    /// Makes it below a directory, which is a word of the shell; or says why that cannot be.
    pub(crate) fn make(
        reach: &dyn Reach,
        bundle: Bundle,
        below: &str,
    ) -> Result<RemoteDir, Refusal> {
        let name = format!("plimsoll-{}", random_hex(reach.name(), &bundle)?);
        // What the shell says goes the one way, so that it is there when the output has ended.
        // The traps come after the directory: what another has made is not removed. It is found by
        // its name later on, so nobody may be able to put another one there. A file that is still
        // being written may come into it while it is removed. In it stands whose processes could use it, for
        // who finds it when the guard was killed. Whether the guard runs is seen by the name in its command line,
        // where a command over ssh is not: so it becomes a shell that has its text there, with the name first, as
        // old kernels show only 4096 bytes.
        let functions = private_dir::FUNCTIONS;
        let text = format!(
            "name={name}; LC_ALL=C; export LC_ALL; exec 2>&1\n{functions}{SPACE}
             above={below}; cd -P \"$above\" 2>/dev/null || ls -d \"$above/.\" || exit 1
             enter_below \"$above\" sticky || {{ echo \"$above: {EXCHANGED}\"; exit 1; }}
             d=$(pwd -P); d=${{d%/}}/$name; mkdir -m 700 \"$d\" || exit 1\n\
             trap 'n=0; until rm -rf \"$d\" || [ $n -gt 9 ]; do n=$((n + 1)); sleep 1; done' EXIT; trap 'exit \
             1' HUP INT TERM; trap '' PIPE\n\
             enter_own \"$name\" || exit 1; {{ space >owner; }} 2>/dev/null; cd /\n\
             echo \"{READY}$d\"; while read -r x; do :; done"
        );
        let mut guard = reach.open(&format!("exec /bin/sh -c {} plimsoll", quote(&text)))?;
        let mut said = Vec::new();
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(directory) = ready(&said, &name) {
                let guard = Mutex::new(Some(guard));
                return Ok(RemoteDir { directory, bundle, guard });
            }
            let mut buffer = [0; 512];
            match guard.read(&mut buffer, until) {
                Ok(count) if count > 0 && said.len() < 1 << 16 => said.extend(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let output = guard.finish(PATIENCE)?;
        match Ending::from_output(&Output { errors: said.clone(), ..output }) {
            ending @ Ending::NoMemory(_) => Err(ending.failure(reach.name(), &bundle).into()),
            _ => {
                let why = last_line(&said).unwrap_or("the shell gave no reason".into());
                Err(Refusal::Directory(why))
            }
        }
    }

    /// What it is for.
    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Where the program goes.
    pub fn file(&self) -> String {
        format!("{}/{}", self.directory, self.bundle.file)
    }

    /// The command that starts it.
    pub fn program(&self) -> String {
        quote(&self.file())
    }

    /// Puts a program there and starts it, which alone tells whether it may be and can be.
    pub(crate) fn take(&self, reach: &dyn Reach, bytes: &[u8]) -> Result<(), Refusal> {
        match put(reach, bytes, &self.file(), 0o700, self.bundle.time_limit) {
            Err(failure) if [Cause::NoSpace, Cause::NotPermitted].contains(&failure.cause) => {
                return Err(Refusal::Directory(self.because(&failure.happened)));
            }
            put => put?,
        }
        // In its directory: a shell that takes a program of another machine for a script may leave
        // files where it is.
        let (directory, program) = (quote(&self.directory), self.program());
        let start =
            format!("LC_ALL=C; export LC_ALL; cd {directory} && {program} --version; exit $?");
        let output = reach.run(&start, b"", PATIENCE)?;
        let says = output.output.strip_prefix(self.bundle.file.as_bytes());
        if output.status == Some(0) && says.is_some_and(|rest| rest.starts_with(b" ")) {
            return Ok(());
        }
        Err(match Ending::from_output(&output) {
            ending @ Ending::WrongMachine(_) => Refusal::Machine(ending),
            ending @ Ending::Forbidden(_) => {
                Refusal::Directory(self.because(&ending.words(&self.bundle).0))
            }
            ending => ending.failure(reach.name(), &self.bundle).into(),
        })
    }

    /// Why the directory that it is in will not do.
    fn because(&self, why: &str) -> String {
        let below = self.directory.rsplit_once('/').map_or(&*self.directory, |(below, _)| below);
        format!("{below}: {why}")
    }

    /// Has the guard remove it, or without the guard, a shell.
    pub fn remove(&mut self, reach: &dyn Reach) -> Result<(), Failure> {
        let guard = self.guard.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(guard) = guard else { return Ok(()) };
        if guard.finish(PATIENCE).is_ok_and(|output| output.status == Some(0)) {
            return Ok(());
        }
        // The guard was killed, or the connection it had.
        let command = format!("rm -rf {}", quote(&self.directory));
        let happened = match reach.run(&command, b"", PATIENCE) {
            Ok(Output { status: Some(0), .. }) => return Ok(()),
            Ok(output) => last_line(&output.errors).unwrap_or_default(),
            Err(failure) => failure.happened,
        };
        let next = format!(
            "It is removed when the connection ends. If it remains, run on the host: {command}"
        );
        let tried = format!("remove {}", self.bundle.name);
        Err(Failure::new(Cause::Trial, tried).on(reach.name()).happened(happened).next(next))
    }
}

/// The directory of that name, once the guard has said that it is there. Any other is not ours to
/// remove.
pub(super) fn ready(said: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(said).ok()?;
    let line = text.split_inclusive('\n').find_map(|line| line.strip_prefix(READY))?;
    let directory = line.strip_suffix('\n')?;
    let ours = directory.strip_suffix(name).is_some_and(|below| below.ends_with('/'));
    let sane = directory.starts_with('/') && !directory.contains(char::is_control);
    (ours && sane).then(|| directory.to_owned())
}

/// 64 random bits, so that nobody on the host can have made that directory before.
fn random_hex(host: &str, bundle: &Bundle) -> Result<String, Failure> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).map_err(
        |error| {
            let tried = format!("find a name for the directory of {}", bundle.name);
            Failure::new(Cause::Trial, tried)
                .on(host)
                .happened(error)
                .next("Create /dev/urandom on this system.")
        },
    )?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::{Refusal, RemoteDir};
    use crate::probe::BUNDLE;
    use crate::{Local, quote};
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn no_program_is_put_where_others_can_exchange_it() {
        let base = tempfile::tempdir().unwrap();
        let below = base.path().join("it's below");
        create_dir(&below).unwrap();
        let made = |mode: u32| {
            set_permissions(&below, Permissions::from_mode(mode)).unwrap();
            RemoteDir::make(&Local, BUNDLE, &quote(below.to_str().unwrap()))
        };
        for mode in [0o755, 0o1777] {
            let Ok(mut directory) = made(mode) else { panic!("{mode:o} will do") };
            assert!(Path::new(&directory.directory).is_dir());
            directory.remove(&Local).unwrap();
            assert!(!Path::new(&directory.directory).exists());
        }
        for mode in [0o777, 0o775] {
            let Err(Refusal::Directory(why)) = made(mode) else { panic!("{mode:o} is refused") };
            assert!(why.contains("replace") && why.contains("it's below"), "{why}");
            assert_eq!(std::fs::read_dir(&below).unwrap().count(), 0);
        }
    }

    #[test]
    fn the_guard_is_believed_only_with_a_whole_line_about_its_own() {
        let ready = |text: &str| super::ready(text.as_bytes(), "x");
        assert_eq!(ready("hello\nplimsoll-place /run/x\n"), Some("/run/x".into()));
        for text in [
            "",
            "plimsoll-place /run/x",
            "plimsoll-place run/x\n",
            "plimsoll-place \n",
            "plimsoll-place /run/\x1b[2Jx\n",
            "see plimsoll-place /run/x\n",
            "plimsoll-place /run/y\n",
            "plimsoll-place /run/xx\n",
        ] {
            assert_eq!(ready(text), None, "{text:?}");
        }
    }
}
