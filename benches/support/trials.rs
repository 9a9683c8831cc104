//! Trials as `plimsoll check` runs them: the same runner and figures, in this process, without the
//! idle baseline before them and the store behind them.

use plimsoll_load::{Share, SystemClock};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Event, Failure, Length, LoadObserver, Outcome, Part, PartResult, Pattern, PatternJob,
    PointSpec, StudyId, SubjectRunner, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// Share of a trial that is warm-up, as in `check`.
pub const WARM_UP: f64 = 0.1;

/// A pattern of one job; [`Trials::run`] says how long.
pub fn workload(
    pattern: Pattern,
    block: Bytes,
    size: Bytes,
    workers: NonZeroU16,
    depth: NonZeroU16,
) -> Workload {
    let part = Part::closed(PatternJob::new(pattern, block, size).into(), workers, depth);
    Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: WARM_UP })
}

/// Hands what happens on to a function.
struct Watched<'a>(&'a mut dyn FnMut(Event));

impl LoadObserver for Watched<'_> {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, event: Event) {
        (self.0)(event);
    }
}

/// One target under trial; what was made on it is removed at the end.
pub struct Trials {
    runner: Box<dyn SubjectRunner>,
    number: u32,
}

impl Trials {
    /// Attaches a share and lays out what `workloads` read.
    pub fn open(share: Arc<dyn Share>, workloads: &[Workload]) -> Result<Trials, Failure> {
        Trials::of(Box::new(Runner::new(options(), vec![share])), workloads)
    }

    /// The same with the only target of a runner.
    pub fn of(
        mut runner: Box<dyn SubjectRunner>,
        workloads: &[Workload],
    ) -> Result<Trials, Failure> {
        runner.attach(0)?;
        let mut trials = Trials { runner, number: 0 };
        while trials.runner.prepare(0, workloads, &mut Watched(&mut |_| {}))?.more {}
        Ok(trials)
    }

    /// One trial of `seconds`, warm-up included.
    pub fn run(&mut self, workload: &Workload, seconds: f64) -> Result<PartResult, Failure> {
        self.run_watched(workload, seconds, &mut |_| {})
    }

    /// The same, with somebody who looks on.
    pub fn run_watched(
        &mut self,
        workload: &Workload,
        seconds: f64,
        events: &mut dyn FnMut(Event),
    ) -> Result<PartResult, Failure> {
        self.number += 1;
        let length = Length::For { seconds, warm_up_seconds: WARM_UP * seconds };
        let spec = PointSpec {
            number: self.number,
            subject: 0,
            workload: Workload { length, ..workload.clone() },
            rotation: 0,
            window_seconds: 0.1,
            left_seconds: 3600.0,
            seed: self.number.into(),
        };
        let mut result = self.runner.point(&spec, &mut Watched(events));
        match result.outcome {
            Outcome::Failed { failure, .. } => Err(failure),
            Outcome::Void { reason } => Err(reason.failure("run a trial")),
            Outcome::Complete | Outcome::Stopped => Ok(result.parts.swap_remove(0)),
        }
    }
}

/// Options of a runner.
pub fn options() -> RunnerOptions {
    RunnerOptions {
        study: StudyId(format!("{:08x}", std::process::id())),
        nonce: 0,
        longest_trial: Duration::from_secs(5),
        operation_timeout: Duration::from_secs(30),
        server_memory: None,
        live: true,
        set_up: Duration::from_secs(600),
        deadline: SystemClock::no_deadline(),
    }
}

impl Drop for Trials {
    fn drop(&mut self) {
        self.runner.close();
    }
}
