//! The answer, and the verdicts behind it.

use super::shape::{Figure, Part};
use crate::chart::{Dot, Ratios, Table};
use crate::figure::ends;
use crate::study::{Shown, summary, workload};
use crate::text::capital;
use plimsoll_explain::Pair;
use plimsoll_model::units::three_digits;
use plimsoll_model::{Measurand, Measure, Metric};
use std::collections::BTreeSet;

/// Sentences that are the answer; what follows is for those who read on.
const ANSWER: usize = 3;
/// Comparisons that can be seen at a glance.
const AT_A_GLANCE: usize = 24;

pub(super) struct Answer {
    pub(super) answer: Vec<String>,
    pub(super) further: Vec<String>,
}

pub(super) fn answer(shown: &Shown<'_>) -> Answer {
    let mut answer = summary::sentences(shown);
    if answer.is_empty() {
        answer.push(summary::NOTHING.to_owned());
    }
    let further = answer.split_off(answer.len().min(ANSWER));
    Answer { answer, further }
}

/// The verdict of every comparison in a table; where nothing is compared, what there is.
pub(super) fn verdicts(shown: &Shown<'_>) -> Part {
    let mut part = Part { id: "verdicts".to_owned(), ..Part::default() };
    if shown.study.plan.contrasts.is_empty() {
        part.heading = "Figures".to_owned();
        part.table = levels(shown);
        return part;
    }
    part.heading = "Verdicts".to_owned();
    part.table = table(shown);
    let dots: Vec<(Measure, Dot)> =
        pairs(shown).filter_map(|pair| dot(shown, pair, true)).collect();
    if (2..=AT_A_GLANCE).contains(&dots.len()) {
        part.figures.push(ratios(shown, "verdicts-ratios", None, dots, ""));
    }
    part
}

fn pairs<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a Pair> {
    shown.findings.workloads.iter().flat_map(|w| &w.pairs)
}

/// The one baseline of all contrasts, where there is one: the first.
fn baseline(shown: &Shown<'_>) -> Option<String> {
    let all: BTreeSet<String> = pairs(shown).map(|pair| shown.two(&pair.contrast).0).collect();
    all.first().filter(|_| all.len() == 1).cloned()
}

/// The figure of these ratios, each of a measure, of one workload (by name) or of all.
pub(super) fn ratios(
    shown: &Shown<'_>,
    id: &str,
    workload: Option<&str>,
    dots: Vec<(Measure, Dot)>,
    only: &str,
) -> Figure {
    // What has no interval is not held against a margin.
    let margin = if shown.findings.imported { 0.0 } else { shown.study.plan.design.margin };
    let measures: BTreeSet<Measure> = dots.iter().map(|(measure, _)| *measure).collect();
    let shapes: Vec<_> = measures.into_iter().map(|measure| shown.shape(measure)).collect();
    let one = shapes.first().filter(|_| shapes.len() == 1);
    let of = one.map_or("the figures".to_owned(), |shape| match shape.name.as_str() {
        "bandwidth" => "bandwidths".to_owned(),
        name => name.to_owned(),
    });
    let first = baseline(shown).unwrap_or_else(|| "the baseline".to_owned());
    let right = match one.map(|shape| shape.compared) {
        Some(compared) if compared != crate::measure::Compared::Time => {
            format!("To the right of 1 is {} than {first}", compared.more())
        }
        Some(_) => format!("To the left of 1 is faster than {first}"),
        None => format!("To the right of 1 is more than {first} has"),
    };
    let caption = match shown.findings.imported {
        true => format!("Dot: ratio of {of} of single runs, which has no interval. {right}.{only}"),
        false => format!(
            "Dot: ratio of {of}, geometric mean of the blocks; line: its interval, all of the \
             study at {} together. {right}. Shaded: differences \
             below the margin of {}, too small to matter.{only}",
            crate::verdict::percent(shown.study.plan.design.confidence),
            crate::verdict::percent(margin),
        ),
    };
    let what = one.map_or("figure", |shape| shape.name.as_str());
    let axis = format!("{what} as a multiple of {first}'s (log axis)");
    let title = match workload {
        Some(workload) => format!("{}: ratio", capital(workload)),
        None => format!("{} ratios", capital(what)),
    };
    let dots = dots.into_iter().map(|(_, dot)| dot).collect();
    let chart = Ratios { title, description: caption.clone(), axis, margin, dots };
    Figure { id: id.to_owned(), chart: Box::new(chart), caption }
}

/// A comparison as a dot, and its measure; `None` where no block has both.
pub(super) fn dot(shown: &Shown<'_>, pair: &Pair, many: bool) -> Option<(Measure, Dot)> {
    let claim = pair.claim.as_ref()?;
    let (_, name) = shown.two(&pair.contrast);
    let matter = capital(&shown.matter(&pair.contrast));
    let label = match (many, shown.names.setups()) {
        (true, 2) => matter,
        (true, _) => format!("{matter}: {name}"),
        (false, _) => name,
    };
    let interval = claim.ratio.interval.map(|i| (i.low, i.high));
    let verdict = workload::verdict(shown, pair, claim);
    let series = shown.names.place(pair.contrast.of.cell);
    let dot = Dot { label, verdict, series, ratio: claim.ratio.estimate, interval };
    Some((pair.contrast.of.metric.measure, dot))
}

