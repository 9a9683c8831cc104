//! What is odd about a share and does not keep it from being used.

use plimsoll_model::Flag;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

/// What is done where the free space is not known.
pub(crate) const UNKNOWN_SPACE: &str =
    "The files are laid out as planned, whether there is room for them or not.";

/// What a share has found odd; each oddity is handed out once.
#[derive(Debug, Default)]
pub(crate) struct Oddities(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    known: Vec<String>,
    new: Vec<Flag>,
    /// How often the server has asked to be asked again later.
    waits: u64,
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
        std::mem::take(&mut found.new)
    }
}
