//! The search for the largest value that is accepted.
//!
//! It goes through the logarithm of the values, as the multiple loss ratio search of RFC 9971 does: it begins at the top,
//! continues near the rate that was carried there, and closes in from both sides. Of that RFC it has the goal of one
//! loss ratio, and trials that become longer: where bounds are on figures of operations, short ones while values are far
//! from the bound. Only trials of full length decide the result. A value near a bound is decided by the majority of up to
//! three of them.

use super::bracket::{Bracket, Next, Width};
use super::{Measured, TimeLimit, Trial, failed, figure, planned_seconds};
use plimsoll_model::{
    Bound, Flag, HostLoad, Length, Limit, Measure, Metric, PointResult, RateUnit,
};

/// Most points of one trial: halving any interval of numbers comes to its end before.
const MOST_POINTS: usize = 100;
/// Distance of a figure from its bound within which one trial does not decide, as a share. Chosen: latencies of trials of
/// a few seconds vary by about so much. In a shorter trial it grows as the standard error of a mean does.
const NEAR: f64 = 0.1;
/// Operations that a short trial has time for, over those that its figures need: the ones in flight at its end do not
/// count. Chosen.
const MORE_OPERATIONS: f64 = 1.1;

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
    /// Whether it had the full length.
    is_final: bool,
}

