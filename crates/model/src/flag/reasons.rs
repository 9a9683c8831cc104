//! Why a flag is given, where it has one of several reasons.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What has to be said with the rate that a router keeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum RateCaveat {
    /// The sender could send no more, or no more was tried in the time.
    AtLeast,
    /// The sender's machine was too busy to keep a rate up.
    CannotHold {
        /// Share of the segments in which the sender was late.
        void_ratio: f64,
    },
    /// The rate is that of the moments in which the sender's machine was quiet.
    QuietMoments {
        /// Their share of the time.
        share: f64,
    },
    /// More than the rate passes until a credit is used up.
    BurstCredit {
        /// The credit.
        bytes: f64,
        /// Frames per second after that.
        frames_per_second: f64,
    },
    /// At overload less is forwarded.
    Collapse {
        /// Frames per second at overload.
        frames_per_second: f64,
    },
    /// Frames are lost at low rates as well.
    Interruptions {
        /// Frames per second that the router forwards between interruptions.
        frames_per_second: f64,
    },
    /// The time of the search was over before the rate was known within its width.
    Unfinished {
        /// Distance of the highest rate kept and the lowest one that was not, as a share of the former.
        width_ratio: f64,
    },
    /// A long trial at the rate lost more.
    Unsteady {
        /// Share lost.
        loss_ratio: f64,
        /// Its length; absent: 10 s.
        #[serde(default = "usual_confirming_seconds")]
        seconds: f64,
    },
    /// In a long trial at the rate, frames were later than the bound that was set.
    Late {
        /// 99th percentile of the delay above the shortest one, in seconds.
        delay_seconds: f64,
        /// Length of the trial.
        seconds: f64,
    },
}

/// Length of the long trial of a search before it could be chosen.
fn usual_confirming_seconds() -> f64 {
    10.0
}

/// Why less than the whole is copied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum Scaled {
    /// The first blocks would not end in good time.
    Time {
        /// How long they would take with all of it, in seconds.
        seconds: f64,
    },
    /// There is no space for more.
    Space {
        /// The target with the least, as the user wrote it.
        target: String,
        /// Free space on that target.
        available: Bytes,
    },
}

/// Why writes are not called sustained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Burst {
    /// Nothing was written before the first block to fill a cache.
    NotConditioned,
    /// Their rate was not steady when the time for that was over.
    NotSteady,
    /// Their trials do not agree with the steady rate.
    NotAgreed,
}
