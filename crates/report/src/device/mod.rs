//! Records of devices: for the terminal ([`device()`]), on paper, and two side by side
//! ([`compare_devices`]). Figures stand beside published ones only where both measured the same.

pub(crate) mod amount;
mod beside;
mod compare;
mod cpu;
mod crypto;
mod disk;
mod disturbed;
mod hosts;
mod inventory;
mod memory;
mod network;
mod paper;
mod published;
mod section;
mod servers;
mod terminal;

pub use compare::compare_devices;
pub use terminal::device;

use crate::date::utc;
use crate::text::printable;
pub(crate) use hosts::{add_hosts, compare_hosts, figure, host_parts, measured_once};
pub(crate) use paper::content;
use plimsoll_model::device::Part;
use plimsoll_model::{Device, Ended, Failure};
use section::Section;

/// "Device 1a2b3c4d of 2026-11-21 12:00 UTC (plimsoll 0.1.0)".
fn title(device: &Device) -> String {
    let (id, version) = (printable(&device.id.0), printable(&device.version));
    format!("Device {id} of {} (plimsoll {version})", utc(device.started_unix_seconds))
}

/// What it is in a line: "ssh://root@router: TP-Link TL-WR1043ND v1, MIPS 24Kc V7.4 at 400 MHz".
pub(crate) fn subtitle(device: &Device) -> String {
    let inventory = device.inventory.as_ref();
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
    let host = printable(&device.host.to_string());
    match known {
        Some(known) => format!("{host}: {known}"),
        None => host,
    }
}

/// What is wrong with the record as a whole.
fn ending(device: &Device) -> Option<&'static str> {
    match device.ended {
        Ended::Open => Some("It did not end: it is under way, or was killed."),
        Ended::Interrupted => Some("It was interrupted; the results are partial."),
        _ => None,
    }
}

/// Every section, in the order of the parts; each with what failed in it.
fn sections(device: &Device) -> Vec<Section> {
    let mut sections = vec![beside::section(device)];
    for (part, mut section) in [
        (Part::Inventory, inventory::section(device)),
        (Part::Cpu, cpu::section(device)),
        (Part::Memory, memory::section(device)),
        (Part::Crypto, crypto::section(device)),
        (Part::Disk, disk::section(device)),
    ] {
        section.warnings.extend(disturbed::warnings(device, part));
        for record in device.parts.iter().filter(|record| record.part == part) {
            section.remarks.extend(record.notes.iter().map(|note| printable(note)));
            section.warnings.extend(record.failures.iter().map(failure));
        }
        sections.push(section);
    }
    let mut odd = Section::new("odd", "What the host said and cannot be");
    odd.warnings.extend(device.odd.iter().map(|remark| format!("{}.", printable(remark))));
    sections.push(odd);
    sections.retain(|section| !section.is_empty());
    sections
}

/// The heading of a part.
fn heading(part: Part) -> &'static str {
    match part {
        Part::Inventory => "What it is",
        Part::Cpu => "CPU",
        Part::Memory => "Memory",
        Part::Crypto => "Cryptography",
        Part::Disk => "Disk",
    }
}

/// A failure in a sentence.
fn failure(failure: &Failure) -> String {
    let Failure { tried, on, happened, next, .. } = failure;
    let text = format!("Could not {tried} on {on}: {happened}. {next}");
    printable(text.trim_end())
}
