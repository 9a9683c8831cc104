//! Measured time of a part and the work done in it, from which its rates follow.

use crate::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measured time of a part and the work done in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateBasis {
    /// End of the warm-up, in seconds since the load began.
    pub from_seconds: f64,
    /// Length of the measured time, in seconds.
    pub length_seconds: f64,
    /// The same without the stalls in it. Operations that are due at a fixed rate are counted to the end of the last
    /// stall.
    pub answered_seconds: f64,
    /// Share of the final flush for the writes in the measured time, in seconds.
    pub flush_seconds: f64,
    /// Operations that were done in it, by kind.
    pub done: BTreeMap<OpKind, PartialCount>,
}

/// Operations and their payload bytes. Operations that cross the ends of the measured time count by the share of their
/// time inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialCount {
    /// Operations.
    pub operations: f64,
    /// Bytes.
    pub bytes: f64,
}

impl PartialCount {
    /// Adds others, each `times` as often.
    pub fn add(&mut self, other: PartialCount, times: f64) {
        self.operations += other.operations * times;
        self.bytes += other.bytes * times;
    }
}
