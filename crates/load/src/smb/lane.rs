//! A lane over one SMB session.

use super::failures::{lane_dead, op_error};
use crate::calls::{Call, Calls, Moved, TransferSizes, not_open};
use crate::content::{Content, ContentWriter};
use crate::op::{Done, Op, OpError, Tag};
use crate::open_files::Known;
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::{Clock, Nanos, Stability};
use plimsoll_smb::{Completion, Exchange, FileId, Pipeline, PipelineOptions, Tree};
use std::sync::Arc;

/// A lane over one session, with its own handles of the files that were open when it was made.
/// When it ends, the server closes them with the connection.
pub(super) struct SmbLane {
    pipeline: Pipeline,
    work: Work,
}

/// Everything of a lane but its session.
struct Work {
    files: Known<FileId>,
    calls: Calls,
    content: Arc<Content>,
    writer: ContentWriter,
    verify: bool,
    clock: Arc<dyn Clock>,
}

impl SmbLane {
    pub fn new(
        tree: Tree,
        files: Known<FileId>,
        sizes: TransferSizes,
        request: LaneRequest,
    ) -> Self {
        let depth = sizes.calls(request.block, request.depth);
        let read_most = sizes.read.min(request.block.max(1));
        let options = PipelineOptions { depth, read_most, write_most: sizes.write };
        SmbLane {
            pipeline: tree.into_pipeline(options),
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

    fn submit(&mut self, tag: u32, op: Op, call: Call) -> Result<(), plimsoll_smb::Full> {
        let SmbLane { pipeline, work } = self;
        let known = op.file().and_then(|file| work.files.get(file));
        let Some(file) = known.copied() else { return Ok(()) };
        match op {
            Op::Read(_) => pipeline.read(tag, file, call.offset, call.length),
            Op::Flush(_) => pipeline.flush(tag, file),
            Op::Write(_, stability) => {
                let through = stability == Stability::FileSync;
                pipeline.write(tag, file, call.offset, call.length, through)
            }
            _ => Ok(()),
        }
    }
}

impl Lane for SmbLane {
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
                self.pipeline.flush_out(&mut self.work)
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
    fn outcome(&self, op: Op, call: Call, done: plimsoll_smb::Done<'_>) -> Result<Moved, OpError> {
        match (op, done) {
            (Op::Read(span), plimsoll_smb::Done::Read { data }) => {
                if self.verify {
                    self.content.check(span.file, span.generation, call.offset, data)?;
                }
                // A read that ends before its end has met the end of the file, or a server that
                // gives less: the next one tells.
                Ok(Moved { count: data.len() as u32, ended: data.is_empty() })
            }
            (_, plimsoll_smb::Done::Write { count }) => Ok(Moved { count, ended: false }),
            _ => Ok(Moved::default()),
        }
    }
}
