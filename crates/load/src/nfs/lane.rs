//! A lane over one NFS connection.
//!
//! An operation longer than the transfer size is split into several calls and completes when all
//! have: its `sent` is the last call's, its `done` the last reply's. A call that transferred only
//! a part, which servers may do, is continued with the rest; one that transferred nothing is a
//! short transfer.

use super::failures::{lane_dead, op_error};
use super::files::Known;
use crate::content::{Content, ContentWriter};
use crate::op::{Done, Op, OpError, Span, Tag};
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use model::{Clock, ErrorKind, Nanos, Stability};
use nfs::nfs3::{self, Completion, Exchange, Payload, Pipeline, PipelineOptions};
use nfs::rpc::Credential;
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::sync::Arc;
use tcp::Socket;

/// Payloads up to this many bytes are copied, so that many go in one system call; for longer ones
/// the copy would cost more than the call.
const COPIED: u32 = 16 * 1024;
/// Most calls in flight, however many the operations are split into.
const MOST_CALLS: u32 = 4096;

/// A lane over one connection.
pub(super) struct NfsLane {
    pipeline: Pipeline,
    work: Work,
}

impl NfsLane {
    /// `sizes` are those of READ and WRITE in bytes.
    pub fn new(
        socket: Socket,
        credential: &Credential,
        sizes: (u32, u32),
        files: Known,
        request: LaneRequest,
    ) -> Self {
        let depth = request.depth;
        let (read_size, write_size) = (sizes.0.max(1), sizes.1.max(1));
        let calls_per_op = request.block.div_ceil(read_size.min(write_size)).max(1);
        let calls = calls_per_op.saturating_mul(depth.get().into()).min(MOST_CALLS);
        let calls = NonZeroU16::new(calls as u16).unwrap_or(depth).max(depth);
        let options = PipelineOptions {
            depth: calls,
            read_most: read_size.min(request.block.max(1)),
            write_most: write_size,
        };
        let calls = usize::from(calls.get());
        NfsLane {
            pipeline: Pipeline::new(socket, credential, options),
            work: Work {
                files,
                writer: request.content.writer(request.block),
                content: request.content,
                verify: request.verify,
                clock: request.clock,
                read_size,
                write_size,
                ops: vec![None; depth.get().into()].into_boxed_slice(),
                calls: vec![Call::default(); calls].into_boxed_slice(),
                free_calls: (0..calls as u32).rev().collect(),
                waiting: VecDeque::with_capacity(usize::from(depth.get()) + calls),
                finished: Vec::with_capacity(depth.get().into()),
            },
        }
    }

    /// Makes calls of what waits, as far as there is room.
    fn issue(&mut self) {
        while let Some(&part) = self.work.waiting.front() {
            let Some(call) = self.work.free_calls.pop() else { return };
            self.work.waiting.pop_front();
            if self.work.has_failed(part) {
                self.work.free_calls.push(call);
                self.work.end_part(part.op);
                continue;
            }
            let (now, rest) = self.work.cut(part);
            if let Some(rest) = rest {
                self.work.waiting.push_front(rest);
            }
            self.work.calls[call as usize] = now;
            if self.submit(call, now).is_err() {
                // Calls and the pipeline's slots are as many: this cannot happen; but if it did,
                // the part waits for its turn.
                self.work.free_calls.push(call);
                self.work.waiting.push_front(now);
                return;
            }
        }
    }

    fn submit(&mut self, tag: u32, call: Call) -> Result<(), nfs3::Full> {
        let NfsLane { pipeline, work } = self;
        let Some(op) = work.ops[usize::from(call.op)].as_ref().map(|active| active.op) else {
            return Ok(());
        };
        let Some(file) = work.files.get(file_of(&op)) else { return Ok(()) };
        match op {
            Op::Read(_) => pipeline.read(tag, &file.handle, call.offset, call.length),
            Op::Flush(_) => {
                file.unstable.commit_begins();
                pipeline.commit(tag, &file.handle)
            }
            Op::Write(span, stability) => {
                let stability = match stability {
                    Stability::Unstable => nfs3::Stability::Unstable,
                    Stability::FileSync => nfs3::Stability::FileSync,
                };
                let payload = if call.length <= COPIED {
                    Payload::Now(work.writer.fill(&call.span(&span)))
                } else {
                    Payload::Later(call.length)
                };
                pipeline.write(tag, &file.handle, call.offset, stability, payload)
            }
        }
    }
}

impl Lane for NfsLane {
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let slot = self.work.ops.get_mut(usize::from(tag.0)).ok_or(Full)?;
        if slot.is_some() {
            return Err(Full);
        }
        let mut active =
            Active { op: *op, issued, sent: issued, done: issued, parts: 1, bytes: 0, error: None };
        if self.work.files.get(file_of(op)).is_none() {
            let detail = "the file is not open in this lane".into();
            active.error = Some(OpError { kind: ErrorKind::Gone, detail });
            self.work.finished.push(active.finish(tag));
            return Ok(());
        }
        *slot = Some(active);
        let (offset, length) = match op {
            Op::Read(span) | Op::Write(span, _) => (span.offset, span.length),
            Op::Flush(_) => (0, 0),
        };
        self.work.waiting.push_back(Call { op: tag.0, offset, length });
        self.issue();
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let before = out.len();
        loop {
            let result = if self.work.finished.is_empty() && self.pipeline.in_flight() > 0 {
                self.pipeline.reap(until.0, &mut self.work).map(drop)
            } else {
                self.pipeline.flush(&mut self.work)
            };
            self.issue();
            out.append(&mut self.work.finished);
            result.map_err(|error| lane_dead(&error))?;
            if out.len() > before {
                return Ok(());
            }
            if self.pipeline.in_flight() == 0 {
                self.work.clock.sleep_until(until);
                return Ok(());
            }
            if self.work.clock.now() >= until {
                return Ok(());
            }
        }
    }
}

