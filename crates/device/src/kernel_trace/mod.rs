//! Kernels of hosts as the subjects of a study: in a point the probe makes one system call again and again, first
//! untraced, then while the kernel's function_graph tracer records the functions below it. Or other hosts make the
//! kernel work, first while the first function of that work alone is traced, then with all functions below it.
//!
//! The tracer is a setting ([`plimsoll_settings::tracer`]): its state is in the undo journals before it changes, and is
//! put back after each point.
//!
//! Where the kernel has no such tracer, perf samples the probe's calls.

mod capture;
mod entry;
mod figures;
mod host;
mod look;
mod others;
mod point;
mod sampled;
mod worked;

use capture::Setup;
use entry::{Entry, NULL_CALL, Work};
use figures::{Times, Traced};
pub use host::TraceHost;
use look::{Look, look};
pub use others::{Others, nfs_workload};
use plimsoll_model::kernel_samples::SampleJob;
use plimsoll_model::kernel_trace::{TraceJob, TracedOperation};
use plimsoll_model::{
    Cause, FactorLevel, Failure, Flag, HostName, Job, LoadObserver, Part, PartResult, PointResult,
    PointSpec, Prepared, SubjectFacts, SubjectRunner, Workload,
};
use plimsoll_settings::tracer::{self, level, level_of_few};
use plimsoll_settings::{Factor, Journal, Session, knob};
use plimsoll_trace::Blocks;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// KiB of the buffer of each core: the next one is tried if events are lost.
const BUFFERS_KIB: [u32; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Levels of the tracer for each operation: one for each buffer, then that for the first function alone.
const LEVELS: usize = BUFFERS_KIB.len() + 1;
const ALONE: usize = BUFFERS_KIB.len();

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
    /// Whether perf samples the kernels; else their tracer traces them.
    pub samples: bool,
}

/// Hosts whose kernels can trace.
pub struct Kernels {
    hosts: Vec<Known>,
    order: Order,
    session: Session,
    stop: Arc<AtomicBool>,
}

/// A host, and what its kernel has.
struct Known {
    host: TraceHost,
    look: Look,
    to: IpAddr,
}

/// Traces kernels.
pub struct TraceRunner {
    kernels: Kernels,
    /// Who makes them work.
    others: Others,
    /// Subjects that are attached.
    attached: usize,
}

impl Kernels {
    /// The kernels of these hosts, in the plan's order; `stop` is set when the user wants an end.
    ///
    /// # Errors
    /// A kernel that cannot trace or be sampled, a tracer that another program uses, or no destination of datagrams.
    pub fn begin(
        hosts: Vec<TraceHost>,
        order: Order,
        journal: Journal,
        study: &str,
        stop: Arc<AtomicBool>,
    ) -> Result<Kernels, Failure> {
        let mut known = Vec::new();
        let mut factors = Vec::new();
        for host in hosts {
            let look = look(&*host.reach, &order.operations)?;
            if order.samples {
                look.expect_root(&host.name)?;
                sampled::expect_perf(&host)?;
            } else {
                look.expect_tracer(&host.name, &order.operations)?;
                let all = order.operations.iter().flat_map(|operation| levels(&look, *operation));
                let levels = all.map(|value| FactorLevel::Set { value }).collect();
                let knob = knob(tracer::KIND)?;
                let (name, reach) = (host.name.clone(), host.reach.clone());
                factors.push(Factor { knob, name, host: reach, levels });
            }
            let to = destination(&host.name, &look, &order)?;
            known.push(Known { host, look, to });
        }
        let session = Session::begin(journal, study, factors)?;
        Ok(Kernels { hosts: known, order, session, stop })
    }

