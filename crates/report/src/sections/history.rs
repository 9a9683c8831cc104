//! Studies of one subject over time: the latest rows and what changed on the screen; every series in the details.

use super::answer::is_narrow;
use super::predictions;
use crate::chart::{Axis, COUNT, Line, Lines, Point, Table};
use crate::compared::Compared;
use crate::date::day;
use crate::document::{Document, Figure, Forms, Item, Layout, Section, Warning};
use crate::measure::{Shape, shape};
use crate::names;
use crate::study::{Shown, bottleneck};
use crate::text::{capital, counted, listed, printable, shortened, target};
use crate::verdict::percent;
use plimsoll_explain::whatif::CheckedPrediction;
use plimsoll_explain::{Change, History, MOST_SEARCHED, Moment, Recognised, Series};
use plimsoll_model::{Cell, Study, StudyId, SubjectKey};
use plimsoll_stats::divisive::{self, Shift};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows of the answer, from the fullest form to the one for a screen without room.
const ROWS: [usize; 5] = [40, 12, 10, 8, 5];
/// Series with a column of their own.
const COLUMNS: usize = 5;
/// Recorded changes and changes of level that the answer names; the details have all.
const NAMED: usize = 3;
/// Longest text of a recorded change in the answer, in columns.
const LONGEST: usize = 150;

/// A series with its name.
struct Named<'a> {
    series: &'a Series<'a>,
    name: String,
    shape: Shape,
}

impl<'a> Named<'a> {
    fn new(series: &'a Series<'a>) -> Named<'a> {
        let (study, cell) = series.last;
        let work = names::workloads(&study.plan).get(usize::from(cell.workload)).cloned();
        let levels = plimsoll_model::factor::words(&study.plan.factors, cell.setting).join(", ");
        let name = work.unwrap_or_default();
        let name = if levels.is_empty() { name } else { format!("{name}, {}", printable(&levels)) };
        Named { series, name, shape: shape(study, series.metric.measure) }
    }

    /// "12% slower: 112 MB/s before, 98.6 MB/s since".
    fn shifted(&self, shift: &Shift) -> String {
        let [before, after] = [shift.before, shift.after].map(|level| self.shape.plain(level));
        format!("{} {} ({before}, then {after})", self.name, self.by(shift))
    }

    /// "12% slower".
    fn by(&self, shift: &Shift) -> String {
        let compared = self.shape.compared;
        let is_more = shift.after > shift.before;
        let is_faster = is_more != (compared == Compared::Time);
        let ratio = if compared == Compared::Time {
            shift.before / shift.after
        } else {
            shift.after / shift.before
        };
        let word = if is_faster { compared.more() } else { compared.less() };
        format!("{} {word}", percent((ratio - 1.0).abs()))
    }
}

impl Document {
    /// Studies of one subject, the oldest first, its predictions, and [`crate::history_bottlenecks`] of studies.
    pub fn of_history(
        asked: &str,
        history: &History<'_>,
        recognised: &Recognised,
        predicted: &[CheckedPrediction],
        bottlenecks: &BTreeMap<StudyId, String>,
    ) -> Document {
        let current: Vec<Named<'_>> = history.current().into_iter().map(Named::new).collect();
        let mut answer = Section::new("answer", "");
        answer.texts(shifts(history, &current));
        let columns = &current[..current.len().min(COLUMNS)];
        let notes = Marks::new(history);
        add_rows(&mut answer, history, columns, &notes, bottlenecks);
        answer.texts(notes.texts(history));
        answer.nearly_always(predictions::in_words(predicted));
        answer.texts(left_out(history, &current));
        answer.warnings(conflicts(recognised));
        let quoted = quoted(asked);
        answer.command("More", format!("plimsoll history {quoted} --details"), String::new());
        let mut sections = vec![answer];
        let all = history.series.iter().map(Named::new).enumerate();
        sections.extend(all.map(|(number, series)| section(history, number, &series)));
        sections.push(recorded(history));
        sections.push(predictions::section(history, predicted));
        sections.push(method(history));
        let studies = counted(history.moments.len() as u64, "study");
        let span = match (history.moments.first(), history.moments.last()) {
            (Some(first), Some(last)) if begun(first) == begun(last) => {
                format!("{studies} on {}", begun(last))
            }
            (Some(first), Some(last)) => {
                format!("{studies} from {} to {}", begun(first), begun(last))
            }
            _ => "no study".to_owned(),
        };
        let title = shortened(&target(asked), 60);
        Document { title, subtitle: String::new(), extent: span, sections }
    }
}

