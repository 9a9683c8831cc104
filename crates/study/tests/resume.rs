//! Studies that are continued, exactly, on scripted shares.

use plimsoll_explain::seconds_per_trial;
use plimsoll_load::{MockShare, Op, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Cell, Design, DirectoryTarget, Ended, Endpoint, Failure, Film, Flag, HostName,
    HostSubject, Job, Length, Nanos, Origin, Outcome, Pace, Part, PathSubject, Pattern, PatternJob,
    Plan, PlaybackJob, Player, Rule, ScanJob, Study, StudyId, SubjectFacts, Target, TargetFacts,
    Workload,
};
use plimsoll_record::{MemoryStore, StudyStore};
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{
    Conduct, Follow, FollowUp, NoSettings, Progress, can_be_continued, conduct_with, left_of_cap,
    resume,
};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const RULE: Rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 60.0 };

fn plan(cap_seconds: f64) -> Plan {
    let workload = |pattern| {
        let job = Job::Pattern(PatternJob::new(pattern, Bytes(64 * KIB), Bytes(MIB)));
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    };
    let subject = |path: &str| Target::Directory(DirectoryTarget { path: path.into() }).into();
    let workloads = vec![workload(Pattern::RandomRead), workload(Pattern::SequentialWrite)];
    let design =
        Design { rule: RULE, baseline_seconds: 0.0, seed: 3, cap_seconds, ..Design::default() };
    Plan::new(vec![subject("a"), subject("b")], workloads, design)
}

/// A store that has the study already, if one is given.
fn store_of(study: Option<&Study>) -> MemoryStore {
    let store = MemoryStore::default();
    if let Some(study) = study {
        store.begin(study).unwrap();
    }
    store
}

/// The study in a store.
fn stored(store: &MemoryStore) -> Study {
    store.load("latest").unwrap()
}

#[track_caller]
fn assert_unchanged(store: &MemoryStore, before: &Study) {
    assert_eq!(stored(store), stored(&store_of(Some(before))));
}

/// A run of its own, with a clock, a server and a store of its own; of a study where one is given.
/// It is asked to stop after so many seconds.
fn run(
    before: Option<&Study>,
    plan: Plan,
    stop_after: f64,
    facts: Option<TargetFacts>,
) -> (Result<Study, Failure>, MemoryStore) {
    run_in_stages(before, plan, stop_after, facts, &|_| Vec::new())
}

/// The same, with what follows from each stage.
fn run_in_stages(
    before: Option<&Study>,
    plan: Plan,
    stop_after: f64,
    facts: Option<TargetFacts>,
    follow: Follow<'_>,
) -> (Result<Study, Failure>, MemoryStore) {
    let (clock, stop) = (Arc::new(VirtualClock::new()), Arc::new(AtomicBool::new(false)));
    let share = |_| {
        let stop = stop.clone();
        let script = move |_: &Op, at: Nanos| {
            if at.0 as f64 / 1e9 > stop_after {
                stop.store(true, Ordering::Relaxed);
            }
            Reply::After(MS)
        };
        let share = MockShare::new(clock.clone(), NonZeroU16::MIN, script);
        Arc::new(match &facts {
            Some(facts) => share.with_facts(facts.clone()),
            None => share,
        })
    };
    let shares: Vec<Arc<MockShare>> = (0..2).map(share).collect();
    let id = StudyId("0123abcd".into());
    let deadline = plimsoll_model::Deadline::new(clock.clone(), stop.clone());
    let options = RunnerOptions::of_plan(&plan, id.clone(), 0, deadline);
    let options = RunnerOptions { live: false, ..options };
    let opened = shares.iter().map(|s| s.clone() as Arc<dyn plimsoll_runner::Share>).collect();
    let store = store_of(before);
    let order = Conduct {
        id,
        started_unix_seconds: 1_000,
        version: "test".into(),
        plan,
        runner: Box::new(Runner::new(options, opened)),
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop,
        store: &store,
        observer: &mut |progress| {
            if let (Progress::Ended(_), Some(_)) = (progress, before) {
                let is_continued = |flag: &Flag| matches!(flag, Flag::Continued { .. });
                let heads = store.heads().unwrap();
                assert!(heads[0].flags.iter().any(is_continued), "kept with the first trial");
            }
        },
    };
    let study = match before {
        Some(before) => resume(before.clone(), order, follow),
        None => conduct_with(order, follow),
    };
    for share in &shares {
        assert_eq!(share.paths(), Vec::<String>::new(), "nothing is left behind");
    }
    (study, store)
}

