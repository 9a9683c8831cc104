//! A row for each kind of work: how fast each is, which is faster, and the bottleneck.

use super::names::Brief;
use super::{compact, settings};
use crate::chart::Table;
use crate::sections::common::verdicts;
use crate::study::bottleneck::{self, Notes, Room};
use crate::study::{Shown, imported, speed, stalls, stored, writes};
use crate::text::{counted, listed, width};
use crate::verdict::{Column, Two, brief as in_brief};
use plimsoll_explain::{CellFindings, Level, Levels, Pair, WorkloadFindings};
use plimsoll_model::{Cell, Measurand, Measure, Metric, Part, StreamJob};
use plimsoll_stats::verdict::{Side, Verdict};

/// Rows of a table that is still seen at once.
const ROWS: usize = 15;
pub(super) const NOTHING: &str = "–";

/// Columns of a screen.
pub(super) const COLUMNS: usize = 80;
/// Spaces between columns, at least.
pub(super) const GAP: usize = 1;

/// A table of the answer, with the cells that each row is about.
pub(super) struct Rows {
    pub(super) table: Table,
    cells: Vec<Vec<Cell>>,
    /// Whether figures stay beside each other, so that bottlenecks without room for a column stand below the table.
    pub(super) keeps_columns: bool,
    /// Those bottlenecks, in sentences.
    pub(super) below: Vec<String>,
    /// The same table with fewer lines, the fewest last, if a row takes several.
    pub(super) compact: Vec<Table>,
}

impl Rows {
    pub(super) fn new(header: Vec<String>) -> Rows {
        let table = Table::new(header);
        Rows {
            table,
            cells: Vec::new(),
            keeps_columns: false,
            below: Vec::new(),
            compact: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, row: Vec<String>, cells: Vec<Cell>) {
        self.table.rows.push(row);
        self.cells.push(cells);
    }

    /// Adds the columns of bottlenecks and of where the bytes were, as far as they have room, each cell by its name where
    /// they differ, and the reasons below the table. Says which of them the table has.
    pub(super) fn explain(
        &mut self,
        shown: &Shown<'_>,
        name: &dyn Fn(Cell) -> String,
        notes: &mut Notes,
    ) -> Explained {
        // Other tools report neither loads of hosts nor caches.
        if shown.findings.imported {
            return Explained::default();
        }
        let stored = self.cells.iter().map(|cells| stored::words(shown, cells, name));
        let stored: Vec<Option<String>> = stored.collect();
        // A sentence takes fewer lines than rows of two.
        let are_stored = stored.iter().any(Option::is_some)
            && !stored.iter().flatten().any(|words| words.contains('\n'))
            && !stored.iter().flatten().all(|words| words == stored::UNKNOWN);
        // Without room for names, those of several are in the order of the columns; and latencies stand with the details.
        let all = self.table.header.len();
        let latencies = self.table.header.iter().filter(|name| name.starts_with(LATENCY)).count();
        let mut attempts = vec![(Room::Names, are_stored, all)];
        for room in [Room::Names, Room::Order, Room::Line] {
            attempts.extend((0..=latencies).map(|less| (room, false, all - less)));
        }
        let last = attempts.len() - 1;
        for (number, (room, with_stored, columns)) in attempts.into_iter().enumerate() {
            let mut own = notes.clone();
            let mut words =
                |cells: &Vec<Cell>| bottleneck::words(shown, cells, name, room, &mut own);
            let limits: Vec<Option<String>> = self.cells.iter().map(&mut words).collect();
            let limited = limits.iter().any(Option::is_some);
            let mut table = self.table.clone();
            table.header.truncate(columns);
            table.rows.iter_mut().for_each(|row| row.truncate(columns));
            if limited {
                let is_by_column = room != Room::Names
                    && limits.iter().flatten().any(|words| words.contains('\n'));
                let heading = if is_by_column { "bottleneck,\nby column" } else { "bottleneck" };
                add_column(&mut table, heading, &limits);
            }
            if with_stored {
                add_column(&mut table, compact::DATA, &stored);
            }
            let fits = if with_stored { is_narrow(&table) } else { fits_a_screen(&mut table) };
            if limited && !fits && number == last {
                if self.keeps_columns {
                    self.below = self.in_sentences(shown, name, notes);
                    return Explained { limited, stored: false };
                }
                broken(&mut table);
            }
            // Every table has the bottlenecks, however wide it is.
            if (limited || with_stored) && (fits || limited && number == last) {
                let in_lines =
                    limited && table.rows.iter().flatten().any(|cell| cell.contains('\n'));
                let of_data = with_stored.then_some(stored.as_slice());
                if in_lines {
                    self.compact =
                        compact::tables(shown, &self.table, &self.cells, of_data, &mut own);
                }
                (self.table, *notes) = (table, own);
                return Explained { limited, stored: with_stored };
            }
        }
        Explained::default()
    }

    /// The bottlenecks, those of rows that share them once.
    fn in_sentences(
        &self,
        shown: &Shown<'_>,
        name: &dyn Fn(Cell) -> String,
        notes: &mut Notes,
    ) -> Vec<String> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for (row, cells) in self.table.rows.iter().zip(&self.cells) {
            let words = bottleneck::words(shown, cells, name, Room::Names, notes);
            let (Some(words), Some(work)) = (words, row.first()) else { continue };
            let words = words.replace("\nor ", " or ").replace('\n', "; ");
            match found.iter_mut().find(|(known, _)| *known == words) {
                Some((_, works)) => works.push(work.clone()),
                None => found.push((words, vec![work.clone()])),
            }
        }
        let sentence = |(words, works): (String, Vec<String>)| match works.len() {
            all if all == self.table.rows.len() => format!("Bottleneck: {words}."),
            _ => format!("Bottleneck of {}: {words}.", listed(&works)),
        };
        found.into_iter().map(sentence).collect()
    }
}

