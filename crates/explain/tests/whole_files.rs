//! Whole files by several readers: what follows from one reader's costs, and where nothing does.

mod support;

use plimsoll_explain::whole_files;
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_stats::closed::{mva, rounds};
use plimsoll_stats::fit::costs::CostKind;
use std::num::NonZeroU16;

const SIZE: Bytes = Bytes(10_000_000);
/// Seconds of an operation and of a byte: those that the RTEMS list's reader paid.
const COSTS: (f64, f64) = (0.252e-3, 1.0 / 9.97e6);

fn file(buffer: u64, arrival: Arrival) -> Workload {
    let (way, stability) = (FileWay::Read, Stability::FileSync);
    let job = FileJob { way, buffer: Bytes(buffer), size: SIZE, stability };
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::UntilDone { at_most_seconds: 60.0 };
    Workload::new(Part { arrival, ..part }, length)
}

/// A study of these files, each of which took so long in each of three blocks.
fn study(files: &[(Workload, f64)]) -> Study {
    let mut study = support::empty(&["nfs://nas/films"], &[]);
    study.plan.design.rule = Rule::Fixed { blocks: 3 };
    study.plan.workloads = files.iter().map(|(workload, _)| workload.clone()).collect();
    for block in 0..3 {
        for (workload, (_, seconds)) in (0..).zip(files) {
            let quantities = [(Metric::all(Measure::ELAPSED), *seconds)].into();
            let part = PartResult { quantities, ..PartResult::default() };
            let cell = Cell { workload, ..Cell::default() };
            support::add_trial(&mut study, block, cell, part);
        }
    }
    study
}

fn one(buffer: u64) -> (Workload, f64) {
    let (operation, byte) = COSTS;
    let seconds = SIZE.0.div_ceil(buffer) as f64 * operation + SIZE.0 as f64 * byte;
    (file(buffer, Arrival::Closed { depth: NonZeroU16::MIN }), seconds)
}

fn three(rounds: bool) -> (Workload, f64) {
    let depth = NonZeroU16::new(3).unwrap();
    let arrival = if rounds { Arrival::Rounds { depth } } else { Arrival::Closed { depth } };
    (file(8192, arrival), 1.04)
}

#[test]
fn several_readers_follow_from_one() {
    let study = study(&[one(1024), one(8192), three(true), three(false)]);
    let [found] = &whole_files(&study)[..] else { panic!("one group") };
    for (kind, truth) in [(CostKind::Operation, COSTS.0), (CostKind::Byte, COSTS.1)] {
        let cost = found.cost(kind).unwrap().value;
        assert!((cost / truth - 1.0).abs() < 1e-6, "{kind:?}: {cost}");
    }
    let demand = [COSTS.1 * 8192.0];
    let expected = [
        rounds(3, &demand, COSTS.0).unwrap() * 8192.0,
        mva(3, &demand, COSTS.0).unwrap().per_second * 8192.0,
    ];
    for (file, expected) in found.files[2..].iter().zip(expected) {
        assert!((file.rate.value / (SIZE.0 as f64 / 1.04) - 1.0).abs() < 1e-9);
        assert!((file.modelled.unwrap() / expected - 1.0).abs() < 1e-6, "{file:?}");
        assert!((file.error().unwrap() - (expected / file.rate.value - 1.0)).abs() < 1e-6);
    }
    // As the RTEMS list's readers went.
    assert!(
        (expected[0] / 9.05e6 - 1.0).abs() < 0.005 && (expected[1] / 9.93e6 - 1.0).abs() < 0.005
    );
}

/// One size does not tell an operation from its bytes; and what was read ahead is another thing.
#[test]
fn without_two_sizes_nothing_is_predicted() {
    let study = study(&[one(8192), three(true)]);
    let [found] = &whole_files(&study)[..] else { panic!("one group") };
    assert!(found.cost(CostKind::Operation).is_none() && found.files.len() == 2);
    assert!(found.files.iter().all(|file| file.modelled.is_none()));
}

#[test]
fn reading_ahead_is_a_group_of_its_own() {
    let mut ahead = one(8192);
    let window = NonZeroU16::new(4).unwrap();
    ahead.0.parts[0].techniques = vec![Technique::ReadAhead { window }];
    let study = study(&[one(1024), ahead, one(8192)]);
    let found = whole_files(&study);
    assert_eq!(found.iter().map(|group| group.files.len()).collect::<Vec<_>>(), [2, 1]);
    assert!(found[1].files[0].modelled.is_none());
}

#[test]
fn other_jobs_and_failed_trials_are_none() {
    let patterns = support::empty(&["nfs://nas/films"], &[Pattern::RandomRead]);
    assert!(whole_files(&patterns).is_empty());
    let mut failed = study(&[one(1024), one(8192)]);
    failed.trials.iter_mut().for_each(|trial| trial.result.outcome = Outcome::Stopped);
    assert!(whole_files(&failed).is_empty());
}
