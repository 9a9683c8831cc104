//! Two studies side by side.

use super::answer::fits_a_screen;
use super::changed;
use super::common::{self, verdicts};
use crate::chart::Table;
use crate::columns::Columns;
use crate::compared::Compared;
use crate::date::utc;
use crate::device;
use crate::document::{Document, Layout, Section};
use crate::figure::ends;
use crate::measure;
use crate::names;
use crate::study::bottleneck::{Notes, Room, words};
use crate::study::{Shown, head, imported as single_runs};
use crate::text::{capital, counted, listed, printable};
use crate::verdict::{Column, Two, brief, lead, nothing_decided, sentence};
use plimsoll_explain::{Across, Claim, Counterpart, Level, Scale, Unequal};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Measure, Metric, Study};
use plimsoll_stats::verdict::{self as stats, Verdict};

/// Rows in their order, and what they are called; others that both have follow.
const ROWS: [(Measure, &str); 10] = [
    (Measure::ENTRIES, "entries/s"),
    (Measure::FILES, "files/s"),
    (Measure::ELAPSED, "elapsed"),
    (Measure::THROUGHPUT, "bandwidth"),
    (Measure::IOPS, "IOPS"),
    (Measure::LATENCY_MEAN, "mean latency"),
    (Measure::LATENCY_P50, "p50 latency"),
    (Measure::LATENCY_P99, "p99 latency"),
    (Measure::CLIENT_CPU_PER_BYTE, "client CPU"),
    (Measure::CLIENT_CPU_PER_OP, "client CPU"),
];

/// One side of a comparison.
struct Side<'a>(Shown<'a>);

impl<'a> std::ops::Deref for Side<'a> {
    type Target = Shown<'a>;
    fn deref(&self) -> &Shown<'a> {
        &self.0
    }
}

impl Side<'_> {
    fn levels(&self, cell: Cell) -> Option<&plimsoll_explain::Levels> {
        let found = self.findings.workloads.get(usize::from(cell.workload))?;
        Some(&found.cells.iter().find(|c| c.cell == cell)?.levels)
    }

    fn line(&self) -> String {
        let (id, from) = (printable(&self.study.id.0), head::driven_from(self.study));
        format!("{id} of {}{from}", utc(self.study.started_unix_seconds))
    }
}

impl Document {
    /// Study `b` against study `a`, cell by cell, as measured at different times.
    pub fn of_two(a: &Study, b: &Study) -> Document {
        let mut across = plimsoll_explain::across(a, b);
        let (a, b) = (Side(Shown::new(a)), Side(Shown::new(b)));
        device::keep_comparable_across(&a, &b, &mut across);
        if let (Some(a), Some(b)) = (device::only(&a), device::only(&b)) {
            return device::compare_devices(&a, &b, &across);
        }
        let warnings = changed::warnings(&a, &b, &across);
        let Across { counterparts, unequal, only_a, only_b } = across;
        let mut answer = Section::new("answer", "");
        answer.texts(summary(&a, &b, &counterparts, unequal.len()));
        answer.facts(vec![("A".to_owned(), a.line()), ("B".to_owned(), b.line())]);
        let imported = a.findings.imported || b.findings.imported;
        let heading = verdicts(a.study.plan.design.confidence, imported);
        let mut rows = Vec::new();
        let mut notes = Notes::default();
        let mut details = Vec::new();
        let claims = counterparts
            .iter()
            .filter_map(|found| Some((found.claim.as_ref()?, by(&a, &b, found)?)));
        let column = Column::new(claims, b.study.plan.design.margin);
        for (number, found) in counterparts.iter().enumerate() {
            rows.push(row(&a, &b, found, imported, column, &mut notes));
            details.push(section(&a, &b, (found.a, found.b), Some(found), number));
        }
        for (number, found) in (counterparts.len()..).zip(&unequal) {
            rows.push(apart(&a, &b, found));
            details.push(section(&a, &b, (found.a, found.b), None, number));
        }
        let (table, limited) = table(rows, &heading);
        answer.table(table, Layout::Words);
        answer.texts(notes.texts().filter(|_| limited));
        answer.text(match counterparts.is_empty() {
            true if !unequal.is_empty() => {
                "The studies cannot be compared, because they have no equal work in common."
            }
            true => "The studies cannot be compared, because they have no subject and work in common.",
            false => {
                "The studies were measured at different times, so a difference includes all changes of \
                 servers, network and this machine in between."
            }
        });
        if a.findings.imported != b.findings.imported {
            answer.text(
                "Client CPU is the CPU time of the program that generated the load, which differs between \
                 A and B.",
            );
        }
        for (side, name, only) in [(&a, "A", only_a), (&b, "B", only_b)] {
            let cells = only.into_iter().map(|cell| {
                format!("{} on {}", side.names.workload(cell.workload), side.names.setup(cell))
            });
            let cells: Vec<String> = cells.collect();
            if !cells.is_empty() {
                answer.text(format!("Only in {name}: {}.", cells.join(", ")));
            }
        }
        device::add_apart(&mut answer, &a, &b);
        answer.warnings(warnings);
        let [id_a, id_b] = [&a, &b].map(|side| printable(&side.study.id.0));
        let line = format!("plimsoll compare {id_a} {id_b} --details");
        answer.command("More", line, String::new());
        let sections = std::iter::once(answer).chain(details).collect();
        let title = format!("{id_b} compared with {id_a}");
        Document { title, subtitle: String::new(), extent: String::new(), sections }
    }
}