/// "2026-11-20".
fn begun(moment: &Moment<'_>) -> String {
    day(moment.study.started_unix_seconds)
}

fn id(moment: &Moment<'_>) -> String {
    printable(&moment.study.id.0)
}

/// For a line of the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", printable(word).replace('\'', "'\\''")),
    }
}

/// Changes of level, the latest study first; or why there are none.
fn shifts(history: &History<'_>, current: &[Named<'_>]) -> Vec<String> {
    if history.moments.is_empty() || current.is_empty() {
        return vec!["No study of it has a figure.".to_owned()];
    }
    let mut places: Vec<usize> =
        current.iter().flat_map(|of| &of.series.shifts).map(|shift| shift.at).collect();
    places.sort_unstable();
    places.dedup();
    let text = |place: usize| {
        let own = current.iter().flat_map(|of| {
            let here = of.series.shifts.iter().filter(move |shift| shift.at == place);
            here.map(move |shift| of.shifted(shift))
        });
        let moment = &history.moments[place];
        let works = listed(&own.collect::<Vec<_>>());
        let why = match moment.changes.first() {
            Some(change) => format!("Recorded there: {}.", recorded_in_words(moment, change)),
            None => "No change of version, kernel, setting or link was recorded there.".to_owned(),
        };
        format!("Since study {} of {}: {works}. {why}", id(moment), begun(moment))
    };
    let mut texts: Vec<String> = places.iter().rev().take(NAMED).copied().map(text).collect();
    if places.len() > NAMED {
        let more = counted((places.len() - NAMED) as u64, "earlier change");
        texts.push(format!("{more} of level: see --details."));
    }
    let most = current.iter().map(|of| of.series.len()).max().unwrap_or(0);
    if places.is_empty() && current.iter().any(|of| of.series.is_searched()) {
        texts.push(format!("No change of level was found in {most} studies."));
    }
    if current.iter().all(|of| !of.series.is_searched()) {
        let are = if most == 1 { "is" } else { "are" };
        texts.push(format!(
            "A search for changes of level needs {} studies of equal work; there {are} {most}.",
            divisive::FEWEST
        ));
    }
    texts
}

/// The first recorded change of a study, and the number of the others.
fn recorded_in_words(moment: &Moment<'_>, change: &Change) -> String {
    let others = moment.changes.len() - 1;
    match others {
        0 => in_words(change),
        _ => format!("{} and {others} more", in_words(change)),
    }
}

/// "kernel of local: 6.1.0, then 6.6.4".
fn in_words(change: &Change) -> String {
    let [what, before, after] =
        [&change.what, &change.before, &change.after].map(|text| printable(text));
    shortened(&format!("{what}: {before}, then {after}"), LONGEST)
}

/// Studies with recorded changes that have a number, the latest first.
struct Marks(Vec<usize>);

impl Marks {
    /// The latest ones among the rows of a screen.
    fn new(history: &History<'_>) -> Marks {
        let count = history.moments.len();
        let latest = (count.saturating_sub(ROWS[1])..count).rev();
        let mut changed: Vec<usize> = latest
            .filter(|place| !history.moments[*place].changes.is_empty())
            .take(NAMED)
            .collect();
        changed.reverse();
        Marks(changed)
    }

    /// "(1)" of a study with a number; "*" of another study with recorded changes.
    fn mark(&self, history: &History<'_>, place: usize) -> Option<String> {
        match self.0.iter().position(|own| *own == place) {
            Some(number) => Some(format!("({})", number + 1)),
            None => (!history.moments[place].changes.is_empty()).then(|| "*".to_owned()),
        }
    }

    fn texts(&self, history: &History<'_>) -> Vec<String> {
        let text = |(number, place): (usize, &usize)| {
            let moment = &history.moments[*place];
            let first = moment.changes.first()?;
            Some(format!("({number}) Recorded change: {}.", recorded_in_words(moment, first)))
        };
        (1..).zip(&self.0).filter_map(text).collect()
    }
}

