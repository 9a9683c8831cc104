//! Points of paths, measured one after the other, and what is expected of their results.

use plimsoll_model::{
    Event, Failure, Job, Length, LoadObserver, Measure, Metric, Outcome, Part, PartResult,
    PointResult, PointSpec, SubjectRunner, Workload,
};
use std::num::NonZeroU16;

/// Measures a point, whose jobs run at the same time.
pub fn point(
    runner: &mut dyn SubjectRunner,
    number: u32,
    jobs: Vec<Job>,
    length: Length,
    observer: &mut Observer,
) -> PointResult {
    let part = |job| Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let parts = jobs.into_iter().map(part).collect();
    let spec = PointSpec {
        number,
        subject: 0,
        workload: Workload { parts, steps: None, length },
        first_file: 0,
        window_seconds: 0.1,
        operation_timeout_seconds: 10.0,
        left_seconds: 60.0,
        seed: 1,
    };
    runner.point(&spec, observer)
}

/// The parts of a complete result, whose load began and ended once.
#[track_caller]
pub fn parts(result: PointResult, observer: &Observer, count: usize) -> Vec<PartResult> {
    assert_eq!(result.outcome, Outcome::Complete);
    assert_eq!((observer.begun, observer.ended, result.parts.len()), (1, 1, count));
    result.parts
}

/// Counts the load's beginnings and ends.
#[derive(Default)]
pub struct Observer {
    pub begun: u32,
    pub ended: u32,
}

impl LoadObserver for Observer {
    fn load_begins(&mut self) {
        self.begun += 1;
    }

    fn load_ends(&mut self) {
        self.ended += 1;
    }

    fn event(&mut self, _: Event) {}
}

#[track_caller]
pub fn value(result: &PartResult, measure: Measure) -> f64 {
    let found = result.quantities.get(&Metric::all(measure));
    *found.unwrap_or_else(|| panic!("no {measure} in {:?}", result.quantities))
}

#[track_caller]
pub fn failure(result: PointResult) -> Failure {
    assert!(result.parts.is_empty());
    match result.outcome {
        Outcome::Failed { failure, .. } => failure,
        other => panic!("{other:?}"),
    }
}