/// Rows that the first sentence names; of more their number is.
const NAMED: usize = 3;

/// The answer in a sentence: "The new study (B) is faster for small reads (≥ 8%); nothing else changed." `None` without
/// verdicts.
fn summary(a: &Side<'_>, b: &Side<'_>, rows: &[Counterpart], unequal: usize) -> Option<String> {
    if a.findings.imported || b.findings.imported || rows.is_empty() {
        return None;
    }
    let one = rows.windows(2).all(|two| {
        let named = |row: &Counterpart| named(a, b, (row.a, row.b)).1;
        named(&two[0]) == named(&two[1])
    });
    let name = |row: &Counterpart| match named(a, b, (row.a, row.b)) {
        (work, _) if one => work,
        (work, subject) => format!("{work} on {subject}"),
    };
    let claims = rows.iter().filter_map(|row| Some((row.claim.as_ref()?, by(a, b, row)?)));
    let column = Column::new(claims, b.study.plan.design.margin);
    // Names of those that are ahead, with the least by which they are.
    let mut ahead: [Vec<(String, f64)>; 2] = Default::default();
    let (mut equal, mut open, mut is_amount) = (0, Vec::new(), false);
    for row in rows {
        let verdict = row.claim.as_ref().and_then(|claim| claim.verdict);
        let Some((verdict, by)) = verdict.zip(by(a, b, row)) else {
            open.push(name(row));
            continue;
        };
        is_amount |= by == Compared::Amount;
        match verdict {
            Verdict::Faster(_) | Verdict::PerhapsTooLittle(_) => {
                let lead = lead(&verdict, by);
                let side = usize::from(lead.faster == stats::Side::B);
                ahead[side].push((name(row), lead.by.low));
            }
            Verdict::NoPracticalDifference(_) => equal += 1,
            Verdict::NotResolved(_) => open.push(name(row)),
        }
    }
    let (all, more) = (rows.len(), if is_amount { "higher" } else { "faster" });
    let is_new = b.study.started_unix_seconds > a.study.started_unix_seconds;
    let names =
        if is_new { ["The old study (A)", "The new study (B)"] } else { ["Study A", "Study B"] };
    let mut parts = Vec::new();
    for side in [1, 0] {
        let own = &ahead[side];
        let Some(least) = own.iter().map(|(_, least)| *least).reduce(f64::min) else { continue };
        let works = works(own.iter().map(|(name, _)| name.clone()).collect(), all);
        let each = if own.len() > 1 { "each " } else { "" };
        let least = column.at_least(least);
        parts.push(format!("{} is {more} for {works} ({each}≥ {least})", names[side]));
    }
    let is_ahead = !parts.is_empty();
    if is_ahead && parts.len() == 2 {
        parts[1] = parts[1].replacen("The", "the", 1).replacen("Study", "study", 1);
    }
    let inconclusive = |open: Vec<String>| {
        let are = if open.len() == 1 { "is" } else { "are" };
        format!("{} {are} inconclusive", works(open, all))
    };
    match (is_ahead, equal, open.len()) {
        (true, 0, 0) => {}
        (true, _, 0) => parts.push("nothing else changed".to_owned()),
        (true, 0, _) => parts.push(inconclusive(open)),
        (true, ..) => {
            parts.push(inconclusive(open));
            parts.push("the others are practically equal".to_owned());
        }
        (false, 0, _) => {
            let claims: Vec<&Claim> = rows.iter().filter_map(|row| row.claim.as_ref()).collect();
            parts.push(nothing_decided(&claims, "studies"));
        }
        (false, 1, 0) if all == 1 => {
            parts.push("Nothing changed: both studies are practically equal".to_owned());
        }
        (false, _, 0) => {
            parts.push(format!("Nothing changed: all {all} rows are practically equal"));
        }
        (false, ..) => parts.push(format!(
            "No change was found: {equal} of {all} rows are practically equal; {}",
            inconclusive(open)
        )),
    }
    if unequal > 0 {
        let rows = counted(unequal as u64, "row");
        let are = if unequal == 1 { "is" } else { "are" };
        parts.push(format!("{rows} {are} not compared, because the work differs"));
    }
    Some(format!("{}.", parts.join("; ")))
}

