//! A lane over one connection or in datagrams, whatever is spoken on it.

mod calls;
mod reconnect;

pub(crate) use calls::{Call, Outcome, TransferSizes};
pub(crate) use reconnect::Gap;

use crate::connection::patiently;
use crate::content::{Content, ContentWriter};
pub(crate) use crate::op::not_open;
use crate::op::{Done, Node, Op, OpError, PathId, Span, Tag, Whole};
use crate::paths::Paths;
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use calls::Calls;
use plimsoll_model::{Clock, Deadline, ErrorKind, Failure, Nanos, OpKind};
use plimsoll_transport::{
    Calling, Completion, DatagramCounts, Exchange, Pipeline, PipelineOptions, Protocol,
};
use reconnect::{Link, Reconnect};
use std::sync::Arc;
use std::time::Duration;

/// The error of a call, in a protocol.
type ErrorOf<W> = <<W as Wire>::Protocol as Protocol>::Error;

/// How operations become calls of a protocol: what a lane needs of each kind of share.
pub(crate) trait Wire: Send {
    /// What is spoken.
    type Protocol: Protocol;

    /// Whether its clients make a file stable when it is closed.
    const COMMITS_AT_CLOSE: bool;

    /// Whether operations of this kind are done.
    fn does(&self, kind: OpKind) -> bool;
    /// Begins an operation under a tag: whether its first calls transfer its bytes.
    fn begin(&mut self, tag: u16, op: &Op) -> Result<bool, OpError>;
    /// What a call of it asks for. `None`: nothing, the operation has ended.
    fn request(
        &mut self,
        of: OperationCall<'_>,
    ) -> Result<Option<<Self::Protocol as Protocol>::Request<'_>>, OpError>;
    /// What a reply means for its operation.
    fn outcome<'a>(
        &mut self,
        of: OperationCall<'_>,
        done: <Self::Protocol as Protocol>::Done<'a>,
    ) -> Result<Reply<'a>, OpError>;
    /// What a refusal means for its operation.
    fn refused(&mut self, of: OperationCall<'_>, error: &ErrorOf<Self>)
    -> Result<Outcome, OpError>;
    /// The end of the lane.
    fn dead(error: &ErrorOf<Self>) -> LaneDead;
    /// Whether only the connection has gone, so that a new one is worth trying.
    fn is_lost(_error: &ErrorOf<Self>) -> bool {
        false
    }
    /// The lane is dropped; what went wrong on it and was mended.
    fn mended(&self, _mended: &Mended<'_>) {}
    /// The lane is dropped; how often its server has asked to be asked again later.
    fn farewell(&self, _protocol: &mut Self::Protocol, _waits: u64) {}
    /// The lane is dropped; what became of its datagrams.
    fn datagrams(&self, _counts: DatagramCounts) {}
}

/// A call, and the operation that it is part of.
#[derive(Clone, Copy)]
pub(crate) struct OperationCall<'o> {
    pub op: &'o Op,
    pub call: &'o Call,
}

/// What a call has done: bytes that were read, which are to be checked, or anything else.
pub(crate) enum Reply<'a> {
    /// Bytes of a file or of a small file, and whether it ends after them.
    Data(&'a [u8], bool),
    Other(Outcome),
}

impl From<Outcome> for Reply<'_> {
    fn from(outcome: Outcome) -> Self {
        Reply::Other(outcome)
    }
}

/// What went wrong on a lane and was mended.
pub(crate) struct Mended<'m> {
    /// Times without a connection.
    pub gaps: &'m [Gap],
    /// Bytes that were written again, as the server had lost them.
    pub written_again: u64,
}

/// A lane over one connection, or what stands for one.
pub(crate) struct WireLane<W: Wire, C: Calling<W::Protocol> = Pipeline<<W as Wire>::Protocol>> {
    pipeline: C,
    work: Work<W>,
    /// `None`: a lane whose connection breaks has ended.
    reconnect: Option<Reconnect<W, C>>,
}

/// Everything of a lane but its connection.
struct Work<W> {
    wire: W,
    calls: Calls,
    content: Arc<Content>,
    writer: ContentWriter,
    verify: bool,
    clock: Arc<dyn Clock>,
    /// When the last reply came, or the first call after a time without any was made.
    heard: Nanos,
}

