//! How long trials last: many short ones say more than few long ones, as long as they measure the same.
//! A short run of each workload on each subject fixes one length for it, the same for all subjects and
//! settings, before the first block.

use super::{Conductor, IDLE_BETWEEN_BLOCKS, interrupted};
use crate::observers::Preparing;
use plimsoll_model::{
    Event, Failure, Flag, Length, LoadObserver, Measurand, Measure, Metric, Outcome, PartResult,
    Plan, PointResult, PointSpec, Rule, Workload,
};
use std::collections::BTreeMap;

/// No trial is shorter, in seconds.
const SHORTEST: f64 = 0.5;
/// Operations of the slowest subject that a trial has time for, and how much of it at most.
const OPERATIONS: f64 = 100.0;
const MOST_FOR_OPERATIONS: f64 = 2.0;
/// A trial lasts at least so many times as long as what lies between two trials.
const CHANGE_OVERS: f64 = 2.0;
/// Share of the cap that the first blocks may take; the rest is for preparing.
const SHARE: f64 = 0.65;
/// A trial of this length may go without renewing the run's lease.
const LONGEST: f64 = 60.0;
/// Operations that a trial of a first look has time for at least: the last ones in flight end the sooner
/// the fewer share the link with them, which makes up more of a trial the fewer there are.
const FEWEST_OPERATIONS: f64 = 8.0;
/// A trial lasts at least so many times as long as it takes until everything that is in flight is done once. Then
/// operations end in the measured part, even where the connections of all workers share a slow link so evenly that
/// all end together, and half of the trial is cut off as its warm-up.
const ROUNDS: f64 = 2.5;
/// Share of a first look's time that its trials are made to fit into: change-overs differ.
const TAKEN: f64 = 0.92;
/// Blocks before the first look where there is no time for the first blocks of even one workload.
const FEWEST: u32 = 6;
/// The run that it is found by.
const RUN: f64 = 0.25;
/// Warm-up cut off, of trials too short for it to be found: the ends of a longer one tell.
const WARM_UP: f64 = 0.1;

/// What a run showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    /// Seconds for an operation, all workers together.
    per_operation: f64,
    /// Seconds of a trial in which nothing is issued: before its load, and after.
    pub(super) change_over: f64,
    /// Of the slowest subject, a final flush left out.
    pub(super) bytes_per_second: f64,
}

impl Pace {
    /// `None` where something went wrong, other than that nothing was done in the time.
    fn new(result: &PointResult, took: f64, in_flight: f64) -> Option<Pace> {
        let fails = |part: &PartResult| part.ops.values().any(|of| !of.errors.is_empty());
        if result.parts.is_empty() || result.parts.iter().any(fails) {
            return None;
        }
        let moved = result.moved();
        let main = &result.parts[0];
        // Clients that do the same work share its operations; other work has operations of its own.
        let done = if result.together.is_some() { moved } else { main.series.total() };
        let iops = main.quantities.get(&Metric::all(Measure::IOPS)).copied();
        let rate = iops.unwrap_or(0.0).max(done.operations as f64 / RUN);
        Some(Pace {
            // Where none was done in time, those in flight were done in the end.
            per_operation: if rate > 0.0 { 1.0 / rate } else { took / in_flight },
            change_over: (took - RUN).max(0.0),
            bytes_per_second: moved.bytes as f64 / RUN,
        })
    }

    fn slower(self, other: Pace) -> Pace {
        Pace {
            per_operation: self.per_operation.max(other.per_operation),
            change_over: self.change_over.max(other.change_over),
            bytes_per_second: self.bytes_per_second.min(other.bytes_per_second),
        }
    }

    /// The shortest trial, in seconds, in which operations surely end while it is measured.
    fn rounds(self, in_flight: f64) -> f64 {
        ROUNDS * in_flight * self.per_operation
    }

    /// The length of a trial in seconds, with so many operations in flight, where no more than `fitting` fit in.
    fn seconds(self, in_flight: f64, fitting: f64) -> f64 {
        let for_operations = (OPERATIONS * self.per_operation).min(MOST_FOR_OPERATIONS);
        let for_change_overs = (CHANGE_OVERS * self.change_over).min(fitting - self.change_over);
        let seconds = SHORTEST.max(for_operations).max(for_change_overs.min(LONGEST));
        readable(seconds.max(self.rounds(in_flight).min(LONGEST)))
    }
}

/// Seconds rounded up so that they can be read: 0.5, 0.73, 1.8 s.
fn readable(seconds: f64) -> f64 {
    (seconds * 100.0).ceil() / 100.0
}

