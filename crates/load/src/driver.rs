//! The worker loop: keeps up to `depth` operations of one workload in flight on one lane.

use crate::op::{Done, FileId, Op, OpError, Tag};
use crate::share::Lane;
use crate::tally::Tally;
use crate::workload::{Step, Workload};
use plimsoll_model::{Clock, ErrorKind, Nanos, OpKind, Window};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often, at least, a waiting worker looks at the stop flags and for overdue operations.
const TICK: Duration = Duration::from_millis(100);

/// How long operations in flight may still take once the work was stopped or failed.
const GRACE: Duration = Duration::from_secs(1);

/// How one worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its time, or because its workload had ended; everything in flight completed.
    Complete,
    /// Because it was told to stop.
    Stopped,
    /// Because of an error after which going on is useless.
    Failed(OpError),
}

/// The bounds a worker keeps to. Its end is the tally's.
pub(crate) struct Limits {
    /// No operation may take longer.
    pub operation_timeout: Duration,
    /// A file to flush at the end, when everything in flight has completed.
    pub flush: Option<FileId>,
    /// When to stop by itself, as if that had been asked for.
    pub end: Nanos,
}

/// Two reasons to stop early: the user, and a colleague that failed.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    pub user: &'a AtomicBool,
    pub team: &'a AtomicBool,
}

impl Stop<'_> {
    #[inline]
    fn asked(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.team.load(Ordering::Relaxed)
    }
}

/// What a worker has done so far, for observers. Only the worker writes.
#[derive(Default)]
pub(crate) struct Progress {
    counters: [AtomicU64; 4],
}

