//! The loop: prepare, idle window, block after block, stop rule, clean up.

mod adapt;
mod calibrate;
mod condition;
mod finish;
mod prepare;
mod rate;
mod time;
mod trial;
mod vary;

use crate::check;
use crate::hosts::Hosts;
use crate::kept_trials::KeptTrials;
use crate::progress::Progress;
use crate::remaining_time::{Ahead, Took};
use crate::resume::{self, can_be_continued, stopped_at};
use crate::schedule::Schedule;
use crate::settings::Settings;
use plimsoll_explain::Forecast;
use plimsoll_model::{
    Cause, Clock, Ended, Failure, Flag, Length, Nanos, Origin, Plan, Rule, SCHEMA, Study, StudyId,
    SubjectRunner, Workload, WriteState, label,
};
use plimsoll_record::StudyStore;
use plimsoll_watch::Watch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trial::Due;

/// The idle window before every block but the first, where the first one is no shorter: CPU times have steps of
/// 10 ms, and of a much shorter window they show chance.
pub(crate) const IDLE_BETWEEN_BLOCKS: Duration = Duration::from_secs(1);

/// Everything a study is conducted with.
pub struct Conduct<'a> {
    /// Its identity.
    pub id: StudyId,
    /// When it begins, in seconds since 1970.
    pub started_unix_seconds: u64,
    /// Version of the program.
    pub version: String,
    /// What is to be done.
    pub plan: Plan,
    /// Measures the points of trials; it has the subjects, opened, in the plan's order.
    pub runner: Box<dyn SubjectRunner + 'a>,
    /// Sets the plan's factors.
    pub settings: Box<dyn Settings + 'a>,
    /// Hosts to watch: the one that the trials are driven on, then those that the plan names.
    pub hosts: Vec<Box<dyn Watch>>,
    /// What is odd already.
    pub flags: Vec<Flag>,
    /// When its time began to count: before its targets were opened.
    pub begun: Nanos,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set from outside to stop early.
    pub stop: Arc<AtomicBool>,
    /// Where trials go.
    pub store: &'a dyn StudyStore,
    /// Who looks on.
    pub observer: &'a mut dyn FnMut(Progress<'_>),
}

/// Workload that follows the blocks of a plan, and in how many blocks. One that the plan has already is measured again.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowUp {
    /// What is measured.
    pub workload: Workload,
    /// In how many blocks.
    pub blocks: u32,
}

/// What follows from what was measured, asked whenever a study has all its blocks; nothing ends it.
pub type Follow<'a> = &'a dyn Fn(&Study) -> Vec<FollowUp>;

/// Conducts a study to its end. An `Err` means that nothing was measured; what failed later is in
/// the study's [`Ended`]. Either way subjects and settings are left as they were found, or a flag says
/// what could not be removed or put back.
pub fn conduct(order: Conduct<'_>) -> Result<Study, Failure> {
    conduct_with(order, &|_| Vec::new())
}

/// The same, in stages: what follows each of them depends on what was measured until then.
pub fn conduct_with<'a>(order: Conduct<'a>, follow: Follow<'a>) -> Result<Study, Failure> {
    check::plan(&order.plan)?;
    let Conduct { id, started_unix_seconds, version, plan, .. } = &order;
    let study = Study {
        schema: SCHEMA.to_owned(),
        id: id.clone(),
        started_unix_seconds: *started_unix_seconds,
        origin: Origin::Measured { version: version.clone() },
        plan: plan.clone(),
        subjects: Vec::new(),
        hosts: Vec::new(),
        flags: order.flags.clone(),
        measures: Vec::new(),
        trials: Vec::new(),
        ended: Ended::Open,
    };
    carry_out(order, study, None, follow)
}

/// Goes on with a study where it stopped: its plan, seed and rule, blocks numbered on, for as long again
/// as the cap of the order's plan. What else the order says of the plan is not looked at. Seconds are
/// counted on from where it stopped; the time between and that for preparing again is not measured time.
/// What follows is asked for with all that was measured, before and now.
///
/// # Errors
/// As [`crate::conduct`]; and where the study cannot be continued ([`can_be_continued`]),
/// is still running, or a target is not what it was. Then the study is as it was.
pub fn resume<'a>(study: Study, order: Conduct<'a>, follow: Follow<'a>) -> Result<Study, Failure> {
    can_be_continued(&study)?;
    check::plan(&study.plan)?;
    let mut again = Study { ended: Ended::Open, ..study.clone() };
    again.flags.extend(order.flags.iter().cloned());
    again.plan.design.cap_seconds = stopped_at(&study) + order.plan.design.cap_seconds;
    // What was measured had these sizes.
    (again.plan.storage.adapt_size, again.plan.storage.fit_size) = (false, false);
    carry_out(order, again, Some(study), follow)
}