const NEVER: f64 = f64::INFINITY;

fn interrupted() -> Study {
    let (study, _) = run(None, plan(600.0), 22.0, None);
    let study = study.unwrap();
    assert_eq!(study.ended, Ended::Interrupted);
    study
}

fn blocks(study: &Study) -> Vec<Vec<Cell>> {
    let last = study.trials.iter().filter_map(|trial| trial.block).max().unwrap();
    let trials_of = |block| study.trials.iter().filter(move |trial| trial.block == Some(block));
    (0..=last).map(|block| trials_of(block).map(|trial| trial.cell).collect()).collect()
}

#[test]
fn a_study_that_was_interrupted_ends_as_one_that_was_not() {
    let whole = run(None, plan(600.0), NEVER, None).0.unwrap();
    assert_eq!(whole.ended, Ended::Done);
    let before = interrupted();
    let (after, store) = run(Some(&before), plan(600.0), NEVER, None);
    let after = after.unwrap();
    assert_eq!(after.ended, Ended::Done);
    assert_eq!(after.trials[..before.trials.len()], before.trials[..]);
    assert_eq!(stored(&store).trials, after.trials);
    let (all, some) = (blocks(&whole), blocks(&after));
    let broken = blocks(&before).len() - 1;
    assert_eq!(before.trials.last().unwrap().result.outcome, Outcome::Stopped);
    assert!(some.len() >= all.len() && some.len() <= all.len() + 1, "{} blocks", some.len());
    for (number, (planned, found)) in all.iter().zip(&some).enumerate() {
        match number == broken {
            true => assert!(planned.starts_with(found), "block {number}"),
            false => assert_eq!(planned, found, "block {number}: the same order"),
        }
    }
    assert!(after.trials.iter().zip(0..).all(|(trial, number)| trial.number == number));
    // Seconds go on without the time between, and without that of laying out again.
    let spans = after.trials.windows(2).map(|t| t[1].started_seconds - t[0].started_seconds);
    assert!(spans.clone().all(|span| span > 0.0 && span < 3.0), "{:?}", spans.collect::<Vec<_>>());
    let continued = Flag::Continued { unix_seconds: 1_000, block: broken as u32 + 1 };
    assert!(after.flags.contains(&continued), "{:?}", after.flags);
}

#[test]
fn each_run_has_a_cap_of_its_own_and_the_last_end_alone_is_told() {
    let first = run(None, plan(20.0), NEVER, None).0.unwrap();
    assert_eq!(first.ended, Ended::CapReached);
    let second = run(Some(&first), plan(10.0), NEVER, None).0.unwrap();
    assert_eq!(second.ended, Ended::CapReached);
    let end = |study: &Study| study.trials.last().unwrap().started_seconds;
    assert!(end(&second) > end(&first) && end(&second) < end(&first) + 11.0);
    let caps: Vec<_> =
        second.flags.iter().filter(|flag| matches!(flag, Flag::CapReached { .. })).collect();
    let run_now = blocks(&second).len() as u32;
    assert!(
        matches!(caps[..], [Flag::CapReached { blocks, .. }] if *blocks == run_now),
        "{caps:?}"
    );
    // However little time there is, one block is measured.
    let third = run(Some(&second), plan(0.001), NEVER, None).0.unwrap();
    assert_eq!(blocks(&third).len(), blocks(&second).len() + 1);
}

