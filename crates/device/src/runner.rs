//! Hosts as the subjects of a study: a point is one job of a host, or several at the same time, each measured once.

use crate::concurrent::together;
use crate::host::{DeviceRequest, Host, HostRequest};
use crate::known_host::{HostJob, KnownHost, Measurement};
use plimsoll_model::device::Part;
use plimsoll_model::{
    Cause, Clock, DeviceJob, Event, Failure, Flag, HostName, Job, LoadObserver, MeasureInfo,
    Outcome, Phase, PointResult, PointSpec, Prepared, SubjectFacts, SubjectRunner, Workload,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures hosts: parts of their devices, and their clocks.
pub struct HostRunner<'a> {
    hosts: Vec<KnownHost<'a>>,
    measures: Vec<MeasureInfo>,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
}

impl<'a> HostRunner<'a> {
    /// A runner of these hosts, in the plan's order; `stop` is set when the user wants an end.
    pub fn new(hosts: Vec<Host<'a>>, clock: Arc<dyn Clock>, stop: Arc<AtomicBool>) -> Self {
        let hosts = hosts.into_iter().map(KnownHost::new).collect();
        HostRunner { hosts, measures: Vec::new(), clock, stop }
    }

    /// Why a job was not measured whole. It ends the study only where no host is left.
    fn failure(&self, failure: Failure) -> Failure {
        let is_any_left = self.hosts.iter().any(|host| host.lost.is_none());
        Failure { cause: if is_any_left { Cause::Trial } else { failure.cause }, ..failure }
    }

    fn note(&mut self, info: MeasureInfo) {
        if !self.measures.contains(&info) {
            self.measures.push(info);
        }
    }
}

impl SubjectRunner for HostRunner<'_> {
    /// Reads the facts.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let host = &mut self.hosts[subject];
        match host.host.request {
            HostRequest::Device(DeviceRequest { inventory: true, .. }) => {
                let job = HostJob::Device(DeviceJob { part: Part::Inventory, quick: false });
                let inventory = host.measure(job, 0.0, &*self.clock, &self.stop, &mut |_| {});
                host.keep(&inventory, true);
            }
            HostRequest::Device(_) => {}
            HostRequest::Clock => host.read_clock()?,
        }
        // Without a host there is nothing to measure.
        host.lost.clone().map_or(Ok(Vec::new()), Err)
    }

    /// Refuses workloads that cannot be measured.
    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        _: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let name = &self.hosts[subject].host.name;
        workloads.iter().try_for_each(|workload| jobs(workload, name).map(drop))?;
        Ok(Prepared::default())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        self.hosts.iter().map_while(KnownHost::facts).collect()
    }

    fn measures(&self) -> Vec<MeasureInfo> {
        self.measures.clone()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let failed = |failure| Outcome::Failed { phase: Phase::Measure.to_string(), failure };
        let host = &self.hosts[spec.subject];
        let jobs = match jobs(&spec.workload, &host.host.name) {
            Ok(jobs) => jobs,
            Err(failure) => return PointResult::empty(failed(failure)),
        };
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        observer.load_begins();
        let (clock, seconds) = (&*self.clock, spec.workload.seconds());
        let measured = together(
            &jobs,
            |job, stop, say| host.measure(*job, seconds, clock, stop, say),
            |measurement: &Measurement| measurement.is_complete,
            &self.stop,
            &mut |what| observer.event(Event::Step { what: what.to_owned() }),
        );
        observer.load_ends();

        let is_alone = jobs.len() == 1;
        for measurement in &measured {
            self.hosts[spec.subject].keep(measurement, is_alone);
        }
        let mut point = PointResult::empty(Outcome::Complete);
        for (number, measurement) in measured.into_iter().enumerate() {
            measurement.measures.into_iter().for_each(|info| self.note(info));
            let outcome = match measurement.failures.into_iter().next() {
                None if measurement.is_complete => Outcome::Complete,
                None => Outcome::Stopped,
                Some(failure) => failed(self.failure(named(failure, &spec.workload, number))),
            };
            point.outcome = point.outcome.worse(outcome);
            point.parts.push(measurement.result);
            // Jobs that run at the same time disturb each other, as they are meant to.
            if let (Some(details), [HostJob::Device(job)]) = (measurement.details, &jobs[..]) {
                point.flags.extend(details.device.disturbed(job.part));
            }
        }
        if point.parts.iter().all(|part| part.quantities.is_empty()) {
            point.parts.clear();
        }
        point
    }

    fn close(&mut self) -> Vec<Flag> {
        let mut flags = Vec::new();
        for KnownHost { host, .. } in self.hosts.drain(..) {
            let removed = host.verbs.map_or(Ok(()), |verbs| verbs.remove());
            flags.extend(removed.err().map(|left| Flag::program_left(&host.name, left)));
        }
        flags
    }
}

/// The jobs of a workload on a host.
///
/// # Errors
/// A job that does not measure a host, or jobs that cannot run at the same time.
fn jobs(workload: &Workload, host: &HostName) -> Result<Vec<HostJob>, Failure> {
    let refused = |happened: String, next: &str| {
        let tried = match workload.parts.len() {
            0 | 1 => "measure a host".to_owned(),
            _ => format!("measure {} at the same time", kinds(workload, None)),
        };
        Err(Failure::new(Cause::Usage, tried).on(host).happened(happened).next(next))
    };
    let mut jobs: Vec<HostJob> = Vec::new();
    for part in &workload.parts {
        let job = match &part.job {
            Job::Device(job) => HostJob::Device(*job),
            Job::Clock(job) => HostJob::Clock(*job),
            other => {
                let happened = format!("the job {} does not measure a host", other.kind());
                return refused(happened, "Name a part (cpu, memory, crypto or disk) or a clock.");
            }
        };
        for earlier in &jobs {
            match (earlier, job) {
                (HostJob::Device(one), HostJob::Device(other)) if one.part == other.part => {
                    let happened =
                        format!("the part {} is named twice, and has one result", one.part);
                    return refused(happened, "Name each part once.");
                }
                (HostJob::Clock(_), HostJob::Clock(_)) => {
                    let happened = "each clock is called on every core, so calls of two clocks \
                                    disturb each other";
                    return refused(happened.to_owned(), "Measure one clock at a time.");
                }
                _ => {}
            }
        }
        jobs.push(job);
    }
    match jobs.is_empty() {
        true => refused("the workload has no parts".to_owned(), "Name a part or a clock."),
        false => Ok(jobs),
    }
}

/// The kinds of the jobs of a workload but for that of one part: "cpu and memory".
fn kinds(workload: &Workload, without: Option<usize>) -> String {
    let parts = workload.parts.iter().enumerate().filter(|(number, _)| Some(*number) != without);
    parts.map(|(_, part)| part.job.kind()).collect::<Vec<_>>().join(" and ")
}

/// A failure of a part that names the part, if there are several.
fn named(failure: Failure, workload: &Workload, number: usize) -> Failure {
    let (Some(part), 2..) = (workload.parts.get(number), workload.parts.len()) else {
        return failure;
    };
    let others = kinds(workload, Some(number));
    Failure {
        tried: format!("measure {} at the same time as {others}", part.job.kind()),
        happened: format!("could not {}: {}", failure.tried, failure.happened),
        ..failure
    }
}
