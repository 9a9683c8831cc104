//! Where the runner's program is found on this machine, and how it is deployed.

use plimsoll_host::deploy::{Bundle, Deployed, Machine};
use plimsoll_host::reach::Reach;
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The environment variable that names the runner's program, looked at first.
pub const VARIABLE: &str = "PLIMSOLL_RUNNER";

const FILE: &str = "plimsoll-runner";
/// Longest program that is taken: one with all that helps to find faults in it has 100 MB.
const MOST_BYTES: u64 = 256 << 20;
const MAKE: &str = "`make runner` in plimsoll's sources builds it";

/// How it is deployed, and what messages call it.
const BUNDLE: Bundle = Bundle {
    file: FILE,
    name: "the runner",
    elsewhere: "Make room for 20 MB on the host where programs may run: in /dev/shm, /run, /tmp, /var/tmp or at home.",
    without: "leave out --on and measure from this machine, with --host to watch the other",
    time_limit: Duration::from_secs(300),
};

/// The runner's program, a static one for this kind of machine.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// The one that [`VARIABLE`] names; else `runner/plimsoll-runner` beside this program or in one
    /// of the two directories above as in a build's, or where it is installed
    /// (`lib/plimsoll/plimsoll-runner` beside its `bin`).
    ///
    /// # Errors
    /// [`Cause::Usage`] where there is none, with the command that builds it.
    pub fn find() -> Result<Program, Failure> {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(Program { path: path.into() });
        }
        let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
        let here: Vec<&Path> =
            own.iter().flat_map(|path| path.ancestors().skip(1).take(3)).collect();
        let built = here.iter().map(|directory| directory.join("runner").join(FILE));
        let installed = here.get(1).map(|above| above.join("lib/plimsoll").join(FILE));
        let places: Vec<PathBuf> = built.chain(installed).collect();
        if let Some(path) = places.iter().find(|path| path.is_file()) {
            return Ok(Program { path: path.clone() });
        }
        let looked: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        Err(Failure::new(
            Cause::Usage,
            "find the runner's program",
            FILE,
            format!("it is not there: {}", looked.join(", ")),
            format!("{MAKE}; or name it in {VARIABLE}."),
        ))
    }

    /// The one in this file.
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into() }
    }

    /// Deploys it on a host.
    pub(super) fn deploy(&self, reach: Arc<dyn Reach>) -> Result<Deployed, Failure> {
        let bytes = read(&self.path).map_err(|error| {
            let next = format!("{MAKE}; or name another in {VARIABLE}.");
            Failure::new(
                Cause::Usage,
                "read the runner's program",
                self.path.display(),
                error,
                next,
            )
        })?;
        let machine = Machine::here().ok_or_else(|| {
            let happened = "this machine is of no kind that is known";
            Failure::new(
                Cause::Usage,
                "deploy the runner",
                reach.name(),
                happened,
                "Leave out --on.",
            )
        })?;
        Deployed::deploy(reach, BUNDLE, machine, &bytes)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is longer than {MOST_BYTES} bytes")));
    }
    match is_static(&bytes) {
        Some(true) => Ok(bytes),
        Some(false) => Err(io::Error::other("it needs libraries that other hosts do not have")),
        None => Err(io::Error::other("it is no program of 64 bits")),
    }
}

/// Whether a program of 64 bits, little-endian, asks for no interpreter, which would load its
/// libraries (System V ABI, chapter 5). `None`: it is no such program.
fn is_static(bytes: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let field = |at: usize, length: usize| bytes.get(at..at.checked_add(length)?);
    let half = |at| Some(u16::from_le_bytes(field(at, 2)?.try_into().ok()?));
    if field(0, 6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = u64::from_le_bytes(field(32, 8)?.try_into().ok()?);
    let (size, count) = (half(54)?, half(56)?);
    for number in 0..count {
        let at = table.checked_add(u64::from(size) * u64::from(number))?;
        let kind = field(usize::try_from(at).ok()?, 4)?;
        if u32::from_le_bytes(kind.try_into().ok()?) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_need_libraries_are_known() {
        // This one does.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&own), Some(false));
        assert_eq!(is_static(b"#!/bin/sh\n"), None);
        for length in 0..64 {
            assert_ne!(is_static(&own[..length]), Some(true), "{length}");
        }
    }
}
