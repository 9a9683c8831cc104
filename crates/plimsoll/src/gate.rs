//! Gates: a study is compared with earlier ones, and fails if it is worse by more than the user accepts.

use crate::arguments::{OutputArguments, RuleArguments, StoreArguments};
use crate::{output, store};
use clap::Args;
use plimsoll_config::nearest;
use plimsoll_explain::{
    GateResult, can_be_baseline, conditions_without_work, gate, other_work, recognise,
};
use plimsoll_model::{
    Cause, Ended, Failure, Gate, GateCondition, Origin, PastStudy, Plan, SCHEMA, Study, StudyId,
    SubjectKey,
};
use plimsoll_record::StudyStore;
use plimsoll_report::Document;
use std::path::Path;

/// Exit code of a study whose gate failed.
pub const FAILED: u8 = 7;
/// Latest studies of a baseline that are read.
const MOST: usize = 100;
/// Longest name of a subject, in columns.
const LONGEST_NAME: usize = 64;

#[derive(Args)]
#[command(next_help_heading = "History and gate")]
pub struct GateArguments {
    /// Name of a target for plimsoll history, whatever its address
    ///
    /// May be given several times, in the order of the targets
    #[arg(long = "as", value_name = "NAME")]
    pub names: Vec<String>,
    /// Exit with code 7 if a figure changed by more than this: read<-10%
    ///
    /// This needs --baseline last or --baseline STUDY. The words before '<' or '>' choose the work: part of its name, or
    /// 'all'. A condition fails only if the change is also larger than a change by chance. May be given several times
    #[arg(long = "fail-on", value_name = "CONDITION")]
    pub fail_on: Vec<GateCondition>,
}

/// Adds names and gate to a plan.
///
/// # Errors
/// A name or a condition makes no sense, or the baseline has other work.
pub fn add_to(
    plan: &mut Plan,
    arguments: &GateArguments,
    how: &RuleArguments,
    kept: &StoreArguments,
) -> Result<(), Failure> {
    plan.names = names(&arguments.names, plan.subjects.len())?;
    let Some(baseline) = how.baseline_study() else {
        let Some(condition) = arguments.fail_on.first() else { return Ok(()) };
        let (on, happened) = (format!("--fail-on '{condition}'"), "no baseline is given");
        let next = "Add --baseline last, or --baseline STUDY.";
        return Err(Failure::new(Cause::Usage, "compare with a baseline")
            .on(on)
            .happened(happened)
            .next(next));
    };
    let asked = Gate { baseline: baseline.to_owned(), conditions: arguments.fail_on.clone() };
    expect_work(&asked, plan)?;
    plan.gate = Some(asked);
    let store = store::open(kept)?;
    let planned = planned(plan);
    let heads = store.heads()?;
    let reference = match baseline {
        Gate::LAST => heads.iter().rev().find(|earlier| can_be_baseline(&planned, earlier)),
        named => {
            let id = store.find(named)?;
            if let Some(gate) = &mut plan.gate {
                gate.baseline.clone_from(&id.0);
            }
            heads.iter().find(|earlier| earlier.id == id)
        }
    };
    // The first of its kind: there is nothing to compare with yet.
    let Some(reference) = reference else { return Ok(()) };
    let differences = other_work(&planned, reference);
    if differences.is_empty() {
        return Ok(());
    }
    let words = differences
        .iter()
        .map(|change| format!("{} {}, now {}", change.what, change.before, change.after));
    let happened = format!("its work differs: {}", words.collect::<Vec<_>>().join("; "));
    let on = format!("study {}", reference.id);
    let next = "Measure with the same options, or name a baseline with equal work.";
    Err(Failure::new(Cause::Usage, "compare with the baseline")
        .on(on)
        .happened(happened)
        .next(next))
}

