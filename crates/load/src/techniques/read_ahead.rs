//! Reading ahead: while a file is read from its beginning on, the next blocks are asked for before anybody wants
//! them. A read that was asked for ahead completes at once when it has come, else when it comes.
//!
//! How long a file is, a lane does not know: past its end as many reads as the window holds are asked for in vain,
//! once.

use super::inner::{InnerLane, Wrapper};
use crate::op::{Done, FileId, Op, Span, Tag};
use crate::share::{Full, Lane, LaneDead};
use plimsoll_model::{Clock, Nanos};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::sync::Arc;

/// A lane that reads ahead.
pub(super) struct ReadAhead {
    /// What is in flight is for the driver, under its tag, or `None` of a read ahead.
    inner: InnerLane<Option<Tag>>,
    clock: Arc<dyn Clock>,
    window: usize,
    /// In the order of their offsets.
    ahead: VecDeque<Ahead>,
    /// Where the file that is read goes on.
    next: Option<(FileId, u64)>,
    /// From where on reads ahead have failed: the end of that file.
    end: Option<(FileId, u64)>,
    /// Operations that wait until nothing of their file is read ahead any more.
    held: Vec<(Tag, Op, Nanos)>,
    /// What completed without the wire.
    ready: Vec<Done>,
}

/// A block that is read ahead.
struct Ahead {
    span: Span,
    state: AheadState,
}

impl Ahead {
    fn is_asked_for(&self) -> bool {
        matches!(self.state, AheadState::InFlight(_, Some(_)))
    }
}

enum AheadState {
    /// In flight below under this tag; with whoever asked for it meanwhile.
    InFlight(u16, Option<(Tag, Nanos)>),
    /// It has come.
    Here(Done),
}

impl ReadAhead {
    /// `both`: what the inner lane takes at a time, the window included.
    pub fn new(
        inner: Box<dyn Lane>,
        window: NonZeroU16,
        both: NonZeroU16,
        clock: Arc<dyn Clock>,
    ) -> ReadAhead {
        ReadAhead {
            inner: InnerLane::new(inner, both),
            clock,
            window: window.get().into(),
            ahead: VecDeque::with_capacity(window.get().into()),
            next: None,
            end: None,
            held: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn read(&mut self, tag: Tag, span: Span, issued: Nanos) -> Result<(), Full> {
        let goes_on = self.next.map_or(span.offset == 0, |(file, offset)| {
            (file, offset) == (span.file, span.offset) || span.offset == 0
        });
        match self.ahead.iter().position(|ahead| ahead.span == span) {
            Some(place) => self.take(place, tag, issued),
            None => {
                self.inner.submit(Some(tag), &Op::Read(span), issued)?;
                // It was read elsewhere: what nobody has asked for is not wanted any more.
                self.ahead.retain(Ahead::is_asked_for);
            }
        }
        self.next = Some((span.file, span.offset + u64::from(span.length)));
        if goes_on {
            self.top_up(span, issued);
        }
        Ok(())
    }

    /// A block that is read ahead is asked for.
    fn take(&mut self, place: usize, tag: Tag, issued: Nanos) {
        let Some(ahead) = self.ahead.get_mut(place) else { return };
        match &mut ahead.state {
            AheadState::InFlight(_, asked) => *asked = Some((tag, issued)),
            AheadState::Here(done) => {
                let done = Done { tag, issued, sent: issued, done: issued, ..done.clone() };
                self.ready.push(done);
                self.ahead.remove(place);
            }
        }
    }

    /// Asks for as many blocks after this one as the window has room for.
    fn top_up(&mut self, after: Span, issued: Nanos) {
        let of_next = |ahead: &Ahead| ahead.span.offset + u64::from(ahead.span.length);
        let own_end = after.offset + u64::from(after.length);
        let mut offset = self.ahead.back().map_or(own_end, of_next).max(own_end);
        while self.ahead.iter().filter(|ahead| !ahead.is_asked_for()).count() < self.window {
            if self.end.is_some_and(|(file, end)| file == after.file && offset >= end) {
                return;
            }
            let span = Span { offset, ..after };
            let Ok(tag) = self.inner.submit(None, &Op::Read(span), issued) else { return };
            self.ahead.push_back(Ahead { span, state: AheadState::InFlight(tag, None) });
            offset += u64::from(after.length);
        }
    }

    /// Whether anything of a file is in flight that nobody asked for.
    fn reads_ahead(&self, file: FileId) -> bool {
        let in_flight = |ahead: &Ahead| matches!(ahead.state, AheadState::InFlight(..));
        self.ahead.iter().any(|ahead| ahead.span.file == file && in_flight(ahead))
    }

    /// An operation below has ended.
    fn ended(&mut self, of: Option<Tag>, done: Done, out: &mut Vec<Done>) {
        if let Some(tag) = of {
            out.push(Done { tag, ..done });
            return;
        }
        let own = |ahead: &Ahead| matches!(ahead.state, AheadState::InFlight(tag, _) if tag == done.tag.0);
        // One that is not there any more was not wanted any more.
        let Some(place) = self.ahead.iter().position(own) else { return };
        let Ahead { span, state } = &mut self.ahead[place];
        match state {
            AheadState::InFlight(_, Some((tag, issued))) => {
                let (tag, issued) = (*tag, *issued);
                let (sent, ended) = (done.sent.max(issued), done.done.max(issued));
                out.push(Done { tag, issued, sent, done: ended, ..done });
                self.ahead.remove(place);
            }
            _ if done.result.is_err() => {
                self.end = Some((span.file, span.offset));
                self.ahead.remove(place);
            }
            state => *state = AheadState::Here(done),
        }
    }

    /// Hands on what waited for reads ahead that have ended.
    fn release(&mut self) {
        for (tag, op, issued) in std::mem::take(&mut self.held) {
            let waits = op.file().is_some_and(|file| self.reads_ahead(file));
            if waits || self.inner.submit(Some(tag), &op, issued).is_err() {
                self.held.push((tag, op, issued));
            }
        }
    }
}

impl Wrapper for ReadAhead {
    fn inner(&self) -> &dyn Lane {
        self.inner.lane()
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let Some(file) = op.file() else {
            return self.inner.submit(Some(tag), op, issued).map(drop);
        };
        if let Op::Read(span) = op {
            return self.read(tag, *span, issued);
        }
        if self.reads_ahead(file) {
            self.held.push((tag, *op, issued));
            return Ok(());
        }
        // What was read ahead of a write is old; a file that is closed has none.
        self.ahead.retain(|ahead| ahead.span.file != file);
        self.inner.submit(Some(tag), op, issued).map(drop)
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        out.append(&mut self.ready);
        loop {
            // With something at hand what was batched is sent, and nothing is waited for.
            let wait = if out.is_empty() { until } else { Nanos(0) };
            self.inner.reap(wait)?;
            while let Some((of, done)) = self.inner.ended() {
                self.ended(of, done, out);
            }
            self.release();
            if !out.is_empty() || self.clock.now() >= until {
                return Ok(());
            }
        }
    }
}