/// "random read and random write", "4 of 10 rows", "all 10 rows".
fn works(names: Vec<String>, all: usize) -> String {
    match names.len() {
        own if own == all && all > 1 => format!("all {all} rows"),
        few if few <= NAMED && names.iter().all(|name| !name.contains(',')) => listed(&names),
        1 => names.concat(),
        many => format!("{many} of {all} rows"),
    }
}

/// What a counterpart is called: the work, and the names of its subject on either side.
fn named(a: &Side<'_>, b: &Side<'_>, (in_a, in_b): (Cell, Cell)) -> (String, String) {
    let (name_a, name_b) = (a.names.setup(in_a), b.names.setup(in_b));
    let subjects = if name_a == name_b { name_a } else { format!("A {name_a}, B {name_b}") };
    (a.names.workload(in_a.workload), subjects)
}

/// The speed of a cell, as it stands in a row.
fn speed(side: &Side<'_>, cell: Cell) -> String {
    let level = side.study.plan.workload(cell).and_then(|workload| {
        let measure = crate::study::speed(workload);
        let level = side.levels(cell)?.get(&Metric::all(measure))?;
        Some(side.shape(measure).plain(level.estimate))
    });
    level.unwrap_or_else(|| "–".to_owned())
}

/// A row of the answer.
struct Row {
    work: String,
    subject: String,
    /// Of A and B.
    speeds: [String; 2],
    verdict: String,
    bottleneck: Option<String>,
}

/// The rows, with the subjects where there are several, and the bottlenecks where there is room: whether there is.
fn table(rows: Vec<Row>, heading: &str) -> (Table, bool) {
    let one = rows.windows(2).all(|two| two[0].subject == two[1].subject);
    let subject = rows.first().map_or("", |row| &row.subject).to_owned();
    let first = if one { vec![subject] } else { ["work", "subject"].map(str::to_owned).to_vec() };
    let rest = ["A", "B", heading].map(str::to_owned);
    let mut table = Table::new(first.into_iter().chain(rest).collect());
    let mut bottlenecks = Vec::new();
    for Row { work, subject, speeds: [a, b], verdict, bottleneck } in rows {
        let names = if one { vec![work] } else { vec![work, subject] };
        table.rows.push(names.into_iter().chain([a, b, verdict]).collect());
        bottlenecks.push(bottleneck);
    }
    if bottlenecks.iter().all(Option::is_none) {
        return (table, false);
    }
    let mut wide = table.clone();
    wide.header.push("bottleneck".to_owned());
    for (row, words) in wide.rows.iter_mut().zip(bottlenecks) {
        row.push(words.unwrap_or_else(|| "–".to_owned()));
    }
    if fits_a_screen(&mut wide) { (wide, true) } else { (table, false) }
}

/// The bottleneck in A and in B, once where it is the same.
fn bottleneck(
    a: &Side<'_>,
    b: &Side<'_>,
    cells: (Cell, Cell),
    notes: &mut Notes,
) -> Option<String> {
    if a.findings.imported || b.findings.imported {
        return None;
    }
    let mut words_of =
        |side: &Side<'_>, cell| words(side, &[cell], &|_| String::new(), Room::Names, notes);
    match (words_of(a, cells.0), words_of(b, cells.1)) {
        (Some(a), Some(b)) if a != b => Some(format!("A: {a}\nB: {b}").replace("\nor", " or")),
        (a, b) => a.or(b),
    }
}

/// The speeds of other work in a row, which are not compared.
fn apart(a: &Side<'_>, b: &Side<'_>, found: &Unequal) -> Row {
    let (work, subject) = named(a, b, (found.a, found.b));
    let speeds = [speed(a, found.a), speed(b, found.b)];
    Row { work, subject, speeds, verdict: common::OTHER_WORK.to_owned(), bottleneck: None }
}

/// Speeds and verdict in a row.
fn row(
    a: &Side<'_>,
    b: &Side<'_>,
    found: &Counterpart,
    imported: bool,
    column: Column,
    notes: &mut Notes,
) -> Row {
    let (work, subject) = named(a, b, (found.a, found.b));
    let two = by(a, b, found).map(|by| Two { a: "A", b: "B", by });
    let verdict = match found.claim.as_ref().zip(two) {
        Some((claim, two)) if claim.verdict.is_some() => brief(claim, two, column),
        Some((claim, two)) if imported => single_runs::brief(two, &claim.ratio),
        _ => "too few trials".to_owned(),
    };
    let speeds = [speed(a, found.a), speed(b, found.b)];
    let bottleneck = bottleneck(a, b, (found.a, found.b), notes);
    Row { work, subject, speeds, verdict, bottleneck }
}

