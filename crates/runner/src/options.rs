//! What a runner is told once.

use model::{Clock, Plan, StudyId};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a runner is told once.
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
    /// Whether windows are told while a trial runs. Without, a single worker runs on the calling
    /// thread and every figure of a scripted share is exact.
    pub live: bool,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set from outside to stop early.
    pub stop: Arc<AtomicBool>,
}

impl RunnerOptions {
    /// What a plan says. Windows are told.
    pub fn of_plan(
        plan: &Plan,
        study: StudyId,
        nonce: u32,
        clock: Arc<dyn Clock>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        RunnerOptions {
            study,
            nonce,
            longest_trial: plan.trial(),
            operation_timeout: Duration::from_secs_f64(plan.operation_timeout_seconds.max(0.1)),
            server_memory: plan.server_memory.map(|m| m.0),
            live: true,
            clock,
            stop,
        }
    }
}
