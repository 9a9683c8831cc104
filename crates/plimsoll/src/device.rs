//! `plimsoll device`: what a box is, and what it can do; of several, which is faster at what.

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::signals::Signals;
use crate::{hosts, plan, restore};
use clap::Args;
use plimsoll_device::{DeviceRequest, Host, HostRequest, HostRunner, Verbs};
use plimsoll_load::SystemClock;
use plimsoll_model::device::Part;
use plimsoll_model::{
    Cause, Clock, Deadline, DeviceJob, Failure, HostName, HostSubject, Job, Length, Plan, Study,
    SubjectFacts, SubjectKind, Workload,
};
use plimsoll_study::RunnerOfKind;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;

const HOST_HELP: &str = "Host to measure: local, or ssh://[user@]host[:port] (uses the system's ssh). With several \
hosts, each is compared with the first";

#[derive(Args)]
pub struct DeviceArguments {
    // A doc comment would take the brackets for links.
    #[arg(required = true, value_name = "HOST", help = HOST_HELP)]
    pub hosts: Vec<String>,
    /// Parts: inventory, cpu, memory, crypto, disk [default: all; disk needs --disk]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    pub only: Vec<Part>,
    /// Measure the disk of this directory on the host, with a temporary file
    #[arg(long, value_name = "PATH")]
    pub disk: Option<PathBuf>,
    /// CoreMark program on the host [default: coremark, if it is in the PATH]
    #[arg(long, value_name = "PATH")]
    pub coremark: Option<PathBuf>,
    #[command(flatten)]
    pub study: ProbeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Measures hosts and returns the exit code.
pub fn run(arguments: &DeviceArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let named = arguments.hosts.iter().map(|host| host.parse());
    let named = named.collect::<Result<Vec<HostName>, _>>()?;
    let parts = parts(arguments)?;
    let measured = parts.iter().filter(|part| **part != Part::Inventory);
    let workloads = measured.map(|part| workload(*part, arguments.study.quick)).collect();
    let mut plan = plan_of(arguments, &named, workloads);
    plan.command = plan::repeatable_command(&plan);
    let (study, interrupted) = measure(plan, arguments, &arguments.output, kept)?;
    Ok(exit_code(&study, interrupted))
}

/// Conducts a plan of hosts, which was made of these arguments. Returns the study and the cause of an interruption.
pub fn measure(
    plan: Plan,
    arguments: &DeviceArguments,
    output: &OutputArguments,
    kept: &StoreArguments,
) -> Result<(Study, Option<Cause>), Failure> {
    let named: Vec<HostName> =
        plan.subjects.iter().flat_map(|subject| subject.hosts()).cloned().collect();
    let parts = parts(arguments)?;
    let requests = named.iter().map(|host| request(arguments, &parts, host));
    let requests = requests.collect::<Result<Vec<_>, Failure>>()?;
    let varied = plan.factors.iter().map(|factor| &factor.host);
    restore::expect_none_left(&named.iter().chain(varied).collect::<Vec<_>>(), &[])?;
    let quiet = output.quiet;
    check::conducted(plan, output, kept, More::default(), |plan, id, signals: &Signals| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let deadline = Deadline::new(clock.clone(), signals.stop.clone());
        let progress = Progress::new(quiet);
        let hosts = named.into_iter().zip(requests);
        let reached = hosts.map(|(host, request)| {
            reach(host, request, arguments.study.probe_dir.as_deref(), &deadline, &progress)
        });
        let reached = reached.collect::<Result<Vec<_>, Failure>>()?;
        let runner = HostRunner::new(reached, clock.clone(), signals.stop.clone());
        let runner = Box::new(runner);
        // A host that is measured is not watched: that would be work beside.
        let runners = vec![RunnerOfKind { kind: SubjectKind::Host, runner }];
        let ready = SetUp::unwatched(runners, clock).with_settings(plan, id, &deadline)?;
        Ok(ready.beginning_now())
    })
}