/// A part of an operation: one call's worth, or more that is still to be cut.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    /// The operation's tag.
    op: u16,
    offset: u64,
    length: u32,
}

impl Call {
    fn span(&self, whole: &Span) -> Span {
        Span { offset: self.offset, length: self.length, ..*whole }
    }
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
    bytes: u32,
    error: Option<OpError>,
}

impl Active {
    fn finish(self, tag: Tag) -> Done {
        let Active { issued, sent, done, bytes, error, .. } = self;
        Done { tag, issued, sent, done, bytes, result: error.map_or(Ok(()), Err) }
    }

    /// Keeps the first error.
    fn fail(&mut self, error: OpError) {
        self.error.get_or_insert(error);
    }
}

/// Everything of a lane but its connection.
struct Work {
    files: Known,
    content: Arc<Content>,
    writer: ContentWriter,
    verify: bool,
    clock: Arc<dyn Clock>,
    read_size: u32,
    write_size: u32,
    /// By the driver's tag.
    ops: Box<[Option<Active>]>,
    /// By the pipeline's tag.
    calls: Box<[Call]>,
    free_calls: Vec<u32>,
    /// What is not yet submitted, in order.
    waiting: VecDeque<Call>,
    finished: Vec<Done>,
}

impl Work {
    /// Whether an error has ended the operation already: then nothing more of it is sent.
    fn has_failed(&self, part: Call) -> bool {
        self.ops[usize::from(part.op)].as_ref().is_some_and(|active| active.error.is_some())
    }

    /// One part of an operation has ended; with the last the operation has.
    fn end_part(&mut self, op: u16) {
        let slot = &mut self.ops[usize::from(op)];
        let Some(active) = slot else { return };
        active.parts -= 1;
        if active.parts == 0
            && let Some(active) = slot.take()
        {
            self.finished.push(active.finish(Tag(op)));
        }
    }

    /// Cuts one call off a part; the rest counts as a further part.
    fn cut(&mut self, part: Call) -> (Call, Option<Call>) {
        let Some(active) = self.ops[usize::from(part.op)].as_mut() else { return (part, None) };
        let most = match active.op {
            Op::Read(_) => self.read_size,
            Op::Write(..) => self.write_size,
            Op::Flush(_) => return (part, None),
        };
        if part.length <= most {
            return (part, None);
        }
        active.parts += 1;
        let offset = part.offset + u64::from(most);
        let rest = Call { offset, length: part.length - most, ..part };
        (Call { length: most, ..part }, Some(rest))
    }
}

impl Exchange for Work {
    fn now(&mut self) -> u64 {
        self.clock.now().0
    }

    fn payload(&mut self, tag: u32) -> &[u8] {
        let call = self.calls[tag as usize];
        match self.ops[usize::from(call.op)].as_ref().map(|active| active.op) {
            Some(Op::Write(span, _)) => self.writer.fill(&call.span(&span)),
            _ => &[],
        }
    }

    fn complete(&mut self, completion: Completion<'_>) {
        let Completion { tag, sent, done, result } = completion;
        let call = self.calls[tag as usize];
        self.free_calls.push(tag);
        let Some(active) = self.ops[usize::from(call.op)].as_mut() else { return };
        active.sent = active.sent.max(Nanos(sent));
        active.done = active.done.max(Nanos(done));
        let transferred = match result {
            Ok(transferred) => {
                outcome(&self.files, self.verify, &self.content, active, call, transferred)
            }
            Err(error) => Err(op_error(&error)),
        };
        match transferred {
            Ok(count) if count < call.length && active.error.is_none() => {
                active.bytes += count;
                let offset = call.offset + u64::from(count);
                let length = call.length - count;
                self.waiting.push_front(Call { offset, length, ..call });
                return;
            }
            Ok(count) => active.bytes += count,
            Err(error) => active.fail(error),
        }
        self.end_part(call.op);
    }
}

/// What a reply means for its operation: bytes transferred, never zero where some were asked for.
fn outcome(
    files: &Known,
    verify: bool,
    content: &Content,
    active: &Active,
    call: Call,
    done: nfs3::Done<'_>,
) -> Result<u32, OpError> {
    let unstable = files.get(file_of(&active.op)).map(|file| &file.unstable);
    let (count, ended) = match (active.op, done) {
        (Op::Read(span), nfs3::Done::Read { data, end_of_file }) => {
            if verify {
                content.check(span.file, span.generation, call.offset, data)?;
            }
            (data.len() as u32, end_of_file)
        }
        (_, nfs3::Done::Write { count, committed, verifier }) => {
            if committed == nfs3::Stability::Unstable
                && let Some(unstable) = unstable
            {
                unstable.written(verifier).map_err(|e| op_error(&e))?;
            }
            (count, false)
        }
        (_, nfs3::Done::Commit { verifier }) => {
            if let Some(unstable) = unstable {
                unstable.committed(verifier).map_err(|e| op_error(&e))?;
            }
            return Ok(0);
        }
        (_, nfs3::Done::Read { .. }) => (0, false),
    };
    if count < call.length && (count == 0 || ended) {
        let why = if ended { ", the file ends there" } else { "" };
        let at = call.offset;
        let detail = format!("{count} of {} bytes at offset {at}{why}", call.length);
        return Err(OpError { kind: ErrorKind::Short, detail: detail.into() });
    }
    Ok(count)
}

fn file_of(op: &Op) -> crate::op::FileId {
    match op {
        Op::Read(span) | Op::Write(span, _) => span.file,
        Op::Flush(file) => *file,
    }
}
