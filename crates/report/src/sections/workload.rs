//! One workload: its figures in a table, what may be claimed, and its charts.

use super::common::{MOST_LINES, MOST_ROWS, kind, only_some, speeds};
use super::{hosts, knee, over_time, quantiles, stepped};
use crate::chart::{Axis, Bars, Dot, Ratios};
use crate::document::{Figure, Layout, Section};
use crate::names;
use crate::study::{Shown, cpu, imported, mounts, rates, speed, steps, workload, writes};
use crate::text::capital;
use plimsoll_explain::{Pair, WorkloadFindings};
use plimsoll_model::Measure;
use std::collections::BTreeSet;

/// The section of the n-th workload.
pub(super) fn section(shown: &Shown<'_>, number: usize, found: &WorkloadFindings) -> Section {
    let name = shown.names.workload(found.number);
    let kind_of = kind(&found.workload);
    let all = shown.findings.workloads.iter();
    let id = match all.filter(|other| kind(&other.workload) == kind_of).count() {
        0 | 1 => kind_of.to_owned(),
        _ => format!("{kind_of}-{}", number + 1),
    };
    let mut section = Section::details(id.clone(), capital(&name));
    section.text(format!("{}.", capital(&names::settings(&found.workload))));
    section.texts(writes::states(shown, found));
    if found.cells.iter().all(|c| c.trials() == 0) {
        section.text("No trials.");
        return section;
    }
    let rows = workload::rows(shown, found);
    match rows.is_empty() {
        true => section.text("No trial was completed."),
        false => {
            section.table(workload::table(shown, found, &rows).table(), Layout::Figures);
            section.texts(workload::single_blocks(shown, found));
            section.texts(workload::legend(shown, &rows));
            section.texts(cpu::owners(shown, found));
            section.texts(cpu::of_all_parts(shown, found));
            section.texts(mounts::accounts(shown, found));
            section.list(imported::runs(shown, found));
        }
    }
    if let Some(steps) = steps::table(shown, found) {
        section.table(steps.table(), Layout::Figures);
    }
    for (number, (setup, table)) in rates::tables(shown, found.number).into_iter().enumerate() {
        section.texts((number == 0).then(|| rates::LEGEND.to_owned()));
        section.texts((shown.names.setups() > 1).then(|| format!("{}:", capital(&setup))));
        section.table(table, Layout::Figures);
    }
    if shown.findings.fixed_repeats {
        section.texts(workload::arithmetic_means(shown, found));
    }
    workload::incomplete(shown, found).into_iter().for_each(|remark| section.warning(remark));
    section.texts(workload::disturbed(shown, found, &|cell| shown.names.setup(cell)));
    for pair in &found.pairs {
        let mut claims = workload::claims(shown, pair).into_iter();
        section.items.extend(claims.next().map(|claim| match pair.contrast.claim {
            true => crate::document::Item::Verdict(claim),
            false => crate::document::Item::Text(claim),
        }));
        section.texts(claims);
        workload::doubts(shown, pair).into_iter().for_each(|doubt| section.warning(doubt));
    }
    let figure = |suffix: &str| format!("{id}-{suffix}");
    let knee = knee::figure(shown, found, figure("knee"), &name);
    // The rates that a router forwards have a chart of their own.
    let is_routed = shown.routed.iter().any(|routed| routed.cell.workload == found.number);
    let steps = || stepped::figure(shown, found, figure("steps"), &name).filter(|_| !is_routed);
    section.figures(knee.or_else(steps));
    section.figures(bars(shown, found, figure("throughput"), &name));
    section.figures(ratios(shown, found, figure("ratio"), &name));
    section.figures(quantiles::figure(shown, found, figure("latency"), &name));
    section.figures(over_time::throughput(shown, found, figure("over-time"), &name));
    section.figures(over_time::in_flight(shown, found, figure("in-flight"), &name));
    section.figures(hosts::within(shown, found, &id, &name));
    section
}

