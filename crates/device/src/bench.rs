//! Access to a host while a part of it is measured, with the failures and remarks of the measurement.

use super::verbs::Verbs;
use plimsoll_model::{Failure, HostName};
use plimsoll_reach::Reach;
use plimsoll_reach::probe::Request;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// One measurement of a part.
pub(super) struct Bench<'a> {
    pub(super) host: &'a HostName,
    pub(super) reach: &'a dyn Reach,
    pub(super) verbs: Result<&'a dyn Verbs, Failure>,
    pub(super) quick: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) say: &'a mut dyn FnMut(&str),
    pub(super) failures: Vec<Failure>,
    pub(super) notes: Vec<String>,
}

impl Bench<'_> {
    /// Whether the user wants an end.
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn say(&mut self, what: &str) {
        (self.say)(what);
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Runs a verb; that it failed is kept.
    pub(super) fn verb(&mut self, request: Request, section: &mut dyn FnMut(Value)) {
        let done = match &self.verbs {
            Ok(verbs) => verbs.run(&request, section, self.stop),
            Err(why) => Err(why.clone()),
        };
        if let Err(failure) = done {
            self.failed(failure);
        }
    }
}