/// How long a trial of a workload is planned to last, in seconds.
fn planned(workload: &Workload, _: Pace) -> f64 {
    workload.trial_seconds()
}

/// The least that it may last: what ends by itself, or has steps, lasts as long as it lasts.
fn shortest(workload: &Workload, pace: Pace) -> f64 {
    let fixed = workload.steps.is_some() || !matches!(workload.length, Length::For { .. });
    let operations = FEWEST_OPERATIONS * pace.per_operation;
    let least = SHORTEST.max(operations).max(pace.rounds(workload.in_flight()));
    if fixed { workload.trial_seconds() } else { workload.seconds().min(least) }
}

/// A trial of so many seconds.
pub(super) fn length(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: (0.1 * seconds).max(WARM_UP).min(0.2 * seconds) }
}

/// Passes the rates of a run on; where it stands is known already.
struct Rates<'a>(&'a mut dyn LoadObserver);

impl LoadObserver for Rates<'_> {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, event: Event) {
        if matches!(event, Event::Window { .. }) {
            self.0.event(event);
        }
    }
}

/// The numbers of the workloads that a first look leaves out next: the last one that is measured for itself, and
/// the ladder that shows its bottleneck, which says nothing without it. `None` where one is left: it has as many
/// blocks as there is time for.
fn next_left_out(plan: &Plan) -> Option<Vec<usize>> {
    let is_ladder = |number: &usize| plimsoll_explain::is_ladder(plan, *number as u16);
    let (ladders, own): (Vec<usize>, Vec<usize>) = (0..plan.workloads.len()).partition(is_ladder);
    let job = |number: usize| plan.workloads[number].main().map(|main| &main.job);
    let last = own.last().copied().filter(|_| own.len() > 1)?;
    let with = ladders.into_iter().filter(|ladder| job(*ladder) == job(last));
    Some(std::iter::once(last).chain(with).collect())
}

/// Leaves a workload out, with what is known and claimed of it; those after it have new numbers.
fn leave_out(plan: &mut Plan, paces: &mut BTreeMap<usize, Pace>, number: usize) {
    plan.workloads.remove(number);
    let renumbered = |of: usize| if of > number { of - 1 } else { of };
    paces.remove(&number);
    *paces = std::mem::take(paces).into_iter().map(|(of, pace)| (renumbered(of), pace)).collect();
    let of_it = |measurand: &Measurand| usize::from(measurand.cell.workload) == number;
    plan.contrasts.retain(|contrast| !of_it(&contrast.of) && !of_it(&contrast.against));
    for contrast in &mut plan.contrasts {
        for measurand in [&mut contrast.of, &mut contrast.against] {
            measurand.cell.workload = renumbered(usize::from(measurand.cell.workload)) as u16;
        }
    }
}

