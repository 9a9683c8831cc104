//! Playback of films: the rate that a film needs with a player's buffer, films of variable rate, and the verdict on
//! what a stream gets (method, section 9).

use crate::interval::Interval;
use crate::order;
use rand_pcg::rand_core::Rng;

/// Supply over the required rate above which a film plays: 3% more than it needs.
pub const PLAYS_ABOVE: f64 = 1.03;

/// Verdict on streams, from the interval of the supply of the worst one over the required rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The lower end is above 1.03.
    Plays,
    /// Neither.
    Marginal,
    /// The upper end is below 1.
    Stalls,
}

impl Verdict {
    /// The verdict of an interval of supply over the required rate.
    pub fn on(ratio: Interval) -> Verdict {
        if ratio.low > PLAYS_ABOVE {
            Verdict::Plays
        } else if ratio.high < 1.0 {
            Verdict::Stalls
        } else {
            Verdict::Marginal
        }
    }
}

/// A player's buffer: the smaller of a number of bytes and of seconds of film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// Bytes.
    pub bytes: f64,
    /// Seconds; `None` if only the bytes limit it.
    pub seconds: Option<f64>,
}

/// The least rate, in bytes per second, at which a film plays that needs `film` bytes in each second: of every window
/// the bytes less the rate times its length fit in the buffer, which is full when the window begins. `None` for a film
/// without seconds, or with values that are negative or not finite.
///
/// For each begin this is the steepest line from the bytes that are there, those played and those in the buffer, to the
/// bytes that are needed later. Only the upper convex hull of the latter can touch it.
pub fn required(film: &[f64], buffer: Buffer) -> Option<f64> {
    let valid = |value: &f64| value.is_finite() && *value >= 0.0;
    if film.is_empty() || !film.iter().all(valid) || buffer.bytes.is_nan() {
        return None;
    }
    let needed = cumulative(film);
    let mut hull: Vec<Point> = Vec::new();
    let mut most: f64 = 0.0;
    for begin in (0..film.len()).rev() {
        let next = ((begin + 1) as f64, needed[begin + 1]);
        while let [.., after, last] = hull[..]
            && slope(next, last) <= slope(next, after)
        {
            hull.pop();
        }
        hull.push(next);
        let held = (needed[begin] + buffer.bytes.max(0.0)).min(by_seconds(&needed, begin, buffer));
        let there = (begin as f64, held);
        // Along the hull the slope from a point on its left rises to the tangent, and falls after it.
        let rises = |pair: usize| slope(there, hull[pair]) > slope(there, hull[pair + 1]);
        let (mut low, mut high) = (0, hull.len() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match rises(middle) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        // The hull lies from right to left: the pair that is found is where the slope begins to fall.
        let near = [low.saturating_sub(1), low, (low + 1).min(hull.len() - 1)];
        most = near.iter().map(|at| slope(there, hull[*at])).fold(most, f64::max);
    }
    Some(most)
}

/// Bytes of the film that a buffer limited by seconds holds to, when it is full at a second.
fn by_seconds(needed: &[f64], begin: usize, buffer: Buffer) -> f64 {
    let Some(seconds) = buffer.seconds else { return f64::INFINITY };
    let end = begin as f64 + seconds.max(0.0);
    let whole = (end.floor() as usize).min(needed.len() - 1);
    let after = needed.get(whole + 1).unwrap_or(&needed[whole]);
    needed[whole] + (after - needed[whole]) * (end - whole as f64).clamp(0.0, 1.0)
}

/// A second of a film, and bytes of it until then.
type Point = (f64, f64);

fn slope(from: Point, to: Point) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}

