//! Where a trial's warm-up ends: MSER-5 (White 1997, Simulation 69, 323–334; White, Cobb and Spratt
//! 2000, Winter Simulation Conference).

use crate::interval::mean;

/// Windows per batch.
const BATCH: usize = 5;
/// Batches below which the rule does not decide.
const FEWEST_BATCHES: usize = 50;

/// Number of windows to cut from the start of a trial's rates: the cut after which the mean of the
/// rest, in batches of 5, has the smallest estimated standard error. At most half is cut, as the
/// standard error of a short rest says little. `None` below 50 batches (250 windows) or where a
/// rate is not finite: then a fixed time is cut instead.
pub fn mser_5(rates: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = rates.chunks_exact(BATCH).map(mean).collect::<Option<_>>()?;
    if batches.len() < FEWEST_BATCHES {
        return None;
    }
    // From the end backwards, so that each cut's mean and sum of squares follow from the last one
    // (Welford 1962).
    let (mut count, mut average, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let delta = batch - average;
        average += delta / count;
        squares += delta * (batch - average);
        let error = squares / (count * count);
        // "<=": of equally good cuts the one that keeps most.
        if cut <= batches.len() / 2 && error <= best.0 {
            best = (error, cut);
        }
    }
    best.0.is_finite().then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generator;
    use crate::synthetic::standard_normal;
    use proptest::prelude::*;

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        let mut generator = generator(5, "warm-up");
        let rates: Vec<f64> = (0..300)
            .map(|i| if i < 40 { 20.0 } else { 100.0 } + standard_normal(&mut generator))
            .collect();
        assert_eq!(mser_5(&rates), Some(40));
    }

    #[test]
    fn steady_rates_are_kept() {
        assert_eq!(mser_5(&[7.0; 300]), Some(0));
    }

    #[test]
    fn too_few_batches_decide_nothing() {
        assert_eq!(mser_5(&[]), None);
        assert_eq!(mser_5(&[1.0; 249]), None);
        assert_eq!(mser_5(&[1.0; 250]), Some(0));
        let mut rates = [1.0; 250];
        rates[100] = f64::NAN;
        assert_eq!(mser_5(&rates), None);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(rates in prop::collection::vec(0.0..100.0, 250..400)) {
            let batches: Vec<f64> = rates.chunks_exact(5).map(|b| mean(b).unwrap()).collect();
            let error = |cut: usize| {
                let rest = &batches[cut..];
                let m = mean(rest).unwrap();
                rest.iter().map(|y| (y - m).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
            };
            let cut = mser_5(&rates).unwrap();
            prop_assert!(cut.is_multiple_of(5) && cut / 5 <= batches.len() / 2);
            for other in 0..=batches.len() / 2 {
                prop_assert!(error(cut / 5) <= error(other) * (1.0 + 1e-9));
            }
        }
    }
}
