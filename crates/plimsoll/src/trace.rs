//! `plimsoll trace`: which functions one operation runs in the kernel of a host, by subsystem.

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::signals::Signals;
use crate::{hosts, plan, restore, settings};
use clap::{Args, ValueEnum};
use plimsoll_host::kernel_trace::{Order, TraceHost, TraceRunner};
use plimsoll_host::settings::Journal;
use plimsoll_load::SystemClock;
use plimsoll_model::kernel_trace::{TraceJob, TraceSubject, TracedOperation};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Clock, Deadline, Failure, HostName, Length, Part, Plan, StudyId, SubjectKind,
    SubjectRunner, Workload,
};
use plimsoll_study::RunnerOfKind;
use plimsoll_trace::Blocks;
use std::fs;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Traced calls of one measurement.
const CALLS: u32 = 50;
/// Payloads of datagrams and of files where the user names none, and the most that the probe takes.
const DATAGRAMS: [Bytes; 2] = [Bytes(400), Bytes(1450)];
const FILE: [Bytes; 1] = [Bytes(4096)];
const PAYLOADS: std::ops::RangeInclusive<u64> = 1..=65_507;
/// Longest time of one measurement, in seconds: an emulated machine takes seconds for each change of the tracer.
const AT_MOST_SECONDS: f64 = 120.0;
/// Largest table of subsystems, in bytes.
const MOST_TABLE: u64 = 1 << 20;

/// Shown by `--help`.
pub const EXAMPLES: &str = "Examples:
  One UDP datagram through the kernel of a router:
    plimsoll trace ssh://root@router
  With and without a packet filter:
    plimsoll trace ssh://root@router --set nft-ruleset=none,rules.nft
  One write and one fsync on a disk:
    plimsoll trace --dir /srv/films ssh://root@nas write fsync";

const HOST_HELP: &str =
    "Host whose kernel is traced: local, ssh://[user@]host[:port] or lab://name/host; needs root";

#[derive(Args)]
pub struct TraceArguments {
    #[arg(value_name = "HOST", help = HOST_HELP)]
    pub host: String,
    /// System calls that are traced one by one [default: sendto]
    #[arg(value_name = "OPERATION", value_enum)]
    pub operations: Vec<OperationChoice>,
    /// Bytes of each call [default: 400,1450; 4096 for files]
    ///
    /// Several sizes are measured one by one
    #[arg(long = "payload", value_name = "SIZES", value_delimiter = ',')]
    pub payloads: Vec<Bytes>,
    /// Destination of sendto [default: the host's gateway, or another host of its lab]
    ///
    /// The datagrams go to UDP port 9 (discard)
    #[arg(long, value_name = "ADDRESS")]
    pub to: Option<IpAddr>,
    /// Directory on the host for the file of write, fsync and read
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// File with more subsystems: the beginning of a function's name and a subsystem in each line
    ///
    /// These lines win over the built-in table, and longer beginnings over shorter ones
    #[arg(long, value_name = "FILE")]
    pub subsystems: Option<PathBuf>,
    /// Compare values of a setting of a host [default host: HOST]
    ///
    /// As for plimsoll check: docs/settings.md lists the settings
    #[arg(long = "set", value_name = "[HOST/]NAME=A,B")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub study: ProbeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// A traced system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OperationChoice {
    /// One UDP datagram to another host
    Sendto,
    /// A write to a file (pwrite)
    Write,
    /// fsync of a file after a write
    Fsync,
    /// A read of a file from the page cache (pread)
    Read,
}

impl OperationChoice {
    fn operation(self) -> TracedOperation {
        match self {
            OperationChoice::Sendto => TracedOperation::Sendto,
            OperationChoice::Write => TracedOperation::Write,
            OperationChoice::Fsync => TracedOperation::Fsync,
            OperationChoice::Read => TracedOperation::Read,
        }
    }
}

/// Traces a kernel and returns the exit code.
pub fn run(arguments: &TraceArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let host: HostName = arguments.host.parse()?;
    let operations = operations(arguments);
    let mut plan = plan(arguments, &host, &operations)?;
    plan.command = plan::repeatable_command(&plan);
    let blocks = subsystems(arguments.subsystems.as_deref())?;
    let to = match arguments.to {
        None => of_lab(&host)?,
        named => named,
    };
    let mut concerned = vec![&host];
    concerned.extend(plan.factors.iter().map(|factor| &factor.host));
    restore::expect_none_left(&concerned, &[])?;
    let (output, more) = (&arguments.output, More::default());
    let (study, interrupted) =
        check::conducted(plan, output, kept, more, |plan, id, signals: &Signals| {
            let order = Order { operations, directory: arguments.dir.clone(), blocks, to };
            set_up(plan, id, signals, order, arguments)
        })?;
    Ok(check::exit_code(&study, interrupted))
}