/// Begin of the headings of latencies, which are the last columns of a table of levels.
pub(super) const LATENCY: &str = "latency\n";

/// What a table of the answer has of each row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Explained {
    /// Its bottleneck.
    pub(super) limited: bool,
    /// Where its bytes were.
    pub(super) stored: bool,
}

pub(super) fn add_column(table: &mut Table, heading: &str, cells: &[Option<String>]) {
    table.header.push(heading.to_owned());
    for (row, words) in table.rows.iter_mut().zip(cells) {
        row.push(words.clone().unwrap_or_else(|| NOTHING.to_owned()));
    }
}

/// Whether a table is no wider than a screen.
pub(in crate::sections) fn is_narrow(table: &Table) -> bool {
    drawn_width(table) <= COLUMNS
}

/// Breaks verdicts and then long names of work into two lines, if the table is wider than a screen. Whether it fits then.
pub(in crate::sections) fn fits_a_screen(table: &mut Table) -> bool {
    for (separator, broken) in [(": ≥", ":\n≥"), (" (", "\n(")] {
        if drawn_width(table) <= COLUMNS {
            return true;
        }
        for row in &mut table.rows {
            let cells = row.iter_mut().enumerate();
            // Marks stay in the line of their bottleneck.
            let cells = cells.filter(|(column, _)| separator != " (" || *column == 0);
            cells.for_each(|(_, cell)| *cell = cell.replacen(separator, broken, 1));
        }
    }
    if is_narrow(table) {
        return true;
    }
    let mut with_broken_names = table.clone();
    break_names(&mut with_broken_names);
    let fits = is_narrow(&with_broken_names);
    if fits {
        *table = with_broken_names;
    }
    fits
}

/// Breaks long names of work into two lines.
fn break_names(table: &mut Table) {
    for name in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
        if width(name) > SHORT
            && !name.contains('\n')
            && let Some((begin, end)) = name.rsplit_once(' ')
        {
            *name = format!("{begin}\n{end}");
        }
    }
}

