//! Going through values of a parameter within one trial: a sweep over given values, a search for the largest that is
//! accepted (`search`), or for the highest rate that is kept (`kept`). The runner only ever sees one point.

mod bracket;
mod kept;
mod search;

use plimsoll_model::{
    Bound, Cause, Failure, Flag, HostLoad, Length, Limit, Measure, Metric, Outcome, Parameter,
    Point, PointResult, RateUnit, Steps, Workload,
};
use plimsoll_stats::kept::{MOST_SECONDS, QUICK_SECONDS, confirm_seconds};
use rand_pcg::Pcg64;

/// Measures a point, which may take so many seconds at most where its length is not fixed.
pub(crate) type MeasurePoint<'a> =
    &'a mut dyn FnMut(&Workload, f64) -> (PointResult, Vec<HostLoad>);

/// Where a search begins, and when it ends.
pub(crate) struct Conditions<'a> {
    /// Value of an earlier search, near which one for the highest kept rate begins.
    pub start: Option<f64>,
    /// Time that the study has for it.
    pub time: TimeLimit<'a>,
}

/// Time in which a search ends.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit<'a> {
    /// Seconds from its begin to its end.
    pub most_seconds: f64,
    /// Seconds since it began.
    pub spent: &'a dyn Fn() -> f64,
}

impl TimeLimit<'_> {
    /// Whether work of so many seconds ends in time.
    fn has(self, seconds: f64) -> bool {
        (self.spent)() + seconds <= self.most_seconds
    }
}

/// Measures the trial's points by `point`, and returns what they amount to: of a sweep its best point
/// by the headline, of a search the largest value accepted; with that value as [`Measure::STEP`].
pub(crate) fn measure(
    workload: &Workload,
    steps: &Steps,
    conditions: &Conditions<'_>,
    order: &mut Pcg64,
    point: MeasurePoint<'_>,
) -> (PointResult, Vec<HostLoad>, Vec<Point>) {
    let mut trial =
        Trial { workload, steps, point, points: Vec::new(), planned_seconds: 0.0, void_points: 0 };
    let ended = match steps {
        Steps::Sweep { values, .. } => trial.sweep(values, order),
        Steps::Search { from, to, resolution, accept, .. } => {
            // A search has the time that it usually takes, though the study has less.
            let time = conditions.time;
            let most_seconds = time.most_seconds.max(workload.trial_seconds());
            trial.search(&search::Range {
                from: *from,
                to: *to,
                width: bracket::Width::new(*resolution, order),
                accept,
                time: TimeLimit { most_seconds, ..time },
            })
        }
        Steps::Kept { from, to, width, losses, final_seconds, accept, is_quick, .. } => {
            let usual = confirm_seconds(*is_quick);
            let confirm_seconds = final_seconds.unwrap_or(usual);
            let most = if *is_quick { QUICK_SECONDS } else { MOST_SECONDS };
            let time = conditions.time;
            let most_seconds = time.most_seconds.min(most + confirm_seconds - usual);
            let range = kept::Range {
                from: *from,
                to: *to,
                width: *width,
                losses,
                accept: accept.as_ref(),
                start: conditions.start,
                confirm_seconds,
                is_quick: *is_quick,
                time: TimeLimit { most_seconds, ..time },
            };
            trial.kept(&range, plimsoll_stats::order::unit(order))
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
    /// Seconds of the points at given values, as planned.
    planned_seconds: f64,
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

    /// Measures a value for so long.
    fn at(&mut self, at: f64, length: Length) -> Measured {
        let at = if self.has_whole_values() { at.round() } else { at };
        let workload = self.workload.at(self.steps.over(), at).map_err(ended)?;
        let workload = Workload { length, ..workload };
        self.planned_seconds += planned_seconds(length);
        let (mut result, loads) = self.measured(&workload, f64::INFINITY);
        if result.outcome != Outcome::Complete {
            return Err(Box::new(result));
        }
        if let Some(part) = result.parts.first_mut() {
            part.quantities.insert(Metric::all(Measure::STEP), at);
        }
        self.points.push(Point {
            at,
            accepted: None,
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
            let measured = self.at(values[index], self.workload.length)?;
            let better = |best: &(PointResult, _)| headline(&measured.0) > headline(&best.0);
            if best.as_ref().is_none_or(better) {
                best = Some(measured);
            }
        }
        best.ok_or_else(|| {
            failed("run the steps", "no values are given", "Give at least one value.")
        })
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

/// Seconds of a length that is known beforehand; 0 of work that ends when it is done.
fn planned_seconds(length: Length) -> f64 {
    match length {
        Length::For { seconds, .. } => seconds,
        Length::UntilDone { .. } => 0.0,
    }
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
    use plimsoll_model::{Arrival, DatagramsJob, Flow, Part, PartResult, PatternJob};
    use std::num::{NonZeroU16, NonZeroU32};

    pub(super) const UNBOUNDED: Conditions<'_> =
        Conditions { start: None, time: TimeLimit { most_seconds: f64::INFINITY, spent: &|| 0.0 } };

    /// Random reads of one worker, one in flight; no trial is shorter.
    pub(super) fn reads() -> Workload {
        let job = PatternJob::random_reads(Bytes(4096), Bytes(MIB)).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 0.5, warm_up_seconds: 0.1 })
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
