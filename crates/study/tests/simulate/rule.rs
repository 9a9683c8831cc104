//! The stop rule as shipped on comparisons whose truth is known: what the method promises, scenario by
//! scenario, as counts with their exact intervals.

use super::setting;
use plimsoll_stats::proportion::share;
use plimsoll_stats::simulate::{Outcome, Setup, run};
use plimsoll_stats::synthetic::{Between, Noise, WriteCache};

/// What is promised of a scenario; the rest is printed.
#[derive(Clone, Copy, Default)]
struct Promises {
    /// Studies all of whose intervals hold the truth: at least.
    covered: f64,
    /// Studies with a false "faster": at most.
    faster: Option<f64>,
    /// Studies that are flagged, of those where neighbouring blocks move together: at least.
    together: f64,
    /// Studies that are flagged, of those in which something stalled: at least.
    stalls: f64,
}

const GOOD: Promises = Promises { covered: 0.95, faster: Some(0.05), together: 0.0, stalls: 0.0 };

/// A count may differ from what is promised by as much as chance has it once in a thousand times.
const CHANCE: f64 = 0.998;

fn at_least(count: u32, of: u32, promised: f64) -> bool {
    of == 0 || share(count, of, CHANCE).is_some_and(|share| share.high >= promised)
}

fn at_most(count: u32, of: u32, promised: f64) -> bool {
    share(count, of, CHANCE).is_some_and(|share| share.low <= promised)
}

/// "97.1% [96.3–97.8]".
fn words(count: u32, of: u32) -> String {
    match share(count, of, 0.95) {
        Some(s) => {
            format!("{:5.1}% [{:.1}–{:.1}]", 100.0 * s.estimate, 100.0 * s.low, 100.0 * s.high)
        }
        None => "–".to_owned(),
    }
}

fn row(name: &str, setup: &Setup, promises: Promises) {
    let studies = setting("PLIMSOLL_STUDIES", 100) as u32;
    let seed = setting("PLIMSOLL_SEED", 2026);
    let outcome = run(setup, studies, seed).expect("it can be run");
    let Outcome { all_covered, falsely_faster, wrong, together, .. } = outcome;
    let Outcome { stalled, stalls_found, stalls_made_up, .. } = outcome;
    println!(
        "{name:<46} {:<20} {:<19} {:<19} {:<20} {:<20} {:<17} {:6.1} {:>5.1}%",
        words(all_covered, studies),
        words(falsely_faster, studies),
        words(wrong, studies),
        words(together, studies),
        words(stalls_found, stalled),
        words(stalls_made_up, studies - stalled),
        outcome.blocks as f64 / f64::from(studies),
        100.0 * f64::from(outcome.not_resolved) / f64::from(outcome.intervals),
    );
    assert!(at_least(all_covered, studies, promises.covered), "{name}: coverage, {outcome}");
    if let Some(most) = promises.faster {
        assert!(at_most(falsely_faster, studies, most), "{name}: false \"faster\", {outcome}");
    }
    assert!(at_least(together, studies, promises.together), "{name}: {together} flagged");
    assert!(
        at_least(stalls_found, stalled, promises.stalls),
        "{name}: {stalls_found} of {stalled}"
    );
    if promises.stalls > 0.0 {
        assert!(stalled > studies / 2, "{name}: there was something to be found");
    }
}

fn head() {
    println!(
        "{:<46} {:<20} {:<19} {:<19} {:<20} {:<20} {:<17} {:>6} {:>6}",
        "scenario: comparisons, true ratio",
        "all intervals hold",
        "false \"faster\"",
        "any wrong verdict",
        "flagged: together",
        "stalls flagged",
        "none, flagged",
        "blocks",
        "open"
    );
}

/// Two targets, patterns, blocks of trials of ten windows, two minutes of 7.5 s a block.
fn setup(comparisons: usize, ratio: f64) -> Setup {
    Setup {
        comparisons,
        log_ratio: f64::ln(ratio),
        windows: 10,
        noise: Noise::default(),
        between: Between::default(),
        first: 16,
        margin: 0.05,
        confidence: 0.95,
        cap: 200,
    }
}

