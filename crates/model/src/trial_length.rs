//! How long trials are planned to last.

use crate::{Bound, Length, Steps, Workload};

/// Trials of a search that usually measure values far from its bounds, shorter than others, and those of full length.
/// Simulated: of rates 2 and 3, of numbers of workers 5 and 6.
const USUAL_SHORT: usize = 3;
const USUAL_FULL: usize = 4;
/// Trials of a search that usually end it, if all have one length.
const USUAL_SEARCH: usize = 5;
/// Length of the first trials of a search, as a share of the full one, and the shortest one in seconds. Chosen.
const FIRST_SHARE: f64 = 0.25;
const SHORTEST_SECONDS: f64 = 0.5;
/// Seconds that a search for the highest kept rate usually takes, lead-ins, an overload trial and a long trial
/// included.
const USUAL_KEPT_SECONDS: f64 = 45.0;
/// The same of a search that a few short trials decide.
const QUICK_KEPT_SECONDS: f64 = 25.0;

impl Length {
    /// Seconds that it takes, or may take at most.
    pub fn seconds(self) -> f64 {
        match self {
            Length::For { seconds, .. } => seconds,
            Length::UntilDone { at_most_seconds } => at_most_seconds,
        }
    }

    /// The same with fewer seconds, and as large a share of warm-up; `None` if these are not fewer.
    #[must_use]
    pub fn shortened(self, seconds: f64) -> Option<Length> {
        match self {
            Length::For { seconds: full, warm_up_seconds } if seconds < full => {
                Some(Length::For { seconds, warm_up_seconds: warm_up_seconds * seconds / full })
            }
            _ => None,
        }
    }
}

impl Workload {
    /// How long one point of a trial is planned to take, in seconds, setting up apart.
    pub fn seconds(&self) -> f64 {
        self.length.seconds()
    }

    /// Length of the first trials of a search with these bounds; `None` if all of them have one length: it is short, or
    /// a bound is on no figure of operations.
    pub fn first_length(&self, accept: &[Bound]) -> Option<Length> {
        let is_of_operations = accept.iter().all(|bound| bound.operations().is_some());
        let seconds = (FIRST_SHARE * self.seconds()).max(SHORTEST_SECONDS);
        self.length.shortened(seconds).filter(|_| is_of_operations)
    }

    /// How often a trial does its work: once for each value of a sweep; in a search, as often as it usually takes.
    pub fn points(&self) -> usize {
        match &self.steps {
            Some(Steps::Sweep { values, .. }) => values.len(),
            Some(Steps::Search { accept, .. }) => match self.first_length(accept) {
                Some(_) => USUAL_SHORT + USUAL_FULL,
                None => USUAL_SEARCH,
            },
            Some(Steps::Kept { final_seconds, is_quick, .. }) => {
                let usual = match is_quick {
                    true => QUICK_KEPT_SECONDS,
                    false => USUAL_KEPT_SECONDS,
                };
                let seconds = usual + final_seconds.unwrap_or_default();
                (seconds / self.seconds().max(1.0)).round() as usize
            }
            None => 1,
        }
    }

    /// How long all points of a trial are planned to take, in seconds, setting up apart.
    pub fn trial_seconds(&self) -> f64 {
        let first = match &self.steps {
            Some(Steps::Search { accept, .. }) => self.first_length(accept),
            _ => None,
        };
        match first {
            Some(first) => {
                USUAL_SHORT as f64 * first.seconds() + USUAL_FULL as f64 * self.seconds()
            }
            None => self.points() as f64 * self.seconds(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use crate::{Measure, Metric, Parameter, Part, PatternJob, StreamJob};
    use std::num::NonZeroU16;

    fn searched(accept: Vec<Bound>, length: Length) -> Workload {
        let job = PatternJob::random_reads(Bytes(4096), Bytes(1 << 20)).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let over = Parameter::Workers;
        let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.05, accept };
        Workload { steps: Some(steps), ..Workload::new(part, length) }
    }

    fn p99() -> Bound {
        Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.01)
    }

    #[test]
    fn a_search_by_figures_of_operations_begins_with_a_quarter_of_its_length() {
        let eight = Length::For { seconds: 8.0, warm_up_seconds: 0.8 };
        let workload = searched(vec![p99()], eight);
        let first = Length::For { seconds: 2.0, warm_up_seconds: 0.2 };
        assert_eq!(workload.first_length(&[p99()]), Some(first));
        assert_eq!((workload.points(), workload.trial_seconds()), (7, 3.0 * 2.0 + 4.0 * 8.0));
        let loss = Bound::at_most(Metric::all(StreamJob::LOSS), 0.01);
        assert_eq!(workload.first_length(&[p99(), loss]), None, "a loss needs packets");
        let workload = searched(vec![loss], eight);
        assert_eq!((workload.points(), workload.trial_seconds()), (5, 5.0 * 8.0));
    }

    #[test]
    fn no_first_trial_of_a_search_is_shorter_than_half_a_second() {
        let seconds = |seconds: f64| {
            let length = Length::For { seconds, warm_up_seconds: 0.0 };
            searched(vec![p99()], length).first_length(&[p99()]).map(Length::seconds)
        };
        assert_eq!([0.5, 1.0, 5.0].map(seconds), [None, Some(0.5), Some(1.25)]);
        let until_done = searched(vec![p99()], Length::UntilDone { at_most_seconds: 60.0 });
        assert_eq!(until_done.first_length(&[p99()]), None);
    }
}
