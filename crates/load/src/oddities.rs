//! What is odd about a share and does not keep it from being used.

use crate::wire::Mended;
use plimsoll_model::Flag;
use plimsoll_transport::DatagramCounts;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

/// What is done where the free space is not known.
pub(crate) const UNKNOWN_SPACE: &str =
    "The test files are created as planned, without a check for free space.";

/// What a share has found odd; each oddity is handed out once.
#[derive(Debug, Default)]
pub(crate) struct Oddities(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    known: Vec<String>,
    new: Vec<Flag>,
    /// How often the server has asked to be asked again later.
    waits: u64,
    datagrams: DatagramCounts,
    /// Bytes that were written again.
    written_again: u64,
    /// Connections that were made anew, when the first of them had gone, and the longest time without one
    /// in seconds.
    reconnected: Option<(u64, f64, f64)>,
}

impl Oddities {
    /// A reply went on beyond its end; counted once for each kind of call.
    pub fn surplus(&self, target: &str, call: impl Display, bytes: usize) {
        let call = call.to_string();
        let (target, bytes) = (target.to_owned(), bytes as u64);
        self.add(format!("{call} beyond"), Flag::ReplySurplus { target, call, bytes });
    }

    /// The server has asked so often to be asked again later.
    pub fn waited(&self, target: &str, times: u64) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.waits += times;
        if times > 0 {
            found.new.retain(|flag| !matches!(flag, Flag::AskedToWait { .. }));
            let (target, times) = (target.to_owned(), found.waits);
            found.new.push(Flag::AskedToWait { target, times });
        }
    }

    /// Datagrams were sent again, or dropped.
    pub fn datagrams(&self, target: &str, counts: DatagramCounts) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.datagrams += counts;
        if counts != DatagramCounts::default() {
            found.new.retain(|flag| !matches!(flag, Flag::Retransmitted { .. }));
            let DatagramCounts { retransmitted: times, late, doubled, .. } = found.datagrams;
            let target = target.to_owned();
            found.new.push(Flag::Retransmitted { target, times, late, doubled });
        }
    }

    /// What went wrong on a connection and was mended.
    pub fn mended(&self, target: &str, mended: &Mended<'_>) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if mended.written_again > 0 {
            found.written_again += mended.written_again;
            found.new.retain(|flag| !matches!(flag, Flag::WrittenAgain { .. }));
            let (target, bytes) = (target.to_owned(), found.written_again);
            found.new.push(Flag::WrittenAgain { target, bytes });
        }
        for gap in mended.gaps {
            let (at, lasted) = (gap.at.as_secs_f64(), gap.lasted.as_secs_f64());
            let before = found.reconnected.unwrap_or((0, at, lasted));
            let now = (before.0 + 1, before.1.min(at), before.2.max(lasted));
            found.reconnected = Some(now);
            found.new.retain(|flag| !matches!(flag, Flag::Reconnected { .. }));
            let (target, (times, at_seconds, seconds)) = (target.to_owned(), now);
            found.new.push(Flag::Reconnected { target, times, at_seconds, seconds });
        }
    }

    /// What a user made belongs to another one.
    pub fn other_owner(&self, target: &str, uid: u32, owner: u32) {
        let (target, uid, owner) = (target.to_owned(), Some(uid), Some(owner));
        self.add("owner".to_owned(), Flag::OtherOwner { target, uid, owner });
    }

    /// A call that can be done without failed.
    pub fn failed(&self, target: &str, call: &str, reason: impl Display, instead: &str) {
        let flag = Flag::CallFailed {
            target: target.to_owned(),
            call: call.to_owned(),
            reason: reason.to_string(),
            instead: instead.to_owned(),
        };
        self.add(call.to_owned(), flag);
    }

    fn add(&self, key: String, flag: Flag) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !found.known.contains(&key) {
            found.known.push(key);
            found.new.push(flag);
        }
    }

    /// What was not handed out yet.
    pub fn take(&self) -> Vec<Flag> {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.waits = 0;
        (found.written_again, found.reconnected) = (0, None);
        found.datagrams = DatagramCounts::default();
        std::mem::take(&mut found.new)
    }
}
