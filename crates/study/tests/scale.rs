//! How much is copied where that is left to the program, exactly, on scripted shares.

mod support;

use plimsoll_load::{MockShare, Op, Reply, Share, VirtualClock};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    CopyJob, DataClass, Design, DirectoryTarget, Ended, Failure, Flag, GeneratedData, Job, Length,
    Measure, Method, Metric, Part, Plan, Rule, Scaled, Study, Target, TargetFacts, Transfer,
    Workload,
};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;
use support::{MS, conducted, design, run};

/// Two thousand small pictures up and down: an operation for each.
fn plan(cap_seconds: f64, may_scale: bool) -> Plan {
    let data = GeneratedData {
        class: DataClass::Pictures,
        count: 2000,
        mean_bytes: 4096.0,
        scale: 1.0,
        seed: 1,
    };
    let workload = |transfer| {
        let (dataset, block) = (data.dataset(), Bytes(MIB));
        let job = CopyJob { dataset, transfer, method: Method::default(), block, verify: false };
        let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::UntilDone { at_most_seconds: cap_seconds })
    };
    let design = Design { rule: Rule::Fixed { blocks: 6 }, cap_seconds, ..design() };
    let target = Target::Directory(DirectoryTarget { path: "x".into() });
    let workloads = vec![workload(Transfer::Up), workload(Transfer::Down)];
    let mut plan = Plan::new(vec![target.into()], workloads, design);
    plan.storage.adapt_size = may_scale;
    plan
}

/// A file takes this long; directories take a millisecond.
fn study(plan: Plan, each: Duration) -> Result<Study, Failure> {
    run(plan, move |_, op| match op {
        Op::Put(..) | Op::Get(_) => Reply::After(each),
        _ => Reply::After(MS),
    })
}

fn scales(study: &Study) -> Vec<f64> {
    study.plan.workloads.iter().filter_map(|w| w.parts[0].job.scale()).collect()
}

fn files(study: &Study) -> u64 {
    let Job::Copy(job) = &study.plan.workloads[0].parts[0].job else { panic!("a copy") };
    job.dataset.files
}

#[test]
fn the_first_blocks_end_within_half_of_the_cap() {
    // 2 s a trial, 12 trials, and the upload of what is read: 26 s.
    let study = study(plan(20.0, true), MS).unwrap();
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 12));
    let Some(Flag::Scaled { wanted, used, why: Scaled::Time { seconds }, .. }) =
        study.flags.first()
    else {
        panic!("{:?}", study.flags)
    };
    assert_eq!((scales(&study), *wanted), (vec![*used; 2], 1.0));
    assert!((25.0..28.0).contains(seconds), "{seconds}");
    let first = &study.trials[0];
    let last = study.trials.last().unwrap();
    let ends = last.started_seconds + 1e-3 * files(&study) as f64;
    assert!(ends <= 10.0 + 0.1, "{ends}");
    assert!(ends > 8.0, "no less than there is time for: {ends}");
    assert!(first.started_seconds < 5.0, "the parts that are tried are small");
}

/// A first look at copies ended after 5 to 30 s of its minute, and said nothing of differences below 312288%.
#[test]
fn a_first_look_at_copies_uses_its_minute() {
    for each in [MS / 20, MS, 20 * MS] {
        let mut plan = plan(60.0, true);
        plan.design.rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 51.0 };
        let study = study(plan, each).unwrap();
        let last = study.trials.last().unwrap();
        let elapsed = last.result.value(0, Metric::all(Measure::ELAPSED)).unwrap();
        let end = last.started_seconds + elapsed;
        assert!((45.0..61.0).contains(&end), "{each:?} a file: {end} s");
        // What has to be scaled is scaled to the minute, not to half of it.
        let blocks = study.trials.len() / 2;
        assert!(blocks <= 8 || scales(&study) == [1.0; 2], "{each:?} a file: {blocks} blocks");
    }
}

