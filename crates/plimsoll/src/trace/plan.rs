//! The plan of a study of a traced kernel.

use super::{OperationChoice, TraceArguments};
use crate::arguments::ProbeArguments;
use crate::{jobs, settings};
use plimsoll_model::kernel_samples::SampleJob;
use plimsoll_model::kernel_trace::{TraceJob, TraceSubject, TracedOperation};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Failure, HostName, Job, Length, NfsTarget, Part, Plan, Target, Workload,
};
use std::num::NonZeroU16;

/// Traced calls of one measurement.
const CALLS: u32 = 50;
/// Calls of one measurement by samples, at most.
const SAMPLED_CALLS: u32 = 900;
/// Payloads of datagrams and of files where the user names none, and the most that the probe takes.
const DATAGRAMS: [Bytes; 2] = [Bytes(400), Bytes(1450)];
const FILE: [Bytes; 1] = [Bytes(4096)];
const PAYLOADS: std::ops::RangeInclusive<u64> = 1..=65_507;
/// Longest time of one measurement, in seconds: an emulated machine takes seconds for each change of the tracer.
const AT_MOST_SECONDS: f64 = 120.0;

/// What a study of a traced kernel needs beside its plan.
pub(super) struct Needs {
    /// Every operation once.
    pub operations: Vec<TracedOperation>,
    /// The export that is read and written.
    pub export: Option<NfsTarget>,
    /// Host that issues the calls to it; `None`: this machine.
    pub client: Option<HostName>,
    /// Host that sends the packets that are forwarded.
    pub sender: Option<HostName>,
}

impl Needs {
    /// What the arguments say of a study of this host.
    pub fn new(arguments: &TraceArguments, host: &HostName) -> Result<Needs, Failure> {
        let operations = operations(arguments);
        let forwards = operations.contains(&TracedOperation::Forward);
        let sender = match &arguments.from {
            Some(from) => Some(from.parse::<HostName>()?),
            None => forwards.then_some(HostName::Local),
        };
        let client = arguments.on.as_deref().map(str::parse::<HostName>).transpose()?;
        let export = arguments.target.as_deref().map(export).transpose()?;
        let needs = Needs { operations, export, client, sender };
        needs.expect_possible(arguments, host)?;
        Ok(needs)
    }

    fn expect_possible(&self, arguments: &TraceArguments, host: &HostName) -> Result<(), Failure> {
        let any = |is: fn(TracedOperation) -> bool| self.operations.iter().any(|own| is(*own));
        let has_file = any(TracedOperation::is_of_a_file);
        let is_server = any(TracedOperation::is_of_a_server);
        let has_destination = any(TracedOperation::has_destination);
        let forwards = self.operations.contains(&TracedOperation::Forward);
        if let Some(payload) = arguments.payloads.iter().find(|size| !PAYLOADS.contains(&size.0)) {
            let on = format!("--payload {payload}");
            return refuse(&on, "a call has 1 to 65507 bytes", "Give a size such as 400.");
        }
        let payloads = arguments.payloads.iter().filter(|_| is_server);
        for payload in payloads {
            jobs::block_can_be_driven("--payload", *payload)?;
        }
        match &arguments.dir {
            None if has_file => {
                let next = "Name a directory on the storage that is traced: --dir DIR.";
                let happened = "write, fsync and read need a directory for their file";
                return refuse("--dir", happened, next);
            }
            Some(directory) if !directory.starts_with('/') => {
                return refuse(directory, "the path is not absolute", "Give an absolute path.");
            }
            _ => {}
        }
        if is_server && self.export.is_none() {
            let next = "Name an export of the host: --target nfs://HOST/EXPORT.";
            return refuse("--target", "nfsd needs an export that is read and written", next);
        }
        if forwards && arguments.to.is_none() {
            let next = "Name the address of a host behind it: --to ADDRESS.";
            return refuse("--to", "forward needs a destination of the packets", next);
        }
        if forwards && self.sender.as_ref() == Some(host) {
            let next = "Name another host, from which packets go through this one: --from HOST.";
            return refuse("--from", "the host that forwards packets cannot send them", next);
        }
        if arguments.sample && !self.operations.iter().all(|own| own.is_system_call()) {
            let next = "Leave --sample out, or leave forward and nfsd out.";
            return refuse("--sample", "only system calls are sampled", next);
        }
        for (option, is_given, is_used, operations) in [
            ("--dir", arguments.dir.is_some(), has_file, "write, fsync or read"),
            ("--to", arguments.to.is_some(), has_destination, "sendto or forward"),
            ("--from", arguments.from.is_some(), forwards, "forward"),
            ("--target", arguments.target.is_some(), is_server, "nfsd"),
            ("--on", arguments.on.is_some(), is_server, "nfsd"),
        ] {
            if is_given && !is_used {
                let next = format!("Leave {option} out, or add {operations}.");
                return refuse(option, "none of the operations uses it", &next);
            }
        }
        Ok(())
    }
}