/// Work that ends when it is done may last as long as the cap: a trial that was stopped has not taken that.
#[test]
fn a_first_trial_that_was_stopped_counts_for_the_time_that_it_took() {
    // It takes ten seconds, after its tree was made.
    let scan = ScanJob { directories: 200, files: 50, ..ScanJob::default() };
    let part = Part::closed(Job::Scan(scan), NonZeroU16::MIN, NonZeroU16::MIN);
    let workload = Workload::new(part, Length::UntilDone { at_most_seconds: 600.0 });
    let scans = |cap_seconds| {
        let Plan { subjects, design, .. } = plan(cap_seconds);
        Plan::new(subjects, vec![workload.clone()], design)
    };
    let one_block = run(None, scans(0.001), NEVER, None).0.unwrap();
    let begun = one_block.trials[0].started_seconds;
    let study = run(None, scans(600.0), begun + 5.0, None).0.unwrap();
    assert_eq!((study.trials.len(), &study.ended), (1, &Ended::Interrupted));
    let (per_trial, left) = (seconds_per_trial(&study), left_of_cap(&study));
    assert!(per_trial > 1.0 && per_trial < 6.0, "{per_trial} s");
    let expected = 600.0 - begun - per_trial;
    assert!((left - expected).abs() < 1.0, "{left} s, and not {expected} s");
}

#[test]
fn a_run_that_measured_nothing_leaves_the_study_as_it_was() {
    let before = interrupted();
    let (stopped, store) = run(Some(&before), plan(600.0), -1.0, None);
    assert_eq!(stopped.unwrap_err().cause, Cause::Interrupted);
    assert_unchanged(&store, &before);
}

#[test]
fn a_target_that_is_not_what_it_was_is_refused_with_what_changed() {
    let before = interrupted();
    let SubjectFacts::Storage(facts) = &before.subjects[1] else { panic!() };
    type Change = fn(&mut TargetFacts);
    let changes: [(Change, &str); 7] = [
        (|f| f.protocol = "NFSv3 over TCP".into(), "protocol: "),
        (|f| f.read_size_bytes = 4096, "largest transfers: none and none, now 4 KiB and none"),
        (|f| f.stability = "FILE_SYNC".into(), "writes: "),
        (|f| f.client_cache = "page cache".into(), "client cache: "),
        (|f| f.mount_options = Some("noac".into()), "mounted with: none, now noac"),
        (|f| f.notes.push("export /other".into()), "notes: "),
        (|f| f.space_bytes.0 *= 2, "size: "),
    ];
    for (change, word) in changes {
        let mut other = facts.clone();
        other.space_bytes = (1 << 40, 1 << 39);
        let mut study = before.clone();
        for subject in &mut study.subjects {
            *subject = SubjectFacts::Storage(other.clone());
        }
        change(&mut other);
        let (refused, store) = run(Some(&study), plan(600.0), NEVER, Some(other));
        let refused = refused.unwrap_err();
        assert_eq!(refused.cause, Cause::Usage, "{refused}");
        assert!(refused.happened.contains(word), "{word}: {refused}");
        assert_unchanged(&store, &study);
    }
    // What is free, and what a pool's other users take of all, is no change.
    let mut study = before.clone();
    for subject in &mut study.subjects {
        let SubjectFacts::Storage(facts) = subject else { panic!() };
        facts.space_bytes = (1 << 40, 1 << 39);
    }
    let less = TargetFacts { space_bytes: ((1 << 40) - (1 << 34), 1 << 38), ..facts.clone() };
    run(Some(&study), plan(600.0), NEVER, Some(less)).0.unwrap();
}

