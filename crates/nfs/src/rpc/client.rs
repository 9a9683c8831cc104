//! One call at a time, each with a time limit.

use super::message::{Program, begin_call, finish_call, open_reply, random_xid};
use super::{Credential, RecordBuffer};
use crate::Error;
use crate::xdr::{Decode, Encode, Encoder, Error as XdrError, encode_all};
use plimsoll_transport::{Deadline, Socket};
use std::ops::Range;
use std::time::Duration;

/// A blocking client of one program on one connection. After an error of the connection every
/// further call gives that error: a late reply can never be taken for another call's.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    program: Program,
    identity: Vec<u8>,
    call: Vec<u8>,
    replies: RecordBuffer,
    xid: u32,
    limit: Duration,
    dead: Option<Error>,
    surplus: Option<(u32, usize)>,
}

impl Client {
    /// A client over a connection. `reply_limit` is the longest reply taken, in bytes, and
    /// `limit` the longest wait for one.
    pub fn new(
        socket: Socket,
        program: Program,
        credential: &Credential,
        reply_limit: usize,
        limit: Duration,
    ) -> Self {
        Client {
            socket,
            program,
            identity: encode_identity(credential),
            call: Vec::new(),
            replies: RecordBuffer::new(reply_limit),
            xid: random_xid(),
            limit,
            dead: None,
            surplus: None,
        }
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.socket.set_deadline(deadline);
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once. Such
    /// bytes are passed over: they are the server's mistake, and harm nothing.
    pub fn take_surplus(&mut self) -> Option<(u32, usize)> {
        self.surplus.take()
    }

    /// Calls a procedure and waits for its results, which may borrow from the reply.
    pub fn call<'a, A: Encode + ?Sized, R: Decode<'a>>(
        &'a mut self,
        procedure: u32,
        arguments: &A,
    ) -> Result<R, Error> {
        if let Some(error) = &self.dead {
            return Err(error.clone());
        }
        self.call.clear();
        self.xid = self.xid.wrapping_add(1);
        let at = begin_call(&mut self.call, self.xid, self.program, procedure, &self.identity);
        arguments.encode(&mut Encoder::new(&mut self.call));
        if !finish_call(&mut self.call, at, 0) {
            return Err(Error::Malformed(XdrError::Invalid("length of a call")));
        }
        let end = self.socket.within(self.limit);
        let sent = self.socket.send_all(&self.call, &end).map_err(Error::from);
        let place = match sent.and_then(|()| self.receive(&end)) {
            Ok(place) => place,
            Err(error) => {
                self.dead = Some(error.clone());
                return Err(error);
            }
        };
        let (xid, outcome) = open_reply(self.replies.frame(place))?;
        if xid != self.xid {
            self.dead = Some(Error::UnknownTransaction(xid));
            return Err(Error::UnknownTransaction(xid));
        }
        let mut results = outcome?;
        let value = results.value()?;
        if results.remaining() > 0 {
            self.surplus.get_or_insert((procedure, results.remaining()));
        }
        Ok(value)
    }

    fn receive(&mut self, end: &Deadline) -> Result<Range<usize>, Error> {
        loop {
            if let Some(place) = self.replies.next_frame()? {
                return Ok(place);
            }
            let count = self.socket.receive_some(self.replies.remaining(), end)?;
            self.replies.filled(count);
        }
    }
}

/// A credential with the empty verifier that follows it, as they stand in every call.
pub(crate) fn encode_identity(credential: &Credential) -> Vec<u8> {
    let mut bytes = encode_all(credential);
    bytes.extend(encode_all(&Credential::None));
    bytes
}