/// The size of a lane's pipeline.
pub(crate) fn pipeline_options(sizes: TransferSizes, request: &LaneRequest) -> PipelineOptions {
    let depth = sizes.calls(request.block, request.depth);
    let read_most = sizes.read.min(request.block.max(1));
    PipelineOptions { depth, read_most, write_most: sizes.write, unread: !request.verify }
}

/// A lane over what `connect` makes, of the size of [`pipeline_options`], and makes again when it breaks, or is
/// silent for so long; a server may be away for as long.
pub(crate) fn reconnecting<W: Wire + 'static, C: Calling<W::Protocol> + Send + 'static>(
    connect: impl Fn() -> Result<C, Failure> + Send + 'static,
    wire: W,
    sizes: TransferSizes,
    request: LaneRequest,
    deadline: &Deadline,
    limit: Duration,
) -> Result<Box<dyn Lane>, Failure> {
    let mut lane = WireLane::new(patiently(deadline, limit, &connect)?, wire, sizes, request);
    lane.reconnect = Some(Reconnect::new(Box::new(move |_| connect()), limit));
    Ok(Box::new(lane))
}

impl<W: Wire, C: Calling<W::Protocol>> WireLane<W, C> {
    /// A lane over a pipeline that has the size of [`pipeline_options`].
    pub fn new(pipeline: C, wire: W, sizes: TransferSizes, request: LaneRequest) -> Self {
        let calls = sizes.calls(request.block, request.depth);
        // What is written again may have been written in longer pieces, by another lane.
        let sizes = TransferSizes { write: sizes.write.min(request.block.max(1)), ..sizes };
        let work = Work {
            wire,
            calls: Calls::new(request.depth, calls, sizes),
            writer: request.content.writer(request.block),
            content: request.content,
            verify: request.verify,
            heard: request.clock.now(),
            clock: request.clock,
        };
        WireLane { pipeline, work, reconnect: None }
    }

    /// When the server is to be asked again, if that is before `until`: it does not wait for anything else.
    fn until_asked(&self, until: Nanos) -> Nanos {
        self.work.calls.next_again().map_or(until, |when| when.min(until))
    }

    /// When to stop waiting for replies, if that is before `until`.
    fn until_due(&self, until: Nanos) -> Nanos {
        let silent = self.reconnect.as_ref().and_then(|r| r.silent_at(self.work.heard));
        self.until_asked(until).min(silent.unwrap_or(until))
    }

    /// Whether there is no connection now.
    #[inline]
    fn is_broken(&self) -> bool {
        self.reconnect.as_ref().is_some_and(Reconnect::is_broken)
    }

    /// Makes calls of what waits, as far as there is room.
    fn issue(&mut self) {
        if self.is_broken() {
            return;
        }
        let WireLane { pipeline, work, .. } = self;
        if work.calls.next_again().is_some() {
            let now = work.clock.now();
            if pipeline.in_flight() == 0 {
                work.heard = now;
            }
            work.calls.ask_again(now);
        }
        while let Some((tag, of)) = work.calls.next() {
            match work.wire.request(of) {
                Ok(Some(request)) => {
                    if pipeline.submit(tag, request).is_err() {
                        // Calls and the pipeline's slots are as many: this cannot happen; but if it
                        // did, the part waits for its turn.
                        work.calls.put_back(tag);
                        return;
                    }
                }
                ended => {
                    let now = work.clock.now();
                    let result = ended.map(|_| Outcome::Found(None));
                    work.calls.end(tag, now, now, result);
                }
            }
        }
    }
}

impl<W: Wire, C: Calling<W::Protocol>> WireLane<W, C> {
    /// The connection is of no use any more: the lane ends, or what was in flight waits for another one.
    #[cold]
    fn broke(&mut self, error: &ErrorOf<W>) -> Result<(), LaneDead> {
        let WireLane { work, reconnect, .. } = self;
        let dead = W::dead(error);
        match reconnect {
            Some(reconnect) if W::is_lost(error) => {
                reconnect.broke(work.heard, work.clock.now(), dead)?;
                work.calls.send_again();
                Ok(())
            }
            _ => Err(dead),
        }
    }

