//! Do reads come from a server's memory or from its disk? A block that is read a second time surely
//! comes from memory, right after the first. If the first read was as fast, it did too; if it was
//! slower by what a disk takes, it came from the disk. Both reads have the same way to go, so only
//! what is beyond it makes a difference, and it is looked at in seconds: on a slow path a fast disk
//! is a small part of a read, but no memory is ever that slow.

use crate::interval::Interval;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Confidence of each interval that decides, and how many standard errors that is.
const CONFIDENCE: f64 = 0.95;
const STANDARD_ERRORS: f64 = 1.959_964;
/// What the fastest disks of file servers add to a read at least, in seconds; memory takes a
/// twentieth of it.
const FASTEST_DISK: f64 = 50e-6;
/// A read is slow that takes longer than the other one of its pair by this share of the usual time of a
/// second read.
const SLOWER: f64 = 0.5;
/// At most this share of first reads may be slow beyond that of the second ones where all come from
/// memory.
const FEW: f64 = 0.1;
/// At least this share of first reads is slow where they are said to come from a disk. Some files of a set
/// of twice the memory are in it; as they are read faster, more of them is read, and what is measured
/// would be mostly they.
const MOST: f64 = 0.75;
/// Fewer pairs decide nothing.
const LEAST: usize = 8;

/// What the pairs of reads say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// First reads are as fast as those from memory.
    Memory,
    /// At least three of four first reads are slower than those from memory, by what a disk takes.
    Disk,
    /// Neither can be said: the path hides it, or some come from the one and some from the other.
    Unclear,
}

/// The answer, and the figures behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reread {
    /// Median time of a second read, in seconds.
    pub again_seconds: f64,
    /// By how many seconds a first read is slower: the median of the pairs' differences.
    pub difference_seconds: Interval,
    /// Share of pairs whose first read is slower, less that of those whose second read is.
    pub slow: Interval,
    /// What they say.
    pub answer: Answer,
}

/// Decides from pairs of reads of one block each: the time of the first and of the second in seconds.
/// `None` below eight pairs, or where a value is not finite.
pub fn decide(pairs: &[(f64, f64)]) -> Option<Reread> {
    let finite = pairs.iter().all(|(first, again)| first.is_finite() && again.is_finite());
    if pairs.len() < LEAST || !finite {
        return None;
    }
    let again_seconds = median(pairs.iter().map(|pair| pair.1))?.estimate;
    let difference_seconds = median(pairs.iter().map(|(first, again)| first - again))?;
    let limit = (again_seconds * SLOWER).max(FASTEST_DISK);
    // Hiccups of the path make either read of a pair slow, and as often the one as the other.
    let slow = more_often(pairs.iter().map(|(first, again)| {
        let difference = first - again;
        (difference > limit, -difference > limit)
    }));
    let answer = if slow.low > 0.5 && slow.estimate >= MOST && difference_seconds.low > FASTEST_DISK
    {
        Answer::Disk
    } else if slow.high < FEW && difference_seconds.high < FASTEST_DISK {
        Answer::Memory
    } else {
        Answer::Unclear
    };
    Some(Reread { again_seconds, difference_seconds, slow, answer })
}

/// How much more often the first of a pair is true than the second: the difference of two shares that
/// belong together, by Agresti and Min (2005, Statistics in Medicine 24, 729–740).
fn more_often(pairs: impl Iterator<Item = (bool, bool)>) -> Interval {
    let (mut first, mut second, mut all) = (0.5, 0.5, 2.0);
    for pair in pairs {
        all += 1.0;
        first += f64::from(u8::from(pair == (true, false)));
        second += f64::from(u8::from(pair == (false, true)));
    }
    let estimate = (first - second) / all;
    let error = (first + second - (first - second) * estimate).sqrt() / all;
    let half = STANDARD_ERRORS * error;
    Interval { low: estimate - half, estimate, high: estimate + half }
}