/// Small pictures, and a film of 256 MiB, up and down.
fn with_a_film(cap_seconds: f64) -> Plan {
    let mut plan = plan(cap_seconds, true);
    let film = GeneratedData {
        class: DataClass::Movies,
        count: 1,
        mean_bytes: 256.0 * MIB as f64,
        scale: 1.0,
        seed: 1,
    };
    for (workload, transfer) in
        plan.workloads.clone().into_iter().zip([Transfer::Up, Transfer::Down])
    {
        let (dataset, block) = (film.dataset(), Bytes(MIB));
        let job = CopyJob { dataset, transfer, method: Method::default(), block, verify: false };
        let mut more = workload;
        more.parts[0].job = job.into();
        plan.workloads.push(more);
    }
    plan
}

/// 5 ms for a small file; a film at 100 MiB/s.
fn slow_files(op: &Op) -> Reply {
    match op {
        Op::Put(..) | Op::Get(_) => Reply::After(5 * MS),
        Op::Read(_) | Op::Write(..) => Reply::After(10 * MS),
        _ => Reply::After(MS / 100),
    }
}

/// One scale served all datasets: of a film that shared the minute with thousands of small files a thousandth was
/// copied, for milliseconds.
#[test]
fn each_dataset_has_the_scale_that_its_share_of_the_time_allows() {
    let study = run(with_a_film(20.0), |_, op| slow_files(op)).unwrap();
    let scales = scales(&study);
    assert!(scales[0] == scales[1] && scales[2] == scales[3], "up and down: {scales:?}");
    assert!(scales[2] > 2.0 * scales[0], "{scales:?}");
    let Some(Flag::Scaled { used, most, .. }) = study.flags.first() else {
        panic!("{:?}", study.flags)
    };
    assert_eq!((*used, *most), (scales[0], Some(scales[2])));
}

/// Scaled for the space and then for the time, a study warned of two scales.
#[test]
fn a_copy_without_space_and_time_warns_of_the_scales_that_it_has() {
    let share = |clock: &Arc<VirtualClock>, _: usize| {
        let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |op: &Op, _| slow_files(op));
        let facts = TargetFacts { space_bytes: (1 << 30, 300 << 20), ..share.facts().clone() };
        share.with_facts(facts)
    };
    let mut plan = with_a_film(20.0);
    plan.storage.fit_size = true;
    let study = conducted(plan, share, &mut |_, _| {}).unwrap();
    let scales = scales(&study);
    let is_scaled = |flag: &&Flag| matches!(flag, Flag::Scaled { .. });
    let [Flag::Scaled { wanted, used, most, why: Scaled::Time { .. } }] =
        study.flags.iter().filter(is_scaled).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", study.flags)
    };
    assert!(*wanted < 1.0, "there is no space for all of it: {wanted}");
    let end = |pick: fn(f64, f64) -> f64| scales.iter().copied().reduce(pick).unwrap();
    assert_eq!((*used, most.unwrap_or(*used)), (end(f64::min), end(f64::max)), "{scales:?}");
}

#[test]
fn what_is_fast_enough_is_copied_whole() {
    let study = study(plan(20.0, true), MS / 20).unwrap();
    assert_eq!((scales(&study), files(&study)), (vec![1.0; 2], 2000));
    assert_eq!(study.flags, vec![]);
}

/// A scale that the user named is used, however long that takes.
#[test]
fn a_scale_that_was_named_stays() {
    let study = study(plan(20.0, false), MS).unwrap();
    assert_eq!((scales(&study), files(&study)), (vec![1.0; 2], 2000));
    assert!(study.flags.iter().all(|flag| matches!(flag, Flag::CapReached { .. })));
}

/// Two seconds a file: not even the smallest part is waited for long, and the cap ends it.
#[test]
fn what_is_far_too_slow_is_copied_at_the_smallest_scale() {
    let study = study(plan(20.0, true), 2000 * MS).unwrap();
    assert_eq!((scales(&study), files(&study)), (vec![1e-4; 2], 1));
    assert!(study.flags.iter().any(|flag| matches!(flag, Flag::Scaled { .. })));
}
