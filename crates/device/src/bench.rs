//! What a part of a host is measured with, and what came of it beside figures.

use super::clean::Odd;
use super::inventory::Reading;
use super::{HostRequest, Verbs, clocks, cpu, crypto, disk, exports, links, memory, shell};
use plimsoll_model::device::{Device, Part, ReadBy};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_reach::Reach;
use plimsoll_reach::probe::Request;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// One measurement of a part.
pub(super) struct Bench<'a> {
    pub(super) host: &'a HostName,
    pub(super) reach: &'a dyn Reach,
    pub(super) verbs: Result<&'a dyn Verbs, Failure>,
    pub(super) quick: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) say: &'a mut dyn FnMut(&str),
    pub(super) failures: Vec<Failure>,
    pub(super) notes: Vec<String>,
}

impl Bench<'_> {
    /// Measures one part; of the device that is returned, that part alone is filled.
    pub(super) fn part(
        &mut self,
        part: Part,
        request: &HostRequest,
        known: &Device,
        odd: &mut Odd,
    ) -> Device {
        let mut device = Device::default();
        match part {
            Part::Inventory => {
                let reading = take_inventory(self, request.disk.as_deref(), odd);
                device.inventory = reading.map(Reading::finish);
            }
            Part::Cpu => device.cpu = some(cpu::measure(self, request.coremark.as_deref(), odd)),
            Part::Memory => device.memory = some(memory::measure(self, odd)),
            Part::Crypto => {
                let crypto = crypto::measure(self, odd);
                if self.failures.is_empty() && !self.stopped() {
                    self.failures.extend(crypto::lacking(&crypto, self.reach.name()));
                }
                device.crypto = some(crypto);
            }
            Part::Disk => {
                let Some(path) = request.disk.as_deref() else {
                    self.failed(
                        Failure::new(Cause::Usage, "measure a disk")
                            .on(self.reach.name())
                            .happened("no directory is named")
                            .next("Name a directory on the host with --disk PATH."),
                    );
                    return device;
                };
                let paths = known.inventory.iter().flat_map(|inventory| &inventory.paths);
                let mut named = paths.filter(|facts| facts.path.as_deref() == Some(path));
                let available = named.find_map(|facts| facts.available_bytes);
                device.disk = some(disk::measure(self, path, available, odd));
            }
        }
        device
    }

    /// Whether the user wants an end.
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn say(&mut self, what: &str) {
        (self.say)(what);
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Runs a verb; that it failed is kept.
    pub(super) fn verb(&mut self, request: Request, section: &mut dyn FnMut(Value)) {
        let done = match &self.verbs {
            Ok(verbs) => verbs.run(&request, section, self.stop),
            Err(why) => Err(why.clone()),
        };
        if let Err(failure) = done {
            self.failed(failure);
        }
    }
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
