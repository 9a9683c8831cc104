//! What a kernel has for tracing, and which of its functions an operation begins with.

use super::entry::{Entry, NULL_CALL, Work, of_system_call};
use plimsoll_model::kernel_trace::{TraceFacts, TracedOperation};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::printable;
use plimsoll_settings::tracer;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// Longest fact of a kernel, in letters.
const LONGEST: usize = 64;

/// What was found out about a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    release: String,
    machine: String,
    is_root: bool,
    has_perf: bool,
    has_tracefs: bool,
    is_mounted: bool,
    lockdown: String,
    is_enabled: bool,
    tracers: Vec<String>,
    /// Functions of the operations that can be traced.
    functions: BTreeSet<String>,
    gateway: Option<IpAddr>,
}

/// Asks a host.
pub(super) fn look(host: &dyn Reach, operations: &[TracedOperation]) -> Result<Look, Failure> {
    let mut names = of_system_call(NULL_CALL);
    names.extend(operations.iter().flat_map(|operation| Entry::for_operation(*operation).names()));
    names.sort_unstable();
    names.dedup();
    let text = format!(
        "export PATH=$PATH:/usr/sbin:/sbin
        echo \"release=$(uname -r)\"; echo \"machine=$(uname -m)\"; echo \"user=$(id -u)\"
        grep -q tracefs /proc/filesystems && echo has_tracefs=1
        command -v perf >/dev/null 2>&1 && echo perf=1
        echo \"lockdown=$(cat /sys/kernel/security/lockdown 2>/dev/null)\"
        echo \"enabled=$(cat /proc/sys/kernel/ftrace_enabled 2>/dev/null)\"
        echo \"gateway=$(ip -4 route show default 2>/dev/null | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p' | head -n 1)\"
        ({}; echo mounted=1; echo \"tracers=$(cat available_tracers)\"
        grep -xE '({})( \\[[a-z0-9_]+\\])?' available_filter_functions | sed 's/^/function=/') 2>/dev/null
        true",
        tracer::enter(&tracer::PLACES),
        names.join("|"),
    );
    let output = host.run(&text, b"", LIMIT)?;
    Ok(Look::from_lines(&String::from_utf8_lossy(&output.output)))
}

impl Look {
    /// From lines `fact=value`, which are untrusted.
    pub(super) fn from_lines(text: &str) -> Look {
        let mut look = Look::default();
        let short = |text: &str| printable(text).chars().take(LONGEST).collect::<String>();
        for (fact, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.trim();
            match fact {
                "release" => look.release = short(value),
                "machine" => look.machine = short(value),
                "user" => look.is_root = value == "0",
                "perf" => look.has_perf = value == "1",
                "has_tracefs" => look.has_tracefs = value == "1",
                "mounted" => look.is_mounted = value == "1",
                "lockdown" => look.lockdown = short(value),
                "enabled" => look.is_enabled = value == "1",
                "gateway" => look.gateway = value.parse().ok(),
                "tracers" => look.tracers = value.split_whitespace().take(32).map(short).collect(),
                "function" if look.functions.len() < 256 => {
                    // The module follows.
                    look.functions.extend(value.split_whitespace().next().map(short));
                }
                _ => {}
            }
        }
        look
    }

    pub(super) fn facts(&self, given: &HostName) -> TraceFacts {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let given = given.to_string();
        let (release, machine) = (known(&self.release), known(&self.machine));
        TraceFacts { label: given.clone(), given, release, machine }
    }

    /// The first hop of packets to other networks.
    pub(super) fn gateway(&self) -> Option<IpAddr> {
        self.gateway
    }

    /// The function that a system call begins with.
    pub(super) fn function(&self, system_call: &str) -> Option<String> {
        of_system_call(system_call).into_iter().find(|name| self.functions.contains(name))
    }

    /// The function that an operation begins with.
    pub(super) fn begin(&self, operation: TracedOperation) -> Option<String> {
        match Entry::for_operation(operation) {
            Entry::Call(call) => self.function(call.name),
            Entry::Work(work) => {
                Some(work.begins.to_owned()).filter(|name| self.functions.contains(name))
            }
        }
    }