/// Breaks names, verdicts and bottlenecks of a table that is too wide in any case.
fn broken(table: &mut Table) {
    break_names(table);
    for heading in &mut table.header {
        *heading = heading.replace(" is (", "\nis (");
    }
    for cell in table.rows.iter_mut().flatten() {
        *cell = cell.replace("practically equal", "practically\nequal");
    }
    for cell in table.rows.iter_mut().filter_map(|row| row.last_mut()) {
        *cell = cell.replace(" ≈ ", "\n≈ ").replace("; ", ";\n");
    }
}

/// Columns of a name of work that stays in one line.
const SHORT: usize = 13;

/// Columns that a table takes.
pub(super) fn drawn_width(table: &Table) -> usize {
    let cells = |column: usize| {
        let rows = table.rows.iter().filter_map(move |row| row.get(column));
        table.header.get(column).into_iter().chain(rows).flat_map(|cell| cell.lines())
    };
    let widths = (0..table.header.len()).map(|column| cells(column).map(width).max().unwrap_or(0));
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

pub(super) fn rows(shown: &Shown<'_>, brief: &Brief) -> Vec<Rows> {
    vec![match shown.names.setups() {
        _ if shown.study.plan.contrasts.is_empty() => levels(shown, brief),
        1 => works(shown),
        2 => two(shown, brief),
        _ if !is_long(shown) => each(shown, brief),
        _ if has_columns(shown) => return settings::tables(shown, brief),
        _ => extremes(shown, brief),
    }]
}

/// How the verdicts of the study are written.
pub(super) fn column(shown: &Shown<'_>) -> Column {
    let pairs = shown.findings.workloads.iter().flat_map(|found| &found.pairs);
    let claims = pairs.filter_map(|pair| {
        Some((pair.claim.as_ref()?, shown.shape(pair.contrast.of.metric.measure).compared))
    });
    Column::new(claims, shown.study.plan.design.margin)
}

/// Whether a row for each that is compared would be too many.
fn is_long(shown: &Shown<'_>) -> bool {
    let pairs = shown.findings.workloads.iter().map(|w| w.pairs.len()).sum::<usize>();
    pairs + shown.findings.workloads.len() > ROWS
}

/// Whether each setting is a column.
pub(super) fn has_columns(shown: &Shown<'_>) -> bool {
    let settings = shown.names.settings().len();
    let compares = !shown.study.plan.contrasts.is_empty() && shown.names.setups() > 2;
    compares && is_long(shown) && (2..=settings::COLUMNS).contains(&settings)
}

fn heading(shown: &Shown<'_>) -> String {
    verdicts(shown.study.plan.design.confidence, shown.findings.imported)
}

/// Both beside each other.
fn two(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let mut cells = shown.names.every_setup();
    let (Some(a), Some(b)) = (cells.next(), cells.next()) else { return levels(shown, brief) };
    let names = [brief.setup(shown, a), brief.setup(shown, b)];
    let [name_a, name_b] = names.clone();
    let mut table = Rows::new(vec!["work".to_owned(), name_a, name_b, heading(shown)]);
    for found in &shown.findings.workloads {
        if found.pairs.is_empty() {
            let figure = |cell: Cell| figure_of(shown, found, cell);
            let name = super::work(shown, found);
            let cells = [a, b].map(|cell| Cell { workload: found.number, ..cell }).into();
            table.push(vec![name, figure(a), figure(b), NOTHING.to_owned()], cells);
        }
        for pair in &found.pairs {
            let against = figure(shown, &pair.contrast.against);
            let of = figure(shown, &pair.contrast.of);
            // In the order of the headings, whatever is held against what.
            let swapped = pair.contrast.of.cell.subject == a.subject
                && pair.contrast.of.cell.setting == a.setting
                && (a.subject, a.setting)
                    != (pair.contrast.against.cell.subject, pair.contrast.against.cell.setting);
            let (left, right) = if swapped { (of, against) } else { (against, of) };
            let verdict = verdict(shown, brief, pair);
            let name = match shown.figure(&pair.contrast) {
                Some(figure) => format!("{}, {figure}", super::work(shown, found)),
                None => super::work(shown, found),
            };
            let cells = [a, b].map(|cell| Cell { workload: found.number, ..cell }).into();
            table.push(vec![name, left, right, verdict], cells);
        }
        for beside in besides(shown, found) {
            let figure = |cell| beside.figure(shown, of_setup(found, cell));
            let (left, right) = (figure(a), figure(b));
            table.push(vec![beside.name, left, right, NOTHING.to_owned()], Vec::new());
        }
    }
    table
}

/// Different work on one subject: a row for each that is compared, below what it is compared with.
fn works(shown: &Shown<'_>) -> Rows {
    let header = ["work", "speed"].map(str::to_owned).into_iter();
    let mut table = Rows::new(header.chain([heading(shown)]).collect());
    let mut baselines: Vec<Measurand> = Vec::new();
    for pair in shown.findings.workloads.iter().flat_map(|found| &found.pairs) {
        let (a, mut b) = shown.names.two_works(&shown.study.plan, &pair.contrast);
        if let Some(figure) = shown.figure(&pair.contrast) {
            b = format!("{b}, {figure}");
        }
        let against = pair.contrast.against;
        if !baselines.contains(&against) {
            baselines.push(against);
            let row = vec![a, figure(shown, &against), "(baseline)".to_owned()];
            table.push(row, vec![against.cell]);
        }
        let verdict = between(shown, pair, "baseline", "");
        let of = pair.contrast.of;
        table.push(vec![b, figure(shown, &of), verdict], vec![of.cell]);
    }
    let compared = |cell: Cell| {
        let pairs = shown.study.plan.contrasts.iter();
        pairs.flat_map(|c| [c.of, c.against]).any(|m| m.cell.workload == cell.workload)
    };
    for found in &shown.findings.workloads {
        for cell in found.cells.iter().filter(|cell| !compared(cell.cell)) {
            let figure = figure_of(shown, found, cell.cell);
            let row = vec![super::work(shown, found), figure, NOTHING.to_owned()];
            table.push(row, vec![cell.cell]);
        }
    }
    table
}

/// A row for each that is compared, below what it is compared with.
fn each(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let header = ["work", "", "speed"].map(str::to_owned).into_iter();
    let mut table = Rows::new(header.chain([heading(shown)]).collect());
    for found in &shown.findings.workloads {
        let mut work = super::work(shown, found);
        let mut baselines: Vec<Measurand> = Vec::new();
        for pair in &found.pairs {
            let against = pair.contrast.against;
            if !baselines.contains(&against) {
                baselines.push(against);
                let name = brief.setup(shown, against.cell);
                let work = std::mem::take(&mut work);
                let figure = figure(shown, &against);
                table.push(vec![work, name, figure, "(baseline)".to_owned()], vec![against.cell]);
            }
            let mut name = brief.setup(shown, pair.contrast.of.cell);
            if let Some(figure) = shown.figure(&pair.contrast) {
                name = format!("{name}, {figure}");
            }
            let figure = figure(shown, &pair.contrast.of);
            let row = vec![String::new(), name, figure, verdict(shown, brief, pair)];
            table.push(row, vec![pair.contrast.of.cell]);
        }
        for beside in besides(shown, found) {
            let mut work = beside.name.clone();
            for cell in &found.cells {
                let name = brief.setup(shown, cell.cell);
                let figure = beside.figure(shown, Some(cell));
                let row = vec![std::mem::take(&mut work), name, figure, NOTHING.to_owned()];
                table.push(row, vec![cell.cell]);
            }
        }
    }
    table
}

/// Of many: the fastest, the slowest, and how many are what against the baseline.
fn extremes(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let header = ["work", "fastest", "slowest", "compared with the baseline"];
    let mut table = Rows::new(header.map(str::to_owned).into());
    for found in &shown.findings.workloads {
        let metric = Metric::all(speed(&found.workload));
        let level =
            |cell: &&CellFindings| cell.levels.get(&metric).map_or(f64::NAN, |l| l.estimate);
        let measured = || found.cells.iter().filter(|cell| level(cell).is_finite());
        let by = |a: &&CellFindings, b: &&CellFindings| level(a).total_cmp(&level(b));
        let of = |cell: Option<&CellFindings>| match cell {
            Some(cell) => {
                let figure = figure_of(shown, found, cell.cell);
                format!("{}\n{figure}", brief.setup(shown, cell.cell))
            }
            None => NOTHING.to_owned(),
        };
        let row = vec![
            super::work(shown, found),
            of(measured().max_by(by)),
            of(measured().min_by(by)),
            counts(shown, found),
        ];
        table.push(row, Vec::new());
    }
    narrowed(table)
}

/// With the counts, and then the levels of settings, in a line each, if the table is wider than a screen.
fn narrowed(mut rows: Rows) -> Rows {
    let last = rows.table.header.len() - 1;
    let columns: [(std::ops::Range<usize>, &str); 2] = [(last..last + 1, "\n"), (1..last, ",\n")];
    for (columns, broken) in columns {
        if is_narrow(&rows.table) {
            break;
        }
        let heading = &mut rows.table.header[last];
        *heading = heading.replace("with the", "with\nthe");
        for cell in rows.table.rows.iter_mut().flat_map(|row| &mut row[columns.clone()]) {
            *cell = cell.replace(", ", broken);
        }
    }
    rows
}

/// "3 faster, 12 equal, 2 slower, 1 inconclusive".
fn counts(shown: &Shown<'_>, found: &WorkloadFindings) -> String {
    let mut counts = [0; 4];
    for claim in found.pairs.iter().filter_map(|pair| {
        let by = shown.shape(pair.contrast.of.metric.measure).compared;
        Some((pair.claim.as_ref()?.verdict?, by))
    }) {
        let (verdict, by) = claim;
        let place = match verdict {
            Verdict::NoPracticalDifference(_) => 1,
            Verdict::NotResolved(_) => 3,
            Verdict::Faster(_) | Verdict::PerhapsTooLittle(_) => {
                match crate::verdict::lead(&verdict, by).faster {
                    Side::B => 0,
                    Side::A => 2,
                }
            }
        };
        counts[place] += 1;
    }
    let words = ["faster", "equal", "slower", "inconclusive"].into_iter().zip(counts);
    let words: Vec<String> =
        words.filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if words.is_empty() { "too few blocks".to_owned() } else { words.join(", ") }
}

/// What there is of a study that compares nothing.
fn levels(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let confidence = crate::verdict::percent(shown.study.plan.design.confidence);
    let speed_heading = match shown.findings.imported {
        true => "speed".to_owned(),
        false => format!("speed [{confidence}]"),
    };
    let further = [
        (Measure::LATENCY_P50, "latency\np50"),
        (Measure::LATENCY_P99, "latency\np99"),
        // Of measured work, its own table has it.
        (StreamJob::LOSS, "lost"),
    ];
    let further = further
        .into_iter()
        .filter(|(measure, _)| *measure != StreamJob::LOSS || shown.findings.imported);
    let many = shown.names.setups() > 1;
    let mut header = vec!["work".to_owned()];
    if many {
        header.push(String::new());
    }
    header.push(speed_heading);
    let cells = shown.findings.workloads.iter().flat_map(|w| &w.cells);
    let levels: Vec<_> = cells.map(|cell| &cell.levels).collect();
    let known = further.filter(|(measure, _)| {
        levels.iter().any(|levels| levels.contains_key(&Metric::all(*measure)))
    });
    let known: Vec<(Measure, &str)> = known.collect();
    header.extend(known.iter().map(|(_, name)| (*name).to_owned()));
    let mut table = Rows::new(header);
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            let mut row = vec![super::work(shown, found)];
            if many {
                row.push(brief.setup(shown, cell.cell));
            }
            row.push(level_of(shown, found, cell));
            row.extend(known.iter().map(|(measure, _)| {
                let level = cell.levels.get(&Metric::all(*measure));
                level.map_or(NOTHING.to_owned(), |l| shown.shape(*measure).kind.value(l.estimate))
            }));
            table.push(row, vec![cell.cell]);
            for beside in besides(shown, found) {
                let setup = many.then(|| brief.setup(shown, cell.cell));
                let figure = beside.figure(shown, Some(cell));
                let row = std::iter::once(beside.name).chain(setup).chain([figure]);
                let row = row.chain(known.iter().map(|_| NOTHING.to_owned())).collect();
                table.push(row, vec![cell.cell]);
            }
        }
    }
    table
}

