//! Events of a runner. Progress may be lost, because no code waits for it. The calls at the start
//! and end of the load always arrive; host load is counted between them.

use crate::Window;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Phase of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Connecting, making the directory.
    Prepare,
    /// Writing the files that will be worked on.
    LayOut,
    /// Finding out whether reads come from memory or disk.
    Probe,
    /// Driving the load.
    Measure,
    /// Waiting for written data to be stable.
    Flush,
    /// The load is over; figures are worked out.
    Summarize,
    /// Reading back what was written.
    Verify,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Prepare => "prepare",
            Phase::LayOut => "lay out",
            Phase::Probe => "probe",
            Phase::Measure => "measure",
            Phase::Flush => "flush",
            Phase::Summarize => "summarize",
            Phase::Verify => "verify",
        })
    }
}

/// Progress of a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// A phase began; `total_bytes` where its end is known in bytes.
    Phase {
        /// Which.
        phase: Phase,
        /// Bytes until it ends; 0 where unknown.
        total_bytes: u64,
    },
    /// Current step of a phase with several steps: "integer rounds on each core".
    Step {
        /// In a few words.
        what: String,
    },
    /// Bytes done since the last event of this kind, in a phase with a known end.
    Progress {
        /// Bytes.
        bytes: u64,
    },
    /// A window of the trial under way ended.
    Window {
        /// Seconds since the trial's first operation.
        at_seconds: f64,
        /// Completed operations of each part of the workload, of all its workers together.
        parts: Vec<Window>,
    },
}

/// Who looks on while a point is measured.
pub trait LoadObserver {
    /// The load begins now.
    fn load_begins(&mut self);
    /// The load is over, the final flush included. Called once for each `load_begins`, whatever
    /// happens.
    fn load_ends(&mut self);
    /// Progress.
    fn event(&mut self, event: Event);
}
