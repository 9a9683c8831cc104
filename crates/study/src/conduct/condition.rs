//! Sustained or burst: a server takes writes at the rate of its memory until that is full. So before the
//! first block each workload that writes runs on each subject until more was written than its memory
//! holds and the rate is steady; where there is no time for that, its figures are those of a burst. The
//! runs go round the workload's files: the working set bounds what is written on the disk, not how much
//! is written in all.

use super::calibrate::length;
use super::trial::WINDOW_SECONDS;
use super::{Conductor, interrupted};
use plimsoll_model::units::{Bytes, duration};
use plimsoll_model::{
    Failure, Job, Length, Measure, Metric, Outcome, PointResult, SubjectFacts, Window, Workload,
    WriteState,
};
use plimsoll_stats::change;
use plimsoll_stats::interval::mean;

/// Share of the cap that all of it may take. Where a workload's share would not do, it is not begun.
const SHARE: f64 = 0.25;
/// What must be written, as a multiple of the server's memory; and for how many seconds where that is
/// not known.
const MEMORIES: f64 = 2.0;
const LONG_ENOUGH: f64 = 60.0;
/// For so many seconds the rate must have had no change point. One is looked for in twice as many, so
/// that it can be seen right at their beginning.
const STEADY: f64 = 10.0;
/// How much the rate of the last load may differ from that of the one before.
const DRIFT: f64 = 0.1;
/// A run is a row of loads of this length, each with its final flush as trials have it. Their first half
/// fills what the pause before has given back: a cache, or the heat that a disk may reach.
const LOAD: f64 = 5.0;
const REFILL: f64 = LOAD / 2.0;
/// Trials are tried so often, and are made no longer than this, to agree with the steady rate.
const TRIES: u32 = 3;
const LONGEST_TRIAL: f64 = 8.0;

/// What must be written before a rate can be called sustained.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Enough {
    Bytes(f64),
    Seconds(f64),
}

/// A run so far.
#[derive(Clone, Debug, Default)]
struct Run {
    /// Bytes per second of each window that is not refilling, the flush of its load in them as trials
    /// have it.
    rates: Vec<f64>,
    /// The rate of each load as a trial has it, and how long it took with its flush, in seconds.
    loads: Vec<(f64, f64)>,
    bytes: f64,
    seconds: f64,
}

impl Run {
    fn add(&mut self, windows: impl Iterator<Item = Window>, flush_seconds: f64, rate: f64) {
        let share = LOAD / (LOAD + flush_seconds);
        let refilling = (REFILL / WINDOW_SECONDS).round() as usize;
        for (number, window) in windows.enumerate().take(2 * refilling) {
            self.bytes += window.bytes() as f64;
            if number >= refilling {
                self.rates.push(window.bytes() as f64 / WINDOW_SECONDS * share);
            }
        }
        self.loads.push((rate, LOAD + flush_seconds));
        self.seconds += LOAD + flush_seconds;
    }

    /// The rate that it has come to, once there was enough of it and the rate is steady.
    fn steady(&self, enough: Enough) -> Option<f64> {
        let written = match enough {
            Enough::Bytes(bytes) => self.bytes >= bytes,
            Enough::Seconds(seconds) => self.seconds >= seconds,
        };
        let last = |seconds: f64| {
            let windows = (seconds / WINDOW_SECONDS).round() as usize;
            self.rates.len().checked_sub(windows).map(|from| &self.rates[from..])
        };
        let steady = last(STEADY).filter(|_| written)?;
        let looked_at = last(2.0 * STEADY).unwrap_or(&self.rates);
        let changed = change::find(looked_at);
        let recent = looked_at.len() - steady.len();
        if changed.is_some_and(|change| change.at > recent) {
            return None;
        }
        // Many small changes are no change point. Windows hold whole operations alone, loads the parts too.
        let [.., (first, before), (second, after)] = self.loads[..] else { return None };
        let drift = (second / first).ln().abs();
        let rate = (first * before + second * after) / (before + after);
        (drift <= DRIFT.ln_1p()).then_some(rate)
    }
}

