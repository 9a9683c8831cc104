//! Where the ticks of an axis stand: at round numbers.

use super::scale::Spread;

/// Ticks of an axis: at most `most` (at least 2), all within `low` to `high`, at 1, 2 or 5 times a
/// power of ten. Over a narrow range of ratios they are equally spaced, over a wide one they stand
/// at powers of ten.
pub(super) fn ticks(spread: Spread, low: f64, high: f64, most: usize) -> Vec<f64> {
    let most = most.max(2);
    match spread {
        Spread::Log if low > 0.0 && high / low >= 8.0 => {
            let ticks = decades(low, high, most);
            if ticks.is_empty() { linear(low, high, most) } else { ticks }
        }
        _ => linear(low, high, most),
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return Vec::new();
    }
    let mut power = 10f64.powi((span / most as f64).log10().floor() as i32);
    loop {
        for factor in [1.0, 2.0, 5.0] {
            let step = factor * power;
            // Ends that miss a tick by a rounding error still have it.
            let slack = 1e-9 * span / step;
            let (first, last) = ((low / step - slack).ceil(), (high / step + slack).floor());
            let count = last - first + 1.0;
            if count.is_nan() || step <= 0.0 {
                return Vec::new();
            }
            if count <= most as f64 {
                return (0..count.max(0.0) as u32)
                    .map(|i| rounded((first + f64::from(i)) * step, step))
                    .collect();
            }
        }
        power *= 10.0;
    }
}

/// Powers of ten, with 2 and 5 times them where there is space, or only every so many of them.
fn decades(low: f64, high: f64, most: usize) -> Vec<f64> {
    let range = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let inside = |v: &f64| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9);
    for factors in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
        let all: Vec<f64> = range
            .clone()
            .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)))
            .filter(inside)
            .collect();
        if all.len() <= most {
            return all;
        }
    }
    let powers: Vec<i32> = range.filter(|p| inside(&10f64.powi(*p))).collect();
    let every = powers.len().div_ceil(most).max(1);
    powers.into_iter().step_by(every).map(|p| 10f64.powi(p)).collect()
}

/// The tick without the error of the multiplication, so that 0.3 is not 0.30000000000000004.
fn rounded(tick: f64, step: f64) -> f64 {
    let digits = 2 - step.log10().floor() as i32;
    if !(0..=300).contains(&digits) {
        return tick;
    }
    let scale = 10f64.powi(digits);
    let rounded = (tick * scale).round() / scale;
    if rounded.is_finite() { rounded + 0.0 } else { tick }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_by_hand() {
        let linear = |low, high, most| ticks(Spread::Linear, low, high, most);
        assert_eq!(linear(0.0, 112.0, 6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear(0.0, 0.9, 4), [0.0, 0.5]);
        assert_eq!(linear(-3.0, 3.0, 5), [-2.0, 0.0, 2.0]);
        assert_eq!(linear(1.0, 1.0, 5), Vec::<f64>::new());
        let log = |low, high, most| ticks(Spread::Log, low, high, most);
        assert_eq!(log(0.9, 1.4, 6), [0.9, 1.0, 1.1, 1.2, 1.3, 1.4]);
        assert_eq!(log(0.9, 12.0, 6), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(log(1.0, 1e6, 4), [1.0, 100.0, 1e4, 1e6]);
    }

    proptest! {
        #[test]
        fn ticks_are_round_within_range_and_few(
            low in -1e12..1e12f64, span in 1e-9..1e12f64, most in 2usize..12,
        ) {
            let high = low + span;
            let found = ticks(Spread::Linear, low, high, most);
            prop_assert!(found.len() <= most);
            prop_assert!(found.windows(2).all(|w| w[0] < w[1]));
            let slack = 1e-6 * span + 1e-6 * low.abs();
            prop_assert!(found.iter().all(|t| *t >= low - slack && *t <= high + slack));
        }

        #[test]
        fn ticks_of_a_log_axis_too(power in -12.0..12.0f64, ratio in 1.001..1e12f64, most in 2usize..12) {
            let low = 10f64.powf(power);
            let high = low * ratio;
            let found = ticks(Spread::Log, low, high, most);
            prop_assert!(found.len() <= most);
            prop_assert!(found.iter().all(|t| *t >= low * 0.999 && *t <= high * 1.001));
            // Round: 1, 2, 3 or 5 times a power of ten, or a multiple of such a step.
            if ratio >= 100.0 {
                for t in &found {
                    let lead = t / 10f64.powf(t.log10().floor() + 1e-9);
                    prop_assert!([1.0, 2.0, 3.0, 5.0, 10.0].iter().any(|r| (lead / r - 1.0).abs() < 1e-6), "{t}");
                }
            }
        }
    }
}