#[test]
fn studies_of_other_kinds_are_refused() {
    let study = interrupted();
    can_be_continued(&study).unwrap();
    type Change = fn(&mut Study);
    let changes: [(Change, &str); 4] = [
        (|s| s.origin = Origin::Imported { tool: "fio 3.42".into() }, "fio 3.42"),
        (
            |s| s.plan.subjects[0] = HostSubject { host: HostName::Local }.into(),
            "studies of a host cannot be continued",
        ),
        (|s| s.plan.design.rule = Rule::Fixed { blocks: 5 }, "5, was fixed in advance"),
        (
            |s| {
                let Rule::Sequential { at_least_seconds, .. } = &mut s.plan.design.rule else {
                    panic!()
                };
                *at_least_seconds = 0.0;
                // Six whole blocks of a constant server decide everything.
                while s.trials.iter().filter(|t| t.block == Some(5)).count() < 4 {
                    let mut more = s.trials[s.trials.len() - 4..].to_vec();
                    more.iter_mut().for_each(|t| t.block = t.block.map(|b| b + 1));
                    s.trials.append(&mut more);
                }
            },
            "all comparisons are decided",
        ),
    ];
    for (change, word) in changes {
        let mut study = study.clone();
        study.trials.retain(|trial| trial.block < Some(5));
        change(&mut study);
        (0..).zip(&mut study.trials).for_each(|(number, trial)| trial.number = number);
        let refused = can_be_continued(&study).unwrap_err();
        assert_eq!(refused.cause, Cause::Usage);
        assert!(refused.happened.contains(word), "{word}: {refused}");
        let (same, store) = run(Some(&study), plan(600.0), NEVER, None);
        assert_eq!(same.unwrap_err(), refused);
        assert_unchanged(&store, &study);
    }
}

/// Imports of paths were to be measured with a check.
#[test]
fn imports_name_the_command_of_their_kind() {
    let mut study = interrupted();
    study.origin = Origin::Imported { tool: "iperf3-3.12".into() };
    let next = |study: &Study| can_be_continued(study).unwrap_err().next;
    assert_eq!(next(&study), "Measure with plimsoll check.");
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects[0] =
        PathSubject { from: end("local"), to: end("ssh://nas"), via: None }.into();
    assert_eq!(next(&study), "Measure with plimsoll net.");
}

/// Its number of blocks is fixed beforehand: it ends with just the trials that it would have had.
#[test]
fn a_fixed_number_of_blocks_is_made_up_wherever_it_was_broken_off() {
    let fixed = || {
        let mut plan = plan(600.0);
        plan.design.rule = Rule::Fixed { blocks: 4 };
        plan
    };
    let complete = |study: &Study| -> Vec<(Option<u32>, Cell)> {
        let whole = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete);
        whole.map(|trial| (trial.block, trial.cell)).collect()
    };
    let whole = run(None, fixed(), NEVER, None).0.unwrap();
    assert_eq!((whole.ended.clone(), complete(&whole).len()), (Ended::Done, 16));
    let mut broken_in_a_block = 0;
    for tenths in 8..40 {
        let stop = |round: u32| f64::from(tenths) * 0.4 + f64::from(round) * 1.7;
        let (first, _) = run(None, fixed(), stop(0), None);
        let Ok(mut study) = first else { continue };
        let mut rounds = 0;
        while study.ended != Ended::Done {
            assert_eq!(study.ended, Ended::Interrupted);
            broken_in_a_block += usize::from(!complete(&study).len().is_multiple_of(4));
            rounds += 1;
            match run(Some(&study), fixed(), stop(rounds), None).0 {
                Ok(after) => study = after,
                // Stopped before anything was measured: it is as it was.
                Err(failure) => assert_eq!(failure.cause, Cause::Interrupted),
            }
            assert!(rounds < 50, "it does not come to its end");
        }
        assert_eq!(complete(&study), complete(&whole), "stopped first after {tenths}");
        assert!(study.trials.iter().zip(0..).all(|(trial, number)| trial.number == number));
        assert!(can_be_continued(&study).unwrap_err().happened.contains("it is complete"));
    }
    assert!(broken_in_a_block > 20, "{broken_in_a_block} stopped within a block");
}

