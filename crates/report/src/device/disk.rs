//! What the disk behind the named path does.

use super::Host;
use super::amount::binary;
use super::section::{BarGroup, Section, Whose, heading};
use crate::figure::{BANDWIDTH, Kind, RATE, TIME};
use crate::text::{capital, printable};
use plimsoll_model::device::{DiskPhase, Part};

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("disk", heading(Part::Disk));
    let Some(disk) = &host.disk else { return section };
    if let Some(path) = &disk.path {
        let size = disk.size_bytes.map(|bytes| format!(", a file of {}", binary(bytes)));
        section.remarks.push(format!("{}{}.", printable(path), size.unwrap_or_default()));
    }
    let cell = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let time = |ns: Option<u64>| cell(ns.map(|ns| TIME.value(ns as f64 / 1e9)));
    let over_blocks = |p: &DiskPhase, what: &str, value: Option<f64>, kind: Kind| {
        let figure = format!("{}{what}", figure(p));
        cell(value.map(|value| host.shown(Part::Disk, &figure, value, kind)))
    };
    let latency = |p: &DiskPhase, quantile: &str, ns: Option<u64>| {
        over_blocks(p, &format!(", {quantile} latency"), ns.map(|ns| ns as f64 / 1e9), TIME)
    };
    let column = |heading: &str, cells: &dyn Fn(&DiskPhase) -> String| {
        (heading.to_owned(), disk.phases.iter().map(cells).collect::<Vec<_>>())
    };
    section.table.rows = disk.phases.iter().map(name).collect();
    section.table.columns = vec![
        column("size", &|p| cell(p.block_bytes.map(binary))),
        column("bandwidth", &|p| {
            let rate = p.bytes_per_second.map(|rate| rate as f64);
            match is(p, "sequential_") {
                true => over_blocks(p, "", rate, BANDWIDTH),
                false => cell(rate.map(|rate| BANDWIDTH.value(rate))),
            }
        }),
        column("IOPS", &|p| {
            let rate = p.operations_per_second.map(|rate| rate as f64);
            match is(p, "random_") {
                true => over_blocks(p, "", rate, RATE),
                false => cell(rate.map(|rate| RATE.value(rate))),
            }
        }),
        column("median latency", &|p| latency(p, "median", p.latency_p50_ns)),
        column("p99 latency", &|p| latency(p, "p99", p.latency_p99_ns)),
        column("longest", &|p| time(p.latency_most_ns)),
        column("final flush", &|p| time(p.flush_ns)),
    ];
    section.claims.push(
        "One operation is in flight. The time of writing includes a final flush. The latency of fsync does \
         not include the write of 4 KiB before it."
            .to_owned(),
    );
    let value = |p: &DiskPhase, rate: u64| host.value(Part::Disk, &figure(p), rate as f64);
    let sequential = disk.phases.iter().filter(|p| is(p, "sequential_"));
    let bars =
        sequential.filter_map(|p| Some((name(p), value(p, p.bytes_per_second?), Whose::Device)));
    section.bars.push(BarGroup {
        id: "disk-bandwidth",
        title: "Disk, sequential",
        axis: "bandwidth",
        kind: BANDWIDTH,
        bars: bars.collect(),
        caption: "Block size 1 MiB, one at a time.".to_owned(),
    });
    let random = disk.phases.iter().filter(|p| is(p, "random_"));
    let bars =
        random.filter_map(|p| Some((name(p), value(p, p.operations_per_second?), Whose::Device)));
    section.bars.push(BarGroup {
        id: "disk-operations",
        title: "Disk, random",
        axis: "operations per second",
        kind: RATE,
        bars: bars.collect(),
        caption: "Block size 4 KiB, one at a time.".to_owned(),
    });
    section.bars.retain(|group| !group.bars.is_empty());
    section
}

fn is(phase: &DiskPhase, start: &str) -> bool {
    phase.phase.as_deref().is_some_and(|name| name.starts_with(start))
}

/// What its figures are called.
fn figure(phase: &DiskPhase) -> String {
    phase.phase.as_deref().unwrap_or("unnamed phase").replace('_', " ")
}

fn name(phase: &DiskPhase) -> String {
    let name = figure(phase);
    match name.as_str() {
        "fsync" => name,
        _ => capital(&printable(&name)),
    }
}
