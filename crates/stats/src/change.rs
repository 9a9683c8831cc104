//! One change of rate inside a trial: a write cache that filled, a device that throttled.
//!
//! The split with the smallest squared error is found (Hinkley 1970, Biometrika 57, 1–17) and then
//! has to pass three tests, because the best split of *any* series looks like something:
//!
//! 1. **It matters**: both means and both medians of the phases differ by at least 30%, the same
//!    way. Medians, so that a few stalled windows do not make a phase.
//! 2. **It is no wandering noise**: the difference of the means in standard errors, these widened
//!    for autocorrelation by √((1+φ)/(1−φ)) with φ from the residuals, exceeds
//!    4 + (60 + 220·φ)/n. The best of n splits of noise has a larger difference than any one, and φ
//!    comes out too small in short series; the bound pays for both.
//! 3. **It is no slow drift**: two levels leave at most 0.9 of the squared error that a straight
//!    line leaves.
//!
//! The numbers come from simulation: lognormal AR(1) windows, n = 40 to 600, spread 10% to 60%,
//! 4,000 trials of each; [`false_alarms`] and [`detections`] repeat it. Highest share of false
//! alarms among all n and spreads, by the windows' autocorrelation φ and the drift of the rate
//! within the trial:
//!
//! | drift | φ = 0 | 0.5 | 0.8 | 0.9 |
//! | --- | --- | --- | --- | --- |
//! | none | 0.0% | 0.9% | 2.2% | 3.5% |
//! | 10% | 0.1% | 0.8% | 2.5% | 3.7% |
//! | 30% | 0.6% | 2.1% | 2.9% | 4.6% |
//! | ×2.7 | 8% | 11% | 18% | 21% |
//!
//! With φ = 0.8 and a spread of 30% or less, no or 10% drift, it is 1.1% at n = 50 and 200. A rate
//! that grows to 2.7 times within one trial may well be reported as two phases; it should not be reported as
//! one. Share of steps from 2 to 1 in the middle of the trial that are found:
//!
//! | n | spread 10%, φ = 0 | 30%, 0 | 10%, 0.8 | 20%, 0.8 |
//! | --- | --- | --- | --- | --- |
//! | 50 | 100% | 79% | 72% | 25% |
//! | 200 | 100% | 99% | 100% | 92% |
//!
//! Steps late in a short trial are found less often. What is missed is missed because noise of that
//! kind makes such steps by itself.

use crate::interval::mean;
use crate::order::generator;
use crate::synthetic::{Noise, WriteCache};

/// Windows below which no change is looked for.
const FEWEST_WINDOWS: usize = 40;
/// Ratio of the phases' means, and of their medians, that matters.
const RATIO: f64 = 1.3;
/// Squared error of two levels over that of a straight line.
const AGAINST_LINE: f64 = 0.9;

/// Two phases of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first window of the second phase.
    pub at: usize,
    /// Mean rate before, in the unit of the input.
    pub before: f64,
    /// Mean rate from there on.
    pub after: f64,
}

/// Fewest windows of a phase in a trial of `count` windows: 5, or a tenth.
pub fn shortest_phase(count: usize) -> usize {
    (count / 10).max(5)
}

