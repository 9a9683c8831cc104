//! `plimsoll net` beside other programs and beside truths that are known by construction: what a byte and a datagram
//! cost, how late a path is under load, what its bottleneck is, and the published figures on a router in namespaces.

mod bottlenecks;
mod peers;
mod via;

use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::pair::lab_named;
use crate::support::router::ROUTED;
use plimsoll_model::{Measure, Metric, Outcome, Study};
use serde::{Deserialize, Serialize};

/// A study of the path between two hosts; `None`, with the reason printed, if it has none that is complete.
fn study(beds: &Beds, ends: [&str; 2], words: &[&str]) -> Option<Study> {
    let ran = beds.program.run(&[&["net"], &ends[..], words, &["--json=-"]].concat());
    let study = plimsoll_record::from_json(&ran.out).ok();
    let study: Option<Study> = study.filter(|study: &Study| {
        let complete = |trial: &plimsoll_model::Trial| trial.result.outcome == Outcome::Complete;
        !study.trials.is_empty() && study.trials.iter().all(complete)
    });
    if study.is_none() {
        println!("{words:?}: exit code {:?}: {}", ran.code, ran.err);
    }
    study
}

/// A figure of the first part of a study's first trial.
fn figure(study: &Study, measure: Measure) -> Option<f64> {
    study.trials.first()?.result.value(0, Metric::all(measure))
}

/// Rate of the link in Mbit/s, and length of its queue in ms.
const QUEUES: [(f64, f64); 4] = [(20.0, 20.0), (20.0, 200.0), (50.0, 20.0), (50.0, 200.0)];
/// Seconds of its rate that the token bucket lets through at once: a timer that is late loses no tokens.
const BURST: f64 = 0.004;
/// Wanted: p99 within this share of the queue.
const QUEUE_WITHIN: f64 = 0.1;

/// Latency behind a queue of known length.
#[derive(Serialize, Deserialize)]
struct Queue {
    /// Mbit/s and ms.
    queue: (f64, f64),
    /// Seconds; `None` if the study failed.
    p50: Option<f64>,
    p99: Option<f64>,
    load: String,
}

#[test]
#[ignore = "takes two minutes, and a quiet machine: make measure-net"]
fn measure_net_queues() {
    let Some(beds) = lab_named("line", ROUTED) else { return };
    let (mut kept, until) = (Kept::<Queue>::open("net-queues.json"), Until::now());
    // The 99th percentile needs 2000 round trips, of which there are 300 a second.
    let time = format!("--time={}s", setting("PLIMSOLL_SECONDS", 8));
    for queue in QUEUES.into_iter().take(setting("PLIMSOLL_CASES", 4) as usize) {
        if kept.cases.iter().any(|case| case.queue == queue) || until.is_over() {
            continue;
        }
        until_quiet();
        // The queue by hand: what it holds, at its rate.
        let (rate, limit) = (1e6 * queue.0, 1e6 * queue.0 / 8.0 * queue.1 / 1e3);
        let burst = BURST * rate / 8.0;
        let bucket = format!("tbf rate {rate:.0}bit burst {burst:.0} limit {limit:.0}");
        // Not at A: its kernel holds a request back while an earlier one waits in a queue of its own (autocorking).
        beds.on("line/router", &format!("tc qdisc replace dev inner root {bucket}"));
        // With the windows of the system, four streams do not fill a long queue.
        let words = ["--quick", "--job=up", "--socket-buffer=4MiB", &time];
        let study = study(&beds, bottlenecks::HOSTS, &words);
        let value = |measure| study.as_ref().and_then(|study| figure(study, measure));
        let (p50, p99) = (value(Measure::LATENCY_P50), value(Measure::LATENCY_P99));
        kept.add(Queue { queue, p50, p99, load: load_average() });
    }
    let mut right = 0;
    for Queue { queue: (rate, ms), p50, p99, load } in &kept.cases {
        let share = p99.map(|p99| 1e3 * p99 / ms);
        right += u32::from(share.is_some_and(|share| (share - 1.0).abs() <= QUEUE_WITHIN));
        let in_ms = |seconds: &Option<f64>| seconds.map_or(f64::NAN, |seconds| 1e3 * seconds);
        println!(
            "{rate} Mbit/s, queue of {ms} ms: p50 {:.1} ms, p99 {:.1} ms ({:.3} of it); load {load}",
            in_ms(p50),
            in_ms(p99),
            share.unwrap_or(f64::NAN),
        );
    }
    println!("{right} of {} within {:.0}%", kept.cases.len(), 100.0 * QUEUE_WITHIN);
}

/// One trial of a published figure.
#[derive(Serialize, Deserialize)]
struct Size {
    figure: u8,
    /// The load in words.
    load: String,
    /// Payload bytes per second, and CPU seconds per byte of the sender and the receiver.
    goodput: f64,
    cpu: [f64; 2],
}

#[test]
#[ignore = "takes two minutes, and a quiet machine: make measure-net"]
fn measure_net_figures() {
    let Some(beds) = lab_named("via", ROUTED) else { return };
    let mut kept: Kept<Size> = Kept::open("net-figures.json");
    // Published were five times 20 s each.
    let time = format!("--time={}s", setting("PLIMSOLL_SECONDS", 2));
    let repeats = format!("--repeats={}", setting("PLIMSOLL_CASES", 2));
    for number in [1, 2] {
        if kept.cases.iter().any(|size| size.figure == number) {
            continue;
        }
        until_quiet();
        let chosen = format!("--figure={number}");
        let words = ["--design=kofler2011", &chosen, &time, &repeats];
        let Some(study) = study(&beds, ["lab://via/router", "lab://via/lan"], &words) else {
            continue;
        };
        for trial in &study.trials {
            let value = |measure| trial.result.value(0, Metric::all(measure)).unwrap_or(f64::NAN);
            let part = study.plan.workload(trial.cell).and_then(|workload| workload.parts.first());
            kept.add(Size {
                figure: number,
                load: part.map(|part| part.job.settings().join(", ")).unwrap_or_default(),
                goodput: value(Measure::THROUGHPUT),
                cpu: [value(Measure::NEAR_CPU_PER_BYTE), value(Measure::FAR_CPU_PER_BYTE)],
            });
        }
    }
    let mut sizes: Vec<&Size> = kept.cases.iter().collect();
    // The smallest first: CPU time of the sender per byte falls with the size.
    sizes.sort_by(|a, b| a.figure.cmp(&b.figure).then(b.cpu[0].total_cmp(&a.cpu[0])));
    for Size { figure, load, goodput, cpu: [near, far] } in sizes {
        println!(
            "figure {figure}: {load}: {:.0} Mbit/s, CPU {:.3} and {:.3} s/GB",
            8e-6 * goodput,
            1e9 * near,
            1e9 * far
        );
    }
}