impl Conductor<'_> {
    /// Conditions what writes, workload by workload, and makes trials longer where that has them agree
    /// with the steady rate. Where the lengths of trials are the user's (`calibrated` is not set), or the
    /// time is too short, nothing is written.
    pub(super) fn condition(&mut self, calibrated: bool) -> Result<(), Failure> {
        let may = calibrated && !self.study.plan.design.quick;
        let mut left = if may { self.study.plan.design.cap_seconds * SHARE } else { 0.0 };
        for number in 0..self.study.plan.workloads.len() {
            let workload = &self.study.plan.workloads[number];
            if !can_be_conditioned(workload) {
                continue;
            }
            let subjects: Vec<usize> = (0..self.study.plan.subjects.len())
                .filter(|s| workload.subject() == Some(self.study.plan.subjects[*s].kind()))
                .collect();
            let needed: Vec<f64> = subjects.iter().map(|s| self.needed(*s, number)).collect();
            let all: f64 = needed.iter().sum();
            let mut later = all;
            let enough_time = all <= left;
            for (subject, needed) in subjects.into_iter().zip(needed) {
                later -= needed;
                let time = if enough_time { left - later } else { 0.0 };
                let begun = self.elapsed();
                let state = self.write_state(subject, number, time)?;
                left -= self.elapsed() - begun;
                self.writes.push((subject, state));
            }
        }
        self.note_facts();
        Ok(())
    }

    /// What must be written to a subject: so much, where the memory of its server is known.
    fn enough(&self, subject: usize) -> Enough {
        let plan = &self.study.plan;
        let watched = plan.far_ends(subject).filter_map(|server| {
            let facts = self.study.hosts.iter().find(|facts| facts.name == server.host)?;
            (facts.memory_bytes > 0).then_some(facts.memory_bytes)
        });
        let memory = plan.storage.server_memory.map(|memory| memory.0).or(watched.max());
        memory
            .map_or(Enough::Seconds(LONG_ENOUGH), |memory| Enough::Bytes(MEMORIES * memory as f64))
    }

    /// The least time in seconds that a run takes, with the trials that are tried after it.
    fn needed(&self, subject: usize, workload: usize) -> f64 {
        let rate = self.paces.get(&workload).map_or(0.0, |pace| pace.bytes_per_second);
        let writing = match self.enough(subject) {
            Enough::Seconds(seconds) => seconds,
            Enough::Bytes(bytes) if rate > 0.0 => (bytes / rate).max(STEADY),
            Enough::Bytes(_) => f64::INFINITY,
        };
        writing + LOAD + f64::from(TRIES) * self.study.plan.workloads[workload].seconds()
    }

    /// Writes to a subject for at most `time` seconds; what that came to.
    fn write_state(
        &mut self,
        subject: usize,
        workload: usize,
        time: f64,
    ) -> Result<WriteState, Failure> {
        let (begun, enough) = (self.elapsed(), self.enough(subject));
        let title = self.study.plan.workloads[workload].main().map(|main| main.job.title());
        let what =
            format!("conditioning {} for at most {}", title.unwrap_or_default(), duration(time));
        let (mut run, mut steady) = (Run::default(), None);
        while steady.is_none() && self.elapsed() - begun + LOAD <= time {
            let length = Length::For { seconds: LOAD, warm_up_seconds: REFILL };
            let Some(result) = self.load(subject, workload, length, &what)? else { break };
            let part = result.part(self.study.plan.workloads[workload].headline_part());
            let Some(part) = part else { break };
            let value = |measure| part.quantities.get(&Metric::all(measure)).copied();
            let Some(rate) = value(Measure::THROUGHPUT) else { break };
            run.add(part.series.windows(), value(Measure::FLUSH_TIME).unwrap_or(0.0), rate);
            steady = run.steady(enough);
        }
        if let Some(rate) = steady {
            self.lengthen(subject, workload, rate, begun + time)?;
        }
        Ok(WriteState {
            workload: workload as u16,
            seconds: run.seconds,
            bytes: Bytes(run.bytes as u64),
            steady_bytes_per_second: steady,
        })
    }

    /// Doubles the length of trials until their mean is within the margin of the steady rate. They stay
    /// as they are where that does not come about before `until`.
    fn lengthen(
        &mut self,
        subject: usize,
        workload: usize,
        steady: f64,
        until: f64,
    ) -> Result<(), Failure> {
        let mut seconds = self.study.plan.workloads[workload].seconds();
        while f64::from(TRIES) * seconds <= until - self.elapsed() {
            let mut logs = Vec::new();
            for _ in 0..TRIES {
                let trial = length(seconds);
                let Some(result) = self.load(subject, workload, trial, "running test trials")?
                else {
                    return Ok(());
                };
                let part = self.study.plan.workloads[workload].headline_part();
                let rate = result.value(part, Metric::all(Measure::THROUGHPUT));
                logs.extend(rate.map(f64::ln));
            }
            let off = mean(&logs).map_or(f64::INFINITY, |log| (log - steady.ln()).abs());
            if off <= self.study.plan.design.margin.ln_1p() {
                self.study.plan.workloads[workload].length = length(seconds);
                break;
            }
            seconds *= 2.0;
            if seconds > LONGEST_TRIAL {
                break;
            }
        }
        Ok(())
    }

    /// A load that is no trial; `None` where it fails or is void: its trials tell why.
    fn load(
        &mut self,
        subject: usize,
        workload: usize,
        length: Length,
        what: &str,
    ) -> Result<Option<PointResult>, Failure> {
        if !matches!(length, Length::For { .. }) {
            return Ok(None);
        }
        let tried = self.study.plan.workloads[workload].clone();
        let (result, _) = self.try_out(subject, &tried, length, what);
        match result.outcome {
            Outcome::Complete => Ok(Some(result)),
            Outcome::Stopped => Err(interrupted()),
            Outcome::Failed { .. } | Outcome::Void { .. } => Ok(None),
        }
    }

    /// Adds what is known of writes to what the subjects turned out to be.
    pub(super) fn note_writes(&self, subjects: &mut [SubjectFacts]) {
        for (number, facts) in subjects.iter_mut().enumerate() {
            if let SubjectFacts::Storage(facts) = facts {
                let own = self.writes.iter().filter(|(subject, _)| *subject == number);
                facts.writes = own.map(|(_, state)| state.clone()).collect();
            }
        }
    }
}

/// What writes for a time and is judged by its bytes.
fn can_be_conditioned(workload: &Workload) -> bool {
    let writes =
        |job: &Job| job.stability().is_some() && job.headline() == Metric::all(Measure::THROUGHPUT);
    workload.steps.is_none()
        && matches!(workload.length, Length::For { .. })
        && workload.main().is_some_and(|main| writes(&main.job))
}
