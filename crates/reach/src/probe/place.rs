//! The probe on a host.

use super::message::Done;
use super::request::Request;
use super::sampler::Sampler;
use super::serving::Serving;
use super::session::Session;
use crate::Reach;
use crate::deploy::{Deployed, Machine, Programs};
use plimsoll_model::Failure;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A probe on a host. Dropping it removes it there.
pub struct Placed(Deployed);

impl Placed {
    /// Deploys the probe that fits the host: into `directory`, or without one to where it can
    /// run.
    ///
    /// # Errors
    /// Those of [`Deployed::deploy`].
    pub fn place(
        reach: Arc<dyn Reach>,
        programs: &Programs,
        directory: Option<&str>,
    ) -> Result<Placed, Failure> {
        Deployed::deploy(reach, programs, directory).map(Placed)
    }

    /// Which build it is.
    pub fn machine(&self) -> Machine {
        self.0.machine()
    }

    /// Where it lies on the host.
    pub fn directory(&self) -> &str {
        self.0.directory()
    }

    /// Runs a verb to its end, handing on each section as it comes; ends it early once `stop` is
    /// set.
    pub fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let session = Session::start(self.0.reach(), &self.0.command(), request)?;
        session.run(request.limit(), section, stop)
    }

    /// The same by a shell that runs the command `before` first; the probe is a child of that shell, and does not start
    /// if the command fails.
    pub fn run_after(
        &self,
        before: &str,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let program = format!("{{ {before}; }} && {}", self.0.command());
        let session = Session::start(self.0.reach(), &program, request)?;
        session.run(request.limit(), section, stop)
    }

    /// The same as the last words of the command `by`.
    pub fn run_by(
        &self,
        by: &str,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let program = format!("{by} {}", self.0.command());
        let session = Session::start(self.0.reach(), &program, request)?;
        session.run(request.limit(), section, stop)
    }

    /// A probe that samples when asked.
    pub fn sampler(&self) -> Result<Sampler, Failure> {
        Sampler::start(self.0.reach(), &self.0.command())
    }

    /// A session of a verb that does trial after trial.
    pub fn serve(&self, request: &Request) -> Result<Serving, Failure> {
        Serving::start(self.0.reach(), &self.0.command(), request)
    }

    /// Removes it, and says if that failed.
    ///
    /// # Errors
    /// What is left, with the command that removes it.
    pub fn remove(self) -> Result<(), Failure> {
        self.0.remove()
    }
}
