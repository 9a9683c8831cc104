//! Going through values of a parameter within one trial: a sweep over given values, or a search for
//! the largest that is accepted. The runner only ever sees one point.
//!
//! A search goes through the logarithm of the values, as the multiple loss ratio search of RFC 9971 does: it begins at
//! the top, continues near the rate that was carried there, and closes in from both sides. Of that RFC it has the goal
//! of one loss ratio, but trials of one length. The highest rate that is kept has a search of its own (`kept`).

mod kept;

use plimsoll_model::{
    Bound, Cause, Failure, Flag, HostLoad, Limit, Measure, Metric, Outcome, Parameter, Point,
    PointResult, RateUnit, Steps, Workload,
};
use plimsoll_stats::kept::{MOST_SECONDS, QUICK_SECONDS, confirm_seconds};
use rand_pcg::Pcg64;

/// Most points of one trial: halving any interval of numbers comes to its end before.
const MOST_POINTS: usize = 100;
/// Rounding of logarithms, as a share of the width of a search.
const ROUNDING: f64 = 1e-3;

/// Measures a point, which may take so many seconds at most where its length is not fixed.
pub(crate) type MeasurePoint<'a> =
    &'a mut dyn FnMut(&Workload, f64) -> (PointResult, Vec<HostLoad>);

/// Where and how long a search goes on.
pub(crate) struct Bounds<'a> {
    /// Value of an earlier search, near which one for the highest kept rate begins.
    pub start: Option<f64>,
    /// Seconds that the study has for it.
    pub left_seconds: f64,
    /// Seconds since it began.
    pub spent: &'a dyn Fn() -> f64,
}

/// Measures the trial's points by `point`, and returns what they amount to: of a sweep its best point
/// by the headline, of a search the largest value accepted; with that value as [`Measure::STEP`].
pub(crate) fn measure(
    workload: &Workload,
    steps: &Steps,
    bounds: &Bounds<'_>,
    order: &mut Pcg64,
    point: MeasurePoint<'_>,
) -> (PointResult, Vec<HostLoad>, Vec<Point>) {
    let mut trial = Trial { workload, steps, point, points: Vec::new(), void_points: 0 };
    let ended = match steps {
        Steps::Sweep { values, .. } => trial.sweep(values, order),
        Steps::Search { from, to, resolution, accept, .. } => {
            trial.search(*from, *to, Width::new(*resolution, order), accept)
        }
        Steps::Kept { from, to, width, losses, final_seconds, accept, is_quick, .. } => {
            let usual = confirm_seconds(*is_quick);
            let confirm_seconds = final_seconds.unwrap_or(usual);
            let most = if *is_quick { QUICK_SECONDS } else { MOST_SECONDS };
            let range = kept::Range {
                from: *from,
                to: *to,
                width: *width,
                losses,
                accept: accept.as_ref(),
                start: bounds.start,
                confirm_seconds,
                is_quick: *is_quick,
                most_seconds: (most + confirm_seconds - usual).min(bounds.left_seconds),
            };
            trial.kept(&range, plimsoll_stats::order::unit(order), bounds.spent)
        }
    };
    let (points, void) = (trial.points, trial.void_points);
    let (mut result, loads) = ended.unwrap_or_else(|ended| (*ended, Vec::new()));
    result.flags.extend((void > 0).then_some(Flag::VoidPoints { count: void }));
    (result, loads, points)
}

/// A point's result and the loads of the hosts; where a point did not end well, its result alone, which
/// is that of the trial.
type Measured = Result<(PointResult, Vec<HostLoad>), Box<PointResult>>;

struct Trial<'a> {
    workload: &'a Workload,
    steps: &'a Steps,
    point: MeasurePoint<'a>,
    points: Vec<Point>,
    /// Points that were void and were measured again.
    void_points: u32,
}

