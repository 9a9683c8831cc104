//! What the study asks for.

use super::{Secret, TooLong, encode};
use plimsoll_load::{Names, OpenOptions, TimeLimits};
use plimsoll_model::{
    Deadline, Engine, Failure, Nanos, PageCache, PointSpec, StudyId, Target, Workload,
};
use plimsoll_runner::RunnerOptions;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// Longest request, in bytes.
pub const MOST_REQUEST: usize = 1 << 20;
/// Longest time that is taken for one, in seconds.
const LONGEST: f64 = 1e7;

/// What the study asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "request")]
pub enum Request {
    /// What holds for all trials; the first request.
    Begin(Begin),
    /// Open a target; before any is attached.
    Connect(Box<Connect>),
    /// The answer to [`super::Reply::PasswordWanted`].
    Password {
        /// The password.
        password: Secret,
    },
    /// The other answer to it.
    NoPassword {
        /// Why there is none.
        failure: Failure,
    },
    /// [`attach`](plimsoll_model::SubjectRunner::attach).
    Attach {
        /// Number of the target.
        target: usize,
    },
    /// [`lay_out_rate`](plimsoll_model::SubjectRunner::lay_out_rate).
    LayOutRate {
        /// Number of the target.
        target: usize,
        /// Bytes to write.
        bytes: u64,
    },
    /// [`prepare`](plimsoll_model::SubjectRunner::prepare).
    Prepare {
        /// Number of the target.
        target: usize,
        /// What will be done to it.
        workloads: Vec<Workload>,
    },
    /// [`point`](plimsoll_model::SubjectRunner::point).
    Point {
        /// The point.
        spec: Box<PointSpec>,
        /// Whether its load waits for [`Request::Start`], once [`super::Reply::Ready`] was said.
        #[serde(default)]
        gated: bool,
    },
    /// What the host's clock shows.
    Clock,
    /// The answer to [`super::Reply::Ready`].
    Start {
        /// When the load begins, on the host's clock; `None`: it does not.
        at: Option<Nanos>,
    },
    /// [`plimsoll_runner::clean`]; before any target is attached.
    Clean {
        /// Number of the target.
        target: usize,
        /// Only leftovers of the study itself: of a runner that died.
        own: bool,
    },
    /// [`release`](plimsoll_model::SubjectRunner::release).
    Release,
    /// [`reopen`](plimsoll_model::SubjectRunner::reopen).
    Reopen,
    /// [`close`](plimsoll_model::SubjectRunner::close); the last request.
    Close,
    /// End what is under way, in order. Not answered.
    Stop,
    /// Nothing; not answered.
    Alive,
}

/// What holds for all trials: see [`RunnerOptions`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    study: StudyId,
    nonce: u32,
    longest_trial_seconds: f64,
    operation_timeout_seconds: f64,
    server_memory: Option<u64>,
    live: bool,
    set_up_seconds: f64,
}

/// How a target is opened: see [`OpenOptions`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connect {
    /// The target as the user named it.
    pub target: Target,
    engine: Option<Engine>,
    #[serde(default, skip_serializing_if = "PageCache::is_direct")]
    cache: PageCache,
    connect_seconds: f64,
    call_seconds: f64,
    /// Addresses of its host, where they are known.
    addresses: Vec<IpAddr>,
    /// A file that is only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Request {
    /// As a line.
    pub fn to_line(&self) -> Vec<u8> {
        encode(self)
    }

    /// From a line without its end.
    ///
    /// # Errors
    /// Why it cannot be understood.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        if line.len() > MOST_REQUEST {
            return Err(TooLong { most: MOST_REQUEST }.to_string());
        }
        // Nothing of the line is repeated: it may hold a password.
        serde_json::from_slice(line).map_err(|error| {
            format!("it is not valid ({:?}, at {})", error.classify(), error.column())
        })
    }
}

impl From<&RunnerOptions> for Begin {
    fn from(options: &RunnerOptions) -> Self {
        Begin {
            study: options.study.clone(),
            nonce: options.nonce,
            longest_trial_seconds: options.longest_trial.as_secs_f64(),
            operation_timeout_seconds: options.operation_timeout.as_secs_f64(),
            server_memory: options.server_memory,
            live: options.live,
            set_up_seconds: options.set_up.as_secs_f64(),
        }
    }
}

impl Begin {
    /// The same for a runner; `None` where the study is none.
    pub fn options(self, deadline: Deadline) -> Option<RunnerOptions> {
        // It becomes part of a directory's name.
        let id = &self.study.0;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (id.len() == 8 && id.bytes().all(hex)).then_some(())?;
        Some(RunnerOptions {
            nonce: self.nonce,
            longest_trial: seconds(self.longest_trial_seconds),
            operation_timeout: seconds(self.operation_timeout_seconds),
            server_memory: self.server_memory,
            live: self.live,
            set_up: seconds(self.set_up_seconds),
            deadline,
            study: self.study,
        })
    }
}

impl Connect {
    /// A target, opened so; with the addresses of its host, where they are known.
    pub fn new(target: &Target, options: &OpenOptions, addresses: Vec<IpAddr>) -> Self {
        Connect {
            target: target.clone(),
            engine: options.engine,
            cache: options.cache,
            connect_seconds: options.limits.connect.as_secs_f64(),
            call_seconds: options.limits.call.as_secs_f64(),
            addresses,
            file: options.file.clone(),
        }
    }

    /// The options, but for the passwords.
    pub fn options(&self, deadline: Deadline) -> OpenOptions {
        let mut names = Names::resolved_by(plimsoll_reach::names::resolve);
        if let Some(host) = self.target.host() {
            names.know(host, self.addresses.clone());
        }
        OpenOptions {
            engine: self.engine,
            cache: self.cache,
            limits: TimeLimits {
                connect: seconds(self.connect_seconds),
                call: seconds(self.call_seconds),
            },
            names,
            file: self.file.clone(),
            deadline,
            ..OpenOptions::default()
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.001, LONGEST)).unwrap_or(Duration::from_secs(30))
}
