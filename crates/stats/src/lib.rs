//! Intervals, verdicts, stop rule, sequences: pure reckoning. No clock, no files, and no chance but
//! that of a seed passed in.
//!
//! The way of a comparison, in the order a study needs it:
//!
//! | step | call |
//! | --- | --- |
//! | order of a block | [`order::shuffled`] with [`order::generator`]`(seed, "order")` |
//! | end of a trial's warm-up | [`warm_up::mser_5`], `None`: cut a fixed time |
//! | phases inside a trial | [`change::find`] |
//! | are the figures of a trial sound? | [`little::InFlight::compare`] |
//! | memory or disk? | [`two_size::decide`] |
//! | confidence of each interval of a family | [`family::adjusted_confidence`] |
//! | how many blocks, and the interval | [`stein::Stein`], one log ratio B/A per block |
//! | fixed number of blocks | [`interval::t_interval`], [`interval::ratio_interval`] |
//! | claim | [`verdict::Verdict::on`], [`verdict::more_blocks_to_resolve`] |
//! | ratio of costs, which may be zero or below | [`fieller::paired`] |
//! | cross-check | [`sign_flip::p_value`] |
//! | extending a study later | [`sequence::ratio_interval`] |
//! | two studies of different times | [`welch::ratio_interval`] |
//!
//! Nothing panics and nothing is invented: too few values, values that are not finite, or a rule
//! out of range give `None`. [`simulate`] tries the whole on [`synthetic`] studies.
//!
//! ```
//! use plimsoll_stats::{family, stein::Stein, verdict::Verdict};
//!
//! let margin = 0.05;
//! let confidence = family::adjusted_confidence(0.95, 5).unwrap();
//! let rule = Stein::new(Stein::half_width_for(margin).unwrap(), confidence);
//! let log_ratios = [0.29, 0.28, 0.30, 0.29, 0.28, 0.29];
//! assert_eq!(rule.blocks_needed(&log_ratios), Some(6));
//! let verdict = Verdict::on(rule.ratio_interval(&log_ratios).unwrap(), margin).unwrap();
//! assert!(matches!(verdict, Verdict::Faster(lead) if (lead.by.estimate - 0.33).abs() < 0.01));
//! ```
#![forbid(unsafe_code)]

pub mod change;
pub mod family;
pub mod fieller;
pub mod interval;
pub mod little;
pub mod order;
pub mod sequence;
pub mod sign_flip;
pub mod simulate;
pub mod stein;
pub mod synthetic;
pub mod two_size;
pub mod verdict;
pub mod warm_up;
pub mod welch;
