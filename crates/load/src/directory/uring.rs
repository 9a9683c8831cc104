//! A lane on an io_uring of its own.

use super::LaneFiles;
use super::file::{find, op_error, short};
use super::ring::Ring;
use crate::content::{Content, PartOfPool};
use crate::cpu;
use crate::op::{Done, Found, Op, OpError, Tag, not_done_here};
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::{Clock, ErrorKind, Nanos, Stability};
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct UringLane {
    ring: Ring,
    files: LaneFiles,
    content: Arc<Content>,
    /// What each slot's buffer holds: a sequence of large blocks needs no copy of the pool.
    holds: Vec<Option<PartOfPool>>,
    verify: bool,
    clock: Arc<dyn Clock>,
    /// What is in flight, by tag; a tag is a slot of the ring.
    slots: Vec<Option<(Op, Nanos)>>,
    /// Operations that failed before they reached the ring.
    failed: Vec<Done>,
}

impl UringLane {
    pub(super) fn new(files: LaneFiles, request: &LaneRequest) -> io::Result<UringLane> {
        Ok(UringLane {
            ring: Ring::new(request.depth.get(), request.block)?,
            files,
            content: request.content.clone(),
            holds: vec![None; usize::from(request.depth.get())],
            verify: request.verify,
            clock: request.clock.clone(),
            slots: vec![None; usize::from(request.depth.get())],
            failed: Vec::new(),
        })
    }

    /// Whether the ring took it.
    fn queue(&mut self, slot: usize, op: &Op) -> Result<bool, OpError> {
        Ok(match op {
            Op::Read(span) => {
                let file = find(&self.files, span.file)?.for_span(span, Stability::Unstable);
                if let Some(holds) = self.holds.get_mut(slot) {
                    *holds = None;
                }
                self.ring.read(slot, file, span.offset, span.length)
            }
            Op::Write(span, stability) => {
                let file = find(&self.files, span.file)?.for_span(span, *stability);
                let Some(buffer) = self.ring.buffer(slot) else { return Ok(false) };
                self.content.fill(span, buffer, &mut self.holds[slot]);
                self.ring.write(slot, file, span.offset, span.length)
            }
            Op::Flush(id) => self.ring.sync(slot, find(&self.files, *id)?.for_flush()),
            other => return Err(not_done_here(other)),
        })
    }
}

impl Lane for UringLane {
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let slot = usize::from(tag.0);
        match self.queue(slot, op) {
            Ok(true) => {
                self.slots[slot] = Some((*op, issued));
                Ok(())
            }
            Ok(false) => Err(Full),
            Err(error) => {
                let done = self.clock.now();
                let result = Err(error);
                self.failed.push(Done { tag, issued, sent: issued, done, bytes: 0, result });
                Ok(())
            }
        }
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let wait = if self.failed.is_empty() {
            // At most a day: a far deadline must not overflow the kernel's clock.
            (until - self.clock.now()).min(Duration::from_secs(86_400))
        } else {
            Duration::ZERO
        };
        out.append(&mut self.failed);
        let first = out.len();
        let slots = &mut self.slots;
        let waited = self.ring.wait(wait, |slot, result| {
            let Some((op, issued)) = slots[slot].take() else { return };
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
