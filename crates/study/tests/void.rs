//! Trials that say nothing, because the load generator was late.

mod support;

use plimsoll_load::VirtualClock;
use plimsoll_model::{
    DatagramsJob, Design, Endpoint, Flag, Flow, HostName, Length, LoadObserver, Measure, Metric,
    Outcome, Part, PartResult, PathFacts, PathSubject, Plan, PointResult, PointSpec, Rule, Study,
    SubjectFacts, SubjectRunner, VoidReason, Workload,
};
use std::num::NonZeroU16;
use std::sync::Arc;
use support::conducted_by;

const THROUGHPUT: Metric = Metric::all(Measure::THROUGHPUT);

/// A path whose trials with these numbers are void.
struct Void(Vec<u32>);

impl SubjectRunner for Void {
    fn attach(&mut self, _: usize) -> Result<Vec<Flag>, plimsoll_model::Failure> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        vec![SubjectFacts::Path(PathFacts::default())]
    }

    fn point(&mut self, spec: &PointSpec, _: &mut dyn LoadObserver) -> PointResult {
        let is_void = self.0.contains(&spec.number);
        // The figure of a void trial would halve the mean.
        let quantities = [(THROUGHPUT, if is_void { 1.0 } else { 1e6 })].into();
        let parts = vec![PartResult { quantities, ..PartResult::default() }];
        let reason = VoidReason::LateGenerator { late_seconds: 0.5, seconds: 1.0 };
        let outcome = if is_void { Outcome::Void { reason } } else { Outcome::Complete };
        PointResult { parts, ..PointResult::empty(outcome) }
    }

    fn close(&mut self) -> Vec<Flag> {
        Vec::new()
    }
}

/// Three blocks of one cell; the trials with these numbers are void.
fn measured(void: &[u32]) -> Study {
    let end = || Endpoint { host: HostName::Local, address: None };
    let path = PathSubject { from: end(), to: end(), via: None };
    let part = Part::closed(DatagramsJob::new(Flow::Out).into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let workload = Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 });
    let design = Design { rule: Rule::Fixed { blocks: 3 }, ..support::design() };
    let plan = Plan::new(vec![path.into()], vec![workload], design);
    let runner = Box::new(Void(void.to_vec()));
    let clock = Arc::new(VirtualClock::new());
    conducted_by(plan, runner, clock, Arc::default(), &mut |_| {}).unwrap()
}

/// The block of each trial, and whether it is void.
fn blocks(study: &Study) -> Vec<(u32, bool)> {
    let trials = study.trials.iter();
    trials.map(|trial| (trial.block.unwrap(), trial.result.outcome.is_void())).collect()
}

#[test]
fn a_void_trial_is_repeated_in_its_block_and_is_not_counted() {
    let study = measured(&[1, 2]);
    assert_eq!(
        blocks(&study),
        [(0, false), (1, true), (1, true), (1, false), (2, false)],
        "{study:?}"
    );
    let findings = plimsoll_explain::findings(&study);
    let cell = &findings.workloads[0].cells[0];
    assert_eq!((cell.complete, cell.void, cell.failed), (3, 2, 0));
    assert!((cell.levels[&THROUGHPUT].estimate / 1e6 - 1.0).abs() < 1e-9, "{cell:?}");
}

#[test]
fn repetitions_end() {
    let study = measured(&(1..100).collect::<Vec<u32>>());
    let void = |block| [(block, true); 1 + Outcome::VOID_REPETITIONS];
    assert_eq!(blocks(&study), [&[(0, false)][..], &void(1), &void(2)].concat());
}
