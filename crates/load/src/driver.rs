//! The worker loop: keeps up to `depth` operations of one source in flight on one lane.

use crate::op::{Done, FileId, Op, OpError, Tag};
use crate::schedule::Issue;
use crate::share::Lane;
use crate::source::{Ended, OperationSource, Step};
use crate::stall::PROGRESS_BYTES;
use crate::tally::Tally;
use crate::team::{Progress, Stop};
use plimsoll_model::units::elapsed;
use plimsoll_model::{Clock, ErrorKind, Nanos};
use std::num::NonZeroU16;
use std::time::Duration;

/// How often, at least, a waiting worker looks at the stop flags and for overdue operations.
const TICK: Duration = Duration::from_millis(100);

/// How often, at most, a worker publishes what it has done. Observers look once a window.
const PUBLISHED: Duration = Duration::from_millis(2);

/// How long operations in flight may still take once the work was stopped or failed.
const GRACE: Duration = Duration::from_secs(1);

/// Under which kind a completion counts that belongs to no operation.
const NOT_KNOWN: usize = 0;
/// The final flush.
const FLUSH: usize = Op::Flush(FileId(0)).index();

/// The bounds a worker keeps to. Its end is the tally's.
pub(crate) struct Limits {
    /// No operation may take longer.
    pub operation_timeout: Duration,
    /// When to stop by itself, as if that had been asked for.
    pub end: Nanos,
    /// Whether the source must have ended by the tally's end.
    pub must_be_done: bool,
    /// When operations are issued.
    pub issue: Issue,
}

/// How many times the operations that an open loop leaves over are recorded at most: of 800 million, one
/// stands for several that are due after it. One by one they would take minutes, in which no answer is read.
const LEFT_OVER_RECORDS: u64 = 1 << 16;

/// Whether going on after this error is useless. Wrong content, a short transfer or a bad block
/// says something about one operation; the others say that none will work.
fn is_fatal(kind: &ErrorKind) -> bool {
    use ErrorKind::*;
    match kind {
        StaleContent | MisplacedContent | CorruptContent | Short | Io => false,
        ConnectionLost | TimedOut | NoSpace | NotPermitted | Gone | Lost | Protocol => true,
    }
}

