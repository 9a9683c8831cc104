//! Stopping without cheating: Stein's two-stage rule (Stein 1945, Annals of Mathematical Statistics
//! 16, 243–258).
//!
//! A pilot's spread alone decides how many blocks are run, and the interval at the end uses that
//! same spread. The mean of all blocks is independent of it, so the interval keeps its confidence
//! whatever number of blocks the rule asked for, and also where a cap ended the run before. To stop
//! at the first interval that looks narrow enough would not.

use crate::interval::{Interval, is_confidence, mean, sample_sd, student_t, t_interval};

/// The rule for one comparison. Values are log ratios, one per block, in the order they were run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stein {
    /// Blocks of the pilot; at least 2.
    pub pilot: usize,
    /// Wanted half-width δ of the interval, on the log scale; positive.
    pub half_width: f64,
    /// Confidence of this one interval: already adjusted for its family
    /// (see [`crate::family::adjusted_confidence`]).
    pub confidence: f64,
}

impl Stein {
    /// The pilot of a study unless a test says otherwise.
    pub const PILOT: usize = 6;

    /// The rule with the usual pilot.
    pub fn new(half_width: f64, confidence: f64) -> Self {
        Stein { pilot: Self::PILOT, half_width, confidence }
    }

    /// Blocks to run in all: N = max(pilot, ⌈(t·s/δ)²⌉), t and s from the first `pilot` values;
    /// later ones change nothing. `None` before the pilot is complete, or where a value or the rule
    /// itself is not usable. A number too large to be run is given as `u64::MAX`.
    pub fn blocks_needed(&self, log_ratios: &[f64]) -> Option<u64> {
        if !(self.half_width > 0.0 && is_confidence(self.confidence)) {
            return None;
        }
        let wanted = (self.critical()? * self.pilot_sd(log_ratios)? / self.half_width).powi(2);
        Some((wanted.ceil() as u64).max(self.pilot as u64))
    }

    /// Mean of all values ± t·s/√N on the log scale; t and s from the pilot. Holds at any N from
    /// the pilot on: more than needed, or fewer because a cap was reached. Below the pilot it is
    /// Student's t interval at n − 1 degrees of freedom, `None` below two values.
    pub fn interval(&self, log_ratios: &[f64]) -> Option<Interval> {
        if self.pilot < 2 || log_ratios.len() < self.pilot {
            return t_interval(log_ratios, self.confidence);
        }
        let half_width =
            self.critical()? * self.pilot_sd(log_ratios)? / (log_ratios.len() as f64).sqrt();
        Interval::around(mean(log_ratios)?, half_width)
    }

    /// [`Stein::interval`] on the ratio scale.
    pub fn ratio_interval(&self, log_ratios: &[f64]) -> Option<Interval> {
        self.interval(log_ratios)?.exp()
    }

    fn critical(&self) -> Option<f64> {
        student_t(self.confidence, self.pilot as f64 - 1.0)
    }

    fn pilot_sd(&self, log_ratios: &[f64]) -> Option<f64> {
        sample_sd(log_ratios.get(..self.pilot)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::Sequential;
    use crate::verdict::Verdict;
    use proptest::prelude::*;

    /// Six values with mean 0 and sample variance 6·0.01/5 = 0.012.
    const PILOT: [f64; 6] = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1];

    #[test]
    fn the_number_of_blocks_by_hand() {
        // t(0.95, 5) = 2.570582; (2.570582² · 0.012)/δ² = 0.0792947/δ².
        for (half_width, expected) in [(0.05, 32), (0.1, 8), (0.2, 6), (10.0, 6)] {
            assert_eq!(Stein::new(half_width, 0.95).blocks_needed(&PILOT), Some(expected));
        }
        assert_eq!(Stein::new(0.01, 0.95).blocks_needed(&[1.0; 6]), Some(6));
        assert_eq!(Stein::new(1e-200, 0.95).blocks_needed(&PILOT), Some(u64::MAX));
    }

    #[test]
    fn only_the_pilot_decides() {
        let rule = Stein::new(0.05, 0.95);
        let mut values = PILOT.to_vec();
        values.extend([3.0, -3.0]);
        assert_eq!(rule.blocks_needed(&values), rule.blocks_needed(&PILOT));
        let interval = rule.interval(&values).unwrap();
        let half_width = 2.570_582 * (0.012f64 / 8.0).sqrt();
        assert!((interval.high - half_width).abs() < 1e-6, "{interval:?}");
        assert!(interval.estimate.abs() < 1e-12);
    }

    #[test]
    fn before_the_pilot_it_is_plain_t() {
        let rule = Stein::new(0.05, 0.95);
        assert_eq!(rule.blocks_needed(&PILOT[..5]), None);
        assert_eq!(rule.interval(&PILOT[..5]), t_interval(&PILOT[..5], 0.95));
        assert_eq!(rule.interval(&PILOT[..1]), None);
        // With the pilot and no more the two are the same formula.
        let (stein, plain) = (rule.interval(&PILOT).unwrap(), t_interval(&PILOT, 0.95).unwrap());
        assert!((stein.high - plain.high).abs() < 1e-12);
    }

    #[test]
    fn an_unusable_rule_or_value_is_refused() {
        for half_width in [0.0, -1.0, f64::NAN] {
            assert_eq!(Stein::new(half_width, 0.95).blocks_needed(&PILOT), None);
        }
        assert_eq!(Stein::new(0.05, 1.0).blocks_needed(&PILOT), None);
        assert_eq!(Stein { pilot: 1, ..Stein::new(0.05, 0.95) }.blocks_needed(&PILOT), None);
        assert_eq!(Stein { pilot: 0, ..Stein::new(0.05, 0.95) }.blocks_needed(&[]), None);
        let mut bad = PILOT;
        bad[3] = f64::NAN;
        assert_eq!(Stein::new(0.05, 0.95).blocks_needed(&bad), None);
        assert_eq!(Stein::new(0.05, 0.95).interval(&bad), None);
    }

    proptest! {
        #[test]
        fn the_half_width_for_a_margin_resolves(centre in -0.3..0.3f64, margin in 0.001..0.5f64) {
            let half_width = Sequential::half_width_for(margin).unwrap();
            let ratio = Interval::around(centre, half_width).unwrap().exp().unwrap();
            let verdict = Verdict::on(ratio, margin * (1.0 + 1e-9)).unwrap();
            prop_assert!(!matches!(verdict, Verdict::NotResolved(_)), "{verdict:?}");
        }

        #[test]
        fn the_half_width_asked_for_is_met(
            pilot in prop::collection::vec(-0.2..0.2, 6), half_width in 0.02..0.2,
        ) {
            let rule = Stein::new(half_width, 0.95);
            let n = rule.blocks_needed(&pilot).unwrap();
            prop_assert!(n >= 6);
            let mut values = pilot.clone();
            values.resize(n as usize, 0.0);
            let interval = rule.interval(&values).unwrap();
            prop_assert!((interval.high - interval.low) / 2.0 <= half_width * (1.0 + 1e-9));
        }
    }
}
