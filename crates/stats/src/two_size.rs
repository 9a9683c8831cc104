//! Are a small and a large working set served by the same store? If a set that surely fits in the
//! server's memory is as fast as the one under test, that one is served from memory too (or both
//! are limited elsewhere); if it is much faster, the large one comes from the disk.

use crate::interval::Interval;
use crate::welch;
use serde::{Deserialize, Serialize};

/// Confidence of the interval that decides.
const CONFIDENCE: f64 = 0.95;
/// Ratios wholly within [1/1.25, 1.25] are the same store.
const SAME: f64 = 1.25;
/// Ratios wholly above this are a slower store.
const SLOWER: f64 = 1.5;

/// What the two sizes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Both are equally fast, within a quarter.
    SameStore,
    /// The large set is slower by more than a half: it is served by something else.
    Slower,
    /// Neither can be said.
    Unclear,
}

/// Answer of a two-size probe, and the figures behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwoSize {
    /// Rate on the small set over rate on the large one: how many times as fast.
    pub ratio: Interval,
    /// What it says.
    pub answer: Answer,
}

/// Decides from repeated short runs: natural logarithms of the rates on the small and on the large
/// set, a few alternating runs each (3 and 3 will do; 2 and 2 are the fewest). A mean time per
/// operation enters as the negative of its logarithm. `None` below two runs of either, or where a
/// value is not finite.
pub fn decide(small_log_rates: &[f64], large_log_rates: &[f64]) -> Option<TwoSize> {
    let ratio = welch::ratio_interval(large_log_rates, small_log_rates, CONFIDENCE)?;
    let answer = if 1.0 / SAME <= ratio.low && ratio.high <= SAME {
        Answer::SameStore
    } else if ratio.low > SLOWER {
        Answer::Slower
    } else {
        Answer::Unclear
    };
    Some(TwoSize { ratio, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(rates: [f64; 3]) -> [f64; 3] {
        rates.map(f64::ln)
    }

    #[test]
    fn the_three_answers() {
        let memory = logs([100.0, 103.0, 98.0]);
        let cases = [
            (logs([99.0, 101.0, 102.0]), Answer::SameStore),
            (logs([1.0, 1.2, 0.9]), Answer::Slower),
            // A third slower is between the two; a wide spread is too.
            (logs([72.0, 75.0, 70.0]), Answer::Unclear),
            (logs([100.0, 30.0, 100.0]), Answer::Unclear),
            // Faster than the small one makes no sense, and is not called "slower".
            (logs([300.0, 290.0, 310.0]), Answer::Unclear),
        ];
        for (large, expected) in cases {
            let found = decide(&memory, &large).unwrap();
            assert_eq!(found.answer, expected, "{found:?}");
        }
        let slower = decide(&memory, &logs([10.0, 10.1, 9.9])).unwrap();
        assert!((slower.ratio.estimate - 10.03).abs() < 0.01, "small over large: {slower:?}");
    }

    #[test]
    fn too_few_runs_are_refused() {
        assert_eq!(decide(&[1.0], &[1.0, 1.0]), None);
        assert_eq!(decide(&[1.0, 1.0], &[]), None);
        assert_eq!(decide(&[1.0, f64::NEG_INFINITY], &[1.0, 1.0]), None);
    }
}