/// Looks for one change in the rates of a trial's windows (of equal length, warm-up cut). `None`
/// where there is none, below 40 windows, or where a rate is negative or not finite.
pub fn find(rates: &[f64]) -> Option<Change> {
    if rates.len() < FEWEST_WINDOWS || rates.iter().any(|r| !r.is_finite() || *r < 0.0) {
        return None;
    }
    let n = rates.len() as f64;
    let average = mean(rates)?;
    let at = best_split(rates, average)?;
    let (first, second) = rates.split_at(at);
    let (before, after) = (mean(first)?, mean(second)?);

    let differ = |a: f64, b: f64| a.max(b) >= RATIO * a.min(b);
    let (median_before, median_after) = (median(first), median(second));
    let same_way = (median_before > median_after) == (before > after);
    if !differ(before, after) || !differ(median_before, median_after) || !same_way {
        return None;
    }

    let residuals: Vec<f64> =
        first.iter().map(|r| r - before).chain(second.iter().map(|r| r - after)).collect();
    let error: f64 = residuals.iter().map(|r| r * r).sum();
    let autocorrelation = autocorrelation(&residuals, error);
    let widened = (1.0 + autocorrelation) / (1.0 - autocorrelation);
    let lengths = 1.0 / first.len() as f64 + 1.0 / second.len() as f64;
    let standard_error = (error / (n - 2.0) * widened * lengths).sqrt();
    let needed = 4.0 + (60.0 + 220.0 * autocorrelation) / n;
    let stands_out = (before - after).abs() > needed * standard_error;
    let no_drift = error <= AGAINST_LINE * error_of_line(rates, average);
    (stands_out && no_drift).then_some(Change { at, before, after })
}

/// The split whose two means leave the smallest squared error.
fn best_split(rates: &[f64], average: f64) -> Option<usize> {
    let n = rates.len();
    let shortest = shortest_phase(n);
    let mut sum = 0.0;
    let gains = rates.iter().enumerate().map(|(i, rate)| {
        sum += rate - average;
        let at = i + 1;
        (at, sum * sum / (at as f64 * (n - at) as f64))
    });
    gains
        .filter(|(at, _)| (shortest..=n - shortest).contains(at))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(at, _)| at)
}

/// Lag-1 autocorrelation, corrected for what fitting two means to a short series takes away
/// (Kendall 1954, Biometrika 41, 403–404); 0 to 0.95.
fn autocorrelation(residuals: &[f64], squares: f64) -> f64 {
    if squares <= 0.0 {
        return 0.0;
    }
    let raw = residuals.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / squares;
    (raw + (2.0 + 4.0 * raw) / residuals.len() as f64).clamp(0.0, 0.95)
}

/// Squared error that the best straight line leaves.
fn error_of_line(rates: &[f64], average: f64) -> f64 {
    let centre = (rates.len() as f64 - 1.0) / 2.0;
    let (mut times, mut products, mut squares) = (0.0, 0.0, 0.0);
    for (i, rate) in rates.iter().enumerate() {
        let (time, deviation) = (i as f64 - centre, rate - average);
        times += time * time;
        products += time * deviation;
        squares += deviation * deviation;
    }
    squares - products * products / times
}

fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Share of `trials` synthetic trials of one phase, under `noise` and with a drift of the log rate
/// by `drift` from the first window to the last, in which a change is found.
pub fn false_alarms(noise: Noise, windows: usize, drift: f64, trials: u32, seed: u64) -> f64 {
    let mut generator = generator(seed, "change: false alarms");
    let alarms = (0..trials).filter(|_| {
        let mut rates = noise.trial(1.0, windows, 0, 0.0, &mut generator);
        for (i, rate) in rates.iter_mut().enumerate() {
            *rate *= (drift * i as f64 / windows as f64).exp();
        }
        find(&rates).is_some()
    });
    alarms.count() as f64 / f64::from(trials)
}