fn bars(shown: &Shown<'_>, found: &WorkloadFindings, id: String, name: &str) -> Option<Figure> {
    let shape = shown.shape(speed(&found.workload));
    let mut bars = speeds(shown, found);
    let only = only_some(MOST_ROWS, bars.len());
    let caption = match shown.findings.imported {
        true => format!("Bar: geometric mean of the runs, without an interval.{only}"),
        false => format!(
            "Bar: geometric mean of the blocks, the final flush included; line: its {} \
             interval.{only}",
            crate::verdict::percent(shown.study.plan.design.confidence),
        ),
    };
    bars.truncate(MOST_ROWS);
    let alike = |other: &&WorkloadFindings| speed(&other.workload) == speed(&found.workload);
    let alike =
        shown.findings.workloads.iter().filter(alike).flat_map(|other| speeds(shown, other));
    let ends = alike.map(|bar| bar.interval.map_or(bar.value, |i| i.1.min(2.0 * bar.value)));
    let chart = Bars {
        title: format!("{}: {}", capital(name), shape.name),
        description: caption.clone(),
        axis: Axis::new(&shape.name, shape.kind),
        reaches: ends.filter(|end| end.is_finite()).fold(0.0, f64::max),
        bars,
    };
    (!chart.bars.is_empty()).then(|| Figure::new(id, Box::new(chart), caption))
}

/// What is compared, as ratios with their intervals; nothing where there are too many to be told apart.
fn ratios(shown: &Shown<'_>, found: &WorkloadFindings, id: String, name: &str) -> Option<Figure> {
    let mut dots: Vec<(Measure, Dot)> =
        found.pairs.iter().filter_map(|pair| dot(shown, pair)).collect();
    let only = only_some(MOST_ROWS, dots.len());
    dots.truncate(MOST_ROWS);
    if dots.is_empty() || found.pairs.len() > MOST_LINES * MOST_LINES {
        return None;
    }
    // What has no interval is not held against a margin.
    let margin = if shown.findings.imported { 0.0 } else { shown.study.plan.design.margin };
    let measures: BTreeSet<Measure> = dots.iter().map(|(measure, _)| *measure).collect();
    let shapes: Vec<_> = measures.into_iter().map(|measure| shown.shape(measure)).collect();
    let one = shapes.first().filter(|_| shapes.len() == 1);
    let figures = one.map_or("the figures".to_owned(), |shape| match shape.name.as_str() {
        "bandwidth" => "bandwidths".to_owned(),
        name => name.to_owned(),
    });
    let first = baseline(shown).unwrap_or_else(|| "the baseline".to_owned());
    let right = match one.map(|shape| shape.compared) {
        Some(compared) if compared != crate::compared::Compared::Time => {
            format!("Right of 1: {} than {first}", compared.more())
        }
        Some(_) => format!("Left of 1: faster than {first}"),
        None => format!("Right of 1: more than {first}"),
    };
    let caption = match shown.findings.imported {
        true => {
            format!("Dot: ratio of {figures} of single runs, without an interval. {right}.{only}")
        }
        false => format!(
            "Dot: ratio of {figures}, geometric mean of the blocks; line: its interval (all intervals of the \
             study together hold at {}). {right}. Shaded: differences below the margin of {}, too small to \
             matter.{only}",
            crate::verdict::percent(shown.study.plan.design.confidence),
            crate::verdict::percent(margin),
        ),
    };
    let what = one.map_or("figure", |shape| shape.name.as_str());
    let axis = format!("{what} as a multiple of {first}'s (log axis)");
    let title = format!("{}: ratio", capital(name));
    let dots = dots.into_iter().map(|(_, dot)| dot).collect();
    let chart = Ratios { title, description: caption.clone(), axis, margin, dots };
    Some(Figure::new(id, Box::new(chart), caption))
}

/// The one baseline of all contrasts, where there is one: the first.
fn baseline(shown: &Shown<'_>) -> Option<String> {
    let pairs = shown.findings.workloads.iter().flat_map(|w| &w.pairs);
    let all: BTreeSet<String> = pairs.map(|pair| shown.two(&pair.contrast).0).collect();
    all.first().filter(|_| all.len() == 1).cloned()
}

/// A comparison as a dot, and its measure; `None` where no block has both.
fn dot(shown: &Shown<'_>, pair: &Pair) -> Option<(Measure, Dot)> {
    let claim = pair.claim.as_ref()?;
    let (_, label) = shown.two(&pair.contrast);
    let interval = claim.ratio.interval.map(|i| (i.low, i.high));
    let verdict = workload::verdict(shown, pair, claim);
    let series = shown.names.place(pair.contrast.of.cell);
    let dot = Dot { label, verdict, series, ratio: claim.ratio.estimate, interval };
    Some((pair.contrast.of.metric.measure, dot))
}
