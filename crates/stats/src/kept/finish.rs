//! What a search amounts to, and what has to be said with it.

use super::search::Search;

/// Share of void segments near the result from which it is one of the sender's quiet moments, and how much more of them
/// than at half of the rate. Chosen.
const QUIET: f64 = 0.2;
const RISES: f64 = 0.1;
/// Loss of the confirming trial beyond the goal from which the rate was not kept. Chosen.
const LATE_LOSS: f64 = 0.003;
/// Time of an overload trial from which it has a plateau, and of a long trial from which it says something, in seconds.
const LONG_ENOUGH: f64 = 1.0;
/// Share of a kept rate below which the plateau is a collapse. Chosen: rates are found within 1%.
const COLLAPSE: f64 = 0.95;
/// Share of the sender's own limit from which a rate is a lower bound. Chosen.
pub(super) const OWN_LIMIT: f64 = 0.9;
/// Events of loss per second at half of the rate from which the loss has another cause than the rate, and share of what
/// passed at overload below which a rate is not the router's capacity. Chosen: without them the
/// rate of a router that dropped frames for 10 ms each second was 28% off (`make measure-forwarding`, seed 20261129).
const INTERRUPTIONS: f64 = 0.5;
pub(super) const LEAST_OF_PASSED: f64 = 0.7;
/// Steps of the grid around a bound whose trials tell how busy the sender's machine was.
const AROUND: i64 = 2;

/// The highest rate of one goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Loss that is allowed.
    pub loss: f64,
    /// Highest rate that was kept, in packets per second; `None`: none was.
    pub lower: Option<f64>,
    /// Lowest rate that was not; `None`: the sender could send no more.
    pub upper: Option<f64>,
}

impl Kept {
    /// The middle between both, on the log scale, which is compared; without an upper bound the lower one.
    pub fn middle(&self) -> Option<f64> {
        let lower = self.lower?;
        Some(self.upper.map_or(lower, |upper| (lower * upper).sqrt()))
    }
}

/// What has to be said with a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caveat {
    /// The sender could send no more, or no more was tried in the time: the router forwards at least that.
    AtLeast,
    /// The sender's machine was so busy that the rate was not found in time, with the share of its void segments.
    CannotHold {
        /// The share.
        void_ratio: f64,
    },
    /// The sender's machine was busy: the rate is that of the rest of the time, with its share.
    QuietMoments {
        /// The share.
        share: f64,
    },
    /// More than the sustained rate passes until so many packets of credit are used up.
    BurstCredit {
        /// Packets.
        packets: f64,
        /// Packets per second after that.
        plateau: f64,
    },
    /// At overload less is forwarded than the rate that is kept.
    Collapse {
        /// Packets per second at overload.
        plateau: f64,
    },
    /// Packets are lost at low rates as well: something else than the rate interrupts the router.
    Interruptions {
        /// Packets per second that it forwards between interruptions.
        plateau: f64,
    },
    /// The time of the search was over before its bounds were known as well as they should.
    Unfinished {
        /// Distance of the bounds, as a share of the lower one.
        width: f64,
    },
    /// A long trial at the rate lost more.
    Unsteady {
        /// Share lost.
        loss_ratio: f64,
        /// Its length.
        seconds: f64,
    },
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The rate of each goal, in the order of the goals.
    pub kept: Vec<Kept>,
    /// Packets per second received at overload.
    pub plateau: Option<f64>,
    /// What has to be said with them.
    pub caveats: Vec<Caveat>,
    /// Share of the segments near the result that did not count.
    pub void_ratio: f64,
    /// Events of loss per second at half of the rate, and at nine tenths.
    pub events_per_second: Vec<f64>,
}

impl Found {
    /// The rate that is compared: the middle between the bounds of the first goal, or what passes once credit is used
    /// up.
    pub fn rate(&self) -> Option<f64> {
        let credit = self.caveats.iter().find_map(|caveat| match caveat {
            Caveat::BurstCredit { plateau, .. } => Some(*plateau),
            _ => None,
        });
        credit.or_else(|| self.kept.first()?.middle())
    }
}

