//! One trial: a point, or those of its steps, with the loads of the hosts meanwhile.

use super::{Conductor, add_new};
use crate::observers::Watching;
use crate::progress::Progress;
use crate::remaining_time::{Later, RemainingTime};
use crate::{costs, disturbed, resume, steps};
use plimsoll_model::{
    Cell, Failure, HostLoad, HostName, Measure, Metric, Outcome, PointResult, PointSpec, Target,
    Trial, Workload,
};

/// Length of the windows of a trial's series.
pub(super) const WINDOW_SECONDS: f64 = 0.1;

/// A trial that is due, and what follows it.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub block: u32,
    pub cell: Cell,
    /// Trials of the study, this one included, unless its time is over before.
    pub left: u32,
    /// Those of its block after it.
    pub later_cells: usize,
    /// Seconds that a trial takes.
    pub each: f64,
    pub later: Later,
}

impl Conductor<'_> {
    /// Measures a cell, and keeps what was measured. A trial that says nothing is kept as void, and is measured again
    /// while there is time, a few times at most. An `Err` ends the study.
    pub(super) fn trial(&mut self, due: Due) -> Result<(), Failure> {
        for repetition in 0..=Outcome::VOID_REPETITIONS {
            let is_over = self.stopped() || self.elapsed() > self.latest_end();
            if repetition > 0 && is_over {
                break;
            }
            self.attempt(due)?;
            // Steps repeat their void points themselves.
            let has_steps = self.study.plan.workload(due.cell).is_some_and(|w| w.steps.is_some());
            let last = self.study.trials.last();
            if has_steps || !last.is_some_and(|trial| trial.result.outcome.is_void()) {
                break;
            }
        }
        Ok(())
    }

    fn attempt(&mut self, due: Due) -> Result<(), Failure> {
        let Due { block, cell, left, later_cells, each, later } = due;
        let Some(workload) = self.study.plan.workload(cell).cloned() else { return Ok(()) };
        let subject = usize::from(cell.subject);
        let number = self.study.trials.len() as u32;
        let until_cap = self.until_cap().max(0.0);
        // No more than there is time for.
        let left = left.min((until_cap / each).ceil() as u32).max(1);
        (self.observer)(Progress::Trial {
            number,
            block,
            cell,
            workload: &workload,
            planned: number + left,
            seconds_left: self
                .took
                .seconds_left(cell.workload, &workload, &later)
                .unwrap_or(until_cap),
        });
        if self.study.plan.storage.drop_caches {
            let kept = self.settings.drop_caches();
            add_new(&mut self.study.flags, kept);
            self.hosts.rest(&*self.clock);
        }
        let started_seconds = self.elapsed();
        let seed = self.study.plan.design.seed;
        let rotation = self.schedule.rotation(block);
        let spec = self.spec(number, subject, workload.clone(), &format!("trial {number}"));
        let spec = PointSpec { rotation, ..spec };
        let (mut result, loads, points) = match &workload.steps {
            None => {
                let (result, loads) = self.point(&spec, RemainingTime::new(&workload, later));
                (result, loads, Vec::new())
            }
            Some(steps) => {
                let mut order = plimsoll_stats::order::generator(seed, &format!("steps {number}"));
                let begun = self.clock.now();
                let clock = self.clock.clone();
                let conditions = steps::Conditions {
                    start: self.first_step(cell),
                    time: steps::TimeLimit {
                        most_seconds: self.left_for_search(later_cells),
                        spent: &|| clock.now().since(begun).as_secs_f64(),
                    },
                };
                let mut point = |workload: &Workload, most_seconds: f64| {
                    let spec = PointSpec {
                        workload: self.in_time(workload.clone()),
                        left_seconds: self.seconds_left().min(most_seconds),
                        ..spec.clone()
                    };
                    self.point(&spec, None)
                };
                steps::measure(&workload, steps, &conditions, &mut order, &mut point)
            }
        };
        let others = self.study.trials.iter().filter(|other| other.cell == cell);
        result.flags.extend(disturbed::flags(&result, &loads, &others.collect::<Vec<_>>()));
        let fatal = match &result.outcome {
            Outcome::Failed { failure, .. } if resume::ends_study(failure) => Some(failure.clone()),
            _ => None,
        };
        let mount = self.hosts.mount();
        let trial = Trial {
            number,
            block: Some(block),
            cell,
            started_seconds,
            result,
            points,
            loads,
            mount,
            imported: None,
        };
        let first_again = self.before.as_ref().is_some_and(|b| b.trials.len() as u32 == number);
        let mut kept = if first_again { self.store.update(&self.study) } else { Ok(()) };
        kept = kept.and_then(|()| self.store.add_trial(&self.study.id, &trial));
        (self.observer)(Progress::Ended(&trial));
        self.study.trials.push(trial);
        if self.note_facts() {
            kept = kept.and_then(|()| self.store.update(&self.study));
        }
        kept?;
        self.held.let_go(&mut self.study.trials);
        fatal.map_or(Ok(()), Err)
    }

    /// The value that a cell's first complete trial stepped to.
    fn first_step(&self, cell: Cell) -> Option<f64> {
        let mut own = self.study.trials.iter().filter(|trial| trial.cell == cell);
        own.find_map(|trial| trial.result.value(0, Metric::all(Measure::STEP)))
    }

    /// A point, with a seed of its own by its name.
    pub(super) fn spec(
        &self,
        number: u32,
        subject: usize,
        workload: Workload,
        name: &str,
    ) -> PointSpec {
        let plan = &self.study.plan;
        PointSpec {
            number,
            subject,
            workload: self.in_time(workload),
            rotation: 0,
            window_seconds: WINDOW_SECONDS,
            left_seconds: self.seconds_left(),
            seed: plimsoll_stats::order::sub_seed(plan.design.seed, name),
        }
    }

    /// The router whose highest rate is searched. Of parts of its path only CPU time is measured, which looking costs.
    fn router(&self, subject: usize) -> Option<&HostName> {
        let plan = &self.study.plan;
        plan.router(subject).filter(|_| plan.parts.is_none())
    }

    /// One point, and the loads of the hosts meanwhile.
    fn point(
        &mut self,
        spec: &PointSpec,
        left: Option<RemainingTime>,
    ) -> (PointResult, Vec<HostLoad>) {
        let directory = match self.study.plan.target(spec.subject) {
            // As tables of mounts have it; a link on another host is not followed from here.
            Some(Target::Directory(there)) if self.study.plan.is_remote() => {
                Some(there.path.clone())
            }
            Some(Target::Directory(here)) => here.path.canonicalize().ok(),
            _ => None,
        };
        let router = self.router(spec.subject).cloned();
        self.hosts.clear(directory, router.as_ref());
        let mut watching = Watching::new(&mut self.hosts, &mut *self.observer, left);
        let mut result = self.runner.point(spec, &mut watching);
        // What a path carries leaves nothing to be written.
        if self.study.plan.subjects.get(spec.subject).is_none_or(|subject| subject.path().is_none())
        {
            self.hosts.rest(&*self.clock);
        }
        let loads = self.hosts.loads();
        result.flags.extend(self.hosts.flags());
        if result.outcome == Outcome::Complete {
            costs::add(&mut result, &loads, &self.study, spec);
            costs::add_of_router(&mut result, &loads, &self.study, spec);
        }
        (result, loads)
    }
}
