//! One trial: one workload on one target in one block. It yields one number per metric.

use crate::{
    Failure, Flag, HostLoad, ImportedRun, Metric, MountAccount, OpKind, OpStats, Series, Workload,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the runner is told to do. The target is open already; `target` is its index in the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Number of the trial in the study, from 0.
    pub number: u32,
    /// Index of the target in the plan.
    pub target: usize,
    /// What to do.
    pub workload: Workload,
    /// Generation of the written file's layout: a new number lays it out afresh.
    pub generation: u32,
    /// Warm-up and measured part together, in seconds.
    pub seconds: f64,
    /// Fixed warm-up, in seconds, used where MSER-5 has too few batches.
    pub warm_up_seconds: f64,
    /// Length of the windows of the series, in seconds.
    pub window_seconds: f64,
    /// No operation may take longer than this many seconds.
    pub operation_timeout_seconds: f64,
    /// Seed of this trial's offsets.
    pub seed: u64,
}

/// What the runner hands back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// How it ended.
    pub outcome: Outcome,
    /// One number per metric; empty unless complete.
    pub quantities: BTreeMap<Metric, f64>,
    /// Counts and latencies by kind of operation.
    pub ops: BTreeMap<OpKind, OpStats>,
    /// Rates over time.
    pub series: Series,
    /// What is odd about it.
    pub flags: Vec<Flag>,
}

impl TrialResult {
    /// A trial without a figure.
    pub fn empty() -> Self {
        TrialResult {
            outcome: Outcome::Stopped,
            quantities: BTreeMap::new(),
            ops: BTreeMap::new(),
            series: Series::default(),
            flags: Vec::new(),
        }
    }
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// Ran to its end.
    Complete,
    /// Stopped by the user; its figures do not enter any statistics.
    Stopped,
    /// Failed.
    Failed {
        /// What it was doing: "lay out", "measure", "flush", "verify".
        phase: String,
        /// Why.
        failure: Failure,
    },
}

/// What was measured under which setting: subject, workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the target in the study.
    pub target: usize,
    /// What was done.
    pub workload: Workload,
}

/// A trial as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number in the study, from 0, in the order run.
    pub number: u32,
    /// Block it belongs to; `None` for imports that have no blocks.
    pub block: Option<u32>,
    /// What was measured.
    pub cell: Cell,
    /// Start, in seconds since the study began.
    pub started_seconds: f64,
    /// The figures.
    #[serde(flatten)]
    pub result: TrialResult,
    /// Load of every host watched.
    pub loads: Vec<HostLoad>,
    /// Of a mounted target: what the kernel's own client counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountAccount>,
    /// Of a run of another tool: what it said beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedRun>,
}

/// Where the bytes of a pattern came from, as far as the two-size probe can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredOn {
    /// The server's memory: the large working set is as fast as one surely cached.
    ServerMemory,
    /// A disk or flash: the large working set is clearly slower than a cached one.
    Disk,
    /// Cannot be told from here.
    Unknown,
}