/// The parts that are to be measured, in their order.
fn parts(arguments: &DeviceArguments) -> Result<Vec<Part>, Failure> {
    let mut parts = match arguments.only.is_empty() {
        true => {
            Part::ALL.into_iter().filter(|p| *p != Part::Disk || arguments.disk.is_some()).collect()
        }
        false => arguments.only.clone(),
    };
    parts.sort();
    parts.dedup();
    if parts.contains(&Part::Disk) && arguments.disk.is_none() {
        let (happened, next) =
            ("--disk is missing", "Name a directory on the host with --disk PATH.");
        return Err(usage("measure a disk", "--only disk".to_owned(), happened, next));
    }
    Ok(parts)
}

/// What is to be found out about a host beside.
fn request(
    arguments: &DeviceArguments,
    parts: &[Part],
    host: &HostName,
) -> Result<DeviceRequest, Failure> {
    let on_host = |option: &str, path: &Option<PathBuf>| {
        let Some(path) = path else { return Ok(None) };
        let named = || format!("{option} {}", path.display());
        let path = match host {
            HostName::Local => std::path::absolute(path).map_err(|e| {
                usage("find a path", named(), &e.to_string(), "Give an absolute path.")
            })?,
            HostName::Ssh { .. } | HostName::Lab { .. } | HostName::Iperf3 { .. } => path.clone(),
        };
        match path.to_str().filter(|p| p.starts_with('/') && !p.contains(['\n', '\0'])) {
            Some(path) => Ok(Some(path.to_owned())),
            None => {
                let happened = "it is not an absolute path in UTF-8";
                Err(usage(
                    "find a path",
                    named(),
                    happened,
                    "Give an absolute path, such as /mnt/disk.",
                ))
            }
        }
    };
    Ok(DeviceRequest {
        inventory: parts.contains(&Part::Inventory),
        disk: on_host("--disk", &arguments.disk)?,
        coremark: on_host("--coremark", &arguments.coremark)?,
    })
}

fn usage(tried: &str, on: String, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next)
}

/// One measurement of a part.
pub fn workload(part: Part, quick: bool) -> Workload {
    let job = Job::Device(DeviceJob { part, quick });
    let part = plimsoll_model::Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::new(part, Length::UntilDone { at_most_seconds: about_seconds(quick) })
}

/// Every workload once a block on each host.
pub fn plan_of(arguments: &DeviceArguments, hosts: &[HostName], workloads: Vec<Workload>) -> Plan {
    let subjects = hosts.iter().map(|host| HostSubject { host: host.clone() }.into()).collect();
    let baseline_seconds = 0.0;
    let cap_seconds = ProbeArguments::CAP_SECONDS * hosts.len() as f64;
    let design = arguments.study.design(cap_seconds, baseline_seconds);
    Plan::new(subjects, workloads, design)
}

/// What a part takes at most on a machine that is not slow, for the first estimate of the time.
fn about_seconds(quick: bool) -> f64 {
    if quick { 10.0 } else { 60.0 }
}

/// Reaches a host and deploys the probe there.
fn reach(
    host: HostName,
    request: DeviceRequest,
    directory: Option<&str>,
    deadline: &Deadline,
    progress: &Progress,
) -> Result<Host<'static>, Failure> {
    let hosts::Measured { reach, placed } =
        hosts::with_probe(&host, directory, deadline, progress)?;
    // Without a probe there is still something to measure.
    let verbs = placed.map(|placed| Box::new(placed) as Box<dyn Verbs>);
    Ok(Host { name: host, reach, verbs, request: HostRequest::Device(request) })
}

/// A part that was not measured whole leaves a partial result.
pub fn exit_code(study: &Study, interrupted: Option<Cause>) -> u8 {
    let mut hosts = study.subjects.iter().filter_map(SubjectFacts::host);
    match check::exit_code(study, interrupted) {
        0 if !hosts.all(|host| host.device.is_complete()) => Cause::Trial.exit_code(),
        code => code,
    }
}
