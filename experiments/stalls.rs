//! Real servers that are stopped and continued by a schedule: is the share of the rate between stalls that `check` finds
//! over all time, in trials of half a second, the share that one long trial has?
//!
//! Whether a stall falls into a load or between two is chance. The share is therefore off by some 0.3 / √n for n stalls,
//! and a case needs a hundred.

use crate::kept::{Kept, Until, load_average};
use crate::support::Plimsoll;
use plimsoll_explain::{findings, stalls};
use plimsoll_model::{Measure, Metric, Study};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds from one stop to the next, milliseconds of each stop, how many of them make a minute, and short trials.
const SCHEDULES: [(u64, u64, u64, u64); 2] = [(3_500, 1_100, 17, 500), (20_000, 5_000, 3, 500)];
const PATTERNS: [&str; 2] = ["random-read", "sequential-read"];
/// How far the rate over all time may be from the truth.
const WITHIN: f64 = 0.05;

/// One pattern on one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    server: String,
    pattern: String,
    every_ms: u64,
    length_ms: u64,
    /// Bytes per second of short trials: between stalls, and over all time.
    between: f64,
    over_all_time: f64,
    /// The same of one long trial over whole periods of the schedule: between stalls, and bytes served over their time.
    long_between: f64,
    truth: f64,
    /// Share of the time in stalls, as the screen has it.
    stalled: f64,
    load_average: String,
}

/// Calls `stop` with true and false by a schedule while `work` is under way.
pub fn stopped<T>(
    every_ms: u64,
    length_ms: u64,
    stop: &(dyn Fn(bool) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            for number in 0.. {
                let at = |ms: u64| {
                    let at = begun + Duration::from_millis(number * every_ms + ms);
                    std::thread::sleep(at.saturating_duration_since(Instant::now()));
                };
                at(every_ms - length_ms);
                if done.load(Ordering::Relaxed) {
                    break;
                }
                stop(true);
                at(every_ms);
                stop(false);
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// What `check` keeps of a pattern in so many trials of so many milliseconds.
fn checked(program: &Plimsoll, url: &str, pattern: &str, trials: u64, ms: u64) -> Study {
    let arguments = [
        "check".to_owned(),
        url.to_owned(),
        format!("--pattern={pattern}"),
        "--size=64MiB".to_owned(),
        format!("--repeats={trials}"),
        format!("--time={ms}ms"),
        "--max-time=30m".to_owned(),
        "--quiet".to_owned(),
    ];
    program.run(&arguments).expect(0);
    program.latest()
}

/// Bytes per second of all that completed in a study's loads.
fn served(study: &Study) -> f64 {
    let series = || study.trials.iter().map(|trial| &trial.result.parts[0].series);
    let bytes: u64 = series().map(|series| series.total().bytes).sum();
    let seconds: f64 = series().map(|s| s.window_seconds * s.len() as f64).sum();
    bytes as f64 / seconds
}

#[test]
#[ignore = "takes an hour and a half: make measure-stalls"]
fn measure_stalls() {
    let stage = enter_or_skip!(Need::Samba, Need::Ganesha);
    let samba = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let ganesha = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let stop_samba = |stop| if stop { samba.freeze() } else { samba.thaw() }.unwrap();
    let stop_ganesha = |stop| if stop { ganesha.freeze() } else { ganesha.thaw() }.unwrap();
    type Stop<'a> = &'a (dyn Fn(bool) + Sync);
    let servers: [(&str, String, Stop<'_>); 2] = [
        ("smbd", samba.url("films"), &stop_samba),
        ("ganesha", ganesha.url_with_ports("films"), &stop_ganesha),
    ];
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let (mut kept, until) = (Kept::<Case>::open("stalls.jsonl"), Until::now());
    for (every_ms, length_ms, periods, trials) in SCHEDULES {
        for ((server, url, stop), pattern) in
            servers.iter().flat_map(|server| PATTERNS.map(|pattern| (server, pattern)))
        {
            let is_it = |case: &Case| {
                (&*case.server, &*case.pattern, case.every_ms) == (*server, pattern, every_ms)
            };
            if kept.cases.iter().any(is_it) || until.is_over() {
                continue;
            }
            let measured = |trials, ms| {
                stopped(every_ms, length_ms, stop, || checked(&program, url, pattern, trials, ms))
            };
            let (short, long) = (measured(trials, 500), measured(1, periods * every_ms));
            let throughput = Metric::all(Measure::THROUGHPUT);
            let [findings, of_long] = [&short, &long].map(findings);
            let cell = &findings.workloads[0].cells[0];
            let between = cell.levels[&throughput].estimate;
            let long_between = of_long.workloads[0].cells[0].levels[&throughput].estimate;
            kept.add(Case {
                server: (*server).to_owned(),
                pattern: pattern.to_owned(),
                every_ms,
                length_ms,
                between,
                over_all_time: cell.over_all_time.get(&throughput).copied().unwrap_or(between),
                long_between,
                truth: served(&long),
                stalled: stalls(&short).first().map_or(0.0, |stalls| stalls.share),
                load_average: load_average(),
            });
        }
    }
    let mut wrong = Vec::new();
    for case in &kept.cases {
        // Short trials begin on new connections, so that their rate between stalls is not the one of a long trial.
        let [short, long] = [case.over_all_time / case.between, case.truth / case.long_between];
        let ratio = short / long;
        println!(
            "{} {}, {} ms in {} ms: {:.1} MB/s between stalls, {:.1} over all time ({short:.3}); in one trial {:.1} and \
             {:.1} ({long:.3}): {ratio:.3}; {:.0}% of the time stalled; load {}",
            case.server,
            case.pattern,
            case.length_ms,
            case.every_ms,
            case.between / 1e6,
            case.over_all_time / 1e6,
            case.long_between / 1e6,
            case.truth / 1e6,
            100.0 * case.stalled,
            case.load_average
        );
        if (ratio - 1.0).abs() > WITHIN {
            wrong.push(case);
        }
    }
    assert!(wrong.is_empty(), "further from the truth than {WITHIN}: {wrong:#?}");
}