/// Names of subjects, each of which stands for one.
fn names(given: &[String], subjects: usize) -> Result<Vec<String>, Failure> {
    let refuse = |name: &str, happened: &str| {
        let next = "Give each target a name of its own, in the order of the targets.";
        let on = format!("--as {name}");
        Err(Failure::new(Cause::Usage, "name the targets").on(on).happened(happened).next(next))
    };
    for (number, name) in given.iter().enumerate() {
        if number >= subjects {
            return refuse(name, "there are more names than targets");
        }
        if name.trim().is_empty() || console::measure_text_width(name) > LONGEST_NAME {
            return refuse(name, "it is empty or wider than 64 columns");
        }
        if given[..number].contains(name) {
            return refuse(name, "another target has the same name");
        }
    }
    Ok(given.to_vec())
}

/// Fails if a condition is about no work of the plan.
fn expect_work(gate: &Gate, plan: &Plan) -> Result<(), Failure> {
    let Some(condition) = conditions_without_work(gate, plan).into_iter().next() else {
        return Ok(());
    };
    let mut titles: Vec<String> = Vec::new();
    for part in plan.workloads.iter().filter_map(|workload| workload.main()) {
        let title = part.job.title();
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let on = format!("--fail-on '{condition}'");
    let happened = format!("no work of this study is called '{}'", condition.work);
    let next = nearest(&condition.work, &titles);
    Err(Failure::new(Cause::Usage, "understand the condition").on(on).happened(happened).next(next))
}

/// A plan as a study that has not begun.
fn planned(plan: &Plan) -> Study {
    Study {
        schema: SCHEMA.to_owned(),
        id: StudyId(String::new()),
        started_unix_seconds: 0,
        origin: Origin::Measured { version: env!("CARGO_PKG_VERSION").to_owned() },
        plan: plan.clone(),
        subjects: Vec::new(),
        hosts: Vec::new(),
        flags: Vec::new(),
        measures: Vec::new(),
        trials: Vec::new(),
        ended: Ended::Open,
    }
}

/// Result of the gate of a study with the latest study of its baseline; `None` if it has no gate.
pub fn result(
    study: &Study,
    store: &dyn StudyStore,
) -> Result<Option<(GateResult, Option<StudyId>)>, Failure> {
    let Some(asked) = &study.plan.gate else { return Ok(None) };
    let mut heads = store.heads()?;
    if let Some(own) = heads.iter().position(|head| head.id == study.id) {
        heads.truncate(own);
    }
    if asked.baseline != Gate::LAST {
        let last = heads.iter().position(|head| head.id.0 == asked.baseline);
        heads.truncate(last.map_or(0, |last| last + 1));
    }
    let keys = SubjectKey::all(study);
    let recognised = recognise(&heads, &|other| keys.iter().any(|key| other.is_same(key)));
    let mut numbers: Vec<usize> = recognised.places.iter().map(|place| place.study).collect();
    numbers.drain(..numbers.len().saturating_sub(MOST));
    let mut baseline = Vec::new();
    for (number, head) in heads.into_iter().enumerate() {
        if numbers.binary_search(&number).is_ok() {
            let figures = store.figures(&head.id)?;
            baseline.push(PastStudy { study: head, figures });
        }
    }
    let latest = baseline.last().map(|past| past.study.id.clone());
    Ok(gate(&PastStudy::new(study), &baseline).map(|result| (result, latest)))
}

/// Prints the gate of a study that has ended, if it has one, and returns the exit code.
pub fn finish(
    study: &Study,
    code: u8,
    output: &OutputArguments,
    kept: &StoreArguments,
) -> Result<u8, Failure> {
    let Some((result, baseline)) = result(study, &store::open(kept)?)? else { return Ok(code) };
    let document = Document::of_gate(study, &result, baseline.as_ref());
    let text = document.screen(&output::style());
    // Standard output has the study alone.
    match output.json.as_deref() == Some(Path::new("-")) {
        true => output::complain(text.trim_end()),
        false => output::print(&format!("\n{text}"))?,
    }
    Ok(if code == 0 && result.has_failed() { FAILED } else { code })
}