/// Carries out what is ordered: a study that begins, or goes on from what it was `before`.
fn carry_out<'a>(
    order: Conduct<'a>,
    study: Study,
    before: Option<Study>,
    follow: Follow<'a>,
) -> Result<Study, Failure> {
    let mut conductor = Conductor {
        begun: order.begun,
        earlier: before.as_ref().map_or(0.0, stopped_at),
        first_block: before.as_ref().map_or(0, resume::blocks),
        before,
        is_kept: false,
        schedule: Schedule::new(&study.plan),
        hosts: Hosts::new(order.hosts),
        study,
        unix_seconds: order.started_unix_seconds,
        runner: order.runner,
        settings: order.settings,
        setting: None,
        clock: order.clock,
        stop: order.stop,
        store: order.store,
        observer: order.observer,
        follow,
        paces: BTreeMap::new(),
        tried_out: 0,
        took: Took::default(),
        writes: Vec::new(),
        held: KeptTrials::default(),
    };
    let outcome = conductor.prepare().and_then(|()| conductor.blocks());
    conductor.finish(outcome)
}

struct Conductor<'a> {
    begun: Nanos,
    /// Seconds of the study before that.
    earlier: f64,
    /// The first block of this run.
    first_block: u32,
    /// The study as it was, where one is continued.
    before: Option<Study>,
    /// Whether this run has begun it in the store.
    is_kept: bool,
    /// When this run begins, in seconds since 1970.
    unix_seconds: u64,
    schedule: Schedule,
    hosts: Hosts,
    study: Study,
    runner: Box<dyn SubjectRunner + 'a>,
    settings: Box<dyn Settings + 'a>,
    /// The setting that is in effect, once one was set, and the block that it was set in.
    setting: Option<(u32, u16)>,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    store: &'a dyn StudyStore,
    observer: &'a mut dyn FnMut(Progress<'_>),
    /// What follows when all blocks are measured.
    follow: Follow<'a>,
    /// What short runs showed of each workload, where they were made.
    paces: BTreeMap<usize, calibrate::Pace>,
    /// Runs so far that are no trials.
    tried_out: u32,
    took: Took,
    /// What is known of writes before the first block, by subject.
    writes: Vec<(usize, WriteState)>,
    /// What is held of trials that are kept.
    held: KeptTrials,
}

