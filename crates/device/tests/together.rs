//! Jobs of a host that are measured at the same time.

mod device_support;
#[path = "../../reach/tests/probe_support/mod.rs"]
mod probe_support;

use device_support::{Canned, Runner, Script, device, host, workload};
use plimsoll_device::{DeviceRequest, Host, HostRequest, Verbs};
use plimsoll_model::clock_call::{ClockId, ClockJob};
use plimsoll_model::device::Part;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, DeviceJob, Failure, HostName, Job, Measure, Metric, Outcome, PartResult, PatternJob,
    SubjectRunner,
};
use plimsoll_reach::Reach;
use plimsoll_reach::probe::{Placed, Request};
use plimsoll_testkit::points::{self, Loads};
use probe_support::{LONG, local, programs, soon};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const ROUTER: &str = include_str!("device/router.jsonl");

fn has(part: &PartResult, measure: Measure) -> bool {
    part.quantities.get(&Metric::all(measure)).is_some_and(|value| *value > 0.0)
}

fn with_verbs<'a>(name: HostName, verbs: impl Verbs + 'a) -> Host<'a> {
    let reach: Arc<dyn Reach> = match name {
        HostName::Local => local(),
        _ => Arc::new(Script::default()),
    };
    let request = HostRequest::Device(DeviceRequest::default());
    Host { name, reach, verbs: Ok(Box::new(verbs)), request }
}

#[test]
fn memory_and_cpu_of_this_machine_have_their_own_figures() {
    let placed = Placed::place(local(), &programs(), None).unwrap();
    let directory = placed.directory().to_owned();
    let mut runner = Runner::new(vec![with_verbs(HostName::Local, placed)]);
    assert_eq!(runner.runner.attach(0), Ok(Vec::new()));
    let result = runner.together(0, &[device(Part::Memory, true), device(Part::Cpu, true)]);
    assert_eq!(result.outcome, Outcome::Complete);
    let [memory, cpu] = &result.parts[..] else { panic!("{result:?}") };
    for (measure, own, other) in
        [(DeviceJob::MEMORY_COPY, memory, cpu), (DeviceJob::INTEGER_ROUNDS, cpu, memory)]
    {
        assert!(has(own, measure) && !has(other, measure), "{measure}: {result:?}");
    }
    // Disturbed by each other, not by others.
    assert_eq!(result.flags, []);

    let clock = ClockJob { clock: ClockId::Monotonic };
    let result = runner.together(0, &[clock.into(), device(Part::Memory, true)]);
    assert_eq!(result.outcome, Outcome::Complete);
    let [clock, memory] = &result.parts[..] else { panic!("{result:?}") };
    assert!(has(clock, ClockJob::CALL) && has(memory, DeviceJob::MEMORY_COPY), "{result:?}");

    assert_eq!(runner.runner.close(), []);
    assert!(!Path::new(&directory).exists());
}

/// A probe whose verbs wait for each other: `memory` until `cpu` has begun three times, and the third `cpu` until it is
/// stopped.
#[derive(Default)]
struct Waiting {
    /// How often `cpu` has begun.
    begun: Mutex<u32>,
    changed: Condvar,
    /// The `cpu` that fails.
    fails: Option<u32>,
    /// Whether `memory` waits until it is stopped.
    is_endless: bool,
    /// Whether the third `cpu` was stopped.
    stopped: AtomicBool,
}

impl Waiting {
    fn cpu(&self, stop: &AtomicBool) -> Result<(), Failure> {
        let number = {
            let mut begun = self.begun.lock().unwrap();
            *begun += 1;
            *begun
        };
        self.changed.notify_all();
        if self.fails == Some(number) {
            return Err(Failure::new(Cause::Trial, "count rounds").on("box").happened("killed"));
        }
        let until = Instant::now() + LONG;
        while number >= 3 && !stop.load(Ordering::Relaxed) {
            assert!(Instant::now() < until, "it is not stopped");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.stopped.store(number >= 3, Ordering::Relaxed);
        Ok(())
    }

    fn memory(&self, stop: &AtomicBool) {
        let until = Instant::now() + LONG;
        let mut begun = self.begun.lock().unwrap();
        while (self.is_endless || *begun < 3) && !stop.load(Ordering::Relaxed) {
            assert!(Instant::now() < until, "the other verb runs {begun} times");
            begun = self.changed.wait_timeout(begun, Duration::from_millis(10)).unwrap().0;
        }
    }
}

impl Verbs for &Waiting {
    fn run(
        &self,
        request: &Request,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match request.verb() {
            "memory" => self.memory(stop),
            _ => self.cpu(stop)?,
        }
        (&Canned::new(ROUTER)).run(request, section, stop)
    }

