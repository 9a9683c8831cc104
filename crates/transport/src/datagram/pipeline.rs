//! Many calls in flight, each in a datagram of its own.

use super::attempts::{Attempts, DatagramCounts, Heard};
use super::round_trip::RoundTrip;
use super::socket::{DatagramSocket, LONGEST_DATAGRAM};
use super::window::Window;
use crate::pipeline::{
    BadFrame, Completion, Encoded, Exchange, Full, InFlight, Outgoing, Protocol, Received,
};
use crate::{Calling, Error};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Datagrams looked at before anything else is done.
const AT_ONCE: usize = 64;

/// A protocol whose calls may be sent as datagrams: what its frames are without their marks.
pub trait DatagramProtocol: Protocol {
    /// Classes of calls, which take servers unlike times.
    const CLASSES: usize;

    /// The number under which a call is sent next. Those of one slot count up by [`Self::step`].
    fn number(call: &Self::Call) -> u32;
    /// How far the numbers of a slot are apart: a power of two.
    fn step(&self) -> u32;
    /// The number in a reply and the slot that it belongs to; `None`: it has none.
    fn answered(&mut self, reply: Range<usize>) -> Option<(u32, u16)>;
    /// The call is to be sent again, under its next number.
    fn again(&mut self, call: &mut Self::Call);
    /// The call's class, below [`Self::CLASSES`].
    fn class(call: &Self::Call) -> usize;
}

/// The attempts of one slot.
#[derive(Clone, Copy, Debug)]
struct Sending {
    attempts: Attempts,
    /// When the call was first sent, and last.
    first: u64,
    last: u64,
    /// When it is sent again.
    due: u64,
    /// Attempts so far that had no answer.
    unanswered: u32,
    awaits: bool,
}

/// Many calls in flight to one peer, as [`Pipeline`](crate::Pipeline) has them on a connection. A
/// call that is not answered in time is sent again, under a new number: a late reply is never taken
/// for another's. How many are sent at a time follows from what the way and the server bear.
pub struct DatagramPipeline<P: DatagramProtocol> {
    socket: DatagramSocket,
    protocol: P,
    outgoing: Outgoing,
    calls: InFlight<P::Call>,
    sendings: Box<[Sending]>,
    trips: Box<[RoundTrip]>,
    window: Window,
    /// Calls that await their answers.
    awaiting: usize,
    /// No call is due before.
    earliest: u64,
    counts: DatagramCounts,
    dead: Option<P::Error>,
}

impl<P: DatagramProtocol> DatagramPipeline<P> {
    /// A pipeline to a peer, with a slot for each of `calls`. `longest` is the longest call in bytes
    /// without its payload.
    pub fn new(
        socket: DatagramSocket,
        protocol: P,
        calls: impl ExactSizeIterator<Item = P::Call>,
        longest: usize,
    ) -> Self {
        let step = protocol.step();
        let begun = |call: &P::Call| {
            let attempts = Attempts::new(P::number(call), step);
            Sending { attempts, first: 0, last: 0, due: 0, unanswered: 0, awaits: false }
        };
        let calls: Vec<_> = calls.collect();
        let sendings: Box<[_]> = calls.iter().map(begun).collect();
        DatagramPipeline {
            socket,
            protocol,
            outgoing: Outgoing::new(longest),
            window: Window::new(sendings.len().try_into().unwrap_or(u16::MAX)),
            sendings,
            calls: InFlight::new(calls.into_iter()),
            trips: vec![RoundTrip::default(); P::CLASSES].into(),
            awaiting: 0,
            earliest: u64::MAX,
            counts: DatagramCounts::default(),
            dead: None,
        }
    }

    /// The socket.
    pub fn socket(&self) -> &DatagramSocket {
        &self.socket
    }

    fn note<T>(&mut self, result: Result<T, P::Error>) -> Result<T, P::Error> {
        if let Err(error) = &result {
            self.dead = Some(error.clone());
        }
        result
    }

    /// Calls that are due are to be sent again.
    fn expire(&mut self, now: u64) {
        if now < self.earliest {
            return;
        }
        self.earliest = u64::MAX;
        for index in self.calls.indices() {
            let sending = &mut self.sendings[usize::from(index)];
            if !sending.awaits {
                continue;
            }
            if sending.due > now {
                self.earliest = self.earliest.min(sending.due);
                continue;
            }
            if let Some(slot) = self.calls.sent(index) {
                self.protocol.again(&mut slot.call);
                self.calls.go_on(index);
                self.window.lost(sending.last, now);
                self.counts.retransmitted += 1;
                (sending.awaits, sending.unanswered) = (false, sending.unanswered + 1);
                self.awaiting -= 1;
            }
        }
    }