pub(super) fn found(search: &Search) -> Found {
    let goals = &search.settings.goals;
    let rate = |step: i64| search.rate_of(step);
    let kept_rates = |goal: &f64| {
        let (lower, upper) = search.kept_steps(*goal);
        Kept { loss: *goal, lower: lower.map(rate), upper: upper.map(rate) }
    };
    let counted = search.events.iter().filter(|seen| seen.seconds >= LONG_ENOUGH);
    let mut found = Found {
        kept: goals.iter().map(kept_rates).collect(),
        plateau: search.overload.map(|seen| seen.plateau),
        caveats: Vec::new(),
        void_ratio: void_ratio(search),
        events_per_second: counted.map(|seen| seen.loss_events / seen.seconds).collect(),
    };
    let Some(first) = found.kept.first_mut() else { return found };
    // How long the rate lasts has to be known, too.
    let is_short = search.confirm.is_some_and(|seen| seen.seconds < LONG_ENOUGH);
    let is_settled = search.is_settled(first.loss);
    if !is_settled {
        let (lower, upper) = search.first_bounds();
        (first.lower, first.upper) = (lower.map(rate), upper.map(rate));
    }
    if is_short || !is_settled && first.lower.is_none() {
        (first.lower, first.upper) = (None, None);
        let void_ratio = mean(&search.void);
        found.caveats.push(match search.passed {
            // The sender was in time.
            Some(plateau) if void_ratio <= QUIET => Caveat::Interruptions { plateau },
            _ => Caveat::CannotHold { void_ratio },
        });
        return found;
    }
    let first = *first;
    let Some(lower) = first.lower else { return found };
    let is_near_limit = search.sent_at_most.is_some_and(|limit| lower >= OWN_LIMIT * limit);
    if first.upper.is_none() || is_near_limit {
        found.caveats.push(Caveat::AtLeast);
    } else if let Some(upper) = first.upper.filter(|_| !is_settled) {
        found.caveats.push(Caveat::Unfinished { width: upper / lower - 1.0 });
    }
    let at_half = search.events.first().map_or(0.0, |seen| seen.void_ratio);
    let rises = !search.events.is_empty() && found.void_ratio > at_half + RISES;
    if found.void_ratio > QUIET || rises {
        found.caveats.push(Caveat::QuietMoments { share: 1.0 - found.void_ratio });
    }
    let plateau = search.passed.or(found.plateau).unwrap_or(lower);
    let at_half = search.events.first().filter(|seen| seen.seconds >= LONG_ENOUGH);
    let loses = at_half.is_some_and(|seen| seen.loss_events / seen.seconds >= INTERRUPTIONS);
    if loses || lower < LEAST_OF_PASSED * plateau {
        found.caveats.push(Caveat::Interruptions { plateau });
    } else {
        found.caveats.extend(long_trials(search, first.loss, lower));
    }
    found
}

/// What the overload trial and the confirming trial say.
fn long_trials(search: &Search, goal: f64, lower: f64) -> Option<Caveat> {
    let confirm = search.confirm?;
    let is_kept = confirm.late_loss_ratio <= goal + LATE_LOSS;
    let overload = search.overload.filter(|seen| seen.plateau > 0.0 && seen.seconds >= LONG_ENOUGH);
    match overload {
        Some(overload) if is_kept => {
            let plateau = overload.plateau;
            (plateau < COLLAPSE * lower).then_some(Caveat::Collapse { plateau })
        }
        // Without an overload trial, what came through late.
        _ if !is_kept => {
            // The long trial knows it better, unless its credit lasted into its last half.
            let plateau = overload.map_or(confirm.plateau, |seen| match seen.plateau {
                least if least < COLLAPSE * confirm.plateau => least,
                _ => confirm.plateau,
            });
            // What came through beyond the plateau, less what a queue took.
            let sustained = plateau * (confirm.all_seconds + confirm.queue_seconds);
            let packets = confirm.all_received - sustained;
            let has_credit = plateau < lower && confirm.lost > 0.0 && packets > 0.0;
            Some(match has_credit {
                true => Caveat::BurstCredit { packets, plateau },
                false => Caveat::Unsteady {
                    loss_ratio: confirm.late_loss_ratio,
                    seconds: search.settings.confirm_seconds,
                },
            })
        }
        _ => None,
    }
}

/// Share of void segments in the trials around the bounds of the first goal.
fn void_ratio(search: &Search) -> f64 {
    let (Some(lower), upper) = search.first_bounds() else { return 0.0 };
    let near = search.loads.near(lower - AROUND, upper.unwrap_or(lower) + AROUND);
    mean(&near.map(|seen| seen.void_ratio).collect::<Vec<f64>>())
}

fn mean(ratios: &[f64]) -> f64 {
    crate::interval::mean(ratios).unwrap_or_default()
}
