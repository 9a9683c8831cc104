//! Whole studies, exactly, on scripted shares: order, cap, failures, interruptions.

use plimsoll_load::{LaneDead, MockShare, Op, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Design, DirectoryTarget, Ended, ErrorKind, Failure, Flag, Job, Length, Nanos, Outcome,
    Part, Pattern, PatternJob, Plan, Rule, Study, StudyId, Target, Trial, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{Conduct, Keep, NoSettings, conduct};
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn plan(targets: usize, rule: Rule) -> Plan {
    let workload = |pattern| {
        let job = Job::Pattern(PatternJob::new(pattern, Bytes(64 * KIB), Bytes(MIB)));
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::of(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    };
    let subject = |i| Target::Directory(DirectoryTarget { path: format!("{i}").into() }).into();
    let workloads = vec![workload(Pattern::RandomRead), workload(Pattern::SequentialWrite)];
    let design = Design { rule, baseline_seconds: 0.0, seed: 3, ..Design::default() };
    Plan::new((0..targets).map(subject).collect(), workloads, design)
}

/// Keeps trials, and fails when told to.
#[derive(Default)]
struct Kept {
    trials: Vec<Trial>,
    ended: Option<Ended>,
    full_after: Option<usize>,
}

impl Keep for Kept {
    fn begin(&mut self, study: &Study) -> Result<(), Failure> {
        assert!(study.trials.is_empty());
        Ok(())
    }
    fn add_trial(&mut self, _: &Study, trial: &Trial) -> Result<(), Failure> {
        if self.full_after == Some(self.trials.len()) {
            return Err(Failure::new(Cause::NoSpace, "keep a trial", "the store", "full", ""));
        }
        self.trials.push(trial.clone());
        Ok(())
    }
    fn update(&mut self, study: &Study) -> Result<(), Failure> {
        self.ended = Some(study.ended.clone());
        Ok(())
    }
}

struct Ran {
    study: Result<Study, Failure>,
    kept: Kept,
    shares: Vec<Arc<MockShare>>,
}

fn run(
    plan: Plan,
    full_after: Option<usize>,
    stop: &Arc<AtomicBool>,
    script: impl Fn(&Op, Nanos) -> Reply + Clone + Send + Sync + 'static,
) -> Ran {
    let clock = Arc::new(VirtualClock::new());
    let share = |_| Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script.clone()));
    let shares: Vec<Arc<MockShare>> = (0..plan.subjects.len()).map(share).collect();
    let mut kept = Kept { full_after, ..Kept::default() };
    let id = StudyId("0123abcd".into());
    let options = RunnerOptions::of_plan(
        &plan,
        id.clone(),
        0,
        plimsoll_model::Deadline::new(clock.clone(), stop.clone()),
    );
    let options = RunnerOptions { live: false, ..options };
    let opened = shares.iter().map(|s| s.clone() as Arc<dyn plimsoll_runner::Share>).collect();
    let study = conduct(Conduct {
        id,
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner: Box::new(Runner::new(options, opened)),
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        clock,
        stop: stop.clone(),
        keep: &mut kept,
        observer: &mut |_| {},
    });
    for share in &shares {
        assert_eq!(share.paths(), Vec::<String>::new(), "nothing is left behind");
    }
    Ran { study, kept, shares }
}

fn running() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

#[test]
fn every_cell_once_a_block_in_changing_order() {
    let ran = run(plan(2, Rule::Fixed { blocks: 5 }), None, &running(), |_, _| Reply::After(MS));
    let study = ran.study.unwrap();
    assert_eq!(study.ended, Ended::Done);
    assert_eq!(study.trials, ran.kept.trials);
    assert_eq!(study.trials.len(), 5 * 4);
    let mut orders = BTreeSet::new();
    for block in study.trials.chunks(4) {
        assert!(block.iter().all(|t| t.block == block[0].block));
        let order: Vec<_> = block.iter().map(|t| t.cell).collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 4);
        orders.insert(order);
    }
    assert!(orders.len() > 1, "the order changes");
    assert_eq!(ran.shares.len(), 2);
}

