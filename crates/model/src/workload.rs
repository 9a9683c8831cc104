//! Work of a trial: one or several concurrent jobs, their duration, and their steps.

use crate::job::{CannotSet, FileWork, Job, Parameter, RateUnit, whole};
use crate::metric::{Measure, Metric};
use crate::units::{self, Bytes};
use crate::{Bound, Cause, Failure, SubjectKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

/// Work of one trial on its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Concurrent parts; at least one. The first part determines the length. Each part has its own
    /// result.
    pub parts: Vec<Part>,
    /// Whether the trial goes through values of a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// How long.
    pub length: Length,
}

/// One job, and who does it how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Job.
    #[serde(flatten)]
    pub job: Job,
    /// Index of the client in the plan.
    #[serde(default, skip_serializing_if = "is_first")]
    pub client: u16,
    /// Workers: each has a lane (an own connection) and runs on its own thread.
    pub workers: NonZeroU16,
    /// When operations are issued.
    #[serde(flatten)]
    pub arrival: Arrival,
    /// Techniques of the client; the first one is nearest to the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub techniques: Vec<Technique>,
}

/// Technique of a client between a program and the wire.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "technique")]
pub enum Technique {
    /// During a sequential read, the next blocks are requested in advance.
    ReadAhead {
        /// Number of blocks requested in advance.
        window: NonZeroU16,
    },
    /// Attributes of a name or an open file are cached for some time.
    AttributeCache {
        /// How long, in seconds.
        lifetime_seconds: f64,
    },
    /// Writes that need not be stable yet are accepted at once, combined with adjacent writes, and
    /// written in the background.
    WriteBack {
        /// Most bytes of a write; of larger ones than the target takes, what it takes.
        gather: Bytes,
    },
}

fn is_first(client: &u16) -> bool {
    *client == 0
}

/// When operations are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "arrival")]
pub enum Arrival {
    /// A closed loop: each worker keeps so many in flight.
    Closed {
        /// Operations in flight per worker.
        depth: NonZeroU16,
    },
    /// Each worker issues so many together, and the next when all of them have ended.
    Rounds {
        /// Operations of a round.
        depth: NonZeroU16,
    },
    /// Operations are due at equal intervals, round-robin over the workers of a part, regardless of
    /// operations in flight. The latency of an operation counts from its due time, so waiting
    /// behind others is included.
    Paced {
        /// Most operations in flight per worker; one that finds as many is issued as soon as there are fewer.
        depth: NonZeroU16,
        /// Operations that are due in a second, of all workers of the part together.
        per_second: NonZeroU32,
    },
}

impl Arrival {
    /// Most operations in flight per worker.
    pub fn depth(self) -> NonZeroU16 {
        match self {
            Arrival::Closed { depth } | Arrival::Rounds { depth } => depth,
            Arrival::Paced { depth, .. } => depth,
        }
    }

    /// The same with another number in flight.
    #[must_use]
    pub fn with_depth(self, depth: NonZeroU16) -> Arrival {
        match self {
            Arrival::Closed { .. } => Arrival::Closed { depth },
            Arrival::Rounds { .. } => Arrival::Rounds { depth },
            Arrival::Paced { per_second, .. } => Arrival::Paced { depth, per_second },
        }
    }

    /// Operations that are due in a second; `None` where as many are done as can be.
    pub fn per_second(self) -> Option<NonZeroU32> {
        match self {
            Arrival::Closed { .. } | Arrival::Rounds { .. } => None,
            Arrival::Paced { per_second, .. } => Some(per_second),
        }
    }
}

/// How long a trial lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "length")]
pub enum Length {
    /// So long.
    For {
        /// Warm-up and measured part together, in seconds.
        seconds: f64,
        /// Warm-up cut off where MSER-5 has too few batches, in seconds.
        warm_up_seconds: f64,
    },
    /// Until the work is done.
    UntilDone {
        /// Timeout in seconds, which fails the trial.
        at_most_seconds: f64,
    },
}