impl Conductor<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes up what follows from what was measured; whether anything does.
    fn follow_up(&mut self) -> Result<bool, Failure> {
        let follow_ups = (self.follow)(&self.study);
        if follow_ups.is_empty() {
            return Ok(false);
        }
        let known = self.study.plan.workloads.len();
        let mut more: Vec<(usize, u32)> = Vec::new();
        for FollowUp { workload, blocks } in follow_ups {
            let workloads = &mut self.study.plan.workloads;
            let number = workloads.iter().position(|one| *one == workload).unwrap_or_else(|| {
                workloads.push(workload);
                workloads.len() - 1
            });
            more.push((number, blocks));
        }
        check::plan(&self.study.plan)?;
        if self.study.plan.workloads.len() > known {
            let workloads = &self.study.plan.workloads[known..];
            (self.observer)(Progress::FollowUp { before: known, workloads });
            self.prepare_workloads(known)?;
        }
        self.schedule.extend(&self.study.plan, &more);
        // A study that is continued stays as it was until its first trial.
        let trials = self.study.trials.len();
        if self.before.as_ref().is_none_or(|before| trials > before.trials.len()) {
            self.store.update(&self.study)?;
        }
        Ok(true)
    }

    /// Runs blocks until the rule, the cap, the user or a failure ends the study.
    fn blocks(&mut self) -> Result<(), Failure> {
        // Work that ends when it is done takes no time that is known before.
        let timed = |workload: &Workload| matches!(workload.length, Length::For { .. });
        let mut seconds_per_trial = match self.study.plan.workloads.iter().all(timed) {
            true => self.study.plan.longest_trial_seconds(),
            false => 0.0,
        };
        loop {
            let begun = self.elapsed();
            let forecast = Forecast::new(&self.study);
            let next = self.schedule.next_size() as f64 * seconds_per_trial;
            // The first block always runs: a study without a figure helps nobody.
            if next > 0.0
                && self.schedule.blocks() > self.first_block
                && begun + next > self.study.plan.design.cap_seconds
            {
                return self.cap_reached();
            }
            let Some((block, cells)) = self.schedule.next_block() else {
                if self.follow_up()? {
                    // What follows may take longer than what was measured until now.
                    let cells = self.schedule.next_cells();
                    let workloads = cells.filter_map(|cell| self.study.plan.workload(*cell));
                    let seconds: Vec<f64> = workloads
                        .filter(|workload| timed(workload))
                        .map(Workload::trial_seconds)
                        .collect();
                    let mean = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
                    seconds_per_trial = seconds_per_trial.max(mean);
                    continue;
                }
                self.study.ended = Ended::Done;
                return Ok(());
            };
            self.hosts.again();
            self.study.hosts = self.hosts.facts();
            if block > self.first_block {
                match self.runner.reopen() {
                    // The trial that follows fails by it, and keeps the reason.
                    Err(failure) if failure.cause == Cause::Unreachable => {}
                    reopened => reopened?,
                }
                self.idle_between();
            }
            self.took.before_block(self.elapsed() - begun);
            let count = cells.len() as f64;
            for (done, cell) in cells.iter().enumerate() {
                if done > 0 && self.elapsed() > self.latest_end() {
                    return self.cap_reached();
                }
                let now = self.elapsed();
                let ahead = Ahead {
                    workloads: &self.study.plan.workloads,
                    forecast: &forecast,
                    rest: &cells[done + 1..],
                    block: &cells,
                    now,
                    cap: self.study.plan.design.cap_seconds,
                };
                let later = self.took.later(cell.workload, &ahead);
                let later_cells = cells.len() - done - 1;
                let left = later_cells as u32 + 1 + self.schedule.trials_left();
                let each = seconds_per_trial;
                self.set(block, *cell)?;
                self.trial(Due { block, cell: *cell, left, later_cells, each, later })?;
                if let Some(workload) = self.study.plan.workload(*cell) {
                    let seconds = self.elapsed() - now;
                    self.took.add(cell.workload, workload, seconds);
                }
                if self.stopped() {
                    return Err(interrupted());
                }
            }
            seconds_per_trial = (self.elapsed() - begun) / count;
            self.look();
        }
    }

    /// Asks the stop rule, where it looks after the blocks that there are.
    fn look(&mut self) {
        let blocks = self.schedule.blocks();
        let Rule::Sequential { first, .. } = self.study.plan.design.rule else { return };
        if blocks >= first {
            self.schedule.want(plimsoll_explain::blocks_needed(&self.study));
            // No more than there is time for.
            let more = Forecast::new(&self.study).blocks_within(self.until_cap());
            let blocks = blocks.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            (self.observer)(Progress::BlocksWanted { blocks });
        }
    }

    fn cap_reached(&mut self) -> Result<(), Failure> {
        // A block may have been broken off since the last look.
        self.look();
        self.study.ended = Ended::CapReached;
        self.study.flags.push(Flag::CapReached {
            blocks: self.schedule.blocks(),
            wanted: self.schedule.blocks_wanted(),
        });
        Ok(())
    }

    /// A short look at the idle hosts: what a block or a setting is measured against.
    fn idle_between(&mut self) {
        let seconds = self.study.plan.design.baseline_seconds;
        if seconds > 0.0 {
            let window = IDLE_BETWEEN_BLOCKS.min(Duration::from_secs_f64(seconds));
            self.idle(window, true);
        }
    }

    /// Watches the idle hosts for a while, and notes what disturbs; `later` than the window before the load began.
    fn idle(&mut self, window: Duration, later: bool) {
        let begun = self.elapsed();
        for flag in self.hosts.idle(window, &*self.clock, &self.stop) {
            let flag = if later { flag.in_later_window(begun) } else { flag };
            if !self.study.flags.iter_mut().any(|known| known.seen_again(flag.clone())) {
                self.study.flags.push(flag);
            }
        }
    }

    /// Takes over what the runner found out by now of the subjects, and of measures of its own; whether
    /// that is news.
    fn note_facts(&mut self) -> bool {
        let (mut subjects, measures) = (self.runner.facts(), self.runner.measures());
        let labels = label::labels(&self.study.plan);
        subjects.iter_mut().zip(labels).for_each(|(subject, label)| subject.set_label(label));
        self.note_writes(&mut subjects);
        let known = &mut self.study;
        let new = (&known.subjects, &known.measures) != (&subjects, &measures);
        (known.subjects, known.measures) = (subjects, measures);
        new
    }
}

fn interrupted() -> Failure {
    Failure::new(Cause::Interrupted, "finish the study")
        .on("the plan")
        .happened("it was interrupted")
}

fn add_new(flags: &mut Vec<Flag>, new: Vec<Flag>) {
    for flag in new {
        let kind = std::mem::discriminant;
        let same = |f: &Flag| kind(f) == kind(&flag) && f.host() == flag.host();
        if !flags.iter().any(same) {
            flags.push(flag);
        }
    }
}
