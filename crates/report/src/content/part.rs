//! One workload: its figures in a table, what may be claimed, and its charts.

use super::shape::{Figure, MOST_LINES, MOST_ROWS, Part, kind, only_some};
use super::{answer, machines, over_time, quantiles, stepped};
use crate::chart::{Axis, Bar, Bars, Dot, Table};
use crate::names;
use crate::study::{Shown, cpu, mounts, speed, workload};
use crate::text::capital;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::{Measure, Metric};

/// The part of the n-th workload.
pub(super) fn part(shown: &Shown<'_>, number: usize, found: &WorkloadFindings) -> Part {
    let name = shown.names.workload(found.number);
    let kind_of = kind(&found.workload);
    let all = shown.findings.workloads.iter();
    let id = match all.filter(|other| kind(&other.workload) == kind_of).count() {
        0 | 1 => kind_of.to_owned(),
        _ => format!("{kind_of}-{}", number + 1),
    };
    let mut part = Part { heading: capital(&name), id, ..Part::default() };
    part.remarks.push(format!("{}.", names::settings(&found.workload)));
    let rows = workload::rows(shown, found);
    if rows.is_empty() {
        part.remarks.push("No trial ran to its end.".to_owned());
    } else {
        part.table = Some(table(shown, found, &rows));
        part.claims.extend(workload::single_blocks(shown, found));
        part.claims.extend(workload::legend(shown, &rows));
        part.claims.extend(cpu::owners(shown, found));
        part.claims.extend(mounts::accounts(shown, found));
    }
    part.claims.extend(workload::incomplete(shown, found));
    if found.pairs.len() <= MOST_LINES {
        for pair in &found.pairs {
            let claims = workload::claims(shown, pair).into_iter().enumerate();
            part.claims.extend(claims.map(|(i, claim)| match i {
                0 if pair.contrast.claim => format!("Verdict: {claim}"),
                _ => claim,
            }));
            part.claims.extend(workload::doubts(shown, pair));
        }
    }
    let figure = |suffix: &str| format!("{}-{suffix}", part.id);
    let mut figures = Vec::new();
    figures.extend(stepped::figure(shown, found, figure("steps"), &name));
    figures.extend(bars(shown, found, figure("throughput"), &name));
    figures.extend(ratios(shown, found, &figure("ratio"), &name));
    figures.extend(quantiles::figure(shown, found, figure("latency"), &name));
    figures.extend(over_time::throughput(shown, found, figure("over-time"), &name));
    figures.extend(over_time::in_flight(shown, found, figure("in-flight"), &name));
    figures.extend(machines::within(shown, found, &part.id, &name));
    part.figures = figures;
    part
}

fn table(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    rows: &[(String, workload::Line<'_>)],
) -> Table {
    let columns = workload::table(shown, found, rows);
    let header = columns.columns.iter().map(|(heading, _)| heading.clone());
    let mut table = Table::new(std::iter::once(String::new()).chain(header).collect());
    table.rows.extend(columns.rows.iter().enumerate().map(|(i, name)| {
        let cells = columns.columns.iter().map(|(_, cells)| cells[i].clone());
        std::iter::once(name.trim().to_owned()).chain(cells).collect()
    }));
    table
}

fn bars(shown: &Shown<'_>, found: &WorkloadFindings, id: String, name: &str) -> Option<Figure> {
    let measure = speed(&found.workload);
    let shape = shown.shape(measure);
    let bar = |cell: &CellFindings| {
        let level = cell.levels.get(&Metric::all(measure))?;
        Some(Bar {
            label: shown.names.setup(cell.cell),
            series: shown.names.place(cell.cell),
            value: level.estimate,
            interval: level.interval.map(|i| (i.low, i.high)),
        })
    };
    let mut bars: Vec<Bar> = found.cells.iter().filter_map(bar).collect();
    let only = only_some(MOST_ROWS, bars.len());
    let caption = match shown.findings.imported {
        true => format!("Bar: geometric mean of the runs, which has no interval.{only}"),
        false => format!(
            "Bar: geometric mean of the blocks, the final flush included; line: its {} \
             interval.{only}",
            crate::verdict::percent(shown.study.plan.design.confidence),
        ),
    };
    bars.truncate(MOST_ROWS);
    let chart = Bars {
        title: format!("{}: {}", capital(name), shape.name),
        description: caption.clone(),
        axis: Axis::new(&shape.name, shape.kind),
        bars,
    };
    (!chart.bars.is_empty()).then(|| Figure { id, chart: Box::new(chart), caption })
}

fn ratios(shown: &Shown<'_>, found: &WorkloadFindings, id: &str, name: &str) -> Option<Figure> {
    let mut dots: Vec<(Measure, Dot)> =
        found.pairs.iter().filter_map(|pair| answer::dot(shown, pair, false)).collect();
    let only = only_some(MOST_ROWS, dots.len());
    dots.truncate(MOST_ROWS);
    (!dots.is_empty()).then(|| answer::ratios(shown, id, Some(name), dots, &only))
}
