//! Where the builds of a program are found on this machine.

use super::{Bundle, Machine};
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most places that a message names; of more their number is.
const NAMED: usize = 2;

/// The directory of the build by this system's own compiler.
const NATIVE: &str = "native";

/// The builds of a program that are there.
#[derive(Clone, Debug)]
pub struct Programs {
    bundle: Bundle,
    /// Each a directory with `<machine>/<program>` in it, or one build.
    places: Vec<PathBuf>,
}

impl Programs {
    /// Those that the bundle's variable names and no others; else those beside this program (in its own
    /// directory, or in the two above as in a build's) and where it is installed
    /// (`lib/plimsoll` beside its `bin`).
    pub fn of_this_program(bundle: Bundle) -> Programs {
        if let Some(named) = std::env::var_os(bundle.variable).filter(|path| !path.is_empty()) {
            return Programs::at(bundle, named);
        }
        let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
        let here: Vec<&Path> =
            program.iter().flat_map(|path| path.ancestors().skip(1).take(3)).collect();
        let built = here.iter().map(|directory| directory.join(bundle.directory));
        let installed = here.get(1).map(|above| above.join("lib/plimsoll").join(bundle.directory));
        Programs { bundle, places: built.chain(installed).collect() }
    }

    /// Those in one directory alone, or one build.
    pub fn at(bundle: Bundle, path: impl Into<PathBuf>) -> Programs {
        Programs { bundle, places: vec![path.into()] }
    }

    /// What they are builds of.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The build for a machine. For this program's own, the native one will do.
    pub fn find(&self, machine: Machine) -> Option<PathBuf> {
        self.paths(machine).into_iter().find(|path| path.is_file())
    }

    /// The machines whose builds are there.
    pub fn machines(&self) -> Vec<Machine> {
        Machine::ALL.into_iter().filter(|machine| self.find(*machine).is_some()).collect()
    }

    /// Where a build for a machine may be, the best first.
    fn paths(&self, machine: Machine) -> Vec<PathBuf> {
        let native = (Machine::here() == Some(machine)).then_some(NATIVE);
        let names = [Some(machine.name()), native];
        let below = |place: &PathBuf| {
            let (place, file) = (place.clone(), self.bundle.file);
            names.into_iter().flatten().map(move |name| place.join(name).join(file))
        };
        let mut paths = Vec::new();
        for place in &self.places {
            match place.is_file() {
                // One that is no program is found for all, to be refused for what it is.
                true if machine_of(place).is_none_or(|of| of.contains(&machine)) => {
                    paths.push(place.clone());
                }
                true => {}
                false => paths.extend(below(place)),
            }
        }
        paths
    }

    /// The build for a machine, to be deployed.
    ///
    /// # Errors
    /// [`Cause::Usage`] where it is not there or cannot be read; names those that are.
    pub(crate) fn read(&self, machine: Machine) -> Result<Vec<u8>, Failure> {
        let Some(path) = self.find(machine) else {
            return Err(self.missing(machine.name(), Some(machine), "it does not exist"));
        };
        self.read_file(&path).map_err(|error| {
            let Bundle { name, make, variable, .. } = self.bundle;
            let next = format!("Build it again ({make}), or set {variable} to another directory.");
            Failure::new(Cause::Usage, format!("read {name}"))
                .on(path.display())
                .happened(error)
                .next(next)
        })
    }

    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let most = self.bundle.most_bytes;
        let mut bytes = Vec::new();
        File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("it is longer than {most} bytes")));
        }
        if !bytes.starts_with(b"\x7fELF") {
            return Err(io::Error::other("it is not a program"));
        }
        match (self.bundle.refuse)(&bytes) {
            Some(why) => Err(io::Error::other(why)),
            None => Ok(bytes),
        }
    }

    /// The failure that none of the builds fits a host, whose machine is known or not.
    pub(crate) fn missing(&self, host: &str, machine: Option<Machine>, why: &str) -> Failure {
        let Bundle { name, make, variable, without, .. } = self.bundle;
        let there: Vec<&str> = self.machines().into_iter().map(Machine::name).collect();
        let there = match there.is_empty() {
            true => "none".to_owned(),
            false => format!("those for {}", there.join(", ")),
        };
        let looked = match machine {
            Some(machine) => self.paths(machine),
            None => self.places.clone(),
        };
        // A build that was named for another machine.
        let looked = if looked.is_empty() { &self.places } else { &looked };
        let named: Vec<String> =
            looked.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let named = match looked.len().saturating_sub(NAMED) {
            0 => named.join(", "),
            1 => format!("{} and one other place", named.join(", ")),
            more => format!("{} and {more} other places", named.join(", ")),
        };
        let kind = machine.map_or_else(String::new, |machine| format!(" for {machine}"));
        Failure::new(Cause::Usage, format!("find {name}{kind}"))
            .on(host)
            .happened(format!("{why}; available: {there}; searched for {named}"))
            .next(format!("To build it, {make}; or set {variable} to its directory, or {without}."))
    }
}

/// The machines that a build says it is for.
fn machine_of(path: &Path) -> Option<Vec<Machine>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(super::machine::ELF_BYTES as u64).read_to_end(&mut head).ok()?;
    Machine::of_program(&head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::BUNDLE;
    use std::fs;

    fn put(directory: &Path, machine: &str, bytes: &[u8]) {
        fs::create_dir_all(directory.join(machine)).unwrap();
        fs::write(directory.join(machine).join(BUNDLE.file), bytes).unwrap();
    }

    #[test]
    fn builds_are_found_by_machine_and_the_native_one_for_this() {
        let directory = tempfile::tempdir().unwrap();
        let programs = Programs::at(BUNDLE, directory.path());
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
    fn one_build_is_for_the_machine_that_it_says() {
        let own = std::env::current_exe().unwrap();
        let here = Machine::here().unwrap();
        let programs = Programs::at(BUNDLE, &own);
        assert_eq!(programs.machines(), [here]);
        let failure = programs.read(Machine::Mips).unwrap_err();
        assert!(failure.happened.contains(&own.display().to_string()), "{failure}");
        assert!(failure.happened.contains(&format!("those for {here}")), "{failure}");
    }

    #[test]
    fn of_many_places_two_are_named() {
        let places = ["/a", "/b", "/c", "/d"].map(PathBuf::from).to_vec();
        let failure = Programs { bundle: BUNDLE, places }.missing("nas", None, "not known");
        assert!(failure.happened.ends_with("searched for /a, /b and 2 other places"), "{failure}");
        assert!(failure.next.starts_with("To build it, run `make probes`"), "{failure}");
    }

    #[test]
    fn what_is_missing_is_reported_with_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), "mips", b"\x7fELF mips");
        put(directory.path(), "riscv64", b"#!/bin/sh\n");
        let programs = Programs::at(BUNDLE, directory.path());
        let failure = programs.read(Machine::Armv6).unwrap_err();
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "armv6"));
        assert!(failure.happened.contains("those for mips, riscv64"), "{failure}");
        let looked = directory.path().join("armv6").join(BUNDLE.file);
        assert!(failure.happened.contains(&looked.display().to_string()), "{failure}");
        assert!(failure.next.contains("make probes"), "{failure}");
        let failure = programs.read(Machine::Riscv64).unwrap_err();
        assert!(failure.happened.contains("not a program"), "{failure}");
    }
}
