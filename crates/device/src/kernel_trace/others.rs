//! Other hosts, which make a traced kernel work: one sends packets through it, one calls its NFS server.

use super::capture::{SEND, SPARE};
use super::host::TraceHost;
use plimsoll_model::kernel_trace::{TraceJob, TracedOperation};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Arrival, Cause, Event, Failure, Flag, Job, Length, LoadObserver, Outcome, Part, Pattern,
    PatternJob, PointSpec, Prepared, SubjectRunner, Workload,
};
use plimsoll_reach::probe::Request;
use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::AtomicBool;

/// Calls to the server that are due in a second: each is alone, also while all of them are traced.
const PER_SECOND: NonZeroU32 = NonZeroU32::new(40).unwrap();
/// Calls that are due, as a multiple of those that count: a slow server does fewer.
const MORE: f64 = 1.6;
const WARM_UP_SECONDS: f64 = 0.1;
/// Blocks of each file that the calls read and write.
const BLOCKS: u64 = 32;

/// Other hosts, which make a traced kernel work.
pub struct Others {
    /// Sends the packets that the traced host forwards.
    pub sender: Option<TraceHost>,
    /// Measures storage, of which the export of the traced host is the first. It makes the calls to the NFS server.
    pub client: Option<Box<dyn SubjectRunner>>,
}

/// Work on storage in which a client makes the calls of a job, one after the other; `None` if the job has no calls to
/// an NFS server.
pub fn nfs_workload(job: &TraceJob) -> Option<Workload> {
    let pattern = match job.operation {
        TracedOperation::NfsRead => Pattern::RandomRead,
        TracedOperation::NfsWrite => Pattern::RandomWrite,
        _ => return None,
    };
    let size = Bytes(job.payload.0 * BLOCKS * u64::from(PatternJob::FILES));
    let arrival = Arrival::Paced { depth: NonZeroU16::MIN, per_second: PER_SECOND };
    let calls = Job::from(PatternJob::new(pattern, job.payload, size));
    let part = Part { arrival, ..Part::closed(calls, NonZeroU16::MIN, NonZeroU16::MIN) };
    let seconds = f64::from(job.calls) * MORE / f64::from(PER_SECOND.get());
    Some(Workload::new(part, Length::For { seconds, warm_up_seconds: WARM_UP_SECONDS }))
}

impl Others {
    /// Makes the traced kernel do the work of a job, more often than counts.
    pub(super) fn make(
        &mut self,
        job: &TraceJob,
        spec: &PointSpec,
        to: IpAddr,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match nfs_workload(job) {
            Some(workload) => self.call(workload, spec),
            None => self.send(job, to, stop),
        }
    }

    /// Sends packets to an address.
    fn send(&self, job: &TraceJob, to: IpAddr, stop: &AtomicBool) -> Result<(), Failure> {
        let Some(sender) = &self.sender else { return Err(nobody("send packets through it")) };
        let request = Request::new("call")
            .set("call", SEND)
            .set("payload_bytes", job.payload.0)
            .set("calls_count", job.calls + SPARE)
            .set("peer", to);
        sender.probe.run(&request, &mut |_| (), stop).map(drop)
    }

    /// Calls the NFS server.
    fn call(&mut self, workload: Workload, spec: &PointSpec) -> Result<(), Failure> {
        let Some(client) = &mut self.client else { return Err(nobody("call its NFS server")) };
        let spec = PointSpec { subject: 0, workload, ..spec.clone() };
        match client.point(&spec, &mut Unseen).outcome {
            Outcome::Complete => Ok(()),
            Outcome::Failed { failure, .. } => Err(failure),
            Outcome::Void { reason } => Err(reason.failure("call the NFS server")),
            Outcome::Stopped => {
                let tried = "call the NFS server";
                Err(Failure::new(Cause::Interrupted, tried)
                    .on("the client")
                    .happened("it was interrupted"))
            }
        }
    }

    /// Opens the export.
    pub(super) fn attach(&mut self) -> Result<Vec<Flag>, Failure> {
        self.client.as_mut().map_or_else(|| Ok(Vec::new()), |client| client.attach(0))
    }

    /// Creates the files that the calls of these workloads read and write. Warnings on how fast they are read concern
    /// nobody.
    pub(super) fn prepare(&mut self, workloads: &[Workload]) -> Result<Prepared, Failure> {
        let Some(client) = &mut self.client else { return Ok(Prepared::default()) };
        let of_server = |workload: &Workload| match &workload.main()?.job {
            Job::Trace(job) => nfs_workload(job),
            _ => None,
        };
        let workloads: Vec<Workload> = workloads.iter().filter_map(of_server).collect();
        let Prepared { more, .. } = client.prepare(0, &workloads, &mut Unseen)?;
        Ok(Prepared { flags: Vec::new(), more })
    }

    pub(super) fn release(&mut self) -> Result<(), Failure> {
        self.client.as_mut().map_or(Ok(()), |client| client.release())
    }

    pub(super) fn reopen(&mut self) -> Result<(), Failure> {
        self.client.as_mut().map_or(Ok(()), |client| client.reopen())
    }

