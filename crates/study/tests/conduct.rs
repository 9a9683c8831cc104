//! Whole studies, exactly, on scripted shares: order, cap, failures, interruptions.

use plimsoll_load::{FileId, LaneDead, MockShare, Op, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Clock, Design, DirectoryTarget, Ended, ErrorKind, Failure, Flag, Job, Length, Nanos,
    Outcome, Part, Pattern, PatternJob, Plan, Rule, ScanJob, Study, StudyId, Target, Trial,
    Workload,
};
use plimsoll_record::{MemoryStore, StudyStore};
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{Conduct, Follow, FollowUp, NoSettings, Progress, conduct_with};
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn plan(targets: usize, rule: Rule) -> Plan {
    let workload = |pattern| {
        let job = Job::Pattern(PatternJob::new(pattern, Bytes(64 * KIB), Bytes(MIB)));
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    };
    let subject = |i| Target::Directory(DirectoryTarget { path: format!("{i}").into() }).into();
    let workloads = vec![workload(Pattern::RandomRead), workload(Pattern::SequentialWrite)];
    let design = Design { rule, baseline_seconds: 0.0, seed: 3, ..Design::default() };
    Plan::new((0..targets).map(subject).collect(), workloads, design)
}

/// The study in a store.
fn stored(store: &MemoryStore) -> Study {
    store.load("latest").unwrap()
}

struct Ran {
    study: Result<Study, Failure>,
    store: MemoryStore,
    shares: Vec<Arc<MockShare>>,
    /// Trials that were planned at the beginning of each.
    planned: Vec<u32>,
}

fn run(
    plan: Plan,
    full_after: Option<usize>,
    stop: &Arc<AtomicBool>,
    script: impl Fn(&Op, Nanos) -> Reply + Clone + Send + Sync + 'static,
) -> Ran {
    let share = |_, clock| MockShare::new(clock, NonZeroU16::MIN, script.clone());
    let store = MemoryStore::default();
    if let Some(trials) = full_after {
        store.limit(trials);
    }
    run_on(plan, store, stop, share)
}

/// On shares that are made by their numbers.
fn run_on(
    plan: Plan,
    store: MemoryStore,
    stop: &Arc<AtomicBool>,
    share: impl Fn(usize, Arc<VirtualClock>) -> MockShare,
) -> Ran {
    run_in_stages(plan, store, stop, share, &|_| Vec::new())
}

/// The same, with what follows from each stage.
fn run_in_stages(
    plan: Plan,
    store: MemoryStore,
    stop: &Arc<AtomicBool>,
    share: impl Fn(usize, Arc<VirtualClock>) -> MockShare,
    follow: Follow<'_>,
) -> Ran {
    let clock = Arc::new(VirtualClock::new());
    let share = |number| Arc::new(share(number, clock.clone()));
    let shares: Vec<Arc<MockShare>> = (0..plan.subjects.len()).map(share).collect();
    let mut planned = Vec::new();
    let id = StudyId("0123abcd".into());
    let options = RunnerOptions::of_plan(
        &plan,
        id.clone(),
        0,
        plimsoll_model::Deadline::new(clock.clone(), stop.clone()),
    );
    let options = RunnerOptions { live: false, ..options };
    let opened = shares.iter().map(|s| s.clone() as Arc<dyn plimsoll_runner::Share>).collect();
    let order = Conduct {
        id,
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner: Box::new(Runner::new(options, opened)),
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: Nanos(0),
        clock,
        stop: stop.clone(),
        store: &store,
        observer: &mut |progress| {
            if let Progress::Trial { planned: trials, .. } = progress {
                planned.push(trials);
            }
        },
    };
    let study = conduct_with(order, follow);
    for share in &shares {
        assert_eq!(share.paths(), Vec::<String>::new(), "nothing is left behind");
    }
    Ran { study, store, shares, planned }
}

fn running() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