/// One worker at work.
pub(crate) struct Driver<'a> {
    lane: &'a mut dyn Lane,
    clock: &'a dyn Clock,
    limits: &'a Limits,
    stop: Stop<'a>,
    progress: &'a Progress,
    /// What is in flight, by tag.
    slots: Vec<Option<(Op, Nanos)>>,
    free: Vec<u16>,
    /// An operation that the lane's queue was too full for.
    held: Option<Op>,
    /// Whether operations are still issued.
    issuing: bool,
    /// Whether the round that is in flight is complete; never where there are no rounds.
    round_is_full: bool,
    /// How many operations were issued of those that have a schedule.
    scheduled: u64,
    ended: Ended,
    /// When to give up on what is still in flight after a stop or failure.
    give_up: Nanos,
    /// When to publish what was done.
    publish_at: Nanos,
    /// When the lane was last asked for the bytes that it has moved, and how many these were when something last
    /// completed or they last were progress.
    looked: Nanos,
    moved_bytes: Option<u64>,
    /// The latest look at the clock.
    now: Nanos,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        lane: &'a mut dyn Lane,
        depth: NonZeroU16,
        clock: &'a dyn Clock,
        limits: &'a Limits,
        stop: Stop<'a>,
        progress: &'a Progress,
    ) -> Self {
        let depth = depth.get();
        Driver {
            lane,
            clock,
            limits,
            stop,
            progress,
            slots: vec![None; usize::from(depth)],
            free: (0..depth).rev().collect(),
            held: None,
            issuing: true,
            round_is_full: false,
            scheduled: 0,
            ended: Ended::Complete,
            give_up: Nanos(u64::MAX),
            publish_at: Nanos(0),
            looked: Nanos(0),
            moved_bytes: None,
            now: Nanos(0),
        }
    }

    /// Drives `source` until the tally's end, its own end, a stop or a fatal error; then the
    /// final flush of what the source wrote, whose time is returned. The tally has begun.
    pub(crate) fn drive(
        mut self,
        source: &mut impl OperationSource,
        tally: &mut Tally,
    ) -> (Ended, Option<Duration>) {
        self.now = self.clock.now();
        let mut look = self.now + TICK;
        let mut out = Vec::with_capacity(self.slots.len());
        loop {
            let wake = self.issue(source, tally);
            if self.idle() {
                if !self.issuing {
                    break;
                }
                // Nothing to wait for but the time.
                let until = wake.min(self.now + TICK).max(self.now);
                self.clock.sleep_until(until);
                self.now = self.clock.now();
                tally.overslept(self.now.since(until));
                continue;
            }
            let in_time = self.issuing && self.now < tally.end();
            let until = if in_time { wake.min(look).min(tally.end()) } else { look };
            self.reap(until, source, tally, &mut out);
            // While operations are issued their own times will do: no extra look at the clock.
            if out.is_empty() || !self.issuing {
                self.now = self.clock.now();
                // With every slot taken nobody else notices the end: waiting for it once more would
                // return at once, for ever.
                if self.issuing && self.now >= tally.end() && !self.goes_on(source, tally) {
                    self.out_of_time();
                }
            }
            out.clear();
            if self.now >= look {
                look = self.now + TICK;
                self.look_for_bytes(tally);
                self.look_for_overdue(tally);
            }
            if self.now >= self.give_up {
                break;
            }
        }
        let files = source.to_flush();
        let mut flush = None;
        for file in files {
            if let Some(took) = self.flush(file, tally) {
                *flush.get_or_insert(Duration::ZERO) += took;
            }
        }
        (self.ended, flush)
    }

    fn idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Issues while slots are free; returns when to ask the source again.
    #[inline]
    fn issue(&mut self, source: &mut impl OperationSource, tally: &mut Tally) -> Nanos {
        if self.round_is_full && self.idle() {
            self.round_is_full = false;
        }
        while self.issuing && !self.round_is_full {
            let Some(&tag) = self.free.last() else {
                self.round_is_full = self.limits.issue == Issue::Rounds;
                break;
            };
            if self.stop.any() {
                self.stop_early(tally);
                break;
            }
            let now = self.clock.now();
            self.now = now;
            let over = now >= tally.end();
            if over && !self.is_first() && !self.goes_on(source, tally) {
                self.out_of_time();
                break;
            }
            let due = match &self.limits.issue {
                Issue::Closed | Issue::Rounds => now,
                Issue::Paced(schedule) => schedule.due(self.scheduled),
            };
            if over && !self.is_first() && !tally.takes(due) {
                break;
            }
            if due > now {
                return due.min(tally.end());
            }
            let op = match self.held.take() {
                Some(op) => op,
                None => match source.next(now) {
                    Step::Issue(op) => op,
                    Step::WaitUntil(_) if over => {
                        if self.is_first() {
                            self.out_of_time();
                        }
                        break;
                    }
                    Step::WaitUntil(until) => return until.min(tally.end()),
                    Step::End => {
                        self.issuing = false;
                        break;
                    }
                },
            };
            // In its slot before it is handed over: a copy made later would wait for its stores.
            let (op, _) = self.slots[usize::from(tag)].insert((op, now));
            if self.lane.submit(Tag(tag), op, due).is_err() {
                self.hold(tag, tally);
                break;
            }
            self.scheduled += 1;
            tally.issued(now);
            self.free.pop();
        }
        Nanos(u64::MAX)
    }

    /// Keeps an operation that the lane's queue was too full for.
    #[cold]
    fn hold(&mut self, tag: u16, tally: &mut Tally) {
        let Some((op, _)) = self.slots[usize::from(tag)].take() else { return };
        if self.idle() {
            let detail =
                "the connection accepts no operation, although all earlier ones have completed";
            self.fail(op.index(), error(ErrorKind::Protocol, detail), tally);
        }
        self.held = Some(op);
    }

    /// Waits for completions and counts them; they stay in `out`.
    #[inline]
    fn reap(
        &mut self,
        until: Nanos,
        source: &mut impl OperationSource,
        tally: &mut Tally,
        out: &mut Vec<Done>,
    ) {
        if let Err(dead) = self.lane.reap(until, out) {
            let kind = self.any_in_flight().index();
            self.fail(kind, error(dead.kind, &dead.detail), tally);
            // What is in flight is lost.
            self.give_up = Nanos(0);
        }
        for done in &*out {
            let slot = self.slots.get_mut(usize::from(done.tag.0)).and_then(Option::take);
            let Some((op, _)) = slot else {
                let detail = "a completion for an operation that is not in flight";
                self.fail(NOT_KNOWN, error(ErrorKind::Protocol, detail), tally);
                continue;
            };
            self.free.push(done.tag.0);
            tally.completed(op.index(), done);
            source.completed(&op, done);
            if let Err(e) = &done.result
                && is_fatal(&e.kind)
            {
                self.halt(Ended::Failed(e.clone()));
            }
        }
        if self.now >= self.publish_at {
            self.publish_at = self.now + PUBLISHED;
            self.progress.publish(tally.on_time());
        }
    }

    /// There is a reason to stop: the team's end is an end in order, everything else is not.
    #[cold]
    fn stop_early(&mut self, tally: &mut Tally) {
        if self.stop.is_requested() {
            self.halt(Ended::Stopped);
        } else if self.issuing {
            self.issuing = false;
            tally.end_at(self.clock.now());
        }
    }

    /// Whether nothing was issued of what has no schedule. A worker that the system runs only after the end of its
    /// trial does one operation all the same: else a trial on a busy machine could have none.
    fn is_first(&self) -> bool {
        self.scheduled == 0 && !matches!(self.limits.issue, Issue::Paced(_))
    }

    /// Whether an open loop issues operations after the tally's end: those that were due before it, or
    /// before the end of a silence that outlasts it. They do not vanish because the server stood still when
    /// they were due. Once the server has answered for as long again as the trial lasts, what is left of
    /// them is only counted.
    #[cold]
    fn goes_on(&mut self, source: &mut impl OperationSource, tally: &mut Tally) -> bool {
        let Issue::Paced(schedule) = self.limits.issue else { return false };
        if tally.is_silent_since(tally.end()) {
            return true;
        }
        if tally.answered_after_end(self.now) <= tally.length() {
            return tally.takes(schedule.due(self.scheduled));
        }
        let end = schedule.first_after(self.scheduled, |due| tally.takes(due));
        let at_once = (end - self.scheduled).div_ceil(LEFT_OVER_RECORDS).max(1);
        while self.scheduled < end {
            let op = match self.held.take().map_or_else(|| source.next(self.now), Step::Issue) {
                Step::Issue(op) => op,
                Step::WaitUntil(_) | Step::End => break,
            };
            let count = at_once.min(end - self.scheduled);
            tally.left_over(op.index(), schedule.due(self.scheduled), self.now, count);
            self.scheduled += count;
        }
        false
    }

    /// The tally's end has come.
    #[cold]
    fn out_of_time(&mut self) {
        self.issuing = false;
        if self.limits.must_be_done {
            self.halt(Ended::NotDone);
        }
    }

    /// Issues no more. The first failure counts more than any stop.
    #[cold]
    fn halt(&mut self, ended: Ended) {
        if self.issuing || self.give_up == Nanos(u64::MAX) {
            self.give_up = self.clock.now() + GRACE;
        }
        self.issuing = false;
        if !matches!(self.ended, Ended::Failed(_)) {
            self.ended = ended;
        }
    }

    #[cold]
    fn fail(&mut self, kind: usize, error: OpError, tally: &mut Tally) {
        tally.failed(kind, &error);
        self.halt(Ended::Failed(error));
    }

    fn any_in_flight(&self) -> Op {
        self.slots.iter().flatten().next().map_or(Op::Flush(FileId(0)), |s| s.0)
    }

    /// Looks for bytes of operations in flight where none has completed since the last look: the target is at work. At
    /// a fixed rate, what is issued meanwhile has bytes, too, so that only completions tell.
    fn look_for_bytes(&mut self, tally: &mut Tally) {
        if matches!(self.limits.issue, Issue::Paced(_)) {
            return;
        }
        let looked = std::mem::replace(&mut self.looked, self.now);
        let moved = self.lane.moved_bytes();
        let more = self.moved_bytes.zip(moved).and_then(|(before, now)| now.checked_sub(before));
        if let Some(bytes) = more
            && tally.is_silent_since(looked)
        {
            if bytes < PROGRESS_BYTES {
                return;
            }
            tally.bytes_moved(self.now);
        }
        self.moved_bytes = moved;
    }

    /// Fails if an operation takes too long; stops if that was asked for while draining.
    fn look_for_overdue(&mut self, tally: &mut Tally) {
        let now = self.now;
        if self.ended == Ended::Complete && now >= self.limits.end {
            self.halt(Ended::Stopped);
        } else if self.ended == Ended::Complete && self.stop.any() {
            self.stop_early(tally);
        }
        let oldest = self.slots.iter().flatten().min_by_key(|s| s.1).copied();
        if let Some((op, issued)) = oldest
            && now - issued >= self.limits.operation_timeout
            && !matches!(self.ended, Ended::Failed(_))
        {
            let waited = (now - issued).as_secs_f64();
            let detail = format!("no answer to a {} for {}", describe(&op), elapsed(waited));
            self.fail(op.index(), error(ErrorKind::TimedOut, &detail), tally);
            self.give_up = now;
        }
    }

    /// The final flush of a file, alone in flight.
    fn flush(&mut self, file: FileId, tally: &mut Tally) -> Option<Duration> {
        if self.ended != Ended::Complete {
            return None;
        }
        let op = Op::Flush(file);
        let issued = self.clock.now();
        let tag = Tag(*self.free.last()?);
        if self.lane.submit(tag, &op, issued).is_err() {
            let detail = "the connection accepts no flush, although all operations have completed";
            self.fail(FLUSH, error(ErrorKind::Protocol, detail), tally);
            return None;
        }
        self.slots[usize::from(tag.0)] = Some((op, issued));
        let mut out = Vec::new();
        loop {
            if let Err(dead) = self.lane.reap(self.clock.now() + TICK, &mut out) {
                self.fail(FLUSH, error(dead.kind, &dead.detail), tally);
                return None;
            }
            if let Some(done) = out.first() {
                if let Err(e) = done.result.clone() {
                    self.fail(FLUSH, e, tally);
                    return None;
                }
                return Some(done.done - issued);
            }
            self.now = self.clock.now();
            self.look_for_overdue(tally);
            if self.now >= self.give_up {
                return None;
            }
        }
    }
}

/// An operation in words.
fn describe(op: &Op) -> String {
    match op {
        Op::Read(s) => format!("read of {} bytes at {}", s.length, s.offset),
        Op::Write(s, _) => format!("write of {} bytes at {}", s.length, s.offset),
        other => other.kind().to_string().replace('_', " "),
    }
}

fn error(kind: ErrorKind, detail: &str) -> OpError {
    OpError { kind, detail: detail.into() }
}
