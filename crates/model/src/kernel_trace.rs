//! Kernels of hosts as subjects: the functions that one operation runs in the kernel.

use crate::job::{JobFacts, Settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::subject_info::{FactsInfo, KindInfo, SubjectInfo, SubjectType};
use crate::units::Bytes;
use crate::{HostName, Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kernel of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSubject {
    /// The host.
    pub host: HostName,
}

impl SubjectType for TraceSubject {
    const INFO: KindInfo = KindInfo {
        noun: "the kernel of a host",
        plural: "Kernels",
        title: Some("Kernel functions"),
        measured_by: "plimsoll trace",
        is_continued: false,
        has_inventory: false,
        has_typical_length: false,
        has_many_figures: false,
        single_block: None,
        measures: &[&MEASURES, &crate::kernel_samples::MEASURES],
    };
}

impl SubjectInfo for TraceSubject {
    fn hosts(&self) -> Vec<&HostName> {
        vec![&self.host]
    }

    fn short_name(&self) -> String {
        self.host.name().to_owned()
    }
}

impl fmt::Display for TraceSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.host, f)
    }
}

/// Facts of a traced kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The host as the user wrote it.
    pub given: String,
    /// Release of the kernel: "6.1.0-56-cloud-amd64".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Machine as uname names it: "x86_64".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl FactsInfo for TraceFacts {
    fn described(&self) -> Vec<(&'static str, String)> {
        let release = self.release.as_ref().map(|release| format!("Linux {release}"));
        let known: Vec<String> = release.into_iter().chain(self.machine.clone()).collect();
        vec![("kernel", known.join(", "))]
    }

    fn changes(&self, now: &Self) -> Vec<String> {
        match (&self.release, &now.release) {
            (Some(old), Some(new)) if old != new => vec![format!("kernel: {old}, now {new}")],
            _ => Vec::new(),
        }
    }
}

/// A traced operation: a system call of the probe, or work that the kernel does for other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedOperation {
    /// One UDP datagram to another host.
    Sendto,
    /// A write to the beginning of a file.
    Write,
    /// fsync of a file after a write.
    Fsync,
    /// A read of the beginning of a file that was just written.
    Read,
    /// The receipt of one UDP datagram from the same process.
    Recv,
    /// One UDP packet that the host forwards.
    Forward,
    /// One READ in the kernel's NFS server.
    NfsRead,
    /// One WRITE in the kernel's NFS server.
    NfsWrite,
}

impl TracedOperation {
    /// Every operation.
    pub const ALL: [TracedOperation; 8] = [
        TracedOperation::Sendto,
        TracedOperation::Write,
        TracedOperation::Fsync,
        TracedOperation::Read,
        TracedOperation::Recv,
        TracedOperation::Forward,
        TracedOperation::NfsRead,
        TracedOperation::NfsWrite,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            TracedOperation::Sendto => "sendto",
            TracedOperation::Write => "write",
            TracedOperation::Fsync => "fsync",
            TracedOperation::Read => "read",
            TracedOperation::Recv => "recv",
            TracedOperation::Forward => "forward",
            TracedOperation::NfsRead => "NFS READ",
            TracedOperation::NfsWrite => "NFS WRITE",
        }
    }

    /// Name in sentences, after "one".
    pub fn noun(self) -> &'static str {
        match self {
            TracedOperation::Forward => "forwarded packet",
            other => other.name(),
        }
    }

    /// Whether the probe makes the operation: it is a system call. The kernel does the others for other hosts.
    pub fn is_system_call(self) -> bool {
        match self {
            TracedOperation::Sendto
            | TracedOperation::Write
            | TracedOperation::Fsync
            | TracedOperation::Read
            | TracedOperation::Recv => true,
            TracedOperation::Forward | TracedOperation::NfsRead | TracedOperation::NfsWrite => {
                false
            }
        }
    }

    /// Whether it needs a file of the probe.
    pub fn is_of_a_file(self) -> bool {
        matches!(self, TracedOperation::Write | TracedOperation::Fsync | TracedOperation::Read)
    }

    /// Whether the kernel's NFS server does it.
    pub fn is_of_a_server(self) -> bool {
        matches!(self, TracedOperation::NfsRead | TracedOperation::NfsWrite)
    }

    /// Whether it is about one UDP datagram.
    pub fn is_of_a_datagram(self) -> bool {
        !self.is_of_a_file() && !self.is_of_a_server()
    }

    /// Whether datagrams go to another host.
    pub fn has_destination(self) -> bool {
        matches!(self, TracedOperation::Sendto | TracedOperation::Forward)
    }
}

/// One operation again and again, traced by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceJob {
    /// The operation.
    pub operation: TracedOperation,
    /// Its bytes.
    pub payload: Bytes,
    /// Traced operations, the warm-up apart.
    pub calls: u32,
}

impl TraceJob {
    /// Kernel functions that one operation runs: the number that most calls have. By block, the functions of that block.
    pub const FUNCTIONS: Measure = Measure::own("kernel_functions");
    /// Share of the calls that have this number. By subsystem, share of those with that of the subsystem.
    pub const SAME: Measure = Measure::own("kernel_functions_same_ratio");
    /// Share of the functions that the table of blocks does not have.
    pub const UNCLASSIFIED: Measure = Measure::own("kernel_functions_unclassified_ratio");
    /// Median time of the operation while nothing is traced; of work for other hosts, while its first function alone is
    /// traced.
    pub const UNTRACED: Measure = Measure::own("untraced_seconds");
    /// Median time of the operation while it is traced.
    pub const TRACED: Measure = Measure::own("traced_seconds");
    /// Traced time without the cost of the tracer. By block, the time in the functions of that block.
    pub const CORRECTED: Measure = Measure::own("corrected_seconds");
}

