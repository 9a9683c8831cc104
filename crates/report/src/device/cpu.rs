//! What the processor does.

use super::Host;
use super::amount::clock;
use super::platform_comparison::clock_hertz;
use super::section::{BarGroup, Section, Whose, heading};
use crate::figure::{COUNT, RATE};
use crate::text::printable;
use plimsoll_model::device::{CoreMark, CoreMarkKind, CpuFigures, Part};
use plimsoll_model::units::three_digits;

/// Up to so many cores have a bar of their own.
const MOST_BARS: usize = 32;

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("cpu", heading(Part::Cpu));
    let Some(cpu) = &host.cpu else { return section };
    let mhz = clock_hertz(host).map(|hertz| hertz as f64 / 1e6);
    let mut columns =
        ["one core", "all cores", "per MHz of one core"].map(|h| (h.to_owned(), vec![]));
    let mut rows = Vec::new();
    let mut add = |name: String, one: Option<String>, all: Option<String>, per: Option<String>| {
        rows.push(name);
        for (column, cell) in columns.iter_mut().zip([one, all, per]) {
            column.1.push(cell.unwrap_or_else(|| "–".to_owned()));
        }
    };
    for name in ["CoreMark", "Rust port of CoreMark"] {
        let mark_of = |one: bool| {
            let mut marks = cpu.coremark.iter().filter(|m| m.name() == name);
            marks.find(|mark| (mark.cores() == 1) == one)
        };
        let (one, all) = (mark_of(true), mark_of(false));
        if one.or(all).is_some() {
            let per_mhz = one.zip(mhz).map(|(one, mhz)| three_digits(iterations(host, one) / mhz));
            let shown = |mark: &CoreMark| {
                let rate = mark.iterations_per_second;
                host.shown(Part::Cpu, &mark.figure(), rate, COUNT)
            };
            let (one, all) = (one.map(shown), all.map(shown));
            add(format!("{name}, iterations/s"), one, all, per_mhz);
        }
    }
    let one = cpu.fastest_core().and_then(|core| core.rounds_per_second);
    let all = cpu.all.as_ref().and_then(|all| all.rounds_per_second);
    if one.or(all).is_some() {
        let rounds = |n: Option<u64>, cores: &str| {
            let figure = format!("integer rounds, {cores}");
            n.map(|n| host.shown(Part::Cpu, &figure, n as f64, RATE))
        };
        let per_mhz = one.zip(mhz).map(|(one, mhz)| {
            let one = host.value(Part::Cpu, "integer rounds, one core", one as f64);
            three_digits(one / mhz)
        });
        let (one, all) = (rounds(one, "one core"), rounds(all, "all cores"));
        add("plimsoll's integer rounds/s".to_owned(), one, all, per_mhz);
    }
    section.table.rows = rows;
    section.table.columns = columns.into();
    for name in ["CoreMark", "Rust port of CoreMark"] {
        let marks: Vec<&CoreMark> = cpu.coremark.iter().filter(|m| m.name() == name).collect();
        section.claims.extend(made_by(&marks));
    }
    if one.or(all).is_some() {
        section.claims.push(format!(
            "Integer rounds are the probe's own workload{}. They compare devices measured by plimsoll, and \
             cannot be compared with published benchmarks.",
            cpu.workload_version_number.map_or(String::new(), |v| format!(", version {v}"))
        ));
    }
    section.claims.extend(mhz_from(host));
    section.bars.extend(cores(cpu));
    section
}

/// Iterations of CoreMark per second.
pub(super) fn iterations(host: &Host<'_>, mark: &CoreMark) -> f64 {
    host.value(Part::Cpu, &mark.figure(), mark.iterations_per_second)
}

/// How figures of CoreMark, of one program, were made.
fn made_by(marks: &[&CoreMark]) -> Option<String> {
    let first = marks.first()?;
    let built = format!("built by {} with {}", printable(&first.compiler), printable(&first.flags));
    let at_once: Vec<String> = marks
        .iter()
        .map(|mark| match (mark.processes_count, mark.threads_count) {
            (1, 1) => "one thread".to_owned(),
            (1, threads) => format!("{threads} threads"),
            (processes, 1) => format!("{processes} processes"),
            (processes, threads) => format!("{processes} processes of {threads} threads"),
        })
        .collect();
    let at_once = at_once.join(", then ");
    Some(match &first.kind {
        CoreMarkKind::Program { command } => {
            format!("CoreMark 1.0 by {}, {built}; {at_once}.", printable(command))
        }
        CoreMarkKind::Port { version } => format!(
            "The port of CoreMark is the crate coremark {} inside plimsoll, {built}; {at_once}. Its result \
             is not a CoreMark score and cannot be compared with one.",
            printable(version)
        ),
    })
}

fn mhz_from(host: &Host<'_>) -> Option<String> {
    let measured = host.cpu.as_ref().and_then(|c| c.fastest_core()?.clock_hertz);
    match measured.filter(|hertz| *hertz > 0) {
        Some(hertz) => {
            Some(format!("Clock directly after the rounds of a core: {}.", clock(hertz)))
        }
        None => host.inventory.as_ref()?.clock().map(|(hertz, from)| {
            format!("Clock: {}, from {from}; not monitored during the measurement.", clock(hertz))
        }),
    }
}

fn cores(cpu: &CpuFigures) -> Option<BarGroup> {
    let bars: Vec<_> = cpu
        .cores
        .iter()
        .filter_map(|core| {
            let label = format!("core {}", core.core_number?);
            Some((label, core.rounds_per_second? as f64, Whose::Device))
        })
        .take(MOST_BARS)
        .collect();
    (bars.len() > 1).then(|| BarGroup {
        id: "cores",
        title: "Integer rounds, core by core",
        axis: "rounds per second",
        kind: RATE,
        bars,
        caption: "Each core was measured alone.".to_owned(),
    })
}
