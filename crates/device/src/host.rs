//! A host that is measured, and what its study needs of it.

use crate::verbs::Verbs;
use plimsoll_model::{Failure, HostName};
use plimsoll_reach::Reach;
use std::sync::Arc;

/// A host that is reached.
pub struct Host<'a> {
    /// As the user named it.
    pub name: HostName,
    /// The way to it.
    pub reach: Arc<dyn Reach>,
    /// The probe on it, or why there is none.
    pub verbs: Result<Box<dyn Verbs + 'a>, Failure>,
    /// Facts about it that its study has.
    pub request: HostRequest,
}

impl Host<'_> {
    /// The probe.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn verbs(&self) -> Result<&dyn Verbs, Failure> {
        match &self.verbs {
            Ok(verbs) => Ok(&**verbs),
            Err(why) => Err(why.clone()),
        }
    }
}

/// Facts about a host that its study has, by the kind of the subject.
#[derive(Clone, Debug)]
pub enum HostRequest {
    /// Of a [`plimsoll_model::HostSubject`].
    Device(DeviceRequest),
    /// Of a [`plimsoll_model::clock_call::ClockSubject`]: its clock source and its CPU.
    Clock,
}

/// What the facts and the jobs of a device need.
#[derive(Clone, Debug, Default)]
pub struct DeviceRequest {
    /// Whether its inventory is taken.
    pub inventory: bool,
    /// The CoreMark program on that host; otherwise it is looked for.
    pub coremark: Option<String>,
    /// The directory for the part `disk`, and one more to look behind.
    pub disk: Option<String>,
}
