//! Parameters that can be set: which of them a job has, and the values that they can have.

use crate::Measure;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

/// Parameter of the steps. Its values are rounded to the nearest whole number that is at least 1: of workers, operations,
/// bytes of an operation, frames or requests. Zero, negative values and values that are too large are errors. A rate of
/// bytes is kept as it is, or as the nearest number of datagrams; one without an end is as much as the sender can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// Operations in flight per worker.
    Depth,
    /// Workers.
    Workers,
    /// What is due in a second, in the unit of the job: see [`Settable`].
    Rate,
    /// Bytes of an operation.
    Block,
}

impl Parameter {
    /// All of them, in the order of texts.
    pub const ALL: [Parameter; 4] =
        [Parameter::Workers, Parameter::Depth, Parameter::Block, Parameter::Rate];
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Parameter::Depth => "depth",
            Parameter::Workers => "workers",
            Parameter::Rate => "rate",
            Parameter::Block => "block size",
        })
    }
}

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
