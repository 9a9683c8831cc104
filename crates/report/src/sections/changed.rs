//! What was not the same when two studies were measured.

use crate::document::Warning;
use crate::names;
use crate::study::Shown;
use crate::text::{capital, printable};
use plimsoll_explain::{Change, Counterpart, changes};
use plimsoll_model::{Cell, Stability, Workload};

/// Changes that are named; of more the rest is counted.
const NAMED: usize = 6;

/// What is known to have changed, in words, and that it is confounded where that is more than one thing.
pub(super) fn warnings(a: &Shown<'_>, b: &Shown<'_>, found: &[Counterpart]) -> Vec<Warning> {
    let recorded = changes(a.study, b.study);
    let settings: Vec<String> = found.iter().filter_map(|found| settings(a, b, found)).collect();
    let unsafe_writes: Vec<String> = found.iter().filter_map(|f| stability(a, b, f)).collect();
    // How safe writes are is a setting of the work, too.
    let things = recorded.len() + usize::from(!settings.is_empty() || !unsafe_writes.is_empty());
    let mut all = Vec::new();
    if things > 1 {
        all.push(Warning {
            text: format!(
                "Confounded: {things} things that are recorded changed at once. Which of them makes a \
                 difference cannot be told."
            ),
            advice: Some("Change one at a time.".to_owned()),
            urgent: false,
        });
    }
    all.extend(named(&recorded).map(|text| Warning { text, ..Warning::default() }));
    let texts = settings.into_iter().chain(unsafe_writes);
    all.extend(texts.map(|text| Warning { text, ..Warning::default() }));
    all
}

fn named(recorded: &[Change]) -> Option<String> {
    let one = |change: &Change| {
        let [what, before, after] =
            [&change.what, &change.before, &change.after].map(|text| printable(text));
        format!("{what}: {before}, then {after}")
    };
    let mut words: Vec<String> = recorded.iter().take(NAMED).map(one).collect();
    if recorded.len() > NAMED {
        words.push(format!("and {} more", recorded.len() - NAMED));
    }
    (!words.is_empty()).then(|| format!("Changed between them: {}.", words.join("; ")))
}

/// The work and what is set otherwise in B.
fn settings(a: &Shown<'_>, b: &Shown<'_>, found: &Counterpart) -> Option<String> {
    let (in_a, in_b) = (a.study.plan.workload(found.a)?, b.study.plan.workload(found.b)?);
    let same = in_a.parts == in_b.parts && in_a.steps == in_b.steps;
    let work = capital(&a.names.workload(found.a.workload));
    (!same)
        .then(|| format!("{work}: B was measured with other settings: {}.", names::settings(in_b)))
}

/// When what is written must be stable, of work that writes.
fn writes(workload: &Workload) -> Option<Stability> {
    workload.parts.iter().find_map(|part| part.job.stability())
}

/// Writes that are not equally safe are never compared silently.
fn stability(a: &Shown<'_>, b: &Shown<'_>, found: &Counterpart) -> Option<String> {
    writes(a.study.plan.workload(found.a)?)?;
    let of = |side: &Shown<'_>, cell: Cell| {
        let facts = side.study.subjects.get(usize::from(cell.subject))?.storage()?;
        Some(printable(&facts.stability))
    };
    let (in_a, in_b) = (of(a, found.a)?, of(b, found.b)?);
    let work = capital(&a.names.workload(found.a.workload));
    (in_a != in_b).then(|| format!("{work}: writes are not equally safe: A {in_a}; B {in_b}."))
}