fn correlated(comparisons: usize, ratio: f64, autocorrelation: f64) -> Setup {
    let between = Between { sd: 0.05, autocorrelation, ..Between::default() };
    Setup { between, ..setup(comparisons, ratio) }
}

#[test]
fn neighbouring_blocks_that_are_alike() {
    head();
    for r in [0.0, 0.4, 0.6, 0.8] {
        let promises = match r {
            0.6 => Promises { covered: 0.9, together: 0.9, ..GOOD },
            0.8 => Promises { covered: 0.0, faster: None, together: 0.9, stalls: 0.0 },
            _ => GOOD,
        };
        for (comparisons, ratios) in [(5, &[1.0, 1.04, 1.1, 1.3][..]), (24, &[1.0, 1.1])] {
            // A confidence of 99.8% each is more than a correlation that some sixteen blocks tell can
            // keep: 0.88 by simulation.
            let most = if comparisons == 24 && r == 0.6 { 0.8 } else { 1.0 };
            let promises = Promises { covered: promises.covered.min(most), ..promises };
            for ratio in ratios {
                let name = format!("AR(1) {r} between blocks: {comparisons}, {ratio}");
                row(&name, &correlated(comparisons, *ratio, r), promises);
            }
        }
    }
}

#[test]
fn drift_and_write_caches() {
    head();
    let noise = Noise { block_sd: 0.05, trial_sd: 0.03, window_sd: 0.05, ..Noise::default() };
    // Over 100 blocks of ten trials, to less than half.
    let drift = Noise { drift_per_trial: -0.001, ..noise };
    let emptied = |emptied| WriteCache { windows: 30.0, times: 3.0, emptied };
    let cache = |e| Noise { write_cache: Some(emptied(e)), ..noise };
    for ratio in [1.0, 1.1] {
        row(&format!("drift: 5, {ratio}"), &Setup { noise: drift, ..setup(5, ratio) }, GOOD);
        let name = format!("write cache that stays filled: 5, {ratio}");
        row(&name, &Setup { noise: cache(Some(0.05)), ..setup(5, ratio) }, GOOD);
        let once = WriteCache { windows: 3.0, times: 3.0, emptied: None };
        let noise = Noise { write_cache: Some(once), ..noise };
        let name = format!("write cache, empty before each trial: 5, {ratio}");
        row(&name, &Setup { noise, ..setup(5, ratio) }, GOOD);
    }
}

#[test]
fn places_on_a_disk() {
    head();
    let between = Between { sd: 0.03, place_sd: 0.016, places: 8, ..Between::default() };
    for ratio in [1.0, 1.1] {
        let name = format!("eight places side by side, 1.6%: 5, {ratio}");
        row(&name, &Setup { between, ..setup(5, ratio) }, GOOD);
    }
    // What cannot be seen from within one study: a place that never changes. It is printed.
    let never = Promises { covered: 0.0, faster: None, ..GOOD };
    for place_sd in [0.05, 0.1] {
        let fixed = Between { place_sd, places: 1, ..between };
        let name = format!("one place for ever, {:.0}%: 5, 1", 100.0 * place_sd);
        row(&name, &Setup { between: fixed, ..setup(5, 1.0) }, never);
    }
}

/// They break any mean, so what matters is that they are flagged.
#[test]
fn one_target_stalls_now_and_then() {
    head();
    let flagged = Promises { covered: 0.0, faster: None, together: 0.0, stalls: 0.9 };
    for (stalls, sd) in [(0.05, 0.02), (0.1, 0.02), (0.1, 0.04)] {
        for comparisons in [1, 5] {
            let between = Between { sd, stalls, ..Between::default() };
            let name = format!("stalls in {:.0}%, spread {sd}: {comparisons}, 1", 100.0 * stalls);
            row(&name, &Setup { between, ..setup(comparisons, 1.0) }, flagged);
        }
    }
}
