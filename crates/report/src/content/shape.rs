//! What a page is made of, and what its charts have in common.

use crate::chart::{Chart, Table};
use crate::study::warnings;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::Workload;

/// Everything a page says.
pub(crate) struct Content {
    pub(crate) title: String,
    /// Study, date, version.
    pub(crate) subtitle: String,
    /// What is wrong with the study as a whole.
    pub(crate) failure: Option<String>,
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

impl From<warnings::Warning> for Warning {
    fn from(warnings::Warning { text, advice }: warnings::Warning) -> Warning {
        Warning { text, advice }
    }
}

impl Content {
    /// Every figure of the page, in its order.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.parts.iter().flat_map(|part| &part.figures)
    }
}

/// Most lines that can be told apart in one chart.
pub(super) const MOST_LINES: usize = 8;
/// Most rows that a chart of rows has; the tables have all.
pub(super) const MOST_ROWS: usize = 40;

/// Says so where not all of the targets are in a chart.
pub(super) fn only_some(shown: usize, all: usize) -> String {
    match all > shown {
        true => format!(" Shown are the first {shown} of {all} targets."),
        false => String::new(),
    }
}

/// The kind of the first job of a workload: for links.
pub(super) fn kind(workload: &Workload) -> &'static str {
    workload.main().map_or("nothing", |part| part.job.kind())
}

/// The cells that have a line in charts of lines, and a remark where those are not all.
pub(super) fn lined(found: &WorkloadFindings) -> (impl Iterator<Item = &CellFindings>, String) {
    let with = || found.cells.iter().filter(|c| c.complete > 0);
    (with().take(MOST_LINES), only_some(MOST_LINES, with().count()))
}
