//! The search for the largest value that is accepted.
//!
//! It goes through the logarithm of the values, as the multiple loss ratio search of RFC 9971 does: it begins at the top,
//! continues near the rate that was carried there, and closes in from both sides. Of that RFC it has the goal of one
//! loss ratio, but trials of one length. A value near a bound is decided by the majority of up to three trials.

use super::{Measured, TimeLimit, Trial, failed, figure};
use plimsoll_model::{Bound, Flag, HostLoad, Limit, Metric, PointResult};
use rand_pcg::Pcg64;

/// Most points of one trial: halving any interval of numbers comes to its end before.
const MOST_POINTS: usize = 100;
/// Rounding of logarithms, as a share of the width of a search.
const ROUNDING: f64 = 1e-3;
/// Distance of a figure from its bound within which one trial does not decide, as a share. Chosen: latencies of trials of
/// a few seconds vary by about so much.
const NEAR: f64 = 0.1;

/// What is searched.
pub(super) struct Range<'a> {
    pub from: f64,
    pub to: f64,
    pub width: Width,
    /// Bounds that an accepted point keeps.
    pub accept: &'a [Bound],
    /// Time in which the search ends.
    pub time: TimeLimit<'a>,
}

/// A point of a search.
struct Observed {
    result: PointResult,
    loads: Vec<HostLoad>,
    is_accepted: bool,
    /// Whether another trial may show the opposite.
    is_near: bool,
}

impl Trial<'_> {
    /// Searches. Where the time is over, the result is the largest value that was accepted by then, with a flag.
    pub(super) fn search(&mut self, range: &Range<'_>) -> Measured {
        let is_count = self.has_whole_values();
        let bad = range.width.below(range.to.ln());
        let mut bracket = Bracket { good: range.from.ln(), bad, width: range.width.0, is_count };
        let top = self.decided(bracket.bad.exp(), range)?;
        if top.is_accepted {
            return Ok((top.result, top.loads));
        }
        let mut found: Option<Observed> = None;
        let mut next = bracket.near(self.carried(&top.result));
        // Without an accepted value, there is to be time for the smallest one.
        while bracket.is_open()
            && self.points.len() < MOST_POINTS
            && self.has_time(range, if found.is_some() { 1 } else { 2 })
        {
            let observed = self.decided(next.exp(), range)?;
            next = if observed.is_accepted {
                let step = next - bracket.good;
                bracket.good = next;
                // The first time the carried rate was met: the border is close above.
                let step = if found.is_none() { bracket.width } else { 2.0 * step };
                found = Some(observed);
                bracket.inside(bracket.good + step)
            } else {
                bracket.bad = next;
                bracket.near(self.carried(&observed.result))
            };
        }
        let found = match found {
            Some(found) => found,
            None => self.decided(range.from, range)?,
        };
        if let Some(bound) = violated(&found.result, range.accept).first() {
            return Err(self.unaccepted(range.from, &found.result, bound));
        }
        let mut result = found.result;
        if bracket.is_open() {
            let width_ratio = (bracket.bad - bracket.good).exp_m1();
            result.flags.push(Flag::SearchUnfinished { width_ratio });
        }
        Ok((result, found.loads))
    }

    /// Decides about a value, and marks its points with the decision.
    fn decided(&mut self, at: f64, range: &Range<'_>) -> Result<Observed, Box<PointResult>> {
        let begin = self.points.len();
        let decided = self.majority(at, range)?;
        for point in self.points.iter_mut().skip(begin) {
            point.accepted = Some(decided.is_accepted);
        }
        Ok(decided)
    }

    /// Measures a value: near a bound a second time, and a third time where these two disagree. Returns one of those that
    /// decide.
    fn majority(&mut self, at: f64, range: &Range<'_>) -> Result<Observed, Box<PointResult>> {
        let first = self.observed(at, range)?;
        if !first.is_near || !self.has_time(range, 2) {
            return Ok(first);
        }
        let second = self.observed(at, range)?;
        if second.is_accepted == first.is_accepted {
            return Ok(second);
        }
        if !self.has_time(range, 2) {
            return Ok(if second.is_accepted { first } else { second });
        }
        self.observed(at, range)
    }

    fn observed(&mut self, at: f64, range: &Range<'_>) -> Result<Observed, Box<PointResult>> {
        let (result, loads) = self.at(at)?;
        let violations = violated(&result, range.accept);
        let is_accepted = violations.is_empty();
        let is_near = match is_accepted {
            true => range.accept.iter().any(|bound| is_near(&result, bound)),
            false => violations.iter().all(|bound| is_near(&result, bound)),
        };
        Ok(Observed { result, loads, is_accepted, is_near })
    }

    /// Whether so many more points end in time, if they take as long as those before.
    fn has_time(&self, range: &Range<'_>, points: usize) -> bool {
        let each = (range.time.spent)() / self.points.len().max(1) as f64;
        range.time.has(each * points as f64)
    }

    /// Why no value was accepted.
    fn unaccepted(&self, from: f64, lowest: &PointResult, bound: &Bound) -> Box<PointResult> {
        let Bound { part, metric, limit } = *bound;
        let job = self.workload.parts.get(usize::from(part)).filter(|_| part > 0);
        let whose = job.map_or_else(String::new, |part| format!(" of {}", part.job.title()));
        let (happened, next) = match lowest.value(part, metric) {
            Some(_) => (
                format!("even at {from} {metric}{whose} is {}", limit.violation()),
                "Start with a lower value, or accept more.",
            ),
            None => (
                format!("at {from} too few operations ended for {metric}{whose}"),
                "Measure for longer, or accept by a figure of fewer operations.",
            ),
        };
        failed("find the largest accepted value", &happened, next)
    }

    /// The logarithm of the rate that arrived, where rates are searched.
    fn carried(&self, result: &PointResult) -> Option<f64> {
        let metric = Metric::all(self.rate_unit()?.carried());
        result.value(0, metric).filter(|rate| *rate > 0.0).map(f64::ln)
    }
}

