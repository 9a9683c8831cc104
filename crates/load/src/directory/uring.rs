//! A lane on an io_uring of its own.

use super::file::{OpenFile, op_error, short};
use super::names::{Names, not_open};
use super::ring::Ring;
use super::tree::Tree;
use crate::content::{Content, PartOfPool};
use crate::cpu;
use crate::op::{Done, FileId, Found, Op, OpError, Span, Tag};
use crate::open_files::LaneFiles;
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::{Clock, ErrorKind, Nanos, OpKind, Stability};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct UringLane {
    ring: Ring,
    files: LaneFiles<OpenFile>,
    names: Names,
    content: Arc<Content>,
    /// What each slot's buffer holds: a sequence of large blocks needs no copy of the pool.
    holds: Vec<Option<PartOfPool>>,
    verify: bool,
    clock: Arc<dyn Clock>,
    /// What is in flight, by tag; a tag is a slot of the ring.
    slots: Vec<Option<(Op, Nanos)>>,
    /// Files opened after the lane was made, held as long as an operation in flight needs them.
    held: Vec<Option<Arc<OpenFile>>>,
    /// Operations that ended without the ring.
    ended: Vec<Done>,
}

impl UringLane {
    pub(super) fn new(
        files: LaneFiles<OpenFile>,
        tree: &Arc<Tree>,
        request: &LaneRequest,
    ) -> io::Result<UringLane> {
        Ok(UringLane {
            ring: Ring::new(request.depth.get(), request.block)?,
            files,
            names: Names::new(tree, request),
            content: request.content.clone(),
            holds: vec![None; usize::from(request.depth.get())],
            verify: request.verify,
            clock: request.clock.clone(),
            slots: vec![None; usize::from(request.depth.get())],
            held: vec![None; usize::from(request.depth.get())],
            ended: Vec::new(),
        })
    }

    /// What became of it.
    fn queue(&mut self, slot: usize, op: &Op) -> Result<Queued, OpError> {
        let took = match op {
            Op::Read(span) => {
                let file = open(&mut self.files, span.file)?;
                if let Some(holds) = self.holds.get_mut(slot) {
                    *holds = None;
                }
                let file = file.for_span(span, Stability::Unstable);
                self.ring.read(slot, file, span.offset, span.length)
            }
            Op::Write(span, stability) => {
                let file = open(&mut self.files, span.file)?;
                let Some(buffer) = self.ring.buffer(slot) else { return Ok(Queued::Full) };
                self.content.fill(span, buffer, &mut self.holds[slot]);
                if file.needs_flush(*stability) {
                    return write_through(file, buffer, span);
                }
                let file = file.for_span(span, *stability);
                self.ring.write(slot, file, span.offset, span.length)
            }
            Op::Flush(id) => self.ring.sync(slot, open(&mut self.files, *id)?.for_flush()),
            other => {
                let (bytes, found) = self.names.perform(other, &mut self.files)?;
                return Ok(Queued::Ended(bytes, found));
            }
        };
        if took && let Some(file) = op.file() {
            self.held[slot] = self.files.opened_later(file);
        }
        Ok(if took { Queued::InFlight } else { Queued::Full })
    }
}

/// What became of an operation that was handed over.
enum Queued {
    InFlight,
    Full,
    Ended(u32, Option<Box<Found>>),
}

fn open(files: &mut LaneFiles<OpenFile>, file: FileId) -> Result<&Arc<OpenFile>, OpError> {
    files.get(file).ok_or_else(|| not_open(file))
}

/// Writes to a file that has no descriptor for stable writes.
#[cold]
fn write_through(file: &OpenFile, buffer: &[u8], span: &Span) -> Result<Queued, OpError> {
    let data = &buffer[..buffer.len().min(span.length as usize)];
    let out = file.for_flush();
    let written = out.write_all_at(data, span.offset).and_then(|()| out.sync_data());
    written.map_err(|error| op_error("pwrite", &error))?;
    Ok(Queued::Ended(span.length, None))
}

impl Lane for UringLane {
    fn does(&self, _kind: OpKind) -> bool {
        true
    }

    fn close_own(&mut self) {
        self.files.close_own();
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let slot = usize::from(tag.0);
        let (bytes, result) = match self.queue(slot, op) {
            Ok(Queued::InFlight) => {
                self.slots[slot] = Some((*op, issued));
                return Ok(());
            }
            Ok(Queued::Full) => return Err(Full),
            Ok(Queued::Ended(bytes, found)) => (bytes, Ok(found)),
            Err(error) => (0, Err(error)),
        };
        let done = self.clock.now();
        self.ended.push(Done { tag, issued, sent: issued, done, bytes, result });
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let wait = if self.ended.is_empty() {
            // At most a day: a far deadline must not overflow the kernel's clock.
            (until - self.clock.now()).min(Duration::from_secs(86_400))
        } else {
            Duration::ZERO
        };
        out.append(&mut self.ended);
        let first = out.len();
        let (slots, held) = (&mut self.slots, &mut self.held);
        let waited = self.ring.wait(wait, |slot, result| {
            let Some((op, issued)) = slots[slot].take() else { return };
            held[slot] = None;
            let (bytes, result) = outcome(&op, result);
            let (tag, now) = (Tag(slot as u16), Nanos(0));
            out.push(Done { tag, issued, sent: issued, done: now, bytes, result });
            // What `check` below needs to know of it.
            slots[slot] = Some((op, issued));
        });
        let now = self.clock.now();
        for done in &mut out[first..] {
            done.done = now;
            let slot = usize::from(done.tag.0);
            if let Some((Op::Read(span), _)) = self.slots[slot].take()
                && self.verify
                && done.result.is_ok()
                && let Some(buffer) = self.ring.buffer(slot)
                && let Some(data) = buffer.get(..span.length as usize)
                && let Err(error) =
                    self.content.check(span.file, span.generation, span.offset, data)
            {
                done.result = Err(error.into());
            }
        }
        waited.map_err(|error| LaneDead {
            kind: ErrorKind::Io,
            detail: format!("io_uring_enter: {error}"),
        })
    }

    fn helper_cpu(&self) -> Duration {
        cpu::of_ring_workers()
    }
}

/// Bytes and result of an operation, from what the kernel returned.
fn outcome(op: &Op, returned: i32) -> (u32, Result<Option<Box<Found>>, OpError>) {
    let name = match op {
        Op::Read(_) => "read",
        Op::Write(..) => "write",
        _ => "fdatasync",
    };
    if returned < 0 {
        let error = io::Error::from_raw_os_error(-returned);
        return (0, Err(op_error(name, &error)));
    }
    match op {
        Op::Read(span) | Op::Write(span, _) if returned as u32 != span.length => {
            (0, Err(short(name, span, returned as usize)))
        }
        Op::Read(span) | Op::Write(span, _) => (span.length, Ok(None)),
        _ => (0, Ok(None)),
    }
}
