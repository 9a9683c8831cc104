//! One workload in words and figures: a table of levels, and what its contrasts say.

use super::hosts::at_most;
use super::{Shown, cpu, imported, speed};
use crate::columns::Columns;
use crate::figure::{Kind, ends, is_wide};
use crate::measure::{self, COLUMNS, Shape};
use crate::names;
use crate::text::{capital, counted, listed};
use crate::verdict::{Longer, Two, sentence, times_of};
use plimsoll_explain::{CellFindings, Level, Levels, Pair, Ratio, WorkloadFindings};
use plimsoll_model::{Cell, Measure, Metric, OpKind, Outcome};
use std::collections::BTreeSet;

/// A row of a table of levels: of a cell, or of one part of its work; of all its operations, or of
/// one kind.
pub(crate) struct Line<'a> {
    cell: &'a CellFindings,
    levels: &'a Levels,
    kind: Option<OpKind>,
}

/// What verdicts are about first, then the other parts; each with its kinds of operation below it.
pub(crate) fn rows<'a>(shown: &Shown<'_>, found: &'a WorkloadFindings) -> Vec<(String, Line<'a>)> {
    let mut rows = Vec::new();
    let workload = &found.workload;
    let headline = workload.headline_part();
    let part = |number| names::part(&shown.study.plan, workload, number);
    for cell in found.cells.iter().filter(|c| c.complete > 0) {
        let name = shown.names.setup(cell.cell);
        let name = match workload.parts.len() {
            0 | 1 => name,
            _ => format!("{name}: {}", part(headline)),
        };
        add_rows(&mut rows, name, "  ", cell, &cell.levels);
        if let Some(disturbed) = cell.disturbed.as_ref().filter(|disturbed| disturbed.apart) {
            let name = format!("  {} disturbed", counted(disturbed.trials as u64, "trial"));
            rows.push((name, Line { cell, levels: &disturbed.levels, kind: None }));
        }
        for (number, levels) in (0..).zip(&cell.parts).filter(|(n, _)| *n != headline) {
            add_rows(&mut rows, format!("  {}", part(number)), "    ", cell, levels);
        }
    }
    rows
}

fn add_rows<'a>(
    rows: &mut Vec<(String, Line<'a>)>,
    name: String,
    indent: &str,
    cell: &'a CellFindings,
    levels: &'a Levels,
) {
    rows.push((name, Line { cell, levels, kind: None }));
    let kinds: BTreeSet<OpKind> = levels.keys().filter_map(|metric| metric.kind).collect();
    for kind in kinds {
        let name = format!("{indent}{}", names::operations(kind));
        rows.push((name, Line { cell, levels, kind: Some(kind) }));
    }
}

