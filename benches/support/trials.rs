//! Trials as `plimsoll check` runs them: the same runner and figures, in this process, without the
//! idle baseline before them and the store behind them.

use plimsoll_load::{Share, SystemClock};
use plimsoll_model::{Event, Failure, Outcome, PointResult, PointSpec, StudyId, Workload};
use plimsoll_runner::{Drive, Runner, RunnerOptions};
use std::sync::Arc;
use std::time::Duration;

/// Share of a trial that is warm-up, as in `check`.
pub const WARM_UP: f64 = 0.1;

/// One target under trial; what was made on it is removed at the end.
pub struct Trials {
    runner: Box<dyn Drive>,
    number: u32,
}

impl Trials {
    /// Takes a share on and lays out what `workloads` read.
    pub fn open(share: Arc<dyn Share>, workloads: &[Workload]) -> Result<Trials, Failure> {
        Trials::of(Box::new(Runner::new(options(), vec![share])), workloads)
    }

    /// The same with the only target of a runner.
    pub fn of(mut runner: Box<dyn Drive>, workloads: &[Workload]) -> Result<Trials, Failure> {
        runner.take_on(0)?;
        let mut trials = Trials { runner, number: 0 };
        trials.runner.prepare(0, workloads, &mut |_| {})?;
        Ok(trials)
    }

    /// One trial of `seconds`, warm-up included. The written file is laid out in the first one
    /// that writes and stays.
    pub fn run(&mut self, workload: &Workload, seconds: f64) -> Result<PointResult, Failure> {
        self.run_watched(workload, seconds, &mut |_| {})
    }

    /// The same, with somebody who is told what happens.
    pub fn run_watched(
        &mut self,
        workload: &Workload,
        seconds: f64,
        events: &mut dyn FnMut(Event),
    ) -> Result<PointResult, Failure> {
        self.number += 1;
        let spec = PointSpec {
            number: self.number,
            target: 0,
            workload: workload.clone(),
            generation: 1,
            seconds,
            warm_up_seconds: WARM_UP * seconds,
            window_seconds: 0.1,
            operation_timeout_seconds: 30.0,
            seed: self.number.into(),
        };
        let result = self.runner.trial(&spec, events);
        match result.outcome {
            Outcome::Failed { failure, .. } => Err(failure),
            Outcome::Complete | Outcome::Stopped => Ok(result),
        }
    }
}

/// What a runner is told.
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
