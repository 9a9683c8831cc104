//! What the runner says while it works. Observers may miss events; nothing waits for them.

use crate::{Flag, TrialResult, Window};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a runner is doing.
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
    Reckon,
    /// Reading back what was written.
    Verify,
    /// Removing what was made.
    CleanUp,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Prepare => "prepare",
            Phase::LayOut => "lay out",
            Phase::Probe => "probe",
            Phase::Measure => "measure",
            Phase::Flush => "flush",
            Phase::Reckon => "reckon",
            Phase::Verify => "verify",
            Phase::CleanUp => "clean up",
        })
    }
}

/// One thing a runner says.
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
    /// Bytes done since the last event of this kind, in a phase with a known end.
    Progress {
        /// Bytes.
        bytes: u64,
    },
    /// A window of the trial under way ended.
    Window {
        /// Seconds since the trial's first operation.
        at_seconds: f64,
        /// What completed, all workers together.
        window: Window,
    },
    /// Something odd.
    Warning {
        /// What.
        flag: Flag,
    },
    /// The trial ended. The last event of a trial.
    Finished {
        /// Its figures.
        result: Box<TrialResult>,
    },
}