    fn remove(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

fn box_name() -> HostName {
    "ssh://root@box".parse().unwrap()
}

#[test]
fn a_part_that_ends_early_is_repeated_until_all_are_measured() {
    let probe = Waiting::default();
    let mut runner = Runner::new(vec![with_verbs(box_name(), &probe)]);
    let result = runner.together(0, &[device(Part::Memory, false), device(Part::Cpu, false)]);
    assert_eq!((&result.outcome, result.parts.len()), (&Outcome::Complete, 2));
    assert!(probe.stopped.load(Ordering::Relaxed), "the third one ended by itself");
    // Repetitions are no measurements of their own.
    let records = runner.device(0).parts;
    assert!(records.iter().all(|record| record.complete), "{records:?}");
    assert_eq!(records.len(), 2);
}

/// Neither the first time nor when it is repeated.
#[test]
fn a_part_that_fails_fails_the_trial_and_is_named() {
    for number in [1, 2] {
        let probe = Waiting { fails: Some(number), ..Waiting::default() };
        let mut runner = Runner::new(vec![with_verbs(box_name(), &probe)]);
        let result = runner.together(0, &[device(Part::Memory, false), device(Part::Cpu, false)]);
        let Outcome::Failed { failure, .. } = result.outcome else { panic!("{result:?}") };
        assert_eq!(failure.tried, "measure cpu at the same time as memory");
        assert_eq!(failure.happened, "could not count rounds: killed");
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Trial, "box"));
        assert_eq!(*probe.begun.lock().unwrap(), number, "the failure ends the other part too");
    }
}

#[test]
fn a_stop_ends_all_parts() {
    let probe = Waiting { is_endless: true, ..Waiting::default() };
    let mut runner = Runner::new(vec![with_verbs(box_name(), &probe)]);
    let stop = runner.stop.clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            soon("the parts run", || *probe.begun.lock().unwrap() > 0);
            stop.store(true, Ordering::Relaxed);
        });
        let result = runner.together(0, &[device(Part::Memory, false), device(Part::Cpu, false)]);
        assert_eq!(result.outcome, Outcome::Stopped);
    });
    let records = runner.device(0).parts;
    let memory = records.iter().find(|record| record.part == Part::Memory).unwrap();
    assert!(!memory.complete && memory.failures.is_empty(), "{memory:?}");
}

#[test]
fn jobs_that_cannot_run_at_the_same_time_are_refused_before_they_start() {
    let clock = |clock| Job::from(ClockJob { clock });
    let pattern = PatternJob::named("random-read", Bytes(1 << 20)).unwrap();
    let memory = device(Part::Memory, false);
    for (jobs, tried, happened) in [
        (vec![], "measure a host", "the workload has no parts"),
        (
            vec![memory.clone(), memory.clone()],
            "measure memory and memory at the same time",
            "the part memory is named twice, and has one result",
        ),
        (
            vec![clock(ClockId::Monotonic), clock(ClockId::Realtime)],
            "measure clock-monotonic and clock-realtime at the same time",
            "each clock is called on every core, so calls of two clocks disturb each other",
        ),
        (
            vec![memory, pattern.into()],
            "measure memory and random-read at the same time",
            "the job random-read does not measure a host",
        ),
    ] {
        let probe = Canned::new(ROUTER);
        let reach = Arc::new(Script::default());
        let mut runner = Runner::new(vec![host("ssh://root@box", reach, Ok(&probe), None)]);
        let (workload, mut loads) = (workload(&jobs), Loads::default());
        let prepared = runner.runner.prepare(0, std::slice::from_ref(&workload), &mut loads);
        let failure = prepared.unwrap_err();
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "ssh://root@box"));
        assert_eq!((failure.tried.as_str(), failure.happened.as_str()), (tried, happened));
        assert!(!failure.next.is_empty());

        let result = runner.runner.point(&points::spec(workload), &mut loads);
        let Outcome::Failed { failure: again, .. } = result.outcome else { panic!("{result:?}") };
        assert_eq!((again, loads.begun), (failure, 0));
        assert_eq!(probe.calls.load(Ordering::Relaxed), 0);
    }
}
