//! How much one block is like the next.

use crate::interval::mean;

/// Correlation of each value with the one before it, without the bias of few values: r + (1 + 4r)/n
/// (Kendall 1954, Biometrika 41, 403–404). `None` below three values, where they do not differ, and
/// where one is not finite.
pub fn lag_1(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let (n, mean) = (values.len() as f64, mean(values)?);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let r = products / squares;
    r.is_finite().then_some((r + (1.0 + 4.0 * r) / n).min(1.0))
}

/// Above this correlation more time would settle a comparison, not more blocks.
const ALIKE: f64 = 0.5;
/// Of fewer blocks their correlation says nothing.
const LEAST: usize = 12;

/// A correlation of so many blocks that is too high to be made up for by widening alone.
pub fn moves_together(correlation: Option<f64>, blocks: usize) -> Option<f64> {
    correlation.filter(|r| *r > ALIKE && blocks >= LEAST)
}

/// Largest correlation that is made up for.
const MOST: f64 = 0.9;

/// By how much the interval of a mean is wider where each value correlates with the one before it by
/// `r`: √((1+r)/(1−r)), the limit of a first-order autoregression for many values. 1 where values are
/// less alike than chance has them.
pub fn widening(r: f64) -> f64 {
    let r = r.clamp(0.0, MOST);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generator;
    use crate::synthetic::standard_normal;

    #[test]
    fn by_hand() {
        // Mean 2; products (−1)(0) + (0)(1) = 0 over squares 2: r = 0, and 1/3 for the bias.
        assert!((lag_1(&[1.0, 2.0, 3.0]).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        // −1, 1, −1, 1: products −3 over squares 4.
        let alternating = lag_1(&[-1.0, 1.0, -1.0, 1.0]).unwrap();
        assert!((alternating - (-0.75 + (1.0 - 3.0) / 4.0)).abs() < 1e-12);
        assert_eq!(lag_1(&[1.0, 2.0]), None);
        assert_eq!(lag_1(&[1.0; 5]), None, "nothing varies");
        assert_eq!(lag_1(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!((widening(0.0), widening(-0.5)), (1.0, 1.0));
        assert!((widening(0.6) - 2.0).abs() < 1e-12);
        assert_eq!(widening(5.0), widening(0.9));
    }

    #[test]
    fn an_autoregression_is_found_again() {
        for (truth, n) in [(0.0, 20), (0.4, 20), (0.6, 50), (0.8, 100)] {
            let mut generator = generator(7, &format!("correlation {truth}"));
            let mut sum = 0.0;
            for _ in 0..2_000 {
                let mut value = standard_normal(&mut generator);
                let values: Vec<f64> = std::iter::repeat_with(|| {
                    let next: f64 = standard_normal(&mut generator);
                    value = truth * value + (1.0 - truth * truth).sqrt() * next;
                    value
                })
                .take(n)
                .collect();
                sum += lag_1(&values).unwrap();
            }
            let mean: f64 = sum / 2_000.0;
            assert!((mean - truth).abs() < 0.05, "{n} values: {mean} for {truth}");
        }
    }
}
