//! `plimsoll trace`: which functions one operation runs in the kernel of a host, by subsystem.

mod plan;

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::plan::repeatable_command;
use crate::public::expect_rules_stay;
use crate::signals::Signals;
use crate::{hosts, restore};
use clap::{Args, ValueEnum};
use plan::Needs;
use plimsoll_device::kernel_trace::{Kernels, Order, Others, TraceHost, TraceRunner, nfs_workload};
use plimsoll_load::SystemClock;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Clock, Deadline, Failure, HostName, Job, NfsTarget, Plan, StudyId, SubjectKind,
    SubjectRunner, Target,
};
use plimsoll_settings::Journal;
use plimsoll_study::RunnerOfKind;
use plimsoll_trace::Blocks;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest table of subsystems, in bytes.
const MOST_TABLE: u64 = 1 << 20;

/// Shown by `--help`.
pub const EXAMPLES: &str = "Examples:
  One UDP datagram through the kernel of a router:
    plimsoll trace ssh://root@router
  With and without a packet filter:
    plimsoll trace ssh://root@router --set nft-ruleset=none,rules.nft
  One write and one fsync on a disk:
    plimsoll trace --dir /srv/films ssh://root@nas write fsync
  One UDP datagram, if the kernel has no tracer, but the host has perf:
    plimsoll trace --sample ssh://root@router
  One READ and one WRITE in the kernel's NFS server:
    plimsoll trace --target nfs://nas/srv/films ssh://root@nas nfsd
  One packet through a router, from one host to another:
    plimsoll trace --from ssh://a --to 192.0.2.9 ssh://root@router forward";

const HOST_HELP: &str =
    "Host whose kernel is traced: local, ssh://[user@]host[:port] or lab://name/host; needs root";

#[derive(Args)]
pub struct TraceArguments {
    #[arg(value_name = "HOST", help = HOST_HELP)]
    pub host: String,
    /// Operations that are traced one by one [default: sendto]
    #[arg(value_name = "OPERATION", value_enum)]
    pub operations: Vec<OperationChoice>,
    /// Bytes of each call or packet [default: 400,1450; 4096 for files and nfsd]
    ///
    /// Several sizes are measured one by one
    #[arg(long = "payload", value_name = "SIZES", value_delimiter = ',')]
    pub payloads: Vec<Bytes>,
    /// Destination of sendto and forward
    ///
    /// For sendto, the default is the host's gateway, or another host of its lab. The datagrams go to UDP port 9 (discard)
    #[arg(long, value_name = "ADDRESS")]
    pub to: Option<IpAddr>,
    /// Host that sends the packets of forward [default: this machine]
    ///
    /// Its route to the address of --to must lead through HOST
    #[arg(long, value_name = "HOST")]
    pub from: Option<String>,
    /// Directory on the host for the file of write, fsync and read
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// NFS export of HOST that nfsd reads and writes: nfs://host/export/path
    ///
    /// plimsoll creates its own files there, and removes them at the end
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Host that issues the calls of nfsd [default: this machine]
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// Sample the calls with perf, if the kernel has no function_graph tracer
    ///
    /// The result is the share of the samples in each subsystem, not the calls of its functions
    #[arg(long)]
    pub sample: bool,
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
    /// Remove the packet filter rules also from a host with a public address
    ///
    /// Values of --set nft-ruleset without the filter, such as none, and --set conntrack=untracked leave the host open
    /// while they are traced
    #[arg(long)]
    pub allow_open: bool,
    #[command(flatten)]
    pub study: ProbeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// A traced operation.
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
    /// One UDP datagram that the probe receives from itself (recvfrom)
    Recv,
    /// One UDP packet that the host forwards, from the receive softirq
    Forward,
    /// One READ and one WRITE in the kernel's NFS server
    Nfsd,
}