/// The measures of these rows that have no column of their own in [`COLUMNS`].
fn further(rows: &[(String, Line<'_>)]) -> BTreeSet<Measure> {
    let all = rows.iter().flat_map(|(_, line)| line.levels.keys());
    let all = all.map(|metric| metric.measure).filter(|m| measure::is_further(*m));
    // The table of steps has it.
    all.filter(|measure| *measure != Measure::STEP).collect()
}

/// A row for each line and a column for each measure; of jobs with many measures of their own the other
/// way round.
pub(crate) fn table(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    rows: &[(String, Line<'_>)],
) -> Columns {
    let columns = by_line(shown, found, rows);
    if !found.workload.subject().is_some_and(|kind| kind.info().has_many_figures) {
        return columns;
    }
    let one_line = |text: &str| text.replace('\n', " ");
    let cells = |row: usize| columns.columns.iter().map(move |(_, cells)| one_line(&cells[row]));
    Columns {
        columns: columns
            .rows
            .iter()
            .enumerate()
            .map(|(row, name)| (name.trim().to_owned(), cells(row).collect()))
            .collect(),
        rows: columns.columns.iter().map(|(heading, _)| one_line(heading)).collect(),
    }
}

fn by_line(shown: &Shown<'_>, found: &WorkloadFindings, rows: &[(String, Line<'_>)]) -> Columns {
    let mut columns =
        Columns { rows: rows.iter().map(|(name, _)| name.clone()).collect(), columns: Vec::new() };
    let moves = speed(&found.workload) == Measure::THROUGHPUT;
    let bandwidth = shown.shape(Measure::THROUGHPUT).heading;
    let mut add = |heading: &str, kind: Kind, measure: &dyn Fn(&Line<'_>) -> Measure| {
        let metric = |line: &Line<'_>| Metric { kind: line.kind, measure: measure(line) };
        let levels: Vec<_> = rows.iter().map(|(_, line)| line.levels.get(&metric(line))).collect();
        // Work that moves no bytes has no bandwidth.
        let no_bytes = |level: &Level| heading == bandwidth && level.largest == 0.0;
        let none = |level: &Option<&Level>| level.is_none_or(|level| !moves && no_bytes(level));
        if !levels.iter().all(none) {
            let cells = rows.iter().zip(&levels).map(|((_, line), level)| match level {
                Some(_) if cpu::is_busy_anyway(shown, line.cell.cell, metric(line)) => {
                    cell(kind, None)
                }
                Some(level)
                    if cpu::is_as_idle(shown, line.cell.cell, line.levels, metric(line)) =>
                {
                    at_most(kind, level.interval)
                }
                level => cell(kind, *level),
            });
            columns.columns.push((heading.to_owned(), cells.collect()));
        }
    };
    for measure in COLUMNS.into_iter().chain(further(rows)) {
        let Shape { heading, kind, .. } = shown.shape(measure);
        add(&heading, kind, &|_| measure);
        if measure == Measure::THROUGHPUT {
            let unit = cpu::unit(&found.workload);
            add("CPU", unit, &|line| cpu::measure(shown, line.cell.cell));
            add("server\nCPU", unit, &|_| cpu::server_measure(&found.workload));
        }
    }
    columns
}

/// The trials of each cell during which others used a host: "61.0 MB/s in 18 of 75 trials".
pub(crate) fn disturbed(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    name: &dyn Fn(Cell) -> String,
) -> Vec<String> {
    let several = shown.names.setups() > 1;
    let is_compared = |cell: Cell| {
        let mut left_out = found.pairs.iter().filter(|pair| pair.left_out_of_figures > 0);
        left_out
            .any(|Pair { contrast, .. }| [contrast.of.cell, contrast.against.cell].contains(&cell))
    };
    let mut sentences = Vec::new();
    let shape = shown.shape(speed(&found.workload));
    for cell in &found.cells {
        let Some(disturbed) = &cell.disturbed else { continue };
        let work = capital(&shown.names.workload(found.number));
        let whose = if several { format!("{work} on {}", name(cell.cell)) } else { work };
        let (count, all) = (disturbed.trials, counted(cell.complete as u64, "trial"));
        let metric = Metric::all(speed(&found.workload));
        let level = disturbed.levels.get(&metric).map(|level| shape.plain(level.estimate));
        sentences.push(match (disturbed.apart, level) {
            (true, Some(level)) => format!(
                "{whose}: {level} in {count} of {all} with other load on a host. The figure above does \
                 not include these trials{}.",
                if is_compared(cell.cell) { ", comparisons do" } else { "" }
            ),
            (true, None) => format!("{whose}: {count} of {all} had other load on a host."),
            (false, _) => format!(
                "{whose}: {count} of {all} had other load on a host, and the figure includes them."
            ),
        });
    }
    sentences
}

/// What to know of the columns that not every workload has: "Also measured: loss (less is better)."
pub(crate) fn legend(shown: &Shown<'_>, rows: &[(String, Line<'_>)]) -> Option<String> {
    let further = further(rows);
    let legends = further.iter().filter_map(|measure| shown.shape(*measure).legend);
    let legends: Vec<String> = legends.collect();
    (!legends.is_empty()).then(|| format!("Also measured: {}.", listed(&legends)))
}

/// The figure, and its interval below it.
pub(super) fn cell(kind: Kind, level: Option<&Level>) -> String {
    let Some(level) = level else { return "–".to_owned() };
    let value = kind.value(level.estimate);
    match level.interval {
        Some(interval) => format!("{value}\n{}", kind.ends(level.estimate, interval)),
        None => value,
    }
}

