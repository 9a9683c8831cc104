//! Hosts that a study measured by themselves: the report of one, the sections of several, two side by
//! side. Figures stand beside published ones only where both measured the same.

pub(crate) mod amount;
mod bars;
mod compare;
mod cpu;
mod crypto;
mod disk;
mod disturbed;
mod host;
mod hosts;
mod inventory;
mod memory;
pub(crate) mod network;
mod platform_comparison;
mod published;
mod report;
mod section;
mod servers;

use crate::date::utc;
use crate::text::{capital, printable};
use crate::verdict::percent;
pub(crate) use compare::{compare_devices, keep_comparable, keep_comparable_across};
pub(crate) use host::{Host, figure, hosts};
pub(crate) use hosts::{add_apart, host_sections, only, platform_comparisons};
use plimsoll_model::device::Part;
use plimsoll_model::{BoxFacts, Failure, Flag, Origin, Study};
pub(crate) use report::document;
use section::Section;

/// "Device 1a2b3c4d of 2026-11-21 12:00 UTC (plimsoll 0.1.0)".
fn title(study: &Study) -> String {
    let version = match &study.origin {
        Origin::Measured { version } => version,
        Origin::Imported { tool } => tool,
    };
    let (id, version) = (printable(&study.id.0), printable(version));
    format!("Device {id} of {} (plimsoll {version})", utc(study.started_unix_seconds))
}

/// What it is in a line: "ssh://root@router: TP-Link TL-WR1043ND v1, MIPS 24Kc V7.4 at 400 MHz".
pub(crate) fn subtitle(facts: &BoxFacts) -> String {
    let inventory = facts.device.inventory.as_ref();
    let model = inventory.and_then(|i| i.system.as_ref()?.model.clone());
    let processor = inventory.and_then(|i| i.cpu.as_ref()?.model.clone());
    let memory = inventory.and_then(|i| i.memory.as_ref()?.total_bytes);
    let system = inventory.and_then(|i| i.distribution.as_ref()?.name.clone());
    let known = section::joined([
        model.map(|m| printable(&m)),
        processor.map(|p| printable(&p)),
        memory.map(|bytes| format!("{} of memory", amount::binary(bytes))),
        system.map(|s| printable(&s)),
    ]);
    let host = printable(&facts.given);
    match known {
        Some(known) => format!("{host}: {known}"),
        None => host,
    }
}

/// "Figures are means over 3 blocks, with their 95% intervals."; nothing where there was one.
fn repeated(host: &Host<'_>) -> Option<String> {
    let confidence = percent(host.study.plan.design.confidence);
    match host.blocks() {
        0 | 1 => None,
        blocks => Some(format!(
            "Figures with an interval are geometric means of {blocks} blocks with {confidence} intervals; \
             the others are from the last block."
        )),
    }
}

/// A warning about the study and what to do about it.
fn flagged(flag: &Flag) -> String {
    printable(&format!("{}. {}", capital(&flag.message()), flag.advice()))
}

/// Every section, in the order of the parts; each with what failed in it.
fn sections(host: &Host<'_>) -> Vec<Section> {
    let mut sections = vec![platform_comparison::section(host)];
    for (part, mut section) in [
        (Part::Inventory, inventory::section(host)),
        (Part::Cpu, cpu::section(host)),
        (Part::Memory, memory::section(host)),
        (Part::Crypto, crypto::section(host)),
        (Part::Disk, disk::section(host)),
    ] {
        section.warnings.extend(disturbed::warnings(host, part));
        if let Some(record) = host.part(part) {
            section.remarks.extend(record.notes.iter().map(|note| remark(host, note)));
            section.failures.extend(record.failures.iter().map(failure));
        }
        sections.push(section);
    }
    let mut odd = Section::new("odd", "Values rejected as implausible");
    odd.warnings.extend(host.odd.iter().map(|remark| format!("{}.", printable(remark))));
    sections.push(odd);
    sections.retain(|section| !section.is_empty());
    sections
}

/// A note, without the reason at its end if a failure gives the same one.
fn remark(host: &Host<'_>, note: &str) -> String {
    let failures = host.parts.iter().flat_map(|record| &record.failures);
    let mut shorter = failures.filter_map(|failure| note.strip_suffix(&*failure.happened));
    match shorter.find_map(|start| start.strip_suffix(": ")) {
        Some(start) => printable(&format!("{start}.")),
        None => printable(note),
    }
}

/// A failure as the end of a sentence, and what to do about it.
fn failure(failure: &Failure) -> String {
    let Failure { tried, on, happened, next, .. } = failure;
    let text = format!("could not {tried} on {on}: {happened}. {next}");
    printable(text.trim_end())
}
