//! What the program on the host answers.

use super::{PROTOCOL, TooLong, decode, encode};
use plimsoll_model::{Event, Failure, Flag, Nanos, PointResult, SubjectFacts};
use plimsoll_runner::Cleaned;
use serde::{Deserialize, Serialize};

/// Longest reply, in bytes: the windows of a trial of many hours.
pub const MOST_REPLY: usize = 16 << 20;

/// What the program on the host answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// The first word.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the program.
        version: String,
    },
    /// Nothing; the connection holds.
    Alive,
    /// The load of a point begins.
    LoadBegins,
    /// The load of a point is over.
    LoadEnds,
    /// Something happened meanwhile.
    Event {
        /// What.
        event: Event,
    },
    /// The server has answered and the password of the target's user is wanted.
    PasswordWanted,
    /// That is done.
    Done,
    /// A subject was attached, or prepared.
    Target {
        /// What is odd about it.
        flags: Vec<Flag>,
        /// What it turned out to be.
        facts: Box<SubjectFacts>,
        /// Whether there is more to be prepared.
        #[serde(default)]
        more: bool,
    },
    /// The rate of laying out.
    Rate {
        /// In bytes per second; `None` where nothing is laid out.
        bytes_per_second: Option<f64>,
    },
    /// The load of a point can begin at once, and waits for [`super::Request::Start`].
    Ready,
    /// What the host's clock shows.
    Clock {
        /// CLOCK_MONOTONIC.
        now: Nanos,
    },
    /// A point ended.
    Result {
        /// Its figures.
        result: Box<PointResult>,
        /// Of one that began at an instant that was given: how long after that its first operation
        /// was, on the host's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late: Option<Nanos>,
    },
    /// Everything made was removed, but for what flags name.
    Closed {
        /// What could not be removed.
        flags: Vec<Flag>,
    },
    /// Leftovers were removed.
    Cleaned {
        /// Which, and which not.
        cleaned: Cleaned,
    },
    /// What was asked for failed.
    Failed {
        /// Why.
        failure: Failure,
    },
}

impl Reply {
    /// The first word of this program.
    pub fn hello() -> Self {
        Reply::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// As a line.
    pub fn to_line(&self) -> Vec<u8> {
        encode(self)
    }

    /// From a line without its end.
    ///
    /// # Errors
    /// Why it cannot be understood.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        if line.len() > MOST_REPLY {
            return Err(TooLong { most: MOST_REPLY }.to_string());
        }
        decode(line)
    }
}