fn cumulative(film: &[f64]) -> Vec<f64> {
    let sum = film.iter().scan(0.0, |sum, bytes| {
        *sum += bytes;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sum).collect()
}

/// Bytes of the seconds of a film that are played, `length` of them at most. They begin so long before the worst window
/// for this buffer as its rate takes to fill the buffer, but at most half of `length`; after the last second of the film
/// comes its first. The worst window is the one that needs the highest rate.
pub fn worst_part(film: &[f64], buffer: Buffer, length: usize) -> Vec<f64> {
    let needed = cumulative(film);
    let held = |begin: usize| {
        (needed[begin] + buffer.bytes.max(0.0)).min(by_seconds(&needed, begin, buffer))
    };
    let rate = |begin: usize| {
        let end = film.len().min(begin + length.max(1));
        let held = held(begin);
        let to = |at: usize| (needed[at] - held) / (at - begin) as f64;
        (begin + 1..=end).map(to).fold(f64::NEG_INFINITY, f64::max)
    };
    let worst = (0..film.len()).max_by(|a, b| rate(*a).total_cmp(&rate(*b))).unwrap_or(0);
    let (needs, full) = (rate(worst), held(worst) - needed[worst]);
    let (mut begin, mut there) = (worst, 0.0);
    while begin > 0 && worst - begin < length / 2 && there < full {
        begin -= 1;
        there += needs - film[begin];
    }
    film.iter().copied().cycle().skip(begin).take(length.min(film.len())).collect()
}

/// Scenes of a made film last so many seconds on average, and differ by so much: a standard deviation on the log
/// scale. Chosen.
const SCENE_SECONDS: f64 = 6.0;
const SCENE_SPREAD: f64 = 0.4;

/// Bytes of each second of a film of variable rate, made from a seed: scenes of random length, each with a rate of its
/// own. Their mean is `mean`.
pub fn made_film(seed: u64, seconds: usize, mean: f64) -> Vec<f64> {
    let mut draw = order::generator(seed, "film");
    let mut uniform = || (draw.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut film: Vec<f64> = Vec::with_capacity(seconds);
    let mut scene = 1.0;
    for second in 0..seconds {
        if second == 0 || uniform() < 1.0 / SCENE_SECONDS {
            // The sum of twelve is near enough to normal.
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            scene = (SCENE_SPREAD * normal).exp();
        }
        film.push(scene);
    }
    let sum: f64 = film.iter().sum();
    let scale = if sum > 0.0 { mean * seconds as f64 / sum } else { 0.0 };
    film.iter().map(|second| second * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every window, one by one.
    fn by_windows(film: &[f64], buffer: Buffer) -> f64 {
        let mut most: f64 = 0.0;
        for begin in 0..film.len() {
            let by_seconds = buffer.seconds.map_or(f64::INFINITY, |seconds| {
                let share = |second: usize| (seconds - second as f64).clamp(0.0, 1.0);
                film[begin..].iter().enumerate().map(|(n, bytes)| bytes * share(n)).sum()
            });
            let held = buffer.bytes.min(by_seconds);
            for end in begin + 1..=film.len() {
                let bytes: f64 = film[begin..end].iter().sum();
                most = most.max((bytes - held) / (end - begin) as f64);
            }
        }
        most
    }

    fn plain(bytes: f64) -> Buffer {
        Buffer { bytes, seconds: None }
    }

    #[test]
    fn rates_by_hand() {
        let near = |is: Option<f64>, should: f64| assert_eq!(is, Some(should));
        near(required(&[5.0; 10], plain(0.0)), 5.0);
        // 50 bytes in 10 s, 10 of which are there.
        near(required(&[5.0; 10], plain(10.0)), 4.0);
        // One second of 20 and a buffer of 8.
        near(required(&[2.0, 20.0, 2.0, 2.0], plain(8.0)), 12.0);
        // From the first second: 22 bytes in 2 s, 12 there.
        near(required(&[8.0, 20.0, 2.0, 2.0], plain(12.0)), 8.0);
        near(required(&[2.0, 2.0], plain(100.0)), 0.0);
        // Two seconds ahead are 4 bytes, whatever the 100 are.
        let buffer = Buffer { bytes: 100.0, seconds: Some(2.0) };
        near(required(&[2.0, 2.0, 20.0, 2.0], buffer), 20.0 / 3.0);
        assert_eq!(required(&[], plain(1.0)), None);
        assert_eq!(required(&[1.0, f64::NAN], plain(1.0)), None);
    }

    #[test]
    fn verdicts_partition_the_line() {
        let on = |low, high| Verdict::on(Interval { low, estimate: (low + high) / 2.0, high });
        assert_eq!(on(1.04, 1.2), Verdict::Plays);
        assert_eq!(on(1.02, 1.2), Verdict::Marginal);
        assert_eq!(on(0.9, 1.0), Verdict::Marginal);
        assert_eq!(on(0.9, 0.99), Verdict::Stalls);
    }

    #[test]
    fn a_made_film_has_its_mean_and_is_the_same_again() {
        let film = made_film(7, 600, 3e6);
        assert_eq!(film, made_film(7, 600, 3e6));
        assert_ne!(film, made_film(8, 600, 3e6));
        let mean = film.iter().sum::<f64>() / 600.0;
        assert!((mean / 3e6 - 1.0).abs() < 1e-9, "{mean}");
        let largest = film.iter().copied().fold(0.0, f64::max);
        assert!(largest > 1.2 * mean, "{largest}");
    }

    /// Else a film that plays by its rate stalls at its rate: players begin with less than a full buffer.
    #[test]
    fn the_buffer_can_be_full_when_the_worst_window_begins() {
        let mut film = vec![1.0; 100];
        film[40..50].fill(9.0);
        // The window needs 8.5, and a second before it leaves 7.5 of that for the buffer.
        assert_eq!(worst_part(&film, plain(5.0), 20), film[39..59]);
        // It needs 7, and four seconds leave 24.
        assert_eq!(worst_part(&film, plain(20.0), 20), film[36..56]);
        // The end of a film is followed by its begin.
        film[95] = 1000.0;
        let wrapped = |length: usize| [&film[94..], &film[..length - 6]].concat();
        assert_eq!(worst_part(&film, plain(5.0), 20), wrapped(20));
        assert_eq!(worst_part(&film, plain(5.0), 500), wrapped(100));
        // A film of one rate has no second in which the buffer could be filled.
        assert_eq!(worst_part(&[2.0; 8], plain(0.0), 4), [2.0; 4]);
        assert!(worst_part(&[], plain(5.0), 4).is_empty());
    }

    proptest! {
        #[test]
        fn it_is_the_worst_of_all_windows(
            film in prop::collection::vec(0.0..1e7f64, 1..60),
            bytes in 0.0..5e7f64,
            seconds in prop::option::of(0.0..20.0f64),
        ) {
            let buffer = Buffer { bytes, seconds };
            let (fast, slow) = (required(&film, buffer).unwrap(), by_windows(&film, buffer));
            prop_assert!((fast - slow).abs() <= 1e-6 * slow.max(1.0), "{fast} {slow}");
        }

        #[test]
        fn a_larger_buffer_needs_no_more(
            film in prop::collection::vec(0.0..1e7f64, 1..60),
            bytes in 0.0..5e7f64,
            more in 0.0..5e7f64,
        ) {
            let rate = |bytes| required(&film, plain(bytes)).unwrap();
            prop_assert!(rate(bytes + more) <= rate(bytes));
        }
    }
}