/// A figure of a contrast with its interval.
fn level(shown: &Shown<'_>, measurand: &Measurand) -> String {
    let found = shown.findings.workloads.get(usize::from(measurand.cell.workload));
    let cell = found.and_then(|w| w.cells.iter().find(|c| c.cell == measurand.cell));
    let level = cell.zip(found).and_then(|(cell, found)| {
        let levels = match measurand.part == found.workload.headline_part() {
            true => &cell.levels,
            false => cell.parts.get(usize::from(measurand.part))?,
        };
        levels.get(&measurand.metric)
    });
    let kind = shown.shape(measurand.metric.measure).kind;
    level.map_or("–".to_owned(), |l| kind.with_ends(l.estimate, l.interval))
}

fn table(shown: &Shown<'_>) -> Option<Table> {
    let two = shown.names.setups() == 2;
    let measures: BTreeSet<Measure> = pairs(shown).map(|p| p.contrast.of.metric.measure).collect();
    let one = measures.first().filter(|_| measures.len() == 1);
    let figure = one.map_or("figure".to_owned(), |measure| shown.shape(*measure).name);
    let mut header = vec!["work".to_owned()];
    let baseline = baseline(shown);
    let names: Vec<String> =
        shown.names.every_setup().take(2).map(|cell| shown.names.setup(cell)).collect();
    match &names[..] {
        [a, b] if two => header.extend([a.clone(), b.clone(), format!("{b} / {a}")]),
        _ => {
            let ratio = match &baseline {
                Some(first) => format!("ratio to {first}"),
                None => "ratio".to_owned(),
            };
            let compared = match shown.study.plan.factors.is_empty() {
                true => "target",
                false => "setting",
            };
            header.extend([compared.to_owned(), figure, ratio]);
        }
    }
    header.push("verdict".to_owned());
    let mut table = Table::new(header);
    for pair in pairs(shown) {
        let (a, b) = shown.two(&pair.contrast);
        let mut row = vec![capital(&shown.matter(&pair.contrast))];
        match two {
            true => row.push(level(shown, &pair.contrast.against)),
            // Against what is in the heading where it is the same for all.
            false if baseline.is_none() => row.push(format!("{b} against {a}")),
            false => row.push(b),
        }
        row.push(level(shown, &pair.contrast.of));
        let claimed = pair.claim.map(|claim| claim.ratio);
        match claimed.or(pair.ratios.get(&pair.contrast.of.metric).copied()) {
            Some(ratio) => {
                let interval = ratio.interval.map(|i| format!(" {}", ends(i.low, i.high)));
                row.push(three_digits(ratio.estimate) + &interval.unwrap_or_default());
                let claim = pair.claim.as_ref();
                row.push(claim.map_or("–".to_owned(), |c| workload::verdict(shown, pair, c)));
            }
            None if shown.findings.imported => {
                row.extend(["–".to_owned(), "There are not runs of both.".to_owned()]);
            }
            None => row.extend(["–".to_owned(), "No block has both.".to_owned()]),
        }
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What there is of a study that compares nothing: its headlines, rate and latency.
fn levels(shown: &Shown<'_>) -> Option<Table> {
    const ALWAYS: [(Measure, &str); 4] = [
        (Measure::THROUGHPUT, "bandwidth"),
        (Measure::IOPS, "IOPS"),
        (Measure::LATENCY_P50, "median latency"),
        (Measure::LATENCY_P99, "99% latency"),
    ];
    let speeds =
        shown.study.plan.workloads.iter().map(crate::study::speed).collect::<BTreeSet<_>>();
    let others = speeds.into_iter().filter(|measure| !ALWAYS.iter().any(|c| c.0 == *measure));
    let columns: Vec<(Measure, String)> = others
        .map(|measure| (measure, shown.shape(measure).heading.replace('\n', " ")))
        .chain(ALWAYS.map(|(measure, name)| (measure, name.to_owned())))
        .collect();
    let header = std::iter::once("work").chain(columns.iter().map(|c| c.1.as_str()));
    let mut table = Table::new(header.map(str::to_owned).collect());
    for found in &shown.findings.workloads {
        for cell in found.cells.iter().filter(|c| c.complete > 0) {
            let cells = columns.iter().map(|(measure, _)| {
                let level = cell.levels.get(&Metric::all(*measure));
                let kind = shown.shape(*measure).kind;
                level.map_or("–".to_owned(), |l| kind.with_ends(l.estimate, l.interval))
            });
            let work = capital(&shown.names.workload(found.number));
            let name = match shown.names.setups() {
                1 => work,
                _ => format!("{work}: {}", shown.names.setup(cell.cell)),
            };
            table.rows.push(std::iter::once(name).chain(cells).collect());
        }
    }
    (!table.rows.is_empty()).then_some(table)
}