impl Progress {
    #[inline]
    fn publish(&self, total: &Window) {
        let values = [total.read_ops, total.read_bytes, total.write_ops, total.write_bytes];
        for (counter, value) in self.counters.iter().zip(values) {
            counter.store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> Window {
        let [read_ops, read_bytes, write_ops, write_bytes] =
            self.counters.each_ref().map(|c| c.load(Ordering::Relaxed));
        Window { read_ops, read_bytes, write_ops, write_bytes, ..Window::default() }
    }
}

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
    out: Vec<Done>,
    /// An operation the lane had no room for.
    held: Option<Op>,
    /// Whether operations are still issued.
    issuing: bool,
    ended: Ended,
    /// When to give up on what is still in flight after a stop or failure.
    give_up: Nanos,
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
            out: Vec::with_capacity(usize::from(depth)),
            held: None,
            issuing: true,
            ended: Ended::Complete,
            give_up: Nanos(u64::MAX),
            now: Nanos(0),
        }
    }

    /// Drives `workload` until the tally's end, its own end, a stop or a fatal error; then the
    /// final flush, whose time is returned. The tally has begun.
    pub(crate) fn drive(
        mut self,
        workload: &mut impl Workload,
        tally: &mut Tally,
    ) -> (Ended, Option<Duration>) {
        self.now = self.clock.now();
        let mut look = self.now + TICK;
        loop {
            let wake = self.issue(workload, tally);
            if self.idle() {
                if !self.issuing {
                    break;
                }
                // Nothing to wait for but the time.
                self.clock.sleep_until(wake.min(self.now + TICK));
                self.now = self.clock.now();
                continue;
            }
            let until = if self.issuing { wake.min(look).min(tally.end()) } else { look };
            self.reap(until, workload, tally);
            // While operations are issued their own times will do: no extra look at the clock.
            if self.out.is_empty() || !self.issuing {
                self.now = self.clock.now();
                // With every slot taken nobody else notices the end: waiting for it once more would
                // return at once, for ever.
                self.issuing &= self.now < tally.end();
            }
            self.out.clear();
            if self.now >= look {
                look = self.now + TICK;
                self.look_for_overdue(tally);
            }
            if self.now >= self.give_up {
                break;
            }
        }
        let flush = self.flush(tally);
        (self.ended, flush)
    }

    fn idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Issues while there is room; returns when to ask the workload again.
    #[inline]
    fn issue(&mut self, workload: &mut impl Workload, tally: &mut Tally) -> Nanos {
        while self.issuing {
            let Some(&tag) = self.free.last() else { break };
            if self.stop.asked() {
                self.halt(Ended::Stopped);
                break;
            }
            let now = self.clock.now();
            self.now = now;
            if now >= tally.end() {
                self.issuing = false;
                break;
            }
            let op = match self.held.take() {
                Some(op) => op,
                None => match workload.next(now) {
                    Step::Issue(op) => op,
                    Step::WaitUntil(until) => return until.min(tally.end()),
                    Step::End => {
                        self.issuing = false;
                        break;
                    }
                },
            };
            if self.lane.submit(Tag(tag), &op, now).is_err() {
                if self.idle() {
                    let detail = "the lane takes no operation although none is in flight";
                    self.fail(op.kind(), error(ErrorKind::Protocol, detail), tally);
                }
                self.held = Some(op);
                break;
            }
            tally.issued(now);
            self.free.pop();
            self.slots[usize::from(tag)] = Some((op, now));
        }
        Nanos(u64::MAX)
    }

    /// Waits for completions and books them; they stay in `out`.
    #[inline]
    fn reap(&mut self, until: Nanos, workload: &mut impl Workload, tally: &mut Tally) {
        if let Err(dead) = self.lane.reap(until, &mut self.out) {
            let kind = self.any_in_flight().kind();
            self.fail(kind, error(dead.kind, &dead.detail), tally);
            // What is in flight is lost.
            self.give_up = Nanos(0);
        }
        let mut out = std::mem::take(&mut self.out);
        for done in &out {
            let slot = self.slots.get_mut(usize::from(done.tag.0)).and_then(Option::take);
            let Some((op, _)) = slot else {
                let detail = "a completion for an operation that is not in flight";
                self.fail(OpKind::Read, error(ErrorKind::Protocol, detail), tally);
                continue;
            };
            self.free.push(done.tag.0);
            tally.completed(op.kind(), done);
            workload.completed(&op, done);
            if let Err(e) = &done.result
                && is_fatal(&e.kind)
            {
                self.halt(Ended::Failed(e.clone()));
            }
        }
        std::mem::swap(&mut self.out, &mut out);
        self.progress.publish(tally.on_time());
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
    fn fail(&mut self, kind: OpKind, error: OpError, tally: &mut Tally) {
        tally.failed(kind, &error);
        self.halt(Ended::Failed(error));
    }

    fn any_in_flight(&self) -> Op {
        self.slots.iter().flatten().next().map_or(Op::Flush(FileId(0)), |s| s.0)
    }

    /// Fails if an operation takes too long; stops if that was asked for while draining.
    fn look_for_overdue(&mut self, tally: &mut Tally) {
        let now = self.now;
        if self.ended == Ended::Complete && (self.stop.asked() || now >= self.limits.end) {
            self.halt(Ended::Stopped);
        }
        let oldest = self.slots.iter().flatten().min_by_key(|s| s.1).copied();
        if let Some((op, issued)) = oldest
            && now - issued >= self.limits.operation_timeout
            && !matches!(self.ended, Ended::Failed(_))
        {
            let waited = (now - issued).as_secs_f64();
            let detail = format!("no answer to a {} for {waited:.1} s", describe(&op));
            self.fail(op.kind(), error(ErrorKind::TimedOut, &detail), tally);
            self.give_up = now;
        }
    }

    /// The final flush, alone in flight.
    fn flush(&mut self, tally: &mut Tally) -> Option<Duration> {
        let op = Op::Flush(self.limits.flush.filter(|_| self.ended == Ended::Complete)?);
        let issued = self.clock.now();
        let tag = Tag(*self.free.last()?);
        if self.lane.submit(tag, &op, issued).is_err() {
            let detail = "the lane takes no flush although nothing is in flight";
            self.fail(OpKind::Flush, error(ErrorKind::Protocol, detail), tally);
            return None;
        }
        self.slots[usize::from(tag.0)] = Some((op, issued));
        loop {
            self.out.clear();
            if let Err(dead) = self.lane.reap(self.clock.now() + TICK, &mut self.out) {
                self.fail(OpKind::Flush, error(dead.kind, &dead.detail), tally);
                return None;
            }
            if let Some(done) = self.out.first() {
                if let Err(e) = done.result.clone() {
                    self.fail(OpKind::Flush, e, tally);
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
        Op::Flush(_) => "flush".to_owned(),
    }
}

fn error(kind: ErrorKind, detail: &str) -> OpError {
    OpError { kind, detail: detail.into() }
}