pub(crate) fn single_blocks(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<String> {
    let single = found.cells.iter().filter(|c| c.complete == 1);
    let single: Vec<String> = single.map(|c| shown.names.setup(c.cell)).collect();
    let any = !single.is_empty() && !shown.findings.imported;
    any.then(|| format!("{}: one block, so no interval.", listed(&single)))
}

/// What published designs with a fixed number of repeats report.
pub(crate) fn arithmetic_means(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    const OF: [Measure; 6] = [
        Measure::ENTRIES,
        Measure::FILES,
        Measure::ELAPSED,
        Measure::IOPS,
        Measure::THROUGHPUT,
        Measure::LATENCY_MEAN,
    ];
    let of_cell = |cell: &CellFindings| {
        let mean = |measure: Measure| {
            let level = cell.levels.get(&Metric::all(measure))?;
            let shape = shown.shape(measure);
            let mean = Level { estimate: level.arithmetic_mean, interval: None, ..*level };
            Some(match measure {
                Measure::LATENCY_MEAN | Measure::ELAPSED => {
                    format!("{} {}", shape.level(&mean), shape.name)
                }
                _ => shape.level(&mean),
            })
        };
        let parts: Vec<String> = OF.into_iter().filter_map(mean).collect();
        let name = shown.names.setup(cell.cell);
        let repeats = counted(cell.complete as u64, "repeat");
        format!("Arithmetic means of {repeats}, {name}: {}.", parts.join(", "))
    };
    found.cells.iter().filter(|c| c.complete > 1).map(of_cell).collect()
}

/// Why the first void trial of a cell says nothing.
fn void_reason(shown: &Shown<'_>, cell: Cell) -> Option<String> {
    let own = shown.study.trials.iter().filter(|trial| trial.cell == cell);
    own.map(|trial| &trial.result.outcome).find_map(|outcome| match outcome {
        Outcome::Void { reason } => Some(reason.to_string()),
        _ => None,
    })
}

/// "nas: 2 of 6 trials failed."
pub(crate) fn incomplete(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    let mut remarks = Vec::new();
    for cell in &found.cells {
        let all = cell.trials();
        let name = shown.names.setup(cell.cell);
        if cell.failed > 0 {
            remarks.push(format!("{name}: {} of {all} trials failed.", cell.failed));
        }
        if cell.stopped > 0 {
            remarks.push(format!("{name}: {} of {all} trials were stopped.", cell.stopped));
        }
        if let Some(reason) = void_reason(shown, cell.cell) {
            remarks.push(format!("{name}: {} of {all} trials were void: {reason}.", cell.void));
        }
    }
    remarks
}

/// What a claim says, without its full stop; the figure is named where it is not the headline.
pub(crate) fn verdict(shown: &Shown<'_>, pair: &Pair, claim: &plimsoll_explain::Claim) -> String {
    let (a, b) = shown.two(&pair.contrast);
    let by = shown.shape(pair.contrast.of.metric.measure).compared;
    let text = match shown.findings.imported {
        true => imported::faster(Two { a: &a, b: &b, by }, &claim.ratio),
        false => {
            let longer = Some(Longer {
                seconds_per_block: shown.forecast.seconds_per_block(pair.contrast.of.cell.workload),
            });
            sentence(claim, Two { a: &a, b: &b, by }, longer)
        }
    };
    match shown.figure(&pair.contrast) {
        Some(figure) => format!("{figure}: {text}"),
        None => text,
    }
}

/// The verdict on a pair, and the ratios behind it.
pub(crate) fn claims(shown: &Shown<'_>, pair: &Pair) -> Vec<String> {
    let (a, b) = shown.two(&pair.contrast);
    match &pair.claim {
        Some(claim) => {
            let verdict = format!("{}.", verdict(shown, pair, claim));
            let ratios = ratios(shown, pair, Some(&claim.ratio));
            [verdict, ratios].into_iter().chain(more_blocks(pair)).collect()
        }
        // Only asked for, not claimed.
        None if !pair.contrast.claim && !pair.ratios.is_empty() => {
            let ratios = ratios(shown, pair, pair.ratios.get(&pair.contrast.of.metric));
            [ratios].into_iter().chain(more_blocks(pair)).collect()
        }
        None => {
            let both = match shown.findings.imported {
                true => "not both have runs",
                false => "no block has both",
            };
            vec![format!("{b} and {a} are not compared: {both}.")]
        }
    }
}

/// That a comparison counts more blocks than the figures of its sides.
fn more_blocks(pair: &Pair) -> Option<String> {
    let (left_out, all) = (pair.left_out_of_figures, counted(pair.blocks as u64, "block"));
    (left_out > 0).then(|| {
        format!(
            "The comparison counts {all}. The figures leave out trials of {left_out} of them, because of \
             other load on a host."
        )
    })
}

/// "Ratios, b to a: bandwidth 1.33 [1.30–1.36], ..".
fn ratios(shown: &Shown<'_>, pair: &Pair, first: Option<&Ratio>) -> String {
    let (a, b) = shown.two(&pair.contrast);
    let metric = pair.contrast.of.metric;
    let ratio = |name: &str, found: &Ratio| ratio(name, found, (&a, &b));
    let ratio_of = |measure| pair.ratios.get(&Metric::all(measure));
    let name = shown.figure(&pair.contrast);
    let name = name.unwrap_or_else(|| shown.shape(metric.measure).name);
    let mut ratios: Vec<String> = first.map(|first| ratio(&name, first)).into_iter().collect();
    let named = [
        (Measure::FILES, "files per second"),
        (Measure::ELAPSED, "elapsed time"),
        (Measure::LATENCY_MEAN, "mean latency"),
        (Measure::LATENCY_P50, "p50"),
        (Measure::LATENCY_P99, "p99"),
    ];
    for (measure, name) in named.into_iter().filter(|named| Metric::all(named.0) != metric) {
        ratios.extend(ratio_of(measure).map(|r| ratio(name, r)));
    }
    ratios.extend(cpu::ratio(shown, pair).map(|r| ratio("CPU", r)));
    let workload = shown.study.plan.workload(pair.contrast.of.cell);
    let server = workload.and_then(|workload| ratio_of(cpu::server_measure(workload)));
    ratios.extend(server.map(|r| ratio("server CPU", r)));
    for (other, found) in pair.ratios.iter().filter(|(other, _)| **other != metric) {
        let shape = || shown.shape(other.measure);
        match other.kind {
            Some(kind) if other.measure == metric.measure => {
                let whose = names::operations(kind);
                ratios.push(ratio(&format!("{whose}' {}", shape().name), found));
            }
            None if measure::is_further(other.measure) => {
                ratios.push(ratio(&shape().name, found));
            }
            _ => {}
        }
    }
    format!("Ratios, {b} to {a}: {}.", ratios.join(", "))
}

/// What speaks against taking a claim at its word.
pub(crate) fn doubts(shown: &Shown<'_>, pair: &Pair) -> Vec<String> {
    let Some(claim) = &pair.claim else { return Vec::new() };
    let confidence = shown.study.plan.design.confidence;
    let claimed = claim.verdict.is_some_and(|verdict| verdict.faster().is_some());
    let unconfirmed = claim.sign_flip_p.filter(|p| {
        claimed && *p > 1.0 - confidence && could_confirm(claim.ratio.blocks, confidence)
    });
    let alike = claim.moves_together();
    let far = Some(claim.far as u64).filter(|far| *far > 0);
    let doubts = [
        unconfirmed.map(|p| format!("A sign-flip test alone does not confirm it (p = {p:.2}).")),
        alike.map(|r| {
            format!(
                "Neighbouring blocks are correlated ({r:.2}). A longer study would help; more blocks in \
                 the same time would not."
            )
        }),
        far.map(|far| {
            format!(
                "{} of {} far from the others, as after a stall, so their mean is unreliable.",
                far,
                counted(claim.ratio.blocks as u64, "block")
            )
        }),
    ];
    doubts.into_iter().flatten().collect()
}

/// Whether so few blocks could confirm anything: the test's smallest p-value is 2/2^blocks.
fn could_confirm(blocks: usize, confidence: f64) -> bool {
    2f64.powi(1 - blocks.min(1000) as i32) <= 1.0 - confidence
}

/// "p99 0.75 [0.70–0.81]", "CPU of nas not distinguishable from zero".
fn ratio(name: &str, ratio: &Ratio, names: (&str, &str)) -> String {
    if let Some(who) = cpu::near_zero(ratio, names) {
        return format!("{name} of {who} not distinguishable from zero");
    }
    let value = plimsoll_model::units::three_digits(ratio.estimate);
    match ratio.interval {
        Some(interval) if is_wide(ratio.estimate, interval) => match ratio.seen {
            Some(seen) => format!(
                "{name} {} in {}",
                times_of(&seen, " to "),
                counted(seen.values as u64, "block")
            ),
            None => format!("{name} inconclusive"),
        },
        Some(interval) => format!("{name} {value} {}", ends(interval.low, interval.high)),
        None => format!("{name} {value}"),
    }
}