impl Trial<'_> {
    /// Measures a point, and again where it is void: a void point is neither accepted nor rejected. After a few of them
    /// the trial is void.
    fn measured(&mut self, workload: &Workload, most_seconds: f64) -> (PointResult, Vec<HostLoad>) {
        let mut measured = (self.point)(workload, most_seconds);
        for _ in 0..Outcome::VOID_REPETITIONS {
            if !measured.0.outcome.is_void() {
                break;
            }
            self.void_points += 1;
            measured = (self.point)(workload, most_seconds);
        }
        measured
    }

    fn at(&mut self, at: f64, accept: Option<&[Bound]>) -> Measured {
        let at = if self.has_whole_values() { at.round() } else { at };
        let workload = self.workload.at(self.steps.over(), at).map_err(ended)?;
        let (mut result, loads) = self.measured(&workload, f64::INFINITY);
        if result.outcome != Outcome::Complete {
            return Err(Box::new(result));
        }
        if let Some(part) = result.parts.first_mut() {
            part.quantities.insert(Metric::all(Measure::STEP), at);
        }
        self.points.push(Point {
            at,
            accepted: accept.map(|accept| violated(&result, accept).is_none()),
            parts: result.parts.clone(),
            loads: loads.clone(),
        });
        Ok((result, loads))
    }

    fn sweep(&mut self, values: &[f64], order: &mut Pcg64) -> Measured {
        let headline = self.workload.main().map(|part| part.headline());
        let headline = |result: &PointResult| headline.and_then(|metric| result.value(0, metric));
        let mut best: Option<(PointResult, Vec<HostLoad>)> = None;
        for index in plimsoll_stats::order::shuffled(values.len(), order) {
            let measured = self.at(values[index], None)?;
            let better = |best: &(PointResult, _)| headline(&measured.0) > headline(&best.0);
            if best.as_ref().is_none_or(better) {
                best = Some(measured);
            }
        }
        best.ok_or_else(|| {
            failed("run the steps", "no values are given", "Give at least one value.")
        })
    }

    fn search(&mut self, from: f64, to: f64, width: Width, accept: &[Bound]) -> Measured {
        let is_count = self.has_whole_values();
        let bad = width.below(to.ln());
        let mut bracket = Bracket { good: from.ln(), bad, width: width.0, is_count };
        let top = self.at(bracket.bad.exp(), Some(accept))?;
        if violated(&top.0, accept).is_none() {
            return Ok(top);
        }
        let (mut found, mut next) = (None, bracket.near(self.carried(&top.0)));
        while bracket.is_open() && self.points.len() < MOST_POINTS {
            let measured = self.at(next.exp(), Some(accept))?;
            next = if violated(&measured.0, accept).is_none() {
                let step = next - bracket.good;
                bracket.good = next;
                // The first time the carried rate was met: the border is close above.
                let step = if found.is_none() { bracket.width } else { 2.0 * step };
                found = Some(measured);
                bracket.inside(bracket.good + step)
            } else {
                bracket.bad = next;
                bracket.near(self.carried(&measured.0))
            };
        }
        match found {
            Some(found) => Ok(found),
            None => {
                self.at(from, Some(accept)).and_then(|lowest| match violated(&lowest.0, accept) {
                    None => Ok(lowest),
                    Some(bound) => Err(self.unaccepted(from, &lowest.0, bound)),
                })
            }
        }
    }

    /// Why no value was accepted.
    fn unaccepted(&self, from: f64, lowest: &PointResult, bound: &Bound) -> Box<PointResult> {
        let Bound { part, metric, limit } = *bound;
        let job = self.workload.parts.get(usize::from(part)).filter(|_| part > 0);
        let whose = job.map_or_else(String::new, |part| format!(" of {}", part.job.title()));
        let (happened, next) = match figure(lowest, bound) {
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

    /// Unit of the values, where they are rates.
    fn rate_unit(&self) -> Option<RateUnit> {
        self.workload.rate_unit().filter(|_| self.steps.over() == Parameter::Rate)
    }

    /// Whether the values are whole numbers.
    fn has_whole_values(&self) -> bool {
        self.rate_unit() != Some(RateUnit::Bytes)
    }
}

/// Width of a search's result, and the phase of its grid, as logarithms. The phase is another one in each search: with
/// the same grid, the results of several blocks would agree by their grid, and not by the path (method, section 7).
#[derive(Clone, Copy)]
struct Width(f64, f64);

impl Width {
    fn new(share: f64, order: &mut Pcg64) -> Width {
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

/// The first bound that a result violates; a missing figure violates its bound.
fn violated<'a>(result: &PointResult, accept: &'a [Bound]) -> Option<&'a Bound> {
    let is_violated =
        |bound: &&Bound| figure(result, bound).is_none_or(|figure| !bound.limit.admits(figure));
    accept.iter().find(is_violated)
}

/// The figure that is bounded. A quantile of too few operations or frames is no larger than the largest of them.
fn figure(result: &PointResult, bound: &Bound) -> Option<f64> {
    let Bound { part, metric, limit } = *bound;
    let largest = match metric.measure {
        Measure::LATENCY_P50 | Measure::LATENCY_P99 => Measure::LATENCY_MAX,
        Measure::QUEUE_P99 => Measure::QUEUE_MOST,
        measure => measure,
    };
    let largest = || result.value(part, Metric { measure: largest, ..metric });
    let is_at_most = matches!(limit, Limit::AtMost(_));
    result.value(part, metric).or_else(|| largest().filter(|_| is_at_most))
}

fn failed(tried: &str, happened: &str, next: &str) -> Box<PointResult> {
    let failure =
        Failure::new(Cause::Trial, tried).on("the trial's steps").happened(happened).next(next);
    ended(failure)
}

fn ended(failure: Failure) -> Box<PointResult> {
    Box::new(PointResult::empty(Outcome::Failed { phase: "measure".into(), failure }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::{Bytes, MIB};
    use plimsoll_model::{
        Arrival, DatagramsJob, Flow, Length, Part, PartResult, PatternJob, StreamJob, VoidReason,
    };
    use std::num::{NonZeroU16, NonZeroU32};

    const LOSS: Metric = Metric::all(StreamJob::LOSS);
    const UNBOUNDED: Bounds<'_> =
        Bounds { start: None, left_seconds: f64::INFINITY, spent: &|| 0.0 };

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
            assert!(points.len() <= 8, "{} points", points.len());
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

    /// Random reads of one worker, one in flight.
    fn reads() -> Workload {
        let job = PatternJob::random_reads(Bytes(4096), Bytes(MIB)).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
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

    #[test]
    fn rates_of_a_sweep_are_the_operations_that_are_due_in_a_second() {
        let steps = Steps::Sweep { over: Parameter::Rate, values: vec![50.0, 200.0, 400.0] };
        let (depth, per_second) = (NonZeroU16::new(8).unwrap(), NonZeroU32::MIN);
        let mut workload = reads();
        workload.parts[0].arrival = Arrival::Paced { depth, per_second };
        let mut order = plimsoll_stats::order::generator(1, "steps");
        let mut due = Vec::new();
        let mut point = |at: &Workload, _: f64| {
            let arrival = at.parts[0].arrival;
            assert_eq!(arrival.depth(), depth);
            due.push(f64::from(arrival.per_second().unwrap().get()));
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts: vec![PartResult::default()], ..complete }, Vec::new())
        };
        let (_, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
        let at: Vec<f64> = points.iter().map(|point| point.at).collect();
        assert_eq!(due, at);
        due.sort_by(f64::total_cmp);
        assert_eq!(due, [50.0, 200.0, 400.0]);
    }

    #[test]
    fn steps_that_a_job_does_not_have_end_a_trial_by_a_failure() {
        let steps = Steps::Sweep { over: Parameter::Workers, values: vec![1.0, 2.0] };
        let job = DatagramsJob::new(Flow::Out).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let workload = Workload { parts: vec![part], ..reads() };
        let mut order = plimsoll_stats::order::generator(1, "steps");
        let mut point =
            |at: &Workload, _: f64| -> (PointResult, Vec<HostLoad>) { panic!("measured: {at:?}") };
        let (result, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
        let Outcome::Failed { failure, .. } = result.outcome else { panic!("{result:?}") };
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "UDP out"));
        assert!(failure.happened.contains("it has no workers that can be set"), "{failure}");
        assert!(points.is_empty());
    }
}
