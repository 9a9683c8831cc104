//! Hosts that answer from a script: commands by what stands in them, verbs by canned sections.
#![allow(dead_code)]

pub mod shells;

use plimsoll_host::device::{Asked, Measure, Verbs, measure};
use plimsoll_host::probe::Request;
use plimsoll_host::reach::{Channel, Output, Reach};
use plimsoll_model::device::{DEVICE_SCHEMA, Part};
use plimsoll_model::{Cause, Device, DeviceId, Ended, Failure, HostName};
use serde_json::Value;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A host whose shell answers a command that holds the first text with the second, and the status.
#[derive(Default)]
pub struct Script {
    pub answers: Vec<(&'static str, String, i32)>,
    pub asked: Mutex<Vec<String>>,
}

impl Script {
    pub fn with(mut self, holds: &'static str, says: &str) -> Self {
        self.answers.push((holds, says.to_owned(), 0));
        self
    }

    pub fn failing(mut self, holds: &'static str, says: &str) -> Self {
        self.answers.push((holds, says.to_owned(), 1));
        self
    }

    fn answer(&self, command: &str) -> Output {
        self.asked.lock().unwrap().push(command.to_owned());
        match self.answers.iter().find(|(holds, ..)| command.contains(holds)) {
            Some((_, says, 0)) => {
                Output { status: Some(0), output: says.clone().into_bytes(), ..Output::default() }
            }
            Some((_, says, status)) => {
                let errors = says.clone().into_bytes();
                Output { status: Some(*status), errors, ..Output::default() }
            }
            None => Output { status: Some(127), ..Output::default() },
        }
    }
}

impl Reach for Script {
    fn name(&self) -> &str {
        "ssh://root@box"
    }

    fn run(&self, command: &str, _: &[u8], _: Duration) -> Result<Output, Failure> {
        Ok(self.answer(command))
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Ok(Box::new(Said { output: self.answer(command), at: 0 }))
    }
}

struct Said {
    output: Output,
    at: usize,
}

impl Channel for Said {
    fn write(&mut self, _: &[u8], _: Instant) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8], _: Instant) -> io::Result<usize> {
        let rest = &self.output.output[self.at..];
        // In pieces, as a network brings it.
        let count = rest.len().min(buffer.len()).min(7);
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }

    fn finish(self: Box<Self>, _: Duration) -> Result<Output, Failure> {
        Ok(self.output)
    }
}

/// A probe that reports what was canned: the sections that belong to a verb.
pub struct Canned {
    pub sections: Vec<Value>,
    /// The verb that fails after its sections, and how.
    pub fails: Option<(&'static str, Failure)>,
    /// The verb during which the user wants an end.
    pub stops_in: Option<&'static str>,
    pub calls: AtomicUsize,
}

impl Canned {
    pub fn new(lines: &str) -> Canned {
        let sections = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Canned { sections, fails: None, stops_in: None, calls: AtomicUsize::new(0) }
    }
}

impl Verbs for Canned {
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let verb = request.verb();
        // Paths are asked for in a second inventory.
        let first = self.calls.load(Ordering::Relaxed) == 1;
        for value in &self.sections {
            let name = value["section"].as_str().unwrap_or_default();
            // The inventory has a section `cpu` of its own, and one `memory`; theirs come later.
            let of = match name {
                "cpu" if value.get("workload").is_some() => "cpu",
                "memory" if value.get("limit_bytes").is_some() => "memory",
                "cpu_core" | "cpu_all" => "cpu",
                "memory_stream" | "memory_latency" => "memory",
                "crypto" | "crypto_algorithm" => "crypto",
                "disk" | "disk_phase" => "disk",
                "path" if first => continue,
                _ => "inventory",
            };
            if of == verb {
                section(value.clone());
            }
            if self.stops_in == Some(verb) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        match &self.fails {
            Some((failing, failure)) if *failing == verb => Err(failure.clone()),
            _ => Ok(()),
        }
    }
}

/// A record before anything was measured, the same every time.
pub fn fresh(host: &str) -> Device {
    Device {
        schema: DEVICE_SCHEMA.to_owned(),
        id: DeviceId("de71ce01".to_owned()),
        started_unix_seconds: 1_760_000_000,
        version: "0.1.0".to_owned(),
        command: format!("plimsoll device {host}"),
        host: host.parse::<HostName>().unwrap(),
        quick: false,
        parts: Vec::new(),
        inventory: None,
        cpu: None,
        memory: None,
        crypto: None,
        disk: None,
        odd: Vec::new(),
        ended: Ended::Open,
    }
}

/// Measures all parts, or with a disk those and it; the record, and how often it was kept.
pub fn measured(
    reach: &Script,
    verbs: Result<&Canned, Failure>,
    disk: Option<&str>,
) -> (Device, usize) {
    let parts = Part::ALL.into_iter().filter(|part| *part != Part::Disk || disk.is_some());
    let asked = Asked { parts: parts.collect(), coremark: None, disk: disk.map(str::to_owned) };
    let mut kept = 0;
    let stop = AtomicBool::new(false);
    let measure = measure(
        Measure {
            reach,
            verbs: verbs.map(|verbs| verbs as &dyn Verbs),
            asked,
            stop: &stop,
            say: &mut |_, _| {},
            keep: &mut |_| {
                kept += 1;
                Ok(())
            },
        },
        fresh("ssh://root@box"),
    );
    let mut device = measure.unwrap();
    // The one thing that differs from time to time.
    device.parts.iter_mut().for_each(|part| part.seconds = 1.5);
    (device, kept)
}

pub fn lost() -> Failure {
    let next = "Look whether the host still runs.";
    Failure::new(Cause::Unreachable, "measure with the probe (cpu)", "ssh://root@box", "gone", next)
}