/// A way through values of one parameter within one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "steps")]
pub enum Steps {
    /// Every value once, in an order drawn for each trial.
    Sweep {
        /// Of what.
        over: Parameter,
        /// The values.
        values: Vec<f64>,
    },
    /// The largest value that is accepted: one number for each trial.
    Search {
        /// Of what.
        over: Parameter,
        /// Smallest value tried.
        from: f64,
        /// Largest value tried.
        to: f64,
        /// The search ends when the smallest rejected value is above the largest accepted one by at most this share.
        resolution: f64,
        /// Conditions of an accepted point: all of them.
        #[serde(deserialize_with = "Bound::list")]
        accept: Vec<Bound>,
    },
    /// The highest rate that a path keeps within each of several losses: one number for each trial, of the first loss.
    Kept {
        /// Of what: a rate.
        over: Parameter,
        /// Smallest value tried.
        from: f64,
        /// Largest value tried.
        to: f64,
        /// Width of the result, as a share.
        width: f64,
        /// Losses that are allowed, as shares; the first one leads.
        losses: Vec<f64>,
        /// Length of the confirming trial at the rate found, in seconds; `None`: the usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_seconds: Option<f64>,
        /// Condition of a rate that is kept, beside its loss.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accept: Option<Bound>,
        /// Whether few and short trials are to decide, so that a search takes less than half a minute.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_quick: bool,
    },
}

impl Steps {
    /// Varied parameter.
    pub fn over(&self) -> Parameter {
        match self {
            Steps::Sweep { over, .. } | Steps::Search { over, .. } | Steps::Kept { over, .. } => {
                *over
            }
        }
    }
}

impl Workload {
    /// One job alone, by one client.
    pub fn new(part: Part, length: Length) -> Workload {
        Workload { parts: vec![part], steps: None, length }
    }

    /// The part that sets the length and that reports speak of; a workload without parts has none.
    pub fn main(&self) -> Option<&Part> {
        self.parts.first()
    }

    /// Kind of subject.
    pub fn subject(&self) -> Option<SubjectKind> {
        self.main().map(|part| part.job.subject())
    }

    /// Whether another one is the same work: the same jobs with the same settings in the same steps. The length of
    /// trials is none of it.
    pub fn is_same_work(&self, other: &Workload) -> bool {
        self.parts == other.parts && self.steps == other.steps
    }

    /// Index of the result of all parts together, after the results of the parts: if several
    /// clients run the same job.
    pub fn together(&self) -> Option<u16> {
        let (first, others) = self.parts.split_first()?;
        let same = |part: &Part| {
            part.client != first.client && Part { client: first.client, ..part.clone() } == *first
        };
        (!others.is_empty() && others.iter().all(same)).then_some(self.parts.len() as u16)
    }

    /// Index of the result that verdicts are about.
    pub fn headline_part(&self) -> u16 {
        self.together().unwrap_or(0)
    }

    /// Work on whole files, of each client; `None` if other work is done at the same time.
    pub fn file_work(&self) -> Option<FileWork> {
        let is_only = self.parts.len() == 1 || self.together().is_some();
        self.main().filter(|_| is_only)?.job.file_work()
    }

    /// Whether a part begins operations at a fixed rate, so that this rate and not the storage is what was measured.
    pub fn has_fixed_rate(&self) -> bool {
        let fixed = |part: &Part| part.arrival.per_second().is_some() || part.job.has_fixed_rate();
        self.parts.iter().any(fixed)
    }

