//! Carrying the probe to a host: which build, and where it can lie and run.

use super::ending::Ending;
use super::guard::Place;
use super::machine::{ELF_BYTES, Machine};
use super::message::Done;
use super::programs::Programs;
use super::request::Request;
use super::sampler::Sampler;
use super::session::{PATIENCE, Session};
use crate::reach::{Reach, put, quote};
use crate::said::last_line;
use model::{Cause, Failure};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where programs can be put, the best first: in memory, then where the host writes anyway, then
/// at home. Those that are not there, or full, or execute nothing, are passed over.
const DIRECTORIES: [&str; 5] = ["/dev/shm", "/run", "/tmp", "/var/tmp", "\"${HOME:?}\""];
/// Time to carry 100 kB over a slow link.
const CARRYING: Duration = Duration::from_secs(60);

/// A probe on a host. Dropping it removes it there.
pub struct Placed {
    reach: Arc<dyn Reach>,
    place: Place,
    machine: Machine,
}

impl Placed {
    /// Carries the probe that fits to the host: into `directory`, or without one to where it can
    /// run.
    ///
    /// # Errors
    /// [`Cause::Usage`] without a probe for that machine, [`Cause::NotPermitted`] or
    /// [`Cause::NoSpace`] where no directory will do; what each lacks is named.
    pub fn place(
        reach: Arc<dyn Reach>,
        programs: &Programs,
        directory: Option<&str>,
    ) -> Result<Placed, Failure> {
        let machines = machines(&*reach, programs)?;
        let named = directory.map(quote);
        let directories = match &named {
            Some(directory) => vec![directory.as_str()],
            None => DIRECTORIES.to_vec(),
        };
        let mut passed = Vec::new();
        for directory in directories {
            match try_directory(&reach, programs, &machines, directory) {
                Ok((place, machine)) => return Ok(Placed { reach, place, machine }),
                Err(Refusal::Directory(why)) => passed.push(why),
                Err(Refusal::Host(failure)) => return Err(*failure),
            }
        }
        Err(nowhere(reach.name(), &passed))
    }

    /// Which build it is.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where it lies over there.
    pub fn directory(&self) -> &str {
        &self.place.directory
    }

    /// Runs a verb to its end, handing on each section as it comes; ends it early once `stop` is
    /// set.
    pub fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let session = Session::start(&*self.reach, &self.place.program(), request)?;
        session.run(request.limit(), section, stop)
    }

    /// A probe that samples when asked.
    pub fn sampler(&self) -> Result<Sampler, Failure> {
        Sampler::start(&*self.reach, &self.place.program())
    }

    /// Removes it, and says if that failed.
    ///
    /// # Errors
    /// What is left, with the command that removes it.
    pub fn remove(mut self) -> Result<(), Failure> {
        self.place.remove(&*self.reach)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // Who wants to know calls `remove`.
        let _ = self.place.remove(&*self.reach);
    }
}

/// Why the probe cannot be in a place.
enum Refusal {
    /// Another directory may do.
    Directory(String),
    /// None will.
    Host(Box<Failure>),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Host(Box::new(failure))
    }
}

/// Puts the builds that may fit below a directory until one runs.
fn try_directory(
    reach: &Arc<dyn Reach>,
    programs: &Programs,
    machines: &[Machine],
    below: &str,
) -> Result<(Place, Machine), Refusal> {
    let mut place = Place::make(&**reach, below)?.map_err(Refusal::Directory)?;
    let mut last = None;
    for &machine in machines {
        match try_machine(&**reach, &place, &programs.read(machine)?) {
            Ok(()) => return Ok((place, machine)),
            Err(TryNext::Machine(ending)) => last = Some((machine, ending)),
            Err(TryNext::Directory(why)) => {
                let why = format!("{}: {why}", below_of(&place.directory));
                place.remove(&**reach)?;
                return Err(Refusal::Directory(why));
            }
            Err(TryNext::Host(failure)) => {
                let _ = place.remove(&**reach);
                return Err(failure.into());
            }
        }
    }
    let _ = place.remove(&**reach);
    let why = last
        .map_or_else(String::new, |(machine, ending)| format!("{machine}: {}", ending.words().0));
    Err(programs
        .missing(reach.name(), &format!("none of those that are there runs on it ({why})"))
        .into())
}

