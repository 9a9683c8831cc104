//! What a study is going to do.

use crate::units::Bytes;
use crate::{HostName, ServerHost, Target, Workload};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything a study needs to be run, and run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured; at least one.
    pub targets: Vec<Target>,
    /// What is done to each target, once a block; at least one.
    pub workloads: Vec<Workload>,
    /// Measured part and warm-up of one trial together, in seconds.
    pub trial_seconds: f64,
    /// Warm-up cut off where MSER-5 has too few batches, in seconds.
    pub warm_up_seconds: f64,
    /// When to stop.
    pub rule: Rule,
    /// No new block is begun that would end after this many seconds.
    pub cap_seconds: f64,
    /// Idle baseline before the first block, in seconds.
    pub baseline_seconds: f64,
    /// Margin m of the verdicts: differences inside [1/(1+m), 1+m] do not matter.
    pub margin: f64,
    /// Family-wise confidence of the intervals.
    pub confidence: f64,
    /// No operation may take longer than this many seconds: then the trial fails.
    pub operation_timeout_seconds: f64,
    /// Seed of the order, of the offsets and of the content.
    pub seed: u64,
    /// Memory of the servers in bytes, where the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<Bytes>,
    /// The host that the trials are driven on; `None`: this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<HostName>,
    /// The servers' own hosts, watched meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ServerHost>,
    /// Directory engine forced by the user; `None`: chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<crate::Engine>,
    /// Whether the file sizes may be lowered for a slow target, so that laying them out leaves time
    /// for measuring. Off where the user named a size.
    #[serde(default)]
    pub adapt_size: bool,
    /// Whether the file sizes may be lowered to the room that there is. Off where the user named a
    /// size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit_size: bool,
    /// The command that repeats it.
    pub command: String,
}

/// When a study stops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Rule {
    /// Stein's two-stage rule: `pilot` blocks, then as many as the pilot's spread asks for to bring
    /// the half-width of the interval of a log ratio down to `half_width` (method, section 5).
    Stein {
        /// Blocks of the pilot; 6 unless a test says otherwise.
        pilot: u32,
        /// Wanted half-width of the interval on the log scale.
        half_width: f64,
    },
    /// A fixed number of blocks; Student t at that n.
    Fixed {
        /// Blocks.
        blocks: u32,
    },
}

impl Plan {
    /// The host that the trials are driven on.
    pub fn client(&self) -> &HostName {
        self.on.as_ref().unwrap_or(&HostName::Local)
    }

    /// Length of one trial.
    pub fn trial(&self) -> Duration {
        Duration::try_from_secs_f64(self.trial_seconds).unwrap_or_default()
    }

    /// Blocks that are run whatever the figures say.
    pub fn first_blocks(&self) -> u32 {
        match self.rule {
            Rule::Stein { pilot, .. } => pilot,
            Rule::Fixed { blocks } => blocks,
        }
    }
}
