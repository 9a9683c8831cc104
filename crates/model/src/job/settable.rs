//! Parameters that can be set: which of them a job has, and the values that they can have.

use super::Job;
use crate::units::Bytes;
use crate::{Cause, Failure, Measure, Parameter};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

/// Unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Bytes of payload.
    Bytes,
    /// Frames, in each direction.
    Frames,
    /// Requests.
    Requests,
    /// Operations, of all workers of a part together.
    Operations,
}

impl RateUnit {
    /// Name in texts: "frames".
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::Bytes => "bytes",
            RateUnit::Frames => "frames",
            RateUnit::Requests => "requests",
            RateUnit::Operations => "operations",
        }
    }

    /// Measure of the rate that was carried.
    pub fn carried(self) -> Measure {
        match self {
            RateUnit::Bytes => Measure::THROUGHPUT,
            RateUnit::Frames => Measure::PACKETS,
            RateUnit::Requests => Measure::REQUESTS,
            RateUnit::Operations => Measure::IOPS,
        }
    }
}

/// Parameters that a job and the part that does it have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settable {
    /// Whether it has workers; else it has streams of its own, or none.
    pub workers: bool,
    /// Whether a worker can have several operations in flight.
    pub depth: bool,
    /// Whether its operations have a size that can be chosen.
    pub block: bool,
    /// Unit of its rate; `None` if it has no rate that can be chosen.
    pub rate: Option<RateUnit>,
}

impl Settable {
    /// Parameters of work that consists of operations, which can also be begun at a rate.
    pub(super) const OF_OPERATIONS: Settable =
        Settable { workers: true, depth: true, block: false, rate: Some(RateUnit::Operations) };
    /// The same of work that decides itself when its operations begin.
    pub(super) const OF_WORKERS: Settable =
        Settable { workers: true, depth: true, block: false, rate: None };

    /// Whether a parameter is among them.
    pub fn has(self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Workers => self.workers,
            Parameter::Depth => self.depth,
            Parameter::Block => self.block,
            Parameter::Rate => self.rate.is_some(),
        }
    }
}

impl fmt::Display for Settable {
    /// "workers, rate in operations per second"; nothing if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |parameter: Parameter| match self.rate {
            Some(unit) if parameter == Parameter::Rate => {
                format!("{parameter} in {} per second", unit.name())
            }
            _ => parameter.to_string(),
        };
        let names = Parameter::ALL.into_iter().filter(|parameter| self.has(*parameter)).map(name);
        f.write_str(&names.collect::<Vec<String>>().join(", "))
    }
}

/// Why a parameter was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSet {
    /// There is no such parameter.
    #[error("it has no such parameter")]
    Parameter,
    /// It cannot have that value.
    #[error("it cannot have that value")]
    Value,
}

impl CannotSet {
    /// The same as a failure that names the job, the parameter, and what can be set.
    pub(crate) fn failure(self, job: &Job, parameter: Parameter, value: f64) -> Failure {
        let has = job.settable().to_string();
        let (happened, next) = match self {
            CannotSet::Parameter if has.is_empty() => {
                ("it has no parameter that can be set".to_owned(), "Measure it without steps.")
            }
            CannotSet::Parameter => (
                format!("it has no {parameter} that can be set, only: {has}"),
                "Vary one of these.",
            ),
            CannotSet::Value => {
                let happened = format!("{value} is not above 0, or is too large; it has {has}");
                (happened, "Give a number of at least 1.")
            }
        };
        let tried = format!("set the {parameter} to {value}");
        Failure::new(Cause::Usage, tried).on(job.title()).happened(happened).next(next)
    }
}

/// The nearest whole number that is at least 1. Zero, negative values and what is too large have none.
pub(crate) fn whole<T: TryFrom<NonZeroU64>>(value: f64) -> Result<T, CannotSet> {
    let is_possible = value > 0.0 && value < u64::MAX as f64;
    let nearest = is_possible.then_some(value.round().max(1.0) as u64).and_then(NonZeroU64::new);
    nearest.and_then(|number| T::try_from(number).ok()).ok_or(CannotSet::Value)
}

/// A number of bytes of an operation.
pub(super) fn block(value: f64) -> Result<Bytes, CannotSet> {
    whole(value).map(|bytes: NonZeroU64| Bytes(bytes.get()))
}

/// A rate that a job keeps itself. One without an end is as much as the sender can send, which jobs keep as `None`.
pub(super) fn rate(value: f64) -> Result<Option<NonZeroU32>, CannotSet> {
    if value == f64::INFINITY { Ok(None) } else { whole(value).map(Some) }
}

#[cfg(test)]
mod tests;