    /// Nothing has been heard for too long: perhaps the other end has forgotten the connection.
    fn look_for_silence(&mut self, now: Nanos) {
        let WireLane { pipeline, work, reconnect } = self;
        let Some(reconnect) = reconnect else { return };
        if pipeline.in_flight() > 0
            && !reconnect.is_broken()
            && reconnect.silent_at(work.heard).is_some_and(|at| now >= at)
        {
            let detail = "the connection was silent".to_owned();
            let dead = LaneDead { kind: ErrorKind::TimedOut, detail };
            reconnect.fell_silent(work.heard, now, dead);
            work.calls.send_again();
        }
    }

    /// Connects again where the connection broke; whether there is one before `until`.
    fn link(&mut self, until: Nanos) -> Result<bool, LaneDead> {
        let WireLane { pipeline, work, reconnect } = self;
        let Some(reconnect) = reconnect else { return Ok(true) };
        loop {
            match reconnect.link(&mut work.wire, work.clock.now())? {
                Link::Same => return Ok(true),
                Link::New(new) => {
                    *pipeline = new;
                    self.issue();
                    return Ok(true);
                }
                Link::None(next) => work.clock.sleep_until(next.min(until)),
            }
            if work.clock.now() >= until {
                return Ok(false);
            }
        }
    }
}

impl<W: Wire, C: Calling<W::Protocol>> Drop for WireLane<W, C> {
    fn drop(&mut self) {
        self.work.wire.datagrams(self.pipeline.datagrams());
        let gaps = self.reconnect.as_ref().map_or(&[][..], Reconnect::gaps);
        let written_again = self.work.calls.written_again();
        self.work.wire.mended(&Mended { gaps, written_again });
        self.work.wire.farewell(self.pipeline.protocol_mut(), self.work.calls.waits());
    }
}

impl<W: Wire, C: Calling<W::Protocol> + Send> Lane for WireLane<W, C> {
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        if !self.work.calls.is_free(tag) {
            return Err(Full);
        }
        if self.pipeline.in_flight() == 0 {
            self.work.heard = issued;
        }
        if let Some(reconnect) = &mut self.reconnect {
            reconnect.submitted(issued);
        }
        let begun = self.work.wire.begin(tag.0, op);
        self.work.calls.begin(tag, op, issued, begun)?;
        self.issue();
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let before = out.len();
        loop {
            if self.is_broken() && !self.link(until)? {
                self.work.calls.take_finished(out);
                return Ok(());
            }
            let heard = self.work.heard;
            let result = if !self.work.calls.has_finished() && self.pipeline.in_flight() > 0 {
                self.pipeline.reap(self.until_due(until).0, &mut self.work).map(drop)
            } else {
                self.pipeline.flush(&mut self.work)
            };
            self.issue();
            self.work.calls.take_finished(out);
            if self.work.heard != heard
                && let Some(reconnect) = &mut self.reconnect
            {
                reconnect.heard(self.work.heard);
            }
            let broken = result.is_err();
            result.or_else(|error| self.broke(&error))?;
            if out.len() > before {
                return Ok(());
            }
            if broken {
                continue;
            }
            if self.pipeline.in_flight() == 0 {
                let until_asked = self.until_asked(until);
                self.work.clock.sleep_until(until_asked);
                if until_asked == until {
                    return Ok(());
                }
                self.issue();
            }
            let now = self.work.clock.now();
            self.look_for_silence(now);
            if now >= until {
                return Ok(());
            }
        }
    }

    fn does(&self, kind: OpKind) -> bool {
        self.work.wire.does(kind)
    }

    fn commits_at_close(&self) -> bool {
        W::COMMITS_AT_CLOSE
    }

    fn moved_bytes(&self) -> Option<u64> {
        self.pipeline.moved_bytes().filter(|_| !self.work.calls.are_repeated())
    }
}

impl<W: Wire> Exchange<W::Protocol> for Work<W> {
    fn now(&mut self) -> u64 {
        self.clock.now().0
    }

    fn payload(&mut self, tag: u32) -> &[u8] {
        match self.calls.get(tag) {
            Some(OperationCall { op: Op::Write(span, _), call }) => {
                self.writer.fill(&call.part_of(span))
            }
            Some(OperationCall { op: Op::Put(whole, _), call }) => {
                self.writer.fill(&call.part_of(&span_of(whole)))
            }
            Some(OperationCall { op: Op::Flush(file), call }) => {
                let Call { offset, length, generation, .. } = *call;
                self.writer.fill(&Span { file: *file, offset, length, generation })
            }
            _ => &[],
        }
    }

