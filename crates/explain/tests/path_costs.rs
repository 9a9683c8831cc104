//! Costs of calls, segments and bytes of streams over a network path.

mod support;

use plimsoll_explain::{PathEnd, path_costs};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use std::num::NonZeroU16;
use support::{add_trial, empty};

/// CPU seconds per byte with calls of so many bytes, segments of so many, in a block.
type Costing = fn(f64, f64, u32) -> f64;

/// TCP streams with calls of these sizes in three blocks; every other one has the second size of segments.
fn study(calls: &[u64], segments: [f64; 2], per_byte: Costing) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let path = PathSubject { from: end("local"), to: end("ssh://nas"), via: None }.into();
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.1 };
    let workload = |call: &u64| {
        let job = TcpStreamJob { block: Bytes(*call), ..TcpStreamJob::new(Flow::Out) };
        Workload::new(Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN), length)
    };
    let design = Design { rule: Rule::Fixed { blocks: 3 }, ..Design::default() };
    let mut study = empty(&["/data"], &[]);
    study.plan = Plan::new(vec![path], calls.iter().map(workload).collect(), design);
    study.subjects = vec![SubjectFacts::Path(PathFacts::default())];
    for block in 0..3 {
        for (workload, call) in (0..).zip(calls) {
            let segment = segments[usize::from(workload) % 2];
            let quantities = [
                (Metric::all(Measure::NEAR_CPU_PER_BYTE), per_byte(*call as f64, segment, block)),
                (Metric::all(Measure::SEGMENT), segment),
            ];
            let part = PartResult { quantities: quantities.into(), ..PartResult::default() };
            add_trial(&mut study, block, Cell { subject: 0, workload, setting: 0 }, part);
        }
    }
    study
}

fn noise(block: u32) -> f64 {
    [0.98, 1.0, 1.02][block as usize % 3]
}

#[test]
fn a_call_and_a_byte_are_told_apart_by_the_size_of_calls() {
    let per_byte: Costing = |call, _, block| (1e-6 / call + 0.3e-9) * noise(block);
    let found = path_costs(&study(&[1024, 8192, 32_768, 131_072], [1448.0; 2], per_byte));
    let [one] = &found[..] else { panic!("one end: {found:?}") };
    assert_eq!((one.end, one.sizes), (PathEnd::A, 4));
    let costs = one.costs.unwrap();
    assert!((costs.call.value - 1e-6).abs() < 0.02e-6, "{costs:?}");
    assert!((costs.byte.value - 0.3e-9).abs() < 0.01e-9, "{costs:?}");
    assert_eq!(costs.segment, None, "segments of one size cost what their bytes do");
    assert!(costs.call.interval.is_some());
}

#[test]
fn segments_are_named_where_their_sizes_differ() {
    let per_byte: Costing =
        |call, segment, block| (1e-6 / call + 0.5e-6 / segment + 0.1e-9) * noise(block);
    let calls = [1024, 1025, 8192, 8193, 131_072, 131_073];
    let found = path_costs(&study(&calls, [1448.0, 8948.0], per_byte));
    let costs = found[0].costs.unwrap();
    let segment = costs.segment.unwrap().value;
    assert!((segment - 0.5e-6).abs() < 0.02e-6, "{costs:?}");
    assert!((costs.byte.value - 0.1e-9).abs() < 0.01e-9, "{costs:?}");
}

#[test]
fn nothing_is_named_where_the_sum_does_not_fit_or_sizes_are_few() {
    let steps: Costing = |call, _, block| noise(block) * if call < 10_000.0 { 2e-9 } else { 1e-10 };
    let found = path_costs(&study(&[1024, 4096, 8192, 131_072], [1448.0; 2], steps));
    assert!(found[0].off > 0.1 && found[0].costs.is_none(), "{found:?}");
    let few = path_costs(&study(&[1024, 131_072], [1448.0; 2], |_, _, _| 1e-9));
    assert_eq!(few, []);
}
