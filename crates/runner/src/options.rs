//! What holds for all points of a study.

use plimsoll_model::{Deadline, Plan, StudyId};
use std::time::Duration;

/// What holds for all points of a study.
#[derive(Clone)]
pub struct RunnerOptions {
    /// The study: it names the directories and seeds the content.
    pub study: StudyId,
    /// Makes the directories' names unique.
    pub nonce: u32,
    /// Longest trial: how long a lease may go without being renewed.
    pub longest_trial: Duration,
    /// No operation may take longer.
    pub operation_timeout: Duration,
    /// Memory of the servers in bytes, where known.
    pub server_memory: Option<u64>,
    /// Whether windows are reported while a trial runs. Without, a single worker runs on the calling
    /// thread and every figure of a scripted share is exact.
    pub live: bool,
    /// Longest time for setting up, and again for what precedes the load of each trial.
    pub set_up: Duration,
    /// Time, and the request to stop. The targets are opened with the same.
    pub deadline: Deadline,
}

impl RunnerOptions {
    /// Those of a plan. Windows are reported.
    pub fn of_plan(plan: &Plan, study: StudyId, nonce: u32, deadline: Deadline) -> Self {
        RunnerOptions {
            study,
            nonce,
            longest_trial: seconds(plan.longest_trial_seconds()),
            operation_timeout: seconds(plan.storage.operation_timeout_seconds.max(0.1)),
            server_memory: plan.storage.server_memory.map(|m| m.0),
            live: true,
            set_up: seconds(plan.design.cap_seconds),
            deadline,
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}
