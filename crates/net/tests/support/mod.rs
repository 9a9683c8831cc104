//! Points of paths, measured one after the other, and what is expected of their results.

use plimsoll_model::{
    Failure, Job, Length, Measure, Metric, Outcome, Part, PartResult, PointResult, PointSpec,
    SubjectRunner, Workload,
};
use plimsoll_testkit::points::{self, Loads};
use std::num::NonZeroU16;

/// Measures a point, whose jobs run at the same time.
pub fn point(
    runner: &mut dyn SubjectRunner,
    number: u32,
    jobs: Vec<Job>,
    length: Length,
    observer: &mut Loads,
) -> PointResult {
    let part = |job| Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let parts = jobs.into_iter().map(part).collect();
    let spec = points::spec(Workload { parts, steps: None, length });
    let spec = PointSpec { number, left_seconds: 60.0, ..spec };
    runner.point(&spec, observer)
}

/// The parts of a complete result, whose load began and ended once.
#[track_caller]
pub fn parts(result: PointResult, observer: &Loads, count: usize) -> Vec<PartResult> {
    assert_eq!(result.outcome, Outcome::Complete);
    assert_eq!((observer.begun, observer.ended, result.parts.len()), (1, 1, count));
    result.parts
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
