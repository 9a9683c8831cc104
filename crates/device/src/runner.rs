//! Hosts as the subjects of a study: a point is one part of a host, measured once.

use super::Verbs;
use super::bench::Bench;
use super::clean::Odd;
use plimsoll_model::device::{Device, Part, PartRecord};
use plimsoll_model::{
    BoxFacts, Cause, Clock, DeviceJob, Event, Failure, Flag, HostName, Job, LoadObserver,
    MeasureInfo, Metric, Outcome, PartResult, PointResult, PointSpec, SubjectFacts, SubjectRunner,
};
use plimsoll_reach::Reach;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be found out about a host, beside the jobs of the plan.
#[derive(Clone, Debug, Default)]
pub struct HostRequest {
    /// Whether its inventory is taken.
    pub inventory: bool,
    /// The CoreMark program on that host; otherwise it is looked for.
    pub coremark: Option<String>,
    /// The directory for the part `disk`, and one more to look behind.
    pub disk: Option<String>,
}

/// A host that is reached.
pub struct Host<'a> {
    /// As the user named it.
    pub name: HostName,
    /// The way to it.
    pub reach: Arc<dyn Reach>,
    /// The probe on it, or why there is none.
    pub verbs: Result<Box<dyn Verbs + 'a>, Failure>,
    /// What is to be found out.
    pub request: HostRequest,
}

/// Measures hosts part by part.
pub struct HostRunner<'a> {
    hosts: Vec<Measured<'a>>,
    measures: Vec<MeasureInfo>,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
}

/// A host, and what was found out about it.
struct Measured<'a> {
    host: Host<'a>,
    device: Device,
    odd: Odd,
    /// Why it cannot be reached any more.
    lost: Option<Failure>,
}

impl<'a> HostRunner<'a> {
    /// A runner of these hosts, in the plan's order; `stop` is set when the user wants an end.
    pub fn new(hosts: Vec<Host<'a>>, clock: Arc<dyn Clock>, stop: Arc<AtomicBool>) -> Self {
        let hosts = hosts.into_iter().map(|host| Measured {
            host,
            device: Device::default(),
            odd: Odd::default(),
            lost: None,
        });
        HostRunner { hosts: hosts.collect(), measures: Vec::new(), clock, stop }
    }

    /// Why a part was not measured whole. It ends the study only where no host is left.
    fn failure(&self, failure: Failure) -> Failure {
        let left = self.hosts.iter().any(|host| host.lost.is_none());
        Failure { cause: if left { Cause::Trial } else { failure.cause }, ..failure }
    }

    fn note(&mut self, info: MeasureInfo) {
        if !self.measures.contains(&info) {
            self.measures.push(info);
        }
    }

    /// The figures of a part; those whose words make no name are in the facts alone.
    fn result(&mut self, new: &Device) -> PartResult {
        let mut result = PartResult::default();
        for figure in new.measured() {
            if let Ok(info) = figure.info() {
                result.quantities.insert(Metric::all(info.measure), figure.value);
                self.note(info);
            }
        }
        result
    }
}

