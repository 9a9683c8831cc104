//! What plimsoll makes of a server whose costs are known: `ops` of the cost of an operation and of a byte, and
//! `check` of one that stands still at times, by latencies of operations at a fixed rate beside those of a
//! closed loop.

use crate::kept::{load_average, until_quiet};
use crate::support::Plimsoll;
use plimsoll_explain::transfers;
use plimsoll_model::{Histogram, OpKind};
use plimsoll_stats::fit::costs::CostKind;
use plimsoll_testkit::responder::{Costs, Responder, Stalls};
use std::time::Duration;

/// Runs whose median counts.
const RUNS: usize = 20;
/// What a call of the server costs, and a byte in seconds: far above those of this machine, whose own come on
/// top.
const COSTS: Costs = Costs { operation: Duration::from_millis(4), byte: 50e-9, stalls: None };
/// How far what is found may be from it, as a share.
const OFF_BY: f64 = 0.05;

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "takes minutes, and a quiet machine: make measure-ops"]
fn measure_ops_costs() {
    let server = Responder::start_with(COSTS).unwrap();
    let (program, url) = (Plimsoll::new(), server.url());
    // Each write is stable by itself: a flush at the end would be charged to the writes before it.
    let words = ["ops", &url, "--only=blocks", "--size=16MiB", "--stability=filesync"];
    let length = ["--time=250ms", "--repeats=3", "--baseline=0s", "--quiet"];
    let mut found: [(Vec<f64>, Vec<f64>); 2] = Default::default();
    for run in 0..RUNS {
        until_quiet();
        program.run(&[&words[..], &length].concat()).expect(0);
        let all = transfers(&program.latest());
        assert_eq!(all.len(), 2, "reads and writes");
        for (transfers, (operations, bytes)) in all.iter().zip(&mut found) {
            let cost = |kind| transfers.cost(kind).expect("the model fits").value;
            operations.push(cost(CostKind::Operation) / COSTS.operation.as_secs_f64());
            bytes.push(COSTS.byte / cost(CostKind::Byte));
            println!(
                "run {run:2} {:18} α {:.4}, 1/β {:.4} of the truth, load average {}",
                transfers.title,
                operations[run],
                bytes[run],
                load_average()
            );
        }
    }
    for (way, (operations, bytes)) in ["reads", "writes"].into_iter().zip(found) {
        let (operation, byte) = (median(operations), median(bytes));
        println!("{way}: median of {RUNS}: α {operation:.4}, 1/β {byte:.4} of the truth");
        for of_truth in [operation, byte] {
            assert!((of_truth - 1.0).abs() <= OFF_BY, "{way}: {of_truth} of the truth");
        }
    }
}

/// Latencies of reads, as `check` has them of one trial: at so many a second, or in a closed loop of one.
fn latencies(url: &str, per_second: Option<u32>, length: Duration) -> Histogram {
    let time = format!("--time={}ms", length.as_millis());
    let rate = per_second.map(|rate| format!("--rate={rate}"));
    let words = ["check", url, "--pattern=random-read", "--block=4KiB", "--size=64KiB", &time];
    let more = ["--workers=1", "--repeats=1", "--baseline=0s", "--quiet"];
    let program = Plimsoll::new();
    let rate: Vec<&str> = rate.iter().map(String::as_str).collect();
    program.run(&[&words[..], &more, &rate].concat()).expect(0);
    let study = program.latest();
    let reads = &study.trials[0].result.parts[0].ops[&OpKind::READ];
    println!("{} reads, {} flags", reads.count, study.trials[0].result.flags.len());
    reads.client_latency.histogram.clone().expect("a trial keeps its latencies")
}

/// What that share of the latencies is below, in seconds.
fn quantile(histogram: &Histogram, share: f64) -> f64 {
    let all: u64 = histogram.buckets_ns.iter().map(|(_, count)| count).sum();
    let mut left = (all as f64 * share) as u64;
    let bucket = histogram.buckets_ns.iter().find(|(_, count)| match left.checked_sub(*count) {
        Some(after) => {
            left = after;
            false
        }
        None => true,
    });
    bucket.or(histogram.buckets_ns.last()).map_or(f64::NAN, |(low, _)| *low as f64 * 1e-9)
}

#[test]
#[ignore = "takes six minutes, and a quiet machine: make measure-ops"]
fn measure_ops_paced() {
    // At ten a second no multiple of the interval, so arrivals fall at another time of each stall.
    let stalls =
        Stalls { length: Duration::from_secs(1), every: Duration::from_micros(10_041_700) };
    // Long beside what this machine takes to wake up who waits.
    let operation = Duration::from_millis(20);
    let costs = Costs { operation, stalls: Some(stalls), ..Costs::FREE };
    let per_second = 10;
    let interval = Duration::from_secs(1) / per_second;
    let quantiles = [0.5, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995];
    let mut missed = Vec::new();
    let server = Responder::start_with(costs).unwrap();
    until_quiet();
    for (name, rate, periods) in [("paced", Some(per_second), 24), ("closed", None, 6)] {
        let found = latencies(&server.url(), rate, periods * stalls.every);
        for share in quantiles {
            let found = quantile(&found, share);
            let expected = match rate {
                Some(_) => stalls.quantile(operation, interval, share),
                // One in some 450 meets a stall.
                None => operation.as_secs_f64(),
            };
            println!(
                "{name:6} {:5.1}%: {:8.2} ms, by calculation {:8.2} ms: {:.4}",
                share * 100.0,
                found * 1e3,
                expected * 1e3,
                found / expected
            );
            if (found / expected - 1.0).abs() > 0.02 {
                missed.push(format!("{name}, {share}"));
            }
        }
    }
    println!("load average at the end: {}", load_average());
    assert!(missed.is_empty(), "further than 2% off: {missed:?}");
}
