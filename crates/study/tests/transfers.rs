//! What an operation and a byte cost, recovered from targets whose costs are known: on a scripted clock.

mod support;

use plimsoll_explain::{CostModel, transfers};
use plimsoll_load::{Op, Reply};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    Arrival, Design, Length, Parameter, Pattern, PatternJob, Plan, Rule, Steps, Study,
    SubjectFacts, TargetFacts,
};
use plimsoll_stats::fit::costs::CostKind;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use support::{plan_of, run};

/// Seconds of an operation and of a byte.
const OPERATION: f64 = 1e-3;
const BYTE: f64 = 1e-8;

/// Reads of several sizes, and of one size with several in flight, by both arrivals.
fn plan(seed: u64) -> Plan {
    let job = |block| PatternJob::new(Pattern::SequentialRead, Bytes(block), Bytes(64 * MIB));
    let length = Length::For { seconds: 0.25, warm_up_seconds: 0.025 };
    let design = Design { rule: Rule::Fixed { blocks: 6 }, seed, ..support::design() };
    let mut plan = plan_of(1, vec![job(MIB), job(65_536), job(65_536)], length, design);
    let sizes = vec![512.0, 4096.0, 32_768.0, 262_144.0, 1_048_576.0];
    let depths = vec![1.0, 2.0, 4.0];
    plan.workloads[0].steps = Some(Steps::Sweep { over: Parameter::Block, values: sizes });
    for workload in &mut plan.workloads[1..] {
        workload.steps = Some(Steps::Sweep { over: Parameter::Depth, values: depths.clone() });
    }
    plan.workloads[2].parts[0].arrival = Arrival::Rounds { depth: NonZeroU16::MIN };
    plan.contrasts = Vec::new();
    plan
}

/// A target with these costs, each time off by up to a share of it.
fn measured(seed: u64, noise: f64) -> Study {
    let state = Arc::new(AtomicU64::new(seed));
    let time = move |op: &Op| match op {
        Op::Read(span) => {
            // Knuth's linear congruential generator (The Art of Computer Programming 2, 3.3.4); the upper half.
            let next = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let drawn = next(state.fetch_update(Relaxed, Relaxed, |x| Some(next(x))).unwrap());
            let uniform = (drawn >> 32) as f64 / f64::from(u32::MAX);
            let off = 1.0 + noise * (2.0 * uniform - 1.0);
            (OPERATION + BYTE * f64::from(span.length)) * off
        }
        _ => 0.0,
    };
    run(plan(seed), move |_, op| Reply::After(Duration::from_secs_f64(time(op)))).unwrap()
}

#[test]
fn exact_times_give_the_exact_costs() {
    let mut study = measured(1, 0.0);
    let [SubjectFacts::Storage(facts)] = &mut study.subjects[..] else { panic!("one share") };
    // All of the cost of an operation is a round trip, so that two would take it at the same time.
    facts.round_trip_seconds = Some(OPERATION);
    let found = transfers(&study);
    let [reads] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(reads.model, CostModel::Fits { .. }), "{:?}", reads.model);
    let cost = |kind| reads.cost(kind).unwrap().value;
    assert!(
        (cost(CostKind::Operation) / OPERATION - 1.0).abs() < 0.01,
        "{}",
        cost(CostKind::Operation)
    );
    assert!((cost(CostKind::Byte) / BYTE - 1.0).abs() < 0.01, "{}", cost(CostKind::Byte));
    let half = reads.share_of_operation(Bytes(100_000)).unwrap();
    assert!((half - 0.5).abs() < 0.01, "{half}");
    // A megabyte takes 91% of the rate of bytes alone, a quarter of it 72%.
    assert_eq!(reads.enough().map(|enough| (enough.at, enough.is_last)), Some((1_048_576.0, true)));
    // One server does one after the other, so that more in flight brings nothing.
    let [pipelined, rounds] = &reads.flights[..] else { panic!("{:?}", reads.flights) };
    assert!(!pipelined.rounds && rounds.rounds);
    for flights in [pipelined, rounds] {
        assert_eq!(flights.enough().map(|enough| enough.at), Some(1.0));
        assert!((flights.gain().unwrap() - 1.0).abs() < 0.01);
        assert_eq!(flights.depths.iter().map(|one| one.depth).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(flights.block, Bytes(65_536));
    }
    let two = rounds.depths[1].modelled.unwrap();
    let expected = 2.0 / (OPERATION + 2.0 * BYTE * 65_536.0);
    assert!((two / expected - 1.0).abs() < 0.01, "{two} {expected}");
    // None of it is: then the model is what this server does, one after the other.
    study.subjects[0] = SubjectFacts::Storage(TargetFacts {
        round_trip_seconds: Some(0.0),
        ..study.subjects[0].storage().unwrap().clone()
    });
    for flights in &transfers(&study)[0].flights {
        for one in &flights.depths {
            let off = one.modelled.unwrap() / one.per_second.value - 1.0;
            assert!(off.abs() < 0.01, "{flights:?}");
        }
    }
}

#[test]
fn noisy_times_give_costs_within_a_twentieth() {
    let mut off: [Vec<f64>; 2] = Default::default();
    for seed in 0..20 {
        let found = transfers(&measured(seed, 0.3));
        for (off, (kind, truth)) in
            off.iter_mut().zip([(CostKind::Operation, OPERATION), (CostKind::Byte, BYTE)])
        {
            let cost = found[0].cost(kind).unwrap_or_else(|| panic!("{seed}: {:?}", found[0]));
            let interval = cost.interval.expect("six blocks");
            assert!(interval.low < cost.value && cost.value < interval.high, "{interval:?}");
            off.push((cost.value / truth - 1.0).abs());
        }
    }
    for mut off in off {
        off.sort_by(f64::total_cmp);
        let median = (off[9] + off[10]) / 2.0;
        assert!(median < 0.05, "{off:?}");
    }
}