    /// Whether its trials step through rates, so that no point of them is a closed loop.
    pub fn steps_through_rates(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.over() == Parameter::Rate)
    }

    /// Unit of its rates; `None` if its job has none that can be chosen.
    pub fn rate_unit(&self) -> Option<RateUnit> {
        self.main().and_then(|part| part.job.settable().rate)
    }

    /// The workload at the step with the most operations in flight; `None` where its steps do not change how many
    /// there are.
    pub fn busiest_point(&self) -> Option<Workload> {
        let Some(Steps::Sweep { over, values }) = &self.steps else { return None };
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        let changes = matches!(over, Parameter::Depth | Parameter::Workers);
        changes.then(|| self.at(*over, most))?.ok()
    }

    /// The most operations that the main part has in flight, over all its workers.
    pub fn in_flight(&self) -> f64 {
        let in_flight = |main: &Part| f64::from(main.workers.get()) * f64::from(main.depth().get());
        self.main().map_or(1.0, in_flight)
    }

    /// The workload at one value of its varied parameter: in the first part, or in all parts if all
    /// clients run the same job.
    ///
    /// # Errors
    /// As of [`Part::set`].
    pub fn at(&self, over: Parameter, value: f64) -> Result<Workload, Failure> {
        let mut at = Workload { steps: None, ..self.clone() };
        let stepped = self.together().map_or(1, usize::from);
        at.parts.iter_mut().take(stepped).try_for_each(|part| part.set(over, value))?;
        Ok(at)
    }

    /// Makes sure that its steps can be measured: every value of a sweep, and both ends of a search with its bounds.
    ///
    /// # Errors
    /// As of [`Part::set`], for the first of them that cannot; [`Cause::Usage`] for a bound on a missing part.
    pub fn expect_steps(&self) -> Result<(), Failure> {
        let possible = |over: &Parameter, values: &[f64]| {
            values.iter().try_for_each(|value| self.at(*over, *value).map(drop))
        };
        match &self.steps {
            None => Ok(()),
            Some(Steps::Sweep { over, values }) => possible(over, values),
            Some(Steps::Search { over, from, to, accept, .. }) => {
                possible(over, &[*from, *to])?;
                accept.iter().try_for_each(|bound| self.expect_part(bound))
            }
            // It begins with as much as the sender can send.
            Some(Steps::Kept { over, from, to, .. }) => {
                possible(over, &[*from, *to, f64::INFINITY])
            }
        }
    }

    fn expect_part(&self, bound: &Bound) -> Result<(), Failure> {
        let last = self.together().unwrap_or(self.parts.len().saturating_sub(1) as u16);
        if bound.part <= last {
            return Ok(());
        }
        let happened = format!("the workload has no part {}", bound.part);
        Err(Failure::new(Cause::Usage, "search the largest accepted value")
            .on(format!("the bound on {}", bound.metric))
            .happened(happened)
            .next("Bound a figure of a job that runs in the workload."))
    }
}

impl Part {
    /// A job done in a closed loop by the first client.
    pub fn closed(job: Job, workers: NonZeroU16, depth: NonZeroU16) -> Part {
        let (client, arrival, techniques) = (0, Arrival::Closed { depth }, Vec::new());
        Part { job, client, workers, arrival, techniques }
    }

    /// Operations in flight per worker.
    pub fn depth(&self) -> NonZeroU16 {
        self.arrival.depth()
    }