    fn postponed(&mut self, done: u64) {
        self.heard = Nanos(done);
        self.calls.postponed();
    }

    fn complete(
        &mut self,
        completion: Completion<<W::Protocol as Protocol>::Done<'_>, ErrorOf<W>>,
    ) {
        let Completion { tag, sent, done, result } = completion;
        self.heard = Nanos(done);
        let Some(of) = self.calls.get(tag) else { return };
        let reply = match result {
            Ok(done) => self.wire.outcome(of, done),
            Err(error) => self.wire.refused(of, &error).map(Reply::Other),
        };
        let outcome = reply.and_then(|reply| match reply {
            Reply::Other(outcome) => Ok(outcome),
            Reply::Data(data, ended) => {
                self.check(of, data)?;
                Ok(Outcome::Moved { count: data.len() as u32, ended })
            }
        });
        self.calls.end(tag, Nanos(sent), Nanos(done), outcome);
    }
}

impl<W> Work<W> {
    /// Checks what was read.
    fn check(&self, of: OperationCall<'_>, data: &[u8]) -> Result<(), OpError> {
        let span = match of.op {
            Op::Read(span) => *span,
            Op::Get(whole) => span_of(whole),
            _ => return Ok(()),
        };
        if self.verify {
            self.content.check(span.file, span.generation, of.call.offset, data)?;
        }
        Ok(())
    }
}

fn span_of(whole: &Whole) -> Span {
    let Whole { content: file, length, generation, .. } = *whole;
    Span { file, offset: 0, length, generation }
}

/// The path that an operation is about. Lanes change nothing in the target's own directory, as the
/// run's lies below it.
pub(crate) fn path_of(paths: &Paths, op: &Op) -> Result<Option<Arc<str>>, OpError> {
    let (path, changes): (PathId, bool) = match op {
        Op::Create(path) | Op::Remove(path) => (*path, true),
        Op::MakeDirectory(path) | Op::RemoveDirectory(path) => (*path, true),
        Op::Rename(path, _) => (*path, true),
        Op::SetAttribute(Node::Directory(path) | Node::Closed(path), _) => (*path, true),
        Op::Put(whole, _) => (whole.path, true),
        Op::Open(path) | Op::Lookup(path) | Op::LookupIfThere(path) => (*path, false),
        Op::ReadDirectory(path) | Op::Access(path) => (*path, false),
        Op::Get(whole) => (whole.path, false),
        Op::Read(_) | Op::Write(..) | Op::Flush(_) | Op::Close(_) => return Ok(None),
        Op::SetAttribute(Node::File(_), _) => return Ok(None),
        Op::GetAttributes(_) | Op::Lock(..) | Op::Unlock(..) => return Ok(None),
    };
    let known = known(paths, path)?;
    if changes && !known.contains('/') {
        let why = format!("{} '{known}': it is outside the directory of the run", op.kind());
        return Err(failed(ErrorKind::NotPermitted, why));
    }
    Ok(Some(known))
}

fn known(paths: &Paths, path: PathId) -> Result<Arc<str>, OpError> {
    let unknown = || failed(ErrorKind::Gone, format!("path {} is not known", path.0));
    paths.get(path).ok_or_else(unknown)
}

/// The path that an operation gives to a name: in the directory that the name is in.
pub(crate) fn new_path_of(paths: &Paths, op: &Op, path: &str) -> Result<Arc<str>, OpError> {
    let Op::Rename(_, to) = op else { return Err(crate::op::not_done_here(op)) };
    let to = known(paths, *to)?;
    let parent = |path: &str| path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    if parent(&to) != parent(path) {
        let why = format!("rename '{path}' to '{to}': it is in another directory");
        return Err(failed(ErrorKind::NotPermitted, why));
    }
    Ok(to)
}

/// A small file that is longer or shorter than it should be.
pub(crate) fn wrong_size(whole: &Whole, size: u64) -> OpError {
    failed(ErrorKind::Short, format!("the file has {size} bytes and not {}", whole.length))
}

/// The error of one operation.
#[cold]
pub(crate) fn failed(kind: ErrorKind, detail: String) -> OpError {
    OpError { kind, detail: detail.into() }
}