#[test]
fn every_cell_once_a_block_in_changing_order() {
    let ran = run(plan(2, Rule::Fixed { blocks: 5 }), None, &running(), |_, _| Reply::After(MS));
    let study = ran.study.unwrap();
    assert_eq!(study.ended, Ended::Done);
    assert_eq!(study.trials, stored(&ran.store).trials);
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

/// A workload that follows has its files, and as many blocks as it is to have; one that the plan has is measured again.
#[test]
fn what_follows_from_a_stage_is_measured_after_it() {
    let plan = plan(2, Rule::Fixed { blocks: 3 });
    let first = plan.workloads[0].clone();
    let larger = {
        let job = PatternJob::new(Pattern::RandomRead, Bytes(4 * KIB), Bytes(MIB));
        let part = Part::closed(Job::Pattern(job), NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 0.5, warm_up_seconds: 0.1 })
    };
    let follow = |study: &Study| match study.plan.workloads.len() {
        2 => vec![
            FollowUp { workload: larger.clone(), blocks: 2 },
            FollowUp { workload: first.clone(), blocks: 1 },
        ],
        _ => Vec::new(),
    };
    let share = |_, clock| MockShare::new(clock, NonZeroU16::MIN, |_, _| Reply::After(MS));
    let ran = run_in_stages(plan, MemoryStore::default(), &running(), share, &follow);
    let study = ran.study.unwrap();
    assert_eq!((study.ended.clone(), study.plan.workloads.len()), (Ended::Done, 3));
    let blocks = |workload: u16| -> Vec<u32> {
        let own = study.trials.iter().filter(|trial| trial.cell.workload == workload);
        let mut blocks: Vec<u32> = own.filter_map(|trial| trial.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    };
    assert_eq!((blocks(0), blocks(1), blocks(2)), (vec![0, 1, 2, 3], vec![0, 1, 2], vec![3, 4]));
    assert_eq!(study.trials.len(), 2 * (4 + 3 + 2));
    assert!(study.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
}

/// It was begun where the trials before it were short, and went on for hours.
#[test]
fn what_follows_and_would_end_after_the_time_limit_is_not_begun() {
    let mut plan = plan(1, Rule::Fixed { blocks: 2 });
    plan.design.cap_seconds = 60.0;
    let length = Length::For { seconds: 100.0, warm_up_seconds: 0.5 };
    let long = Workload { length, ..plan.workloads[0].clone() };
    let follow = |study: &Study| match study.plan.workloads.len() {
        2 => vec![FollowUp { workload: long.clone(), blocks: 1 }],
        _ => Vec::new(),
    };
    let share = |_, clock| MockShare::new(clock, NonZeroU16::MIN, |_, _| Reply::After(MS));
    let ran = run_in_stages(plan, MemoryStore::default(), &running(), share, &follow);
    let study = ran.study.unwrap();
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::CapReached, 2 * 2));
}

/// What was laid out, and then read, in turn: each target's number with a name or a file.
type ByTarget<T> = Arc<Mutex<Vec<(usize, T)>>>;

#[test]
fn what_is_read_lies_side_by_side_and_each_block_begins_with_another_file() {
    let (created, read): (ByTarget<String>, ByTarget<FileId>) = Default::default();
    let Plan { subjects, mut workloads, design, .. } = plan(2, Rule::Fixed { blocks: 16 });
    workloads.truncate(1);
    // 64 blocks in each of eight files: ten reads are less than a quarter of one.
    let job = PatternJob::new(Pattern::RandomRead, Bytes(64 * KIB), Bytes(32 * MIB));
    workloads[0].parts[0].job = job.into();
    let plan = Plan::new(subjects, workloads, design);
    let share = |number, clock| {
        let (created, read) = (created.clone(), read.clone());
        let reads = move |op: &Op, _| {
            if let Op::Read(span) = op {
                read.lock().unwrap().push((number, span.file));
            }
            Reply::After(100 * MS)
        };
        let names = move |call: &str, path: &str| {
            let name = path.rsplit('/').next().filter(|name| name.ends_with(".data"));
            if let Some(name) = name.filter(|_| call == "create") {
                created.lock().unwrap().push((number, name.to_owned()));
            }
            None
        };
        MockShare::new(clock, NonZeroU16::MIN, reads).with_namespace_script(names)
    };
    let ran = run_on(plan, MemoryStore::default(), &running(), share);
    assert_eq!(ran.study.unwrap().trials.len(), 32);
    let side_by_side = (0..16).map(|n| (n % 2, format!("read-{}.data", n / 2)));
    assert!(created.lock().unwrap().iter().cloned().eq(side_by_side));
    let read = read.lock().unwrap();
    let files_of = |target| -> Vec<FileId> {
        let own: Vec<FileId> = read.iter().filter(|r| r.0 == target).map(|r| r.1).collect();
        let trials: Vec<&[FileId]> = own.chunks(own.len() / 16).collect();
        assert!(trials.len() == 16 && trials.iter().all(|t| t.iter().all(|f| *f == t[0])));
        trials.iter().map(|trial| trial[0]).collect()
    };
    let order = files_of(0);
    let (first, second) = order.split_at(8);
    for round in [first, second] {
        assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 8, "each once: {order:?}");
    }
    assert_ne!(first, second, "drawn anew");
    assert_eq!(files_of(1), order, "both begin with what lies side by side");
}

