//! The control connection to an iperf3 server.

use super::carrier::Carrier;
use super::protocol::{Conversation, Heard, Refusal};
use super::results::Results;
use super::server::Iperf3Server;
use crate::ends::End;
use plimsoll_model::Failure;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for an answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Time after which a server that says nothing is none of iperf3, which asks for the parameters at once.
const FIRST_ANSWER: Duration = Duration::from_secs(5);
/// Time for another kind of server to complain of an empty request.
const COMPLAINT: Duration = Duration::from_millis(500);
/// Time for a server to close the connection after the last word.
const FAREWELL: Duration = Duration::from_secs(1);
/// Longest wait before the request to stop is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// Why a control connection came to nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// No connection.
    Unconnected(io::Error),
    /// None from the host of a probe.
    Unrelayed(Failure),
    /// The server refused.
    Refused(Refusal),
    /// The server closed it, or it was lost: the last word before that.
    Lost(Option<Heard>),
    /// No answer came in time: the last word before that.
    Silent(Option<Heard>),
    /// The user wants an end.
    Stopped,
}

impl Trouble {
    /// Whether it may pass soon: an iperf3 server listens anew after each test.
    pub fn may_pass(&self) -> bool {
        match self {
            Trouble::Unconnected(error) => {
                matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
            }
            Trouble::Unrelayed(_) | Trouble::Refused(Refusal::Busy) | Trouble::Lost(None) => true,
            _ => false,
        }
    }
}

/// A connection whose server wants the parameters of a test.
pub(super) struct Control {
    carrier: Carrier,
    conversation: Conversation,
    last: Option<Heard>,
}

impl Control {
    /// Connects from A and says the cookie.
    pub fn open(
        near: &End,
        server: &Iperf3Server,
        cookie: &str,
        stop: &AtomicBool,
    ) -> Result<Control, Trouble> {
        let carrier = Carrier::connect(near, server)?;
        let mut control = Control { carrier, conversation: Conversation::new(), last: None };
        // A server that is busy closes without reading, and its word is there all the same.
        let _ = control.send(&[cookie.as_bytes(), &[0]].concat());
        match control.expect(Heard::WantsParameters, FIRST_ANSWER, stop) {
            Err(Trouble::Silent(None)) => {
                // A server of lines answers now, and says what it is.
                let _ = control.send(b"\r\n\r\n");
                let late = control.expect(Heard::WantsParameters, COMPLAINT, stop);
                Err(match late {
                    Err(Trouble::Refused(refusal)) => Trouble::Refused(refusal),
                    _ => Trouble::Silent(None),
                })
            }
            other => other.map(|()| control),
        }
    }

    /// The address that the server knows A by, if that is this machine.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.carrier.own_address()
    }

    /// Says something.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        if self.carrier.write(bytes) { Ok(()) } else { Err(Trouble::Lost(self.last)) }
    }

    /// Waits for a word, which must be the next one.
    pub fn expect(
        &mut self,
        word: Heard,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<(), Trouble> {
        let until = Instant::now() + patience;
        // It may have come while something else was waited for.
        if self.last == Some(word) {
            return Ok(());
        }
        while Instant::now() < until {
            match self.hear(until.min(Instant::now() + GLANCE))? {
                Some(heard) if heard == word => return Ok(()),
                // It announces its states in one order, so this is an earlier one.
                Some(_) => {}
                None if stop.load(Ordering::Relaxed) => return Err(Trouble::Stopped),
                None => {}
            }
        }
        Err(Trouble::Silent(self.last))
    }

    /// The next word; `None` if none came before `until`.
    pub fn hear(&mut self, until: Instant) -> Result<Option<Heard>, Trouble> {
        loop {
            if let Some(heard) = self.conversation.hear() {
                self.last = Some(heard.map_err(Trouble::Refused)?);
                return Ok(self.last);
            }
            let mut bytes = Vec::new();
            match self.carrier.read(&mut bytes, until) {
                None => return Ok(None),
                Some(0) => return Err(Trouble::Lost(self.last)),
                Some(_) => self.conversation.push(&bytes),
            }
        }
    }

    /// The results of the server, once they came.
    pub fn results(&mut self) -> Option<Results> {
        self.conversation.results.take()
    }

    /// Says the last word, and waits until the server has closed.
    pub fn close(mut self, word: u8) {
        if self.send(&[word]).is_ok() {
            let until = Instant::now() + FAREWELL;
            while Instant::now() < until && self.hear(until).is_ok() {}
        }
        self.carrier.close();
    }
}