/// Numbers of films follow from those that play. What was broken off of a stage, or not begun, is measured.
#[test]
fn a_stage_that_was_broken_off_is_measured_when_the_study_goes_on() {
    let films = |streams: u16| {
        let (film, player) = (Film::constant("x", 1e6), Player::kodi());
        let (pace, size) = (Pace::Uncapped, Bytes(8 * MIB));
        let job = PlaybackJob { film, player, pace, size, seek_every_seconds: None };
        let part = Part::closed(job.into(), NonZeroU16::new(streams).unwrap(), NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    };
    let Plan { subjects, mut design, .. } = plan(600.0);
    design.rule = Rule::Fixed { blocks: 2 };
    let plan = Plan::new(subjects, vec![films(1)], design);
    let complete = |study: &Study, workload: u16, subject: u16| -> u32 {
        let own = |cell: Cell| (cell.workload, cell.subject) == (workload, subject);
        let own = study.trials.iter().filter(|trial| own(trial.cell));
        own.filter(|trial| trial.result.outcome == Outcome::Complete).count() as u32
    };
    let follow = |study: &Study| {
        let blocks = complete(study, 1, 0).min(complete(study, 1, 1));
        let more = FollowUp { workload: films(2), blocks: 2_u32.saturating_sub(blocks) };
        Some(more).filter(|more| more.blocks > 0).into_iter().collect::<Vec<FollowUp>>()
    };
    let mut in_the_second = 0;
    for tenths in 15..80 {
        let stop = f64::from(tenths) / 10.0;
        let (first, _) = run_in_stages(None, plan.clone(), stop, None, &follow);
        let Some(study) = first.ok().filter(|study| study.ended != Ended::Done) else { continue };
        in_the_second += usize::from(study.plan.workloads.len() == 2);
        can_be_continued(&study).unwrap();
        let (after, _) = run_in_stages(Some(&study), plan.clone(), NEVER, None, &follow);
        let after = after.unwrap();
        assert_eq!(after.ended, Ended::Done, "stopped after {stop} s");
        for subject in 0..2 {
            assert_eq!(complete(&after, 0, subject), 2, "stopped after {stop} s");
            assert!(complete(&after, 1, subject) >= 2, "stopped after {stop} s");
        }
        assert!(can_be_continued(&after).unwrap_err().happened.contains("it is complete"));
    }
    assert!(in_the_second > 20, "{in_the_second} stopped in the second stage");
}

/// A trial that ended the study because its server was gone has no figure; one that failed by itself is
/// measured as often as any other.
#[test]
fn the_trial_that_a_server_died_in_is_measured_again() {
    let mut plan = plan(600.0);
    plan.design.rule = Rule::Fixed { blocks: 4 };
    let whole = run(None, plan.clone(), NEVER, None).0.unwrap();
    let cells = |study: &Study, from: usize| -> Vec<(Option<u32>, Cell)> {
        study.trials[from..].iter().map(|trial| (trial.block, trial.cell)).collect()
    };
    for (cause, again) in [(Cause::Unreachable, 5), (Cause::Trial, 6)] {
        let failure = Failure::new(cause, "measure").on("nas").happened("it failed");
        let mut study = whole.clone();
        study.trials.truncate(6);
        let phase = "measure".to_owned();
        study.trials[5].result.outcome = Outcome::Failed { phase, failure: failure.clone() };
        study.ended = Ended::Failed { failure };
        let after = run(Some(&study), plan.clone(), NEVER, None).0.unwrap();
        assert_eq!(after.ended, Ended::Done);
        assert_eq!(cells(&after, 6), cells(&whole, again), "{cause:?}");
    }
}