/// A figure that is not the headline.
struct Beside {
    name: String,
    part: usize,
    /// The part of the headline.
    headline: usize,
    measure: Measure,
}

/// The speeds of what else ran in imported work, and of each direction if they are known. The details of measured work
/// have them.
fn besides(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<Beside> {
    let headline = usize::from(found.workload.headline_part());
    let parts = found.workload.parts.iter().enumerate();
    let parts = parts.filter(|_| shown.findings.imported);
    let of_part = |(number, part): (usize, &Part)| {
        let title = part.job.title();
        let is_known = |measure: Measure| {
            let levels_of = |cell| levels_of_part(cell, number, headline);
            let mut levels = found.cells.iter().filter_map(levels_of);
            levels.any(|levels| levels.contains_key(&Metric::all(measure)))
        };
        let ways = [(Measure::GOODPUT_OUT, ": out"), (Measure::GOODPUT_IN, ": in")];
        let ways = ways.into_iter().filter(|(measure, _)| is_known(*measure));
        let mut all: Vec<Beside> = ways
            .map(|(measure, way)| Beside {
                name: format!("{title}{way}"),
                part: number,
                headline,
                measure,
            })
            .collect();
        if all.is_empty() && number != headline {
            all.push(Beside { name: title, part: number, headline, measure: part.job.speed() });
        }
        all
    };
    parts.flat_map(of_part).collect()
}

/// Figures of a part. A cell with one part has them as its own.
fn levels_of_part(cell: &CellFindings, part: usize, headline: usize) -> Option<&Levels> {
    cell.parts.get(part).or((part == headline).then_some(&cell.levels))
}

impl Beside {
    /// The figure of a cell.
    fn figure(&self, shown: &Shown<'_>, cell: Option<&CellFindings>) -> String {
        let levels = cell.and_then(|cell| levels_of_part(cell, self.part, self.headline));
        let level = levels.and_then(|levels| levels.get(&Metric::all(self.measure)));
        level.map_or(NOTHING.to_owned(), |l| shown.shape(self.measure).plain(l.estimate))
    }
}

/// The speed of a cell with its interval.
pub(super) fn level_of(shown: &Shown<'_>, found: &WorkloadFindings, cell: &CellFindings) -> String {
    let measure = speed(&found.workload);
    match cell.levels.get(&Metric::all(measure)) {
        Some(level) => {
            let mark = writes::mark(shown, cell.cell);
            let over_all = stalls::over_all_time(shown, cell, measure);
            let level = shown.shape(measure).level(level) + mark + &no_interval(shown, level);
            level + &over_all
        }
        None => missing(cell),
    }
}

/// In place of an interval that is expected: why there is none.
fn no_interval(shown: &Shown<'_>, level: &Level) -> String {
    match level.interval {
        None if !shown.findings.imported => {
            let few = if level.trials > 1 { ": too few" } else { "" };
            format!(" [{}{few}]", counted(level.trials as u64, "trial"))
        }
        _ => String::new(),
    }
}

/// Why a cell has no figure.
fn missing(cell: &CellFindings) -> String {
    match cell {
        cell if cell.failed > 0 => "failed".to_owned(),
        cell if cell.stopped > 0 => "stopped".to_owned(),
        _ => NOTHING.to_owned(),
    }
}

/// What was found of work on the subject and under the setting of a cell.
fn of_setup(found: &WorkloadFindings, cell: Cell) -> Option<&CellFindings> {
    let is = |c: &&CellFindings| (c.cell.subject, c.cell.setting) == (cell.subject, cell.setting);
    found.cells.iter().find(is)
}

/// The speed of a cell; of what failed, that it did.
pub(super) fn figure_of(shown: &Shown<'_>, found: &WorkloadFindings, cell: Cell) -> String {
    let Some(cell) = of_setup(found, cell) else { return NOTHING.to_owned() };
    let measure = speed(&found.workload);
    match cell.levels.get(&Metric::all(measure)) {
        Some(level) => {
            let mark = writes::mark(shown, cell.cell);
            let over_all = stalls::over_all_time(shown, cell, measure);
            shown.shape(measure).plain(level.estimate) + mark + &over_all
        }
        None => missing(cell),
    }
}

/// A figure of a contrast; of the headline the speed, which is in the unit that people know.
fn figure(shown: &Shown<'_>, measurand: &Measurand) -> String {
    let Some(found) = shown.findings.workloads.get(usize::from(measurand.cell.workload)) else {
        return NOTHING.to_owned();
    };
    let headline = found.workload.headline_part();
    let job = found.workload.parts.get(usize::from(headline)).or(found.workload.main());
    // At a fixed rate the speed is the request, and the latency is the answer.
    let is_speed =
        |part: &Part| part.headline() == measurand.metric && part.arrival.per_second().is_none();
    if measurand.part == headline && job.is_some_and(is_speed) {
        return figure_of(shown, found, measurand.cell);
    }
    let cell = found.cells.iter().find(|c| c.cell == measurand.cell);
    let level = cell.and_then(|cell| {
        let levels = match measurand.part == headline {
            true => &cell.levels,
            false => cell.parts.get(usize::from(measurand.part))?,
        };
        levels.get(&measurand.metric)
    });
    let shape = shown.shape(measurand.metric.measure);
    match (level, cell) {
        (Some(level), _) => shape.plain(level.estimate),
        (None, Some(cell)) => missing(cell),
        (None, None) => NOTHING.to_owned(),
    }
}

fn verdict(shown: &Shown<'_>, brief: &Brief, pair: &Pair) -> String {
    let (mut a, mut b) = shown.two(&pair.contrast);
    let plain = |cell: Cell, name: &str| name == shown.names.setup(cell);
    if plain(pair.contrast.against.cell, &a) {
        a = brief.setup(shown, pair.contrast.against.cell);
    }
    if plain(pair.contrast.of.cell, &b) {
        b = brief.setup(shown, pair.contrast.of.cell);
    }
    between(shown, pair, &a, &b)
}

/// What is claimed of two of these names.
pub(super) fn between(shown: &Shown<'_>, pair: &Pair, a: &str, b: &str) -> String {
    let by = shown.shape(pair.contrast.of.metric.measure).compared;
    let two = Two { a, b, by };
    match &pair.claim {
        Some(claim) if shown.findings.imported => imported::brief(two, &claim.ratio),
        Some(claim) => in_brief(claim, two, column(shown)),
        None if !pair.contrast.claim => match pair.ratios.get(&pair.contrast.of.metric) {
            Some(ratio) => format!("ratio {}", plimsoll_model::units::three_digits(ratio.estimate)),
            None => NOTHING.to_owned(),
        },
        None => "nothing to compare".to_owned(),
    }
}
