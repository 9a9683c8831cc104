//! A lane over one NFS connection.

use super::failures::{lane_dead, op_error};
use super::files::Known;
use super::site::Site;
use crate::calls::{Call, Calls, Moved, TransferSizes, not_open};
use crate::content::{Content, ContentWriter};
use crate::op::{Done, Op, OpError, Tag};
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::{Clock, Nanos, Stability};
use plimsoll_nfs::nfs3::{self, Completion, Exchange, Payload, Pipeline, PipelineOptions};
use plimsoll_transport::Socket;
use std::sync::Arc;

/// Payloads up to this many bytes are copied, so that many go in one system call; for longer ones
/// the copy would cost more than the call.
const COPIED: u32 = 16 * 1024;

/// A lane over one connection.
pub(super) struct NfsLane {
    pipeline: Pipeline,
    work: Work,
    site: Arc<Site>,
}

impl Drop for NfsLane {
    fn drop(&mut self) {
        if let Some((call, bytes)) = self.pipeline.take_surplus() {
            self.site.oddities.surplus(&self.site.given, call, bytes);
        }
    }
}

/// Everything of a lane but its connection.
struct Work {
    files: Known,
    calls: Calls,
    content: Arc<Content>,
    writer: ContentWriter,
    verify: bool,
    clock: Arc<dyn Clock>,
}

impl NfsLane {
    pub fn new(
        socket: Socket,
        site: &Arc<Site>,
        sizes: TransferSizes,
        files: Known,
        request: LaneRequest,
    ) -> Self {
        let depth = sizes.calls(request.block, request.depth);
        let read_most = sizes.read.min(request.block.max(1));
        let options = PipelineOptions { depth, read_most, write_most: sizes.write };
        NfsLane {
            pipeline: Pipeline::new(socket, &site.credential(), options),
            site: site.clone(),
            work: Work {
                files,
                calls: Calls::new(request.depth, depth, sizes),
                writer: request.content.writer(request.block),
                content: request.content,
                verify: request.verify,
                clock: request.clock,
            },
        }
    }

    /// Makes calls of what waits, as far as there is room.
    fn issue(&mut self) {
        while let Some((tag, op, call)) = self.work.calls.next() {
            if self.submit(tag, op, call).is_err() {
                // Calls and the pipeline's slots are as many: this cannot happen; but if it did,
                // the part waits for its turn.
                self.work.calls.put_back(tag);
                return;
            }
        }
    }

    fn submit(&mut self, tag: u32, op: Op, call: Call) -> Result<(), nfs3::Full> {
        let NfsLane { pipeline, work, .. } = self;
        let Some(file) = op.file().and_then(|file| work.files.get(file)) else { return Ok(()) };
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
                    Payload::Now(work.writer.fill(&call.of(&span)))
                } else {
                    Payload::Later(call.length)
                };
                pipeline.write(tag, &file.handle, call.offset, stability, payload)
            }
            _ => Ok(()),
        }
    }
}

impl Lane for NfsLane {
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let known = op.file().and_then(|file| self.work.files.get(file));
        let error = known.is_none().then(not_open);
        self.work.calls.begin(tag, op, issued, error)?;
        self.issue();
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let before = out.len();
        loop {
            let result = if !self.work.calls.has_finished() && self.pipeline.in_flight() > 0 {
                self.pipeline.reap(until.0, &mut self.work).map(drop)
            } else {
                self.pipeline.flush(&mut self.work)
            };
            self.issue();
            self.work.calls.take_finished(out);
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

impl Exchange for Work {
    fn now(&mut self) -> u64 {
        self.clock.now().0
    }

    fn payload(&mut self, tag: u32) -> &[u8] {
        match self.calls.get(tag) {
            Some((Op::Write(span, _), call)) => self.writer.fill(&call.of(&span)),
            _ => &[],
        }
    }

    fn complete(&mut self, completion: Completion<'_>) {
        let Completion { tag, sent, done, result } = completion;
        let moved = match (self.calls.get(tag), result) {
            (Some((op, call)), Ok(transferred)) => self.outcome(op, call, transferred),
            (_, Err(error)) => Err(op_error(&error)),
            (None, Ok(_)) => Ok(Moved::default()),
        };
        self.calls.end(tag, Nanos(sent), Nanos(done), moved);
    }
}

impl Work {
    /// What a reply means for its operation.
    fn outcome(&self, op: Op, call: Call, done: nfs3::Done<'_>) -> Result<Moved, OpError> {
        let file = op.file().and_then(|file| self.files.get(file));
        let unstable = file.map(|file| &file.unstable);
        match (op, done) {
            (Op::Read(span), nfs3::Done::Read { data, end_of_file }) => {
                if self.verify {
                    self.content.check(span.file, span.generation, call.offset, data)?;
                }
                Ok(Moved { count: data.len() as u32, ended: end_of_file })
            }
            (_, nfs3::Done::Write { count, committed, verifier }) => {
                if committed == nfs3::Stability::Unstable
                    && let Some(unstable) = unstable
                {
                    unstable.written(verifier).map_err(|e| op_error(&e))?;
                }
                Ok(Moved { count, ended: false })
            }
            (_, nfs3::Done::Commit { verifier }) => {
                if let Some(unstable) = unstable {
                    unstable.committed(verifier).map_err(|e| op_error(&e))?;
                }
                Ok(Moved::default())
            }
            (_, nfs3::Done::Read { .. }) => Ok(Moved::default()),
        }
    }
}
