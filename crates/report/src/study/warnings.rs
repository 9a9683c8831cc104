//! Every warning, each kind once, with what to do about it.

use super::Shown;
use crate::document::Warning;
use crate::text::{capital, counted, printable};
use plimsoll_model::{Cell, Failure, Flag, Outcome, Trial};
use std::mem::discriminant;

/// Warnings that ask for the same.
struct Group<'a> {
    first: &'a Flag,
    advice: String,
    /// Whether the first one's message is that of all.
    alike: bool,
    trials: Vec<&'a Trial>,
}

/// Failures first, then whatever was flagged.
pub(crate) fn all(shown: &Shown<'_>) -> Vec<Warning> {
    let study = shown.study;
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut add = |flag, trial: Option<_>| {
        let advice = Flag::advice(flag);
        // Of trials an example is enough; what is true of the study is shown whole.
        let same = |g: &&mut Group<'_>| {
            discriminant(g.first) == discriminant(flag)
                && g.advice == advice
                && (trial.is_some() || g.first.message() == flag.message())
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.alike &= group.first.message() == flag.message();
                group.trials.extend(trial);
            }
            None => groups.push(Group {
                first: flag,
                advice,
                alike: true,
                trials: trial.into_iter().collect(),
            }),
        }
    };
    study.flags.iter().for_each(|flag| add(flag, None));
    for trial in &study.trials {
        trial.result.flags.iter().for_each(|flag| add(flag, Some(trial)));
    }
    let mut warnings = Vec::new();
    // Subjects by the names that everything else calls them.
    let mut named: Vec<(String, &String)> = study
        .subjects
        .iter()
        .zip(&shown.names.subjects)
        .map(|(facts, name)| (printable(facts.given()), name))
        .filter(|(given, name)| given.len() > name.len())
        .collect();
    named.sort_by_key(|(given, _)| std::cmp::Reverse(given.len()));
    let named = |text: String| {
        named.iter().fold(text, |text, (given, name)| text.replace(given.as_str(), name))
    };
    for (cause, phase, trials) in failures(shown) {
        let (count, places) = where_seen(shown, &trials);
        let phase = printable(phase);
        let reason = failure(cause);
        let text = format!("{count} failed at '{phase}' ({places}): {reason}");
        warnings.push(Warning { text: named(text), advice: None });
    }
    // Stable: of the same severity in the order seen.
    groups.sort_by_key(|group| group.first.severity());
    for group in groups {
        let example = if group.alike { "" } else { ", for example" };
        let seen = match group.trials.is_empty() {
            true => String::new(),
            false => {
                let (count, places) = where_seen(shown, &group.trials);
                format!(" ({count}: {places}{example})")
            }
        };
        let text = printable(&group.first.message());
        // Not of addresses and names.
        let word = text.split(' ').next().unwrap_or_default();
        let text = match word.chars().all(char::is_alphabetic) {
            true => format!("{}{seen}", capital(&text)),
            false => format!("{text}{seen}"),
        };
        let text = named(text);
        warnings.push(Warning { text, advice: Some(printable(&group.advice)) });
    }
    warnings
}

/// The reasons trials failed for, each once, with its trials.
fn failures<'a>(shown: &Shown<'a>) -> Vec<(&'a Failure, &'a str, Vec<&'a Trial>)> {
    let mut failures: Vec<(&Failure, &str, Vec<&Trial>)> = Vec::new();
    for trial in &shown.study.trials {
        let Outcome::Failed { phase, failure } = &trial.result.outcome else { continue };
        match failures.iter_mut().find(|(f, p, _)| *f == failure && p == phase) {
            Some((_, _, trials)) => trials.push(trial),
            None => failures.push((failure, phase, vec![trial])),
        }
    }
    failures
}

/// "3 of 12 trials", and where: "sequential read on nas", "sequential read, random read".
fn where_seen(shown: &Shown<'_>, trials: &[&Trial]) -> (String, String) {
    let mut places: Vec<_> =
        trials.iter().map(|t| (t.cell.workload, t.cell.setting, t.cell.subject)).collect();
    places.sort_unstable();
    places.dedup();
    let place = match places[..] {
        [(workload, setting, subject)] => {
            let setup = shown.names.setup(Cell { subject, workload, setting });
            format!("{} on {setup}", shown.names.workload(workload))
        }
        _ => {
            let mut workloads: Vec<_> = places.iter().map(|place| place.0).collect();
            workloads.dedup();
            let workloads: Vec<_> =
                workloads.into_iter().map(|workload| shown.names.workload(workload)).collect();
            workloads.join(", ")
        }
    };
    let all = counted(shown.study.trials.len() as u64, "trial");
    (format!("{} of {all}", trials.len()), place)
}

/// A failure in one line: what was tried, what happened, what to do next.
pub(super) fn failure(failure: &Failure) -> String {
    let Failure { tried, on, happened, next, .. } = failure;
    printable(&format!("could not {tried} ({on}): {happened}. {next}"))
}