/// Traces a kernel and returns the exit code.
pub fn run(arguments: &TraceArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let host: HostName = arguments.host.parse()?;
    let needs = Needs::new(arguments, &host)?;
    let mut plan = plan::plan(arguments, &host, &needs.operations)?;
    plan.command = repeatable_command(&plan);
    let blocks = subsystems(arguments.subsystems.as_deref())?;
    let to = match arguments.to {
        None => of_lab(&host)?,
        named => named,
    };
    let mut concerned = vec![&host];
    concerned.extend(needs.sender.iter().chain(&needs.client));
    concerned.extend(plan.factors.iter().map(|factor| &factor.host));
    restore::expect_none_left(&concerned, &[])?;
    expect_rules_stay(&plan.factors, arguments.allow_open)?;
    let operations = needs.operations.clone();
    let (directory, samples) = (arguments.dir.clone(), arguments.sample);
    let order = Order { operations, directory, to, blocks, samples };
    let (output, more) = (&arguments.output, More::default());
    let (study, interrupted) =
        check::conducted(plan, output, kept, more, |plan, id, signals: &Signals| {
            set_up(plan, id, signals, order, &needs, arguments)
        })?;
    Ok(check::exit_code(&study, interrupted))
}

/// Reaches the hosts of the plan, and checks whether their kernels can trace.
fn set_up(
    plan: &Plan,
    id: &StudyId,
    signals: &Signals,
    order: Order,
    needs: &Needs,
    arguments: &TraceArguments,
) -> Result<SetUp, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let deadline = Deadline::new(clock.clone(), signals.stop.clone());
    let progress = Progress::new(arguments.output.quiet);
    let directory = arguments.study.probe_dir.as_deref();
    let with_probe = |host: &HostName| {
        let hosts::Measured { reach, placed } =
            hosts::with_probe(host, directory, &deadline, &progress)?;
        Ok::<_, Failure>(TraceHost { name: host.clone(), reach, probe: placed? })
    };
    let mut traced = Vec::new();
    for host in plan.subjects.iter().flat_map(|subject| subject.hosts()) {
        traced.push(with_probe(host)?);
    }
    let sender = needs.sender.as_ref().map(with_probe).transpose()?;
    progress.show("checking the tracer");
    let (study, stop) = (id.0.clone(), signals.stop.clone());
    let journal = Journal::of_this_user()?;
    let kernels = Signals::leave_when_over(&deadline, "check the tracer", "the plan", move || {
        Kernels::begin(traced, order, journal, &study, stop)
    })?;
    let client = match &needs.export {
        Some(export) => Some(client(export, needs, plan, id, signals)?),
        None => None,
    };
    let runner = TraceRunner::new(kernels, Others { sender, client });
    let runner: Box<dyn SubjectRunner> = Box::new(runner);
    // A host that is traced is not monitored: its figures would be of the tracer.
    let runners = vec![RunnerOfKind { kind: SubjectKind::Trace, runner }];
    let ready = SetUp::unwatched(runners, clock).with_settings(plan, id, &deadline)?;
    Ok(ready.beginning_now())
}

/// Storage load on an export, which makes the calls to the NFS server.
fn client(
    export: &NfsTarget,
    needs: &Needs,
    plan: &Plan,
    id: &StudyId,
    signals: &Signals,
) -> Result<Box<dyn SubjectRunner>, Failure> {
    let jobs = plan.workloads.iter().filter_map(|workload| match &workload.main()?.job {
        Job::Trace(job) => nfs_workload(job),
        _ => None,
    });
    let target = Target::Nfs(export.clone()).into();
    let mut storage = Plan::new(vec![target], jobs.collect(), plan.design.clone());
    storage.drive_on(needs.client.iter().cloned());
    Ok(check::open(&storage, id, None, signals, None)?.runner)
}

/// The built-in subsystems, and those of a file.
fn subsystems(file: Option<&Path>) -> Result<Blocks, Failure> {
    let Some(path) = file else { return Ok(Blocks::built_in()) };
    let failed = |happened: String| {
        let next = "Give a file with lines such as: nft_ netfilter";
        let tried = "read the table of subsystems";
        Failure::new(Cause::Usage, tried).on(path.display()).happened(happened).next(next)
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
