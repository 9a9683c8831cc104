//! Names of one operation in a kernel under one setting, for studies that trace it or sample it.

use crate::study::Shown;
use crate::text::{printable, shortened};
use plimsoll_model::kernel_trace::TracedOperation;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cell, factor};

/// Longest line of a heading.
const LONGEST_HEADING: usize = 14;
/// Longest level of a setting in a sentence.
const LONGEST_LEVEL: usize = 40;

/// One operation under one setting.
#[derive(Clone, Copy)]
pub(super) struct Ran {
    pub(super) cell: Cell,
    pub(super) operation: TracedOperation,
    pub(super) payload: Bytes,
}

impl Ran {
    /// "one sendto of 400 B".
    pub(super) fn noun(&self) -> String {
        format!("one {} of {}", self.operation.noun(), self.payload)
    }

    /// The levels of the settings, of files their names alone.
    pub(super) fn level(&self, shown: &Shown<'_>) -> String {
        let words = factor::words(&shown.study.plan.factors, self.cell.setting);
        let short = |word: &String| {
            let (name, value) = word.split_once('=').unwrap_or(("", word));
            let value = value.rsplit('/').next().unwrap_or(value);
            shortened(&printable(&format!("{name}={value}")), LONGEST_LEVEL)
        };
        words.iter().map(short).collect::<Vec<_>>().join(", ")
    }

    /// Above a column: what tells it from the others.
    pub(super) fn heading(&self, shown: &Shown<'_>, all: &[Ran]) -> String {
        let has_levels = all.iter().any(|other| other.cell.setting != self.cell.setting);
        let has_operations = all.iter().any(|other| other.operation != self.operation);
        let level = self.level(shown);
        let level = match shown.study.plan.factors.len() {
            1 => level.split_once('=').map_or(level.clone(), |(_, value)| value.to_owned()),
            _ => level,
        };
        let subject =
            (shown.names.subjects.len() > 1).then(|| shown.names.subject(self.cell.subject));
        let lines = [
            subject,
            has_operations.then(|| self.operation.name().to_owned()),
            Some(self.payload.to_string()),
            has_levels.then_some(level),
        ];
        let lines = lines.into_iter().flatten().map(|line| shortened(&line, LONGEST_HEADING));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// "400 B, none": the heading in one line.
    pub(super) fn label(&self, shown: &Shown<'_>, all: &[Ran]) -> String {
        self.heading(shown, all).replace('\n', ", ")
    }
}
