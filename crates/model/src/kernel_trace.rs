//! Kernels of hosts as subjects: the functions that one operation runs in the kernel.

use crate::job::JobFacts;
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::subject::{FactsInfo, KindInfo, SubjectInfo, SubjectType};
use crate::units::Bytes;
use crate::{HostName, Measure, Metric, OpKind, SubjectFacts, SubjectKind};
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
        measures: &[&MEASURES],
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

    fn changes(&self, now: &SubjectFacts) -> Vec<String> {
        let SubjectFacts::Trace(now) = now else { return Vec::new() };
        match (&self.release, &now.release) {
            (Some(old), Some(new)) if old != new => vec![format!("kernel: {old}, now {new}")],
            _ => Vec::new(),
        }
    }
}

/// A traced operation: one system call.
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
}

impl TracedOperation {
    /// Every operation.
    pub const ALL: [TracedOperation; 4] = [
        TracedOperation::Sendto,
        TracedOperation::Write,
        TracedOperation::Fsync,
        TracedOperation::Read,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            TracedOperation::Sendto => "sendto",
            TracedOperation::Write => "write",
            TracedOperation::Fsync => "fsync",
            TracedOperation::Read => "read",
        }
    }

    /// Number in requests to the probe.
    pub fn number(self) -> u8 {
        match self {
            TracedOperation::Sendto => 0,
            TracedOperation::Write => 1,
            TracedOperation::Fsync => 2,
            TracedOperation::Read => 3,
        }
    }

    /// System call that does it.
    pub fn system_call(self) -> &'static str {
        match self {
            TracedOperation::Sendto => "sendto",
            TracedOperation::Write => "pwrite64",
            TracedOperation::Fsync => "fsync",
            TracedOperation::Read => "pread64",
        }
    }

    /// Whether it needs a file.
    pub fn is_of_a_file(self) -> bool {
        self != TracedOperation::Sendto
    }
}

/// One operation again and again, traced by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceJob {
    /// The operation.
    pub operation: TracedOperation,
    /// Its bytes.
    pub payload: Bytes,
    /// Traced calls, the warm-up apart.
    pub calls: u32,
}

impl TraceJob {
    /// Kernel functions that one operation runs: the number that most calls have. By block, the functions of that block.
    pub const FUNCTIONS: Measure = Measure::own("kernel_functions");
    /// Share of the calls that have this number.
    pub const SAME: Measure = Measure::own("kernel_functions_same_ratio");
    /// Share of the functions that the table of blocks does not have.
    pub const UNCLASSIFIED: Measure = Measure::own("kernel_functions_unclassified_ratio");
    /// Median time of the operation while nothing is traced.
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

    fn has_workers(&self) -> bool {
        false
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
        let now = |release| SubjectFacts::Trace(with(release));
        assert_eq!(with("6.1").changes(&now("6.12")), ["kernel: 6.1, now 6.12"]);
        assert!(with("6.1").changes(&now("6.1")).is_empty());
        assert!(TraceFacts::default().changes(&now("6.1")).is_empty());
    }

    #[test]
    fn blocks_are_kinds_of_figures() {
        let kind = block_kind("socket API").unwrap();
        let metric = Metric::of(kind, TraceJob::FUNCTIONS);
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
}
