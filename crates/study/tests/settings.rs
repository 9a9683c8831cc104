//! Factors on scripted shares: which level is set when, what is compared, and that all is put back.

use plimsoll_load::{Lane, LaneRequest, MockShare, Namespace, Op, Reply, Share, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::*;
use plimsoll_record::{MemoryStore, StudyStore};
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_stats::verdict::{Side, Verdict};
use plimsoll_study::{Conduct, Settings, conduct};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was done to the settings, in order.
#[derive(Clone, Debug, PartialEq)]
enum Done {
    Set(usize, usize),
    Restored,
    Rebooted,
    Released,
    Resumed,
}

/// A scripted share, and what it is asked to let go of.
struct LetGo {
    share: MockShare,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Share for LetGo {
    fn facts(&self) -> TargetFacts {
        self.share.facts()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        self.share.namespace()
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        assert_ne!(self.done.lock().unwrap().last(), Some(&Done::Released), "nothing is open");
        self.share.lane(request)
    }

    fn release(&self) -> Result<(), Failure> {
        self.done.lock().unwrap().push(Done::Released);
        Ok(())
    }

    fn resume(&self) -> Result<(), Failure> {
        self.done.lock().unwrap().push(Done::Resumed);
        Ok(())
    }
}

/// A host whose only setting decides how long an operation takes.
struct Host {
    done: Arc<Mutex<Vec<Done>>>,
    microseconds: Arc<AtomicU64>,
    /// The level that does not take effect.
    refused: Option<(usize, usize)>,
    /// Reboots that it comes back from.
    reboots: usize,
    left: Vec<Flag>,
}

impl Settings for Host {
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        if self.refused == Some((factor, level)) {
            let happened = "it was set and reads otherwise";
            return Err(Failure::new(Cause::Trial, "set the factor").on("nas").happened(happened));
        }
        self.done.lock().unwrap().push(Done::Set(factor, level));
        if factor == 0 {
            self.microseconds.store([1000, 2000][level], Ordering::Relaxed);
        }
        Ok(())
    }

    fn reboot(&mut self, deadline: &Deadline) -> Result<(), Failure> {
        assert_eq!(deadline.remaining(), Ok(Duration::from_secs(300)));
        let Some(left) = self.reboots.checked_sub(1) else {
            let happened = "it did not come back";
            return Err(Failure::new(Cause::Unreachable, "reboot").on("nas").happened(happened));
        };
        self.reboots = left;
        self.done.lock().unwrap().push(Done::Rebooted);
        // Its kernel has forgotten what was set.
        self.microseconds.store(1500, Ordering::Relaxed);
        Ok(())
    }

    fn restore(&mut self) -> Vec<Flag> {
        self.done.lock().unwrap().push(Done::Restored);
        std::mem::take(&mut self.left)
    }
}

fn factor(name: &str, switch: Switch) -> Factor {
    let levels = ["on", "off"].map(|value| FactorLevel::Set { value: value.into() }).to_vec();
    Factor { name: name.into(), host: HostName::Local, levels, switch }
}

fn plan(factors: Vec<Factor>, blocks: u32) -> Plan {
    let workload = |pattern: &str| {
        let pattern = pattern.parse().unwrap();
        let job = PatternJob::new(pattern, Bytes(64 * KIB), Bytes(MIB));
        let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    };
    let target = Target::Directory(DirectoryTarget { path: "0".into() });
    let rule = Rule::Fixed { blocks };
    let design = Design { rule, baseline_seconds: 0.0, seed: 3, ..Design::default() };
    let workloads = vec![workload("random-read"), workload("sequential-read")];
    Plan::new(vec![target.into()], workloads, design).with_factors(factors)
}

fn run(plan: Plan, refused: Option<(usize, usize)>, left: Vec<Flag>) -> (Study, Vec<Done>) {
    run_on(plan, refused, left, usize::MAX)
}

fn run_on(
    plan: Plan,
    refused: Option<(usize, usize)>,
    left: Vec<Flag>,
    reboots: usize,
) -> (Study, Vec<Done>) {
    let (study, done) = conducted(plan, refused, left, reboots);
    (study.unwrap(), done)
}

fn refused(plan: Plan) -> Failure {
    conducted(plan, None, Vec::new(), 0).0.unwrap_err()
}

fn conducted(
    plan: Plan,
    refused: Option<(usize, usize)>,
    left: Vec<Flag>,
    reboots: usize,
) -> (Result<Study, Failure>, Vec<Done>) {
    kept(plan, refused, left, reboots, &MemoryStore::default())
}

fn kept(
    plan: Plan,
    refused: Option<(usize, usize)>,
    left: Vec<Flag>,
    reboots: usize,
    store: &dyn StudyStore,
) -> (Result<Study, Failure>, Vec<Done>) {
    let clock = Arc::new(VirtualClock::new());
    let microseconds = Arc::new(AtomicU64::new(1500));
    let takes = microseconds.clone();
    let script =
        move |_: &Op, _: Nanos| Reply::After(Duration::from_micros(takes.load(Ordering::Relaxed)));
    let done = Arc::<Mutex<Vec<Done>>>::default();
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, script);
    let share = Arc::new(LetGo { share, done: done.clone() });
    let id = StudyId("0123abcd".into());
    let deadline = Deadline::new(clock.clone(), Arc::default());
    let options = RunnerOptions::of_plan(&plan, id.clone(), 0, deadline);
    let options = RunnerOptions { live: false, ..options };
    let study = conduct(Conduct {
        id,
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner: Box::new(Runner::new(options, vec![share as Arc<dyn plimsoll_runner::Share>])),
        settings: Box::new(Host { done: Arc::clone(&done), microseconds, refused, reboots, left }),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop: Arc::default(),
        store,
        observer: &mut |_| {},
    });
    let done = done.lock().unwrap().clone();
    (study, done)
}

