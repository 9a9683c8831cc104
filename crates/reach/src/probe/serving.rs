//! A verb that does trial after trial in one session, each when it is ordered.

use super::frame::{FrameKind, LONGEST_TO_PROBE};
use super::message::Message;
use super::request::Request;
use super::session::Session;
use crate::Reach;
use crate::deploy::PATIENCE;
use plimsoll_model::Failure;
use serde_json::Value;
use std::time::Instant;

/// Most bytes of the messages about one trial.
const MOST_BYTES: usize = 32 << 20;
/// The order that ends a trial early.
const CANCEL: &[u8] = b"cancel\n";

/// A session of a verb that serves trials. Dropping it ends it, and what runs of it on the host.
pub struct Serving {
    session: Session,
    facts: Value,
}

impl Serving {
    /// Starts the verb, and waits for its first section: the facts about the host.
    pub(super) fn start(
        reach: &dyn Reach,
        program: &str,
        request: &Request,
    ) -> Result<Serving, Failure> {
        let mut session = Session::start(reach, program, request)?;
        match section(&mut session, Instant::now() + PATIENCE)? {
            Some(facts) => Ok(Serving { session, facts }),
            None => Err(session.silent(PATIENCE)),
        }
    }

    /// Facts about the host, as the verb reported them.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// Orders a trial: its name in the first line, then a line for each setting.
    ///
    /// # Errors
    /// The host does not take it any more.
    pub fn order(&mut self, trial: &str) -> Result<(), Failure> {
        debug_assert!(trial.len() <= LONGEST_TO_PROBE);
        self.session.count_anew();
        self.session.send(FrameKind::Trial, trial.as_bytes())
    }

    /// Ends the trial early. Its figures so far are reported.
    ///
    /// # Errors
    /// The host does not take it any more.
    pub fn cancel(&mut self) -> Result<(), Failure> {
        self.session.send(FrameKind::Trial, CANCEL)
    }

    /// The next section; `None` if none came before `until`.
    ///
    /// # Errors
    /// The session has ended, or contradicts its protocol.
    pub fn section(&mut self, until: Instant) -> Result<Option<Value>, Failure> {
        section(&mut self.session, until)
    }

    /// The failure of a host that does not answer.
    pub fn silent(&mut self, waited: std::time::Duration) -> Failure {
        self.session.silent(waited)
    }

    /// The failure of a report that contradicts itself.
    pub fn nonsense(&mut self, words: &str) -> Failure {
        self.session.nonsense(words)
    }

    /// Ends the session, and waits for the end of what runs of it on the host.
    pub fn stop(mut self) {
        let _ = self.session.send(FrameKind::Stop, b"");
        self.session.close();
    }
}

/// The next section. Other messages are passed over, but counted: a host that sends nothing else would keep this
/// program here beyond any time.
fn section(session: &mut Session, until: Instant) -> Result<Option<Value>, Failure> {
    loop {
        let message = session.receive(until)?;
        if session.taken() > MOST_BYTES {
            return Err(session.nonsense("its report does not end"));
        }
        match message {
            Some(Message::Section(value)) => return Ok(Some(value)),
            Some(Message::Done(_)) => return Err(session.nonsense("it ended without a request")),
            Some(Message::Clock(..) | Message::Sample(_) | Message::Failed(_)) => {}
            None => return Ok(None),
        }
    }
}
