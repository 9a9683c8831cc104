//! How long it takes to explain a study of many trials: the limit of each workload with its ladder, and every
//! finding. Times are printed beside the wanted one, nothing is asserted.

#[path = "../tests/support/mod.rs"]
mod support;

use plimsoll_explain::{findings, limits};
use plimsoll_model::Study;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::servers::{Truth, add, study, with_ladder};

/// Trials in all, and seconds in which they are to be explained.
const TRIALS: usize = 10_000;
const WANTED: Duration = Duration::from_secs(2);
const ROUNDS: usize = 9;

/// One server, watched, with a ladder of three depths in every second trial.
fn many() -> Study {
    let truth = Truth {
        depth: 16,
        driver: 30e-6,
        server: 400e-6,
        disk: 200e-6,
        link: 40e-6,
        round_trip: 300e-6,
        ..Truth::default()
    };
    let depths = [1, 4, 16];
    let mut study = with_ladder(study(truth, true), true, depths, |_| truth);
    let ladder = study.trials.last().expect("it was just added").clone();
    for block in 3.. {
        if study.trials.len() >= TRIALS {
            break;
        }
        let noise = Truth { server: truth.server * (1.0 + f64::from(block % 7) / 100.0), ..truth };
        let (part, loads) = noise.run(truth.depth, true);
        add(&mut study, block, 0, vec![part], loads, Vec::new());
        let (parts, loads) = (ladder.result.parts.clone(), ladder.loads.clone());
        add(&mut study, block, 1, parts, loads, ladder.points.clone());
    }
    study
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn main() {
    let study = many();
    assert_eq!(limits(&study).len(), 1, "the workload is explained, its ladder is part of it");
    let limit = median(|| drop(black_box(limits(black_box(&study)))));
    let all = median(|| drop(black_box(findings(black_box(&study)))));
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    println!(
        "{} trials: limits {:.1} ms, findings {:.1} ms; wanted below {:.0} ms together",
        study.trials.len(),
        milliseconds(limit),
        milliseconds(all),
        milliseconds(WANTED)
    );
}
