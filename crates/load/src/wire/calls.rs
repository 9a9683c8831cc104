//! Operations cut into calls of the wire, and calls put together to operations again.
//!
//! An operation longer than the transfer size is split into several calls and completes when all
//! have: its `sent` is the last call's, its `done` the last reply's. A call that transferred only
//! a part, which servers may do, is continued with the rest; one that transferred nothing is a
//! short transfer. An operation on a name may take several calls one after the other, each made when
//! the reply to the one before it has come, and then transfer bytes. Nothing is allocated for an
//! operation that reads or writes.

use super::OperationCall;
use crate::op::{Done, Found, Op, OpError, Span, Tag};
use crate::share::Full;
use plimsoll_model::{ErrorKind, Nanos};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::time::Duration;

/// Most calls in flight, however many the operations are split into.
const MOST_CALLS: u32 = 4096;

/// Largest transfers of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferSizes {
    /// In bytes; never 0.
    pub read: u32,
    /// In bytes; never 0.
    pub write: u32,
}

impl TransferSizes {
    /// How many calls operations of `block` bytes need in flight, `depth` of them at a time.
    pub fn calls(self, block: u32, depth: NonZeroU16) -> NonZeroU16 {
        let per_op = block.div_ceil(self.read.min(self.write).max(1)).max(1);
        let calls = per_op.saturating_mul(depth.get().into()).min(MOST_CALLS);
        NonZeroU16::new(calls as u16).unwrap_or(depth).max(depth)
    }
}

/// A part of an operation: one call's worth, or more that is still to be cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// The operation's tag.
    pub op: u16,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// In bytes; 0 for what transfers none.
    pub length: u32,
    /// Generation of the content that a flush writes again; 0 else.
    pub generation: u32,
    /// Whether it may have been done already: the connection broke before its reply came.
    pub resent: bool,
}

impl Call {
    /// This part of the whole span.
    pub fn part_of(&self, whole: &Span) -> Span {
        Span { offset: self.offset, length: self.length, ..*whole }
    }
}

/// What a call has done for its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It transferred bytes.
    Moved {
        /// How many.
        count: u32,
        /// Whether there can be no more: the file ends there.
        ended: bool,
    },
    /// It was the last one of an operation that transfers none.
    Found(Option<Found>),
    /// Another one comes before any bytes are transferred.
    GoOn,
    /// The operation's bytes are transferred next.
    Transfer,
    /// What it was to make stable was lost: these are written again, and then it begins anew.
    WriteAgain(Vec<Call>),
    /// The server asks to be asked again later.
    Later,
}

/// An operation under way.
#[derive(Clone, Debug)]
struct Active {
    op: Op,
    issued: Nanos,
    sent: Nanos,
    done: Nanos,
    /// Parts waiting or in flight.
    parts: u32,
    /// How often the server has asked to be asked again later.
    waits: u32,
    /// Whether its call is made again when its parts have ended.
    again: bool,
    bytes: u32,
    /// What it found, or why it failed.
    result: Result<Option<Box<Found>>, OpError>,
}

impl Active {
    fn finish(self, tag: Tag) -> Done {
        let Active { issued, sent, done, bytes, result, .. } = self;
        Done { tag, issued, sent, done, bytes, result }
    }
}

/// The bytes that an operation transfers: where from, and how many.
fn extent(op: &Op) -> (u64, u32) {
    match op {
        Op::Read(span) | Op::Write(span, _) => (span.offset, span.length),
        Op::Put(whole, _) | Op::Get(whole) => (0, whole.length),
        _ => (0, 0),
    }
}

/// The operations of a lane, and the calls they are made of.
pub(crate) struct Calls {
    sizes: TransferSizes,
    /// By the driver's tag.
    ops: Box<[Option<Active>]>,
    /// By the call's tag.
    calls: Box<[Call]>,
    free: Vec<u32>,
    /// What is not yet submitted, in order.
    waiting: VecDeque<Call>,
    finished: Vec<Done>,
    /// What is to be submitted again, and when.
    later: Vec<(Nanos, Call)>,
    /// How often the server has asked for that.
    waits: u64,
    /// Whether calls were repeated since an operation last ended.
    repeated: bool,
    /// Bytes that flushes have written again.
    written_again: u64,
}

