//! Intervals, verdicts, stop rule, sequences, cost models: pure computation. No clock, no files, and no
//! chance but that of a seed passed in.
//!
//! The way of a comparison, in the order a study needs it:
//!
//! | step | call |
//! | --- | --- |
//! | order of a block | [`order::shuffled`] with [`order::generator`]`(seed, "order 0")` |
//! | end of a trial's warm-up | [`warm_up::mser_5`], `None`: cut a fixed time |
//! | phases inside a trial | [`change::find`] |
//! | are the figures of a trial sound? | [`little::InFlight::compare`] |
//! | memory or disk? | [`reread::decide`] |
//! | confidence of each interval of a family | [`family::adjusted_confidence`] |
//! | when to stop, and the interval | [`sequential::Sequential`], one log ratio B/A per block |
//! | fixed number of blocks | [`interval::t_interval`], [`interval::ratio_interval`] |
//! | claim | [`verdict::Verdict::on`], [`verdict::more_blocks_to_resolve`] |
//! | ratio of costs, which may be zero or below | [`fieller::paired`] |
//! | costs per file, operation and byte, and times by them | [`fit::costs::fit`] |
//! | n in flight, from the demands of one | [`closed::mva`], [`closed::rounds`], [`closed::bound`], [`closed::balanced`] |
//! | cross-checks | [`sign_flip::p_value`], [`correlation::lag_1`], [`outlier::far`] |
//! | the highest rate that a router keeps | [`kept::Search`], one trial after the other |
//! | rate that a film needs, and a verdict on what it gets | [`playback::required`], [`playback::Verdict::on`] |
//! | two studies of different times | [`welch::ratio_interval`] |
//! | changes of level over many studies | [`divisive::find`] |
//! | one more study against earlier ones | [`prediction::Prediction`] |
//!
//! Nothing panics and nothing is invented: too few values, values that are not finite, or a rule
//! out of range give `None`. [`simulate`] tries the whole on [`synthetic`] studies, [`fit::simulate`] the
//! cost model on synthetic measurements.
//!
//! ```
//! use plimsoll_stats::{family, sequential::Sequential, verdict::Verdict};
//!
//! let margin = 0.05;
//! let confidence = family::adjusted_confidence(0.95, 5).unwrap();
//! let half_width = Sequential::half_width_for(margin).unwrap();
//! let rule = Sequential { first: 6, half_width, margin: Some(margin), confidence };
//! let log_ratios = [0.29, 0.28, 0.30, 0.29, 0.28, 0.29];
//! assert!(rule.is_decided(&log_ratios));
//! let verdict = Verdict::on(rule.interval(&log_ratios).unwrap().exp().unwrap(), margin).unwrap();
//! assert!(matches!(verdict, Verdict::Faster(lead) if (lead.by.estimate - 0.33).abs() < 0.01));
//! ```
#![forbid(unsafe_code)]

pub mod change;
pub mod closed;
pub mod correlation;
pub mod divisive;
pub mod family;
pub mod fieller;
pub mod fit;
pub mod interval;
pub mod kept;
pub mod little;
pub mod order;
pub mod outlier;
pub mod playback;
pub mod prediction;
pub mod proportion;
pub mod reread;
pub mod sequence;
pub mod sequential;
pub mod sign_flip;
pub mod simulate;
pub mod synthetic;
pub mod verdict;
pub mod warm_up;
pub mod welch;
