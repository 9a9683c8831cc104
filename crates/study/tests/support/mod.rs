//! Studies on scripted shares and a scripted clock.

#![allow(dead_code)]

use plimsoll_load::{MockShare, Op, Reply, VirtualClock};
use plimsoll_model::{
    Clock, Deadline, Design, DirectoryTarget, Failure, Length, Nanos, Part, PatternJob, Plan,
    Study, StudyId, SubjectRunner, Target, Workload,
};
use plimsoll_record::{MemoryStore, StudyStore};
use plimsoll_runner::{Runner, RunnerOptions, Share};
use plimsoll_study::{Conduct, NoSettings, Progress, conduct};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub const MS: Duration = Duration::from_millis(1);

/// Blocks without an idle window first.
pub fn design() -> Design {
    Design { baseline_seconds: 0.0, seed: 3, ..Design::default() }
}

/// Jobs of one worker each, with one operation in flight.
pub fn plan_of(targets: usize, jobs: Vec<PatternJob>, length: Length, design: Design) -> Plan {
    let one = NonZeroU16::MIN;
    let workload = |job: PatternJob| Workload::new(Part::closed(job.into(), one, one), length);
    let subject = |i| Target::Directory(DirectoryTarget { path: format!("{i}").into() }).into();
    let subjects = (0..targets).map(subject).collect();
    Plan::new(subjects, jobs.into_iter().map(workload).collect(), design)
}

/// Conducts a plan on targets that answer by a script, each by its number.
pub fn run(
    plan: Plan,
    script: impl Fn(usize, &Op) -> Reply + Clone + Send + Sync + 'static,
) -> Result<Study, Failure> {
    run_at(plan, move |number, op, _| script(number, op))
}

/// The same, where answers depend on the time.
pub fn run_at(
    plan: Plan,
    script: impl Fn(usize, &Op, Nanos) -> Reply + Clone + Send + Sync + 'static,
) -> Result<Study, Failure> {
    watched(plan, script, &mut |_, _| {})
}

/// The same, with an observer that also has the time.
pub fn watched(
    plan: Plan,
    script: impl Fn(usize, &Op, Nanos) -> Reply + Clone + Send + Sync + 'static,
    observer: &mut dyn FnMut(Nanos, Progress<'_>),
) -> Result<Study, Failure> {
    let share = |clock: &Arc<VirtualClock>, number| {
        let script = script.clone();
        let replies = move |op: &Op, at| script(number, op, at);
        MockShare::new(clock.clone(), NonZeroU16::MIN, replies)
    };
    conducted(plan, share, observer)
}

/// Conducts a plan on scripted shares, each made for its number.
pub fn conducted(
    plan: Plan,
    share: impl Fn(&Arc<VirtualClock>, usize) -> MockShare,
    observer: &mut dyn FnMut(Nanos, Progress<'_>),
) -> Result<Study, Failure> {
    let clock = Arc::new(VirtualClock::new());
    let share = |number| -> Arc<dyn Share> { Arc::new(share(&clock, number)) };
    let shares = (0..plan.subjects.len()).map(share).collect();
    let now = clock.clone();
    let stop: Arc<AtomicBool> = Arc::default();
    let id = StudyId("0123abcd".into());
    let deadline = Deadline::new(clock.clone(), stop.clone());
    let options = RunnerOptions::of_plan(&plan, id, 0, deadline);
    let options = RunnerOptions { live: false, ..options };
    let runner = Box::new(Runner::new(options, shares));
    conducted_by(plan, runner, clock, stop, &mut |progress| observer(now.now(), progress))
}

/// Conducts a plan by a runner.
pub fn conducted_by(
    plan: Plan,
    runner: Box<dyn SubjectRunner + '_>,
    clock: Arc<VirtualClock>,
    stop: Arc<AtomicBool>,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<Study, Failure> {
    let store = MemoryStore::default();
    conduct(Conduct {
        id: StudyId("0123abcd".into()),
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner,
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop,
        store: &store,
        observer: &mut |progress| {
            // A study that is killed in its first trial goes on by the plan in the store.
            if let Progress::Trial { .. } = progress {
                assert!(!store.heads().unwrap()[0].plan.design.calibrate);
            }
            observer(progress);
        },
    })
}
