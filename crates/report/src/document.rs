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
    /// How much was measured: "14 blocks in 6 min", of one target with its protocol; may be empty.
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
    /// The same in several forms: a screen has the fullest for which it has room.
    Forms(Forms),
}

/// Several forms of an item.
pub(crate) struct Forms {
    /// The fullest first; at least one.
    pub(crate) forms: Vec<Item>,
    /// The place of the form that is worth more than a warning that explains little.
    pub(crate) needed: usize,
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
    /// Whether a screen has it only if there is room: the answer says the same above, or it explains little.
    pub(crate) is_minor: bool,
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

impl Item {
    /// Its fullest form.
    pub(crate) fn fullest(&self) -> &Item {
        match self {
            Item::Forms(of) => of.forms.first().map_or(self, Item::fullest),
            other => other,
        }
    }
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

    /// A table in several forms, the fullest first, each of which is good enough.
    pub(crate) fn forms(&mut self, tables: impl IntoIterator<Item = Table>, layout: Layout) {
        let forms: Vec<Item> = tables.into_iter().map(|table| Item::Table(table, layout)).collect();
        let needed = forms.len().saturating_sub(1);
        self.items.push(Item::Forms(Forms { forms, needed }));
    }

    /// A table, and the same with fewer lines, the fewest last; all but the first of these say less.
    pub(crate) fn table_or_compact(&mut self, table: Table, compact: Vec<Table>, layout: Layout) {
        if compact.is_empty() {
            return self.table(table, layout);
        }
        let tables = std::iter::once(table).chain(compact);
        let forms = tables.map(|table| Item::Table(table, layout)).collect();
        self.items.push(Item::Forms(Forms { forms, needed: 1 }));
    }

    /// A paragraph, and a shorter one for a screen without room.
    pub(crate) fn text_or_shorter(&mut self, text: String, shorter: String) {
        let forms = vec![Item::Text(text), Item::Text(shorter)];
        self.items.push(Item::Forms(Forms { forms, needed: 0 }));
    }

    /// A sentence of which a screen without room has only the first clauses; of an aside perhaps none.
    pub(crate) fn clauses(&mut self, sentence: Option<String>, is_aside: bool) {
        let Some(sentence) = sentence else { return };
        let clauses: Vec<&str> = sentence.split("; ").collect();
        let first = |count: usize| match count {
            all if all == clauses.len() => sentence.clone(),
            some => format!("{}; for the rest see the table.", clauses[..some].join("; ")),
        };
        let mut forms: Vec<Item> =
            (1..=clauses.len()).rev().map(|count| Item::Text(first(count))).collect();
        forms.extend(is_aside.then(|| Item::List(Vec::new())));
        self.items.push(Item::Forms(Forms { forms, needed: 0 }));
    }

    /// Paragraphs that a screen leaves out if it has no room for them.
    pub(crate) fn asides(&mut self, texts: impl IntoIterator<Item = String>) {
        self.items.extend(texts.into_iter().map(|text| aside(Item::Text(text))));
    }

    /// A paragraph that a screen leaves out only if what has to be on it leaves no room.
    pub(crate) fn nearly_always(&mut self, text: Option<String>) {
        let forms = |text| vec![Item::Text(text), Item::List(Vec::new())];
        self.items.extend(text.map(|text| Item::Forms(Forms { forms: forms(text), needed: 0 })));
    }

    /// Facts in several forms, the fullest first.
    pub(crate) fn facts_in_forms(&mut self, forms: [Vec<(String, String)>; 3]) {
        if !forms[0].is_empty() {
            let forms: Vec<Item> = forms.into_iter().map(Item::Facts).collect();
            self.items.push(Item::Forms(Forms { needed: forms.len() - 1, forms }));
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

/// An item, or nothing in its place.
fn aside(item: Item) -> Item {
    Item::Forms(Forms { forms: vec![item, Item::List(Vec::new())], needed: 1 })
}

impl Figure {
    pub(crate) fn new(id: String, chart: Box<dyn Chart>, caption: String) -> Figure {
        Figure { id, chart, caption, in_text: None }
    }
}

impl Document {
    /// What stands below the title where no screen limits it: the subtitle and how much was measured.
    pub(crate) fn below_title(&self) -> String {
        let parts = [&self.subtitle, &self.extent].map(String::as_str);
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }

    /// Every figure, in its order.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        let items = self.sections.iter().flat_map(|section| &section.items);
        items.filter_map(|item| match item.fullest() {
            Item::Chart(figure) => Some(figure),
            _ => None,
        })
    }

    /// Every chart as a file of its own: its name, which ends in `.svg`, and its text.
    pub fn charts(&self) -> impl Iterator<Item = (String, String)> {
        self.figures().map(|f| (format!("{}.svg", f.id), crate::chart::alone(&f.chart.svg())))
    }
}
