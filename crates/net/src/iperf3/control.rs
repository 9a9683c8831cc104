//! The control connection to an iperf3 server.

use super::protocol::{Conversation, Heard, Refusal};
use super::results::Results;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for a connection, and for each answer.
const CONNECT: Duration = Duration::from_secs(5);
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
            Trouble::Refused(Refusal::Busy) | Trouble::Lost(None) => true,
            _ => false,
        }
    }
}

/// A connection whose server wants the parameters of a test.
pub(super) struct Control {
    stream: TcpStream,
    conversation: Conversation,
    last: Option<Heard>,
}

impl Control {
    /// Connects and says the cookie.
    pub fn open(address: SocketAddr, cookie: &str, stop: &AtomicBool) -> Result<Control, Trouble> {
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(Trouble::Unconnected)?;
        let options = stream.set_nodelay(true).and(stream.set_write_timeout(Some(ANSWER)));
        options.map_err(Trouble::Unconnected)?;
        let mut control = Control { stream, conversation: Conversation::new(), last: None };
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

    /// The address that the server knows this end by.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.stream.local_addr().ok().map(|address| address.ip().to_canonical())
    }

    /// Says something.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.stream.write_all(bytes).map_err(|_| Trouble::Lost(self.last))
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
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(heard) = self.conversation.hear() {
                self.last = Some(heard.map_err(Trouble::Refused)?);
                return Ok(self.last);
            }
            let left = until.saturating_duration_since(Instant::now());
            // None at all would be no limit.
            let left = left.max(Duration::from_millis(1));
            let read = self
                .stream
                .set_read_timeout(Some(left))
                .and_then(|()| self.stream.read(&mut buffer));
            match read {
                Ok(count) if count > 0 => self.conversation.push(&buffer[..count]),
                Err(error)
                    if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) =>
                {
                    return Ok(None);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return Err(Trouble::Lost(self.last)),
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
    }
}
