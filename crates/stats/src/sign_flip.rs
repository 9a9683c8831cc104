//! A cross-check that needs no normal distribution: under "no difference" each block's log ratio is
//! as likely to have come out with the other sign (Fisher 1935, The Design of Experiments, § 21).

use crate::order::generator;
use rand_pcg::rand_core::Rng;

/// Up to this many blocks all 2ⁿ sign patterns are counted.
pub const EXACT_UP_TO: usize = 16;
/// Sign patterns drawn above that.
const DRAWS: u32 = 50_000;

/// Two-sided p-value of "no difference": the share of sign patterns whose sum is at least as far
/// from zero as the one seen. Exact up to [`EXACT_UP_TO`] blocks; above that from 50,000 seeded
/// draws, with the pattern seen counted in, so that it never errs towards a claim (Phipson and
/// Smyth 2010). The smallest value possible is 2/2ⁿ. `None` without values or with one that is not
/// finite.
pub fn p_value(log_ratios: &[f64], seed: u64) -> Option<f64> {
    let n = log_ratios.len();
    let reach: f64 = log_ratios.iter().map(|x| x.abs()).sum();
    if n == 0 || !reach.is_finite() {
        return None;
    }
    // Sums that differ only by rounding are ties, and ties count.
    let seen = log_ratios.iter().sum::<f64>().abs() - 1e-12 * reach;
    let flipped = |signs: &dyn Fn(usize) -> bool| -> bool {
        let sum: f64 =
            log_ratios.iter().enumerate().map(|(i, x)| if signs(i) { -x } else { *x }).sum();
        sum.abs() >= seen
    };
    if n <= EXACT_UP_TO {
        let all = 1u32 << n;
        let count = (0..all).filter(|pattern| flipped(&|i| pattern >> i & 1 == 1)).count();
        return Some(count as f64 / f64::from(all));
    }
    let mut generator = generator(seed, "sign flip");
    let mut words = vec![0u64; n.div_ceil(64)];
    let mut count = 1u32;
    for _ in 0..DRAWS {
        words.iter_mut().for_each(|word| *word = generator.next_u64());
        count += u32::from(flipped(&|i| words[i / 64] >> (i % 64) & 1 == 1));
    }
    Some(f64::from(count) / f64::from(DRAWS + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_by_hand() {
        // All on one side: only the pattern seen and its mirror reach as far.
        assert_eq!(p_value(&[1.0, 2.0, 3.0], 1), Some(0.25));
        assert_eq!(p_value(&[-0.1; 6], 1), Some(2.0 / 64.0));
        // |sum| = 2; of the 8 sums ±6, ±4, ±2, ±0 two are nearer: 6/8.
        assert_eq!(p_value(&[1.0, -2.0, 3.0], 1), Some(0.75));
        assert_eq!(p_value(&[0.0, 0.0], 1), Some(1.0));
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(p_value(&[], 1), None);
        assert_eq!(p_value(&[1.0, f64::NAN], 1), None);
        assert_eq!(p_value(&[f64::MAX, f64::MAX], 1), None);
    }

    #[test]
    fn drawn_and_exact_agree() {
        // Zeros change no sum, so 12 values padded to 17 are drawn but have the exact answer of 12.
        let values: Vec<f64> = (0..12).map(|i| 0.3 + f64::from(i * 7 % 5) - 2.0).collect();
        let exact = p_value(&values, 0).unwrap();
        let mut padded = values;
        padded.resize(17, 0.0);
        // Standard error at most 0.0023; five of them.
        for seed in 0..2 {
            let drawn = p_value(&padded, seed).unwrap();
            assert!((drawn - exact).abs() < 0.012, "seed {seed}: {drawn} and {exact}");
        }
    }

    proptest! {
        #[test]
        fn direction_and_scale_do_not_matter(
            values in prop::collection::vec(-1.0..1.0, 1..9), scale in 0.1..10.0,
        ) {
            let p = p_value(&values, 0).unwrap();
            let other: Vec<f64> = values.iter().map(|x| -x * scale).collect();
            prop_assert_eq!(p, p_value(&other, 0).unwrap());
            prop_assert!(p >= 2.0 / 2f64.powi(values.len() as i32) && p <= 1.0);
        }
    }
}
