//! A program that was carried to a host.

use super::{DIRECTORIES, Look, Machine, Parcel, Place, first};
use crate::reach::Reach;
use plimsoll_model::{Cause, Failure};
use std::sync::Arc;

/// A program on a host. Dropping it removes it there.
pub struct Carried {
    reach: Arc<dyn Reach>,
    place: Place,
}

impl Carried {
    /// Carries a program of a machine to where it can run on the host.
    ///
    /// # Errors
    /// [`Cause::Usage`] where the host is another machine, [`Cause::NotPermitted`] or
    /// [`Cause::NoSpace`] where no directory will do; what each lacks is named.
    pub fn carry(
        reach: Arc<dyn Reach>,
        parcel: Parcel,
        machine: Machine,
        bytes: &[u8],
    ) -> Result<Carried, Failure> {
        let look = Look::at(&*reach)?;
        if !look.machines.contains(&machine) {
            let tried = format!("run {} on the host", parcel.name);
            let happened = format!("it is built for {machine}; {}", look.words());
            let next = format!("Name a host that is {machine}, or {}.", parcel.without);
            return Err(Failure::new(Cause::Usage, tried, reach.name(), happened, next));
        }
        let place = first(&DIRECTORIES, reach.name(), &parcel, |below| {
            let mut place = Place::make(&*reach, parcel, below)?;
            match place.take(&*reach, bytes) {
                Ok(()) => Ok(place),
                Err(refusal) => {
                    let _ = place.remove(&*reach);
                    Err(refusal)
                }
            }
        })?;
        Ok(Carried { reach, place })
    }

    /// The host.
    pub fn reach(&self) -> &dyn Reach {
        &*self.reach
    }

    /// The command that starts it, a word of the shell.
    pub fn command(&self) -> String {
        self.place.program()
    }

    /// How it ended that did not do what it should: what happened, and what to do about it.
    pub fn ending(&self, output: &crate::reach::Output) -> (String, String) {
        super::Ending::of(output).words(self.place.parcel())
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        // The guard does it by itself when the connection ends.
        let _ = self.place.remove(&*self.reach);
    }
}
