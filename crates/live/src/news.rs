//! What observers are told: the study's progress as values that can be kept, sent to another
//! thread, and written down for another process.

use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Event, HostLoad, Measure, Metric, Outcome, Phase, Plan, StudyId, Window, Workload,
};
use plimsoll_study::Progress;
use serde::{Deserialize, Serialize};

/// Name and version of the format of a run's feed.
pub const FORMAT: &str = "plimsoll-live/1";

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
    /// What is to be done, the targets included.
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
pub struct Told {
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
    /// A target is being prepared.
    Preparing {
        /// Its index in the plan.
        target: usize,
    },
    /// A trial begins.
    Trial {
        /// Its number, from 0.
        number: u32,
        /// Its block, from 0.
        block: u32,
        /// Index of the target in the plan.
        target: usize,
        /// What is done.
        workload: Workload,
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
    /// How loaded the hosts were since the last of these.
    Loads {
        /// Each host watched.
        hosts: Vec<HostLoad>,
    },
    /// A trial ended and is kept.
    Ended {
        /// Index of the target in the plan.
        target: usize,
        /// What was done.
        workload: Workload,
        /// Whether it ran to its end.
        complete: bool,
        /// Its throughput in bytes per second, where it has one.
        bytes_per_second: Option<f64>,
    },
    /// The pilot is done: so many blocks in all are wanted.
    BlocksWanted {
        /// Blocks, the pilot included.
        blocks: u32,
    },
    /// So many pieces of news were left out since the run began, because the reader was slow.
    Missed {
        /// How many.
        count: u64,
    },
}

impl News {
    /// What is worth telling of a study's progress.
    pub fn of(progress: Progress<'_>) -> Option<News> {
        Some(match progress {
            Progress::Baseline { seconds } => News::Baseline { seconds },
            Progress::Preparing { target } => News::Preparing { target },
            Progress::Trial { number, block, target, workload, planned, seconds_left } => {
                let workload = workload.clone();
                News::Trial { number, block, target, workload, planned, seconds_left }
            }
            Progress::Event(Event::Phase { phase, total_bytes }) => {
                News::Phase { phase: *phase, total_bytes: Bytes(*total_bytes) }
            }
            Progress::Event(Event::Progress { bytes }) => News::Progress { bytes: Bytes(*bytes) },
            Progress::Event(Event::Window { at_seconds, window }) => {
                News::Window { trial_seconds: *at_seconds, window: *window }
            }
            Progress::Event(Event::Warning { .. } | Event::Finished { .. }) => return None,
            Progress::Loads(hosts) => News::Loads { hosts: hosts.to_vec() },
            Progress::Ended(trial) => News::Ended {
                target: trial.cell.target,
                workload: trial.cell.workload.clone(),
                complete: trial.result.outcome == Outcome::Complete,
                bytes_per_second: trial
                    .result
                    .quantities
                    .get(&Metric::all(Measure::THROUGHPUT))
                    .copied(),
            },
            Progress::BlocksWanted { blocks } => News::BlocksWanted { blocks },
        })
    }

    /// Whether a picture of the run as it stands can do without it once it is old.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, News::Window { .. } | News::Progress { .. } | News::Loads { .. })
    }
}
