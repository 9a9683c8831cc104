//! Deploying the probe on a host: which build, and where it can lie and run.

use super::message::Done;
use super::programs::{BUNDLE, Programs};
use super::request::Request;
use super::sampler::Sampler;
use super::session::Session;
use crate::deploy::{DIRECTORIES, HostMachine, Machine, Refusal, RemoteDir, first};
use crate::reach::{Reach, quote};
use plimsoll_model::Failure;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A probe on a host. Dropping it removes it there.
pub struct Placed {
    reach: Arc<dyn Reach>,
    directory: RemoteDir,
    machine: Machine,
}

impl Placed {
    /// Deploys the probe that fits the host: into `directory`, or without one to where it can
    /// run.
    ///
    /// # Errors
    /// [`plimsoll_model::Cause::Usage`] without a probe for that machine, [`plimsoll_model::Cause::NotPermitted`] or
    /// [`plimsoll_model::Cause::NoSpace`] where no directory will do; what each lacks is named.
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
        let name = reach.name();
        let (directory, machine) = first(&directories, name, &BUNDLE, |below| {
            try_directory(&*reach, programs, &machines, below)
        })?;
        Ok(Placed { reach, directory, machine })
    }

    /// Which build it is.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where it lies on the host.
    pub fn directory(&self) -> &str {
        &self.directory.directory
    }

    /// Runs a verb to its end, handing on each section as it comes; ends it early once `stop` is
    /// set.
    pub fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let session = Session::start(&*self.reach, &self.directory.program(), request)?;
        session.run(request.limit(), section, stop)
    }

    /// A probe that samples when asked.
    pub fn sampler(&self) -> Result<Sampler, Failure> {
        Sampler::start(&*self.reach, &self.directory.program())
    }

    /// Removes it, and says if that failed.
    ///
    /// # Errors
    /// What is left, with the command that removes it.
    pub fn remove(mut self) -> Result<(), Failure> {
        self.directory.remove(&*self.reach)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // Who wants to know calls `remove`.
        let _ = self.directory.remove(&*self.reach);
    }
}

/// Puts the builds that may fit below a directory until one runs.
fn try_directory(
    reach: &dyn Reach,
    programs: &Programs,
    machines: &[Machine],
    below: &str,
) -> Result<(RemoteDir, Machine), Refusal> {
    let mut directory = RemoteDir::make(reach, BUNDLE, below)?;
    let mut last = None;
    for &machine in machines {
        match directory.take(reach, &programs.read(machine)?) {
            Ok(()) => return Ok((directory, machine)),
            Err(Refusal::Machine(ending)) => last = Some((machine, ending)),
            Err(Refusal::Directory(why)) => {
                directory.remove(reach)?;
                return Err(Refusal::Directory(why));
            }
            Err(refusal) => {
                let _ = directory.remove(reach);
                return Err(refusal);
            }
        }
    }
    let _ = directory.remove(reach);
    let why = last.map_or_else(String::new, |(machine, ending)| {
        format!("{machine}: {}", ending.words(&BUNDLE).0)
    });
    Err(programs
        .missing(reach.name(), &format!("none of those that are there runs on it ({why})"))
        .into())
}

/// The builds to try on a host, those that it can run and that are there.
fn machines(reach: &dyn Reach, programs: &Programs) -> Result<Vec<Machine>, Failure> {
    let look = HostMachine::at(reach)?;
    let candidates = look.machines.iter().copied();
    let there: Vec<Machine> =
        candidates.filter(|machine| programs.find(*machine).is_some()).collect();
    match (look.machines.first(), there.is_empty()) {
        (_, false) => Ok(there),
        (Some(machine), true) => {
            let happened = format!("there is no probe for {machine} here");
            Err(programs.missing(reach.name(), &happened))
        }
        (None, true) => Err(programs.missing(reach.name(), &look.words())),
    }
}
