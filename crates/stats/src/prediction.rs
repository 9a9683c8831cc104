//! One more study against earlier ones: where its figure lies if nothing changed.
//!
//! With n earlier values of mean m and standard deviation s, a further one lies above m − t·s·√(1 + 1/n) with the
//! probability for which t is the one-sided quantile of Student's t with n − 1 degrees of freedom (Hahn 1970,
//! Journal of Quality Technology 2, 195–200). The spread is that between the studies, so what changes from day to
//! day is in it.

use crate::interval::{mean, sample_sd, student_t};

/// Fewest earlier values whose spread says something.
pub const FEWEST: usize = 5;

/// Range of a further value, from earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Mean of the earlier values.
    pub mean: f64,
    /// Distance from the mean that a further value exceeds on one side with the probability that was asked for.
    pub reach: f64,
}

impl Prediction {
    /// Range by these values, which a further one leaves on one side with probability `level`. `None` below
    /// [`FEWEST`] values, for values that are not finite, and for a level outside (0, 1/2).
    pub fn from_values(values: &[f64], level: f64) -> Option<Prediction> {
        if values.len() < FEWEST || !(level > 0.0 && level < 0.5) {
            return None;
        }
        let n = values.len() as f64;
        let quantile = student_t(1.0 - 2.0 * level, n - 1.0)?;
        let reach = quantile * sample_sd(values)? * (1.0 + 1.0 / n).sqrt();
        Some(Prediction { mean: mean(values)?, reach }).filter(|of| of.reach.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generator;
    use crate::synthetic::standard_normal;

    #[test]
    fn by_hand() {
        // Mean 3, sd √2.5; t(0.90, 4) = 2.131847: 2.131847 · √2.5 · √1.2.
        let found = Prediction::from_values(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
        assert_eq!(found.mean, 3.0);
        assert!((found.reach - 3.692_466).abs() < 1e-4, "{found:?}");
        assert_eq!(Prediction::from_values(&[1.0; 4], 0.05), None, "too few");
        assert_eq!(Prediction::from_values(&[1.0, 2.0, 3.0, 4.0, f64::NAN], 0.05), None);
        for level in [0.0, 0.5, -1.0, f64::NAN] {
            assert_eq!(Prediction::from_values(&[1.0, 2.0, 3.0, 4.0, 5.0], level), None);
        }
        assert_eq!(
            Prediction::from_values(&[2.0; 9], 0.05),
            Some(Prediction { mean: 2.0, reach: 0.0 })
        );
    }

    #[test]
    fn a_further_value_leaves_the_range_as_often_as_stated() {
        let seed = 7;
        for (count, level) in [(5, 0.05), (5, 0.01), (20, 0.05)] {
            let generator = &mut generator(seed, &format!("prediction {count}"));
            let series = 20_000;
            let left = (0..series).filter(|_| {
                let mut values: Vec<f64> =
                    (0..=count).map(|_| standard_normal(generator)).collect();
                let further = values.pop().unwrap();
                let range = Prediction::from_values(&values, level).unwrap();
                further < range.mean - range.reach
            });
            let share = left.count() as f64 / f64::from(series);
            println!("seed {seed}, {series} series of {count}: {share} for {level}");
            // Five standard errors.
            let error = 5.0 * (level * (1.0 - level) / f64::from(series)).sqrt();
            assert!((share - level).abs() < error, "{count}, {level}: {share}");
        }
    }
}