/// Reaches the hosts of the plan, and checks whether their kernels can trace.
fn set_up(
    plan: &Plan,
    id: &StudyId,
    signals: &Signals,
    order: Order,
    arguments: &TraceArguments,
) -> Result<SetUp, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let deadline = Deadline::new(clock.clone(), signals.stop.clone());
    let progress = Progress::new(arguments.output.quiet);
    let directory = arguments.study.probe_dir.as_deref();
    let mut traced = Vec::new();
    for host in plan.subjects.iter().flat_map(|subject| subject.hosts()) {
        let hosts::Measured { reach, placed } =
            hosts::with_probe(host, directory, &deadline, &progress)?;
        progress.show(&format!("checking the tracer of {host}"));
        traced.push(TraceHost { name: host.clone(), reach, probe: placed? });
    }
    let (study, stop) = (id.0.clone(), signals.stop.clone());
    let journal = Journal::of_this_user()?;
    let runner = Signals::leave_when_over(&deadline, "check the tracer", "the plan", move || {
        TraceRunner::begin(traced, order, journal, &study, stop)
    })?;
    let runner: Box<dyn SubjectRunner> = Box::new(runner);
    let (varied, id) = (plan.clone(), id.clone());
    let settings =
        Signals::leave_when_over(&deadline, "read the settings", "the plan", move || {
            settings::open(&varied, &id)
        })?;
    // A host that is traced is not monitored: its figures would be of the tracer.
    let runner = RunnerOfKind { kind: SubjectKind::Trace, runner };
    Ok(SetUp { settings, ..SetUp::unwatched(runner, clock) })
}

/// The operations, each once.
fn operations(arguments: &TraceArguments) -> Vec<TracedOperation> {
    let mut operations: Vec<TracedOperation> = Vec::new();
    for choice in &arguments.operations {
        if !operations.contains(&choice.operation()) {
            operations.push(choice.operation());
        }
    }
    if operations.is_empty() {
        operations.push(TracedOperation::Sendto);
    }
    operations
}

/// Every operation once a block with each payload, under each setting.
fn plan(
    arguments: &TraceArguments,
    host: &HostName,
    operations: &[TracedOperation],
) -> Result<Plan, Failure> {
    let refuse = |on: &str, happened: &str, next: &str| {
        Err(Failure::new(Cause::Usage, "plan the study", on, happened, next))
    };
    if let Some(payload) = arguments.payloads.iter().find(|size| !PAYLOADS.contains(&size.0)) {
        let on = format!("--payload {payload}");
        return refuse(&on, "a call has 1 to 65507 bytes", "Give a size such as 400.");
    }
    let has_file = operations.iter().any(|operation| operation.is_of_a_file());
    match &arguments.dir {
        None if has_file => {
            let next = "Name a directory on the storage that is traced: --dir DIR.";
            return refuse("--dir", "write, fsync and read need a directory for their file", next);
        }
        Some(_) if !has_file => {
            let next = "Leave --dir out, or add write, fsync or read.";
            return refuse("--dir", "none of the operations uses it", next);
        }
        Some(directory) if !directory.starts_with('/') => {
            return refuse(directory, "the path is not absolute", "Give an absolute path.");
        }
        _ => {}
    }
    if arguments.to.is_some() && !operations.contains(&TracedOperation::Sendto) {
        let next = "Leave --to out, or add sendto.";
        return refuse("--to", "none of the operations uses it", next);
    }
    let mut workloads: Vec<Workload> = Vec::new();
    for operation in operations {
        let payloads = match (arguments.payloads.as_slice(), operation.is_of_a_file()) {
            ([], true) => &FILE[..],
            ([], false) => &DATAGRAMS[..],
            (some, _) => some,
        };
        for payload in payloads {
            let job = TraceJob { operation: *operation, payload: *payload, calls: CALLS };
            let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
            let length = Length::UntilDone { at_most_seconds: AT_MOST_SECONDS };
            let workload = Workload::of(part, length);
            if !workloads.contains(&workload) {
                workloads.push(workload);
            }
        }
    }
    let subjects = vec![TraceSubject { host: host.clone() }.into()];
    let design = arguments.study.design(ProbeArguments::CAP_SECONDS, 0.0);
    let factors = settings::factors(&arguments.set, host)?;
    Ok(Plan::new(subjects, workloads, design).with_factors(factors))
}

