//! Going on with a study where it stopped: which can be gone on with, and what must not have changed.
//! The intervals of the sequential rule hold at every number of blocks at once, so that more blocks
//! may be added whatever the figures say by then. Where the number was fixed beforehand, what is missing of
//! it is measured: the block that was broken off to its end, and those that were not begun.

use plimsoll_explain::Forecast;
use plimsoll_model::{
    Cause, Cell, Ended, Failure, Flag, Job, Origin, Outcome, Rule, Study, StudyId, Subject,
    SubjectFacts, Trial, Workload, WriteState,
};

/// Fails where a study cannot be gone on with, or nothing would come of it: its figures are another
/// tool's, or no command continues it; or all is decided, or measured as often as was fixed beforehand.
///
/// # Errors
/// [`Cause::Usage`].
pub fn can_be_continued(study: &Study) -> Result<(), Failure> {
    let bad = |happened: &str, next: &str| {
        Err(Failure::new(Cause::Usage, "continue")
            .on(format!("study {}", study.id))
            .happened(happened)
            .next(next))
    };
    if let Origin::Imported { tool } = &study.origin {
        let happened = format!("its figures are from {tool}, and plimsoll cannot add to them");
        let command = study.plan.measured_by().unwrap_or_default();
        return bad(&happened, &format!("Measure with {command}."));
    }
    if study.plan.continued_by().is_none() {
        let mut kinds = study.plan.subjects.iter().map(Subject::kind);
        let kind = kinds.find(|kind| !kind.info().is_continued);
        let kind_name = kind.map_or("several kinds of subject".to_owned(), |kind| kind.to_string());
        let happened = format!("studies of {kind_name} cannot be continued");
        return bad(&happened, "Measure it again, with more blocks.");
    }
    match study.plan.design.rule {
        Rule::Sequential { .. } => {}
        Rule::Fixed { blocks } if self::blocks(study) < blocks => return Ok(()),
        Rule::Fixed { .. } if is_in_stages(study) => {
            return match study.ended {
                Ended::Done => bad("it is complete", "Measure again with the same command."),
                _ => Ok(()),
            };
        }
        Rule::Fixed { blocks } => {
            let happened = format!(
                "it is complete: its number of blocks, {blocks}, was fixed in advance, and its intervals only \
                hold for that number"
            );
            return bad(&happened, "Measure again without --repeats and --quick.");
        }
    }
    if Forecast::new(study).blocks() == 0 {
        let happened = "it is complete: all comparisons are decided";
        return bad(happened, &format!("plimsoll show {} shows it.", study.id));
    }
    Ok(())
}

/// Whether what is measured follows from what was measured before, as with films. Its last stage may be missing.
fn is_in_stages(study: &Study) -> bool {
    let is_film = |workload: &Workload| {
        workload.main().is_some_and(|main| matches!(main.job, Job::Playback(_)))
    };
    study.plan.workloads.iter().any(is_film)
}

/// Seconds of a study's time cap that are left.
pub fn left_of_cap(study: &Study) -> f64 {
    study.plan.design.cap_seconds - stopped_at(study)
}

/// Blocks that are over: the next one has this number. One that was broken off is over, unless the number
/// of blocks was fixed beforehand.
pub(crate) fn blocks(study: &Study) -> u32 {
    let begun = study.trials.iter().filter_map(|trial| trial.block).max();
    begun.map_or(0, |last| last.saturating_add(u32::from(in_last(study).is_none())))
}

/// What was measured of the block that goes on; nothing where that begins.
pub(crate) fn measured(study: &Study) -> Vec<Cell> {
    in_last(study).unwrap_or_default()
}

