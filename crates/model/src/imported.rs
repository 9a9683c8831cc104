//! Results of other tools without another place in a trial.

use crate::{LatencySummary, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Run of another tool: the results without another place in a trial. Unknown values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedRun {
    /// The tool and its version: "fio-3.36".
    pub tool: String,
    /// The file it was read from, as the user named it.
    pub file: String,
    /// First line of the run in the file, from 1.
    pub line: u64,
    /// Name of the run: fio's job name.
    pub name: String,
    /// I/O engine of the tool; empty if unknown.
    #[serde(default)]
    pub engine: String,
    /// Jobs (processes or threads) that ran together; `None` where the tool did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// Duration of the longer half of the run, in seconds.
    pub runtime_seconds: f64,
    /// CPU time and related counts; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ImportedCpu>,
    /// Share (0..1) of the operations that were begun with so many in flight in their job, by
    /// fio's levels: "1", "2", "4" (which is 4 to 7), .. ">=64".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub depth_shares: BTreeMap<String, f64>,
    /// Time from making an operation to handing it to the kernel: fio's slat.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub submission_latency: BTreeMap<OpKind, LatencySummary>,
    /// Time from making an operation to its completion: fio's lat. The trial's client latency is
    /// fio's clat, which begins where the submission ends.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub total_latency: BTreeMap<OpKind, LatencySummary>,
    /// Anything a reader of the figures has to know, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// CPU time of another tool's own processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedCpu {
    /// User time as the tool said it: percent of one job's runtime, the mean over the jobs.
    pub user_percent: f64,
    /// System time, likewise.
    pub system_percent: f64,
    /// User time of all jobs together, in seconds; `None` where the number of jobs is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_seconds: Option<f64>,
    /// System time of all jobs together, in seconds; `None` where the number of jobs is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_seconds: Option<f64>,
    /// Context switches of all jobs.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}
