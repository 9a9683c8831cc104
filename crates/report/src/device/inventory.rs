//! What the device is, as facts by name.

use super::amount::{binary, clock, decimal, link};
use super::section::{Section, heading, joined};
use super::{Host, network, servers};
use crate::text::{counted, printable, shortened};
use plimsoll_model::device::{
    Cache, Cpu, Disk, Inventory, MemoryFacts, Mtd, Part, PathFacts, System,
};

/// Most things of a kind that are listed one by one.
const MOST: usize = 40;
/// Most letters of one text.
const LETTERS: usize = 160;

/// Text from the host, safe and not endless.
pub(super) fn text(text: &str) -> String {
    shortened(&printable(text.trim()), LETTERS)
}

pub(super) fn known(value: &Option<String>) -> Option<String> {
    value.as_deref().map(text)
}

/// Adds a fact for each of several things, and says how many more there are.
pub(super) fn each<T>(
    section: &mut Section,
    things: &[T],
    row: impl Fn(&T) -> Option<(String, String)>,
    more: &str,
) {
    section.facts.extend(things.iter().take(MOST).filter_map(row));
    if things.len() > MOST {
        section.fact("", Some(format!("and {} {more} more", things.len() - MOST)));
    }
}

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("inventory", heading(Part::Inventory));
    let Some(inventory) = &host.inventory else { return section };
    if let Some(system) = &inventory.system {
        machine(&mut section, system);
    }
    if let Some(cpu) = &inventory.cpu {
        processor(&mut section, cpu, inventory);
    }
    if let Some(memory) = &inventory.memory {
        section.fact("memory", joined(memory_facts(memory)));
    }
    each(
        &mut section,
        &inventory.flash,
        |mtd| Some((named("flash", &mtd.name), flash(mtd)?)),
        "partitions",
    );
    software(&mut section, inventory);
    buses(&mut section, inventory);
    network::facts(&mut section, inventory);
    // Flash and memory that look like disks are shown as what they are.
    let is_disk = |d: &&Disk| {
        let name = d.name.as_deref().unwrap_or_default();
        !["mtdblock", "ram"].iter().any(|start| name.starts_with(start))
    };
    let disks: Vec<&Disk> = inventory.disks.iter().filter(is_disk).collect();
    each(&mut section, &disks, |d| Some((named("disk", &d.name), disk(d)?)), "disks");
    each(&mut section, &inventory.paths, |p| Some(("path".to_owned(), path(p)?)), "paths");
    servers::facts(&mut section, inventory);
    section
}

