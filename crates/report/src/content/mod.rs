//! What a page says of a study, whatever it is written as: the answer first, then verdicts, a part
//! for every workload with its charts, the machines, and how it was measured. The sentences are those
//! of the terminal.

mod answer;
mod machines;
mod over_time;
mod part;
mod quantiles;
mod resources;
mod settings;
mod trend;

pub(crate) use trend::trend;

use crate::chart::{Chart, Table};
use crate::study::{Shown, head, method, warnings};
use crate::text::{listed, printable};
use plimsoll_model::Study;

/// Everything a page says.
pub(crate) struct Content {
    pub(crate) title: String,
    /// Study, date, version.
    pub(crate) subtitle: String,
    /// What is wrong with the study as a whole.
    pub(crate) trouble: Option<String>,
    /// The answer in two or three sentences.
    pub(crate) answer: Vec<String>,
    /// What else there is to say.
    pub(crate) further: Vec<String>,
    pub(crate) parts: Vec<Part>,
    pub(crate) method: Method,
    pub(crate) warnings: Vec<Warning>,
}

/// A stretch of the page under a heading.
#[derive(Default)]
pub(crate) struct Part {
    /// For links; unique on the page.
    pub(crate) id: String,
    pub(crate) heading: String,
    pub(crate) remarks: Vec<String>,
    pub(crate) table: Option<Table>,
    /// Claims that follow from the table.
    pub(crate) claims: Vec<String>,
    pub(crate) figures: Vec<Figure>,
}

/// A chart in its place.
pub(crate) struct Figure {
    /// Unique on the page; the name of its file without the ending.
    pub(crate) id: String,
    pub(crate) chart: Box<dyn Chart>,
    /// How to read it.
    pub(crate) caption: String,
}

/// How it was measured.
#[derive(Default)]
pub(crate) struct Method {
    pub(crate) sentences: Vec<String>,
    pub(crate) tables: Vec<(String, Table)>,
    /// The commands that repeat it.
    pub(crate) commands: Vec<String>,
}

/// What is odd, and what to do about it.
pub(crate) struct Warning {
    pub(crate) text: String,
    pub(crate) advice: Option<String>,
}

impl Content {
    /// Every figure of the page, in its order.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.parts.iter().flat_map(|part| &part.figures)
    }
}

/// Most lines that can be told apart in one chart.
const MOST_LINES: usize = 8;
/// Most rows that a chart of rows has; the tables have all.
const MOST_ROWS: usize = 40;

/// The page of one study. Works for any study: under way, failed, empty.
pub(crate) fn study(study: &Study) -> Content {
    let shown = Shown::new(study);
    let answer::Answer { answer, further } = answer::answer(&shown);
    let mut parts = vec![answer::verdicts(&shown)];
    let workloads = &shown.findings.workloads;
    parts.extend(workloads.iter().enumerate().map(|(i, found)| part::part(&shown, i, found)));
    parts.extend(machines::parts(&shown));
    let told = |warning: warnings::Warning| {
        let warnings::Warning { text, advice } = warning;
        Warning { text, advice }
    };
    Content {
        title: title(&shown),
        subtitle: head::title(study),
        trouble: head::ending(study).map(|(text, reason)| match reason {
            Some(reason) => format!("{text} {reason}"),
            None => text.to_owned(),
        }),
        answer,
        further,
        parts,
        method: Method {
            sentences: method::sentences(&shown),
            tables: settings::tables(&shown),
            commands: vec![printable(&study.plan.command)],
        },
        warnings: warnings::all(&shown).into_iter().map(told).collect(),
    }
}

fn title(shown: &Shown<'_>) -> String {
    match &shown.names[..] {
        [] => "A study without a target".to_owned(),
        [one] => format!("How fast is {one}?"),
        few if few.len() <= 4 => format!("{} compared", listed(few)),
        [first, others @ ..] => format!("{first} and {} others compared", others.len()),
    }
}

/// Which of the distinguishable styles a target has.
fn series(target: usize) -> usize {
    target
}

/// Says so where not all of the targets are in a chart.
fn only_some(shown: usize, all: usize) -> String {
    match all > shown {
        true => format!(" Shown are the first {shown} of {all} targets."),
        false => String::new(),
    }
}