impl Trial<'_> {
    /// Searches. Where the time is over, the result is the largest value that was accepted by then, with a flag.
    pub(super) fn search(&mut self, range: &Range<'_>) -> Measured {
        let is_count = self.has_whole_values();
        let mut bracket = Bracket::new(range.from, range.to, range.width, is_count);
        let mut found: Option<Observed> = None;
        let mut proposed = bracket.first();
        while let Some(next) = bracket.next(proposed)
            && self.points.len() < MOST_POINTS
        {
            let length = self.length(next, range);
            // There is to be time for a result: for an accepted value at full length, and for the smallest one where
            // that is rejected.
            let reserve = match (&found, bracket.unconfirmed()) {
                (Some(_), _) => 0,
                (None, Some(_)) => 2,
                (None, None) => 1,
            };
            if !self.points.is_empty() && !self.has_time(range, length, reserve) {
                break;
            }
            let observed = self.decided(next.at.exp(), length, range)?;
            let decided = Next { is_final: observed.is_final, ..next };
            let carried = self.carried(&observed.result);
            proposed = bracket.take(decided, observed.is_accepted, carried);
            if observed.is_accepted && observed.is_final {
                found = Some(observed);
            }
        }
        let full = self.workload.length;
        let unconfirmed = bracket.unconfirmed().filter(|_| found.is_none());
        if let Some(at) = unconfirmed
            && self.has_time(range, full, 1)
        {
            let observed = self.decided(at.exp(), full, range)?;
            let decided = Next { at, is_final: true };
            proposed = bracket.take(decided, observed.is_accepted, None);
            found = Some(observed).filter(|observed| observed.is_accepted);
        }
        let found = match found {
            Some(found) => found,
            None => self.decided(range.from, full, range)?,
        };
        if let Some(bound) = violated(&found.result, range.accept).first() {
            return Err(self.unaccepted(range.from, &found.result, bound));
        }
        self.mark_points(&found.result);
        let mut result = found.result;
        if bracket.next(proposed).is_some() {
            let width_ratio = bracket.width_ratio();
            result.flags.push(Flag::SearchUnfinished { width_ratio });
        }
        Ok((result, found.loads))
    }

    /// Marks the points by the result, whatever short trials showed.
    fn mark_points(&mut self, found: &PointResult) {
        let Some(at) = found.value(0, Metric::all(Measure::STEP)) else { return };
        for point in &mut self.points {
            point.accepted = Some(point.at <= at);
        }
    }

    /// Decides about a value, and marks its points with the decision. A short trial decides for now, if its figures are
    /// far from their bounds.
    fn decided(
        &mut self,
        at: f64,
        length: Length,
        range: &Range<'_>,
    ) -> Result<Observed, Box<PointResult>> {
        let begin = self.points.len();
        let full = self.workload.length;
        let mut decided = self.observed(at, length, range)?;
        if decided.is_near && !decided.is_final && self.has_time(range, full, 1) {
            decided = self.observed(at, full, range)?;
        }
        if decided.is_near && decided.is_final {
            decided = self.majority(decided, at, range)?;
        }
        for point in self.points.iter_mut().skip(begin) {
            point.accepted = Some(decided.is_accepted);
        }
        Ok(decided)
    }

    /// Measures a value that is near a bound a second time, and a third time where these two disagree. Returns one of
    /// those that decide.
    fn majority(
        &mut self,
        first: Observed,
        at: f64,
        range: &Range<'_>,
    ) -> Result<Observed, Box<PointResult>> {
        let full = self.workload.length;
        if !self.has_time(range, full, 1) {
            return Ok(first);
        }
        let second = self.observed(at, full, range)?;
        if second.is_accepted == first.is_accepted {
            return Ok(second);
        }
        if !self.has_time(range, full, 1) {
            return Ok(if second.is_accepted { first } else { second });
        }
        self.observed(at, full, range)
    }

    fn observed(
        &mut self,
        at: f64,
        length: Length,
        range: &Range<'_>,
    ) -> Result<Observed, Box<PointResult>> {
        let full = self.workload.length;
        let (result, loads) = self.at(at, length)?;
        let violations = violated(&result, range.accept);
        let is_accepted = violations.is_empty();
        let is_final = length == full;
        let near = match is_final {
            true => NEAR,
            false => NEAR * (full.seconds() / length.seconds()).sqrt(),
        };
        let may_be_kept = |bound: &&Bound| {
            is_near(&result, bound, near) || !is_final && is_of_too_few(&result, bound)
        };
        let is_near = match is_accepted {
            true => range.accept.iter().any(|bound| is_near(&result, bound, near)),
            false => violations.iter().all(may_be_kept),
        };
        Ok(Observed { result, loads, is_accepted, is_near, is_final })
    }

    /// Length of the next trial: a short one has time for the operations that the bounds' figures need.
    fn length(&self, next: Next, range: &Range<'_>) -> Length {
        let full = self.workload.length;
        let first = self.workload.first_length(range.accept).filter(|_| !next.is_final);
        let (Some(first), Length::For { seconds, warm_up_seconds }) = (first, full) else {
            return full;
        };
        let at = next.at.exp();
        let needed = range.accept.iter().map(|bound| self.seconds_needed(bound, at));
        let needed = needed.fold(0.0, f64::max) * seconds / (seconds - warm_up_seconds);
        full.shortened(first.seconds().max(needed)).unwrap_or(full)
    }

    /// Seconds in which as many operations end as a bound's figure needs; 0 while their rate is not known.
    fn seconds_needed(&self, bound: &Bound, at: f64) -> f64 {
        let rate = match self.rate_unit() {
            Some(RateUnit::Operations) if bound.part == 0 => Some(at),
            // Not much less than at the value before.
            _ => self.points.last().and_then(|point| {
                let part = point.parts.get(usize::from(bound.part))?;
                part.quantities.get(&Metric::all(Measure::IOPS)).copied()
            }),
        };
        let needed = MORE_OPERATIONS * f64::from(bound.operations().unwrap_or(0));
        rate.filter(|rate| *rate > 0.0).map_or(0.0, |rate| needed / rate)
    }

    /// Whether the next trial and so many more of full length end in time, if as much time lies between them as between
    /// those before.
    fn has_time(&self, range: &Range<'_>, next: Length, more: usize) -> bool {
        let between = ((range.time.spent)() - self.planned_seconds).max(0.0);
        let change_over = between / self.points.len().max(1) as f64;
        let full = planned_seconds(self.workload.length) + change_over;
        range.time.has(planned_seconds(next) + change_over + full * more as f64)
    }

    /// Why no value was accepted.
    fn unaccepted(&self, from: f64, lowest: &PointResult, bound: &Bound) -> Box<PointResult> {
        let Bound { part, metric, limit } = *bound;
        let job = self.workload.parts.get(usize::from(part)).filter(|_| part > 0);
        let whose = job.map_or_else(String::new, |part| format!(" of {}", part.job.title()));
        let (happened, next) = match lowest.value(part, metric) {
            Some(_) => (
                format!("even at {from} {metric}{whose} is {}", limit.violation()),
                "Start with a lower value, or relax the bound.",
            ),
            None => (
                format!("at {from} too few operations ended for {metric}{whose}"),
                "Measure for longer, or bound a figure that needs fewer operations, such as latency-p50.",
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

/// The bounds that a result violates; a missing figure violates its bound.
fn violated<'a>(result: &PointResult, accept: &'a [Bound]) -> Vec<&'a Bound> {
    let is_violated =
        |bound: &&Bound| figure(result, bound).is_none_or(|figure| !bound.limit.admits(figure));
    accept.iter().filter(is_violated).collect()
}

/// Whether a figure is so near its bound, as a share, that the figure of another trial may lie on the other side.
fn is_near(result: &PointResult, bound: &Bound, near: f64) -> bool {
    let (Limit::AtMost(limit) | Limit::AtLeast(limit)) = bound.limit;
    let distance = figure(result, bound).map(|figure| (figure / limit).ln().abs());
    distance.is_some_and(|distance| distance <= near.ln_1p())
}

/// Whether only the largest of too few operations violates a bound on a quantile. A median above the bound shows that any
/// higher quantile is, too.
fn is_of_too_few(result: &PointResult, bound: &Bound) -> bool {
    let median = Metric { measure: Measure::LATENCY_P50, ..bound.metric };
    let admits = |median: f64| bound.limit.admits(median);
    result.value(bound.part, bound.metric).is_none()
        && result.value(bound.part, median).is_none_or(admits)
}

#[cfg(test)]
mod tests;
