//! Rate of frames at which the parts of a router's path are priced: below the highest that the router forwards, and the same
//! under all settings.

use super::{Conductor, interrupted};
use plimsoll_model::{Cause, Failure, Length, Measure, Metric, Outcome, Parameter};

/// Share of what the router forwards at overload, with all parts of its path. The slowest setting is far from its knee, and
/// a core is busy enough for its ticks to say something.
const SHARE: f64 = 0.5;
/// Length of the run that shows what the router forwards.
const RUN: Length = Length::For { seconds: 1.5, warm_up_seconds: 0.5 };
/// Digits of a rate.
const DIGITS: i32 = 2;

impl Conductor<'_> {
    /// Fixes the rates that the plan leaves open, where parts of a path are priced.
    ///
    /// # Errors
    /// No frame is forwarded.
    pub(super) fn fix_rates(&mut self) -> Result<(), Failure> {
        if self.study.plan.parts.is_none() {
            return Ok(());
        }
        for number in 0..self.study.plan.workloads.len() {
            let workload = self.study.plan.workloads[number].clone();
            let Some(main) = workload.main().filter(|main| !main.job.has_fixed_rate()) else {
                continue;
            };
            let what = format!("choosing the rate: {}", main.job.title());
            let (result, _) = self.try_out(0, &workload, RUN, &what);
            let forwarded = match result.outcome {
                Outcome::Stopped => return Err(interrupted()),
                Outcome::Failed { failure, .. } => return Err(failure),
                Outcome::Void { reason } => return Err(reason.failure("choose the rate")),
                Outcome::Complete => result
                    .parts
                    .first()
                    .and_then(|part| part.quantities.get(&Metric::all(Measure::PACKETS)).copied()),
            };
            let Some(forwarded) = forwarded.filter(|rate| SHARE * rate >= 1.0) else {
                let happened = "no frame arrived";
                let next =
                    "Check that the router forwards, and that no firewall on the path drops UDP.";
                let tried = "choose the rate";
                return Err(Failure::new(Cause::Trial, tried)
                    .on(main.job.title())
                    .happened(happened)
                    .next(next));
            };
            if let Some(part) = self.study.plan.workloads[number].parts.first_mut() {
                part.set(Parameter::Rate, readable(SHARE * forwarded))?;
            }
        }
        Ok(())
    }
}

/// A rate with two digits, rounded down: 21,000.
fn readable(rate: f64) -> f64 {
    let unit = 10_f64.powi((rate.log10().floor() as i32 - DIGITS + 1).max(0));
    (rate / unit).floor() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_round_and_not_above() {
        for (rate, expected) in
            [(21_987.0, 21_000.0), (1.0, 1.0), (9.7, 9.0), (100.0, 100.0), (99_999.0, 99_000.0)]
        {
            assert_eq!(readable(rate), expected);
        }
    }
}
