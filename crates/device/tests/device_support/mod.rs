//! Hosts that answer from a script: commands by what stands in them, verbs by canned sections.
#![allow(dead_code)]

pub mod shells;

use plimsoll_device::{DeviceRequest, Host, HostRequest, HostRunner, Verbs};
use plimsoll_model::device::Part;
use plimsoll_model::{
    Cause, Clock, Device, DeviceJob, Failure, Job, Length, Nanos, PointResult, PointSpec,
    SubjectRunner, Workload,
};
use plimsoll_reach::probe::Request;
use plimsoll_reach::{Channel, Output, Reach};
use plimsoll_testkit::points::{self, Loads};
use serde_json::Value;
use std::io;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
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
    pub removed: AtomicBool,
}

impl Canned {
    pub fn new(lines: &str) -> Canned {
        let sections = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Canned {
            sections,
            fails: None,
            stops_in: None,
            calls: AtomicUsize::new(0),
            removed: AtomicBool::new(false),
        }
    }
}

impl Verbs for &Canned {
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
            let section_verb = match name {
                "cpu" if value.get("workload").is_some() => "cpu",
                "memory" if value.get("limit_bytes").is_some() => "memory",
                "cpu_core" | "cpu_all" => "cpu",
                "memory_stream" | "memory_latency" => "memory",
                "crypto" | "crypto_algorithm" => "crypto",
                "disk" | "disk_phase" => "disk",
                "path" if first => continue,
                _ => "inventory",
            };
            if section_verb == verb {
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

    fn remove(self: Box<Self>) -> Result<(), Failure> {
        self.removed.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Time stands still here.
struct Still;

impl Clock for Still {
    fn now(&self) -> Nanos {
        Nanos(0)
    }

    fn sleep_until(&self, _: Nanos) {}
}

/// The job of a part of a host.
pub fn device(part: Part, quick: bool) -> Job {
    DeviceJob { part, quick }.into()
}

/// A workload whose jobs run at the same time.
pub fn workload(jobs: &[Job]) -> Workload {
    let part =
        |job: &Job| plimsoll_model::Part::closed(job.clone(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::UntilDone { at_most_seconds: 1.0 };
    Workload { parts: jobs.iter().map(part).collect(), steps: None, length }
}

/// A runner of one host, and what stops it.
pub struct Runner<'a> {
    pub runner: HostRunner<'a>,
    pub stop: Arc<AtomicBool>,
}

impl<'a> Runner<'a> {
    pub fn new(hosts: Vec<Host<'a>>) -> Runner<'a> {
        let stop = Arc::new(AtomicBool::new(false));
        Runner { runner: HostRunner::new(hosts, Arc::new(Still), stop.clone()), stop }
    }

    /// One part of a host, once.
    pub fn point(&mut self, subject: usize, part: Part) -> PointResult {
        self.together(subject, &[device(part, false)])
    }

    /// Jobs of a host at the same time.
    pub fn together(&mut self, subject: usize, jobs: &[Job]) -> PointResult {
        let spec = PointSpec { subject, ..points::spec(workload(jobs)) };
        let mut loads = Loads::default();
        let result = self.runner.point(&spec, &mut loads);
        assert_eq!((loads.begun, loads.ended), (1, 1));
        result
    }

    /// What is known of a host.
    pub fn device(&self, subject: usize) -> Device {
        let mut device = self.runner.facts()[subject].host().unwrap().device.clone();
        // Of a clock that stands still.
        device.parts.iter_mut().for_each(|part| part.seconds = 1.5);
        device
    }
}

/// A host that answers from scripts.
pub fn host<'a>(
    name: &str,
    reach: Arc<dyn Reach>,
    verbs: Result<&'a Canned, Failure>,
    disk: Option<&str>,
) -> Host<'a> {
    let verbs = verbs.map(|verbs| Box::new(verbs) as Box<dyn Verbs + 'a>);
    let request = DeviceRequest { inventory: true, coremark: None, disk: disk.map(str::to_owned) };
    Host { name: name.parse().unwrap(), reach, verbs, request: HostRequest::Device(request) }
}

/// Measures all parts once, or with a disk those and it: what is known then, and the points.
pub fn measured(
    reach: Script,
    verbs: Result<&Canned, Failure>,
    disk: Option<&str>,
) -> (Device, Vec<PointResult>) {
    let mut runner = Runner::new(vec![host("ssh://root@box", Arc::new(reach), verbs, disk)]);
    runner.runner.attach(0).unwrap();
    let parts = Part::ALL[1..].iter().filter(|part| **part != Part::Disk || disk.is_some());
    let mut points = Vec::new();
    for part in parts {
        if !runner.stop.load(Ordering::Relaxed) {
            points.push(runner.point(0, *part));
        }
    }
    (runner.device(0), points)
}

pub fn lost() -> Failure {
    let next = "Look whether the host still runs.";
    Failure::new(Cause::Unreachable, "measure with the probe (cpu)")
        .on("ssh://root@box")
        .happened("gone")
        .next(next)
}
