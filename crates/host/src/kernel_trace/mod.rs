//! Kernels of hosts as the subjects of a study: in a point the probe makes one system call again and again, first
//! untraced, then while the kernel's function_graph tracer records the functions below it.
//!
//! The tracer is a setting ([`crate::settings::tracer`]): its state is in the undo journals before it changes, and is
//! put back after each point.

mod capture;
mod figures;
mod look;

use crate::point;
use crate::probe::Placed;
use crate::reach::Reach;
use crate::settings::tracer::{self, level};
use crate::settings::{Factor, Journal, Session, knob};
use capture::Setup;
use figures::Traced;
use look::{Look, NULL_CALL, look};
use plimsoll_model::kernel_trace::TracedOperation;
use plimsoll_model::{
    Cause, FactorLevel, Failure, Flag, HostName, Job, LoadObserver, PartResult, PointResult,
    PointSpec, SubjectFacts, SubjectRunner,
};
use plimsoll_trace::Blocks;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// KiB of the buffer of each core: the next one is tried if events are lost.
const BUFFERS_KIB: [u32; 3] = [4 << 10, 16 << 10, 64 << 10];

/// A host with the probe on it.
pub struct TraceHost {
    /// As the user named it.
    pub name: HostName,
    /// The way to it.
    pub reach: Arc<dyn Reach>,
    /// The probe.
    pub probe: Placed,
}

/// What is traced on all hosts.
pub struct Order {
    /// Every operation of the plan.
    pub operations: Vec<TracedOperation>,
    /// Directory on each host for the file that is written and read.
    pub directory: Option<String>,
    /// Destination of datagrams; `None`: the gateway of each host.
    pub to: Option<IpAddr>,
    /// Blocks of functions.
    pub blocks: Blocks,
}

/// A host, and what its kernel has.
struct Known {
    host: TraceHost,
    look: Look,
    to: IpAddr,
}

/// Traces kernels.
pub struct TraceRunner {
    hosts: Vec<Known>,
    /// Subjects that are attached.
    attached: usize,
    order: Order,
    session: Session,
    stop: Arc<AtomicBool>,
}

impl TraceRunner {
    /// A runner of these hosts, in the plan's order; `stop` is set when the user wants an end.
    ///
    /// # Errors
    /// A kernel that cannot trace, a tracer that another program uses, or no destination of datagrams.
    pub fn begin(
        hosts: Vec<TraceHost>,
        order: Order,
        journal: Journal,
        study: &str,
        stop: Arc<AtomicBool>,
    ) -> Result<TraceRunner, Failure> {
        let mut known = Vec::new();
        let mut factors = Vec::new();
        for host in hosts {
            let look = look(&*host.reach, &order.operations)?;
            look.expect_tracer(&host.name, &order.operations)?;
            let to = destination(&host.name, &look, &order)?;
            let mut levels = Vec::new();
            for operation in &order.operations {
                let functions = functions(&look, *operation);
                let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
                let set = |kib: &u32| FactorLevel::Set { value: level(&functions, *kib) };
                levels.extend(BUFFERS_KIB.iter().map(set));
            }
            let knob = knob(tracer::KIND)?;
            let (name, reach) = (host.name.clone(), host.reach.clone());
            factors.push(Factor { knob, name, host: reach, levels });
            known.push(Known { host, look, to });
        }
        let session = Session::begin(journal, study, factors)?;
        Ok(TraceRunner { hosts: known, attached: 0, order, session, stop })
    }

