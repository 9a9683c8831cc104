//! What was not the same when two studies were measured.

use crate::document::Warning;
use crate::study::Shown;
use crate::text::{listed, printable};
use plimsoll_explain::{Across, Change, changes};
use plimsoll_model::Cell;

/// Changes that are named; of more the rest is counted.
const NAMED: usize = 6;

/// Other work, which is not compared; then what is known to have changed, in words, and that it is confounded where
/// that is more than one thing.
pub(super) fn warnings(a: &Shown<'_>, b: &Shown<'_>, across: &Across) -> Vec<Warning> {
    let apart = across.unequal.iter().map(|found| (found.a, &found.differences[..]));
    let mut all: Vec<Warning> = not_compared(a, apart).into_iter().collect();
    // What makes work other work has been named.
    let named_before = |change: &Change| {
        let differences = across.unequal.iter().flat_map(|found| &found.differences);
        differences.into_iter().any(|d| (&d.before, &d.after) == (&change.before, &change.after))
    };
    let mut recorded = changes(a.study, b.study);
    recorded.retain(|change| !named_before(change));
    let things = recorded.len();
    if things > 1 && !across.counterparts.is_empty() {
        all.push(Warning {
            text: format!(
                "Confounded: {things} recorded facts changed at once, so the cause of a difference is \
                 unknown."
            ),
            advice: Some("Change one at a time.".to_owned()),
            ..Warning::default()
        });
    }
    all.extend(named(&recorded).map(|text| Warning { text, ..Warning::default() }));
    all
}

/// Work that is not compared, by the cells of A and in what they differ: each difference once, with both values.
pub(super) fn not_compared<'a>(
    a: &Shown<'_>,
    apart: impl Iterator<Item = (Cell, &'a [Change])>,
) -> Option<Warning> {
    let mut works: Vec<String> = Vec::new();
    let mut differences: Vec<(&Change, Vec<String>)> = Vec::new();
    for (cell, found) in apart {
        let work = a.names.workload(cell.workload);
        for change in found {
            match differences.iter_mut().find(|(known, _)| *known == change) {
                Some((_, of)) => of.extend(Some(work.clone()).filter(|work| !of.contains(work))),
                None => differences.push((change, vec![work.clone()])),
            }
        }
        works.extend(Some(work).filter(|work| !works.contains(work)));
    }
    let sets_size = differences.iter().any(|(change, _)| change.what == "working set");
    let words = differences.iter().map(|(change, of)| {
        let change = in_words(change);
        match of.len() == works.len() {
            true => change,
            false => format!("{change} ({})", listed(of)),
        }
    });
    let words: Vec<String> = words.collect();
    let size = if sets_size { "; --size sets the working set" } else { "" };
    (!words.is_empty()).then(|| Warning {
        text: format!(
            "Not compared, because the work differs ({}): {}.",
            listed(&works),
            words.join("; ")
        ),
        advice: Some(format!("Measure again with equal settings{size}.")),
        urgent: true,
        ..Warning::default()
    })
}

/// "working set 64 MiB, then 32 MiB".
fn in_words(change: &Change) -> String {
    let [what, before, after] =
        [&change.what, &change.before, &change.after].map(|text| printable(text));
    format!("{what} {before}, then {after}")
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
    (!words.is_empty()).then(|| format!("Changed between the studies: {}.", words.join("; ")))
}
