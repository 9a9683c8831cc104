//! A study, or several, as something to keep, send or print: HTML, Markdown, and each chart as a file.

use crate::chart;
use crate::content::{self, Content};
use crate::{html, markdown};
use plimsoll_model::Study;

/// What is reported of one study, or of several as a trend. Works for any study: under way, failed,
/// empty.
pub struct Paper(pub(crate) Content);

impl Paper {
    /// The paper of one study, or how several went on from one to the next.
    pub fn new(studies: &[Study]) -> Paper {
        Paper(content::trend(studies))
    }

    /// One HTML page that needs nothing else.
    pub fn html(&self) -> String {
        html::page(&self.0)
    }

    /// The same as Markdown. Pictures are linked where `charts` names the folder of their files.
    pub fn markdown(&self, charts: Option<&str>) -> String {
        markdown::markdown(&self.0, charts)
    }

    /// Every chart as a file of its own: its name, which ends in `.svg`, and its text.
    pub fn charts(&self) -> impl Iterator<Item = (String, String)> {
        let figures = self.0.figures();
        figures.map(|f| (format!("{}.svg", f.id), chart::alone(&f.chart.svg())))
    }
}
