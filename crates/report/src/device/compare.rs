//! Two hosts side by side. Figures are compared where the same was measured by the same means.

use super::host::measure;
use super::{Host, heading, hosts, subtitle, title};
use crate::figure::ends;
use crate::page::Page;
use crate::study::Shown;
use crate::style::Style;
use crate::table::Columns;
use crate::text::counted;
use crate::verdict::{Two, sentence};
use plimsoll_explain::{Across, Claim, Counterpart, Findings, Ratio};
use plimsoll_model::device::{Measured, Part, Quantity};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Metric, Study};
use std::collections::BTreeMap;

/// The host of study `b` against that of study `a`, figure by figure.
pub(crate) fn compare_devices(
    a: &Host<'_>,
    b: &Host<'_>,
    across: &Across,
    style: &Style,
) -> String {
    let mut page = Page::new(style);
    for (name, host) in [("A", a), ("B", b)] {
        page.heading(&format!("{name}: {}", title(host.study)));
        page.item("   ", &subtitle(host.facts));
    }
    page.lines("\n");
    page.paragraph(match a.blocks().min(b.blocks()) {
        0 | 1 => "Each was measured once: the ratios have no intervals, and no verdict follows.",
        _ => {
            "Measured at different times: whatever else changed in between is in the difference. \
             Verdicts hold together."
        }
    });
    for part in Part::ALL {
        figures(&mut page, a, b, across, part);
    }
    disturbed(&mut page, a, b);
    apart(&mut page, a, b);
    page.finish()
}

/// The figures of one part that measured the same, and the verdict on it.
fn figures(page: &mut Page, a: &Host<'_>, b: &Host<'_>, across: &Across, part: Part) {
    let mut table = Columns {
        rows: Vec::new(),
        columns: ["A", "B", "B / A"].map(|h| (h.to_owned(), Vec::new())).into(),
    };
    let of_part = |found: &&Counterpart| {
        let workload = a.study.plan.workload(found.a).and_then(|workload| workload.main());
        workload.is_some_and(|main| main.job.kind() == part.name())
    };
    let found = across.counterparts.iter().find(of_part);
    for (first, second) in both(a, b).filter(|two| two.0.part == part && comparable(a, b, *two)) {
        let metric = measure(first).map(Metric::all);
        let ratio = found.zip(metric).and_then(|(found, metric)| found.ratios.get(&metric));
        let ratio = match ratio.map(|ratio| (three_digits(ratio.estimate), ratio.interval)) {
            Some((ratio, Some(i))) => format!("{ratio} {}", ends(i.low, i.high)),
            Some((ratio, None)) => ratio,
            None if first.value > 0.0 => three_digits(second.value / first.value),
            None => "–".to_owned(),
        };
        table.rows.push(first.figure.clone());
        let cells = [a.shown_figure(first), b.shown_figure(second), ratio];
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.1.push(cell);
        }
    }
    if table.rows.is_empty() {
        return;
    }
    page.heading(heading(part));
    page.lines(&table.fitted(page.style.columns()));
    let Some(found) = found else { return };
    let main = a.study.plan.workload(found.a).and_then(|workload| workload.main());
    let headline = main.map(|main| main.job.headline().measure);
    let about = a.measured.iter().find(|m| m.part == part && measure(m) == headline);
    if let (Some(claim), Some(about), Some(headline)) = (&found.claim, about, headline)
        && claim.verdict.is_some()
    {
        let by = crate::measure::shape(a.study, headline).compared;
        let two = Two { a: "A", b: "B", by };
        page.item("> ", &format!("{}: {}.", about.figure, sentence(claim, two, None)));
    }
}

