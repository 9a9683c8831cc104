//! The probe's verbs.

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::{Placed, Request, Status};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Something that answers the probe's verbs, also several at the same time.
pub trait Verbs: Send + Sync {
    /// Runs a verb to its end, or until `stop` is set, and hands on each section as it comes.
    ///
    /// # Errors
    /// What went wrong; the sections that came before stand.
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure>;

    /// Removes what was deployed for it.
    ///
    /// # Errors
    /// What is left, with the command that removes it.
    fn remove(self: Box<Self>) -> Result<(), Failure>;
}

impl Verbs for Placed {
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match Placed::run(self, request, section, stop)?.status {
            Status::Done | Status::Stopped => Ok(()),
            Status::Limit | Status::Idle => Err(Failure::new(
                Cause::Trial,
                format!("measure with the probe ({})", request.verb()),
            )
            .on(self.directory())
            .happened(format!("it did not finish within {} s", request.limit().as_secs()))
            .next("Try again when the host is less busy, or give --quick.")),
        }
    }

    fn remove(self: Box<Self>) -> Result<(), Failure> {
        Placed::remove(*self)
    }
}