fn named(kind: &str, name: &Option<String>) -> String {
    match known(name) {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

fn machine(section: &mut Section, system: &System) {
    section.fact("machine", joined([known(&system.model), known(&system.vendor)]));
    section.fact("board", known(&system.board));
    section.fact("SoC", known(&system.soc));
    let compatible: Vec<String> = system.compatible.iter().take(4).map(|c| text(c)).collect();
    section.fact("compatible with", Some(compatible.join(", ")));
    section
        .fact("firmware", joined([known(&system.firmware_version), known(&system.firmware_date)]));
}

fn processor(section: &mut Section, cpu: &Cpu, inventory: &Inventory) {
    let cores = cpu.cores_usable_count.map(|count| counted(count, "core"));
    let aes = cpu.aes_instructions.map(|has| match has {
        true => "instructions for AES".to_owned(),
        false => "no instructions for AES".to_owned(),
    });
    let smt = known(&cpu.simultaneous_multithreading).filter(|smt| smt == "on");
    let smt = smt.map(|_| "multithreaded".to_owned());
    section.fact("processor", joined([known(&cpu.model), cores, smt, aes]));
    let nominal = inventory.clock().map(|(hertz, from)| format!("{} by {from}", clock(hertz)));
    let policy = cpu.clocks.first().and_then(|policy| {
        joined([
            known(&policy.driver),
            known(&policy.governor).map(|governor| format!("governor {governor}")),
            policy.least_clock_hertz.map(|hertz| format!("from {}", clock(hertz))),
        ])
    });
    section.fact("clock", joined([nominal, policy]));
    let caches: Vec<String> = cpu.caches.iter().filter_map(cache).take(8).collect();
    let line = cpu.caches.first().and_then(|cache| cache.line_bytes);
    let line = line.map(|bytes| format!("lines of {bytes} B"));
    section.fact("caches", joined([Some(caches.join("; ")), line]));
    if let Some(clocks) = &inventory.clocks {
        let memory = clocks.memory_hertz.map(|hertz| format!("memory {}", clock(hertz)));
        let bus = clocks.bus_hertz.map(|hertz| format!("bus {}", clock(hertz)));
        section.fact("other clocks", joined([memory, bus]));
    }
}

/// "L1d 32 KiB", as lscpu names it.
fn cache(cache: &Cache) -> Option<String> {
    let level = cache.level_number?;
    let kind = known(&cache.kind).map(|kind| kind.to_lowercase()).filter(|kind| kind != "unified");
    let size = binary(cache.size_bytes?);
    let kind = match kind.as_deref() {
        Some("data") => "d".to_owned(),
        Some("instruction") => "i".to_owned(),
        Some(other) => format!(" {other}"),
        None => String::new(),
    };
    Some(format!("L{level}{kind} {size}"))
}

fn memory_facts(memory: &MemoryFacts) -> Vec<Option<String>> {
    let mut parts = vec![
        memory.total_bytes.map(|bytes| format!("{} usable", binary(bytes))),
        memory.available_bytes.map(|bytes| format!("{} available", binary(bytes))),
        memory
            .swap_total_bytes
            .filter(|b| *b > 0)
            .map(|bytes| format!("{} of swap", binary(bytes))),
    ];
    parts.extend(memory.modules.iter().take(8).map(|module| {
        let rate = module.transfers_per_second.or(module.most_transfers_per_second);
        let rate = rate.map(|t| format!(" at {} MT/s", t / 1_000_000)).unwrap_or_default();
        Some(format!("module of {}{rate}", binary(module.size_bytes?)))
    }));
    parts
}

fn flash(mtd: &Mtd) -> Option<String> {
    joined([known(&mtd.label), mtd.size_bytes.map(binary), known(&mtd.kind)])
}

fn software(section: &mut Section, inventory: &Inventory) {
    if let Some(kernel) = &inventory.kernel {
        let release = known(&kernel.release).map(|release| {
            format!("{} {release}", known(&kernel.name).unwrap_or_default()).trim().to_owned()
        });
        section.fact("kernel", joined([release, known(&kernel.machine), known(&kernel.version)]));
        let up =
            kernel.uptime_seconds.map(|s| format!("up for {}", crate::text::duration(s as f64)));
        section.fact("host", joined([known(&kernel.host_name), up]));
    }
    if let Some(distribution) = &inventory.distribution {
        let file = known(&distribution.version_file).map(|v| format!("/etc/version: {v}"));
        section.fact("system", joined([known(&distribution.name), file]));
    }
}

fn buses(section: &mut Section, inventory: &Inventory) {
    let telling = ["pci", "usb", "ssb", "bcma", "amba", "virtio", "mmc", "sdio", "nvme", "scsi"];
    let buses: Vec<&str> =
        inventory.buses.iter().map(String::as_str).filter(|bus| telling.contains(bus)).collect();
    section.fact("buses", Some(buses.join(", ")));
    let mut drivers: Vec<String> = inventory.pci.iter().filter_map(|d| known(&d.driver)).collect();
    drivers.sort();
    drivers.dedup();
    let count = inventory.pci.len() as u64;
    let count = (count > 0).then(|| counted(count, "device"));
    let drivers = (!drivers.is_empty()).then(|| format!("drivers {}", drivers.join(" ")));
    section.fact("PCI", joined([count, drivers]));
    each(
        section,
        &inventory.usb,
        |device| {
            let product = joined([known(&device.manufacturer), known(&device.product)]);
            let rate = device.rate_bits_per_second.map(|rate| format!("at {}", link(rate)));
            let version = known(&device.usb_version).map(|v| format!("USB {v}"));
            Some((named("USB", &device.name), joined([product, version, rate])?))
        },
        "devices",
    );
    let drivers: Vec<String> = inventory.usb_drivers.iter().take(8).map(|d| text(d)).collect();
    section.fact("USB drivers", Some(drivers.join(", ")));
    each(
        section,
        &inventory.sata_links,
        |sata| Some((named("SATA", &sata.name), known(&sata.rate)?)),
        "links",
    );
}

/// A disk, or what is made of disks.
fn disk(disk: &Disk) -> Option<String> {
    let usb = disk.usb_rate_bits_per_second.map(|rate| format!("on USB at {}", link(rate)));
    let raid = known(&disk.raid_level).map(|level| {
        let doing = known(&disk.raid_sync_action).filter(|action| action != "idle");
        let doing = doing.map(|action| format!(", now {action}")).unwrap_or_default();
        format!("RAID ({level}{doing})")
    });
    let mapped = known(&disk.mapped_kind);
    let mapped = mapped.and_then(|kind| kind.split('-').next().map(|k| format!("mapped ({k})")));
    joined([
        known(&disk.model),
        disk.size_bytes.map(decimal),
        disk.rotational.map(|turns| match turns {
            true => "rotating according to the kernel".to_owned(),
            false => "not rotating".to_owned(),
        }),
        usb,
        raid,
        mapped,
        known(&disk.scheduler).and_then(|all| {
            let (_, used) = all.split_once('[')?;
            Some(format!("scheduler {}", used.split(']').next()?))
        }),
        known(&disk.write_cache),
        disk.read_ahead_bytes.map(|bytes| format!("read-ahead {}", binary(bytes))),
    ])
}

fn path(path: &PathFacts) -> Option<String> {
    let name = known(&path.path)?;
    if let Some(errno) = path.errno_number {
        return Some(format!("{name}: could not be examined, error {errno}"));
    }
    let on = known(&path.source).map(|source| format!("on {source}"));
    let options = known(&path.mount_options).map(|options| format!("mounted {options}"));
    let free = path.available_bytes.map(|bytes| format!("{} free", decimal(bytes)));
    let names: Vec<String> = path.devices.iter().take(8).filter_map(|d| known(&d.name)).collect();
    let usb = path.devices.iter().filter_map(|d| d.usb_rate_bits_per_second).min();
    let usb = usb.map(|rate| format!("on USB at {}", link(rate)));
    let devices = (!names.is_empty()).then(|| format!("made of {}", names.join(" ")));
    let size = path.size_bytes.map(decimal);
    let facts = joined([known(&path.file_system), on, options, size, free, devices, usb]);
    Some(format!("{name}: {}", facts.unwrap_or_else(|| "unknown".to_owned())))
}
