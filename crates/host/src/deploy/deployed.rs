//! A program that is deployed on a host.

use super::{Bundle, DIRECTORIES, HostMachine, Machine, RemoteDir, first};
use crate::reach::Reach;
use plimsoll_model::{Cause, Failure};
use std::sync::Arc;

/// A program on a host. Dropping it removes it there.
pub struct Deployed {
    reach: Arc<dyn Reach>,
    directory: RemoteDir,
}

impl Deployed {
    /// Deploys a program of a machine to where it can run on the host.
    ///
    /// # Errors
    /// [`Cause::Usage`] where the host is another machine, [`Cause::NotPermitted`] or
    /// [`Cause::NoSpace`] where no directory will do; what each lacks is named.
    pub fn deploy(
        reach: Arc<dyn Reach>,
        bundle: Bundle,
        machine: Machine,
        bytes: &[u8],
    ) -> Result<Deployed, Failure> {
        let look = HostMachine::at(&*reach)?;
        if !look.machines.contains(&machine) {
            let tried = format!("run {} on the host", bundle.name);
            let happened = format!("it is built for {machine}; {}", look.words());
            let next = format!("Name a host that is {machine}, or {}.", bundle.without);
            return Err(Failure::new(Cause::Usage, tried, reach.name(), happened, next));
        }
        let directory = first(&DIRECTORIES, reach.name(), &bundle, |below| {
            let mut directory = RemoteDir::make(&*reach, bundle, below)?;
            match directory.take(&*reach, bytes) {
                Ok(()) => Ok(directory),
                Err(refusal) => {
                    let _ = directory.remove(&*reach);
                    Err(refusal)
                }
            }
        })?;
        Ok(Deployed { reach, directory })
    }

    /// The host.
    pub fn reach(&self) -> &dyn Reach {
        &*self.reach
    }

    /// The command that starts it, a word of the shell.
    pub fn command(&self) -> String {
        self.directory.program()
    }

    /// How it ended that did not do what it should: what happened, and what to do about it.
    pub fn ending(&self, output: &crate::reach::Output) -> (String, String) {
        super::Ending::of(output).words(self.directory.bundle())
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        // The guard does it by itself when the connection ends.
        let _ = self.directory.remove(&*self.reach);
    }
}
