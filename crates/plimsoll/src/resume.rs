//! `plimsoll check --continue`, and the same of `run`: goes on with a study of the store where it stopped.

use crate::arguments::{AccessArguments, OutputArguments, StoreArguments};
use crate::check::{self, More};
use crate::{gate, plan, play, restore, store};
use plimsoll_live::feed::{self, Follower};
use plimsoll_model::{Cause, Failure, Plan, Study, StudyId, SubjectFacts};
use plimsoll_record::StudyStore;
use std::time::Duration;

/// What is asked for.
pub struct Again<'a> {
    /// The study: its id, the beginning of it, or `latest`.
    pub study: &'a str,
    pub max_time: Option<Duration>,
    pub access: &'a AccessArguments,
    pub output: &'a OutputArguments,
}

/// Continues the study that is named and returns the exit code.
pub fn run(again: &Again<'_>, kept: &StoreArguments) -> Result<u8, Failure> {
    let (plan, study) = found(again.study, again.max_time, "plimsoll check", kept)?;
    let file = read_in_place(&study);
    // Whoever began it allowed what it does.
    let allow_open = true;
    let follow = play::continued(&study);
    let more = More { file, allow_open, follow, continues: Some(study), ..More::default() };
    let (study, interrupted) = check::measure(plan, again.access, again.output, kept, more)?;
    gate::finish(&study, check::exit_code(&study, interrupted), again.output, kept)
}

/// The study that is named, if `command` continues it, and its plan with the time that it may take now.
///
/// # Errors
/// There is no such study, it cannot be continued, another command continues it, or it is still running.
pub fn found(
    study: &str,
    max_time: Option<Duration>,
    command: &str,
    kept: &StoreArguments,
) -> Result<(Plan, Study), Failure> {
    let study = store::open(kept)?.load(study)?;
    plimsoll_study::can_be_continued(&study)?;
    let own = study.plan.continued_by().unwrap_or_default();
    if own != command {
        let (on, next) =
            (format!("study {}", study.id), format!("Run {own} --continue {}.", study.id));
        return Err(Failure::new(Cause::Usage, "continue")
            .on(on)
            .happened("another command measured it")
            .next(next));
    }
    expect_not_running(&study.id)?;
    restore::of_plan(&study.plan)?;
    let mut plan = study.plan.clone();
    plan.design.cap_seconds = match max_time {
        Some(time) => time.as_secs_f64(),
        None => plimsoll_study::left_of_cap(&study).max(plan::DEFAULT_CAP_SECONDS),
    };
    Ok((plan, study))
}

/// The file of each target that is read where it is.
fn read_in_place(study: &Study) -> Option<String> {
    let mut storage = study.subjects.iter().filter_map(SubjectFacts::storage);
    storage.find_map(|target| Some(target.in_place.as_ref()?.file.clone()))
}

/// Fails where a run of this user is that of the study. That of another user, or on another machine, is
/// found by its directory on the target.
fn expect_not_running(id: &StudyId) -> Result<(), Failure> {
    let Ok(directory) = feed::runtime_directory() else { return Ok(()) };
    let mut feeds = Follower::new(&directory);
    feeds.look();
    if feeds.runs().all(|run| run.header.study != *id) {
        return Ok(());
    }
    let next = "Wait until it ends, or stop it with Ctrl-C.";
    let (on, happened) = (format!("study {id}"), "it is still running");
    Err(Failure::new(Cause::Usage, "continue").on(on).happened(happened).next(next))
}
