//! Samples of a host's kernel: the functions that are active, at regular times, while one operation runs.

use crate::job::{JobFacts, Settable};
use crate::kernel_trace::{TraceJob, TracedOperation};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::Bytes;
use crate::{Measure, Metric, SubjectKind};
use serde::{Deserialize, Serialize};

/// One system call again and again, sampled by perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleJob {
    /// The operation: a system call.
    pub operation: TracedOperation,
    /// Its bytes.
    pub payload: Bytes,
    /// Operations while samples are taken.
    pub calls: u32,
}

impl SampleJob {
    /// Samples in the operation. By subsystem, those in its functions.
    pub const SAMPLES: Measure = Measure::own("kernel_samples");
}

pub(crate) const MEASURES: [Row; 1] =
    [(SampleJob::SAMPLES, "1", "", Direction::Neither, Aggregation::Geometric, Combine::None)];

impl JobFacts for SampleJob {
    fn kind(&self) -> &'static str {
        match self.operation {
            TracedOperation::Sendto => "sample-sendto",
            TracedOperation::Write => "sample-write",
            TracedOperation::Fsync => "sample-fsync",
            TracedOperation::Read => "sample-read",
            TracedOperation::Recv => "sample-recv",
            TracedOperation::Forward => "sample-forward",
            TracedOperation::NfsRead => "sample-nfs-read",
            TracedOperation::NfsWrite => "sample-nfs-write",
        }
    }

    fn title(&self) -> String {
        format!("{}, sampled", self.operation.name())
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Trace
    }

    fn headline(&self) -> Metric {
        Metric::all(self.speed())
    }

    fn speed(&self) -> Measure {
        TraceJob::UNTRACED
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    #[test]
    fn samples_are_a_kind_of_their_own() {
        let mut kinds = Vec::new();
        for operation in TracedOperation::ALL {
            let (payload, calls) = (Bytes(400), 900);
            kinds.push(SampleJob { operation, payload, calls }.kind());
            kinds.push(TraceJob { operation, payload, calls }.kind());
        }
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), 2 * TracedOperation::ALL.len());
    }

    #[test]
    fn a_job_is_one_line_of_a_plan() {
        let job = SampleJob { operation: TracedOperation::Sendto, payload: Bytes(400), calls: 900 };
        let text = serde_json::to_string(&Job::from(job)).unwrap();
        assert_eq!(text, r#"{"job":"sample","operation":"sendto","payload":400,"calls":900}"#);
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), Job::from(job));
        assert_eq!(job.title(), "sendto, sampled");
        assert!(SampleJob::SAMPLES.info().is_some());
    }
}
