//! Gates on synthetic studies whose truth is known: how often one fails without a change, and how often with one.

mod support;

use plimsoll_explain::{GateOutcome, can_be_baseline, conditions_without_work, gate, other_work};
use plimsoll_model::{Cell, Figure, Gate, Measure, Metric, PastStudy, Pattern, Study, StudyId};
use plimsoll_stats::order::generator;
use plimsoll_stats::synthetic::standard_normal;
use support::{empty, job};

const SEED: u64 = 40_2026;
const PATTERNS: [Pattern; 2] = [Pattern::SequentialRead, Pattern::SequentialWrite];

/// A study with one figure for each pattern, so many standard deviations from 100 MB/s.
fn past(study: &Study, number: usize, logs: [f64; 2]) -> PastStudy {
    let figure = |workload: usize| Figure {
        trial: workload as u32,
        block: Some(0),
        cell: Cell::new(0, workload, 0),
        metric: Metric::all(Measure::THROUGHPUT),
        value: 1e8 * logs[workload].exp(),
        is_disturbed: false,
    };
    let id = StudyId(format!("{number:08x}"));
    PastStudy { study: Study { id, ..study.clone() }, figures: vec![figure(0), figure(1)] }
}

fn gated(conditions: &[&str]) -> Study {
    let mut study = empty(&["nfs://nas/films"], &PATTERNS);
    let conditions = conditions.iter().map(|text| text.parse().unwrap()).collect();
    study.plan.gate = Some(Gate { baseline: Gate::LAST.into(), conditions });
    study
}

/// Share of the gates that fail, of so many with 8 studies of a spread `sd` and a change of the last by `change`.
fn share_failed(conditions: &[&str], sd: f64, change: f64, gates: u32) -> f64 {
    let study = gated(conditions);
    let failed = (0..gates).filter(|number| {
        let generator = &mut generator(SEED, &format!("gate {number}"));
        let mut draw = |shift: f64| [0, 1].map(|_| shift + sd * standard_normal(generator));
        let baseline: Vec<PastStudy> = (0..8).map(|day| past(&study, day, draw(0.0))).collect();
        gate(&past(&study, 8, draw(change.ln_1p())), &baseline).unwrap().has_failed()
    });
    failed.count() as f64 / f64::from(gates)
}

#[test]
fn a_gate_without_a_change_fails_as_often_as_stated_and_a_change_is_found() {
    // A bound that anything exceeds: chance alone decides.
    let level = share_failed(&["all<-0.01%"], 0.03, 0.0, 1_000);
    println!("seed {SEED}, 1000 gates without a change, two rows: {level} failed");
    // 5%, give or take three standard errors.
    assert!((0.029..=0.071).contains(&level), "{level}");
    // Behind a bound of 10% it hardly ever fails.
    assert!(share_failed(&["all<-10%"], 0.03, 0.0, 1_000) <= 0.01);
    // 15% less, from day to day 3%: beyond t·s·√(1 + 1/8) = 7.5% in nearly all.
    let power = share_failed(&["all<-10%"], 0.03, -0.15, 400);
    println!("seed {SEED}, 400 gates with 15% less: {power} failed");
    assert!(power >= 0.95, "{power}");
    // What is higher does not fail a lower bound.
    assert_eq!(share_failed(&["all<-0.01%"], 0.001, 0.5, 50), 0.0);
    assert_eq!(share_failed(&["all>+20%"], 0.001, 0.5, 50), 1.0);
}

#[test]
fn the_outcome_of_a_row_says_why() {
    let study = gated(&["read<-10%"]);
    let outcome = |now: &PastStudy, baseline: &[PastStudy]| {
        let rows = gate(now, baseline).unwrap().rows;
        assert_eq!(rows.len(), 1, "one row is about a read");
        rows[0].outcome
    };
    let days = |count: usize| -> Vec<PastStudy> {
        (0..count).map(|day| past(&study, day, [0.01 * (day % 3) as f64; 2])).collect()
    };
    let now = past(&study, 9, [-0.3, 0.0]);
    assert_eq!(outcome(&now, &[]), GateOutcome::NoBaseline);
    assert_eq!(outcome(&now, &days(4)), GateOutcome::SpreadUnknown);
    assert_eq!(outcome(&now, &days(5)), GateOutcome::Failed);
    assert_eq!(outcome(&past(&study, 9, [0.0; 2]), &days(5)), GateOutcome::Passed);
    let silent = PastStudy { figures: Vec::new(), ..now.clone() };
    assert_eq!(outcome(&silent, &days(5)), GateOutcome::NotMeasured);
    // Beyond the bound, but not beyond chance.
    let wild: Vec<PastStudy> =
        (0..6).map(|day| past(&study, day, [0.5 * (day % 2) as f64; 2])).collect();
    assert_eq!(outcome(&past(&study, 9, [-0.1, 0.0]), &wild), GateOutcome::Passed);
    assert_eq!(gate(&past(&empty(&["/x"], &PATTERNS), 1, [0.0; 2]), &[]), None, "without a gate");
}

#[test]
fn a_baseline_of_other_work_is_named() {
    let planned = gated(&["read<-10%"]);
    let equal = empty(&["nfs://nas/films"], &PATTERNS);
    assert!(can_be_baseline(&planned, &equal));
    assert_eq!(other_work(&planned, &equal), []);
    let mut larger = equal.clone();
    job(&mut larger.plan.workloads[0]).size.0 *= 2;
    let differences = other_work(&planned, &larger);
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].what, "working set");
    // A size that the program may lower is no difference before it has.
    let mut open = planned.clone();
    open.plan.storage.adapt_size = true;
    let mut same = larger.clone();
    same.plan.storage.adapt_size = true;
    assert_eq!(other_work(&open, &same), []);
    // Work that the condition is not about does not matter.
    let mut written = equal.clone();
    job(&mut written.plan.workloads[1]).size.0 *= 2;
    assert_eq!(other_work(&planned, &written), []);
    let elsewhere = empty(&["nfs://nas/music"], &PATTERNS);
    assert!(!can_be_baseline(&planned, &elsewhere));
    assert_eq!(other_work(&planned, &elsewhere)[0].what, "work on nfs://nas/films");
    let typo = gated(&["raed<-10%", "write<-1%"]);
    let gate = typo.plan.gate.as_ref().unwrap();
    let without: Vec<String> =
        conditions_without_work(gate, &typo.plan).iter().map(ToString::to_string).collect();
    assert_eq!(without, ["raed<-10%"]);
}
