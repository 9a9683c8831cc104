//! One figure over the blocks of a study.

use plimsoll_stats::interval::{Interval, mean};

/// How a figure was averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Geometric mean, interval on the logarithms.
    Log,
    /// Arithmetic mean, interval on the values: where a value is zero and has no logarithm, and in figures that a
    /// publication has so.
    Linear,
}

/// One metric of one target under one workload, in the metric's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Trials it is from.
    pub trials: usize,
    /// The mean, on `scale`.
    pub estimate: f64,
    /// Its interval; `None` below two trials.
    pub interval: Option<Interval>,
    /// How it was averaged.
    pub scale: Scale,
    /// The plain mean, as published designs with a fixed number of repeats report it.
    pub arithmetic_mean: f64,
    /// Largest value of a trial.
    pub largest: f64,
}

impl Level {
    /// The level of `values`, all finite, one per trial; `interval` computes one of what it is given,
    /// logarithms or the values themselves. `None` without values.
    pub(crate) fn new(
        values: &[f64],
        interval: impl Fn(&[f64]) -> Option<Interval>,
    ) -> Option<Level> {
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let geometric = mean(&logs).map(f64::exp).filter(|m| m.is_finite() && *m > 0.0);
        let Some(estimate) = geometric else { return Level::arithmetic(values, interval) };
        let interval = interval(&logs).and_then(Interval::exp);
        let plain = Level::arithmetic(values, |_| None)?;
        Some(Level { estimate, interval, scale: Scale::Log, ..plain })
    }

    /// The same with the arithmetic mean, as published designs report it; `interval` computes one of the values.
    pub(crate) fn arithmetic(
        values: &[f64],
        interval: impl Fn(&[f64]) -> Option<Interval>,
    ) -> Option<Level> {
        let estimate = mean(values)?;
        Some(Level {
            trials: values.len(),
            estimate,
            interval: interval(values),
            scale: Scale::Linear,
            arithmetic_mean: estimate,
            largest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::interval::t_interval;

    fn plain(values: &[f64], confidence: f64) -> Option<Level> {
        Level::new(values, |v| t_interval(v, confidence))
    }

    #[test]
    fn means_by_hand() {
        let level = plain(&[1.0, 4.0], 0.5).unwrap();
        assert_eq!((level.trials, level.scale), (2, Scale::Log));
        assert!((level.estimate - 2.0).abs() < 1e-12);
        assert_eq!((level.arithmetic_mean, level.largest), (2.5, 4.0));
        // t(0.5, 1) = 1, and the standard error of the logarithms is ln(4)/2.
        let interval = level.interval.unwrap();
        assert!((interval.low - 1.0).abs() < 1e-9 && (interval.high - 4.0).abs() < 1e-9);
    }

    #[test]
    fn published_means_are_arithmetic() {
        let level = Level::arithmetic(&[1.0, 4.0], |v| t_interval(v, 0.5)).unwrap();
        assert_eq!((level.scale, level.estimate, level.arithmetic_mean), (Scale::Linear, 2.5, 2.5));
        // t(0.5, 1) = 1, and the standard error is 3/2.
        let interval = level.interval.unwrap();
        assert!((interval.low - 1.0).abs() < 1e-9 && (interval.high - 4.0).abs() < 1e-9);
        assert_eq!(Level::arithmetic(&[], |_| None), None);
    }

    #[test]
    fn zeros_are_averaged_plainly_and_one_value_has_no_interval() {
        let level = plain(&[0.0, 2.0], 0.95).unwrap();
        assert_eq!((level.scale, level.estimate), (Scale::Linear, 1.0));
        assert_eq!(plain(&[3.0], 0.95).unwrap().interval, None);
        assert_eq!(plain(&[], 0.95), None);
    }
}
