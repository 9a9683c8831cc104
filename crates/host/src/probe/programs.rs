//! Where the probe's builds are found on this machine.

use crate::deploy::{Bundle, Machine};
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable that names a directory of builds, looked into first.
pub const VARIABLE: &str = "PLIMSOLL_PROBES";

/// The program's file in each machine's directory.
pub(super) const PROGRAM: &str = "plimsoll-probe";
/// How it is deployed, and what messages call it.
pub(super) const BUNDLE: Bundle = Bundle {
    file: PROGRAM,
    name: "the probe",
    elsewhere: "Name a directory of the host with 1 MB of space where programs may run: --probe-dir DIR.",
    without: "go without the probe",
    time_limit: Duration::from_secs(60),
};
/// The directory of the build by this system's own compiler.
const NATIVE: &str = "native";
/// Longest program that is taken. Builds for other machines have at most 100 kB; one against a
/// large C library has more.
const MOST_BYTES: u64 = 8 << 20;
/// How builds are made, for messages.
const MAKE: &str = "`make probes` in plimsoll's sources builds them all";

/// The builds of the probe that are there, each `<directory>/<machine>/plimsoll-probe`.
#[derive(Clone, Debug)]
pub struct Programs {
    directories: Vec<PathBuf>,
}

impl Programs {
    /// Those in the directory that [`VARIABLE`] names, beside this program (`probes` in its own
    /// directory, or in the two above as in a build's), and where it is installed
    /// (`lib/plimsoll/probes` beside its `bin`).
    pub fn of_this_program() -> Programs {
        let mut directories: Vec<PathBuf> = std::env::var_os(VARIABLE)
            .filter(|d| !d.is_empty())
            .map(PathBuf::from)
            .into_iter()
            .collect();
        let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
        let here: Vec<&Path> =
            program.iter().flat_map(|path| path.ancestors().skip(1).take(3)).collect();
        directories.extend(here.iter().map(|directory| directory.join("probes")));
        directories.extend(here.get(1).map(|above| above.join("lib/plimsoll/probes")));
        Programs { directories }
    }

    /// Those in one directory alone.
    pub fn of_directory(directory: impl Into<PathBuf>) -> Programs {
        Programs { directories: vec![directory.into()] }
    }

    /// The build for a machine. For this program's own, the native one will do.
    pub fn find(&self, machine: Machine) -> Option<PathBuf> {
        let native = (Machine::here() == Some(machine)).then_some(NATIVE);
        let names = [Some(machine.name()), native];
        self.directories
            .iter()
            .flat_map(|directory| {
                names.iter().flatten().map(|name| directory.join(name).join(PROGRAM))
            })
            .find(|path| path.is_file())
    }

    /// The machines whose builds are there.
    pub fn machines(&self) -> Vec<Machine> {
        Machine::ALL.into_iter().filter(|machine| self.find(*machine).is_some()).collect()
    }

    /// The build for a machine, to be deployed.
    ///
    /// # Errors
    /// [`Cause::Usage`] where it is not there or cannot be read; names those that are.
    pub(super) fn read(&self, machine: Machine) -> Result<Vec<u8>, Failure> {
        let Some(path) = self.find(machine) else {
            return Err(self.missing(machine.name(), "there is no probe for it here"));
        };
        read_program(&path).map_err(|error| {
            let next = format!("Build it again ({MAKE}), or name another directory in {VARIABLE}.");
            Failure::new(Cause::Usage, "read the probe", path.display(), error, next)
        })
    }

    /// The failure that none of the builds fits.
    pub(super) fn missing(&self, machine: &str, happened: &str) -> Failure {
        let there: Vec<&str> = self.machines().into_iter().map(Machine::name).collect();
        let there = match there.is_empty() {
            true => "none at all".to_owned(),
            false => format!("those for {}", there.join(", ")),
        };
        let looked: Vec<String> =
            self.directories.iter().map(|d| d.display().to_string()).collect();
        Failure::new(
            Cause::Usage,
            "find the probe's program for the host",
            machine,
            format!("{happened}; there are {there}, in {}", looked.join(", ")),
            format!(
                "{MAKE}; {VARIABLE} names the directory where they are. Machines that the probe is \
                 made for: {}.",
                Machine::ALL.map(Machine::name).join(", ")
            ),
        )
    }
}

fn read_program(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is longer than {MOST_BYTES} bytes")));
    }
    match bytes.starts_with(b"\x7fELF") {
        true => Ok(bytes),
        false => Err(io::Error::other("it is no program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(directory: &Path, machine: &str, bytes: &[u8]) {
        fs::create_dir_all(directory.join(machine)).unwrap();
        fs::write(directory.join(machine).join(PROGRAM), bytes).unwrap();
    }

    #[test]
    fn builds_are_found_by_machine_and_the_native_one_for_this() {
        let directory = tempfile::tempdir().unwrap();
        let programs = Programs::of_directory(directory.path());
        assert_eq!(programs.machines(), []);
        put(directory.path(), "native", b"\x7fELF native");
        put(directory.path(), "mips", b"\x7fELF mips");
        let here = Machine::here().unwrap();
        assert_eq!(programs.read(here).unwrap(), b"\x7fELF native");
        assert_eq!(programs.read(Machine::Mips).unwrap(), b"\x7fELF mips");
        put(directory.path(), here.name(), b"\x7fELF small");
        assert_eq!(programs.read(here).unwrap(), b"\x7fELF small", "the small one is preferred");
        assert_eq!(programs.machines(), [Machine::Mips, here]);
    }

    #[test]
    fn what_is_missing_is_reported_with_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), "mips", b"\x7fELF mips");
        put(directory.path(), "riscv64", b"#!/bin/sh\n");
        let programs = Programs::of_directory(directory.path());
        let failure = programs.read(Machine::Armv6).unwrap_err();
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "armv6"));
        assert!(failure.happened.contains("those for mips, riscv64"), "{failure}");
        assert!(failure.next.contains("make probes"), "{failure}");
        let failure = programs.read(Machine::Riscv64).unwrap_err();
        assert!(failure.happened.contains("no program"), "{failure}");
    }
}
