//! A connection to a server: frames, message ids, credits, one exchange at a time.

use crate::Error;
use crate::guard::{Guard, TRANSFORM_HEADER};
use crate::message::{
    Expected, HEADER_BYTES, Reply, ReplyHeader, Request, RequestHeader, UNASKED, next_message,
};
use crate::ms_smb2::types::Command;
use plimsoll_transport::{Deadline, Socket};
use std::ops::Range;
use std::time::Duration;

/// Bytes of a frame beside the payload that was asked for: headers, transform header, tokens,
/// error contexts.
const ROOM_BESIDE_PAYLOAD: usize = 64 * 1024;
/// Credits that the connection tries to hold.
const CREDITS_WANTED: u32 = 512;
/// Times that a server is asked for more credits before a request that needs them is given up.
const MOST_ECHOES: u32 = 16;
/// Longest wait for the answer to a word of farewell.
const FAREWELL: Duration = Duration::from_secs(2);
/// Length of the prefix of every frame (MS-SMB2, section 2.1).
const PREFIX_BYTES: usize = 4;
/// Longest frame: its length is sent in three bytes.
const MOST_FRAME: usize = 0xff_ffff;

/// A connection with one exchange under way at most.
pub(crate) struct Connection {
    pub socket: Socket,
    pub guard: Guard,
    pub session_id: u64,
    pub tree_id: u32,
    pub next_message_id: u64,
    pub credits: u32,
    /// Whether requests are charged by their payload.
    pub large_transfers: bool,
    /// Longest wait for all replies of an exchange.
    pub timeout: Duration,
    /// What broke the connection.
    broken: Option<Error>,
    /// The last frame sent, with its prefix.
    frame: Vec<u8>,
}

impl Connection {
    pub fn new(socket: Socket, timeout: Duration) -> Self {
        Connection {
            socket,
            guard: Guard { signer: None, sealer: None, sign: false, seal: false },
            session_id: 0,
            tree_id: 0,
            next_message_id: 0,
            // A client may send one message before the server has granted anything.
            credits: 1,
            large_transfers: false,
            timeout,
            broken: None,
            frame: Vec::new(),
        }
    }

    /// The last words are not waited for long: nothing depends on them.
    pub fn farewell(&mut self, request: Request) {
        self.timeout = self.timeout.min(FAREWELL);
        let _ = self.call(request);
    }

    /// Sends a request and waits for its reply, which must say success.
    pub fn call(&mut self, request: Request) -> Result<Reply, Error> {
        self.exchange(request)?.success()
    }

    /// Sends a request and waits for its reply, whatever it says.
    pub fn exchange(&mut self, request: Request) -> Result<Reply, Error> {
        let mut replies = self.compound(vec![request])?;
        replies.pop().ok_or_else(missing)
    }

    /// The message last sent by itself and not encrypted, as it went over the wire.
    pub fn sent(&self) -> &[u8] {
        self.frame.get(PREFIX_BYTES..).unwrap_or(&[])
    }

    /// Credits that a request costs.
    fn charge(&self, payload: u32) -> u32 {
        if self.large_transfers { payload.saturating_sub(1) / 65536 + 1 } else { 1 }
    }

