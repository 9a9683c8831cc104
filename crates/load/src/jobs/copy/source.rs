//! What a worker of a copy does: so many files at a time.

use super::rounds::{Copies, Round};
use super::rsync::RsyncSource;
use super::task::{Next, Offers, Process, Task};
use crate::op::{Done, Op};
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Method, Nanos, OpKind, Transfer};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How far rsync's generator is ahead of its receiver at most, in files and directories.
const AHEAD: usize = 64;
/// How long a worker waits before it looks again whether another has made a directory.
const PAUSE: Duration = Duration::from_micros(100);

/// One worker of a copy.
pub(crate) enum CopySource {
    /// It copies files itself.
    Own(OwnSource),
    /// Rsync does.
    Rsync(RsyncSource),
}

impl OperationSource for CopySource {
    #[inline]
    fn next(&mut self, now: Nanos) -> Step {
        match self {
            CopySource::Own(source) => source.next(now),
            CopySource::Rsync(source) => source.next(now),
        }
    }

    #[inline]
    fn completed(&mut self, op: &Op, done: &Done) {
        match self {
            CopySource::Own(source) => source.completed(op, done),
            CopySource::Rsync(source) => source.completed(op, done),
        }
    }
}

impl CopySource {
    /// Whether its time was over while it copied something.
    pub(super) fn is_unfinished(&self) -> bool {
        match self {
            CopySource::Own(source) => !source.tasks.is_empty(),
            CopySource::Rsync(_) => false,
        }
    }
}

/// A worker that copies files itself.
pub(crate) struct OwnSource {
    copies: Arc<Copies>,
    round: Arc<Round>,
    offers: Offers,
    /// What it is at, the oldest first.
    tasks: Vec<Task>,
    /// Most of them at a time.
    most: usize,
    in_flight: usize,
}

impl OwnSource {
    pub(super) fn new(copies: &Arc<Copies>, block: u32, lane: &dyn Lane) -> Self {
        let kind = if copies.transfer == Transfer::Down { OpKind::GET } else { OpKind::PUT };
        let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        let (whole, commits_at_close) = (lane.does(kind), lane.commits_at_close());
        let most = match copies.method {
            Method::Rsync if copies.transfer != Transfer::Down => AHEAD,
            Method::Rsync | Method::ByRsync => 1,
            Method::Pipelined { files } => files.get().into(),
        };
        OwnSource {
            copies: copies.clone(),
            round,
            offers: Offers { block, whole, commits_at_close },
            tasks: Vec::with_capacity(most),
            most,
            in_flight: 0,
        }
    }

    /// Takes the next of the round; or begins the next round, once all of this one is done.
    fn take(&mut self) -> bool {
        let next = |round: &Round| self.copies.item(round.next.fetch_add(1, Ordering::Relaxed));
        let mut item = next(&self.round);
        if item.is_none() && !self.copies.once && self.tasks.is_empty() {
            self.round = self.copies.after(&self.round);
            item = next(&self.round);
        }
        let task = item.map(|item| Task::new(item, &self.copies, &self.round, self.offers));
        let is_some = task.is_some();
        self.tasks.extend(task);
        is_some
    }
}

impl OperationSource for OwnSource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.copies.failed.load(Ordering::Relaxed) || self.copies.files.failed() {
            return Step::End;
        }
        let mut blocked = false;
        let mut at = 0;
        let mut busy = [false; 2];
        let is_rsync = self.copies.method == Method::Rsync;
        loop {
            let next = self.tasks.get_mut(at).map(|task| match is_rsync {
                true => in_turn(task, &mut busy),
                false => task.next(),
            });
            match next {
                Some(Next::Issue(op)) => {
                    self.in_flight += 1;
                    return Step::Issue(op);
                }
                Some(Next::End) => drop(self.tasks.remove(at)),
                Some(Next::Waits) => at += 1,
                Some(Next::Blocked) => (at, blocked) = (at + 1, true),
                None if self.tasks.len() < self.most && self.take() => {}
                None => break,
            }
        }
        match (self.tasks.is_empty(), self.in_flight > 0) {
            (true, _) => Step::End,
            // Another worker makes the directory: nothing here tells when it has.
            (false, false) if blocked => Step::WaitUntil(now + PAUSE),
            (false, _) => Step::WaitUntil(Nanos(u64::MAX)),
        }
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight -= 1;
        let task = self.tasks.iter_mut().find(|task| task.owns(op));
        match (&done.result, task) {
            (Ok(found), Some(task)) => task.completed(op, found.as_deref()),
            _ => self.copies.failed.store(true, Ordering::Relaxed),
        }
    }
}

/// What comes next of a task, unless its process is busy with one before it. The receiver takes files and
/// directories in their order, looked up or not.
fn in_turn(task: &mut Task, [generator, receiver]: &mut [bool; 2]) -> Next {
    let next = match task.process() {
        Process::Generator if !*generator => task.next(),
        Process::Receiver if !*receiver => task.next(),
        Process::None => task.next(),
        _ => Next::Waits,
    };
    if !matches!(next, Next::End) {
        *generator |= task.process() == Process::Generator;
        *receiver |= task.is_received();
    }
    next
}

/// A copy that is not measured, with its progress.
pub(super) struct Uploading<'a> {
    pub source: OwnSource,
    pub progress: &'a mut dyn FnMut(u64),
}

impl OperationSource for Uploading<'_> {
    fn next(&mut self, now: Nanos) -> Step {
        self.source.next(now)
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.source.completed(op, done);
        (self.progress)(u64::from(done.bytes));
    }
}
