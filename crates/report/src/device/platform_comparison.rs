//! This device as one more column beside the published platforms. A row has figures of one kind
//! alone: those of the port of CoreMark and the probe's rounds stand in rows of their own.

use super::Host;
use super::amount::{binary, clock, link};
use super::cpu::iterations;
use super::published::{Platform, SOURCE, name, platforms};
use super::section::{BarGroup, Section, Whose};
use crate::columns::Columns;
use crate::figure::{BANDWIDTH, COUNT, RATE};
use crate::text::printable;
use plimsoll_model::device::{CoreMark, CoreMarkKind, Inventory, Measured, Part};
use plimsoll_model::units::three_digits;

const NOTHING: &str = "–";
/// The kinds of link that are Ethernet (ARPHRD_ETHER).
const ETHERNET: u64 = 1;

/// What a row holds of a published platform, and of this device.
struct Row {
    name: &'static str,
    published: fn(&Platform) -> Option<String>,
    device: Option<String>,
}

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("published", "Compared with published platforms");
    let hardware = host.inventory.as_ref().map(hardware).unwrap_or_default();
    let measured = measured(host);
    if measured.iter().all(|row| row.device.is_none()) {
        // Nothing that could be set beside anything.
        return section;
    }
    let rows: Vec<Row> = hardware.into_iter().chain(measured).collect();
    let platforms = platforms();
    // First, so that it is seen where not all of the columns are.
    let this = rows.iter().map(|row| cell(row.device.clone())).collect();
    let published = platforms.iter().map(|platform| {
        let cells = rows.iter().map(|row| cell((row.published)(platform)));
        (name(platform), cells.collect())
    });
    section.table = Columns {
        rows: rows.iter().map(|row| row.name.to_owned()).collect(),
        columns: std::iter::once(("this device".to_owned(), this)).chain(published).collect(),
    };
    section.claims.push(format!("Published: {SOURCE}."));
    let is_compared = |m: &Measured| matches!(m.part, Part::Cpu | Part::Memory);
    if host.measured.iter().any(|m| is_compared(m) && host.is_disturbed(m.part, &m.figure)) {
        let warning = "Figures of this device were disturbed, so they do not describe the device.";
        section.warnings.push(warning.to_owned());
    }
    section.bars.extend(bars(
        platforms,
        "coremark",
        coremark(host),
        BarGroup {
            id: "coremark",
            title: "CoreMark, one core",
            axis: "CoreMark 1.0, iterations per second",
            kind: COUNT,
            bars: Vec::new(),
            caption: format!("EEMBC's program. Published: {SOURCE}."),
        },
    ));
    section.bars.extend(bars(
        platforms,
        "stream_copy_MB_per_s",
        stream_copy(host),
        BarGroup {
            id: "stream-copy",
            title: "STREAM copy, one thread",
            axis: "bandwidth",
            kind: BANDWIDTH,
            bars: Vec::new(),
            caption: format!("Arrays are larger than the caches. Published: {SOURCE}."),
        },
    ));
    section
}

fn cell(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.to_owned())
}

fn with_unit(platform: &Platform, column: &str, unit: &str) -> Option<String> {
    Some(format!("{} {unit}", platform.text(column)?))
}

fn hardware(inventory: &Inventory) -> Vec<Row> {
    let cpu = inventory.cpu.as_ref();
    let memory = inventory.memory.as_ref();
    let modules: Option<u64> = memory
        .and_then(|m| m.modules.iter().map(|module| module.size_bytes).sum::<Option<u64>>())
        .filter(|bytes| *bytes > 0);
    let clocks = inventory.clocks.as_ref();
    let text = |text: Option<&String>| text.map(|t| printable(t));
    vec![
        Row {
            name: "SoC",
            published: |p| p.text("soc").map(str::to_owned),
            device: text(inventory.system.as_ref().and_then(|s| s.soc.as_ref())),
        },
        Row {
            name: "CPU",
            published: |p| p.text("cpu").map(str::to_owned),
            device: text(cpu.and_then(|c| c.model.as_ref())),
        },
        Row {
            name: "CPU clock",
            published: |p| with_unit(p, "clock_MHz", "MHz"),
            device: inventory.clock().map(|(hertz, _)| clock(hertz)),
        },
        Row {
            name: "memory",
            published: |p| with_unit(p, "sdram_MB", "MB"),
            // What the kernel manages is a bit less than what is fitted.
            device: modules
                .map(binary)
                .or(memory.and_then(|m| m.total_bytes).map(|b| format!("{} usable", binary(b)))),
        },
        Row {
            name: "memory clock",
            published: |p| with_unit(p, "sdram_clock_MHz", "MHz"),
            device: clocks.and_then(|c| c.memory_hertz).map(clock),
        },
        Row { name: "flash", published: |p| with_unit(p, "flash_MB", "MB"), device: None },
        Row {
            name: "system bus",
            published: |p| {
                Some(format!("{}, {}", p.text("system_bus")?, with_unit(p, "bus_MHz", "MHz")?))
            },
            device: clocks.and_then(|c| c.bus_hertz).map(clock),
        },
        Row {
            name: "wired",
            published: |p| p.text("wired").map(str::to_owned),
            device: wired(inventory),
        },
        Row {
            name: "wireless",
            published: |p| p.text("wireless").map(str::to_owned),
            device: radios(inventory),
        },
    ]
}

