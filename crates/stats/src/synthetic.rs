//! Made-up trials with the kinds of noise that real storage has, to try the method on data whose
//! truth is known. Seeded; used by the tests and by [`crate::simulate`].

use crate::order::shuffled;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// Noise of a study. All spreads are standard deviations of the natural logarithm of a rate, so
/// rates are lognormal and a true ratio between two targets stays what it is under any noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Between blocks; common to all trials of a block.
    pub block_sd: f64,
    /// Between the trials of a block.
    pub trial_sd: f64,
    /// Between the windows of a trial.
    pub window_sd: f64,
    /// Correlation of one window's noise with the next one's, 0 to below 1: an AR(1) process.
    pub autocorrelation: f64,
    /// Growth of the log rate from each trial to the next, over the whole study.
    pub drift_per_trial: f64,
    /// Fast first phase of every trial.
    pub write_cache: Option<WriteCache>,
}

/// A cache that takes writes faster than the disk until it is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteCache {
    /// Windows until it is full, on average; from trial to trial uniform within ± 20%.
    pub windows: f64,
    /// How many times as fast as afterwards.
    pub times: f64,
    /// Windows that the disk empties while one passes in which nothing is written there; `None`: it is
    /// empty before every trial.
    pub emptied: Option<f64>,
}

/// What differs from block to block, and from place to place, in the log ratio of one comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Between {
    /// Its standard deviation.
    pub sd: f64,
    /// Correlation of one block's with the next one's, 0 to below 1: an AR(1) process.
    pub autocorrelation: f64,
    /// Share of the blocks in which the second target stalls: half its rate.
    pub stalls: f64,
    /// Standard deviation of what a place on a disk adds to the log ratio.
    pub place_sd: f64,
    /// Places that blocks go round, each once in an order drawn anew; with one it never changes.
    pub places: usize,
}

/// The course of one comparison over the blocks of a study.
#[derive(Clone, Debug)]
pub struct Course {
    between: Between,
    state: f64,
    places: Vec<f64>,
    round: Vec<usize>,
    /// Blocks in which it stalled.
    pub stalled: u32,
}

impl Course {
    /// Before the first block.
    pub fn new(between: Between, generator: &mut Pcg64) -> Course {
        let state = standard_normal(generator);
        let place = |_| between.place_sd * standard_normal(generator);
        let places = (0..between.places).map(place).collect();
        Course { between, state, places, round: Vec::new(), stalled: 0 }
    }

    /// What the next block adds to the log ratio.
    pub fn next(&mut self, generator: &mut Pcg64) -> f64 {
        let Between { sd, autocorrelation: r, stalls, .. } = self.between;
        let slow = sd * self.state;
        self.state = r * self.state + (1.0 - r * r).max(0.0).sqrt() * standard_normal(generator);
        let stalled = uniform(generator) < stalls;
        self.stalled += u32::from(stalled);
        if self.round.is_empty() {
            self.round = shuffled(self.places.len(), generator);
        }
        let place = self.round.pop().map_or(0.0, |place| self.places[place]);
        slow + place - if stalled { std::f64::consts::LN_2 } else { 0.0 }
    }
}

impl Noise {
    /// Rates in the windows of the `slot`-th trial of a study (from 0, in the order they are run).
    /// `rate` is the rate without noise, `block_noise` a standard normal number common to the
    /// trials of its block.
    pub fn trial(
        &self,
        rate: f64,
        windows: usize,
        slot: usize,
        block_noise: f64,
        generator: &mut Pcg64,
    ) -> Vec<f64> {
        let level = rate.ln()
            + self.block_sd * block_noise
            + self.trial_sd * standard_normal(generator)
            + self.drift_per_trial * slot as f64;
        let cache = self.write_cache.map_or((0.0, 1.0), |cache| {
            (cache.windows * (0.8 + 0.4 * uniform(generator)), cache.times)
        });
        ar1(windows, self.autocorrelation, generator)
            .iter()
            .enumerate()
            .map(|(i, noise)| {
                // The window in which the cache fills is partly fast.
                let fast = (cache.0 - i as f64).clamp(0.0, 1.0);
                (level + self.window_sd * noise).exp() * (fast * cache.1 + (1.0 - fast))
            })
            .collect()
    }
}

/// `count` values of a stationary AR(1) process with mean 0 and variance 1.
pub fn ar1(count: usize, autocorrelation: f64, generator: &mut Pcg64) -> Vec<f64> {
    let innovation = (1.0 - autocorrelation.powi(2)).max(0.0).sqrt();
    let mut state = standard_normal(generator);
    (0..count)
        .map(|_| {
            let value = state;
            state = autocorrelation * state + innovation * standard_normal(generator);
            value
        })
        .collect()
}

/// A standard normal number (Box and Muller 1958).
pub fn standard_normal(generator: &mut Pcg64) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(generator)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(generator)).cos()
}

/// A uniform number in [0, 1).
fn uniform(generator: &mut Pcg64) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{mean, sample_sd};
    use crate::order::generator;

    #[test]
    fn ar1_has_the_moments_it_promises() {
        let mut generator = generator(1, "synthetic");
        for autocorrelation in [0.0, 0.8] {
            let values = ar1(200_000, autocorrelation, &mut generator);
            let lag: f64 = values.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / 2e5;
            assert!(mean(&values).unwrap().abs() < 0.03);
            assert!((sample_sd(&values).unwrap() - 1.0).abs() < 0.02);
            assert!((lag - autocorrelation).abs() < 0.03, "{lag}");
        }
        // Kurtosis 3: normal, not merely of variance 1.
        let values = ar1(200_000, 0.0, &mut generator);
        let kurtosis = values.iter().map(|v| v.powi(4)).sum::<f64>() / 2e5;
        assert!((kurtosis - 3.0).abs() < 0.1, "{kurtosis}");
    }

    #[test]
    fn without_noise_a_trial_is_its_rate() {
        let mut generator = generator(1, "synthetic");
        let quiet = Noise::default().trial(50.0, 3, 9, 2.0, &mut generator);
        assert!(quiet.iter().all(|w| (w - 50.0).abs() < 1e-9), "{quiet:?}");
        let noise = Noise {
            drift_per_trial: 0.1,
            write_cache: Some(WriteCache { windows: 10.0, times: 3.0, emptied: None }),
            ..Noise::default()
        };
        let trial = noise.trial(50.0, 30, 2, 0.0, &mut generator);
        let slow = 50.0 * 0.2f64.exp();
        assert!((trial[0] - 3.0 * slow).abs() < 1e-9 && (trial[29] - slow).abs() < 1e-9);
        let full = trial.iter().position(|w| *w < 2.9 * slow).unwrap();
        assert!((7..=12).contains(&full), "{full}");
    }

    #[test]
    fn seeds_repeat() {
        let noise =
            Noise { trial_sd: 0.1, window_sd: 0.2, autocorrelation: 0.8, ..Noise::default() };
        let run = |seed| noise.trial(1.0, 9, 0, 0.0, &mut generator(seed, "trial"));
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