/// Why a build does not run in a place.
enum TryNext {
    /// Another build may.
    Machine(Ending),
    /// It may elsewhere.
    Directory(String),
    /// It will not.
    Host(Failure),
}

/// Puts a program there and starts it, which alone tells whether it may be and can be.
fn try_machine(reach: &dyn Reach, place: &Place, bytes: &[u8]) -> Result<(), TryNext> {
    let file = place.file();
    match put(reach, bytes, &file, 0o700, CARRYING) {
        Err(failure) if [Cause::NoSpace, Cause::NotPermitted].contains(&failure.cause) => {
            return Err(TryNext::Directory(failure.happened));
        }
        put => put.map_err(TryNext::Host)?,
    }
    // In its directory: a shell that takes a program of another machine for a script may leave
    // files where it is.
    let (directory, program) = (quote(&place.directory), place.program());
    let start = format!("LC_ALL=C; export LC_ALL; cd {directory} && {program} --version; exit $?");
    let output = reach.run(&start, b"", PATIENCE).map_err(TryNext::Host)?;
    if output.status == Some(0) && output.output.starts_with(b"plimsoll-probe ") {
        return Ok(());
    }
    Err(match Ending::of(&output) {
        ending @ Ending::WrongMachine(_) => TryNext::Machine(ending),
        ending @ Ending::Forbidden(_) => TryNext::Directory(ending.words().0),
        ending => TryNext::Host(ending.failure(reach.name())),
    })
}

/// The builds to try on a host, those that it can run and that are there.
fn machines(reach: &dyn Reach, programs: &Programs) -> Result<Vec<Machine>, Failure> {
    // Bytes as they are: not every host has a tool to print them.
    let look = format!(
        "echo \"$(uname -m)\"; for f in /proc/$$/exe /bin/sh; do dd if=$f bs={ELF_BYTES} count=1 2>/dev/null; done"
    );
    let output = reach.run(&look, b"", PATIENCE)?;
    let cut = output.output.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (uname, rest) = output.output.split_at(cut);
    let uname = last_line(uname).unwrap_or_default();
    let rest: Vec<&[u8]> = rest.get(1..).unwrap_or_default().chunks(ELF_BYTES).take(2).collect();
    let candidates = Machine::candidates(&uname, &rest);
    let there: Vec<Machine> =
        candidates.iter().copied().filter(|machine| programs.find(*machine).is_some()).collect();
    match (candidates.first(), there.is_empty()) {
        (_, false) => Ok(there),
        (Some(machine), true) => {
            let happened = format!("there is no probe for {machine} here");
            Err(programs.missing(reach.name(), &happened))
        }
        (None, true) => {
            let name = if uname.is_empty() { "nothing that is known" } else { &uname };
            let happened = format!("the host calls itself \"{name}\"");
            Err(programs.missing(reach.name(), &happened))
        }
    }
}

/// The failure that no directory will do, with what each lacks.
fn nowhere(host: &str, passed: &[String]) -> Failure {
    let full = |why: &String| why.to_lowercase().contains("no space left");
    let cause = if passed.iter().any(full) { Cause::NoSpace } else { Cause::NotPermitted };
    Failure::new(
        cause,
        "put the probe on the host",
        host,
        passed.join("; "),
        "Name a directory of the host with 1 MB of space where programs may run: --probe-dir DIR.",
    )
}

fn below_of(directory: &str) -> &str {
    directory.rsplit_once('/').map_or(directory, |(below, _)| below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_what_lacks_where_it_lacks_anywhere() {
        let failure =
            nowhere("h", &["a: Permission denied".into(), "b: No space left on device".into()]);
        assert_eq!(failure.cause, Cause::NoSpace);
        assert!(failure.happened.contains("a: Perm") && failure.next.contains("--probe-dir"));
        assert_eq!(nowhere("h", &["a: Permission denied".into()]).cause, Cause::NotPermitted);
    }
}