/// The built-in subsystems, and those of a file.
fn subsystems(file: Option<&Path>) -> Result<Blocks, Failure> {
    let Some(path) = file else { return Ok(Blocks::built_in()) };
    let failed = |happened: String| {
        let next = "Give a file with lines such as: nft_ netfilter";
        let tried = "read the table of subsystems";
        Failure::new(Cause::Usage, tried, path.display(), happened, next)
    };
    let facts = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !facts.is_file() || facts.len() > MOST_TABLE {
        return Err(failed("it is not a file of at most 1 MiB".into()));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Blocks::with_lines(&text).map_err(|error| failed(error.to_string()))
}

/// Another host on a link of a lab's host: its hosts have no way to others.
fn of_lab(host: &HostName) -> Result<Option<IpAddr>, Failure> {
    let HostName::Lab { lab, host } = host else { return Ok(None) };
    let status = plimsoll_lab::status_of(lab)?;
    let Some(own) = status.hosts.get(host) else { return Ok(None) };
    let others = status.hosts.iter().filter(|(name, _)| *name != host);
    let shared = others.flat_map(|(_, other)| &other.addresses);
    let mut shared = shared.filter(|(link, _)| own.addresses.contains_key(*link));
    Ok(shared.next().map(|(_, address)| IpAddr::V4(*address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Arguments, Command};
    use clap::Parser;

    fn planned(words: &[&str]) -> Result<Plan, Failure> {
        let words = ["plimsoll", "trace"].iter().chain(words);
        let Command::Trace(given) = Arguments::parse_from(words).command else { panic!() };
        let host = given.host.parse()?;
        plan(&given, &host, &operations(&given))
    }

    #[test]
    fn each_operation_has_its_payloads() {
        let plan = planned(&["ssh://root@router"]).unwrap();
        assert_eq!((plan.workloads.len(), plan.design.rule.first_blocks()), (2, 3));
        let plan = planned(&["--dir=/srv", "local", "write", "sendto", "write"]).unwrap();
        // A write of 4 KiB, and two datagrams.
        assert_eq!(plan.workloads.len(), 3);
        let plan = planned(&["--payload=400,400,18", "local"]).unwrap();
        assert_eq!(plan.workloads.len(), 2);
        let plan = planned(&["--set=nft-ruleset=none,as-found", "ssh://root@router"]).unwrap();
        assert_eq!(plan.factors[0].host, "ssh://root@router".parse().unwrap());
        assert_eq!(plan.contrasts.len(), 2);
    }

    #[test]
    fn what_cannot_be_traced_is_refused() {
        for (words, expected) in [
            (&["local", "fsync"][..], "need a directory"),
            (&["--dir=/srv", "local"], "none of the operations"),
            (&["--dir=srv", "local", "read"], "not absolute"),
            (&["--to=192.0.2.1", "--dir=/srv", "local", "read"], "none of the operations"),
            (&["--payload=65508", "local"], "1 to 65507"),
            (&["--payload=0", "local"], "1 to 65507"),
        ] {
            let failure = planned(words).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage);
            assert!(failure.happened.contains(expected), "{failure}");
            assert!(!failure.next.is_empty());
        }
    }

    #[test]
    fn tables_of_blocks_are_files_with_lines() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("blocks");
        fs::write(&path, "# mine\nmy_driver my driver\n").unwrap();
        assert_eq!(subsystems(Some(&path)).unwrap().block("my_driver_xmit"), Some("my driver"));
        fs::write(&path, "alone\n").unwrap();
        let failure = subsystems(Some(&path)).unwrap_err();
        assert!(failure.happened.contains("line 1"), "{failure}");
        for other in [place.path(), Path::new("/dev/zero"), Path::new("/no/such/file")] {
            assert_eq!(subsystems(Some(other)).unwrap_err().cause, Cause::Usage);
        }
    }
}
