//! What is reported, whatever it is written as: sections of text, facts, tables, charts, verdicts and
//! warnings. Those that answer come first; the others are details.

use crate::chart::{Chart, Table};

/// A report of a study, of two side by side, or of several as a trend. Written by
/// [`Document::screen`], [`Document::text`], [`Document::html`], [`Document::markdown`] and
/// [`Document::csv`].
pub struct Document {
    pub(crate) title: String,
    /// Study, date, version.
    pub(crate) subtitle: String,
    /// How much was measured: "14 blocks in 6 min"; may be empty.
    pub(crate) extent: String,
    /// The answer first.
    pub(crate) sections: Vec<Section>,
}

/// A stretch under a heading.
#[derive(Default)]
pub(crate) struct Section {
    /// For links; unique in the document.
    pub(crate) id: String,
    /// Empty: none.
    pub(crate) heading: String,
    /// Whether it is for those who ask for details.
    pub(crate) details: bool,
    pub(crate) items: Vec<Item>,
}

/// What a section is made of.
pub(crate) enum Item {
    /// A paragraph.
    Text(String),
    /// Sentences that belong together.
    List(Vec<String>),
    /// Names and what is known of them.
    Facts(Vec<(String, String)>),
    Table(Table, Layout),
    /// What may be claimed, as a sentence.
    Verdict(String),
    Warning(Warning),
    Chart(Figure),
    Command(Command),
}

/// What the cells of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Figures.
    Figures,
    /// Figures, and words in the last column.
    Words,
    /// Words.
    Facts,
}

/// What is odd, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Warning {
    pub(crate) text: String,
    pub(crate) advice: Option<String>,
    /// The same for the screen, in two lines at most: the effect on the figures, then what to do. Empty: text and
    /// advice.
    pub(crate) brief: String,
    /// Whether it is on the screen however little room there is.
    pub(crate) urgent: bool,
    /// A line for the shell below `brief`; may be empty.
    pub(crate) command: String,
    /// Whether it is for the details alone.
    pub(crate) quiet: bool,
}

/// What to type next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Command {
    /// What for: "More".
    pub(crate) what: String,
    /// A line for the shell.
    pub(crate) line: String,
    /// What to know of it: "about 3 min"; may be empty.
    pub(crate) note: String,
}

/// A chart in its place.
pub(crate) struct Figure {
    /// Unique in the document; the name of its file without the ending.
    pub(crate) id: String,
    pub(crate) chart: Box<dyn Chart>,
    /// How to read it.
    pub(crate) caption: String,
    /// The same for a terminal, where that shows it.
    pub(crate) in_text: Option<String>,
}

impl Section {
    /// An open section.
    pub(crate) fn new(id: impl Into<String>, heading: impl Into<String>) -> Section {
        Section { id: id.into(), heading: heading.into(), ..Section::default() }
    }

    /// A section for those who ask for details.
    pub(crate) fn details(id: impl Into<String>, heading: impl Into<String>) -> Section {
        Section { details: true, ..Section::new(id, heading) }
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.items.push(Item::Text(text.into()));
    }

    pub(crate) fn texts(&mut self, texts: impl IntoIterator<Item = String>) {
        self.items.extend(texts.into_iter().map(Item::Text));
    }

    /// Sentences that belong together, if there are any.
    pub(crate) fn list(&mut self, sentences: Vec<String>) {
        if !sentences.is_empty() {
            self.items.push(Item::List(sentences));
        }
    }

    /// Facts, if there are any.
    pub(crate) fn facts(&mut self, facts: Vec<(String, String)>) {
        if !facts.is_empty() {
            self.items.push(Item::Facts(facts));
        }
    }

    /// A table, if it has figures.
    pub(crate) fn table(&mut self, table: Table, layout: Layout) {
        if !table.rows.is_empty() && table.header.len() > 1 {
            self.items.push(Item::Table(table, layout));
        }
    }

    pub(crate) fn verdict(&mut self, verdict: impl Into<String>) {
        self.items.push(Item::Verdict(verdict.into()));
    }

    /// A warning without advice of its own.
    pub(crate) fn warning(&mut self, text: impl Into<String>) {
        self.items.push(Item::Warning(Warning { text: text.into(), ..Warning::default() }));
    }

    pub(crate) fn warnings(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.items.extend(warnings.into_iter().map(Item::Warning));
    }

    pub(crate) fn figures(&mut self, figures: impl IntoIterator<Item = Figure>) {
        self.items.extend(figures.into_iter().map(Item::Chart));
    }

    /// A line for the shell.
    pub(crate) fn command(&mut self, what: &str, line: String, note: String) {
        self.items.push(Item::Command(Command { what: what.to_owned(), line, note }));
    }
}

impl Figure {
    pub(crate) fn new(id: String, chart: Box<dyn Chart>, caption: String) -> Figure {
        Figure { id, chart, caption, in_text: None }
    }
}

impl Document {
    /// Every figure, in its order.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.items).filter_map(|item| match item {
            Item::Chart(figure) => Some(figure),
            _ => None,
        })
    }

    /// Every chart as a file of its own: its name, which ends in `.svg`, and its text.
    pub fn charts(&self) -> impl Iterator<Item = (String, String)> {
        self.figures().map(|f| (format!("{}.svg", f.id), crate::chart::alone(&f.chart.svg())))
    }
}
