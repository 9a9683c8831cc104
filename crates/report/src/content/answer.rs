//! The answer, and the verdicts behind it.

use super::shape::{Figure, Part, series};
use crate::chart::{Dot, Ratios, Table};
use crate::figure::{BANDWIDTH, RATE, TIME, ends};
use crate::names;
use crate::study::{Shown, imported, summary};
use crate::text::capital;
use crate::verdict::{Longer, Two, sentence};
use plimsoll_explain::{Claim, Pair, WorkloadFindings};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Measure, Metric};

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

/// The verdict of every comparison in a table; of one target alone, what it carries.
pub(super) fn verdicts(shown: &Shown<'_>) -> Part {
    let mut part = Part { id: "verdicts".to_owned(), ..Part::default() };
    if shown.names.len() < 2 {
        part.heading = "Figures".to_owned();
        part.table = levels(shown);
        return part;
    }
    part.heading = "Verdicts".to_owned();
    part.table = table(shown);
    let pairs =
        || shown.findings.workloads.iter().flat_map(|w| w.pairs.iter().map(move |p| (w, p)));
    let dots: Vec<Dot> = pairs().filter_map(|(w, pair)| dot(shown, w, pair, true)).collect();
    if (2..=AT_A_GLANCE).contains(&dots.len()) {
        part.figures.push(ratios(shown, "verdicts-ratios", "Bandwidth ratios", dots, ""));
    }
    part
}

/// The figure of these ratios.
pub(super) fn ratios(
    shown: &Shown<'_>,
    id: &str,
    title: &str,
    dots: Vec<Dot>,
    only: &str,
) -> Figure {
    // What has no interval is not held against a margin.
    let margin = if shown.findings.imported { 0.0 } else { shown.study.plan.design.margin };
    let first = names::of(&shown.names, 0);
    let caption = match shown.findings.imported {
        true => format!(
            "Dot: ratio of bandwidths of single runs, which has no interval. To the right of 1 is \
             faster than {first}.{only}"
        ),
        false => format!(
            "Dot: ratio of bandwidths, geometric mean of the blocks; line: its interval, all of the \
             study at {} together. To the right of 1 is faster than {first}. Shaded: differences \
             below the margin of {}, too small to matter.{only}",
            crate::verdict::percent(shown.study.plan.design.confidence),
            crate::verdict::percent(margin),
        ),
    };
    let axis = format!("bandwidth as a multiple of {first}'s (log axis)");
    let chart =
        Ratios { title: title.to_owned(), description: caption.clone(), axis, margin, dots };
    Figure { id: id.to_owned(), chart: Box::new(chart), caption }
}

/// A comparison as a dot; `None` where no block has both.
pub(super) fn dot(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    pair: &Pair,
    many: bool,
) -> Option<Dot> {
    let claim = pair.claim.as_ref()?;
    let name = names::of(&shown.names, pair.b);
    let pattern = capital(&names::pattern(found.workload.pattern));
    let label = match (many, shown.names.len()) {
        (true, 2) => pattern,
        (true, _) => format!("{pattern}: {name}"),
        (false, _) => name,
    };
    let interval = claim.ratio.interval.map(|i| (i.low, i.high));
    let verdict = verdict(shown, claim, pair);
    Some(Dot { label, verdict, series: series(pair.b), ratio: claim.ratio.estimate, interval })
}

fn verdict(shown: &Shown<'_>, claim: &Claim, pair: &Pair) -> String {
    let (a, b) = (names::of(&shown.names, pair.a), names::of(&shown.names, pair.b));
    if shown.findings.imported {
        return imported::faster(&a, &b, &claim.ratio);
    }
    let longer = Some(Longer { seconds_per_block: shown.seconds_per_block() });
    sentence(claim, Two { a: &a, b: &b }, longer)
}

fn table(shown: &Shown<'_>) -> Option<Table> {
    let two = shown.names.len() == 2;
    let mut header = vec!["work".to_owned()];
    if two {
        header.extend(shown.names.iter().cloned());
        header.push(format!("{} / {}", shown.names[1], shown.names[0]));
    } else {
        let first = &shown.names[0];
        header.extend(["target".to_owned(), "bandwidth".to_owned(), format!("ratio to {first}")]);
    }
    header.push("verdict".to_owned());
    let mut table = Table::new(header);
    for found in &shown.findings.workloads {
        let bandwidth = |target: usize| {
            let target = found.targets.iter().find(|t| t.target == target);
            let level = target.and_then(|t| t.levels.get(&Metric::all(Measure::THROUGHPUT)));
            level.map_or("–".to_owned(), |l| BANDWIDTH.with_ends(l.estimate, l.interval))
        };
        for pair in &found.pairs {
            let mut row = vec![capital(&names::pattern(found.workload.pattern))];
            match two {
                true => row.push(bandwidth(0)),
                false => row.push(names::of(&shown.names, pair.b)),
            }
            row.push(bandwidth(pair.b));
            match &pair.claim {
                Some(claim) => {
                    let ratio = claim.ratio;
                    let interval = ratio.interval.map(|i| format!(" {}", ends(i.low, i.high)));
                    row.push(three_digits(ratio.estimate) + &interval.unwrap_or_default());
                    row.push(verdict(shown, claim, pair));
                }
                None if shown.findings.imported => {
                    row.extend(["–".to_owned(), "There are not runs of both.".to_owned()]);
                }
                None => row.extend(["–".to_owned(), "No block has both.".to_owned()]),
            }
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What a single target carries.
fn levels(shown: &Shown<'_>) -> Option<Table> {
    let columns = [
        (Measure::THROUGHPUT, "bandwidth", BANDWIDTH),
        (Measure::IOPS, "IOPS", RATE),
        (Measure::LATENCY_P50, "median latency", TIME),
        (Measure::LATENCY_P99, "99% latency", TIME),
    ];
    let header = std::iter::once("work").chain(columns.iter().map(|c| c.1));
    let mut table = Table::new(header.map(str::to_owned).collect());
    for found in &shown.findings.workloads {
        let Some(target) = found.targets.first().filter(|t| t.complete > 0) else { continue };
        let cells = columns.iter().map(|(measure, _, kind)| {
            let level = target.levels.get(&Metric::all(*measure));
            level.map_or("–".to_owned(), |l| kind.with_ends(l.estimate, l.interval))
        });
        let name = capital(&names::pattern(found.workload.pattern));
        table.rows.push(std::iter::once(name).chain(cells).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}