/// The median and its interval by order statistics, which holds for any distribution.
fn median(values: impl Iterator<Item = f64>) -> Option<Interval> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let below = Binomial::new(0.5, n as u64).ok()?.inverse_cdf((1.0 - CONFIDENCE) / 2.0);
    let low = (below as usize).saturating_sub(1).min(n / 2);
    let estimate = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
    Some(Interval { low: values[low], estimate, high: values[n - 1 - low] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::Rng;

    /// Pairs over a path that takes `path` milliseconds, `jitter` of it more now and then, to a server
    /// whose disk is asked for a share of the first reads.
    fn pairs(count: usize, path: f64, jitter: f64, disk: f64, share: f64) -> Vec<(f64, f64)> {
        let mut draw = crate::order::generator(7, "reread");
        let mut chance = || f64::from(draw.next_u32()) / f64::from(u32::MAX);
        let mut read = |more: f64| (path * (1.0 + jitter * chance()) + more) * 1e-3;
        let missed = |n: usize| (n as f64 * share).floor() != ((n + 1) as f64 * share).floor();
        let first = |n| if missed(n) { disk } else { 0.0 };
        (0..count).map(|n| (read(first(n)), read(0.002))).collect()
    }

    fn answer(of: &[(f64, f64)]) -> Answer {
        decide(of).unwrap().answer
    }

    #[test]
    fn memory_and_disks_on_paths_of_every_length() {
        for path in [0.05, 0.3, 1.0, 10.0] {
            assert_eq!(answer(&pairs(400, path, 0.02, 0.0, 0.0)), Answer::Memory, "{path} ms");
            assert_eq!(answer(&pairs(20, path, 0.3, 8.0, 1.0)), Answer::Disk, "{path} ms");
        }
        // Half a microsecond instead of a tenth is five times as slow, and still memory.
        let caches: Vec<(f64, f64)> = (0..200).map(|n| (5e-7, (n % 3) as f64 * 1e-7)).collect();
        assert_eq!(answer(&caches), Answer::Memory);
    }

    /// What the old test, which looked at the ratio of two rates, called memory.
    #[test]
    fn a_path_hides_a_fast_disk_but_is_no_memory() {
        for (path, jitter) in [(1.0, 0.02), (1.0, 0.5), (20.0, 0.02), (20.0, 0.5)] {
            let found = answer(&pairs(300, path, jitter, 0.1, 1.0));
            assert_eq!(found, Answer::Unclear, "{path} ms, {jitter}");
        }
    }

    #[test]
    fn some_from_the_disk_is_neither() {
        for share in [0.1, 0.3, 0.5, 0.7] {
            assert_eq!(answer(&pairs(400, 0.3, 0.1, 8.0, share)), Answer::Unclear, "{share}");
        }
        assert_eq!(answer(&pairs(400, 0.3, 0.1, 8.0, 0.8)), Answer::Disk);
    }

    /// Hiccups of the path come to both reads alike.
    #[test]
    fn a_path_with_hiccups_is_no_disk() {
        let mut hiccups = pairs(400, 0.3, 0.1, 0.0, 0.0);
        for (n, pair) in hiccups.iter_mut().enumerate() {
            match n % 20 {
                0 => pair.0 += 0.01,
                7 => pair.1 += 0.01,
                _ => {}
            }
        }
        assert_ne!(answer(&hiccups), Answer::Disk);
    }

    /// As seen on an emulated machine beside other work: of second reads as many were slow as not.
    #[test]
    fn a_disk_is_seen_over_a_noisy_path() {
        let noisy = |n: usize| 1e-3 + if n % 5 < 2 { 2e-3 * (n % 7) as f64 } else { 0.0 };
        let pairs: Vec<_> = (0..200).map(|n| (noisy(n) + 14e-3, noisy(n + 2))).collect();
        assert_eq!(answer(&pairs), Answer::Disk);
        let pairs: Vec<_> = (0..2000).map(|n| (noisy(n), noisy(n + 2))).collect();
        assert_eq!(answer(&pairs), Answer::Memory, "{:?}", decide(&pairs));
    }

    #[test]
    fn too_few_pairs_are_refused() {
        assert_eq!(decide(&pairs(7, 1.0, 0.1, 8.0, 1.0)), None);
        assert_eq!(decide(&[(1.0, f64::NAN); 9]), None);
    }

    #[test]
    fn the_interval_of_a_median_as_in_tables() {
        // Of 20 values the 6th and the 15th at 95%; Conover, table A3.
        let found = median((1..=20).map(f64::from)).unwrap();
        assert_eq!((found.low, found.estimate, found.high), (6.0, 10.5, 15.0));
    }

    #[test]
    fn the_difference_of_shares_that_belong_together() {
        // 150 of 1600 and 86 of 1600 (Agresti 2002, table 10.1): -0.04 [-0.06, -0.02] by Wald, which the
        // half in each cell moves by less than a thousandth.
        let cells = [((true, true), 794), ((true, false), 150), ((false, true), 86)];
        let pairs = cells.iter().flat_map(|(pair, count)| std::iter::repeat_n(*pair, *count));
        let found = more_often(pairs.chain(std::iter::repeat_n((false, false), 570)));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(near(found.estimate, 0.04) && near(found.low, 0.021), "{found:?}");
        assert!(near(found.high, 0.059), "{found:?}");
    }
}
