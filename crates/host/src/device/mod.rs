//! `plimsoll device`: what a host is, and what its processor, memory, cryptography and disk do.
//!
//! The probe measures; where none runs on a host, its shell tells what it is, and programs that it
//! has measure what they can. Whatever comes from there is bounded before it is believed
//! ([`Odd`]), and every part that fails leaves the others alone.

mod arm;
mod clean;
mod clocks;
mod coremark;
mod cpu;
mod crypto;
mod cryptsetup;
mod disk;
mod exports;
#[doc(hidden)]
pub mod fuzzing;
mod inventory;
mod memory;
mod openssl;
mod processor;
mod shell;
mod tool;

pub use clean::Odd;

use crate::probe::{Placed, Request, Status};
use crate::reach::Reach;
use inventory::Reading;
use plimsoll_model::device::{Device, Part, PartRecord, ReadBy};
use plimsoll_model::{Cause, Ended, Failure};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Something that answers the probe's verbs.
pub trait Verbs {
    /// Runs a verb to its end, or until `stop` is set, and hands on each section as it comes.
    ///
    /// # Errors
    /// What went wrong; the sections that came before stand.
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure>;
}

impl Verbs for Placed {
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match Placed::run(self, request, section, stop)?.status {
            Status::Done | Status::Stopped => Ok(()),
            Status::Limit => Err(Failure::new(
                Cause::Trial,
                format!("measure with the probe ({})", request.verb()),
                self.directory(),
                format!("it was not ready in {} s", request.limit().as_secs()),
                "Try it when that host has less to do, or with --quick.",
            )),
        }
    }
}

/// What is to be measured.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The parts, in the order in which they are measured.
    pub parts: Vec<Part>,
    /// The CoreMark program on that host; otherwise it is looked for.
    pub coremark: Option<String>,
    /// The directory for the part `disk`, and one more to look behind.
    pub disk: Option<String>,
}

/// A measurement of a device.
pub struct Measure<'a> {
    /// The host.
    pub reach: &'a dyn Reach,
    /// The probe on it, or why there is none.
    pub verbs: Result<&'a dyn Verbs, Failure>,
    /// What is to be measured.
    pub asked: Asked,
    /// Set when the user wants an end.
    pub stop: &'a AtomicBool,
    /// Is told what is being done.
    pub say: &'a mut dyn FnMut(Part, &str),
    /// Keeps the record; called after every part.
    pub keep: &'a mut dyn FnMut(&Device) -> Result<(), Failure>,
}

/// Measures part by part into `device`, which says when it began and what was asked for.
///
/// # Errors
/// The record could not be kept. What goes wrong on the host is in the record.
pub fn measure(measure: Measure<'_>, mut device: Device) -> Result<Device, Failure> {
    let Measure { reach, verbs, asked, stop, say, keep } = measure;
    let mut odd = Odd::default();
    let mut lost: Option<Failure> = None;
    for part in asked.parts.iter().copied() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let mut bench = Bench {
            reach,
            verbs: verbs.clone(),
            quick: device.quick,
            stop,
            say: &mut |what: &str| say(part, what),
            failures: Vec::new(),
            notes: Vec::new(),
        };
        match &lost {
            Some(failure) => bench.failed(failure.clone()),
            None => run(part, &mut bench, &asked, &mut device, &mut odd),
        }
        let Bench { failures, notes, .. } = bench;
        lost = failures.iter().find(|f| f.cause == Cause::Unreachable).cloned();
        let stopped = stop.load(Ordering::Relaxed);
        device.parts.push(PartRecord {
            part,
            seconds: begun.elapsed().as_secs_f64(),
            complete: failures.is_empty() && !stopped,
            // What failed because it was stopped is no failure.
            failures: if stopped { Vec::new() } else { failures },
            notes,
        });
        keep(&device)?;
    }
    device.odd = odd.into_remarks();
    device.ended = match stop.load(Ordering::Relaxed) {
        true => Ended::Interrupted,
        false => Ended::Done,
    };
    keep(&device)?;
    Ok(device)
}

fn run(part: Part, bench: &mut Bench<'_>, asked: &Asked, device: &mut Device, odd: &mut Odd) {
    match part {
        Part::Inventory => {
            if let Some(reading) = take_inventory(bench, asked.disk.as_deref(), odd) {
                device.inventory = Some(reading.finish());
            }
        }
        Part::Cpu => {
            let cpu = cpu::measure(bench, &device.host, asked.coremark.as_deref(), odd);
            device.cpu = (cpu != Default::default()).then_some(cpu);
        }
        Part::Memory => {
            let memory = memory::measure(bench, odd);
            device.memory = (memory != Default::default()).then_some(memory);
        }
        Part::Crypto => {
            let crypto = crypto::measure(bench, odd);
            if bench.failures.is_empty() && !bench.stopped() {
                bench.failures.extend(crypto::lacking(&crypto, bench.reach.name()));
            }
            device.crypto = (crypto != Default::default()).then_some(crypto);
        }
        Part::Disk => {
            let Some(path) = asked.disk.as_deref() else {
                return bench.failed(Failure::new(
                    Cause::Usage,
                    "measure a disk",
                    bench.reach.name(),
                    "no path on it was named",
                    "Name a directory there with --disk PATH.",
                ));
            };
            let paths = device.inventory.iter().flat_map(|inventory| &inventory.paths);
            let named = paths.filter(|facts| facts.path.as_deref() == Some(path));
            let available = named.filter_map(|facts| facts.available_bytes).next();
            let disk = disk::measure(bench, path, available, odd);
            device.disk = (disk != Default::default()).then_some(disk);
        }
    }
}

/// The inventory, then what lies behind exported paths and the one that the user named.
fn take_inventory(bench: &mut Bench<'_>, named: Option<&str>, odd: &mut Odd) -> Option<Reading> {
    bench.say("what it is");
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
        bench.note(format!("Read by the host's shell, which sees less than the probe: {why}"));
    }
    if let Some(section) = clocks::section(bench.reach) {
        reading.take(section, odd);
    }
    let mut paths: Vec<String> = named.map(str::to_owned).into_iter().collect();
    paths.extend(exports::paths(reading.so_far()).into_iter().filter(|p| named != Some(p)));
    if paths.is_empty() || bench.stopped() || !bench.failures.is_empty() {
        return Some(reading);
    }
    bench.say("what lies behind its exports");
    if by_probe {
        let request = paths.iter().fold(Request::new("inventory"), |r, path| r.set("path", path));
        bench.verb(request, &mut |section| {
            // Everything else was told before.
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

/// What a part is measured with, and what came of it beside figures.
struct Bench<'a> {
    reach: &'a dyn Reach,
    verbs: Result<&'a dyn Verbs, Failure>,
    quick: bool,
    stop: &'a AtomicBool,
    say: &'a mut dyn FnMut(&str),
    failures: Vec<Failure>,
    notes: Vec<String>,
}

impl Bench<'_> {
    /// Whether the user wants an end.
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn say(&mut self, what: &str) {
        (self.say)(what);
    }

    fn failed(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Runs a verb; that it failed is kept.
    fn verb(&mut self, request: Request, section: &mut dyn FnMut(Value)) {
        let done = match &self.verbs {
            Ok(verbs) => verbs.run(&request, section, self.stop),
            Err(why) => Err(why.clone()),
        };
        if let Err(failure) = done {
            self.failed(failure);
        }
    }
}
