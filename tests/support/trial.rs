//! What a check did in a trial, and to what.

use plimsoll_model::{Job, Part, PartResult, PatternJob, Study, TargetFacts, Trial, Workload};

/// What each client of a check does: the one part of its workload, or the same one of them all.
#[track_caller]
pub fn part(workload: &Workload) -> &Part {
    assert!(workload.parts.len() == 1 || workload.together().is_some(), "{:?}", workload.parts);
    &workload.parts[0]
}

/// The pattern of a workload, with all its settings.
#[track_caller]
pub fn pattern(workload: &Workload) -> &PatternJob {
    let Job::Pattern(job) = &part(workload).job else { panic!("{workload:?}") };
    job
}

/// The pattern of a trial, with all its settings.
#[track_caller]
pub fn job<'a>(study: &'a Study, trial: &Trial) -> &'a PatternJob {
    pattern(study.plan.workload(trial.cell).expect("the plan has the trial's workload"))
}

/// What the one part of a trial did.
#[track_caller]
pub fn result(trial: &Trial) -> &PartResult {
    let [result] = &trial.result.parts[..] else { panic!("{:?}", trial.result) };
    result
}

/// What a target turned out to be, by its number in the study.
#[track_caller]
pub fn target(study: &Study, number: usize) -> &TargetFacts {
    study.subjects[number].storage().expect("storage")
}