/// That figures were disturbed: they are no measure of a host.
fn disturbed(page: &mut Page, a: &Host<'_>, b: &Host<'_>) {
    for (name, host) in [("A", a), ("B", b)] {
        let disturbed = host.measured.iter().filter(|m| host.is_disturbed(m.part, &m.figure));
        let disturbed = disturbed.count();
        if disturbed > 0 {
            let figures = counted(host.measured.len() as u64, "figure");
            page.warning(
                "! ",
                &format!(
                    "{disturbed} of {figures} of {name} were disturbed by something else that had \
                     the processor: `plimsoll show` tells which. Measure again before comparing."
                ),
            );
        }
    }
}

/// What was measured in different ways.
pub(super) fn apart(page: &mut Page, a: &Host<'_>, b: &Host<'_>) {
    let apart: Vec<String> = both(a, b)
        .filter(|two| !comparable(a, b, *two))
        .map(|(first, second)| {
            format!("{} ({}, {})", first.figure, means(a, first), means(b, second))
        })
        .collect();
    if !apart.is_empty() {
        page.paragraph(&format!(
            "Measured in different ways, and not compared: {}.",
            apart.join("; ")
        ));
    }
}

/// The figures that both have.
fn both<'a>(
    a: &'a Host<'_>,
    b: &'a Host<'_>,
) -> impl Iterator<Item = (&'a Measured, &'a Measured)> {
    a.measured.iter().filter_map(|first| {
        let same = |m: &&Measured| m.part == first.part && m.figure == first.figure;
        Some((first, b.measured.iter().find(same)?))
    })
}

/// Whether the same was measured by the same means. Rounds of different versions are different work.
fn comparable(a: &Host<'_>, b: &Host<'_>, (first, second): (&Measured, &Measured)) -> bool {
    first.by == second.by
        && first.quantity == second.quantity
        && (first.quantity != Quantity::Rounds || rounds_version(a) == rounds_version(b))
}

fn rounds_version(host: &Host<'_>) -> Option<u64> {
    host.cpu.as_ref()?.workload_version_number
}

fn means(host: &Host<'_>, figure: &Measured) -> String {
    match (figure.quantity, rounds_version(host)) {
        (Quantity::Rounds, Some(version)) => format!("version {version}"),
        _ => figure.by.to_owned(),
    }
}

/// Drops from the comparisons within a study what was measured in different ways on its hosts.
pub(crate) fn keep_comparable(study: &Study, findings: &mut Findings) {
    let hosts = hosts(study, findings);
    let host = |number| hosts.iter().find(|host| host.number == number);
    for pair in findings.workloads.iter_mut().flat_map(|workload| &mut workload.pairs) {
        let (of, against) = (pair.contrast.of, pair.contrast.against);
        if let (Some(a), Some(b)) = (host(against.cell.subject), host(of.cell.subject)) {
            retain(a, b, &mut pair.ratios, &mut pair.claim, Some(of.metric));
        }
    }
}

/// The same for two studies.
pub(crate) fn keep_comparable_across(a: &Shown<'_>, b: &Shown<'_>, across: &mut Across) {
    let (hosts_a, hosts_b) = (hosts(a.study, &a.findings), hosts(b.study, &b.findings));
    for found in &mut across.counterparts {
        let in_a = hosts_a.iter().find(|host| host.number == found.a.subject);
        let in_b = hosts_b.iter().find(|host| host.number == found.b.subject);
        let main = a.study.plan.workload(found.a).and_then(|workload| workload.main());
        if let (Some(a), Some(b)) = (in_a, in_b) {
            let headline = main.map(|main| main.job.headline());
            retain(a, b, &mut found.ratios, &mut found.claim, headline);
        }
    }
}

fn retain(
    a: &Host<'_>,
    b: &Host<'_>,
    ratios: &mut BTreeMap<Metric, Ratio>,
    claim: &mut Option<Claim>,
    headline: Option<Metric>,
) {
    let apart: Vec<Metric> = both(a, b)
        .filter(|two| !comparable(a, b, *two))
        .filter_map(|(first, _)| measure(first).map(Metric::all))
        .collect();
    ratios.retain(|metric, _| !apart.contains(metric));
    if headline.is_some_and(|headline| apart.contains(&headline)) {
        *claim = None;
    }
}
