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
mod tests {
    use super::*;
    use crate::steps::tests::{UNBOUNDED, reads};
    use crate::steps::{Conditions, measure};
    use plimsoll_model::{
        DatagramsJob, Flow, Length, Measure, Outcome, Parameter, Part, PartResult, Point, Steps,
        StreamJob, VoidReason, Workload,
    };
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::num::NonZeroU16;

    const LOSS: Metric = Metric::all(StreamJob::LOSS);

    fn searched(
        carried: impl Fn(f64) -> f64,
        at_most: f64,
        seed: u64,
    ) -> (PointResult, Vec<Point>) {
        let accept = vec![Bound::at_most(LOSS, at_most)];
        let over = Parameter::Rate;
        let steps = Steps::Search { over, from: 1e4, to: 1e10, resolution: 0.01, accept };
        let job = DatagramsJob::new(Flow::Out).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let workload = Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 });
        let mut order = plimsoll_stats::order::generator(seed, "steps");
        let mut point = |at: &Workload, _: f64| {
            let plimsoll_model::Job::Datagrams(job) = &at.parts[0].job else { panic!("{at:?}") };
            let offered = f64::from(job.rate.unwrap().get()) * job.payload.0 as f64;
            let carried = carried(offered);
            let quantities = [
                (Metric::all(Measure::THROUGHPUT), carried),
                (LOSS, (1.0 - carried / offered).max(0.0)),
            ];
            let part = PartResult { quantities: quantities.into(), ..PartResult::default() };
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts: vec![part], ..complete }, Vec::new())
        };
        let (result, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
        (result, points)
    }

    #[test]
    fn a_rate_is_found_in_a_few_points_and_not_on_one_grid() {
        let mut all = Vec::new();
        for seed in 0..20 {
            let (found, points) = searched(|offered| offered.min(1.2e8), 0.005, seed);
            let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
            assert!((1.19e8..1.2061e8).contains(&at), "{at}");
            assert!(points.len() <= 10, "{} points", points.len());
            let rejected = points.iter().filter(|point| point.accepted == Some(false));
            let bad = rejected.map(|point| point.at).fold(f64::INFINITY, f64::min);
            assert!(bad / at < 1.0101, "{bad} {at}");
            all.push(points[0].at);
        }
        all.dedup();
        assert_eq!(all.len(), 20, "{all:?}");
    }

    #[test]
    fn a_path_that_collapses_under_overload_is_searched_to_the_end() {
        let collapsing = |offered: f64| if offered > 5e7 { 2e6 } else { offered };
        let (found, points) = searched(collapsing, 0.0, 1);
        let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!((4.95e7..=5e7).contains(&at), "{at}");
        assert!(points.len() < 25, "{} points", points.len());
    }

    #[test]
    fn a_path_that_loses_at_any_rate_fails_and_one_without_loss_takes_one_point() {
        let (lossy, _) = searched(|offered| 0.5 * offered, 0.1, 1);
        let Outcome::Failed { failure, .. } = lossy.outcome else { panic!("{lossy:?}") };
        assert!(failure.happened.contains("loss_ratio is above 0.1"), "{failure}");
        let (_, points) = searched(|offered| offered, 0.0, 1);
        assert_eq!(points.len(), 1);
    }

    /// Searches 1 to 64 workers for a p99 of 10 ms; `latencies` are p99 and largest latency of so many.
    fn most_workers(
        latencies: impl Fn(u16) -> (Option<f64>, f64),
        seed: u64,
    ) -> (PointResult, Vec<Point>) {
        let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
        let over = Parameter::Workers;
        let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.05, accept };
        let workload = reads();
        let mut order = plimsoll_stats::order::generator(seed, "steps");
        let mut point = |at: &Workload, _: f64| {
            let (p99, largest) = latencies(at.parts[0].workers.get());
            let mut quantities = vec![(Metric::all(Measure::LATENCY_MAX), largest)];
            quantities.extend(p99.map(|p99| (Metric::all(Measure::LATENCY_P99), p99)));
            let quantities = quantities.into_iter().collect();
            let part = PartResult { quantities, ..PartResult::default() };
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts: vec![part], ..complete }, Vec::new())
        };
        let (result, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
        (result, points)
    }

    #[test]
    fn numbers_of_workers_are_whole_and_the_largest_accepted_one_is_found() {
        for (most, seed) in (1..64).zip(0..) {
            let latency = |workers: u16| if workers > most { 20e-3 } else { 1e-3 };
            let (found, points) = most_workers(|workers| (Some(latency(workers)), 1.0), seed);
            let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
            assert!(at <= f64::from(most) && f64::from(most) <= 1.05 * at, "{at} of {most}");
            assert!(points.iter().all(|point| point.at.fract() == 0.0), "{points:?}");
            assert!(points.len() <= 12, "{} points for {most}", points.len());
        }
    }

    #[test]
    fn a_quantile_of_too_few_operations_is_no_larger_than_the_largest() {
        let few = |workers: u16| (None, 2e-3 * f64::from(workers));
        let (found, _) = most_workers(few, 1);
        assert_eq!(found.value(0, Metric::all(Measure::STEP)), Some(5.0));
        let (none, _) = most_workers(|_| (None, 20e-3), 1);
        let Outcome::Failed { failure, .. } = none.outcome else { panic!("{none:?}") };
        assert!(failure.happened.contains("too few operations ended for latency_p99"), "{failure}");
    }

    /// The p99 of reads grows with the workers that write, and their operations per second shrink.
    #[test]
    fn bounds_on_the_second_part_decide() {
        let found = |accept: Vec<Bound>| {
            let over = Parameter::Workers;
            let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
            let parts = [reads().parts, reads().parts].concat();
            let workload = Workload { parts, ..reads() };
            let mut order = plimsoll_stats::order::generator(1, "steps");
            let mut point = |at: &Workload, _: f64| {
                let workers = f64::from(at.parts[0].workers.get());
                assert_eq!(at.parts[1].workers, NonZeroU16::MIN);
                let part = |p99: f64, iops: f64| {
                    let figures = [(Measure::LATENCY_P99, p99), (Measure::IOPS, iops)];
                    let figures = figures.map(|(measure, value)| (Metric::all(measure), value));
                    PartResult { quantities: figures.into(), ..PartResult::default() }
                };
                let parts = vec![part(1e-3, 100.0), part(1e-3 * workers, 3000.0 / workers)];
                let complete = PointResult::empty(Outcome::Complete);
                (PointResult { parts, ..complete }, Vec::new())
            };
            measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point).0
        };
        let step = |accept| found(accept).value(0, Metric::all(Measure::STEP));
        let p99 = Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3);
        assert_eq!(step(vec![p99.on(1)]), Some(10.0));
        let iops = Bound::at_least(Metric::all(Measure::IOPS), 1000.0).on(1);
        assert_eq!(step(vec![iops]), Some(3.0));
        assert_eq!(step(vec![p99.on(1), iops]), Some(3.0), "all of them decide");
        assert!(step(vec![p99]).is_some_and(|workers| workers > 60.0), "the first part is fast");
        let never = Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.5e-3);
        let Outcome::Failed { failure, .. } = found(vec![p99, never.on(1)]).outcome else {
            panic!()
        };
        assert!(failure.happened.contains("seconds of random read is above 0.0005"), "{failure}");
    }

    /// Every other point is void, or all of them are.
    #[test]
    fn a_void_point_is_neither_accepted_nor_rejected() {
        let found = |always: bool| {
            let over = Parameter::Workers;
            let p99 = Metric::all(Measure::LATENCY_P99);
            let accept = vec![Bound::at_most(p99, 10e-3)];
            let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
            let mut order = plimsoll_stats::order::generator(1, "steps");
            let mut is_void = false;
            let mut point = |at: &Workload, _: f64| {
                is_void = always || !is_void;
                let reason = VoidReason::LateGenerator { late_seconds: 0.5, seconds: 1.0 };
                // A void point that was counted would accept everything.
                let latency = if is_void { 0.0 } else { 1e-3 };
                let quantities = [(p99, latency * f64::from(at.parts[0].workers.get()))].into();
                let part = PartResult { quantities, ..PartResult::default() };
                let outcome = if is_void { Outcome::Void { reason } } else { Outcome::Complete };
                (PointResult { parts: vec![part], ..PointResult::empty(outcome) }, Vec::new())
            };
            let (result, _, points) = measure(&reads(), &steps, &UNBOUNDED, &mut order, &mut point);
            (result, points)
        };
        let (result, points) = found(false);
        assert_eq!(result.value(0, Metric::all(Measure::STEP)), Some(10.0));
        assert_eq!(result.flags, [Flag::VoidPoints { count: points.len() as u32 }]);
        let (result, points) = found(true);
        assert!(result.outcome.is_void() && points.is_empty(), "{result:?}");
    }

    /// Searches 1 to 64 workers for a p99 of 10 ms, which depends on their number and on how often it was measured.
    fn observed(
        p99: impl Fn(u16, usize) -> f64,
        most_seconds: f64,
    ) -> (PointResult, Vec<Point>, f64) {
        let metric = Metric::all(Measure::LATENCY_P99);
        let accept = vec![Bound::at_most(metric, 10e-3)];
        let over = Parameter::Workers;
        let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
        let mut order = plimsoll_stats::order::generator(1, "steps");
        let spent = Cell::new(0.0);
        let mut times: BTreeMap<u16, usize> = BTreeMap::new();
        let mut point = |at: &Workload, _: f64| {
            spent.set(spent.get() + 1.0);
            let workers = at.parts[0].workers.get();
            let times = times.entry(workers).or_default();
            let quantities = [(metric, p99(workers, *times))].into();
            *times += 1;
            let part = PartResult { quantities, ..PartResult::default() };
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts: vec![part], ..complete }, Vec::new())
        };
        let time = TimeLimit { most_seconds, spent: &|| spent.get() };
        let conditions = Conditions { start: None, time };
        let (result, _, points) = measure(&reads(), &steps, &conditions, &mut order, &mut point);
        (result, points, spent.get())
    }

    /// Whether a value was measured three times, or three times again, and was always decided alike.
    fn are_all(points: &[Option<bool>], accepted: bool) -> bool {
        let alike = points.iter().all(|own| *own == Some(accepted));
        !points.is_empty() && points.len().is_multiple_of(3) && alike
    }

    /// From 9 to 20 workers, one of three trials shows the opposite.
    #[test]
    fn a_value_near_its_bound_is_decided_by_three_trials() {
        let cycle = |first: f64, others: f64| {
            let p99 = move |workers: u16, times: usize| match workers {
                0..=8 => 5e-3,
                9..=20 if times.is_multiple_of(3) => first,
                9..=20 => others,
                _ => 40e-3,
            };
            let (result, points, _) = observed(p99, f64::INFINITY);
            let found = result.value(0, Metric::all(Measure::STEP)).unwrap();
            let at = |value: f64| -> Vec<Option<bool>> {
                let own = points.iter().filter(|point| point.at == value);
                own.map(|point| point.accepted).collect()
            };
            assert!(result.flags.is_empty(), "{result:?}");
            (found, result.value(0, Metric::all(Measure::LATENCY_P99)).unwrap(), at(found), at(9.0))
        };
        let (found, p99, _, lowest) = cycle(9.5e-3, 10.5e-3);
        assert_eq!((found, p99), (8.0, 5e-3), "the first trial alone would accept 20 workers");
        assert!(are_all(&lowest, false), "{lowest:?}");
        let (found, p99, own, _) = cycle(10.5e-3, 9.5e-3);
        assert_eq!((found, p99), (20.0, 9.5e-3), "the first trial alone would reject 9 workers");
        assert!(are_all(&own, true), "{own:?}");
    }

    #[test]
    fn a_search_ends_in_its_time_with_the_largest_value_so_far() {
        let most =
            |most: u16| move |workers: u16, _: usize| if workers > most { 20e-3 } else { 1e-3 };
        let (result, points, spent) = observed(most(10), 6.0);
        let found = result.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!(spent <= 6.0 && points.len() == 6, "{points:?}");
        let accepted = points.iter().filter(|point| point.accepted == Some(true));
        assert_eq!(accepted.map(|point| point.at).fold(0.0, f64::max), found);
        let rejected = points.iter().filter(|point| point.accepted == Some(false));
        let least = rejected.map(|point| point.at).fold(f64::INFINITY, f64::min);
        let [Flag::SearchUnfinished { width_ratio }] = result.flags[..] else {
            panic!("{result:?}")
        };
        assert!((width_ratio / (least / found - 1.0) - 1.0).abs() < 0.2, "{width_ratio}");
        // Without an accepted value the last point is the smallest one.
        let (none, points, spent) = observed(most(0), 6.0);
        assert!(spent <= 6.0 && points.last().unwrap().at == 1.0, "{points:?}");
        assert!(matches!(none.outcome, Outcome::Failed { .. }), "{none:?}");
        // With time enough it is exact.
        let (result, ..) = observed(most(10), 60.0);
        assert_eq!(result.value(0, Metric::all(Measure::STEP)), Some(10.0));
        assert!(result.flags.is_empty(), "{result:?}");
    }
}
