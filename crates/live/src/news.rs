//! What observers are notice: the study's progress as values that can be kept, sent to another
//! thread, and written down for another process.

use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cell, Event, HostLoad, HostName, Outcome, Phase, Plan, StudyId, Window, Workload,
};
use plimsoll_study::Progress;
use serde::{Deserialize, Serialize};

/// Name and version of the format of a run's feed.
pub const FORMAT: &str = "plimsoll-live/3";

/// Which run it is: the first line of its feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The study it makes.
    pub study: StudyId,
    /// The process that conducts it.
    pub pid: u32,
    /// When it began, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// What is to be done, the subjects included.
    pub plan: Plan,
}

impl Header {
    /// Of a run of this process.
    pub fn new(study: StudyId, started_unix_seconds: u64, plan: Plan) -> Header {
        let pid = std::process::id();
        Header { format: FORMAT.to_owned(), study, pid, started_unix_seconds, plan }
    }
}

/// One thing that happened, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Seconds since the run began.
    pub at_seconds: f64,
    /// What.
    #[serde(flatten)]
    pub news: News,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "news")]
pub enum News {
    /// Idle hosts are watched for so many seconds.
    Baseline {
        /// How long.
        seconds: f64,
    },
    /// A subject is being prepared.
    Preparing {
        /// Its index in the plan.
        subject: usize,
    },
    /// A factor is being set.
    Setting {
        /// Its name.
        factor: String,
        /// The level, in words.
        level: String,
        /// The host that it is set on.
        host: HostName,
    },
    /// A host is being rebooted.
    Reboot {
        /// Which.
        host: HostName,
    },
    /// A trial begins.
    Trial {
        /// Its number, from 0.
        number: u32,
        /// Its block, from 0.
        block: u32,
        /// Its place in the plan.
        cell: Cell,
        /// Trials that are planned as things stand, this one included.
        planned: u32,
        /// Seconds until the end as things stand.
        seconds_left: f64,
    },
    /// A phase began.
    Phase {
        /// Which.
        phase: Phase,
        /// Bytes until it ends; 0 where unknown.
        total_bytes: Bytes,
    },
    /// A step of a phase began.
    Step {
        /// Which, in a few words.
        what: String,
    },
    /// More of the phase is done.
    Progress {
        /// Bytes since the last of these.
        bytes: Bytes,
    },
    /// A window of the trial under way ended.
    Window {
        /// Seconds since the trial's first operation.
        trial_seconds: f64,
        /// What completed in it.
        window: Window,
    },
    /// Seconds until the end as things stand, while a trial runs.
    Left {
        /// So many.
        seconds: f64,
    },
    /// How loaded the hosts were since the last of these.
    Loads {
        /// Each host watched.
        hosts: Vec<HostLoad>,
    },
    /// A trial ended and is kept.
    Ended {
        /// Its place in the plan.
        cell: Cell,
        /// How it ended.
        end: TrialEnd,
        /// The headline of its workload, where it has one.
        headline: Option<f64>,
    },
    /// The pilot is done: so many blocks in all are wanted.
    BlocksWanted {
        /// Blocks, the pilot included.
        blocks: u32,
    },
    /// Workloads that follow from what was measured were added to the plan.
    FollowUp {
        /// Number of workloads before.
        before: usize,
        /// Workloads that were added.
        workloads: Vec<Workload>,
    },
    /// So many pieces of news were left out since the run began, because the reader was slow.
    Missed {
        /// How many.
        count: u64,
    },
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialEnd {
    /// It ran to its end.
    Complete,
    /// It says nothing about its subject, and is measured again.
    Void,
    /// It failed or was stopped.
    Incomplete,
}

impl From<&Outcome> for TrialEnd {
    fn from(outcome: &Outcome) -> TrialEnd {
        match outcome {
            Outcome::Complete => TrialEnd::Complete,
            Outcome::Void { .. } => TrialEnd::Void,
            Outcome::Stopped | Outcome::Failed { .. } => TrialEnd::Incomplete,
        }
    }
}

impl News {
    /// What is worth passing on of the progress of a study with this plan.
    pub fn new(progress: Progress<'_>, plan: &Plan) -> News {
        match progress {
            Progress::Baseline { seconds } => News::Baseline { seconds },
            Progress::Preparing { subject } => News::Preparing { subject },
            Progress::Setting { factor, level } => News::Setting {
                factor: factor.name.clone(),
                level: level.to_string(),
                host: factor.host.clone(),
            },
            Progress::Reboot { host } => News::Reboot { host: host.clone() },
            Progress::Trial { number, block, cell, planned, seconds_left, .. } => {
                News::Trial { number, block, cell, planned, seconds_left }
            }
            Progress::Event(Event::Phase { phase, total_bytes }) => {
                News::Phase { phase: *phase, total_bytes: Bytes(*total_bytes) }
            }
            Progress::Event(Event::Step { what }) => News::Step { what: what.clone() },
            Progress::Event(Event::Progress { bytes }) => News::Progress { bytes: Bytes(*bytes) },
            Progress::Event(Event::Window { at_seconds, parts }) => {
                News::Window { trial_seconds: *at_seconds, window: Window::sum(parts) }
            }
            Progress::Left { seconds } => News::Left { seconds },
            Progress::Loads(hosts) => News::Loads { hosts: hosts.to_vec() },
            Progress::Ended(trial) => News::Ended {
                cell: trial.cell,
                end: TrialEnd::from(&trial.result.outcome),
                headline: plan.workload(trial.cell).and_then(|workload| {
                    let metric = workload.main()?.headline();
                    trial.result.value(workload.headline_part(), metric)
                }),
            },
            Progress::BlocksWanted { blocks } => News::BlocksWanted { blocks },
            Progress::FollowUp { before, workloads } => {
                News::FollowUp { before, workloads: workloads.to_vec() }
            }
        }
    }

    /// Whether a picture of the run as it stands can do without it once it is old.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            News::Window { .. }
                | News::Progress { .. }
                | News::Loads { .. }
                | News::Left { .. }
                | News::Step { .. }
        )
    }
}
