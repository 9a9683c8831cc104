//! What the memory does.

use super::Host;
use super::amount::binary;
use super::section::{BarGroup, Section, Whose, heading};
use crate::figure::{BANDWIDTH, TIME};
use plimsoll_model::device::{LatencyFigure, MemoryFigures, Part};

const NOTHING: &str = "–";

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("memory", heading(Part::Memory));
    let Some(memory) = &host.memory else { return section };
    let headings = ["copy", "scale", "add", "triad", "checksum", "latency", "array size"];
    let mut columns = headings.map(|heading| (heading.to_owned(), Vec::new())).to_vec();
    for stream in &memory.streams {
        let latency = latency(memory, stream.place.as_deref(), stream.cache_level_number);
        let rate = |kernel: &str| {
            let rate = stream.kernels().find(|(name, _)| *name == kernel);
            let figure = format!("{kernel}, {}", place(stream.cache_level_number));
            let shown = |rate| host.shown(Part::Memory, &figure, rate, BANDWIDTH);
            rate.map_or(NOTHING.to_owned(), |(_, rate)| shown(rate as f64))
        };
        section.table.rows.push(place(stream.cache_level_number));
        let cells = [
            rate("copy"),
            rate("scale"),
            rate("add"),
            rate("triad"),
            rate("checksum"),
            latency.map_or(NOTHING.to_owned(), |latency| time(host, latency)),
            stream.working_set_bytes.map_or(NOTHING.to_owned(), binary),
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.1.push(cell);
        }
    }
    // Records of before checksums were measured have no such column.
    columns.retain(|(_, cells)| cells.iter().any(|cell| cell != NOTHING));
    section.table.columns = columns;
    if !section.table.rows.is_empty() {
        section.claims.push(
            "STREAM kernels on one thread: best of several runs, bytes counted as in STREAM. Latency: \
             loads in random order, each dependent on the previous one."
                .to_owned(),
        );
    }
    if memory.streams.iter().any(|stream| stream.checksum_bytes_per_second.is_some()) {
        section.claims.push(
            "Checksum: Internet checksum (RFC 1071) on one thread, each byte counted once. The processor \
             computes it if the network interface does not."
                .to_owned(),
        );
    }
    let copies = memory.streams.iter().filter_map(|stream| {
        let (rate, place) = (stream.copy_bytes_per_second?, place(stream.cache_level_number));
        let rate = host.value(Part::Memory, &format!("copy, {place}"), rate as f64);
        Some((place, rate, Whose::Device))
    });
    section.bars.extend(group("memory-copy", "STREAM copy by place", "bandwidth", copies));
    let latencies = memory.latencies.iter().filter_map(|figure| {
        let (seconds, place) = (figure.latency_ps? as f64 / 1e12, place(figure.cache_level_number));
        let seconds = host.value(Part::Memory, &format!("latency, {place}"), seconds);
        Some((place, seconds, Whose::Device))
    });
    let latencies = group("memory-latency", "Latency of a load by place", "latency", latencies);
    section.bars.extend(latencies.map(|group| BarGroup { kind: TIME, ..group }));
    section
}

fn group(
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    bars: impl Iterator<Item = (String, f64, Whose)>,
) -> Option<BarGroup> {
    let bars: Vec<_> = bars.collect();
    let caption = "Arrays inside each cache, and larger than all caches.".to_owned();
    (bars.len() > 1).then_some(BarGroup { id, title, axis, kind: BANDWIDTH, bars, caption })
}

fn latency<'a>(
    memory: &'a MemoryFigures,
    place: Option<&str>,
    level: Option<u64>,
) -> Option<&'a LatencyFigure> {
    let same = |l: &&LatencyFigure| l.place.as_deref() == place && l.cache_level_number == level;
    memory.latencies.iter().find(same)
}

fn time(host: &Host<'_>, latency: &LatencyFigure) -> String {
    let seconds = latency.latency_ps.map(|ps| ps as f64 / 1e12);
    let figure = format!("latency, {}", place(latency.cache_level_number));
    let shown = |seconds| host.shown(Part::Memory, &figure, seconds, TIME);
    seconds.map_or(NOTHING.to_owned(), shown)
}

fn place(cache_level: Option<u64>) -> String {
    match cache_level {
        Some(level) => format!("level {level} cache"),
        None => "memory".to_owned(),
    }
}