fn refuse<T>(on: &str, happened: &str, next: &str) -> Result<T, Failure> {
    Err(Failure::new(Cause::Usage, "plan the study").on(on).happened(happened).next(next))
}

/// The export of a URL.
fn export(url: &str) -> Result<NfsTarget, Failure> {
    match url.parse::<Target>()? {
        Target::Nfs(export) => Ok(export),
        other => {
            let next = "Give the URL of an NFS export: --target nfs://HOST/EXPORT.";
            refuse(&format!("--target {other}"), "it is not an NFS export", next)
        }
    }
}

/// The operations, each once.
fn operations(arguments: &TraceArguments) -> Vec<TracedOperation> {
    let mut operations: Vec<TracedOperation> = Vec::new();
    for operation in arguments.operations.iter().flat_map(|choice| choice.operations()) {
        if !operations.contains(operation) {
            operations.push(*operation);
        }
    }
    if operations.is_empty() {
        operations.push(TracedOperation::Sendto);
    }
    operations
}

/// Every operation once a block with each payload, under each setting.
pub(super) fn plan(
    arguments: &TraceArguments,
    host: &HostName,
    operations: &[TracedOperation],
) -> Result<Plan, Failure> {
    let mut workloads: Vec<Workload> = Vec::new();
    for operation in operations {
        let payloads = match arguments.payloads.as_slice() {
            [] if operation.is_of_a_datagram() => &DATAGRAMS[..],
            [] => &FILE[..],
            some => some,
        };
        for payload in payloads {
            let (operation, payload) = (*operation, *payload);
            let job: Job = match arguments.sample {
                true => SampleJob { operation, payload, calls: SAMPLED_CALLS }.into(),
                false => TraceJob { operation, payload, calls: CALLS }.into(),
            };
            let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
            let length = Length::UntilDone { at_most_seconds: AT_MOST_SECONDS };
            let workload = Workload::new(part, length);
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

impl OperationChoice {
    fn operations(self) -> &'static [TracedOperation] {
        match self {
            OperationChoice::Sendto => &[TracedOperation::Sendto],
            OperationChoice::Write => &[TracedOperation::Write],
            OperationChoice::Fsync => &[TracedOperation::Fsync],
            OperationChoice::Read => &[TracedOperation::Read],
            OperationChoice::Recv => &[TracedOperation::Recv],
            OperationChoice::Forward => &[TracedOperation::Forward],
            OperationChoice::Nfsd => &[TracedOperation::NfsRead, TracedOperation::NfsWrite],
        }
    }
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
        let needs = Needs::new(&given, &host)?;
        plan(&given, &host, &needs.operations)
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
        let plan = planned(&["local", "recv"]).unwrap();
        assert_eq!(plan.workloads.len(), 2);
        let nfs = "--target=nfs://nas/srv";
        let plan = planned(&[nfs, "--on=ssh://client", "ssh://root@nas", "nfsd"]).unwrap();
        let kinds: Vec<&str> =
            plan.workloads.iter().map(|workload| workload.main().unwrap().job.kind()).collect();
        assert_eq!(kinds, ["trace-nfs-read", "trace-nfs-write"]);
        let to = "--to=192.0.2.9";
        let plan = planned(&[to, "--from=ssh://a", "ssh://root@router", "forward"]).unwrap();
        assert_eq!(plan.workloads.len(), 2);
        let plan = planned(&["--sample", "--payload=400", "local", "recv"]).unwrap();
        assert_eq!(plan.workloads[0].main().unwrap().job.kind(), "sample-recv");
        let plan = planned(&["--set=nft-ruleset=none,as-found", "ssh://root@router"]).unwrap();
        assert_eq!(plan.factors[0].host, *"ssh://root@router");
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
            (&["local", "nfsd"], "needs an export"),
            (&["--target=/srv", "local", "nfsd"], "not an NFS export"),
            (&["--target=nfs://nas/srv", "local"], "none of the operations"),
            (&["--on=ssh://client", "local"], "none of the operations"),
            (&["--target=nfs://nas/srv", "--payload=400", "local", "nfsd"], "multiple of 512"),
            (&["ssh://router", "forward"], "needs a destination"),
            (&["--from=ssh://a", "local"], "none of the operations"),
            (&["--sample", "--target=nfs://nas/srv", "local", "nfsd"], "only system calls"),
            (&["--to=192.0.2.1", "local", "recv"], "none of the operations"),
            (&["--to=192.0.2.1", "local", "forward"], "cannot send them"),
        ] {
            let failure = planned(words).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage);
            assert!(failure.happened.contains(expected), "{failure}");
            assert!(!failure.next.is_empty());
        }
    }
}
