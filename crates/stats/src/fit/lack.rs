//! Whether a model is further off than noise explains.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// A model whose cells would be so far off by noise alone in fewer than one of a hundred studies does
/// not fit.
pub const LACK_OF_FIT: f64 = 0.01;

/// The F test of lack of fit: the mean residual of every cell against its spread between blocks.
///
/// Each block is fitted by itself; in what that leaves, the block's common slowness, which is a multiple of
/// all costs, has no part. Where cells are noisier than others, or move together, there are fewer degrees of
/// freedom (Box 1954, Annals of Mathematical Statistics 25, 484–498), by the estimate of Huynh and Feldt
/// (1976, Journal of Educational Statistics 1, 69–82).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// Mean square of the mean residuals over that between blocks: about 1 where the model fits.
    pub f: f64,
    /// Degrees of freedom of the two.
    pub degrees: (f64, f64),
    /// How probable so large an F is where the model fits.
    pub p_value: f64,
}

/// Relative residuals below this are rounding.
const ROUNDING: f64 = 1e-9;

impl LackOfFit {
    /// Of relative residuals, a block each, with as many `free` directions. `None` below two blocks, and
    /// where the fit leaves none.
    pub(super) fn test(blocks: &[Vec<f64>], free: usize) -> Option<LackOfFit> {
        let (count, cells) = (blocks.len() as f64, blocks.first()?.len());
        if blocks.len() < 2 || free == 0 {
            return None;
        }
        let mean_of = |cell: usize| blocks.iter().map(|b| b[cell]).sum::<f64>() / count;
        let means: Vec<f64> = (0..cells).map(mean_of).collect();
        let off = |block: &Vec<f64>| -> Vec<f64> {
            block.iter().zip(&means).map(|(value, mean)| value - mean).collect()
        };
        let off: Vec<Vec<f64>> = blocks.iter().map(off).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let of_means = count * product(&means, &means);
        let between = off.iter().map(|block| product(block, block)).sum::<f64>() / (count - 1.0);
        let free = free as f64;
        if of_means.max(between) <= ROUNDING * ROUNDING * cells as f64 {
            let degrees = (free, free * (count - 1.0));
            return Some(LackOfFit { f: 1.0, degrees, p_value: 1.0 });
        }
        // The trace of the squared covariance matrix, by the products of the blocks.
        let products = off.iter().flat_map(|a| off.iter().map(|b| product(a, b).powi(2)));
        let squared = products.sum::<f64>() / (count - 1.0).powi(2);
        // In how many directions the noise goes, as Box counts them; Huynh and Feldt make up for the small
        // number of blocks that this is seen in.
        let spanned = between * between / squared;
        let epsilon = (count * spanned - 2.0) / (free * (count - 1.0 - spanned));
        let epsilon = if epsilon.is_nan() { 1.0 / free } else { epsilon.clamp(1.0 / free, 1.0) };
        let degrees = (epsilon * free, epsilon * free * (count - 1.0));
        let f = of_means / between;
        if f.is_nan() {
            return None;
        }
        let distribution = FisherSnedecor::new(degrees.0, degrees.1).ok()?;
        let p_value = if f.is_finite() { distribution.sf(f) } else { 0.0 };
        p_value.is_finite().then_some(LackOfFit { f, degrees, p_value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cells whose residuals lie on a line, as after a fit that leaves one direction: the test is
    /// Student's, F(1, 3) = t². Means ±0.5, deviations ±(0.2, −0.1, 0, −0.1): F = 4·0.5/(0.12/3) = 50,
    /// t = 7.0711, p = 0.005823 by the distribution function of Student's t with 3 degrees in closed form.
    #[test]
    fn by_hand() {
        let blocks = [0.7, 0.4, 0.5, 0.4].map(|r: f64| vec![r, -r]);
        let lack = LackOfFit::test(&blocks, 1).unwrap();
        assert!((lack.f - 50.0).abs() < 1e-9 && lack.degrees == (1.0, 3.0), "{lack:?}");
        let t = 50f64.sqrt();
        let u = t / 3f64.sqrt();
        let tail = 1.0 - 2.0 / std::f64::consts::PI * (u / (1.0 + u * u) + u.atan());
        assert!((lack.p_value - tail).abs() < 1e-9, "{lack:?} {tail}");
    }

    /// Noise in one cell alone is one direction of noise, however many there are; noise that is the same
    /// in all directions is as many.
    #[test]
    fn degrees_follow_the_noise() {
        let noisy = [1.0, -1.0, 2.0, -2.0, 0.5].map(|r: f64| vec![r, 1e-6 * r, 0.0, 1e-6]);
        let lack = LackOfFit::test(&noisy, 4).unwrap();
        assert!((lack.degrees.0 - 1.0).abs() < 1e-6 && (lack.degrees.1 - 4.0).abs() < 1e-5);
        let directions = |i: usize, sign: f64| {
            let mut block = vec![0.0; 3];
            block[i] = sign;
            block
        };
        let even: Vec<_> = (0..3).flat_map(|i| [directions(i, 1.0), directions(i, -1.0)]).collect();
        let lack = LackOfFit::test(&even, 3).unwrap();
        assert!((lack.degrees.0 - 3.0).abs() < 1e-9 && (lack.degrees.1 - 15.0).abs() < 1e-9);
        assert_eq!((lack.f, lack.p_value), (0.0, 1.0));
    }

    #[test]
    fn nothing_is_invented() {
        assert_eq!(LackOfFit::test(&[], 1), None);
        assert_eq!(LackOfFit::test(&[vec![0.1, -0.1]], 1), None);
        assert_eq!(LackOfFit::test(&[vec![0.1], vec![0.2]], 0), None);
        let off_always = LackOfFit::test(&[vec![0.1, -0.1], vec![0.1, -0.1]], 1).unwrap();
        assert_eq!(off_always.p_value, 0.0);
        let exact = LackOfFit::test(&[vec![1e-17, 0.0], vec![0.0, 1e-16]], 1).unwrap();
        assert_eq!(exact.p_value, 1.0);
        assert_eq!(LackOfFit::test(&[vec![f64::NAN], vec![0.0]], 1), None);
    }
}
