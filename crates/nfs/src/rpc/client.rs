//! One call at a time, each with a time limit.

use super::Credential;
use super::link::Link;
use super::message::{Program, Rejection, begin_call, finish_call, open_reply};
use crate::Error;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error as XdrError, encode_all};
use plimsoll_transport::{Channel, DatagramCounts, Deadline};
use std::time::Duration;

/// A blocking client of one program, over a connection or in datagrams. After an error of the
/// connection every further call gives that error: a late reply can never be taken for another call's.
#[derive(Debug)]
pub struct Client {
    link: Link,
    program: Program,
    identity: Vec<u8>,
    call: Vec<u8>,
    surplus: Option<(u32, usize)>,
}

/// What came of a call: its results, or why the RPC layer refused it.
pub(crate) struct Outcome<'a> {
    pub results: Result<Decoder<'a>, Rejection>,
    /// Whether the call was sent more than once: the server may have done it more than once, too.
    pub repeated: bool,
}

impl Client {
    /// A client over a connection, or in datagrams, which are sent again until they are answered.
    /// `reply_limit` is the longest reply taken, in bytes, and `limit` the longest wait for one.
    pub fn new(
        channel: impl Into<Channel>,
        program: Program,
        credential: &Credential,
        reply_limit: usize,
        limit: Duration,
    ) -> Self {
        Client {
            link: Link::new(channel.into(), reply_limit, limit),
            program,
            identity: encode_identity(credential),
            call: Vec::new(),
            surplus: None,
        }
    }

    /// The connection.
    pub fn socket(&self) -> &Channel {
        &self.link.channel
    }

    /// What became of datagrams since this was asked last.
    pub fn take_datagrams(&mut self) -> DatagramCounts {
        std::mem::take(&mut self.link.counts)
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.link.channel.set_deadline(deadline);
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
        self.encode(procedure, arguments)?;
        let place = self.link.exchange(&mut self.call)?;
        let mut results = open_reply(self.link.replies.frame(place))?.1?;
        let value = results.value()?;
        if results.remaining() > 0 {
            self.surplus.get_or_insert((procedure, results.remaining()));
        }
        Ok(value)
    }

    /// Calls a procedure and waits for its results, which are not looked at.
    pub(crate) fn ask<A: Encode + ?Sized>(
        &mut self,
        procedure: u32,
        arguments: &A,
    ) -> Result<Outcome<'_>, Error> {
        self.encode(procedure, arguments)?;
        let place = self.link.exchange(&mut self.call)?;
        let repeated = self.link.repeated;
        let (_, results) = open_reply(self.link.replies.frame(place))?;
        Ok(Outcome { results, repeated })
    }

    /// The transaction number is filled in with each attempt.
    fn encode<A: Encode + ?Sized>(&mut self, procedure: u32, arguments: &A) -> Result<(), Error> {
        self.call.clear();
        let at = begin_call(&mut self.call, 0, self.program, procedure, &self.identity);
        arguments.encode(&mut Encoder::new(&mut self.call));
        if finish_call(&mut self.call, at, 0) {
            return Ok(());
        }
        Err(Error::Malformed(XdrError::Invalid("length of a call")))
    }
}

/// A credential with the empty verifier that follows it, as they stand in every call.
pub(crate) fn encode_identity(credential: &Credential) -> Vec<u8> {
    let mut bytes = encode_all(credential);
    bytes.extend(encode_all(&Credential::None));
    bytes
}
