//! Delayed writes: what needs not be stable yet is taken at once, gathered with what lies next to it, and written
//! in the background; the rest of it before the file is flushed, closed or read. As in a kernel, a write that
//! fails is reported by the next flush or close of its file (close(2), "Dealing with error returns").
//!
//! Everything goes in the order in which it was asked for: what waits for the background is waited for by what
//! comes after it.

use super::inner::{InnerLane, Wrapper};
use crate::op::{Done, FileId, Op, OpError, Span, Tag};
use crate::share::{Full, Lane, LaneDead};
use plimsoll_model::{Clock, Nanos, Stability};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::sync::Arc;

/// A lane that writes later, and more at a time.
pub(super) struct WriteBack {
    inner: InnerLane<Purpose>,
    clock: Arc<dyn Clock>,
    /// Most bytes of a write in the background.
    most: u32,
    /// Files with something unwritten, or with an error that has not been reported.
    files: Vec<Delayed>,
    /// Writes in the background.
    background: u16,
    waiting: VecDeque<Waiting>,
    /// Whether anything was handed to the lane below since that was last reaped: it may have to be sent.
    batched: bool,
    /// What completed without the wire.
    ready: Vec<Done>,
}

/// What an operation below is for.
enum Purpose {
    /// The program; with the file whose errors it reports.
    Program(Tag, Option<FileId>),
    /// Nobody who waits for it.
    Background(Span),
}

/// What is not written yet of a file.
struct Delayed {
    file: FileId,
    /// What grows until it is as long as one write, or something else comes.
    gathered: Option<Span>,
    in_flight: Vec<Span>,
    /// Why the first write failed that did.
    error: Option<OpError>,
}

/// An operation whose turn has not come.
struct Waiting {
    tag: Tag,
    op: Op,
    issued: Nanos,
    /// Bytes of it that were taken already.
    taken: u32,
}

impl WriteBack {
    /// Most writes in the background; with all of them in flight, what is written waits.
    pub const BACKGROUND: u16 = 16;

    /// `both`: what the inner lane takes at a time, the background included.
    pub fn new(inner: Box<dyn Lane>, most: u32, both: NonZeroU16, clock: Arc<dyn Clock>) -> Self {
        WriteBack {
            inner: InnerLane::new(inner, both),
            clock,
            most,
            files: Vec::new(),
            background: 0,
            waiting: VecDeque::new(),
            batched: false,
            ready: Vec::new(),
        }
    }

    /// Does what waits, as far as it can be done now.
    fn go_on(&mut self) {
        while let Some(mut first) = self.waiting.pop_front() {
            let done = match first.op {
                Op::Write(span, Stability::Unstable) => self.delay(span, &mut first),
                _ => self.hand_on(&first),
            };
            if !done {
                self.waiting.push_front(first);
                return;
            }
        }
    }

    /// Takes a write, or as much of it as there is room for; whether all of it.
    fn delay(&mut self, span: Span, of: &mut Waiting) -> bool {
        while of.taken < span.length {
            let offset = span.offset + u64::from(of.taken);
            let rest = Span { offset, length: span.length - of.taken, ..span };
            let at = self.place(span.file);
            let gathered = self.files[at].gathered.get_or_insert(Span { length: 0, ..rest });
            if !follows(gathered, &rest) || gathered.length == self.most {
                if !self.send(at) {
                    return false;
                }
                continue;
            }
            let more = rest.length.min(self.most - gathered.length);
            gathered.length += more;
            of.taken += more;
            if gathered.length == self.most {
                self.send(at);
            }
        }
        let Waiting { tag, issued, .. } = *of;
        let done = self.clock.now();
        self.ready.push(Done {
            tag,
            issued,
            sent: issued,
            done,
            bytes: span.length,
            result: Ok(None),
        });
        true
    }

    /// Hands on what is not delayed, once all is written that it depends on; whether it was.
    fn hand_on(&mut self, Waiting { tag, op, issued, .. }: &Waiting) -> bool {
        let reports = match op {
            Op::Flush(file) | Op::Close(file) => Some(*file),
            _ => None,
        };
        self.write_out(op.file())
            && self.inner.submit(Purpose::Program(*tag, reports), op, *issued).is_ok()
    }