    fn measure(&mut self, spec: &PointSpec) -> Result<PartResult, Failure> {
        let Known { host, look, to } = &self.hosts[spec.subject];
        let failed = |happened: &str, next: &str| {
            Failure::new(Cause::Trial, "trace the kernel", &host.name, happened, next)
        };
        let job = match spec.workload.parts.as_slice() {
            [part] => match &part.job {
                Job::Trace(job) => *job,
                _ => return Err(failed("the job does not trace a kernel", "")),
            },
            _ => return Err(failed("several operations at the same time are not traced", "")),
        };
        let number = self.order.operations.iter().position(|own| *own == job.operation);
        let Some(number) = number else {
            return Err(failed("the operation is not one of the plan", ""));
        };
        let directory = self.order.directory.as_deref().unwrap_or(host.probe.directory());
        let setup = Setup {
            reach: &*host.reach,
            probe: &host.probe,
            job,
            to: *to,
            directory,
            stop: &self.stop,
        };
        let untraced = setup.untraced()?;
        let functions = functions(look, job.operation);
        let levels = number * BUFFERS_KIB.len()..(number + 1) * BUFFERS_KIB.len();
        let session = &mut self.session;
        let traced = traced(levels, |level| session.set(spec.subject, level), &setup, &functions);
        let restored = self.session.restore_all();
        let traced = traced?;
        restored?;
        let result = figures::result(&traced, &untraced, &self.order.blocks);
        result.ok_or_else(|| failed("the trace has no call", "Try again."))
    }
}

/// Traces with the first of these levels whose buffer loses nothing.
fn traced(
    levels: Range<usize>,
    mut set: impl FnMut(usize) -> Result<(), Failure>,
    setup: &Setup<'_>,
    functions: &[String],
) -> Result<Traced, Failure> {
    let [operation, null] =
        [functions.first(), functions.last()].map(|name| name.map_or("", String::as_str));
    let mut lost = 0;
    for level in levels {
        set(level)?;
        match setup.traced(operation, null)? {
            Ok(traced) => return Ok(traced),
            Err(events) => lost = events,
        }
    }
    let kib = BUFFERS_KIB.last().copied().unwrap_or_default();
    let happened = format!("a buffer of {} MiB a core lost {lost} events", kib >> 10);
    let next = "Compare fewer rules.";
    Err(Failure::new(Cause::Trial, "trace the kernel", setup.reach.name(), happened, next))
}

/// The functions that an operation and the null call begin with, each once.
fn functions(look: &Look, operation: TracedOperation) -> Vec<String> {
    let calls = [operation.system_call(), NULL_CALL];
    let mut functions: Vec<String> = calls.iter().filter_map(|call| look.function(call)).collect();
    functions.dedup();
    functions
}

/// Where datagrams go.
fn destination(host: &HostName, look: &Look, order: &Order) -> Result<IpAddr, Failure> {
    match order.to.or(look.gateway()) {
        Some(to) => Ok(to),
        // Nobody uses it.
        None if !order.operations.contains(&TracedOperation::Sendto) => {
            Ok(IpAddr::V4(Ipv4Addr::LOCALHOST))
        }
        None => {
            let happened = "the host has no default route, so no destination is known";
            let next = "Give the address of another host: --to ADDRESS.";
            Err(Failure::new(Cause::Usage, "trace sendto", host, happened, next))
        }
    }
}

impl SubjectRunner for TraceRunner {
    /// Its facts are known already.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        self.attached = subject + 1;
        Ok(Vec::new())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        let attached = self.hosts.iter().take(self.attached);
        attached.map(|known| SubjectFacts::Trace(known.look.facts(&known.host.name))).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let stop = self.stop.clone();
        point::measured(&stop, observer, || self.measure(spec))
    }

    fn close(&mut self) -> Vec<Flag> {
        let mut flags = Vec::new();
        if let Err(failure) = self.session.restore_all() {
            let (setting, reason) = (tracer::KIND.to_owned(), failure.happened);
            flags.push(Flag::SettingNotRestored { host: failure.on, setting, reason });
        }
        for Known { host: TraceHost { name, probe, .. }, .. } in self.hosts.drain(..) {
            flags.extend(probe.remove().err().map(|left| Flag::program_left(&name, left)));
        }
        flags
    }
}
