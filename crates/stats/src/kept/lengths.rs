//! How long the trials of a search take, and the search itself.

use super::bounds::{EXCEED, Phase};
use super::segments::{LEAD_SECONDS, MOST_LENGTHS};

/// Longest time of a search, in seconds.
pub const MOST_SECONDS: f64 = 150.0;
/// The same where few and short trials decide: two searches fit into a minute.
pub const QUICK_SECONDS: f64 = 25.0;
/// Time between two trials: the ends meet, and the hosts are looked at.
const BETWEEN_SECONDS: f64 = 0.3;
/// Least share of the time of a search for the trials of its bounds.
const LEAST_FOR_BOUNDS: f64 = 0.5;
/// Share of the time that is left for bounds that one of their trials may take, and of all that is left that a long trial
/// may take: where the sender is late all the time, the next rate is tried soon.
const SHARE_OF_BOUND: f64 = 0.25;
const SHARE_OF_LONG: f64 = 0.5;
/// Times its length that a trial may take in any case.
const LEAST_LENGTHS: f64 = 1.5;

/// Lengths of the trials that follow the bounds, in seconds, and how thoroughly bounds are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lengths {
    /// From the first guess to the result.
    pub phases: &'static [Phase],
    /// The overload trial.
    pub overload: f64,
    /// The usual confirming trial.
    pub confirm: f64,
    /// Each trial in which events of loss are counted.
    pub events: f64,
}

/// Trials grow from 0.5 s to 1 s, and their sum to 5 s for each bound.
const USUAL: Lengths = Lengths {
    phases: &[
        Phase { seconds: 0.5, sum: 0.5, width: 4 },
        Phase { seconds: 0.7, sum: 0.7, width: 2 },
        Phase { seconds: 1.0, sum: 5.0, width: 1 },
    ],
    overload: 3.0,
    confirm: 10.0,
    events: 3.0,
};

/// The same in half of the time: what passes of too much is a good first guess, and fewer trials decide.
const QUICK: Lengths = Lengths {
    phases: &[
        Phase { seconds: 0.5, sum: 0.5, width: 2 },
        Phase { seconds: 1.0, sum: 3.0, width: 1 },
    ],
    overload: 1.5,
    confirm: 3.0,
    events: 1.2,
};

impl Lengths {
    pub fn chosen(is_quick: bool) -> &'static Lengths {
        if is_quick { &QUICK } else { &USUAL }
    }
}

/// Length of the usual confirming trial.
pub fn confirm_seconds(is_quick: bool) -> f64 {
    Lengths::chosen(is_quick).confirm
}

/// Time of the trials that are enough for a rate to be kept, in seconds: more of them would change nothing, whatever they
/// lost.
pub fn enough_seconds(is_quick: bool) -> f64 {
    let Some(last) = Lengths::chosen(is_quick).phases.last() else { return 0.0 };
    ((1.0 - EXCEED) * last.sum / last.seconds).ceil() * last.seconds
}

/// What a trial of this length takes at least, in seconds.
pub(super) fn whole(seconds: f64) -> f64 {
    LEAD_SECONDS + seconds + BETWEEN_SECONDS
}

/// Time of a search that has so much for the trials of its bounds. The trials that follow need the rest.
pub(super) fn for_bounds(most: f64, lengths: &Lengths, confirm: f64, events: usize) -> f64 {
    let long = whole(lengths.overload) + whole(confirm) + events as f64 * whole(lengths.events);
    (most - long).max(LEAST_FOR_BOUNDS * most)
}

/// Longest time after the lead-in of a trial of a bound, where so much is left for all of them.
pub(super) fn most_of_bound(seconds: f64, left: f64) -> f64 {
    most_of(seconds, SHARE_OF_BOUND * left)
}

/// The same of a trial that follows.
pub(super) fn most_of_long(seconds: f64, left: f64) -> f64 {
    most_of(seconds, SHARE_OF_LONG * left)
}

fn most_of(seconds: f64, share: f64) -> f64 {
    share.max(LEAST_LENGTHS * seconds).min(f64::from(MOST_LENGTHS) * seconds)
}