    /// Sets a parameter, of its own or of its job. A rate of operations makes an open loop of it.
    ///
    /// # Errors
    /// [`Cause::Usage`]: it has no such parameter, or the parameter cannot have that value. The
    /// failure names the job, the parameter, and what can be set.
    pub fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), Failure> {
        let has = self.job.settable();
        let done = match parameter {
            _ if !has.has(parameter) => Err(CannotSet::Parameter),
            Parameter::Workers => whole(value).map(|workers: NonZeroU16| self.workers = workers),
            Parameter::Depth => whole(value).map(|depth: NonZeroU16| {
                self.arrival = self.arrival.with_depth(depth);
            }),
            Parameter::Rate if has.rate == Some(RateUnit::Operations) => {
                whole(value).map(|per_second: NonZeroU32| {
                    self.arrival = Arrival::Paced { depth: self.arrival.depth(), per_second };
                })
            }
            Parameter::Rate | Parameter::Block => self.job.set(parameter, value),
        };
        done.map_err(|why| cannot_set(why, &self.job, parameter, value))
    }

    /// Metric of the verdicts. At a fixed rate, where throughput is equal everywhere, it is the
    /// latency.
    pub fn headline(&self) -> Metric {
        match self.arrival.per_second() {
            Some(_) => Metric::all(Measure::LATENCY_MEAN),
            None => self.job.headline(),
        }
    }

    /// Its settings in words: "block size 4 KiB, 1 GiB, 4 workers, 1 in flight each".
    pub fn settings(&self) -> String {
        let mut settings = self.job.settings();
        if self.job.settable().workers {
            let workers = self.workers;
            settings.push(format!("{workers} worker{}", if workers.get() == 1 { "" } else { "s" }));
            settings.push(match self.arrival {
                Arrival::Closed { depth } => format!("{depth} in flight each"),
                Arrival::Rounds { depth } => format!("batches of {depth} each"),
                Arrival::Paced { depth, per_second } => {
                    format!("{per_second} operations a second, at most {depth} in flight each")
                }
            });
        }
        settings.extend(self.techniques.iter().map(ToString::to_string));
        settings.join(", ")
    }
}

/// The failure of a job whose parameter cannot be set. It names what can be.
fn cannot_set(why: CannotSet, job: &Job, parameter: Parameter, value: f64) -> Failure {
    let has = job.settable().to_string();
    let (happened, next) = match why {
        CannotSet::Parameter if has.is_empty() => {
            ("it has no parameter that can be set".to_owned(), "Measure it without steps.")
        }
        CannotSet::Parameter => {
            (format!("it has no {parameter} that can be set, only: {has}"), "Vary one of these.")
        }
        CannotSet::Value => {
            let happened = format!("{value} is not above 0, or is too large; it has {has}");
            (happened, "Give a number of at least 1.")
        }
    };
    let tried = format!("set the {parameter} to {value}");
    Failure::new(Cause::Usage, tried).on(job.title()).happened(happened).next(next)
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Technique::ReadAhead { window } => write!(f, "{window} read ahead"),
            Technique::AttributeCache { lifetime_seconds } => {
                write!(f, "attributes cached for {}", units::chosen_time(*lifetime_seconds))
            }
            Technique::WriteBack { gather } => write!(f, "write-back of {gather}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PatternJob;

    fn of_clients(patterns: [&str; 2]) -> Workload {
        let part = |(client, pattern)| {
            let job = PatternJob::named(pattern, Bytes(1 << 20)).unwrap();
            Part { client, ..Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN) }
        };
        let length = Length::For { seconds: 1.0, warm_up_seconds: 0.1 };
        Workload { parts: (0..).zip(patterns).map(part).collect(), steps: None, length }
    }

    #[test]
    fn clients_that_do_the_same_step_together() {
        let depths = |workload: Workload| -> Vec<u16> {
            let at = workload.at(Parameter::Depth, 8.0).unwrap();
            at.parts.iter().map(|part| part.depth().get()).collect()
        };
        let same = of_clients(["random-read"; 2]);
        assert_eq!((same.together(), depths(same)), (Some(2), vec![8, 8]));
        let different = of_clients(["random-read", "random-write"]);
        assert_eq!((different.together(), depths(different)), (None, vec![8, 1]));
    }

    #[test]
    fn a_sweep_over_blocks_changes_the_job_and_one_over_depths_keeps_rounds() {
        let mut workload = of_clients(["sequential-read"; 2]);
        workload.parts[0].arrival = Arrival::Rounds { depth: NonZeroU16::MIN };
        let at = workload.at(Parameter::Block, 512.0).unwrap();
        let Job::Pattern(job) = &at.parts[0].job else { panic!("{at:?}") };
        assert_eq!(job.block, Bytes(512));
        let deep = workload.at(Parameter::Depth, 8.0).unwrap().parts[0].arrival;
        assert_eq!(deep, Arrival::Rounds { depth: NonZeroU16::new(8).unwrap() });
    }
}