#[test]
fn a_quiet_pair_ends_at_the_first_look_and_a_constant_one_has_no_difference() {
    let rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };
    let study = run(plan(2, rule), None, &running(), |_, _| Reply::After(MS)).study.unwrap();
    assert_eq!(study.trials.len(), 6 * 4);
    for workload in plimsoll_explain::findings(&study).workloads {
        let verdict = workload.pairs[0].claim.unwrap().verdict.unwrap();
        assert!(matches!(verdict, plimsoll_stats::verdict::Verdict::NoPracticalDifference(_)));
    }
}

/// What is claimed from less would be about that minute.
#[test]
fn nothing_ends_before_the_time_that_claims_are_about() {
    let rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 60.0 };
    let study = run(plan(2, rule), None, &running(), |_, _| Reply::After(MS)).study.unwrap();
    let block = study.trials[4].started_seconds - study.trials[0].started_seconds;
    let blocks = study.trials.len() as f64 / 4.0;
    assert_eq!(study.ended, Ended::Done);
    assert!(blocks * block >= 60.0 && (blocks - 2.0) * block < 60.0, "{blocks} of {block} s");
}

/// One that is decided takes part no more, and leaves the time to the other.
#[test]
fn a_comparison_that_is_decided_ends_by_itself() {
    let rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };
    let noise = Mutex::new(plimsoll_stats::order::generator(1, "noise"));
    let trial = Mutex::new((0, MS));
    // Writes take as long in all of a trial, and another time in each.
    let script = move |op: &Op, at: Nanos| {
        let Op::Write(..) = op else { return Reply::After(MS) };
        let mut noise = noise.lock().unwrap();
        let mut trial = trial.lock().unwrap();
        if at.0 / 1_000_000_000 != trial.0 {
            let draw = plimsoll_stats::synthetic::standard_normal(&mut noise);
            *trial = (at.0 / 1_000_000_000, MS.mul_f64((0.1 * draw).exp()));
        }
        Reply::After(trial.1)
    };
    let script = Arc::new(script);
    let study = run(plan(2, rule), None, &running(), move |op, at| script(op, at)).study.unwrap();
    let trials = |workload| study.trials.iter().filter(|t| t.cell.workload == workload).count();
    assert_eq!(trials(0), 2 * 6, "reads are all alike");
    assert!(trials(1) > 2 * 6, "{} writes", trials(1));
    let more = plimsoll_explain::blocks_needed(&study);
    assert!(more[0] <= more[1], "{more:?}");
}

