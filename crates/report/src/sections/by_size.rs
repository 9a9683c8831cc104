//! Goodput over a network path by the size of blocks or payloads, with the points that a publication has of home routers.

use super::common::{MOST_LINES, only_some};
use crate::chart::{self, Axis, Line, Lines, Point};
use crate::columns::Columns;
use crate::document::{Figure, Layout, Section};
use crate::figure::{BYTES, Kind};
use crate::measure::is_of_paths;
use crate::study::{Shown, speed};
use plimsoll_explain::{WorkloadFindings, arithmetic_level};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Job, Metric, Parameter, Steps};
use plimsoll_published::kofler2011::{Sent, sent};
use plimsoll_references::{Table, source};
use std::collections::BTreeMap;

const NOTHING: &str = "–";

/// Loads that differ in their size alone.
struct Sizes<'a> {
    /// The job without its size.
    like: Job,
    steps: &'a Option<Steps>,
    /// Bytes of a block or payload, ascending.
    works: Vec<(u64, &'a WorkloadFindings)>,
}

/// A publication's figure, and the points of it that are known.
struct Published {
    figure: u8,
    sent: Vec<Sent>,
}

/// Empty without loads of several sizes.
pub(super) fn section(shown: &Shown<'_>, tables: &[Table]) -> Section {
    sizes_section(shown, tables, |_| true)
}

/// The loads that a publication has, too.
pub(crate) fn published_sizes(shown: &Shown<'_>) -> Section {
    sizes_section(shown, plimsoll_references::tables(), |published| published.is_some())
}

fn sizes_section(
    shown: &Shown<'_>,
    tables: &[Table],
    is_wanted: impl Fn(Option<&Published>) -> bool,
) -> Section {
    let mut section = Section::details("by-size", "Goodput by size");
    if !is_of_paths(shown.study) {
        return section;
    }
    for (number, sizes) in sizes(shown).iter().enumerate() {
        let published = published(sizes, tables);
        if !is_wanted(published.as_ref()) {
            continue;
        }
        if let Some((table, figure)) = chart(shown, sizes, number, published.as_ref()) {
            section.text(format!("{}:", figure.chart.title()));
            section.table(table, Layout::Figures);
            section.figures([figure]);
        }
    }
    section
}

fn sizes<'a>(shown: &'a Shown<'_>) -> Vec<Sizes<'a>> {
    let mut all: Vec<Sizes<'a>> = Vec::new();
    for found in &shown.findings.workloads {
        let [part] = found.workload.parts.as_slice() else { continue };
        // Frames that a router forwards have a table of their own.
        let is_kept = matches!(found.workload.steps, Some(Steps::Kept { .. }));
        let size = part.job.block().filter(|_| part.job.moves_payload() && !is_kept);
        let Some(Bytes(size)) = size else { continue };
        let (mut like, steps) = (part.job.clone(), &found.workload.steps);
        if like.set(Parameter::Block, 1.0).is_err() {
            continue;
        }
        match all.iter_mut().find(|sizes| sizes.like == like && sizes.steps == steps) {
            Some(sizes) => sizes.works.push((size, found)),
            None => all.push(Sizes { like, steps, works: vec![(size, found)] }),
        }
    }
    all.retain(|sizes| sizes.works.len() > 1);
    for sizes in &mut all {
        sizes.works.sort_by_key(|(size, _)| *size);
    }
    all
}

/// Points of the same load: of one stream that sends as fast as it can.
fn published(sizes: &Sizes<'_>, tables: &[Table]) -> Option<Published> {
    let (figure, scenario) = match sizes.like.kind() {
        "tcp-out" => (1, "tcp_out"),
        "udp-out" => (2, "udp_out"),
        _ => return None,
    };
    let parameters = sizes.like.parameters();
    let is_one = parameters.contains(&("streams", "1".to_owned()));
    let has_rate = parameters.iter().any(|(name, _)| *name == "rate_per_second");
    let sent = sent(tables, scenario);
    let is_alike = is_one && !has_rate && sizes.steps.is_none() && !sent.is_empty();
    is_alike.then_some(Published { figure, sent })
}

