//! A program that is deployed on a host: which build, and where it can lie and run.

use super::{DIRECTORIES, HostMachine, Machine, Programs, Refusal, RemoteDir, first};
use crate::{Reach, quote};
use plimsoll_model::Failure;
use std::sync::Arc;

/// A program on a host. Dropping it removes it there.
pub struct Deployed {
    reach: Arc<dyn Reach>,
    directory: RemoteDir,
    machine: Machine,
}

impl Deployed {
    /// Deploys the build that fits the host: into `directory`, or without one to where it can run.
    ///
    /// # Errors
    /// [`plimsoll_model::Cause::Usage`] without a build for that machine, [`plimsoll_model::Cause::NotPermitted`] or
    /// [`plimsoll_model::Cause::NoSpace`] where no directory will do; what each lacks is named.
    pub fn deploy(
        reach: Arc<dyn Reach>,
        programs: &Programs,
        directory: Option<&str>,
    ) -> Result<Deployed, Failure> {
        let machines = machines(&*reach, programs)?;
        let named = directory.map(quote);
        let directories = match &named {
            Some(directory) => vec![directory.as_str()],
            None => DIRECTORIES.to_vec(),
        };
        let name = reach.name();
        let (directory, machine) = first(&directories, name, programs.bundle(), |below| {
            try_directory(&*reach, programs, &machines, below)
        })?;
        Ok(Deployed { reach, directory, machine })
    }

    /// The host.
    pub fn reach(&self) -> &dyn Reach {
        &*self.reach
    }

    /// Which build it is.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where it lies on the host.
    pub fn directory(&self) -> &str {
        &self.directory.directory
    }

    /// The command that starts it, a word of the shell.
    pub fn command(&self) -> String {
        self.directory.program()
    }

    /// How it ended that did not do what it should: what happened, and what to do about it.
    pub fn ending(&self, output: &crate::Output) -> (String, String) {
        super::Ending::from_output(output).words(self.directory.bundle())
    }

    /// Removes it, and says if that failed.
    ///
    /// # Errors
    /// What is left, with the command that removes it.
    pub fn remove(mut self) -> Result<(), Failure> {
        self.directory.remove(&*self.reach)
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        // The guard does it by itself when the connection ends; who wants to know calls `remove`.
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
    let bundle = programs.bundle();
    let mut directory = RemoteDir::make(reach, *bundle, below)?;
    let mut last = None;
    for &machine in machines {
        match programs.read(machine).map_err(Refusal::from).and_then(|b| directory.take(reach, &b))
        {
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
    let (machine, why) = last.map_or_else(Default::default, |(machine, ending)| {
        (Some(machine), format!("{machine}: {}", ending.words(bundle).0))
    });
    let why = format!("none of the available programs runs on this host ({why})");
    Err(programs.missing(reach.name(), machine, &why).into())
}

/// The builds to try on a host, those that it can run and that are there.
fn machines(reach: &dyn Reach, programs: &Programs) -> Result<Vec<Machine>, Failure> {
    let look = HostMachine::at(reach)?;
    let candidates = look.machines.iter().copied();
    let there: Vec<Machine> =
        candidates.filter(|machine| programs.find(*machine).is_some()).collect();
    if there.is_empty() {
        return Err(programs.missing(reach.name(), look.machines.first().copied(), &look.words()));
    }
    Ok(there)
}
