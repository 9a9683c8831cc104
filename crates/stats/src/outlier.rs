//! Values far from the others: blocks that a server or a network stalled in. They break any mean.

/// How many standard deviations of the others, as the median of their distances has it.
const FAR: f64 = 8.0;
/// Nothing nearer than 2% is far, however quiet the others are; values are logarithms.
const NEAR: f64 = 0.02;
/// Of fewer values none can be called far from the others.
const LEAST: usize = 10;

/// How many of these logarithms lie far from the others; 0 below ten. Of normal values one set in
/// a hundred has any, whatever their number.
pub fn far(values: &[f64]) -> usize {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return 0;
    }
    let centre = median(values.to_vec());
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    // Of a normal distribution, half of all values lie within 0.6745 standard deviations.
    let sd = median(distances.clone()) / 0.674_489_75;
    let least = (FAR * sd).max(NEAR);
    distances.iter().filter(|distance| **distance > least).count()
}

/// Of values that are finite and not none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generator;
    use crate::synthetic::standard_normal;

    /// Shares of sets of `n` values of a spread of 2%, of which some are half as large, in which one is
    /// called far.
    fn share(n: usize, stalls: usize) -> f64 {
        let mut generator = generator(2, &format!("far {n} {stalls}"));
        let sets = 2_000;
        let found = (0..sets).filter(|_| {
            let mut values: Vec<f64> =
                (0..n).map(|_| 0.02 * standard_normal(&mut generator)).collect();
            values.iter_mut().take(stalls).for_each(|value| *value -= 2f64.ln());
            far(&values) > 0
        });
        found.count() as f64 / f64::from(sets)
    }

    #[test]
    fn stalls_are_found_and_normal_values_are_not() {
        for n in [10, 16, 40, 200] {
            assert!(share(n, 0) < 0.02, "{n}: {}", share(n, 0));
            assert!(share(n, n.div_ceil(10)) > 0.97, "{n}: {}", share(n, n.div_ceil(10)));
        }
    }

    #[test]
    fn few_values_and_strange_ones_have_none() {
        let with = |others: usize, value| [vec![0.0; others], vec![value]].concat();
        assert_eq!(far(&with(8, 9.0)), 0);
        assert_eq!(far(&with(9, 9.0)), 1);
        assert_eq!(far(&with(9, 0.015)), 0);
        assert_eq!(far(&with(9, f64::NAN)), 0);
        assert_eq!(far(&[]), 0);
    }
}