const MEASURES: [Row; 6] = [
    (TraceJob::FUNCTIONS, "1", "operation", Direction::Less, Aggregation::Geometric, Combine::None),
    (TraceJob::SAME, "1", "", Direction::Neither, Aggregation::Geometric, Combine::None),
    (TraceJob::UNCLASSIFIED, "1", "", Direction::Neither, Aggregation::Geometric, Combine::None),
    (TraceJob::UNTRACED, "s", "", Direction::Less, Aggregation::Geometric, Combine::None),
    (TraceJob::TRACED, "s", "", Direction::Neither, Aggregation::Geometric, Combine::None),
    (TraceJob::CORRECTED, "s", "", Direction::Less, Aggregation::Geometric, Combine::None),
];

impl JobFacts for TraceJob {
    fn kind(&self) -> &'static str {
        match self.operation {
            TracedOperation::Sendto => "trace-sendto",
            TracedOperation::Write => "trace-write",
            TracedOperation::Fsync => "trace-fsync",
            TracedOperation::Read => "trace-read",
            TracedOperation::Recv => "trace-recv",
            TracedOperation::Forward => "trace-forward",
            TracedOperation::NfsRead => "trace-nfs-read",
            TracedOperation::NfsWrite => "trace-nfs-write",
        }
    }

    fn title(&self) -> String {
        self.operation.name().to_owned()
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Trace
    }

    fn headline(&self) -> Metric {
        Metric::all(self.speed())
    }

    fn speed(&self) -> Measure {
        TraceJob::FUNCTIONS
    }

    fn moves_payload(&self) -> bool {
        false
    }

    fn settings(&self) -> Vec<String> {
        vec![self.payload.to_string(), format!("{} calls", self.calls)]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("payload_bytes", self.payload.0.to_string()), ("calls", self.calls.to_string())]
    }

    fn settable(&self) -> Settable {
        Settable::default()
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.payload)
    }
}

/// The name of a block of functions as the kind of a figure; `None` if it has letters that no name of a figure has.
pub fn block_kind(block: &str) -> Option<OpKind> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    block.chars().map(plain).collect::<String>().parse().ok()
}

/// A kernel function of a traced operation, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFunction {
    /// Functions that it was called from, the operation's own included.
    pub depth: u16,
    /// Name.
    pub name: String,
    /// Block of the kernel that it belongs to, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Time in it and in what it called, the cost of the tracer included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_nanoseconds: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subject;

    #[test]
    fn a_kernel_is_one_line_of_a_study() {
        let kernel = Subject::from(TraceSubject { host: "ssh://root@router".parse().unwrap() });
        let text = serde_json::to_string(&kernel).unwrap();
        assert_eq!(text, r#"{"subject":"trace","host":"ssh://root@router"}"#);
        assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), kernel);
        assert_eq!((kernel.short_name().as_str(), kernel.hosts().len()), ("router", 1));
    }

    #[test]
    fn another_kernel_is_a_change() {
        let with =
            |release: &str| TraceFacts { release: Some(release.into()), ..TraceFacts::default() };
        assert_eq!(with("6.1").changes(&with("6.12")), ["kernel: 6.1, now 6.12"]);
        assert!(with("6.1").changes(&with("6.1")).is_empty());
        assert!(TraceFacts::default().changes(&with("6.1")).is_empty());
    }

    #[test]
    fn blocks_are_kinds_of_figures() {
        let kind = block_kind("socket API").unwrap();
        let metric = Metric::for_kind(kind, TraceJob::FUNCTIONS);
        assert_eq!(metric.to_string(), "socket_api_kernel_functions");
        assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
        assert_eq!(block_kind(""), None);
    }

    #[test]
    fn every_operation_has_a_kind_of_its_own() {
        let job = |operation| TraceJob { operation, payload: Bytes(400), calls: 50 };
        let mut kinds = TracedOperation::ALL.map(|operation| job(operation).kind()).to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), TracedOperation::ALL.len());
        assert_eq!(job(TracedOperation::Sendto).settings(), ["400 B", "50 calls"]);
    }

    /// Each operation is about one of: a datagram, a file, an NFS server.
    #[test]
    fn every_operation_is_about_one_thing() {
        for operation in TracedOperation::ALL {
            let about = [
                operation.is_of_a_datagram(),
                operation.is_of_a_file(),
                operation.is_of_a_server(),
            ];
            assert_eq!(about.iter().filter(|is| **is).count(), 1, "{operation:?}");
            let is_other = operation == TracedOperation::Forward || operation.is_of_a_server();
            assert_eq!(operation.is_system_call(), !is_other, "{operation:?}");
            assert!(operation.is_of_a_datagram() || !operation.has_destination(), "{operation:?}");
            let text = serde_json::to_string(&operation).unwrap();
            assert_eq!(serde_json::from_str::<TracedOperation>(&text).unwrap(), operation);
        }
    }
}