    /// Removes all that was made for it.
    pub(super) fn close(&mut self) -> Vec<Flag> {
        let mut flags = self.client.as_mut().map_or_else(Vec::new, |client| client.close());
        if let Some(TraceHost { name, probe, .. }) = self.sender.take() {
            flags.extend(probe.remove().err().map(|left| Flag::program_left(&name, left)));
        }
        flags
    }
}

fn nobody(what: &str) -> Failure {
    let happened = format!("no host is there to {what}");
    Failure::new(Cause::Usage, "trace the kernel").on("the plan").happened(happened)
}

/// The load is observed as that of the traced kernel.
struct Unseen;

impl LoadObserver for Unseen {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, _: Event) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{PointResult, SubjectFacts};
    use std::cell::RefCell;
    use std::rc::Rc;

    fn job(operation: TracedOperation) -> TraceJob {
        TraceJob { operation, payload: Bytes(4096), calls: 50 }
    }

    fn workload(operation: TracedOperation) -> Workload {
        let part = Part::closed(job(operation).into(), NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::UntilDone { at_most_seconds: 1.0 })
    }

    #[test]
    fn calls_to_a_server_are_more_than_count() {
        let made = nfs_workload(&job(TracedOperation::NfsRead)).unwrap();
        assert_eq!(made.length, Length::For { seconds: 2.0, warm_up_seconds: WARM_UP_SECONDS });
        let Job::Pattern(pattern) = &made.main().unwrap().job else { panic!() };
        assert_eq!((pattern.pattern, pattern.block), (Pattern::RandomRead, Bytes(4096)));
        assert_eq!(pattern.size, Bytes(1 << 20));
        let made = nfs_workload(&job(TracedOperation::NfsWrite)).unwrap();
        assert!(matches!(&made.main().unwrap().job, Job::Pattern(job) if job.pattern.writes()));
        for operation in TracedOperation::ALL {
            let is_of_a_server = nfs_workload(&job(operation)).is_some();
            assert_eq!(is_of_a_server, operation.is_of_a_server(), "{operation:?}");
        }
    }

    /// Notes what it is asked to do, and ends as it is told.
    struct Noted(Rc<RefCell<Vec<String>>>, Outcome);

    impl SubjectRunner for Noted {
        fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
            self.0.borrow_mut().push(format!("attach {subject}"));
            Ok(Vec::new())
        }

        fn prepare(
            &mut self,
            _: usize,
            workloads: &[Workload],
            _: &mut dyn LoadObserver,
        ) -> Result<Prepared, Failure> {
            self.0.borrow_mut().push(format!("prepare {}", workloads.len()));
            let flag = Flag::OtherRun { directory: "x".into() };
            Ok(Prepared { flags: vec![flag], more: true })
        }

        fn facts(&self) -> Vec<SubjectFacts> {
            Vec::new()
        }

        fn point(&mut self, spec: &PointSpec, _: &mut dyn LoadObserver) -> PointResult {
            let own = spec.workload.main().unwrap().job.kind();
            self.0.borrow_mut().push(format!("{own} on {}", spec.subject));
            PointResult::empty(self.1.clone())
        }

        fn close(&mut self) -> Vec<Flag> {
            self.0.borrow_mut().push("close".into());
            Vec::new()
        }
    }

    fn spec(operation: TracedOperation) -> PointSpec {
        PointSpec {
            number: 0,
            subject: 3,
            workload: workload(operation),
            rotation: 0,
            window_seconds: 0.1,
            left_seconds: 60.0,
            seed: 1,
        }
    }

    fn made(outcome: Outcome) -> (Result<(), Failure>, Vec<String>) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let client: Box<dyn SubjectRunner> = Box::new(Noted(seen.clone(), outcome));
        let mut others = Others { sender: None, client: Some(client) };
        others.attach().unwrap();
        let workloads = [TracedOperation::Sendto, TracedOperation::NfsRead].map(workload);
        let prepared = others.prepare(&workloads).unwrap();
        assert_eq!((prepared.flags, prepared.more), (vec![], true));
        let spec = spec(TracedOperation::NfsRead);
        let job = job(TracedOperation::NfsRead);
        let to = IpAddr::from([127, 0, 0, 1]);
        let made = others.make(&job, &spec, to, &AtomicBool::new(false));
        assert!(others.close().is_empty());
        (made, seen.take())
    }

    #[test]
    fn the_export_is_the_first_storage_of_the_client() {
        let (done, seen) = made(Outcome::Complete);
        done.unwrap();
        assert_eq!(seen, ["attach 0", "prepare 1", "random-read on 0", "close"]);
        assert_eq!(made(Outcome::Stopped).0.unwrap_err().cause, Cause::Interrupted);
        let failure = Failure::new(Cause::Trial, "read").on("nas").happened("it ended");
        let outcome = Outcome::Failed { phase: "measure".into(), failure: failure.clone() };
        assert_eq!(made(outcome).0.unwrap_err(), failure);
    }

    #[test]
    fn without_others_nothing_is_made() {
        let mut others = Others { sender: None, client: None };
        for operation in [TracedOperation::Forward, TracedOperation::NfsWrite] {
            let spec = spec(operation);
            let to = IpAddr::from([192, 0, 2, 1]);
            let failure = others.make(&job(operation), &spec, to, &AtomicBool::new(false));
            assert_eq!(failure.unwrap_err().cause, Cause::Usage);
        }
        assert!(!others.prepare(&[]).unwrap().more);
    }
}