    /// Writes what was gathered of a file, or, where it is about a name, of all: it may be one of theirs. Whether
    /// nothing of it is unwritten any more.
    fn write_out(&mut self, file: Option<FileId>) -> bool {
        let mut written = true;
        for at in 0..self.files.len() {
            if file.is_none_or(|file| file == self.files[at].file) {
                written &= self.send(at) && self.files[at].in_flight.is_empty();
            }
        }
        written
    }

    /// Writes what was gathered of a file; whether nothing is left of that to be sent. Two writes of the same
    /// bytes are never in flight together: the earlier one might come last.
    fn send(&mut self, at: usize) -> bool {
        let file = &mut self.files[at];
        let Some(span) = file.gathered else { return true };
        let again = file.in_flight.iter().any(|other| overlap(other, &span));
        if again || self.background == Self::BACKGROUND {
            return false;
        }
        let op = Op::Write(span, Stability::Unstable);
        if self.inner.submit(Purpose::Background(span), &op, self.clock.now()).is_err() {
            return false;
        }
        file.in_flight.push(span);
        file.gathered = None;
        self.background += 1;
        self.batched = true;
        true
    }

    /// Where a file is noted, from now on at the latest.
    fn place(&mut self, file: FileId) -> usize {
        self.files.iter().position(|of| of.file == file).unwrap_or_else(|| {
            let (gathered, in_flight, error) = (None, Vec::new(), None);
            self.files.push(Delayed { file, gathered, in_flight, error });
            self.files.len() - 1
        })
    }

    /// Forgets a file of which nothing is to be written or reported.
    fn forget(&mut self, at: usize) {
        let file = &self.files[at];
        if file.gathered.is_none() && file.in_flight.is_empty() && file.error.is_none() {
            self.files.swap_remove(at);
        }
    }

    /// An operation below has ended.
    fn ended(&mut self, of: Purpose, mut done: Done, out: &mut Vec<Done>) {
        match of {
            Purpose::Program(tag, reports) => {
                let place = |file| self.files.iter().position(|of| of.file == file);
                if let Some(at) = reports.and_then(place) {
                    if let Some(error) = self.files[at].error.take() {
                        (done.bytes, done.result) = (0, Err(error));
                    }
                    self.forget(at);
                }
                out.push(Done { tag, ..done });
            }
            Purpose::Background(span) => {
                self.background -= 1;
                let at = self.place(span.file);
                let file = &mut self.files[at];
                file.in_flight.retain(|other| *other != span);
                // Only the first is reported: the others mostly follow from it.
                if let Err(error) = done.result {
                    file.error.get_or_insert(error);
                }
                self.forget(at);
            }
        }
    }
}

/// Whether the second goes on where the first ends.
fn follows(first: &Span, second: &Span) -> bool {
    first.generation == second.generation && first.offset + u64::from(first.length) == second.offset
}

fn overlap(one: &Span, other: &Span) -> bool {
    let end = |span: &Span| span.offset + u64::from(span.length);
    one.offset < end(other) && other.offset < end(one)
}

impl Wrapper for WriteBack {
    fn inner(&self) -> &dyn Lane {
        self.inner.lane()
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        self.waiting.push_back(Waiting { tag, op: *op, issued, taken: 0 });
        self.go_on();
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let before = out.len();
        out.append(&mut self.ready);
        loop {
            // With something at hand what was batched is sent, and nothing is waited for.
            if out.len() > before && !std::mem::take(&mut self.batched) {
                return Ok(());
            }
            let wait = if out.len() > before { Nanos(0) } else { until };
            self.inner.reap(wait)?;
            self.batched = false;
            while let Some((of, done)) = self.inner.ended() {
                self.ended(of, done, out);
            }
            self.go_on();
            out.append(&mut self.ready);
            if out.len() > before || self.clock.now() >= until {
                return Ok(());
            }
        }
    }
}