impl Conductor<'_> {
    /// Fixes the lengths of trials where the plan leaves them open, and leaves workloads out of a first
    /// look that has no time for them. Subjects that cannot do a workload have no say: their trials tell
    /// what is wrong.
    pub(super) fn calibrate(&mut self, calibrate: bool) -> Result<(), Failure> {
        let design = &self.study.plan.design;
        let is_ladder = |plan: &Plan, number| plimsoll_explain::is_ladder(plan, number as u16);
        let numbers = 0..self.study.plan.workloads.len();
        let any_ladder = numbers.clone().any(|number| is_ladder(&self.study.plan, number));
        if !calibrate && !design.quick && !any_ladder {
            return Ok(());
        }
        let trials = self.study.plan.cells().len() as f64 * f64::from(design.rule.first_blocks());
        let fitting =
            if design.quick { f64::INFINITY } else { design.cap_seconds * SHARE / trials };
        for number in numbers {
            let workload = &self.study.plan.workloads[number];
            let is_ladder = is_ladder(&self.study.plan, number);
            let tried = match &workload.steps {
                // Its slowest step needs the longest trial, and all of its steps have one length.
                Some(_) => workload.busiest_point().filter(|_| is_ladder),
                None => (calibrate || self.study.plan.design.quick).then(|| workload.clone()),
            };
            let timed = |tried: &Workload| matches!(tried.length, Length::For { .. });
            let Some(tried) = tried.filter(timed) else { continue };
            let (kind, title) = (tried.subject(), tried.main().map(|main| main.job.title()));
            let in_flight = tried.in_flight();
            let run = Length::For { seconds: RUN, warm_up_seconds: 0.0 };
            let mut paces = Vec::new();
            for subject in 0..self.study.plan.subjects.len() {
                if kind != Some(self.study.plan.subjects[subject].kind()) {
                    continue;
                }
                let what =
                    format!("choosing the length of trials: {}", title.as_deref().unwrap_or(""));
                let (result, took) = self.try_out(subject, &tried, run, &what);
                if result.outcome == Outcome::Stopped {
                    return Err(interrupted());
                }
                paces.extend(Pace::new(&result, took, in_flight));
            }
            let pace = paces.into_iter().reduce(Pace::slower).unwrap_or_default();
            let workload = &mut self.study.plan.workloads[number];
            if is_ladder {
                let least = pace.rounds(in_flight).min(LONGEST);
                workload.length = length(readable(workload.seconds().max(least)));
            } else if calibrate {
                workload.length = length(pace.seconds(in_flight, fitting));
            }
            self.took.changed_over(1, pace.change_over);
            self.paces.insert(number, pace);
        }
        if self.study.plan.design.quick {
            self.leave_out(calibrate);
        }
        Ok(())
    }

    /// Leaves out as many workloads, the last first, as there is no time for even with the shortest trials,
    /// and makes trials as much shorter as it takes for the first blocks of the others to fit. Where not
    /// even those of one fit, there are as many as do.
    fn leave_out(&mut self, calibrated: bool) {
        let left = TAKEN * self.until_cap();
        let plan = &mut self.study.plan;
        let idle = IDLE_BETWEEN_BLOCKS.as_secs_f64().min(plan.design.baseline_seconds);
        let pace = |paces: &BTreeMap<usize, Pace>, number| paces.get(&number).copied();
        type Paces = BTreeMap<usize, Pace>;
        let block = |plan: &Plan, paces: &Paces, of_trial: fn(&Workload, Pace) -> f64| -> f64 {
            let cells = plan.cells();
            let of_workload = |(number, workload): (usize, &Workload)| {
                let trials = cells.iter().filter(|cell| usize::from(cell.workload) == number);
                let pace = pace(paces, number).unwrap_or_default();
                let change_overs = workload.points() as f64 * pace.change_over;
                trials.count() as f64 * (of_trial(workload, pace) + change_overs)
            };
            idle + plan.workloads.iter().enumerate().map(of_workload).sum::<f64>()
        };
        let shortest = if calibrated { shortest } else { planned };
        let blocks = f64::from(plan.first_blocks());
        let mut left_out = Vec::new();
        while blocks * block(plan, &self.paces, shortest) > left
            && let Some(numbers) = next_left_out(plan)
        {
            let first = numbers.first().and_then(|number| plan.workloads.get(*number));
            left_out.splice(0..0, first.and_then(|w| Some(w.main()?.job.title())));
            for number in numbers.into_iter().rev() {
                leave_out(plan, &mut self.paces, number);
            }
        }
        let paces = &self.paces;
        let (whole, least) = (block(plan, paces, planned), block(plan, paces, shortest));
        // What is longer than it must be gives way in proportion.
        let share = ((left / blocks - least) / (whole - least)).max(0.0);
        for (number, workload) in plan.workloads.iter_mut().enumerate() {
            let least = shortest(workload, pace(paces, number).unwrap_or_default());
            let longer = workload.trial_seconds() - least;
            if longer > 0.0 && share < 1.0 {
                workload.length = length(((least + share * longer) * 100.0).floor() / 100.0);
            }
        }
        let fitting = (left / block(plan, paces, planned)) as u32;
        if let Rule::Sequential { first, .. } = &mut plan.design.rule {
            *first = fitting.clamp(FEWEST.min(*first), *first);
        }
        if !left_out.is_empty() {
            self.study.flags.push(Flag::LeftOut { workloads: left_out });
        }
    }

    /// A run of a workload on a subject that is no trial, and how long it took in all, in seconds.
    pub(super) fn try_out(
        &mut self,
        subject: usize,
        workload: &Workload,
        length: Length,
        what: &str,
    ) -> (PointResult, f64) {
        let mut tried = workload.clone();
        tried.length = length;
        self.tried_out += 1;
        let spec = self.spec(0, subject, tried, &format!("run {}", self.tried_out));
        let spec = PointSpec { rotation: self.tried_out, ..spec };
        let mut observer = Preparing(&mut *self.observer);
        observer.begin(subject);
        observer.event(Event::Step { what: what.to_owned() });
        let begun = self.clock.now();
        let result = self.runner.point(&spec, &mut Rates(&mut observer));
        (result, self.clock.now().since(begun).as_secs_f64())
    }
}