fn chart(
    shown: &Shown<'_>,
    sizes: &Sizes<'_>,
    number: usize,
    published: Option<&Published>,
) -> Option<(chart::Table, Figure)> {
    let (_, first) = sizes.works.first()?;
    let measure = speed(&first.workload);
    let shape = shown.shape(measure);
    let sent = published.map_or(&[][..], |published| published.sent.as_slice());
    let points = || sent.iter().flat_map(|sent| &sent.points);
    let mut along: Vec<u64> = sizes.works.iter().map(|(size, _)| *size).collect();
    along.extend(points().map(|(size, _)| *size as u64));
    along.sort_unstable();
    along.dedup();
    let place = |size: u64| along.partition_point(|own| *own < size) as f64;
    let mut own: BTreeMap<usize, Line> = BTreeMap::new();
    for (size, found) in &sizes.works {
        for cell in found.cells.iter().filter(|cell| cell.complete > 0) {
            let metric = Metric::all(measure);
            let level = match published {
                Some(_) => arithmetic_level(shown.study, cell.cell, metric),
                None => cell.levels.get(&metric).copied(),
            };
            let Some(level) = level else { continue };
            let series = shown.names.place(cell.cell);
            let new = || Line { label: shown.names.setup(cell.cell), series, points: Vec::new() };
            let band = level.interval.map(|ends| (ends.low.max(0.0), ends.high));
            let point = Point { x: place(*size), y: level.estimate, band };
            own.entry(series).or_insert_with(new).points.push(point);
        }
    }
    own.retain(|_, line| line.points.len() > 1);
    let most = MOST_LINES.saturating_sub(sent.len());
    let only = only_some(most, own.len());
    let mut lines: Vec<Line> = own.into_values().take(most).collect();
    if lines.is_empty() {
        return None;
    }
    lines.extend((shown.names.setups()..).zip(sent).map(|(series, sent)| {
        let point =
            |(size, bits): &(f64, f64)| Point { x: place(*size as u64), y: bits / 8.0, band: None };
        let mut points: Vec<Point> = sent.points.iter().map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { label: format!("{}, published", sent.platform), series, points }
    }));
    let note = published.map_or_else(String::new, |published| published_in(published.figure));
    let names: Vec<String> = along.iter().map(|size| Bytes(*size).to_string()).collect();
    let table = table(&lines, &names, shape.kind);
    let mean = match published {
        Some(_) => "Arithmetic mean of the blocks, as published",
        None => "Geometric mean of the blocks",
    };
    let caption = format!("{mean}, with its interval.{only}{note}");
    let size = if sizes.like.kind().starts_with("udp") { "payload" } else { "block size" };
    let title = sizes.like.title();
    let chart = Lines {
        title: format!("{title}: {} by {size}", shape.name),
        description: caption.clone(),
        x: Axis::new(size, BYTES),
        y: Axis::new(&shape.name, shape.kind),
        lines,
        phases: Vec::new(),
        names,
    };
    let id = match number {
        0 => "by-size".to_owned(),
        more => format!("by-size-{}", more + 1),
    };
    Some((table, Figure::new(id, Box::new(chart), caption)))
}

/// A row for each size, and a column for each line.
fn table(lines: &[Line], names: &[String], kind: Kind) -> chart::Table {
    let columns = lines.iter().map(|line| {
        let cell = |place: usize| {
            let point = line.points.iter().find(|point| point.x == place as f64);
            point.map_or_else(|| NOTHING.to_owned(), |point| kind.value(point.y))
        };
        (line.label.clone(), (0..names.len()).map(cell).collect())
    });
    Columns { rows: names.to_vec(), columns: columns.collect() }.table()
}

/// The source of the points of a figure.
pub(super) fn published_in(figure: u8) -> String {
    let citation = source("kofler2011").map_or("kofler2011", |source| source.citation);
    format!(" Published: {citation}, figure {figure}, the points that its text has in numbers.")
}