/// How long a server that asks for it is left alone at first, and at most: each time twice as long. (RFC 1813
/// names no time; Linux waits five seconds.)
const WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Calls {
    /// Room for `depth` operations and `calls` calls at a time.
    pub fn new(depth: NonZeroU16, calls: NonZeroU16, sizes: TransferSizes) -> Self {
        let (depth, calls) = (usize::from(depth.get()), usize::from(calls.get()));
        Calls {
            sizes,
            ops: vec![None; depth].into_boxed_slice(),
            calls: vec![Call::default(); calls].into_boxed_slice(),
            free: (0..calls as u32).rev().collect(),
            waiting: VecDeque::with_capacity(depth + calls),
            finished: Vec::with_capacity(depth),
            later: Vec::new(),
            waits: 0,
            repeated: false,
            written_again: 0,
        }
    }

    /// Takes an operation; with an error it ends at once. `Ok`: whether its first calls transfer its
    /// bytes, or others come before.
    pub fn begin(
        &mut self,
        tag: Tag,
        op: &Op,
        issued: Nanos,
        begun: Result<bool, OpError>,
    ) -> Result<(), Full> {
        let slot = self.ops.get_mut(usize::from(tag.0)).ok_or(Full)?;
        if slot.is_some() {
            return Err(Full);
        }
        let (offset, length) = match begun {
            Ok(true) => extent(op),
            _ => (0, 0),
        };
        let (sent, done, result) = (issued, issued, begun.map(|_| None));
        let (op, parts, waits, again, bytes) = (*op, 1, 0, false, 0);
        let active = Active { op, issued, sent, done, parts, waits, again, bytes, result };
        if active.result.is_err() {
            self.finished.push(active.finish(tag));
            return Ok(());
        }
        *slot = Some(active);
        self.waiting.push_back(Call { op: tag.0, offset, length, ..Call::default() });
        Ok(())
    }

    /// Whether an operation can be taken under this tag.
    pub fn is_free(&self, tag: Tag) -> bool {
        self.ops.get(usize::from(tag.0)).is_some_and(Option::is_none)
    }

    /// The next call to submit, if one waits and there is room, and its tag.
    pub fn next(&mut self) -> Option<(u32, OperationCall<'_>)> {
        let (tag, call) = loop {
            let tag = *self.free.last()?;
            let mut call = self.waiting.pop_front()?;
            let Some(active) = self.ops[usize::from(call.op)].as_mut() else { continue };
            if active.result.is_err() {
                // An error has ended the operation already: nothing more of it is sent.
                self.end_part(call.op);
                continue;
            }
            let most = match active.op {
                Op::Read(_) | Op::Get(_) => self.sizes.read,
                Op::Write(..) | Op::Put(..) | Op::Flush(_) => self.sizes.write,
                _ => u32::MAX,
            };
            if call.length > most {
                active.parts += 1;
                let offset = call.offset + u64::from(most);
                let rest = Call { offset, length: call.length - most, ..call };
                self.waiting.push_front(rest);
                call.length = most;
            }
            self.free.pop();
            break (tag, call);
        };
        self.calls[tag as usize] = call;
        Some((tag, self.get(tag)?))
    }

    /// A call could not be submitted: it waits for its turn.
    pub fn put_back(&mut self, tag: u32) {
        self.free.push(tag);
        self.waiting.push_front(self.calls[tag as usize]);
    }

    /// A call in flight.
    pub fn get(&self, tag: u32) -> Option<OperationCall<'_>> {
        let call = self.calls.get(tag as usize)?;
        let active = self.ops[usize::from(call.op)].as_ref()?;
        Some(OperationCall { op: &active.op, call })
    }

    /// A call has ended, its last byte sent and its reply complete at these times.
    pub fn end(&mut self, tag: u32, sent: Nanos, done: Nanos, result: Result<Outcome, OpError>) {
        let call = self.calls[tag as usize];
        self.free.push(tag);
        let Some(active) = self.ops[usize::from(call.op)].as_mut() else { return };
        active.sent = active.sent.max(sent);
        active.done = active.done.max(done);
        let mut again = None;
        let rest = result.and_then(|outcome| match outcome {
            Outcome::Moved { count, ended } => {
                let count = whole_or_rest(call, count, ended)?;
                match active.op {
                    Op::Flush(_) => self.written_again += u64::from(count),
                    _ => active.bytes += count,
                }
                let (offset, length) = (call.offset + u64::from(count), call.length - count);
                Ok((length > 0 && active.result.is_ok()).then_some((offset, length)))
            }
            Outcome::Found(found) => {
                active.result = Ok(found.map(Box::new));
                Ok(None)
            }
            Outcome::GoOn => Ok(Some((0, 0))),
            Outcome::Transfer => Ok(Some(extent(&active.op))),
            Outcome::WriteAgain(calls) => {
                active.again = true;
                active.parts += calls.len() as u32;
                self.waiting.extend(calls);
                Ok(None)
            }
            Outcome::Later => {
                let wait = WAIT.saturating_mul(1 << active.waits.min(16)).min(LONGEST_WAIT);
                active.waits += 1;
                again = Some(done + wait);
                Ok(None)
            }
        });
        if let Some(when) = again {
            self.waits += 1;
            self.repeated = true;
            self.later.push((when, call));
            return;
        }
        match rest {
            Ok(Some((offset, length))) => {
                self.waiting.push_front(Call { offset, length, resent: false, ..call });
                return;
            }
            Ok(None) => {}
            Err(error) if active.result.is_ok() => active.result = Err(error),
            Err(_) => {}
        }
        self.end_part(call.op);
    }

    /// One part of an operation has ended; with the last the operation has.
    fn end_part(&mut self, op: u16) {
        let slot = &mut self.ops[usize::from(op)];
        let Some(active) = slot else { return };
        active.parts -= 1;
        if active.parts == 0 && active.again && active.result.is_ok() {
            (active.again, active.parts) = (false, 1);
            self.waiting.push_back(Call { op, ..Call::default() });
        } else if active.parts == 0
            && let Some(active) = slot.take()
        {
            self.repeated = false;
            self.finished.push(active.finish(Tag(op)));
        }
    }

    /// The server has asked for a part of a call to be made again later, which the pipeline does.
    pub fn postponed(&mut self) {
        self.waits += 1;
        self.repeated = true;
    }

    /// The connection broke: every call in flight waits to be sent again, before what waited already.
    pub fn send_again(&mut self) {
        let mut in_flight = vec![true; self.calls.len()];
        self.free.iter().for_each(|tag| in_flight[*tag as usize] = false);
        self.repeated = true;
        for tag in (0..self.calls.len()).rev().filter(|tag| in_flight[*tag]) {
            self.free.push(tag as u32);
            self.waiting.push_front(Call { resent: true, ..self.calls[tag] });
        }
    }

    /// When the first is to be submitted of what the server has asked to be asked again later.
    pub fn next_again(&self) -> Option<Nanos> {
        self.later.iter().map(|(when, _)| *when).min()
    }

    /// What the server is to be asked again by now waits to be submitted.
    pub fn ask_again(&mut self, now: Nanos) {
        let (waiting, later) = (&mut self.waiting, &mut self.later);
        later.retain(|(when, call)| {
            let stays = *when > now;
            if !stays {
                waiting.push_back(*call);
            }
            stays
        });
    }

    /// Whether calls are sent once more, and no operation has ended since.
    pub fn are_repeated(&self) -> bool {
        self.repeated
    }

    /// How often the server has asked to be asked again later.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Bytes that flushes have written again, as a server had lost them.
    pub fn written_again(&self) -> u64 {
        self.written_again
    }

    /// Whether operations have completed that were not yet taken.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Moves what has completed to `out`.
    pub fn take_finished(&mut self, out: &mut Vec<Done>) {
        out.append(&mut self.finished);
    }
}

