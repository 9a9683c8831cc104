//! A point whose work is one measurement of a host: its events, and what its result amounts to.

use plimsoll_model::{Event, Failure, LoadObserver, Outcome, PartResult, Phase, PointResult};
use std::sync::atomic::{AtomicBool, Ordering};

/// Measures, and tells the observer. What failed after `stop` was set is no failure.
pub(super) fn measured(
    stop: &AtomicBool,
    observer: &mut dyn LoadObserver,
    measure: impl FnOnce() -> Result<PartResult, Failure>,
) -> PointResult {
    observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
    observer.load_begins();
    let measured = measure();
    observer.load_ends();
    if stop.load(Ordering::Relaxed) {
        return PointResult::empty(Outcome::Stopped);
    }
    match measured {
        Ok(part) => PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) },
        Err(failure) => {
            let phase = Phase::Measure.to_string();
            PointResult::empty(Outcome::Failed { phase, failure })
        }
    }
}
