//! Two studies side by side.

use crate::date::utc;
use crate::device;
use crate::figure::ends;
use crate::labs;
use crate::measure;
use crate::names;
use crate::page::Page;
use crate::study::{Shown, head, imported as single_runs};
use crate::style::Style;
use crate::table::Columns;
use crate::text::{capital, printable};
use crate::verdict::{Two, sentence};
use plimsoll_explain::{Across, Counterpart, Level, Scale};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Measure, Metric, Stability, Study, Workload};

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

/// Study `b` against study `a`, cell by cell, as measured at different times.
pub fn compare(a: &Study, b: &Study, style: &Style) -> String {
    let mut across = plimsoll_explain::across(a, b);
    let (a, b) = (Side(Shown::new(a)), Side(Shown::new(b)));
    device::keep_comparable_across(&a, &b, &mut across);
    if let (Some(a), Some(b)) = (device::only(&a), device::only(&b)) {
        return device::compare_devices(&a, &b, &across, style);
    }
    let Across { counterparts, only_a, only_b } = across;
    let mut page = Page::new(style);
    page.heading(&format!("A: {}", a.line()));
    page.lines(&format!("B: {}\n", b.line()));
    page.paragraph(
        "Measured at different times: whatever changed in between, on servers, network and this \
         machine, is in the difference.",
    );
    labs::compare(&mut page, a.study, b.study);
    if a.findings.imported != b.findings.imported {
        page.paragraph(
            "Client CPU is that of the program which drove the load, another one on each side.",
        );
    }
    for counterpart in &counterparts {
        add(&mut page, &a, &b, counterpart);
    }
    if counterparts.is_empty() {
        page.paragraph("They have no subject and work in common: nothing is compared.");
    }
    for (side, name, only) in [(&a, "A", only_a), (&b, "B", only_b)] {
        let cells = only.into_iter().map(|cell| {
            format!("{} on {}", side.names.workload(cell.workload), side.names.setup(cell))
        });
        let cells: Vec<String> = cells.collect();
        if !cells.is_empty() {
            page.paragraph(&format!("Only in {name}: {}.", cells.join(", ")));
        }
    }
    device::add_apart(&mut page, &a, &b);
    page.finish()
}

fn add(page: &mut Page, a: &Side<'_>, b: &Side<'_>, found: &Counterpart) {
    let (name_a, name_b) = (a.names.setup(found.a), b.names.setup(found.b));
    let work = capital(&a.names.workload(found.a.workload));
    let subjects =
        if name_a == name_b { name_a.clone() } else { format!("A {name_a}, B {name_b}") };
    page.heading(&format!("{work}: {subjects}"));
    let (workload_a, workload_b) = (a.study.plan.workload(found.a), b.study.plan.workload(found.b));
    let (Some(workload_a), Some(workload_b)) = (workload_a, workload_b) else { return };
    page.paragraph(&names::settings(workload_a));
    if workload_a.parts != workload_b.parts || workload_a.steps != workload_b.steps {
        let other = names::settings(workload_b);
        page.warning("", &format!("B was measured with other settings: {other}."));
    }
    if writes(workload_a).is_some() {
        stability(page, a, b, found);
    }
    let mut table = Columns {
        rows: Vec::new(),
        columns: ["A", "B", "B / A"].map(|h| (h.to_owned(), Vec::new())).into(),
    };
    // The CPU of fio's jobs or of plimsoll's client; between measurements of plimsoll, the page of
    // each study has it.
    let imported = a.findings.imported || b.findings.imported;
    let is_cpu = |m| matches!(m, Measure::CLIENT_CPU_PER_BYTE | Measure::CLIENT_CPU_PER_OP);
    let (levels_a, levels_b) = (a.levels(found.a), b.levels(found.b));
    let known = ROWS.into_iter().filter(|row| imported || !is_cpu(row.0));
    let known = known.map(|(measure, name)| (measure, name.to_owned()));
    let both = levels_a.into_iter().chain(levels_b).flat_map(|levels| levels.keys());
    let further = both.map(|metric| metric.measure).filter(|m| measure::is_further(*m));
    let further: std::collections::BTreeSet<Measure> = further.collect();
    let further = further.into_iter().map(|measure| (measure, shape(a, b, measure).name));
    let headline = workload_a.main().map(|part| part.job.headline());
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
        // The verdict's own interval where there is one: the page has one figure for one thing.
        let claimed = found.claim.map(|c| c.ratio).filter(|_| headline == Some(metric));
        let ratio = claimed.as_ref().or(found.ratios.get(&metric)).map_or_else(
            || "–".to_owned(),
            |r| match r.interval {
                _ if r.zero != (false, false) => "not distinguishable from zero".to_owned(),
                Some(i) => format!("{} {}", three_digits(r.estimate), ends(i.low, i.high)),
                None => three_digits(r.estimate),
            },
        );
        table.rows.push(name);
        for (column, cell) in
            table.columns.iter_mut().zip([level(levels[0]), level(levels[1]), ratio])
        {
            column.1.push(cell);
        }
    }
    if table.rows.is_empty() {
        page.paragraph("No complete trials on either side.");
        return;
    }
    page.lines(&table.fitted(page.style.columns()));
    let by = headline.map(|metric| shape(a, b, metric.measure).compared);
    let (name_a, name_b) = (format!("A ({name_a})"), format!("B ({name_b})"));
    let two = by.map(|by| Two { a: &name_a, b: &name_b, by });
    match found.claim.as_ref().zip(two) {
        Some((claim, two)) if claim.verdict.is_some() => {
            page.item("> ", &format!("{}.", sentence(claim, two, None)));
        }
        Some((claim, two)) if imported => {
            page.item("> ", &format!("{}.", single_runs::faster(two, &claim.ratio)));
        }
        _ => page.item(
            "> ",
            &format!(
                "No verdict: A has {} and B {} complete trials; two of each are the least.",
                found.trials.0, found.trials.1
            ),
        ),
    }
}

/// How a measure is shown that one of them knows.
fn shape(a: &Side<'_>, b: &Side<'_>, measure: Measure) -> measure::Shape {
    let of = if a.study.info(measure).is_some() { a } else { b };
    of.shape(measure)
}

/// When what is written must be stable, of work that writes.
fn writes(workload: &Workload) -> Option<Stability> {
    workload.parts.iter().find_map(|part| part.job.stability())
}

/// Writes that are not equally safe are never compared silently.
fn stability(page: &mut Page, a: &Side<'_>, b: &Side<'_>, found: &Counterpart) {
    let of = |side: &Side<'_>, cell: Cell| {
        let facts = side.study.subjects.get(usize::from(cell.subject))?.storage()?;
        Some(printable(&facts.stability))
    };
    if let (Some(a), Some(b)) = (of(a, found.a), of(b, found.b))
        && a != b
    {
        page.warning("", &format!("Writes are not equally safe: A {a}; B {b}."));
    }
}
