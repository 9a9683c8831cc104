//! Two hosts side by side. Figures are compared where the same was measured by the same means.

use super::host::measure;
use super::section::{footnote, heading};
use super::{Host, hosts, subtitle, title};
use crate::columns::Columns;
use crate::document::{Document, Layout, Section};
use crate::figure::ends;
use crate::study::Shown;
use crate::text::{counted, printable};
use crate::verdict::{Column, Two, brief, sentence};
use plimsoll_explain::{Across, Claim, Counterpart, Findings, Ratio};
use plimsoll_model::device::{Measured, Part, Quantity};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Metric, Study};
use std::collections::BTreeMap;

/// The host of study `b` against that of study `a`, figure by figure.
pub(crate) fn compare_devices(a: &Host<'_>, b: &Host<'_>, across: &Across) -> Document {
    let mut answer = Section::new("answer", "");
    let name = |host: &Host<'_>| format!("{}; {}", subtitle(host.facts), title(host.study));
    answer.facts(vec![("A".to_owned(), name(a)), ("B".to_owned(), name(b))]);
    let mut table = Columns::with_headings(["figure", "A", "B", "B compared with A"]);
    let mut details = Vec::new();
    for part in Part::ALL {
        details.extend(figures(a, b, across, part, &mut table));
    }
    answer.table(table.table(), Layout::Words);
    answer.texts(footnote(&table));
    answer.text(match a.blocks().min(b.blocks()) {
        0 | 1 => "Each host was measured once, so the ratios have no intervals and no verdicts.",
        _ => {
            "The hosts were measured at different times, so a difference includes all changes in between. \
             The confidence holds for all verdicts together."
        }
    });
    disturbed(&mut answer, a, b);
    details.extend(differences(a, b));
    let mut not_compared = Section::details("apart", "Not compared");
    not_compared.texts(apart(a, b));
    let sections = std::iter::once(answer).chain(details).chain([not_compared]).collect();
    Document {
        title: format!("{} and {} compared", a.given(), b.given()),
        subtitle: String::new(),
        extent: String::new(),
        sections,
    }
}

/// The figures of one part that measured the same, and in `main` those that matter with the verdict.
fn figures(
    a: &Host<'_>,
    b: &Host<'_>,
    across: &Across,
    part: Part,
    main: &mut Columns,
) -> Option<Section> {
    let mut table = Columns::with_headings(["A", "B", "B / A"]);
    let of_part = |found: &&Counterpart| {
        let parts = a.study.plan.workload(found.a).map(|workload| &workload.parts[..]);
        matches!(parts, Some([only]) if only.job.kind() == part.name())
    };
    let found = across.counterparts.iter().find(of_part);
    let job = found.and_then(|found| Some(&a.study.plan.workload(found.a)?.main()?.job));
    let headline = job.map(|job| job.headline().measure);
    let about = a.measured.iter().find(|m| m.part == part && measure(m) == headline);
    let mut verdict = None;
    for (first, second) in both(a, b).filter(|two| two.0.part == part && comparable(a, b, *two)) {
        let metric = measure(first).map(Metric::all);
        let ratio = found.zip(metric).and_then(|(found, metric)| found.ratios.get(&metric));
        let ratio = match ratio.map(|ratio| (three_digits(ratio.estimate), ratio.interval)) {
            Some((ratio, Some(i))) => format!("{ratio} {}", ends(i.low, i.high)),
            Some((ratio, None)) => ratio,
            None if first.value > 0.0 => three_digits(second.value / first.value),
            None => "–".to_owned(),
        };
        let cells = [a.shown_figure(first), b.shown_figure(second)];
        let is_main = about.is_some_and(|about| about.figure == first.figure);
        if is_main || (about.is_none() && table.rows.is_empty()) {
            let claim = found.and_then(|found| found.claim.as_ref());
            let said = match claim.filter(|claim| claim.verdict.is_some()).zip(headline) {
                Some((claim, headline)) => {
                    let by = crate::measure::shape(a.study, headline).compared;
                    let two = Two { a: "A", b: "B", by };
                    verdict = Some(format!("{}: {}.", first.figure, sentence(claim, two, None)));
                    let margin = b.study.plan.design.margin;
                    brief(claim, two, Column::new([(claim, by)], margin))
                }
                None => format!("ratio {ratio}, no verdict"),
            };
            let cells = [printable(&first.figure)].into_iter().chain(cells.clone());
            main.row(heading(part), cells.chain([said]));
        }
        table.row(printable(&first.figure), cells.into_iter().chain([ratio]));
    }
    let mut section = Section::details(part.name(), heading(part));
    section.table(table.table(), Layout::Figures);
    section.texts(footnote(&table));
    verdict.into_iter().for_each(|verdict| section.verdict(verdict));
    (!section.items.is_empty()).then_some(section)
}

/// What the two are, where that differs.
fn differences(a: &Host<'_>, b: &Host<'_>) -> Option<Section> {
    // What changes from one moment to the next is no difference of hosts.
    const OF_THE_MOMENT: [&str; 2] = ["host", "memory"];
    let facts = |host: &Host<'_>| {
        let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in super::inventory::section(host).facts {
            facts.entry(name).or_default().push(value);
        }
        facts
    };
    let (of_a, of_b) = (facts(a), facts(b));
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort();
    names.dedup();
    let mut table = Columns::with_headings(["A", "B"]);
    for name in names {
        if of_a.get(name) != of_b.get(name) && !OF_THE_MOMENT.contains(&name.as_str()) {
            let shown = |facts: &BTreeMap<String, Vec<String>>| {
                facts.get(name).map_or_else(|| "–".to_owned(), |values| values.join("; "))
            };
            table.row(name.clone(), [shown(&of_a), shown(&of_b)]);
        }
    }
    let mut section = Section::details("inventory", "Differences between the hosts");
    section.table(table.table(), Layout::Words);
    (!table.rows.is_empty()).then_some(section)
}

/// That figures were disturbed: they are no measure of a host.
fn disturbed(answer: &mut Section, a: &Host<'_>, b: &Host<'_>) {
    for (name, host) in [("A", a), ("B", b)] {
        let disturbed = host.measured.iter().filter(|m| host.is_disturbed(m.part, &m.figure));
        let disturbed = disturbed.count();
        if disturbed > 0 {
            let figures = counted(host.measured.len() as u64, "figure");
            answer.warning(format!(
                "{disturbed} of {figures} of {name} were disturbed by other work on its CPU; `plimsoll \
                 show` lists them. Measure again before you compare."
            ));
        }
    }
}

/// What was measured in different ways.
pub(super) fn apart(a: &Host<'_>, b: &Host<'_>) -> Option<String> {
    let apart: Vec<String> = both(a, b)
        .filter(|two| !comparable(a, b, *two))
        .map(|(first, second)| {
            format!("{} ({}, {})", first.figure, measured_by(a, first), measured_by(b, second))
        })
        .collect();
    (!apart.is_empty()).then(|| {
        format!("Not compared, because they were measured in different ways: {}.", apart.join("; "))
    })
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

fn measured_by(host: &Host<'_>, figure: &Measured) -> String {
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
