//! Values far from the others: blocks that a server or a network stalled in. They break any mean.

/// How many standard deviations of the others, as the median of their distances has it.
const FAR: f64 = 8.0;
/// Nothing nearer than 2% is far, however quiet the others are; values are logarithms.
const NEAR: f64 = 0.02;
/// Of a normal distribution, half of all values lie within so many standard deviations.
const NORMAL_HALF: f64 = 0.674_489_75;
/// Of fewer values none can be called far from the others.
const LEAST: usize = 10;

/// How many of these logarithms lie far from the others; 0 below ten. Of normal values one set in
/// a hundred has any, whatever their number.
pub fn far(values: &[f64]) -> usize {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return 0;
    }
    let centre = middle(values.to_vec());
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let sd = middle(distances.clone()) / NORMAL_HALF;
    let least = (FAR * sd).max(NEAR);
    distances.iter().filter(|distance| **distance > least).count()
}

/// Of fewer values nothing is said of one more.
const LEAST_BESIDE: usize = 5;
/// How many standard deviations are far of many values, and of how many they are twice as many.
const FAR_BESIDE: f64 = 5.0;
const FEW: f64 = 6.0;

/// How far one more value lies above the centre of these, if it is far above: by more than five standard
/// deviations of them, as the median of their distances has it, and more than that while they are few and it
/// is badly known. Below five values none is.
pub fn beyond(values: &[f64], one: f64) -> Option<f64> {
    if values.len() < LEAST_BESIDE {
        return None;
    }
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let sd = median(&distances)? / NORMAL_HALF;
    let far = FAR_BESIDE * (1.0 + FEW / values.len() as f64);
    Some(one - centre).filter(|above| above.is_finite() && *above > far * sd)
}

/// The median; `None` of no values, or where one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    let known = !values.is_empty() && values.iter().all(|value| value.is_finite());
    known.then(|| middle(values.to_vec()))
}

/// Of values that are finite and not none.
fn middle(mut values: Vec<f64>) -> f64 {
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

    #[test]
    fn one_value_far_above_the_others_is_seen_and_no_usual_one() {
        for n in [5_usize, 8, 16, 40] {
            let mut generator = generator(3, &format!("beyond {n}"));
            let mut seen = [0, 0];
            for _ in 0..4000 {
                let values: Vec<f64> = (0..n).map(|_| standard_normal(&mut generator)).collect();
                let usual = standard_normal(&mut generator);
                seen[0] += usize::from(beyond(&values, usual).is_some());
                seen[1] += usize::from(beyond(&values, usual + 40.0).is_some());
            }
            assert!(seen[0] < 4000 / 50, "{n}: {} usual ones", seen[0]);
            assert!(n < 8 || seen[0] < 4000 / 400, "{n}: {} usual ones", seen[0]);
            assert!(seen[1] > 4000 * 19 / 20, "{n}: {} far ones", seen[1]);
        }
        assert_eq!(beyond(&[1.0; 5], 3.0), Some(2.0), "of values that do not differ");
        assert_eq!(beyond(&[1.0; 5], 1.0), None);
        assert_eq!(beyond(&[5.0; 5], 1.0), None, "less is not more");
        assert_eq!(beyond(&[1.0; 4], 9.0), None, "too few");
        assert_eq!(beyond(&[1.0, 1.0, 1.0, 1.0, f64::NAN], 9.0), None);
    }
}
