//! What the memory, the network and the disks of a watched host did over the trials.

use crate::chart::{Areas, Axis, BANDWIDTH, BYTES, COUNT, Layer, Line, Lines, Point};
use crate::document::Figure;
use crate::study::hosts;
use plimsoll_model::{HostLoad, HostName, LoadStretch, MemoryNow, Moved};

/// The trials, in the order run, one unit of the axis each, with the stretches inside them.
const ALONG: &str = "trial, in the order run";

/// Bytes out of what was moved.
type Count = fn(&Moved) -> u64;

/// The figures of one host, as far as it was looked at during the trials. Their ids begin with `id`.
pub(super) fn figures(loads: &[(u32, &HostLoad)], host: &HostName, id: &str) -> Vec<Figure> {
    let host = hosts::name(host);
    let stretches = stretches(loads);
    let rates = |title: String, id: String, pair: [(&str, Count); 2]| {
        let lines: Vec<Line> = pair
            .into_iter()
            .enumerate()
            .map(|(series, (label, of))| Line {
                label: label.to_owned(),
                series,
                points: points(&stretches, of),
            })
            .collect();
        let caption =
            "Bytes per second of the physical devices between samples, in each trial.".to_owned();
        let chart = Lines {
            title,
            description: caption.clone(),
            x: Axis::new(ALONG, COUNT),
            y: Axis::new("rate", BANDWIDTH),
            lines,
            phases: Vec::new(),
            names: Vec::new(),
        };
        let drawn =
            chart.lines.iter().any(|l| l.points.len() > 1 && l.points.iter().any(|p| p.y > 0.0));
        drawn.then(|| Figure::new(id, Box::new(chart), caption))
    };
    let mut figures = Vec::new();
    figures.extend(memory(&stretches, format!("Memory of {host}"), format!("{id}-memory")));
    figures.extend(rates(
        format!("Network of {host}"),
        format!("{id}-network"),
        [("received", |m| m.received_bytes), ("sent", |m| m.sent_bytes)],
    ));
    figures.extend(rates(
        format!("Disks of {host}"),
        format!("{id}-disks"),
        [("read", |m| m.disk_read_bytes), ("written", |m| m.disk_written_bytes)],
    ));
    figures
}

/// A stretch with where it begins and ends along.
struct Placed {
    begin: f64,
    end: f64,
    stretch: LoadStretch,
}

/// Stretches that a chart shows; of more, neighbours are put together.
const MOST: usize = 30;

fn stretches(loads: &[(u32, &HostLoad)]) -> Vec<Placed> {
    let mut all: Vec<Placed> = Vec::new();
    for (trial, (_, load)) in loads.iter().enumerate() {
        let total: f64 = load.stretches.iter().map(|s| s.seconds).sum();
        let mut begin = 0.0;
        for stretch in load.stretches.iter().filter(|s| s.seconds > 0.0 && total.is_finite()) {
            let end = begin + stretch.seconds;
            let at = |seconds: f64| trial as f64 + seconds / total;
            all.push(Placed { begin: at(begin), end: at(end), stretch: *stretch });
            begin = end;
        }
    }
    all.chunks(all.len().div_ceil(MOST).max(1)).filter_map(together).collect()
}

/// Neighbours as one: what moved adds up, memory is that at the end.
fn together(neighbours: &[Placed]) -> Option<Placed> {
    let (first, last) = (neighbours.first()?, neighbours.last()?);
    let stretches = || neighbours.iter().map(|placed| &placed.stretch);
    let moved = stretches().filter_map(|s| s.moved).reduce(|a, b| a + b);
    let seconds = stretches().map(|s| s.seconds).sum();
    let stretch = LoadStretch { seconds, moved, ..last.stretch };
    Some(Placed { begin: first.begin, end: last.end, stretch })
}

fn points(stretches: &[Placed], of: fn(&Moved) -> u64) -> Vec<Point> {
    let point = |Placed { begin, end, stretch }: &Placed| {
        let rate = of(&stretch.moved?) as f64 / stretch.seconds;
        Some(Point { x: (begin + end) / 2.0, y: rate, band: None })
    };
    stretches.iter().filter_map(point).collect()
}

type Use = fn(&MemoryNow) -> u64;

/// What memory is made of. Dirty pages are file contents that cannot be given up yet.
const USES: [(&str, usize, Use); 3] = [
    ("programs and kernel", 0, |m| m.total_bytes.saturating_sub(m.available_bytes)),
    ("not yet on a disk", 1, |m| m.dirty_bytes),
    ("other file contents", 2, |m| m.cached_bytes.saturating_sub(m.dirty_bytes)),
];

fn memory(stretches: &[Placed], title: String, id: String) -> Option<Figure> {
    let known: Vec<(&Placed, MemoryNow)> =
        stretches.iter().filter_map(|placed| Some((placed, placed.stretch.memory?))).collect();
    let (first, now) = known.first()?;
    let whole = now.total_bytes as f64;
    let caption =
        "Memory at each sample, in each trial. The rest up to the top was free.".to_owned();
    let layers = USES.iter().map(|(label, style, of)| Layer {
        label: (*label).to_owned(),
        style: *style,
        values: known.iter().map(|(_, memory)| of(memory) as f64).collect(),
    });
    let chart = Areas {
        title,
        description: caption.clone(),
        x: Axis::new(ALONG, COUNT),
        y: Axis::new("memory", BYTES),
        whole: Some(whole),
        edges: std::iter::once(first.begin).chain(known.iter().map(|(at, _)| at.end)).collect(),
        layers: layers.collect(),
        phases: Vec::new(),
    };
    (known.len() > 1).then(|| Figure::new(id, Box::new(chart), caption))
}