/// Width of a search's result, and the phase of its grid, as logarithms. The phase is another one in each search: with
/// the same grid, the results of several blocks would agree by their grid, and not by the path (method, section 7).
#[derive(Clone, Copy)]
pub(super) struct Width(f64, f64);

impl Width {
    pub(super) fn new(share: f64, order: &mut Pcg64) -> Width {
        let width = share.max(f64::EPSILON).ln_1p();
        Width(width, width * plimsoll_stats::order::unit(order))
    }

    fn below(self, value: f64) -> f64 {
        value - self.1
    }
}

/// The largest accepted and the smallest rejected value so far, and the wanted width, as logarithms.
struct Bracket {
    good: f64,
    bad: f64,
    width: f64,
    /// Whether values are whole numbers, of which two neighbours leave nothing between them.
    is_count: bool,
}

impl Bracket {
    fn is_open(&self) -> bool {
        let are_neighbours = self.bad.exp().round() - self.good.exp().round() <= 1.0;
        self.bad - self.good > self.width * (1.0 + ROUNDING) && !(self.is_count && are_neighbours)
    }

    fn middle(&self) -> f64 {
        self.good + (self.bad - self.good) / 2.0
    }

    /// This value, if it narrows the bracket from both sides, else the middle.
    fn inside(&self, value: f64) -> f64 {
        let margin = self.width / 2.0;
        let inner = self.good + margin..=self.bad - margin;
        if inner.contains(&value) { value } else { self.middle() }
    }

    /// Just below the rate that was carried.
    fn near(&self, carried: Option<f64>) -> f64 {
        carried.map_or_else(|| self.middle(), |rate| self.inside(rate - self.width / 2.0))
    }
}

/// The bounds that a result violates; a missing figure violates its bound.
fn violated<'a>(result: &PointResult, accept: &'a [Bound]) -> Vec<&'a Bound> {
    let is_violated =
        |bound: &&Bound| figure(result, bound).is_none_or(|figure| !bound.limit.admits(figure));
    accept.iter().filter(is_violated).collect()
}

/// Whether a figure is so near its bound that the figure of another trial may lie on the other side.
fn is_near(result: &PointResult, bound: &Bound) -> bool {
    let (Limit::AtMost(limit) | Limit::AtLeast(limit)) = bound.limit;
    let distance = figure(result, bound).map(|figure| (figure / limit).ln().abs());
    distance.is_some_and(|distance| distance <= NEAR.ln_1p())
}

#[cfg(test)]
mod tests;