#[test]
fn a_quiet_pair_ends_with_the_pilot_and_a_constant_one_has_no_difference() {
    let rule = Rule::Stein { pilot: 6, half_width: 0.02 };
    let study = run(plan(2, rule), None, &running(), |_, _| Reply::After(MS)).study.unwrap();
    assert_eq!(study.trials.len(), 6 * 4);
    for workload in plimsoll_explain::findings(&study).workloads {
        let verdict = workload.pairs[0].claim.unwrap().verdict.unwrap();
        assert!(matches!(verdict, plimsoll_stats::verdict::Verdict::NoPracticalDifference(_)));
    }
}

#[test]
fn the_cap_ends_a_study_at_a_whole_block_and_says_so() {
    let mut plan = plan(2, Rule::Fixed { blocks: 50 });
    plan.design.cap_seconds = 22.0;
    let study = run(plan, None, &running(), |_, _| Reply::After(MS)).study.unwrap();
    assert_eq!(study.ended, Ended::CapReached);
    assert_eq!(study.trials.len() % 4, 0);
    assert!(study.trials.last().unwrap().started_seconds < 22.0);
    assert!(study.flags.iter().any(|f| matches!(f, Flag::CapReached { wanted: 50, .. })));
}

#[test]
fn a_server_that_dies_ends_the_study_and_what_was_measured_stays() {
    let ran = run(plan(1, Rule::Fixed { blocks: 9 }), None, &running(), |_, at| {
        if at.0 > 5_500_000_000 {
            Reply::Dies(LaneDead { kind: ErrorKind::ConnectionLost, detail: "reset".into() })
        } else {
            Reply::After(MS)
        }
    });
    let study = ran.study.unwrap();
    assert!(
        matches!(&study.ended, Ended::Failed { failure } if failure.cause == Cause::Unreachable)
    );
    let complete = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete).count();
    assert_eq!(complete, study.trials.len() - 1);
    assert!(complete >= 4);
    assert_eq!(ran.kept.trials, study.trials);
    assert_eq!(ran.kept.ended, Some(study.ended));
}

#[test]
fn wrong_content_fails_trials_but_not_the_study() {
    let study = run(plan(1, Rule::Fixed { blocks: 2 }), None, &running(), |op, _| match op {
        Op::Read(_) => Reply::error(MS, ErrorKind::CorruptContent),
        _ => Reply::After(MS),
    })
    .study
    .unwrap();
    assert_eq!(study.ended, Ended::Done);
    let failed = |t: &&Trial| matches!(t.result.outcome, Outcome::Failed { .. });
    assert_eq!(study.trials.iter().filter(failed).count(), 2, "the reads of both blocks");
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let stop = running();
    let seen = stop.clone();
    let ran = run(plan(1, Rule::Fixed { blocks: 9 }), None, &stop, move |_, at| {
        if at.0 > 3_500_000_000 {
            seen.store(true, Ordering::Relaxed);
        }
        Reply::After(MS)
    });
    let study = ran.study.unwrap();
    assert_eq!(study.ended, Ended::Interrupted);
    assert_eq!(study.trials.last().unwrap().result.outcome, Outcome::Stopped);
    assert_eq!(ran.kept.ended, Some(Ended::Interrupted));
}

#[test]
fn a_stop_before_anything_was_measured_is_a_failure() {
    let stop = running();
    stop.store(true, Ordering::Relaxed);
    let ran = run(plan(1, Rule::Fixed { blocks: 9 }), None, &stop, |_, _| Reply::After(MS));
    assert_eq!(ran.study.unwrap_err().cause, Cause::Interrupted);
    assert!(ran.kept.trials.is_empty());
}

#[test]
fn a_store_that_fills_up_ends_the_study_and_loses_no_figure() {
    let rule = Rule::Fixed { blocks: 9 };
    let ran = run(plan(1, rule), Some(3), &running(), |_, _| Reply::After(MS));
    let study = ran.study.unwrap();
    assert_eq!(study.trials.len(), 4, "the trial that could not be kept is handed back");
    assert!(matches!(study.ended, Ended::Failed { .. }));
}
