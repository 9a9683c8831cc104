//! Where an operation begins in a kernel, and how it is told from other work there.

use plimsoll_model::kernel_trace::TracedOperation;
use plimsoll_trace::Call;

/// The null call: the system call that is traced after each operation and fails at once. Its time shows the cost of the
/// tracer.
pub(super) const NULL_CALL: &str = "fsync";

/// Beginnings of the names that kernels give the function of a system call: by architecture, then by age.
const PREFIXES: [&str; 8] =
    ["__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__se_sys_", "SyS_", "sys_", "ksys_", "__sys_"];

/// How an operation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A system call of the probe.
    Call(SystemCall),
    /// Work that the kernel does for other hosts.
    Work(Work),
}

/// A system call that the probe makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SystemCall {
    pub name: &'static str,
    /// Number in requests to the probe.
    pub number: u8,
}

/// Work that a kernel does for other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Function that it begins with.
    pub begins: &'static str,
    /// Functions by versions of protocols, of which the operation runs one, once. Other work runs none, or several.
    pub marks: &'static [&'static str],
    /// Kernel threads that do it; `None`: it runs in soft interrupts, in the time of any task.
    pub threads: Option<&'static str>,
}

/// The receive softirq. A flow table forwards by `neigh_xmit`, past the rest of the path.
const FORWARD: Work = Work {
    begins: "net_rx_action",
    marks: &["ip_forward", "ip6_forward", "neigh_xmit"],
    threads: None,
};

/// Threads of the kernel's NFS server, and what they do for one call: decode it, do it, and encode the reply. How the
/// reply is sent depends on what else TCP has to do.
const SERVER: &str = "nfsd";
const SERVES: &str = "nfsd_dispatch";

const NFS_READ: Work = Work {
    begins: SERVES,
    marks: &["nfsd3_proc_read", "nfsd4_read", "nfsd_proc_read"],
    threads: Some(SERVER),
};

const NFS_WRITE: Work = Work {
    begins: SERVES,
    marks: &["nfsd3_proc_write", "nfsd4_write", "nfsd_proc_write"],
    threads: Some(SERVER),
};

impl Entry {
    pub(super) fn for_operation(operation: TracedOperation) -> Entry {
        let call = |number, name| Entry::Call(SystemCall { name, number });
        match operation {
            TracedOperation::Sendto => call(0, "sendto"),
            TracedOperation::Write => call(1, "pwrite64"),
            TracedOperation::Fsync => call(2, "fsync"),
            TracedOperation::Read => call(3, "pread64"),
            TracedOperation::Recv => call(4, "recvfrom"),
            TracedOperation::Forward => Entry::Work(FORWARD),
            TracedOperation::NfsRead => Entry::Work(NFS_READ),
            TracedOperation::NfsWrite => Entry::Work(NFS_WRITE),
        }
    }

    /// Names that a kernel may have for the functions of the operation.
    pub(super) fn names(self) -> Vec<String> {
        match self {
            Entry::Call(call) => of_system_call(call.name),
            Entry::Work(work) => {
                [work.begins].iter().chain(work.marks).map(|name| (*name).to_owned()).collect()
            }
        }
    }
}

/// Names that kernels have for the function of a system call, the inner ones last.
pub(super) fn of_system_call(name: &str) -> Vec<String> {
    PREFIXES.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

impl Work {
    /// Of these calls, those that do this work.
    pub(super) fn among(self, calls: Vec<Call>) -> Vec<Call> {
        calls.into_iter().filter(|call| self.is_done_by(call)).collect()
    }

    fn is_done_by(self, call: &Call) -> bool {
        call.all().filter(|below| self.marks.contains(&plain(&below.name))).count() == 1
    }
}

/// The name of a function without what compilers add to copies: "ip_forward.part.0".
pub(super) fn plain(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, children: Vec<Call>) -> Call {
        Call { name: name.to_owned(), module: None, time_ns: Some(1), children }
    }

    fn served(names: &[&str]) -> Call {
        let below = names.iter().map(|name| call(name, vec![])).collect();
        call(SERVES, vec![call("nfsd4_proc_compound", below)])
    }

    #[test]
    fn calls_of_a_server_are_told_apart() {
        let read = served(&["nfsd4_sequence", "nfsd4_putfh", "nfsd4_read", "nfsd4_read_release"]);
        let old = call(SERVES, vec![call("nfsd3_proc_read.isra.0", vec![])]);
        let write = served(&["nfsd4_putfh", "nfsd4_write", "nfsd4_getattr"]);
        let other = served(&["nfsd4_putfh", "nfsd4_getattr", "nfsd4_read_rsize"]);
        let two = served(&["nfsd4_putfh", "nfsd4_read", "nfsd4_read"]);
        let all = vec![read.clone(), write.clone(), other, old.clone(), two];
        assert_eq!(NFS_READ.among(all.clone()), [read, old]);
        assert_eq!(NFS_WRITE.among(all), [write]);
    }

    #[test]
    fn forwarded_packets_are_told_from_others() {
        let softirq = |below: &[&str]| {
            let below = below.iter().map(|name| call(name, vec![])).collect();
            call("net_rx_action", vec![call("__napi_poll", vec![call("ip_list_rcv", below)])])
        };
        let forwarded = softirq(&["ip_forward"]);
        let fast = softirq(&["nf_flow_offload_ip_hook", "neigh_xmit"]);
        let (own, two) = (softirq(&["ip_local_deliver"]), softirq(&["ip_forward", "ip6_forward"]));
        let finished = softirq(&["ip_forward_finish"]);
        let all = vec![own, forwarded.clone(), two, finished, fast.clone()];
        assert_eq!(FORWARD.among(all), [forwarded, fast]);
    }

    #[test]
    fn what_the_probe_does_has_a_number() {
        for operation in TracedOperation::ALL {
            let entry = Entry::for_operation(operation);
            let is_call = matches!(entry, Entry::Call(_));
            assert_eq!(is_call, operation.is_system_call(), "{operation:?}");
            assert!(!entry.names().is_empty());
            if let Entry::Work(work) = entry {
                assert_eq!(work.threads.is_some(), operation.is_of_a_server(), "{operation:?}");
            }
        }
        assert_eq!(Entry::for_operation(TracedOperation::Sendto).names()[0], "__x64_sys_sendto");
    }
}