    /// Sends requests in one frame, each going on with the file that the first opens, and waits
    /// for all replies: one to each, in the same order (MS-SMB2, section 3.2.4.1.4).
    pub fn compound(&mut self, requests: Vec<Request>) -> Result<Vec<Reply>, Error> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let needed = requests.iter().map(|r| self.charge(r.payload)).sum();
        self.want_credits(needed).and_then(|()| self.exchange_now(requests)).inspect_err(|error| {
            // A later reply would answer the wrong request.
            if error.is_fatal() {
                self.broken = Some(error.clone());
            }
        })
    }

    /// Makes sure of enough credits, by requests that only ask for more.
    fn want_credits(&mut self, needed: u32) -> Result<(), Error> {
        for _ in 0..MOST_ECHOES {
            if self.credits >= needed {
                return Ok(());
            }
            let before = self.credits;
            if before == 0 {
                break;
            }
            let echo = Request::new(Command::Echo, &crate::ms_smb2::msg::echo::EchoRequest);
            self.exchange_now(vec![echo])?;
            if self.credits <= before {
                break;
            }
        }
        if self.credits >= needed { Ok(()) } else { Err(Error::NoCredits) }
    }

    fn exchange_now(&mut self, requests: Vec<Request>) -> Result<Vec<Reply>, Error> {
        let end = self.socket.within(self.timeout);
        let payload: usize = requests.iter().map(|r| r.payload as usize).sum();
        let mut awaited = self.put_frame(requests)?;
        self.socket.send_all(&self.frame, &end)?;
        while awaited.iter().any(|request| request.reply.is_none()) {
            let mut frame = self.receive(payload + ROOM_BESIDE_PAYLOAD, &end)?;
            self.sort(&mut frame, &mut awaited)?;
        }
        awaited.into_iter().map(|request| request.reply.ok_or_else(missing)).collect()
    }

    /// Builds the frame of the requests, protected, and takes credits and message ids for them.
    fn put_frame(&mut self, requests: Vec<Request>) -> Result<Vec<Awaited>, Error> {
        let sealed = self.guard.sealing().is_some();
        let front = PREFIX_BYTES + if sealed { TRANSFORM_HEADER } else { 0 };
        self.frame.clear();
        self.frame.resize(front, 0);
        let count = requests.len();
        let mut awaited = Vec::with_capacity(count);
        for (i, mut request) in requests.into_iter().enumerate() {
            let last = i + 1 == count;
            let charge = self.charge(request.payload);
            if !last {
                request.message.resize(request.message.len().next_multiple_of(8), 0);
            }
            let missing = CREDITS_WANTED.saturating_sub(self.credits);
            let header = RequestHeader {
                command: request.command,
                credit_charge: if self.large_transfers { short(charge) } else { 0 },
                credits_wanted: short(charge.max(missing)),
                related: i > 0,
                next: if last { 0 } else { request.message.len() as u32 },
                message_id: self.next_message_id,
                tree_id: self.tree_id,
                session_id: self.session_id,
            };
            header.put(&mut request.message);
            if let Some(signer) = self.guard.signing() {
                signer.sign(&mut request.message);
            }
            self.frame.extend_from_slice(&request.message);
            awaited.push(Awaited {
                command: request.command,
                message_id: self.next_message_id,
                credits_wanted: header.credits_wanted,
                postponed: false,
                reply: None,
            });
            self.next_message_id += u64::from(charge);
            self.credits = self.credits.saturating_sub(charge);
        }
        let length = self.frame.len() - PREFIX_BYTES;
        if length > MOST_FRAME {
            return Err(Error::TooLong { length, limit: MOST_FRAME });
        }
        self.frame[..PREFIX_BYTES].copy_from_slice(&(length as u32).to_be_bytes());
        if let Some(sealer) = self.guard.sealing() {
            sealer.seal(&mut self.frame[PREFIX_BYTES..]);
        }
        Ok(awaited)
    }

    fn fill(&self, mut buffer: &mut [u8], end: &Deadline) -> Result<(), Error> {
        while !buffer.is_empty() {
            let count = self.socket.receive_some(buffer, end)?;
            buffer = buffer.get_mut(count..).unwrap_or(&mut []);
        }
        Ok(())
    }

    /// The next frame without its prefix.
    fn receive(&self, limit: usize, end: &Deadline) -> Result<Vec<u8>, Error> {
        let mut prefix = [0; PREFIX_BYTES];
        self.fill(&mut prefix, end)?;
        let mut frame = vec![0; frame_length(prefix, limit)?];
        self.fill(&mut frame, end)?;
        Ok(frame)
    }

    /// Believes or refuses a frame, and puts its replies where they belong.
    fn sort(&mut self, frame: &mut [u8], awaited: &mut [Awaited]) -> Result<(), Error> {
        let (frame, was_sealed) = match (frame.first(), &self.guard.sealer) {
            (Some(0xfd), Some(sealer)) => (sealer.open(frame)?, true),
            (Some(0xfd), None) => return Err(Error::NotDecrypted),
            _ => (frame, false),
        };
        let mut start = 0;
        while let Some((range, header)) = next_message(frame, start)? {
            start = range.end;
            if header.message_id == UNASKED {
                continue;
            }
            let request = awaited
                .iter_mut()
                .find(|request| request.message_id == header.message_id)
                .ok_or(Error::UnknownMessage(header.message_id))?;
            let mut credits = header.credits.into();
            if !was_sealed {
                self.guard.verify(&mut frame[range.clone()], &header)?;
                if self.guard.lacks_signature(&header) {
                    credits = header.unsigned_interim(&request.expected(self.session_id))?;
                }
            }
            self.credits = self.credits.saturating_add(credits);
            if header.is_interim() {
                request.postponed = true;
            } else {
                request.take(&frame[range], header)?;
            }
        }
        Ok(())
    }
}

/// A request that was sent.
struct Awaited {
    command: Command,
    message_id: u64,
    credits_wanted: u16,
    /// Whether an interim reply has come.
    postponed: bool,
    reply: Option<Reply>,
}

impl Awaited {
    fn expected(&self, session_id: u64) -> Expected {
        Expected {
            command: self.command,
            session_id,
            credits_wanted: self.credits_wanted,
            answered: self.postponed || self.reply.is_some(),
        }
    }

    /// Keeps the final reply; there is one to each request.
    fn take(&mut self, message: &[u8], header: ReplyHeader) -> Result<(), Error> {
        if self.reply.is_some() {
            return Err(Error::UnknownMessage(header.message_id));
        }
        let command = self.command;
        if header.command != u16::from(command) {
            return Err(Error::Malformed(format!("a reply to {command} has the wrong command")));
        }
        self.reply = Some(Reply { command, header, message: message.to_vec() });
        Ok(())
    }
}

fn missing() -> Error {
    Error::Malformed("a reply is missing".into())
}

fn short(credits: u32) -> u16 {
    credits.try_into().unwrap_or(u16::MAX)
}

/// The length of the frame that begins with these bytes (MS-SMB2, section 2.1).
pub(crate) fn frame_length(prefix: [u8; PREFIX_BYTES], limit: usize) -> Result<usize, Error> {
    if prefix[0] != 0 {
        return Err(Error::Malformed("a frame: its first byte is not zero".into()));
    }
    let length = u32::from_be_bytes(prefix) as usize;
    if length > limit {
        return Err(Error::TooLong { length, limit });
    }
    if length < HEADER_BYTES {
        return Err(Error::Malformed("a frame: too short for a message".into()));
    }
    Ok(length)
}

/// Where the messages of a frame lie: what [`Connection`] does with a frame, for fuzzing.
pub(crate) fn messages(frame: &[u8]) -> Result<Vec<(Range<usize>, ReplyHeader)>, Error> {
    let mut all = Vec::new();
    let mut start = 0;
    while let Some((range, header)) = next_message(frame, start)? {
        start = range.end;
        all.push((range, header));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
