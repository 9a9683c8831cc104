//! How much of its time a study has left, and what is begun in it.

use super::Conductor;
use crate::resume;
use plimsoll_model::{Length, Workload};

/// By how much of the cap the first block may end after it.
const GRACE: f64 = 0.25;
/// A search has this time at least, in seconds: it finds a value, if not within its width.
const LEAST_SEARCH_SECONDS: f64 = 10.0;
/// No operation is given less time than this, in seconds.
const LEAST_TIMEOUT_SECONDS: f64 = 1.0;

impl Conductor<'_> {
    /// Seconds of the study until now.
    pub(super) fn elapsed(&self) -> f64 {
        self.earlier + self.clock.now().since(self.begun).as_secs_f64()
    }

    /// Seconds until no block is begun; negative after that.
    pub(super) fn until_cap(&self) -> f64 {
        self.study.plan.design.cap_seconds - self.elapsed()
    }

    /// When even a block that has begun is broken off, in seconds: the first may end after the cap, but by
    /// a quarter of it and one trial at most. Work that ends when it is done has no length to wait for.
    pub(super) fn latest_end(&self) -> f64 {
        let before = self.before.as_ref().map_or(0.0, resume::stopped_at);
        let cap = self.study.plan.design.cap_seconds - before;
        let timed = |workload: &&Workload| matches!(workload.length, Length::For { .. });
        let workloads = self.study.plan.workloads.iter().filter(timed);
        before + cap * (1.0 + GRACE) + workloads.map(Workload::seconds).fold(0.0, f64::max)
    }

    /// Seconds until the study's end, which nothing goes on long after, as with a server whose replies come byte by
    /// byte.
    pub(super) fn seconds_left(&self) -> f64 {
        (self.latest_end() - self.elapsed()).max(LEAST_TIMEOUT_SECONDS)
    }

    /// Seconds for a search that so many trials of its block follow: an equal share of the time until the cap.
    pub(super) fn left_for_search(&self, later_cells: usize) -> f64 {
        (self.until_cap() / (later_cells + 1) as f64).max(LEAST_SEARCH_SECONDS)
    }

    /// A workload that is begun now: one that ends when it is done has no longer than the study has.
    pub(super) fn in_time(&self, workload: Workload) -> Workload {
        let length = match workload.length {
            Length::UntilDone { at_most_seconds } => {
                Length::UntilDone { at_most_seconds: at_most_seconds.min(self.seconds_left()) }
            }
            timed @ Length::For { .. } => timed,
        };
        Workload { length, ..workload }
    }
}