/// How long it may take at most says nothing of how many trials there will be: "trial 1 of 1" it said once.
#[test]
fn work_that_ends_by_itself_is_planned_whole() {
    let plan = plan(2, Rule::Fixed { blocks: 3 });
    let part = Part::closed(Job::Scan(ScanJob::default()), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::UntilDone { at_most_seconds: plan.design.cap_seconds };
    let plan = Plan::new(plan.subjects, vec![Workload::new(part, length)], plan.design);
    let Ran { study, planned, .. } = run(plan, None, &running(), |_, _| Reply::After(MS));
    assert_eq!(study.unwrap().ended, Ended::Done);
    assert_eq!(planned, [6; 6]);
}

#[test]
fn the_cap_ends_a_study_at_a_whole_block_and_says_so() {
    let mut plan = plan(2, Rule::Fixed { blocks: 50 });
    plan.design.cap_seconds = 22.0;
    let Ran { study, planned, .. } = run(plan, None, &running(), |_, _| Reply::After(MS));
    let study = study.unwrap();
    assert_eq!(study.ended, Ended::CapReached);
    // Nobody hears of more trials than there is time for.
    assert!(planned[4..].iter().all(|trials| *trials <= 24), "{planned:?}");
    assert_eq!(study.trials.len() % 4, 0);
    assert!(study.trials.last().unwrap().started_seconds < 22.0);
    assert!(study.flags.iter().any(|f| matches!(f, Flag::CapReached { wanted: 50, .. })));
}

/// A slow server had the time of the study for opening its targets, and then again for all else.
#[test]
fn opening_the_targets_takes_of_the_time_for_all() {
    let mut plan = plan(2, Rule::Fixed { blocks: 50 });
    plan.design.cap_seconds = 22.0;
    let opened = |_, clock: Arc<VirtualClock>| {
        clock.sleep_until(Nanos(18_000_000_000));
        MockShare::new(clock, NonZeroU16::MIN, |_: &Op, _| Reply::After(MS))
    };
    let study = run_on(plan, MemoryStore::default(), &running(), opened).study.unwrap();
    assert_eq!(study.ended, Ended::CapReached);
    assert_eq!(study.trials.len(), 4, "the first block, and no other");
    assert!(study.trials[0].started_seconds >= 18.0);
}

/// A study of 15 s took 38.7 s where each trial took longer than planned.
#[test]
fn a_first_block_ends_soon_after_the_cap() {
    let mut plan = plan(5, Rule::Fixed { blocks: 1 });
    plan.design.cap_seconds = 4.0;
    let study = run(plan, None, &running(), |_, _| Reply::After(MS)).study.unwrap();
    assert_eq!(study.ended, Ended::CapReached);
    // 4 s, a quarter of it, and a trial of 1.1 s; with them ten would have ended after 11 s.
    let last = study.trials.last().unwrap().started_seconds;
    assert!((4.0..=6.1).contains(&last), "{last}");
    assert!((3..10).contains(&study.trials.len()), "{} trials", study.trials.len());
}

/// Each of its operations may take 30 s: one of them did so after 15 s, which were all that there was.
#[test]
fn an_operation_ends_with_the_time_for_all() {
    let mut plan = plan(1, Rule::Fixed { blocks: 1 });
    plan.design.cap_seconds = 15.0;
    assert_eq!(plan.storage.operation_timeout_seconds, 30.0);
    let ran = run(plan, None, &running(), |op, at| match op {
        Op::Read(_) if at.0 > 1_000_000_000 => Reply::After(Duration::from_secs(3600)),
        _ => Reply::After(MS),
    });
    let ended = ran.shares[0].clock().now().since(Nanos(0)).as_secs_f64();
    assert!((15.0..22.0).contains(&ended), "{ended} s, {:?}", stored(&ran.store).ended);
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
    let kept = stored(&ran.store);
    assert_eq!((kept.trials, kept.ended), (study.trials, study.ended));
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
    assert_eq!(stored(&ran.store).ended, Ended::Interrupted);
}

#[test]
fn a_stop_before_anything_was_measured_is_a_failure() {
    let stop = running();
    stop.store(true, Ordering::Relaxed);
    let ran = run(plan(1, Rule::Fixed { blocks: 9 }), None, &stop, |_, _| Reply::After(MS));
    let failure = ran.study.unwrap_err();
    assert_eq!(failure.cause, Cause::Interrupted);
    assert_eq!(failure.next, "Run the command again; no file of this run remains.");
    assert_eq!(ran.store.list(), Ok(Vec::new()));
}

/// What is held of kept trials meanwhile changes neither the course of a study nor its record.
#[test]
fn a_store_that_gives_trials_back_changes_nothing() {
    let rule = Rule::Sequential { first: 3, half_width: 0.01, at_least_seconds: 700.0 };
    let measured = |gives_back: bool| {
        let share = |number: usize, clock| {
            let usual = MS * (100 + 5 * number as u32);
            MockShare::new(clock, NonZeroU16::MIN, move |_: &Op, at: Nanos| {
                let jitter = at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                Reply::After(usual + Duration::from_nanos(jitter))
            })
        };
        let store = MemoryStore::default();
        store.set_damaged(!gives_back);
        let ran = run_on(plan(2, rule), store, &running(), share);
        let study = ran.study.unwrap();
        ran.store.set_damaged(false);
        assert_eq!(study.trials, stored(&ran.store).trials);
        // What the processor was used for differs from run to run.
        let course = study.trials.iter().map(|t| (t.block, t.cell, t.started_seconds.to_bits()));
        (study.ended, course.collect::<Vec<_>>(), ran.planned)
    };
    let (whole, given_back) = (measured(false), measured(true));
    let looked_back = whole.1.len() / 4;
    assert!(looked_back > 100, "some are no longer looked at: {looked_back}");
    assert_eq!(whole, given_back);
}

#[test]
fn a_store_that_fills_up_ends_the_study_and_loses_no_figure() {
    let rule = Rule::Fixed { blocks: 9 };
    let ran = run(plan(1, rule), Some(3), &running(), |_, _| Reply::After(MS));
    let study = ran.study.unwrap();
    assert_eq!(study.trials.len(), 4, "the trial that could not be kept is handed back");
    assert_eq!(stored(&ran.store).trials, study.trials[..3]);
    assert!(matches!(study.ended, Ended::Failed { .. }));
}
