//! Going through values of a parameter within one trial: a sweep over given values, or a search for
//! the largest that is accepted. The runner only ever sees one point.

use plimsoll_model::{
    Accept, Cause, Failure, HostLoad, Measure, Metric, Outcome, Point, PointResult, Steps, Workload,
};
use rand_pcg::Pcg64;

/// Most points of one trial: halving any interval of numbers comes to its end before.
const MOST_POINTS: usize = 100;

/// Measures the trial's points by `point`, and returns what they amount to: of a sweep its best point
/// by the headline, of a search the largest value accepted; with that value as [`Measure::STEP`].
pub(crate) fn measure(
    workload: &Workload,
    steps: &Steps,
    order: &mut Pcg64,
    point: &mut dyn FnMut(&Workload) -> (PointResult, Vec<HostLoad>),
) -> (PointResult, Vec<HostLoad>, Vec<Point>) {
    let mut trial = Trial { workload, steps, point, points: Vec::new() };
    let ended = match steps {
        Steps::Sweep { values, .. } => trial.sweep(values, order),
        Steps::Search { from, to, resolution, accept, .. } => {
            trial.search(*from, *to, *resolution, accept)
        }
    };
    let points = trial.points;
    match ended {
        Ok((result, loads)) => (result, loads, points),
        Err(ended) => (*ended, Vec::new(), points),
    }
}

/// A point's result and the loads of the hosts; where a point did not end well, its result alone, which
/// is that of the trial.
type Measured = Result<(PointResult, Vec<HostLoad>), Box<PointResult>>;

struct Trial<'a> {
    workload: &'a Workload,
    steps: &'a Steps,
    point: &'a mut dyn FnMut(&Workload) -> (PointResult, Vec<HostLoad>),
    points: Vec<Point>,
}

impl Trial<'_> {
    fn at(&mut self, at: f64, accept: Option<&Accept>) -> Measured {
        let (mut result, loads) = (self.point)(&self.workload.at(self.steps.over(), at));
        if result.outcome != Outcome::Complete {
            return Err(Box::new(result));
        }
        if let Some(part) = result.parts.first_mut() {
            part.quantities.insert(Metric::all(Measure::STEP), at);
        }
        self.points.push(Point {
            at,
            accepted: accept.map(|accept| is_accepted(&result, accept)),
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

    fn search(&mut self, from: f64, to: f64, resolution: f64, accept: &Accept) -> Measured {
        let (highest, loads) = self.at(to, Some(accept))?;
        if is_accepted(&highest, accept) {
            return Ok((highest, loads));
        }
        let (lowest, loads) = self.at(from, Some(accept))?;
        if !is_accepted(&lowest, accept) {
            let happened = format!("even at {from} {} is above {}", accept.metric, accept.at_most);
            let next = "Start with a lower value, or accept a higher limit.";
            return Err(failed("find the largest accepted value", &happened, next));
        }
        let (mut good, mut bad, mut found) = (from, to, (lowest, loads));
        while bad - good > resolution && self.points.len() < MOST_POINTS {
            let middle = good + (bad - good) / 2.0;
            let measured = self.at(middle, Some(accept))?;
            if is_accepted(&measured.0, accept) {
                (good, found) = (middle, measured);
            } else {
                bad = middle;
            }
        }
        Ok(found)
    }
}

/// A figure that is missing is not accepted.
fn is_accepted(result: &PointResult, accept: &Accept) -> bool {
    result.value(0, accept.metric).is_some_and(|value| value <= accept.at_most)
}

fn failed(tried: &str, happened: &str, next: &str) -> Box<PointResult> {
    let failure = Failure::new(Cause::Trial, tried, "the trial's steps", happened, next);
    Box::new(PointResult::empty(Outcome::Failed { phase: "measure".into(), failure }))
}
