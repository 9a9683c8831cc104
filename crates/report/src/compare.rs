//! Two studies side by side.

use crate::date::utc;
use crate::figure::{BANDWIDTH, CPU_PER_100K, CPU_PER_GB, RATE, TIME, ends};
use crate::labs;
use crate::names;
use crate::page::Page;
use crate::study::{head, imported as single_runs};
use crate::style::Style;
use crate::table::Columns;
use crate::text::{capital, printable};
use crate::verdict::{Two, sentence};
use plimsoll_explain::{Across, Counterpart, Findings, Level, Scale};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Measure, Metric, Study, Workload};

const ROWS: [(Measure, &str, crate::figure::Kind); 7] = [
    (Measure::THROUGHPUT, "bandwidth", BANDWIDTH),
    (Measure::IOPS, "IOPS", RATE),
    (Measure::LATENCY_MEAN, "mean latency", TIME),
    (Measure::LATENCY_P50, "p50 latency", TIME),
    (Measure::LATENCY_P99, "p99 latency", TIME),
    (Measure::CLIENT_CPU_PER_BYTE, "client CPU", CPU_PER_GB),
    (Measure::CLIENT_CPU_PER_OP, "client CPU", CPU_PER_100K),
];

/// One side: its study, what it says, and how its targets are called.
struct Side<'a> {
    study: &'a Study,
    findings: Findings,
    names: Vec<String>,
}

impl<'a> Side<'a> {
    fn new(study: &'a Study) -> Self {
        Side { study, findings: plimsoll_explain::findings(study), names: names::targets(study) }
    }

    fn level(&self, target: usize, workload: &Workload, metric: Metric) -> Option<&Level> {
        let found = self.findings.workloads.iter().find(|w| w.workload == *workload)?;
        found.targets.iter().find(|t| t.target == target)?.levels.get(&metric)
    }

    fn line(&self) -> String {
        let (id, from) = (printable(&self.study.id.0), head::driven_from(self.study));
        format!("{id} of {}{from}", utc(self.study.started_unix_seconds))
    }
}

/// Study `b` against study `a`, cell by cell, as measured at different times.
pub fn compare(a: &Study, b: &Study, style: &Style) -> String {
    let Across { counterparts, only_a, only_b } = plimsoll_explain::across(a, b);
    let (a, b) = (Side::new(a), Side::new(b));
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
        page.paragraph("They have no target and pattern in common: nothing is compared.");
    }
    for (side, name, only) in [(&a, "A", only_a), (&b, "B", only_b)] {
        let cells = only.iter().map(|(target, workload)| {
            format!("{} on {}", names::pattern(workload.pattern), names::of(&side.names, *target))
        });
        let cells: Vec<String> = cells.collect();
        if !cells.is_empty() {
            page.paragraph(&format!("Only in {name}: {}.", cells.join(", ")));
        }
    }
    page.finish()
}

fn add(page: &mut Page, a: &Side<'_>, b: &Side<'_>, found: &Counterpart) {
    let (name_a, name_b) =
        (names::of(&a.names, found.target_a), names::of(&b.names, found.target_b));
    let pattern = capital(&names::pattern(found.workload_a.pattern));
    let targets = if name_a == name_b { name_a.clone() } else { format!("A {name_a}, B {name_b}") };
    page.heading(&format!("{pattern}: {targets}"));
    page.paragraph(&names::settings(&found.workload_a));
    if found.workload_a != found.workload_b {
        let other = names::settings(&found.workload_b);
        page.warning("", &format!("B was measured with other settings: {other}."));
    }
    if found.workload_a.pattern.writes() {
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
    for (measure, name, kind) in ROWS.into_iter().filter(|row| imported || !is_cpu(row.0)) {
        let metric = Metric::all(measure);
        let levels = [
            a.level(found.target_a, &found.workload_a, metric),
            b.level(found.target_b, &found.workload_b, metric),
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
        let claimed = found.claim.map(|c| c.ratio).filter(|_| measure == Measure::THROUGHPUT);
        let ratio = claimed.as_ref().or(found.ratios.get(&metric)).map_or_else(
            || "–".to_owned(),
            |r| match r.interval {
                _ if r.zero != (false, false) => "not distinguishable from zero".to_owned(),
                Some(i) => format!("{} {}", three_digits(r.estimate), ends(i.low, i.high)),
                None => three_digits(r.estimate),
            },
        );
        table.rows.push(name.to_owned());
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
    match &found.claim {
        Some(claim) if claim.verdict.is_some() => {
            let two = Two { a: &format!("A ({name_a})"), b: &format!("B ({name_b})") };
            page.item("> ", &format!("{}.", sentence(claim, two, None)));
        }
        Some(claim) if imported => {
            let (a, b) = (format!("A ({name_a})"), format!("B ({name_b})"));
            page.item("> ", &format!("{}.", single_runs::faster(&a, &b, &claim.ratio)));
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

/// Writes that are not equally safe are never compared silently.
fn stability(page: &mut Page, a: &Side<'_>, b: &Side<'_>, found: &Counterpart) {
    let of = |side: &Side<'_>, target: usize| {
        side.study.targets.get(target).map(|facts| printable(&facts.stability))
    };
    let (a, b) = (of(a, found.target_a), of(b, found.target_b));
    if let (Some(a), Some(b)) = (a, b)
        && a != b
    {
        page.warning("", &format!("Writes are not equally safe: A {a}; B {b}."));
    }
}