/// What the verdict on a counterpart is about.
fn by(a: &Side<'_>, b: &Side<'_>, found: &Counterpart) -> Option<Compared> {
    let headline = a.study.plan.workload(found.a)?.main()?.headline();
    Some(shape(a, b, headline.measure).compared)
}

/// Every figure that both have, side by side; where they are of equal work, with ratios and the verdict.
fn section(
    a: &Side<'_>,
    b: &Side<'_>,
    (in_a, in_b): (Cell, Cell),
    equal: Option<&Counterpart>,
    number: usize,
) -> Section {
    let (work, subjects) = named(a, b, (in_a, in_b));
    let heading = format!("{}: {subjects}", capital(&work));
    let mut section = Section::details(format!("counterpart-{}", number + 1), heading);
    let (name_a, name_b) = (a.names.setup(in_a), b.names.setup(in_b));
    let (workload_a, workload_b) = (a.study.plan.workload(in_a), b.study.plan.workload(in_b));
    let (Some(workload_a), Some(workload_b)) = (workload_a, workload_b) else { return section };
    section.text(match equal {
        Some(_) => format!("{}.", capital(&names::settings(workload_a))),
        None => {
            format!("A: {}. B: {}.", names::settings(workload_a), names::settings(workload_b))
        }
    });
    let mut table = Columns::with_headings(["A", "B"]);
    if equal.is_some() {
        table.columns.push(("B / A".to_owned(), Vec::new()));
    }
    // The CPU of fio's jobs or of plimsoll's client; between measurements of plimsoll, the page of
    // each study has it.
    let imported = a.findings.imported || b.findings.imported;
    let is_cpu = |m| matches!(m, Measure::CLIENT_CPU_PER_BYTE | Measure::CLIENT_CPU_PER_OP);
    let (levels_a, levels_b) = (a.levels(in_a), b.levels(in_b));
    let known = ROWS.into_iter().filter(|row| imported || !is_cpu(row.0));
    let known = known.map(|(measure, name)| (measure, name.to_owned()));
    let both = levels_a.into_iter().chain(levels_b).flat_map(|levels| levels.keys());
    let further = both.map(|metric| metric.measure).filter(|m| measure::is_further(*m));
    let further: std::collections::BTreeSet<Measure> = further.collect();
    let further = further.into_iter().map(|measure| (measure, shape(a, b, measure).name));
    let headline = workload_a.main().map(|part| part.headline());
    for (measure, name) in known.chain(further) {
        let metric = Metric::all(measure);
        let kind = shape(a, b, measure).kind;
        let levels = [
            levels_a.and_then(|levels| levels.get(&metric)),
            levels_b.and_then(|levels| levels.get(&metric)),
        ];
        if levels.iter().all(Option::is_none) {
            continue;
        }
        let level = |l: Option<&Level>| match l {
            Some(l) if l.scale == Scale::Log || l.interval.is_none() => {
                kind.with_ends(l.estimate, l.interval)
            }
            Some(l) => kind.value(l.estimate),
            None => "–".to_owned(),
        };
        let sides = levels.map(level);
        let Some(found) = equal else {
            table.row(name, sides);
            continue;
        };
        // The verdict's own interval where there is one: the report has one figure for one thing.
        let claimed = found.claim.map(|c| c.ratio).filter(|_| headline == Some(metric));
        let ratio = claimed.as_ref().or(found.ratios.get(&metric)).map_or_else(
            || "–".to_owned(),
            |r| match r.interval {
                _ if r.zero != (false, false) => "not distinguishable from zero".to_owned(),
                Some(i) => format!("{} {}", three_digits(r.estimate), ends(i.low, i.high)),
                None => three_digits(r.estimate),
            },
        );
        table.row(name, sides.into_iter().chain([ratio]));
    }
    if table.rows.is_empty() {
        section.text("Neither side has a complete trial.");
        return section;
    }
    section.table(table.table(), Layout::Figures);
    let Some(found) = equal else {
        section.verdict("Not compared: the work differs.");
        return section;
    };
    let (name_a, name_b) = (format!("A ({name_a})"), format!("B ({name_b})"));
    let two = by(a, b, found).map(|by| Two { a: &name_a, b: &name_b, by });
    section.verdict(match found.claim.as_ref().zip(two) {
        Some((claim, two)) if claim.verdict.is_some() => format!("{}.", sentence(claim, two, None)),
        Some((claim, two)) if imported => format!("{}.", single_runs::faster(two, &claim.ratio)),
        _ => format!(
            "No verdict: A has {} and B {} complete trials, and both need at least two.",
            found.trials.0, found.trials.1
        ),
    });
    section
}

/// How a measure is shown that one of them knows.
fn shape(a: &Side<'_>, b: &Side<'_>, measure: Measure) -> measure::Shape {
    let side = if a.study.info(measure).is_some() { a } else { b };
    side.shape(measure)
}
