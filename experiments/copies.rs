//! Copies: the way of rsync against rsync itself on a mount, many files at a time against other programs,
//! and a whole source tree.

mod mount;
mod peers;
mod whole;

use plimsoll_model::{CopyJob, Job, Measure, Metric, Outcome, Study, Trial};

/// The copy that a trial made.
fn copy_of<'a>(study: &'a Study, trial: &Trial) -> &'a CopyJob {
    let workload = study.plan.workload(trial.cell).expect("the plan has the trial's workload");
    let Job::Copy(job) = &workload.parts[0].job else { panic!("{workload:?}") };
    job
}

/// A figure of a trial; `None` where it was not complete.
fn figure(trial: &Trial, measure: Measure) -> Option<f64> {
    let complete = trial.result.outcome == Outcome::Complete;
    complete.then(|| trial.result.value(0, Metric::all(measure)))?
}

/// The median; not a number of nothing.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}
