//! The parts of a device, each with what measures it.

use super::bench::Bench;
use super::clean::Odd;
use super::host::DeviceRequest;
use super::inventory::Reading;
use super::{clocks, cpu, crypto, disk, exports, links, memory, shell};
use plimsoll_model::device::{Device, Part, ReadBy};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::Request;

/// Measures one part; of the device that is returned, that part alone is filled.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    part: Part,
    request: &DeviceRequest,
    known: &Device,
    odd: &mut Odd,
) -> Device {
    let mut device = Device::default();
    match part {
        Part::Inventory => {
            let reading = take_inventory(bench, request.disk.as_deref(), odd);
            device.inventory = reading.map(Reading::finish);
        }
        Part::Cpu => device.cpu = some(cpu::measure(bench, request.coremark.as_deref(), odd)),
        Part::Memory => device.memory = some(memory::measure(bench, odd)),
        Part::Crypto => {
            let crypto = crypto::measure(bench, odd);
            if bench.failures.is_empty() && !bench.stopped() {
                bench.failures.extend(crypto::lacking(&crypto, bench.reach.name()));
            }
            device.crypto = some(crypto);
        }
        Part::Disk => {
            let Some(path) = request.disk.as_deref() else {
                bench.failed(
                    Failure::new(Cause::Usage, "measure a disk")
                        .on(bench.reach.name())
                        .happened("no directory is named")
                        .next("Name a directory on the host with --disk PATH."),
                );
                return device;
            };
            let paths = known.inventory.iter().flat_map(|inventory| &inventory.paths);
            let mut named = paths.filter(|facts| facts.path.as_deref() == Some(path));
            let available = named.find_map(|facts| facts.available_bytes);
            device.disk = some(disk::measure(bench, path, available, odd));
        }
    }
    device
}

/// Figures, if there are any.
fn some<T: Default + PartialEq>(figures: T) -> Option<T> {
    (figures != T::default()).then_some(figures)
}

/// The inventory, then what lies behind exported paths and the one that the user named.
fn take_inventory(bench: &mut Bench<'_>, named: Option<&str>, odd: &mut Odd) -> Option<Reading> {
    bench.say("inventory");
    let by_probe = bench.verbs.is_ok();
    let mut reading = Reading::by(if by_probe { ReadBy::Probe } else { ReadBy::Shell });
    let mut of_shell = Vec::new();
    if by_probe {
        bench.verb(Request::new("inventory"), &mut |section| reading.take(section, odd));
    } else {
        match shell::sections(bench.reach, odd) {
            Ok(sections) => of_shell = sections,
            Err(failure) => {
                bench.failed(failure);
                return None;
            }
        }
        of_shell.iter().for_each(|section| reading.take(section.clone(), odd));
        let why = bench.verbs.as_ref().err().map(|why| why.happened.clone()).unwrap_or_default();
        bench.note(format!(
            "Read with the host's shell instead of the probe, so facts may be \
        missing: {why}"
        ));
    }
    let logged = clocks::section(bench.reach);
    for section in logged.into_iter().chain(links::sections(bench.reach, odd)) {
        reading.take(section, odd);
    }
    let mut paths: Vec<String> = named.map(str::to_owned).into_iter().collect();
    paths.extend(exports::paths(reading.so_far()).into_iter().filter(|p| named != Some(p)));
    if paths.is_empty() || bench.stopped() || !bench.failures.is_empty() {
        return Some(reading);
    }
    bench.say("file systems of its exports");
    if by_probe {
        let request = paths.iter().fold(Request::new("inventory"), |r, path| r.set("path", path));
        bench.verb(request, &mut |section| {
            // Everything else was reported before.
            if section["section"] == "path" {
                reading.take(section, odd);
            }
        });
    } else {
        match shell::paths(bench.reach, &paths, &of_shell) {
            Ok(sections) => sections.into_iter().for_each(|section| reading.take(section, odd)),
            Err(failure) => bench.failed(failure),
        }
    }
    Some(reading)
}
