//! The figure of a row today, its spread over the blocks, and a predicted range in its unit.

use super::bounds::Rates;
use super::{Answer, Unknown};
use crate::Limits;
use crate::gather::{Gathered, is_imported};
use plimsoll_model::{Cell, Measure, Metric, Study};
use plimsoll_stats::interval::{mean, t_interval};

/// A row today.
pub(super) struct Today {
    pub(super) measure: Measure,
    /// Geometric mean over the blocks.
    pub(super) figure: f64,
    /// Ends of its Student-t range as shares of it; 1 where there is none.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The speed of a row; of rows whose speed is a time or that step through values, operations or bytes per second.
pub(super) fn today(
    study: &Study,
    gathered: &Gathered<'_>,
    cell: Cell,
    limits: Option<&Limits>,
) -> Option<Today> {
    let workload = study.plan.workload(cell)?;
    let speed = workload.main()?.job.speed();
    let is_rate = study.info(speed).is_some_and(|info| ["1/s", "B/s"].contains(&&*info.unit));
    let logs = gathered.results(cell, workload.headline_part()).logs(Metric::all(speed));
    let known = mean(&logs).filter(|_| is_rate && workload.steps.is_none());
    let Some(log) = known else {
        let limits = limits?;
        let (measure, figure) =
            match limits.bytes_per_operation > 0.0 && speed == Measure::THROUGHPUT {
                true => (speed, limits.per_second * limits.bytes_per_operation),
                false => (Measure::IOPS, limits.per_second),
            };
        return Some(Today { measure, figure, low: 1.0, high: 1.0 });
    };
    let range = t_interval(&logs, study.plan.design.confidence).filter(|_| !is_imported(study));
    let end = |end: f64| (end - log).exp();
    let (low, high) = range.map_or((1.0, 1.0), |range| (end(range.low), end(range.high)));
    let figure = log.exp();
    let is_usable = [figure, low, high].iter().all(|value| value.is_finite() && *value > 0.0);
    is_usable.then_some(Today { measure: speed, figure, low, high })
}

impl Today {
    /// Bounds on operations per second as a range of this figure, joined with its own spread. Ends within the study's
    /// margin of today are practically equal.
    pub(super) fn answer(
        &self,
        study: &Study,
        limits: &Limits,
        rates: Rates,
        unknown: Vec<Unknown>,
    ) -> Answer {
        let times = |rate: f64| rate / limits.per_second;
        let (low, high) = (rates.low.map(times), times(rates.high));
        let margin = 1.0 + study.plan.design.margin;
        if high <= margin && low.is_some_and(|low| low * margin >= 1.0) {
            return Answer::Same { is_unused: rates.is_unused };
        }
        let low = low.map(|low| low * self.low * self.figure);
        let high = high * self.high * self.figure;
        match low.filter(|_| unknown.is_empty()) {
            Some(low) => Answer::Between { low, high },
            None => Answer::AtMost { low, high, unknown },
        }
    }
}