/// Bytes transferred: all, or some with more to come.
fn whole_or_rest(call: Call, count: u32, ended: bool) -> Result<u32, OpError> {
    if count < call.length && (count == 0 || ended) {
        let why = if ended { ", the end of the file" } else { "" };
        let detail = format!("{count} of {} bytes at offset {}{why}", call.length, call.offset);
        return Err(OpError { kind: ErrorKind::Short, detail: detail.into() });
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::FileId;

    fn calls(depth: u16, sizes: TransferSizes, block: u32) -> Calls {
        let depth = NonZeroU16::new(depth).unwrap();
        Calls::new(depth, sizes.calls(block, depth), sizes)
    }

    fn read(offset: u64, length: u32) -> Op {
        Op::Read(Span { file: FileId(0), offset, length, generation: 0 })
    }

    const SIZES: TransferSizes = TransferSizes { read: 100, write: 40 };

    fn whole(count: u32) -> Result<Outcome, OpError> {
        Ok(Outcome::Moved { count, ended: false })
    }

    /// The next call, out of the operations' slots.
    fn next(calls: &mut Calls) -> Option<(u32, Op, Call)> {
        calls.next().map(|(tag, of)| (tag, *of.op, *of.call))
    }

    #[test]
    fn a_long_operation_ends_with_its_last_call() {
        let mut calls = calls(1, SIZES, 250);
        calls.begin(Tag(0), &read(1000, 250), Nanos(5), Ok(true)).unwrap();
        assert_eq!(calls.begin(Tag(0), &read(0, 1), Nanos(5), Ok(true)), Err(Full));
        let parts: Vec<_> = std::iter::from_fn(|| next(&mut calls)).collect();
        let spans: Vec<_> = parts.iter().map(|(_, _, c)| (c.offset, c.length)).collect();
        assert_eq!(spans, [(1000, 100), (1100, 100), (1200, 50)]);
        for (i, (tag, _, call)) in parts.iter().enumerate().rev() {
            assert!(!calls.has_finished());
            calls.end(*tag, Nanos(10 + i as u64), Nanos(20 + i as u64), whole(call.length));
        }
        let mut out = Vec::new();
        calls.take_finished(&mut out);
        let done = &out[0];
        assert_eq!((done.bytes, &done.result), (250, &Ok(None)));
        assert_eq!((done.issued, done.sent, done.done), (Nanos(5), Nanos(12), Nanos(22)));
    }

    #[test]
    fn a_partial_transfer_is_continued_and_an_empty_one_is_short() {
        let mut calls = calls(1, SIZES, 100);
        calls.begin(Tag(0), &read(0, 100), Nanos(0), Ok(true)).unwrap();
        let (tag, ..) = next(&mut calls).unwrap();
        calls.end(tag, Nanos(1), Nanos(2), whole(30));
        let (tag, _, call) = next(&mut calls).unwrap();
        assert_eq!((call.offset, call.length), (30, 70));
        calls.end(tag, Nanos(3), Nanos(4), whole(0));
        let mut out = Vec::new();
        calls.take_finished(&mut out);
        assert_eq!(out[0].bytes, 30);
        assert_eq!(out[0].result.as_ref().unwrap_err().kind, ErrorKind::Short);
    }

    #[test]
    fn after_an_error_nothing_more_of_the_operation_is_sent() {
        // Room for two calls alone: the rest waits.
        let depth = NonZeroU16::MIN;
        let mut calls = Calls::new(depth, NonZeroU16::new(2).unwrap(), SIZES);
        calls.begin(Tag(0), &read(0, 1000), Nanos(0), Ok(true)).unwrap();
        let (first, ..) = next(&mut calls).unwrap();
        let (second, ..) = next(&mut calls).unwrap();
        assert!(next(&mut calls).is_none());
        calls.end(first, Nanos(1), Nanos(2), Err(crate::op::not_open(FileId(0))));
        assert!(next(&mut calls).is_none() && !calls.has_finished(), "the second is in flight");
        calls.end(second, Nanos(1), Nanos(3), whole(100));
        let mut out = Vec::new();
        calls.take_finished(&mut out);
        assert_eq!(out[0].result, Err(crate::op::not_open(FileId(0))));
    }

    /// NFS3ERR_JUKEBOX and the like.
    #[test]
    fn a_server_that_is_not_ready_is_asked_again_each_time_later() {
        let mut calls = calls(1, SIZES, 100);
        calls.begin(Tag(0), &read(7, 100), Nanos(0), Ok(true)).unwrap();
        let mut now = Nanos(0);
        for wait in [100, 200, 400, 800, 1600, 3200, 5000, 5000].map(Duration::from_millis) {
            let (tag, _, call) = next(&mut calls).unwrap();
            assert_eq!((call.offset, call.length), (7, 100), "the same call");
            calls.end(tag, now, now, Ok(Outcome::Later));
            assert!(next(&mut calls).is_none() && !calls.has_finished());
            assert_eq!(calls.next_again(), Some(now + wait));
            assert!(calls.are_repeated());
            calls.ask_again(Nanos((now + wait).0 - 1));
            assert!(next(&mut calls).is_none(), "not yet");
            now = now + wait;
            calls.ask_again(now);
        }
        let (tag, ..) = next(&mut calls).unwrap();
        calls.end(tag, now, now, whole(100));
        assert_eq!((calls.has_finished(), calls.next_again(), calls.waits()), (true, None, 8));
        assert!(!calls.are_repeated(), "the operation has ended");
    }

    /// Part of a call, below the lane.
    #[test]
    fn what_a_pipeline_makes_again_counts_as_a_wait() {
        let mut calls = calls(1, SIZES, 100);
        calls.begin(Tag(0), &read(7, 100), Nanos(0), Ok(true)).unwrap();
        let (tag, ..) = next(&mut calls).unwrap();
        calls.postponed();
        assert_eq!((calls.waits(), calls.are_repeated(), calls.next_again()), (1, true, None));
        calls.end(tag, Nanos(1), Nanos(2), whole(100));
        assert_eq!((calls.waits(), calls.are_repeated()), (1, false));
    }

    #[test]
    fn what_could_not_be_submitted_waits_for_its_turn() {
        let mut calls = calls(2, SIZES, 100);
        calls.begin(Tag(0), &read(0, 100), Nanos(0), Ok(true)).unwrap();
        calls.begin(Tag(1), &Op::Flush(FileId(0)), Nanos(0), Ok(true)).unwrap();
        let (tag, _, first) = next(&mut calls).unwrap();
        calls.put_back(tag);
        let (tag, op, again) = next(&mut calls).unwrap();
        assert_eq!(
            (again, calls.get(tag).map(|of| (*of.op, *of.call))),
            (first, Some((op, again)))
        );
        assert!(matches!(next(&mut calls), Some((_, Op::Flush(_), Call { length: 0, .. }))));
    }
}