    fn measure(&mut self, spec: &PointSpec, others: &mut Others) -> Result<PartResult, Failure> {
        let Known { host, look, to } = &self.hosts[spec.subject];
        let failed = |happened: &str, next: &str| {
            Failure::new(Cause::Trial, "trace the kernel")
                .on(&host.name)
                .happened(happened)
                .next(next)
        };
        let (job, is_sampled) = only_job(&spec.workload, &host.name)?;
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
        if is_sampled {
            return setup.sampled(&self.order.blocks);
        }
        // Of the probe's calls alone, also where others make the kernel work.
        let mut untraced = setup.untraced()?;
        let begin = look.begin(job.operation).unwrap_or_default();
        let null = look.function(NULL_CALL).unwrap_or_default();
        let session = &mut self.session;
        let mut set = |level: usize| session.set(spec.subject, number * LEVELS + level);
        let traced = match Entry::for_operation(job.operation) {
            Entry::Call(_) => traced(&mut set, &setup, || setup.traced(&begin, &null)),
            Entry::Work(work) => {
                let mut make = || others.make(&job, spec, *to, &self.stop);
                worked(&mut set, &setup, work, &null, &mut make).map(|(alone, traced)| {
                    untraced.operation = alone;
                    traced
                })
            }
        };
        let restored = self.session.restore_all();
        let traced = traced?;
        restored?;
        let result = figures::result(&traced, &untraced, &self.order.blocks);
        result.ok_or_else(|| failed("the trace has no call", "Try again."))
    }
}

/// The job of a workload on a host, and whether perf samples it.
///
/// # Errors
/// Several jobs, or one that traces no kernel.
fn only_job(workload: &Workload, host: &HostName) -> Result<(TraceJob, bool), Failure> {
    let refused = |happened: &str, next: &str| {
        Failure::new(Cause::Usage, "trace the kernel").on(host).happened(happened).next(next)
    };
    match workload.parts.as_slice() {
        [Part { job: Job::Trace(job), .. }] => Ok((*job, false)),
        [Part { job: Job::Sample(SampleJob { operation, payload, calls }), .. }] => {
            Ok((TraceJob { operation: *operation, payload: *payload, calls: *calls }, true))
        }
        [_] => Err(refused("the job does not trace a kernel", "Name a traced operation.")),
        _ => {
            let happened = "the kernel has one tracer, so it traces one operation at a time";
            Err(refused(happened, "Trace the operations one after the other."))
        }
    }
}

/// Traces with the first buffer that loses nothing.
fn traced<T>(
    set: &mut impl FnMut(usize) -> Result<(), Failure>,
    setup: &Setup<'_>,
    mut trace: impl FnMut() -> Result<Result<T, u64>, Failure>,
) -> Result<T, Failure> {
    let mut lost = 0;
    for level in 0..BUFFERS_KIB.len() {
        set(level)?;
        match trace()? {
            Ok(traced) => return Ok(traced),
            Err(events) => lost = events,
        }
    }
    let kib = BUFFERS_KIB.last().copied().unwrap_or_default();
    let happened = format!("a buffer of {} MiB a core lost {lost} events", kib >> 10);
    Err(setup.failed(happened, "Compare fewer rules."))
}

/// Traces work that `make` makes the kernel do; first the times of its first function alone, in nanoseconds.
fn worked(
    set: &mut impl FnMut(usize) -> Result<(), Failure>,
    setup: &Setup<'_>,
    work: Work,
    null: &str,
    make: &mut dyn FnMut() -> Result<(), Failure>,
) -> Result<(Vec<u64>, Traced), Failure> {
    set(ALONE)?;
    let alone = setup.worked(work, None, make)?;
    let alone = alone.map_err(|lost| {
        setup.failed(format!("the buffer lost {lost} events"), "Stop other traffic of the host.")
    })?;
    let traced = traced(set, setup, || setup.worked(work, Some(null), make))?;
    let times = traced.times();
    let Times { operation, .. } = alone.times();
    Ok((operation, Traced { operations: traced.operations, nulls: traced.nulls, times }))
}

/// The levels of the tracer for an operation.
fn levels(look: &Look, operation: TracedOperation) -> Vec<String> {
    let begin = look.begin(operation);
    let mut functions: Vec<String> =
        begin.iter().cloned().chain(look.function(NULL_CALL)).collect();
    functions.dedup();
    let mut few: Vec<String> = begin.into_iter().collect();
    if let Entry::Work(work) = Entry::for_operation(operation) {
        few.extend(look.marks(work));
    }
    let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
    let few: Vec<&str> = few.iter().map(String::as_str).collect();
    let mut levels: Vec<String> = BUFFERS_KIB.iter().map(|kib| level(&functions, *kib)).collect();
    levels.push(level_of_few(&few[..few.len().min(1)], &few, BUFFERS_KIB[0]));
    levels
}