    /// Sends what waits, as far as the window allows; how many calls have ended by that.
    fn send(&mut self, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        let mut ended = 0;
        while self.window.allows(self.awaiting)
            && let Some((index, slot)) = self.calls.waiting()
        {
            match self.protocol.encode(index, slot, &mut self.outgoing, with)? {
                Encoded::Waits => break,
                Encoded::Refused(error) => {
                    let (tag, now) = (slot.tag, with.now());
                    self.calls.refused();
                    self.sendings[usize::from(index)].unanswered = 0;
                    with.complete(Completion { tag, sent: now, done: now, result: Err(error) });
                    ended += 1;
                }
                Encoded::Queued => {
                    let (number, class) = (P::number(&slot.call), P::class(&slot.call));
                    self.calls.encoded(self.outgoing.queued());
                    let sent = self.outgoing.datagram(with, |parts| {
                        let length = parts.iter().map(|part| part.len()).sum();
                        if length > LONGEST_DATAGRAM {
                            return Err(
                                BadFrame::TooLong { length, limit: LONGEST_DATAGRAM }.into()
                            );
                        }
                        heeded(self.socket.send(parts)).map_err(P::Error::from)
                    })?;
                    sent?;
                    let now = with.now();
                    self.calls.handed(self.outgoing.handed(), now);
                    let wait = |sending: &Sending| self.trips[class].timeout(sending.unanswered);
                    let sending = &mut self.sendings[usize::from(index)];
                    sending.attempts.make(number);
                    if sending.unanswered == 0 {
                        sending.first = now;
                    }
                    (sending.last, sending.awaits) = (now, true);
                    sending.due = now.saturating_add(wait(sending).as_nanos() as u64);
                    self.earliest = self.earliest.min(sending.due);
                    self.awaiting += 1;
                }
            }
        }
        Ok(ended)
    }

    /// Receives what is there, waiting for a first datagram; how many calls have ended by that.
    fn receive(&mut self, limit: Duration, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        let (mut ended, mut limit) = (0, limit);
        for _ in 0..AT_ONCE {
            let buffer = self.protocol.replies().datagram();
            let most = buffer.len();
            let received = self.socket.receive(buffer, limit);
            limit = Duration::ZERO;
            match received {
                Ok(None) => break,
                Ok(Some(length)) if length > most => self.counts.unknown += 1,
                Ok(Some(length)) => ended += usize::from(self.heard(0..length, with)),
                Err(error) => heeded(Err(error))?,
            }
        }
        Ok(ended)
    }

    /// Looks at a datagram; whether it ended a call.
    fn heard(&mut self, place: Range<usize>, with: &mut impl Exchange<P>) -> bool {
        let Some((number, index)) = self.protocol.answered(place.clone()) else {
            self.counts.unknown += 1;
            return false;
        };
        let Some(sending) = self.sendings.get_mut(usize::from(index)) else {
            self.counts.unknown += 1;
            return false;
        };
        let heard = sending.attempts.hear(number);
        // A call that was given up waits to be sent again: what answers it now comes too late.
        let heard = if heard == Heard::Now && !sending.awaits { Heard::Late } else { heard };
        let Some(slot) = self.calls.sent(index).filter(|_| heard == Heard::Now) else {
            self.counts.dropped(heard);
            return false;
        };
        let done = with.now();
        // What was lost is part of the time that the call took.
        slot.sent = sending.first;
        let class = P::class(&slot.call);
        let calls = &mut self.calls;
        match self.protocol.complete(Received { place, done, calls, with }) {
            Ok(ended) => {
                self.trips[class].measured(Duration::from_nanos(done.saturating_sub(sending.last)));
                (sending.awaits, sending.unanswered) = (false, 0);
                self.window.answered(self.awaiting);
                self.awaiting -= 1;
                ended > 0
            }
            // No reply at all: the call is sent again when its time is over.
            Err(_) => {
                self.counts.unknown += 1;
                false
            }
        }
    }

    fn reap_inner(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        loop {
            self.expire(with.now());
            let mut completed = self.send(with)?;
            if self.in_flight() == 0 {
                return Ok(completed);
            }
            let until = if completed > 0 { 0 } else { until };
            let now = with.now();
            let left = Duration::from_nanos(until.min(self.earliest).saturating_sub(now));
            completed += self.receive(left, with)?;
            if completed > 0 || until <= now {
                return Ok(completed);
            }
        }
    }
}

/// A peer that refuses datagrams may be starting: what was sent is lost, and is sent again.
fn heeded(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::Connect { kind: io::ErrorKind::ConnectionRefused, .. }) => Ok(()),
        other => other,
    }
}

impl<P: DatagramProtocol> Calling<P> for DatagramPipeline<P> {
    fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    fn in_flight(&self) -> usize {
        self.calls.count()
    }

    fn submit(&mut self, tag: u32, mut request: P::Request<'_>) -> Result<(), Full> {
        let slot = self.calls.begin(tag).ok_or(Full)?;
        self.protocol.begin(&mut request, &mut slot.call);
        Ok(())
    }

    fn flush(&mut self, with: &mut impl Exchange<P>) -> Result<(), P::Error> {
        self.dead.clone().map_or(Ok(()), Err)?;
        let result = self.send(with).map(drop);
        self.note(result)
    }

    fn reap(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        self.dead.clone().map_or(Ok(()), Err)?;
        let result = self.reap_inner(until, with);
        self.note(result)
    }

    fn datagrams(&self) -> DatagramCounts {
        self.counts
    }
}