    /// The functions by which an operation is told from other work.
    pub(super) fn marks(&self, work: Work) -> Vec<String> {
        let known = work.marks.iter().filter(|name| self.functions.contains(**name));
        known.map(|name| (*name).to_owned()).collect()
    }

    /// Fails where this user is not root.
    pub(super) fn expect_root(&self, host: &HostName) -> Result<(), Failure> {
        if self.is_root {
            return Ok(());
        }
        Err(Failure::new(Cause::NotPermitted, "trace the kernel")
            .on(host)
            .happened("tracing needs root, and this user is not root")
            .next("Log in as root, for example ssh://root@host."))
    }

    /// Fails where the kernel cannot trace, or this user may not; what answers instead is named.
    pub(super) fn expect_tracer(
        &self,
        host: &HostName,
        operations: &[TracedOperation],
    ) -> Result<(), Failure> {
        let failed = |happened: String, next: String| {
            Err(Failure::new(Cause::NotPermitted, "trace the kernel")
                .on(host)
                .happened(happened)
                .next(next))
        };
        let instead = format!(
            "Compare the cost of rules without a tracer: plimsoll net A B --set \
             {host}/nft-ruleset=none,FILE"
        );
        let sampled = operations.iter().all(|operation| operation.is_system_call());
        let instead = match self.has_perf && sampled {
            true => format!("Sample it with perf: add --sample. {instead}"),
            false => instead,
        };
        let kernel = format!("Linux {}", self.release);
        self.expect_root(host)?;
        if !self.is_mounted && self.has_tracefs {
            let next = "Mount it on the host: mount -t tracefs nodev /sys/kernel/tracing";
            return failed("tracefs is not mounted".into(), next.into());
        }
        if !self.is_mounted {
            return failed(format!("{kernel} has no tracefs (CONFIG_FTRACE)"), instead);
        }
        if self.tracers.is_empty() && self.lockdown.contains("[confidentiality]") {
            return failed(
                "the kernel's lockdown (confidentiality) forbids tracing".into(),
                instead,
            );
        }
        if !self.tracers.iter().any(|tracer| tracer == "function_graph") {
            let happened =
                format!("{kernel} has no function_graph tracer (CONFIG_FUNCTION_GRAPH_TRACER)");
            return failed(happened, instead);
        }
        if !self.is_enabled {
            let next = "Enable it on the host: sysctl kernel.ftrace_enabled=1";
            return failed("kernel.ftrace_enabled is 0".into(), next.into());
        }
        if self.function(NULL_CALL).is_none() {
            return failed(format!("{kernel} does not trace the system call {NULL_CALL}"), instead);
        }
        for operation in operations {
            let is_known = self.begin(*operation).is_some();
            match Entry::for_operation(*operation) {
                Entry::Call(call) if !is_known => {
                    let name = call.name;
                    return failed(
                        format!("{kernel} does not trace the system call {name}"),
                        instead,
                    );
                }
                Entry::Work(work) if !is_known || self.marks(work).is_empty() => {
                    return failed(lacks(&kernel, work), starts(host, *operation, instead));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The functions that a kernel lacks for some work.
fn lacks(kernel: &str, work: Work) -> String {
    format!("{kernel} traces no {}, or none of {}", work.begins, work.marks.join(", "))
}

/// What helps where functions of some work are missing: those of modules that are not loaded are.
fn starts(host: &HostName, operation: TracedOperation, instead: String) -> String {
    if !operation.is_of_a_server() {
        return instead;
    }
    format!(
        "Start the kernel's NFS server on {host}. plimsoll does not trace servers in user space, such as NFS-Ganesha."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "release=6.1.0-56-cloud-amd64\nmachine=x86_64\nuser=0\nhas_tracefs=1\nlockdown=[none] \
        integrity confidentiality\nenabled=1\ngateway=192.0.2.1\nmounted=1\ntracers=blk function_graph \
        function nop\nfunction=__sys_sendto\nfunction=__x64_sys_sendto\nfunction=__x64_sys_fsync\n\
        function=nfsd_dispatch [nfsd]\nfunction=nfsd4_read [nfsd]\nfunction=net_rx_action\n";

    fn happened(text: &str) -> String {
        let host = "ssh://root@router".parse().unwrap();
        let look = Look::from_lines(text);
        let failure = look.expect_tracer(&host, &[TracedOperation::Sendto]).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted);
        assert!(!failure.next.is_empty());
        failure.to_string()
    }

    #[test]
    fn a_kernel_with_the_tracer_is_used() {
        let host = HostName::Local;
        let look = Look::from_lines(DEBIAN);
        look.expect_tracer(&host, &[TracedOperation::Sendto]).unwrap();
        // The function of this architecture goes before an inner one.
        assert_eq!(look.begin(TracedOperation::Sendto).as_deref(), Some("__x64_sys_sendto"));
        assert_eq!(look.gateway(), Some("192.0.2.1".parse().unwrap()));
        let facts = look.facts(&host);
        assert_eq!(facts.release.as_deref(), Some("6.1.0-56-cloud-amd64"));
        assert_eq!((facts.given.as_str(), facts.machine.as_deref()), ("local", Some("x86_64")));
    }

    #[test]
    fn what_a_kernel_lacks_is_named_with_what_answers_instead() {
        let openwrt = "release=6.6.93\nmachine=mips\nuser=0\nlockdown=\nenabled=\n";
        let text = happened(openwrt);
        assert!(text.contains("Linux 6.6.93 has no tracefs (CONFIG_FTRACE)"), "{text}");
        assert!(text.contains("plimsoll net A B --set ssh://root@router/nft-ruleset=none,FILE"));
        assert!(!text.contains("--sample"), "it has no perf: {text}");
        let text = happened(&format!("{openwrt}perf=1\n"));
        assert!(text.contains("Sample it with perf: add --sample."), "{text}");
        for (from, to, wanted) in [
            ("user=0", "user=1000", "not root"),
            ("mounted=1\n", "", "tracefs is not mounted"),
            ("function_graph ", "", "no function_graph tracer"),
            ("enabled=1", "enabled=0", "kernel.ftrace_enabled is 0"),
            ("__x64_sys_fsync", "other", "does not trace the system call fsync"),
        ] {
            let other = DEBIAN.replacen(from, to, 1);
            assert_ne!(other, DEBIAN);
            assert!(happened(&other).contains(wanted), "{wanted}");
        }
        let locked =
            DEBIAN.replace("[none]", "none").replace("confidentiality", "[confidentiality]");
        let locked = locked.replace("blk function_graph function nop", "");
        assert!(happened(&locked).contains("lockdown"));
    }

    #[test]
    fn functions_of_modules_are_known_while_those_are_loaded() {
        let look = Look::from_lines(DEBIAN);
        look.expect_tracer(&HostName::Local, &[TracedOperation::NfsRead]).unwrap();
        assert_eq!(look.begin(TracedOperation::NfsRead).as_deref(), Some("nfsd_dispatch"));
        let Entry::Work(read) = Entry::for_operation(TracedOperation::NfsRead) else { panic!() };
        assert_eq!(look.marks(read), ["nfsd4_read"]);
        for (operation, happened, next) in [
            (TracedOperation::NfsWrite, "nfsd4_write", "Start the kernel's NFS server on local."),
            (TracedOperation::Forward, "ip_forward", "plimsoll net A B"),
        ] {
            let failure = look.expect_tracer(&HostName::Local, &[operation]).unwrap_err();
            assert_eq!(failure.cause, Cause::NotPermitted);
            assert!(failure.happened.contains(happened), "{failure}");
            assert!(failure.next.contains(next), "{failure}");
        }
    }

    #[test]
    fn facts_are_bounded_and_printable() {
        let long = "x".repeat(500);
        let look = Look::from_lines(&format!("release=\x1b[2J{long}\ngateway=x\nnonsense\n=\n"));
        assert!(look.release.chars().count() <= LONGEST && !look.release.contains('\x1b'));
        assert_eq!(look.gateway(), None);
    }
}