impl Measured<'_> {
    /// Measures a part once; what it did alone, and how that went.
    fn measure(
        &mut self,
        job: DeviceJob,
        clock: &dyn Clock,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> (Device, PartRecord) {
        let begun = clock.now();
        let verbs = match &self.host.verbs {
            Ok(verbs) => Ok(&**verbs),
            Err(why) => Err(why.clone()),
        };
        let mut bench = Bench {
            host: &self.host.name,
            reach: &*self.host.reach,
            verbs,
            quick: job.quick,
            stop,
            say,
            failures: Vec::new(),
            notes: Vec::new(),
        };
        let new = match &self.lost {
            Some(failure) => {
                bench.failed(failure.clone());
                Device::default()
            }
            None => bench.part(job.part, &self.host.request, &self.device, &mut self.odd),
        };
        let Bench { failures, notes, .. } = bench;
        if self.lost.is_none() {
            self.lost = failures.iter().find(|f| f.cause == Cause::Unreachable).cloned();
        }
        let stopped = stop.load(Ordering::Relaxed);
        let record = PartRecord {
            part: job.part,
            seconds: clock.now().since(begun).as_secs_f64(),
            complete: failures.is_empty() && !stopped,
            // What failed because it was stopped is no failure.
            failures: if stopped { Vec::new() } else { failures },
            notes,
        };
        self.keep(&new, &record);
        (new, record)
    }

    /// Keeps the details of the last measurement that was whole, or of what there is.
    fn keep(&mut self, new: &Device, record: &PartRecord) {
        fn replace<T: Clone>(known: &mut Option<T>, new: &Option<T>, complete: bool) {
            if new.is_some() && (complete || known.is_none()) {
                known.clone_from(new);
            }
        }
        let (device, complete) = (&mut self.device, record.complete);
        replace(&mut device.inventory, &new.inventory, complete);
        replace(&mut device.cpu, &new.cpu, complete);
        replace(&mut device.memory, &new.memory, complete);
        replace(&mut device.crypto, &new.crypto, complete);
        replace(&mut device.disk, &new.disk, complete);
        match device.parts.iter_mut().find(|known| known.part == record.part) {
            Some(known) => known.add(record.clone()),
            None => device.parts.push(record.clone()),
        }
        device.parts.sort_by_key(|record| record.part);
        device.odd = self.odd.clone().into_remarks();
    }
}

impl SubjectRunner for HostRunner<'_> {
    /// Takes the inventory.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let host = &mut self.hosts[subject];
        if host.host.request.inventory {
            let job = DeviceJob { part: Part::Inventory, quick: false };
            host.measure(job, &*self.clock, &self.stop, &mut |_| {});
        }
        // Without a host there is nothing to measure.
        host.lost.clone().map_or(Ok(Vec::new()), Err)
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        let facts = |host: &Measured<'_>| {
            let given = host.host.name.to_string();
            let device = host.device.clone();
            SubjectFacts::Host(Box::new(BoxFacts { label: given.clone(), given, device }))
        };
        self.hosts.iter().map(facts).collect()
    }

    fn measures(&self) -> Vec<MeasureInfo> {
        self.measures.clone()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let failed =
            |failure| PointResult::empty(Outcome::Failed { phase: "measure".to_owned(), failure });
        let [part] = &spec.workload.parts[..] else {
            let (happened, next) = (
                "parts that run at the same time disturb each other",
                "Measure \
            one part at a time.",
            );
            let tried = "measure a host";
            return failed(
                Failure::new(Cause::Usage, tried).on("a workload").happened(happened).next(next),
            );
        };
        let Job::Device(job) = &part.job else {
            let happened = format!("the job {} does not measure a host", part.job.kind());
            let next = "Name a part: cpu, memory, crypto or disk.";
            return failed(
                Failure::new(Cause::Usage, "measure a host")
                    .on("a job")
                    .happened(happened)
                    .next(next),
            );
        };
        observer.load_begins();
        let (clock, stop) = (self.clock.clone(), self.stop.clone());
        let mut say = |what: &str| observer.event(Event::Step { what: what.to_owned() });
        let (new, record) = self.hosts[spec.subject].measure(*job, &*clock, &stop, &mut say);
        observer.load_ends();
        let result = self.result(&new);
        let outcome = match record.failures.into_iter().next() {
            None if record.complete => Outcome::Complete,
            None => Outcome::Stopped,
            Some(failure) => {
                Outcome::Failed { phase: "measure".to_owned(), failure: self.failure(failure) }
            }
        };
        let parts = if result.quantities.is_empty() { Vec::new() } else { vec![result] };
        let flags = new.disturbed(job.part).into_iter().collect();
        PointResult { outcome, parts, together: None, flags }
    }

    fn close(&mut self) -> Vec<Flag> {
        let mut flags = Vec::new();
        for Measured { host, .. } in self.hosts.drain(..) {
            let removed = host.verbs.map_or(Ok(()), |verbs| verbs.remove());
            flags.extend(removed.err().map(|left| Flag::program_left(&host.name, left)));
        }
        flags
    }
}