#[test]
fn levels_are_compared_within_blocks_and_put_back() {
    let (study, done) = run(plan(vec![factor("cache", Switch::Live)], 6), None, Vec::new());
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 6 * 4));
    assert_eq!(done.last(), Some(&Done::Restored));
    assert_eq!(done.iter().filter(|done| **done == Done::Restored).count(), 1);
    // Every figure was taken under the level that it is kept with.
    for trial in &study.trials {
        let iops = trial.result.value(0, Metric::all(Measure::IOPS)).unwrap();
        let expected = [1000.0, 500.0][usize::from(trial.cell.setting)];
        assert!((iops / expected - 1.0).abs() < 0.01, "{iops} under {:?}", trial.cell);
    }
    let findings = plimsoll_explain::findings(&study);
    for workload in &findings.workloads {
        let [pair] = &workload.pairs[..] else { panic!("one comparison") };
        assert_eq!((pair.contrast.of.cell.setting, pair.contrast.against.cell.setting), (1, 0));
        let claim = pair.claim.unwrap();
        assert!((claim.ratio.estimate - 0.5).abs() < 0.01, "{claim:?}");
        assert!(matches!(claim.verdict, Some(Verdict::Faster(lead)) if lead.faster == Side::A));
    }
    // Live levels are shuffled with everything else.
    let changes = study.trials.windows(2).filter(|t| t[0].cell.setting != t[1].cell.setting);
    assert!(changes.count() > 6, "one change a block would be whole plots");
}

#[test]
fn what_restarts_something_does_so_once_for_each_whole_plot() {
    let factors = vec![factor("cache", Switch::Live), factor("export", Switch::Restart)];
    let (study, done) = run(plan(factors, 6), None, Vec::new());
    assert_eq!(study.trials.len(), 6 * 8);
    let restarts = done.iter().filter(|done| matches!(done, Done::Set(1, _))).count();
    // What is open is let go of before each, and before all is put back; for nothing else.
    let mut released = 0;
    for (n, _) in done.iter().enumerate().filter(|(_, done)| **done == Done::Released) {
        let next = done[n + 1..].iter().take_while(|done| **done != Done::Resumed);
        let next: Vec<&Done> = next.collect();
        assert!(next.iter().any(|d| matches!(d, Done::Set(1, _) | Done::Restored)), "{next:?}");
        released += next.iter().filter(|done| matches!(done, Done::Set(1, _))).count();
    }
    assert_eq!(released, restarts, "{done:?}");
    assert_eq!(restarts, 12, "in six blocks of two levels");
    // Within a block each level of what restarts stands together; across blocks either is first.
    let mut first = std::collections::BTreeSet::new();
    for block in study.trials.chunks(8) {
        let levels: Vec<u16> = block.iter().map(|trial| trial.cell.setting / 2).collect();
        assert_eq!(levels.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{levels:?}");
        first.insert(levels[0]);
    }
    assert_eq!(first.len(), 2);
}

fn rebooting(blocks: u32) -> Plan {
    let mut plan =
        plan(vec![factor("cache", Switch::Restart), factor("export", Switch::Restart)], blocks);
    let host = "ssh://root@nas".parse().unwrap();
    plan.reboot = Some(Reboot { host, command: None, within_seconds: 300.0 });
    plan
}

#[test]
fn each_setting_is_set_after_a_reboot_of_its_own() {
    let (study, done) = run(rebooting(3), None, Vec::new());
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 3 * 8));
    // Nothing is open while it is away, and all that it forgot is set again, same level or not.
    let reboots: Vec<&[Done]> = done.split_inclusive(|done| *done == Done::Resumed).collect();
    let (last, reboots) = reboots.split_last().unwrap();
    assert_eq!(last, &[Done::Released, Done::Restored, Done::Resumed]);
    let of_trials: Vec<&&[Done]> = reboots.iter().filter(|done| done.len() > 1).collect();
    assert_eq!(of_trials.len(), 3 * 4);
    for did in of_trials {
        let [Done::Released, Done::Rebooted, Done::Set(0, _), Done::Set(1, _), Done::Resumed] = did
        else {
            panic!("{did:?}")
        };
    }
    for trial in &study.trials {
        let iops = trial.result.value(0, Metric::all(Measure::IOPS)).unwrap();
        let expected = [1000.0, 500.0][usize::from(trial.cell.setting % 2)];
        assert!((iops / expected - 1.0).abs() < 0.01, "{iops} under {:?}", trial.cell);
    }
}