/// Share of `trials` synthetic trials with a write cache in which the change is found within five
/// windows or a tenth of where the cache filled (on average).
pub fn detections(noise: Noise, cache: WriteCache, windows: usize, trials: u32, seed: u64) -> f64 {
    let mut generator = generator(seed, "change: detections");
    let noise = Noise { write_cache: Some(cache), ..noise };
    // The cache fills within ± 20% of its average.
    let near = 0.2 * cache.windows + shortest_phase(windows) as f64;
    let found = (0..trials).filter(|_| {
        find(&noise.trial(1.0, windows, 0, 0.0, &mut generator))
            .is_some_and(|change| (change.at as f64 - cache.windows).abs() <= near)
    });
    found.count() as f64 / f64::from(trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: u64 = 20_240_607;

    fn noise(window_sd: f64, autocorrelation: f64) -> Noise {
        Noise { window_sd, autocorrelation, ..Noise::default() }
    }

    #[test]
    fn a_clean_step_is_found_exactly() {
        let rates: Vec<f64> = (0..60).map(|i| if i < 20 { 100.0 } else { 40.0 }).collect();
        assert_eq!(find(&rates), Some(Change { at: 20, before: 100.0, after: 40.0 }));
        let growing: Vec<f64> = rates.iter().rev().copied().collect();
        assert_eq!(find(&growing), Some(Change { at: 40, before: 40.0, after: 100.0 }));
        // To a standstill, too.
        let stopped: Vec<f64> = (0..60).map(|i| if i < 20 { 100.0 } else { 0.0 }).collect();
        assert_eq!(find(&stopped).map(|c| c.at), Some(20));
    }

    #[test]
    fn what_is_no_change_of_phase() {
        let series = |f: &dyn Fn(usize) -> f64| (0..60).map(f).collect::<Vec<_>>();
        assert_eq!(find(&series(&|_| 100.0)), None, "constant");
        assert_eq!(find(&series(&|_| 0.0)), None, "nothing at all");
        assert_eq!(find(&series(&|i| 50.0 + i as f64)), None, "a straight line");
        assert_eq!(find(&series(&|i| if i < 20 { 100.0 } else { 80.0 })), None, "too little");
        let stall = series(&|i| if (25..29).contains(&i) { 0.0 } else { 100.0 });
        assert_eq!(find(&stall), None, "a stall");
        let outlier = series(&|i| if i == 3 { 1e6 } else { 100.0 });
        assert_eq!(find(&outlier), None, "an outlier");
        assert_eq!(find(&series(&|i| (i / 5 % 2) as f64 + 1.0)), None, "periodic bursts");
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(find(&[]), None);
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            let mut rates = vec![100.0; 30];
            rates.extend([10.0; 30]);
            rates[7] = bad;
            assert_eq!(find(&rates), None, "{bad}");
        }
        let mut short = vec![100.0; 20];
        short.extend([10.0; 19]);
        assert_eq!(find(&short), None);
    }

    #[test]
    fn false_alarms_are_rare() {
        for (windows, trials) in [(50, 2_000), (200, 1_000)] {
            for (sd, phi, drift) in
                [(0.1, 0.8, 0.0), (0.3, 0.8, 0.0), (0.3, 0.8, 0.1), (0.3, 0.0, 0.1)]
            {
                let share = false_alarms(noise(sd, phi), windows, drift, trials, SEED);
                println!("seed {SEED}, {trials} trials, n {windows}, {sd} {phi} {drift}: {share}");
                assert!(share <= 0.02, "seed {SEED}: n {windows}, {sd} {phi} {drift}: {share}");
            }
        }
    }

    #[test]
    fn two_to_one_is_found() {
        let half = |windows: usize| WriteCache {
            windows: windows as f64 / 2.0,
            times: 2.0,
            emptied: None,
        };
        for (windows, sd, phi, least) in [
            (50, 0.1, 0.0, 0.99),
            (50, 0.3, 0.0, 0.7),
            (50, 0.1, 0.8, 0.6),
            (200, 0.3, 0.0, 0.97),
            (200, 0.1, 0.8, 0.97),
        ] {
            let share = detections(noise(sd, phi), half(windows), windows, 500, SEED);
            println!("seed {SEED}, 500 trials, n {windows}, {sd} {phi}: {share}");
            assert!(share >= least, "seed {SEED}: n {windows}, {sd} {phi}: {share}");
        }
    }

    proptest! {
        #[test]
        fn scale_does_not_matter_and_nothing_panics(
            rates in prop::collection::vec(0.0..100.0, 0..120), scale in 1e-3..1e9f64,
        ) {
            let scaled: Vec<f64> = rates.iter().map(|r| r * scale).collect();
            let found = find(&rates).map(|c| c.at);
            prop_assert_eq!(found, find(&scaled).map(|c| c.at));
            if let Some(at) = found {
                let shortest = shortest_phase(rates.len());
                prop_assert!(at >= shortest && rates.len() - at >= shortest);
            }
        }
    }
}