/// The rates of Ethernet links, each once, the fastest first.
fn wired(inventory: &Inventory) -> Option<String> {
    let nics = inventory.network.iter().flat_map(|n| &n.nics);
    let wired = nics.filter(|n| {
        n.hardware_type_number == Some(ETHERNET)
            && n.wireless != Some(true)
            && n.bridge != Some(true)
    });
    let mut rates: Vec<u64> =
        wired.filter_map(|n| n.rate_bits_per_second).filter(|r| *r > 0).collect();
    rates.sort_unstable_by_key(|rate| std::cmp::Reverse(*rate));
    rates.dedup();
    let rates: Vec<String> = rates.into_iter().take(3).map(link).collect();
    (!rates.is_empty()).then(|| rates.join(", "))
}

fn radios(inventory: &Inventory) -> Option<String> {
    let mut drivers: Vec<String> =
        inventory.radios.iter().filter_map(|r| r.driver.as_deref()).map(printable).collect();
    drivers.dedup();
    (!drivers.is_empty()).then(|| drivers.join(", "))
}

fn measured(host: &Host<'_>) -> Vec<Row> {
    let none: fn(&Platform) -> Option<String> = |_| None;
    let cpu = host.cpu.as_ref();
    let port = cpu.and_then(|c| {
        one_core(host, &c.coremark, |kind| matches!(kind, CoreMarkKind::Port { .. }))
    });
    let rounds = cpu.and_then(|c| c.fastest_core()?.rounds_per_second);
    let rounds =
        rounds.map(|rounds| host.value(Part::Cpu, "integer rounds, one core", rounds as f64));
    let mhz = clock_hertz(host).map(|hertz| hertz as f64 / 1e6);
    let per_mhz = |value: f64| mhz.map(|mhz| three_digits(value / mhz));
    let mut rows = vec![
        Row {
            name: "CoreMark, one core",
            published: |p| p.text("coremark").map(str::to_owned),
            device: coremark(host).map(three_digits),
        },
        Row {
            name: "CoreMark per MHz",
            published: |p| p.text("coremark_per_MHz").map(str::to_owned),
            device: coremark(host).and_then(per_mhz),
        },
        Row {
            name: "STREAM copy",
            published: |p| with_unit(p, "stream_copy_MB_per_s", "MB/s"),
            // In the unit of its row, whatever its size.
            device: stream_copy(host).map(|rate| format!("{} MB/s", three_digits(rate / 1e6))),
        },
    ];
    if let Some(value) = port {
        rows.push(Row {
            name: "port of CoreMark",
            published: none,
            device: Some(three_digits(value)),
        });
    }
    if let Some(rounds) = rounds {
        let device = Some(RATE.value(rounds));
        rows.push(Row { name: "integer rounds/s", published: none, device });
    }
    rows
}

/// EEMBC's program on one core, in iterations per second.
fn coremark(host: &Host<'_>) -> Option<f64> {
    one_core(host, &host.cpu.as_ref()?.coremark, |kind| {
        matches!(kind, CoreMarkKind::Program { .. })
    })
}

fn one_core(
    host: &Host<'_>,
    marks: &[CoreMark],
    kind: impl Fn(&CoreMarkKind) -> bool,
) -> Option<f64> {
    let mark = marks.iter().find(|mark| mark.cores() == 1 && kind(&mark.kind))?;
    Some(iterations(host, mark))
}

/// STREAM's copy in bytes per second, where its arrays were past the caches and its content right:
/// otherwise it is no figure of the memory.
fn stream_copy(host: &Host<'_>) -> Option<f64> {
    let streams = &host.memory.as_ref()?.streams;
    let memory = streams.iter().find(|s| s.place.as_deref() == Some("memory"))?;
    let sound = memory.past_caches != Some(false) && memory.verified != Some(false);
    let rate = memory.copy_bytes_per_second.filter(|_| sound)?;
    Some(host.value(Part::Memory, "copy, memory", rate as f64))
}

/// The clock that a figure is divided by: the core's own right after the measurement, else the
/// nominal one.
pub(super) fn clock_hertz(host: &Host<'_>) -> Option<u64> {
    let measured = host.cpu.as_ref().and_then(|c| c.fastest_core()?.clock_hertz);
    let nominal = || Some(host.inventory.as_ref()?.clock()?.0);
    measured.filter(|hertz| *hertz > 0).or_else(nominal)
}

/// The platforms and this device as bars; nothing where this device has no such figure.
fn bars(
    platforms: &[Platform],
    column: &str,
    device: Option<f64>,
    group: BarGroup,
) -> Option<BarGroup> {
    let device = device?;
    let scale = if column.ends_with("_MB_per_s") { 1e6 } else { 1.0 };
    let published = platforms
        .iter()
        .filter_map(|p| Some((name(p), p.number(column)? * scale, Whose::Published)));
    let this = ("this device".to_owned(), device, Whose::Device);
    Some(BarGroup { bars: published.chain([this]).collect(), ..group })
}