#[test]
fn a_device_that_does_not_come_back_ends_the_study_with_what_it_has() {
    let (study, done) = run_on(rebooting(3), None, Vec::new(), 5);
    let Ended::Failed { failure } = &study.ended else { panic!("{:?}", study.ended) };
    assert_eq!(failure.cause, Cause::Unreachable);
    assert_eq!(study.trials.len(), 5 * 2);
    assert!(study.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    assert!(done.contains(&Done::Restored));
    plimsoll_study::can_be_continued(&study).unwrap();
}

#[test]
fn a_reboot_that_cannot_be_is_refused() {
    type Change = fn(&mut Plan);
    let changes: [(Change, &str); 4] = [
        (|plan| plan.factors[0].switch = Switch::Live, "some settings do not"),
        (|plan| plan.drive_on(["ssh://root@nas".parse().unwrap()]), "runs the load"),
        (|plan| plan.reboot.as_mut().unwrap().host = HostName::Local, "runs the load"),
        (
            |plan| plan.reboot.as_mut().unwrap().within_seconds = f64::INFINITY,
            "inf s is not a valid time",
        ),
    ];
    for (change, words) in changes {
        let mut plan = rebooting(1);
        change(&mut plan);
        let failure = refused(plan);
        assert!(failure.cause == Cause::Usage && failure.happened.contains(words), "{failure}");
    }
}

#[test]
fn a_level_that_does_not_take_effect_ends_the_study_and_all_is_put_back() {
    let factors = vec![factor("cache", Switch::Live)];
    let nas = HostName::by_ssh("nas").unwrap();
    let lost = Flag::SettingNotRestored { host: nas, setting: "cache".into(), reason: "".into() };
    let mut plan = plan(factors, 6);
    // Of an order that begins with the level that does.
    plan.design.seed = 4;
    let (study, done) = run(plan, Some((0, 1)), vec![lost.clone()]);
    let Ended::Failed { failure } = &study.ended else { panic!("{:?}", study.ended) };
    assert!(failure.happened.contains("reads otherwise"), "{failure}");
    assert_eq!(done.last(), Some(&Done::Restored));
    assert!(study.flags.contains(&lost) && lost.advice().contains("plimsoll restore ssh://nas"));
    assert!(study.trials.iter().all(|trial| trial.cell.setting == 0));
}

#[test]
fn a_study_whose_first_level_does_not_take_effect_is_kept_as_one_that_failed() {
    let mut both = Vec::new();
    // An order that begins with each level; of one of them there is no trial.
    for level in [0, 1] {
        let store = MemoryStore::default();
        let factors = vec![factor("cache", Switch::Live)];
        let (study, _) = kept(plan(factors, 6), Some((0, level)), Vec::new(), 0, &store);
        let last = store.load("latest").expect("it was begun in the store");
        let Ended::Failed { failure } = &last.ended else { panic!("{:?}", last.ended) };
        assert!(failure.happened.contains("reads otherwise"), "{failure}");
        both.push(study.is_err());
    }
    both.sort_unstable();
    assert_eq!(both, [false, true]);
}
