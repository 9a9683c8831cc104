//! Hosts as subjects of a study: what a host is, and what its processor, memory, cryptography and disk
//! do; its clocks ([`clock_call`]) and its kernel ([`kernel_trace`]).
//!
//! The probe measures; where none runs on a host, its shell reports what it is, and programs that it
//! has measure what they can. Whatever comes from there is bounded before it is believed
//! ([`Odd`]), and every part that fails leaves the others alone.
//!
//! [`HostRunner`] measures part by part for a study; what a part is measured with is in `bench`.
#![forbid(unsafe_code)]

mod arm;
mod bench;
mod clean;
pub mod clock_call;
mod clocks;
mod coremark;
mod cpu;
mod crypto;
mod cryptsetup;
mod disk;
mod exports;
#[doc(hidden)]
pub mod fuzzing;
mod inventory;
pub mod kernel_trace;
mod links;
mod memory;
mod openssl;
mod point;
mod processor;
mod router;
mod runner;
mod shell;
mod tool;
mod wireless;

pub use clean::Odd;
pub use links::interface;
pub use router::router;
pub use runner::{Host, HostRequest, HostRunner};
pub use wireless::wireless;

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::{Placed, Request, Status};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Something that answers the probe's verbs.
pub trait Verbs {
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