/// The latest studies, a row each; with the bottlenecks where there is room.
fn add_rows(
    answer: &mut Section,
    history: &History<'_>,
    columns: &[Named<'_>],
    marks: &Marks,
    bottlenecks: &BTreeMap<StudyId, String>,
) {
    if columns.is_empty() {
        return;
    }
    let words = |place: usize| bottlenecks.get(&history.moments[place].study.id).cloned();
    let mut forms = Vec::new();
    let mut has_bottlenecks = false;
    for rows in ROWS {
        let places = history.moments.len().saturating_sub(rows)..history.moments.len();
        let bottlenecks: Vec<Option<String>> = places.clone().map(words).collect();
        let changes: Vec<Option<String>> =
            places.clone().map(|place| marks.mark(history, place)).collect();
        let mut plain = figures(history, columns, places);
        let mut wide = plain.clone();
        add_column(&mut wide, "bottleneck", &bottlenecks, "–");
        let is_plain = !add_column(&mut plain, "change", &changes, "");
        add_column(&mut wide, "change", &changes, "");
        has_bottlenecks = bottlenecks.iter().any(Option::is_some) && is_narrow(&wide);
        let layout = if is_plain && !has_bottlenecks { Layout::Figures } else { Layout::Words };
        forms.push(Item::Table(if has_bottlenecks { wide } else { plain }, layout));
    }
    let needed = forms.len() - 2;
    answer.items.push(Item::Forms(Forms { forms, needed }));
    let last = history.moments.len().checked_sub(1).and_then(words);
    if let (false, Some(words)) = (has_bottlenecks, last) {
        let words = words.replace(bottleneck::BY_COLUMN, "; ").replace(" ≈ ", " or ");
        answer.asides([format!("Bottlenecks in the latest study: {words}.")]);
    }
}

/// Adds a column, unless it is empty. Whether it was added.
fn add_column(table: &mut Table, heading: &str, cells: &[Option<String>], none: &str) -> bool {
    let is_known = cells.iter().any(Option::is_some);
    if is_known {
        table.header.push(heading.to_owned());
        for (row, cell) in table.rows.iter_mut().zip(cells) {
            row.push(cell.clone().unwrap_or_else(|| none.to_owned()));
        }
    }
    is_known
}

/// Figures of studies, a row each.
fn figures(history: &History<'_>, columns: &[Named<'_>], places: Range<usize>) -> Table {
    let heading = |of: &Named<'_>| shortened(&of.name, 24).replacen(' ', "\n", 1);
    let header = ["begun", "study"].map(str::to_owned).into_iter();
    let mut table = Table::new(header.chain(columns.iter().map(heading)).collect());
    for place in places {
        let moment = &history.moments[place];
        let cell = |of: &Named<'_>| {
            let level = of.series.levels.get(place).copied().flatten();
            let Some(level) = level else { return "–".to_owned() };
            let shift = of.series.shifts.iter().find(|shift| shift.at == place);
            let arrow =
                shift.map_or("", |shift| if shift.after > shift.before { "↑" } else { "↓" });
            of.shape.plain(level) + arrow
        };
        let row = [begun(moment), id(moment)].into_iter().chain(columns.iter().map(cell));
        table.rows.push(row.collect());
    }
    table
}

/// Bottlenecks of a whole study of a history in a few words, in the order of the columns; `None` if none is known.
pub fn bottlenecks(history: &History<'_>, study: &Study) -> Option<String> {
    let moment = history.moments.iter().find(|moment| moment.study.id == study.id)?;
    let of_column = |series: &Series<'_>| {
        let (last, cell) = series.last;
        let workload = last.plan.workload(cell)?;
        let same = study.plan.workloads.iter().position(|own| own.parts == workload.parts)?;
        Some(Cell { subject: moment.subject, workload: same as u16, setting: cell.setting })
    };
    let columns = history.current().into_iter().take(COLUMNS);
    let cells: Vec<Cell> = columns.filter_map(of_column).collect();
    bottleneck::brief(&Shown::new(study), &cells)
}

/// Work that has no column.
fn left_out(history: &History<'_>, current: &[Named<'_>]) -> Vec<String> {
    let mut texts = Vec::new();
    if current.len() > COLUMNS {
        let more: Vec<String> = current[COLUMNS..].iter().map(|of| of.name.clone()).collect();
        texts.push(match more.len() {
            1 | 2 => format!("Without a column: {}; see --details.", listed(&more)),
            many => format!("{many} more kinds of work: see --details."),
        });
    }
    let earlier = history.series.len() - current.len();
    if earlier > 0 {
        let series = if earlier == 1 { "1 series".to_owned() } else { format!("{earlier} series") };
        texts.push(format!("{series} of work that the latest study does not have: see --details."));
    }
    texts
}