/// The cells that were measured in the last block, where the number of blocks was fixed beforehand and it
/// lacks some. Of a trial that was void or stopped, or that ended the study because the server was gone, there is no
/// figure.
fn in_last(study: &Study) -> Option<Vec<Cell>> {
    let Rule::Fixed { .. } = study.plan.design.rule else { return None };
    let last = study.trials.iter().filter_map(|trial| trial.block).max()?;
    let has_ended = |trial: &Trial| match &trial.result.outcome {
        Outcome::Complete => true,
        Outcome::Failed { failure, .. } => !ends_study(failure),
        Outcome::Stopped | Outcome::Void { .. } => false,
    };
    let ended = |trial: &&Trial| trial.block == Some(last) && has_ended(trial);
    let measured: Vec<Cell> = study.trials.iter().filter(ended).map(|trial| trial.cell).collect();
    study.plan.cells().iter().any(|cell| !measured.contains(cell)).then_some(measured)
}

/// When a study stopped, in seconds since it began: where its last trial was over.
pub(crate) fn stopped_at(study: &Study) -> f64 {
    let last = study.trials.last();
    last.map_or(0.0, |trial| trial.started_seconds + plimsoll_explain::seconds_per_trial(study))
}

/// Whether going on makes no sense: the server is gone, full, or does not let us.
pub(crate) fn ends_study(failure: &Failure) -> bool {
    !matches!(failure.cause, Cause::Trial)
}

/// What is known of the writes of its subjects, by their numbers.
pub(crate) fn writes(study: &Study) -> Vec<(usize, WriteState)> {
    let storage = study.subjects.iter().enumerate();
    let storage = storage.filter_map(|(number, facts)| Some((number, facts.storage()?)));
    storage
        .flat_map(|(number, facts)| facts.writes.iter().map(move |state| (number, state.clone())))
        .collect()
}

/// The flags of a study that is continued: each once, without what was true when it stopped only.
pub(crate) fn renew(flags: &mut Vec<Flag>, unix_seconds: u64, block: u32) {
    let mut renewed: Vec<Flag> = Vec::new();
    let is_past = |flag: &Flag| matches!(flag, Flag::CapReached { .. } | Flag::Quick { .. });
    for flag in flags.drain(..).filter(|flag| !is_past(flag)) {
        if !renewed.contains(&flag) {
            renewed.push(flag);
        }
    }
    renewed.push(Flag::Continued { unix_seconds, block });
    *flags = renewed;
}

/// Fails where one of these runs, found on a target, is that of this very study.
pub(crate) fn expect_not_running(id: &StudyId, found: &[Flag]) -> Result<(), Failure> {
    // With a dot before it, unless the server refuses such names.
    let own = format!("plimsoll-{id}-");
    let is_own = |directory: &str| directory.trim_start_matches('.').starts_with(&own);
    let running = found.iter().find_map(|flag| match flag {
        Flag::OtherRun { directory } if is_own(directory) => Some(directory),
        _ => None,
    });
    running.map_or(Ok(()), |directory| {
        let happened = format!("it is still running and uses {directory}");
        let next = "Wait until it ends, or stop it.";
        Err(Failure::new(Cause::Usage, "continue")
            .on(format!("study {id}"))
            .happened(happened)
            .next(next))
    })
}

/// Fails where a subject is not what it was, with all that differs.
pub(crate) fn expect_same(
    id: &StudyId,
    before: &[SubjectFacts],
    now: &[SubjectFacts],
) -> Result<(), Failure> {
    for (before, now) in before.iter().zip(now) {
        let changed = before.changes(now);
        if !changed.is_empty() {
            return Err(Failure::new(Cause::Usage, format!("continue study {id}"))
                .on(now.given())
                .happened(format!("it has changed: {}", changed.join("; ")))
                .next("A study cannot mix both: start a new one."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quick study that was continued to 80 blocks was still called a quick look.
    #[test]
    fn what_was_true_when_it_stopped_is_not_kept() {
        let same = Flag::SameTarget { target: "nfs://nas/a".into() };
        let capped = Flag::CapReached { blocks: 8, wanted: 80 };
        let mut flags = vec![Flag::Quick { resolvable: Some(1.2) }, same.clone(), capped];
        renew(&mut flags, 1_800_000_000, 8);
        let continued = Flag::Continued { unix_seconds: 1_800_000_000, block: 8 };
        assert_eq!(flags, [same, continued]);
    }
}