/// Where datagrams go.
fn destination(host: &HostName, look: &Look, order: &Order) -> Result<IpAddr, Failure> {
    match order.to.or(look.gateway()) {
        Some(to) => Ok(to),
        // Nobody uses it.
        None if !order.operations.iter().any(|operation| operation.has_destination()) => {
            Ok(IpAddr::V4(Ipv4Addr::LOCALHOST))
        }
        None => {
            let happened = "the host has no default route, so no destination is known";
            let next = "Give the address of another host: --to ADDRESS.";
            Err(Failure::new(Cause::Usage, "trace sendto").on(host).happened(happened).next(next))
        }
    }
}

impl TraceRunner {
    /// A runner of these kernels, which others make work.
    pub fn new(kernels: Kernels, others: Others) -> TraceRunner {
        TraceRunner { kernels, others, attached: 0 }
    }
}

impl SubjectRunner for TraceRunner {
    /// Its facts are known already.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        self.attached = subject + 1;
        match subject {
            0 => self.others.attach(),
            _ => Ok(Vec::new()),
        }
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        _: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let host = &self.kernels.hosts[subject].host.name;
        workloads.iter().try_for_each(|workload| only_job(workload, host).map(drop))?;
        match subject {
            0 => self.others.prepare(workloads),
            _ => Ok(Prepared::default()),
        }
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        let attached = self.kernels.hosts.iter().take(self.attached);
        attached.map(|known| SubjectFacts::Trace(known.look.facts(&known.host.name))).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let stop = self.kernels.stop.clone();
        point::measured(&stop, observer, || self.kernels.measure(spec, &mut self.others))
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.others.release()
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        self.others.reopen()
    }

    fn close(&mut self) -> Vec<Flag> {
        let mut flags = self.others.close();
        if let Err(failure) = self.kernels.session.restore_all() {
            let hosts = &self.kernels.hosts;
            let is_named = |known: &&Known| failure.on.contains(&known.host.name.to_string());
            let flag = |known: &Known| Flag::SettingNotRestored {
                host: known.host.name.clone(),
                setting: tracer::KIND.to_owned(),
                reason: failure.happened.clone(),
            };
            flags.extend(hosts.iter().find(is_named).or(hosts.first()).map(flag));
        }
        for Known { host: TraceHost { name, probe, .. }, .. } in self.kernels.hosts.drain(..) {
            flags.extend(probe.remove().err().map(|left| Flag::program_left(&name, left)));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Length;
    use plimsoll_model::units::Bytes;
    use std::num::NonZeroU16;

    #[test]
    fn a_kernel_traces_one_operation_at_a_time() {
        let job = |operation| TraceJob { operation, payload: Bytes(4096), calls: 10 };
        let part = |job: TraceJob| Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
        let (read, fsync) = (job(TracedOperation::NfsRead), job(TracedOperation::Fsync));
        let length = Length::UntilDone { at_most_seconds: 1.0 };
        let mut workload = Workload::new(part(read), length);
        assert_eq!(only_job(&workload, &HostName::Local), Ok((read, false)));
        workload.parts.push(part(fsync));
        let failure = only_job(&workload, &HostName::Local).unwrap_err();
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "local"));
        assert!(failure.happened.contains("one tracer"), "{failure}");
    }

    #[test]
    fn operations_have_a_level_for_each_buffer_and_one_for_few_functions() {
        let look = Look::from_lines(
            "function=__x64_sys_fsync\nfunction=nfsd_dispatch [nfsd]\nfunction=nfsd4_read [nfsd]\n\
             function=nfsd3_proc_read [nfsd]\n",
        );
        let read = levels(&look, TracedOperation::NfsRead);
        let wanted = [
            "nfsd_dispatch+__x64_sys_fsync@4096",
            "nfsd_dispatch+__x64_sys_fsync@16384",
            "nfsd_dispatch+__x64_sys_fsync@65536",
            "nfsd_dispatch@4096/nfsd_dispatch+nfsd3_proc_read+nfsd4_read",
        ];
        assert_eq!((read.as_slice(), read.len()), (&wanted.map(str::to_owned)[..], LEVELS));
        // The null call is the same system call.
        assert_eq!(levels(&look, TracedOperation::Fsync)[0], "__x64_sys_fsync@4096");
        let knob = knob(tracer::KIND).unwrap();
        for operation in [TracedOperation::NfsRead, TracedOperation::Fsync] {
            assert!(levels(&look, operation).iter().all(|level| knob.check(level).is_ok()));
        }
    }
}