/// Names or addresses that stood for two servers.
fn conflicts(recognised: &Recognised) -> Vec<Warning> {
    let one = |(a, b): (&SubjectKey, &SubjectKey)| {
        let words = |key: &SubjectKey| match &key.reported {
            Some(reported) => {
                format!("{} ({})", target(&key.given), shortened(&printable(reported), 40))
            }
            None => target(&key.given),
        };
        let what = match (&a.name, a.given == b.given) {
            (Some(name), _) if a.name == b.name => format!("The name '{}'", printable(name)),
            (_, true) => format!("The address {}", target(&a.given)),
            _ => "The subject".to_owned(),
        };
        Warning {
            text: format!("{what} stands for two subjects: {} and {}.", words(a), words(b)),
            advice: Some("Give each a name of its own: plimsoll check --as NAME.".to_owned()),
            ..Warning::default()
        }
    };
    recognised.conflicts().into_iter().take(NAMED).map(one).collect()
}

/// One series: its chart, every level, and its changes.
fn section(history: &History<'_>, number: usize, of: &Named<'_>) -> Section {
    let series = of.series;
    let (study, cell) = series.last;
    let mut section = Section::details(format!("series-{}", number + 1), capital(&of.name));
    let work = study.plan.workload(cell).map(names::settings).unwrap_or_default();
    section.text(format!(
        "{}. {} with a figure.",
        capital(&work),
        counted(series.len() as u64, "study")
    ));
    let shifts = series.shifts.iter().map(|shift| {
        let moment = &history.moments[shift.at];
        format!("Since study {} of {}: {}.", id(moment), begun(moment), of.shifted(shift))
    });
    section.list(shifts.collect());
    let points = series
        .levels
        .iter()
        .enumerate()
        .filter_map(|(place, level)| Some(Point { x: place as f64, y: (*level)?, band: None }));
    let caption = "Geometric mean of the blocks of each study. The axis shows the order of the studies, not their \
                   times. Vertical lines: changes of level.";
    let phase = |shift: &Shift| (shift.at as f64 - 0.5, of.by(shift));
    let chart = Lines {
        title: format!("{}: {}", capital(&of.name), of.shape.name),
        description: caption.to_owned(),
        x: Axis::new("study", COUNT),
        y: Axis::new(&of.shape.name, of.shape.kind),
        lines: vec![Line { label: of.name.clone(), series: 0, points: points.collect() }],
        phases: series.shifts.iter().map(phase).collect(),
        names: history.moments.iter().map(id).collect(),
    };
    let chart = Box::new(chart);
    section.figures([Figure::new(format!("history-{}", number + 1), chart, caption.to_owned())]);
    let mut table =
        Table::new(["begun", "study", of.shape.name.as_str()].map(str::to_owned).into());
    for (place, level) in series.levels.iter().enumerate() {
        if let Some(level) = level {
            let moment = &history.moments[place];
            table.rows.push(vec![begun(moment), id(moment), of.shape.plain(*level)]);
        }
    }
    section.table(table, Layout::Figures);
    section
}

/// Every recorded change.
fn recorded(history: &History<'_>) -> Section {
    let mut section = Section::details("recorded", "Recorded changes");
    let mut table = Table::new(["begun", "study", "change"].map(str::to_owned).into());
    for moment in &history.moments {
        for change in &moment.changes {
            table.rows.push(vec![begun(moment), id(moment), in_words(change)]);
        }
    }
    section.table(table, Layout::Words);
    section
}

fn method(history: &History<'_>) -> Section {
    let mut section = Section::details("method", "Method");
    let mut sentences = vec![
        "Only figures of equal work are one series: the rule of plimsoll compare, and the same protocol and client."
            .to_owned(),
        format!(
            "Changes of level are splits of a series by the energy distance (E-divisive), from {} studies on. The \
             largest distance is compared with the distances in random orders of the same values, at a level of {}: a series \
             without a change has a false alarm with at most this probability. A split counts only if it describes the \
             values better than a steady drift.",
            divisive::FEWEST,
            percent(divisive::LEVEL)
        ),
        "A recorded change at the same study may be the cause. It is not proven to be.".to_owned(),
    ];
    if history.series.iter().any(|series| series.len() > MOST_SEARCHED) {
        sentences
            .push(format!("The search covers the latest {MOST_SEARCHED} studies of a series."));
    }
    section.list(sentences);
    section
}
