//! One trial: one workload on one subject under one setting in one block. Each of its parts yields
//! one number per metric.

use crate::kernel_trace::KernelFunction;
use crate::{
    Cause, Cell, Count, Failure, Flag, HostLoad, ImportedRun, Metric, MountAccount, OpKind,
    OpStats, RateBasis, Series, Workload, units,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One point of a trial: what a [`SubjectRunner`](crate::SubjectRunner) does at once. A trial without
/// steps is one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpec {
    /// Number of the trial in the study, from 0.
    pub number: u32,
    /// Index of the subject in the plan. It is open already.
    pub subject: usize,
    /// What to do.
    pub workload: Workload,
    /// Number of the place at which it begins in each list that is worked through in turn, such as that of the files
    /// that are read; the places before follow last.
    pub rotation: u32,
    /// Length of the windows of the series, in seconds.
    pub window_seconds: f64,
    /// Seconds until the end of the study, by when all that precedes the load must be done. No operation may take longer.
    pub left_seconds: f64,
    /// Seed of this trial's offsets.
    pub seed: u64,
}

/// What came out of one point, or of a whole trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// How it ended.
    pub outcome: Outcome,
    /// A result for each part of the workload, in its order. Empty where nothing was measured.
    pub parts: Vec<PartResult>,
    /// All parts together, where several clients do the same job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<PartResult>,
    /// Figures of the whole workload that no part has alone: CPU time of machines, where several parts run at once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub whole: BTreeMap<Metric, f64>,
    /// What is odd about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// What one part of a workload did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// One number per metric; empty unless complete.
    pub quantities: BTreeMap<Metric, f64>,
    /// Counts and latencies by kind of operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ops: BTreeMap<OpKind, OpStats>,
    /// Rates over time.
    #[serde(default, skip_serializing_if = "Series::is_empty")]
    pub series: Series,
    /// Of storage: the amounts that its rates follow from. `None` unless complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_basis: Option<RateBasis>,
    /// Time of the load without the stalls in it, warm-up and final flush included, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_seconds: Option<f64>,
    /// Times in which the target did nothing although it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Kernel functions of one of its operations, if they were traced; at most [`PartResult::MOST_FUNCTIONS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<KernelFunction>,
    /// Buffer of films over time, where films played at their rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferSeries>,
}

impl PartResult {
    /// Most kernel functions that are kept of a part.
    pub const MOST_FUNCTIONS: usize = 2000;
}

/// Film in the buffer of a player over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferSeries {
    /// Time between two values, in seconds; the first is as long after the start of the load.
    pub every_seconds: f64,
    /// Seconds of film in the buffer; of several streams those of the stream with the least.
    pub seconds: Vec<f64>,
}

/// Time in which a target completed nothing, and moved no bytes where these are counted, although operations were in
/// flight: the larger of a second and 20 times the 99th percentile of the latencies, or more. Over a network path,
/// time in which no byte of TCP arrived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// What was done when it began.
    pub phase: StallPhase,
    /// Its begin, in seconds since the load began; below 0 before that.
    pub start_seconds: f64,
    /// Time to the completion that ended it, in seconds. It may outlast the trial.
    pub seconds: f64,
}

/// Part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallPhase {
    /// Before the load: creation of files, connections of the workers.
    SetUp,
    /// The warm-up, which is cut off.
    WarmUp,
    /// The measured part.
    Measured,
    /// Waiting for what was in flight when the trial ended.
    Drain,
}

impl PointResult {
    /// A point without a figure.
    pub fn empty(outcome: Outcome) -> Self {
        PointResult {
            outcome,
            parts: Vec::new(),
            together: None,
            whole: BTreeMap::new(),
            flags: Vec::new(),
        }
    }

    /// The result of one part; of all together, that follows the last one (see
    /// [`Workload::together`]).
    pub fn part(&self, part: u16) -> Option<&PartResult> {
        let together = || self.together.as_ref().filter(|_| usize::from(part) == self.parts.len());
        self.parts.get(usize::from(part)).or_else(together)
    }

    /// One number of one part.
    pub fn value(&self, part: u16, metric: Metric) -> Option<f64> {
        self.part(part)?.quantities.get(&metric).copied()
    }

    /// Everything that completed, of all parts, warm-up included.
    pub fn moved(&self) -> Count {
        self.parts.iter().fold(Count::default(), |mut all, part| {
            all.add(part.series.total());
            all
        })
    }

    /// The first part's result.
    pub fn main(&self) -> Option<&PartResult> {
        self.parts.first()
    }
}

/// One value of what a trial's steps go over, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value.
    pub at: f64,
    /// Whether a search accepted it; `None` in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// What each part did.
    pub parts: Vec<PartResult>,
    /// Load of every host watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<HostLoad>,
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
    /// Says nothing about its subject, because its load was not the planned load: its figures enter no statistics, and
    /// it is measured again.
    Void {
        /// Why.
        reason: VoidReason,
    },
}

/// Reason why a trial says nothing about its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum VoidReason {
    /// Workers with nothing in flight woke up after operations were due: the machine that makes the load was late, and
    /// not the subject.
    LateGenerator {
        /// Time by which a worker was late, in seconds.
        late_seconds: f64,
        /// Length of the trial in seconds.
        seconds: f64,
    },
}

impl VoidReason {
    /// The failure of work that needs a trial that says something.
    pub fn failure(&self, tried: &str) -> Failure {
        let next = "Stop other work on the machine that makes the load, or lower the rate.";
        Failure::new(Cause::Trial, tried).on("the load").happened(self).next(next)
    }
}

impl fmt::Display for VoidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VoidReason::LateGenerator { late_seconds, seconds } = self;
        let (late, all) = (units::elapsed(*late_seconds), units::elapsed(*seconds));
        write!(f, "the load generator was late for {late} of {all}")
    }
}

impl Outcome {
    /// Most repetitions of a trial or a point that was void.
    pub const VOID_REPETITIONS: usize = 2;

    /// Whether it says nothing about the subject.
    pub fn is_void(&self) -> bool {
        matches!(self, Outcome::Void { .. })
    }

    /// Outcome of two that ran together: the first failure, which explains the stop of the others.
    pub fn worse(self, other: Outcome) -> Outcome {
        let severity = |outcome: &Outcome| match outcome {
            Outcome::Complete => 0,
            Outcome::Void { .. } => 1,
            Outcome::Stopped => 2,
            Outcome::Failed { .. } => 3,
        };
        if severity(&other) > severity(&self) { other } else { self }
    }
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
    /// The figures. Of a trial with steps: what its points amount to.
    #[serde(flatten)]
    pub result: PointResult,
    /// The points of a trial with steps, in the order run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// Load of every host watched.
    pub loads: Vec<HostLoad>,
    /// Of a mounted target: what the kernel's own client counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountAccount>,
    /// Of a run of another tool: what it said beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedRun>,
}

impl Trial {
    /// Whether others used a host during it. Not of a trial that is only slow: leaving slow trials out would make any
    /// level look better than it is.
    pub fn is_disturbed(&self) -> bool {
        self.result.flags.iter().any(|flag| matches!(flag, Flag::OtherLoad { .. }))
    }
}
