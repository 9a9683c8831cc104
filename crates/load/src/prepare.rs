//! Before and after the load: laying out a file whole, and reading it back.

use crate::connection;
use crate::content::Content;
use crate::driver::{Driver, Limits};
use crate::jobs::{LaidOut, ReadBack, WriteOnce, Written};
use crate::op::{Done, OpError, Span};
use crate::paths::Paths;
use crate::schedule::Issue;
use crate::share::{Lane, LaneRequest, Share};
use crate::source::{Ended, OperationSource};
use crate::stall::{OutsideStalls, Stalled, least_seconds, stalls};
use crate::tally::{Finished, Shape, Tally, histogram};
use crate::team::{Progress, Stop, Team};
use plimsoll_model::{Cause, Deadline, ErrorKind, Failure, Over};
use std::num::NonZeroU16;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Operations in flight, each of [`BLOCK`] or what the target takes at most.
const DEPTH: NonZeroU16 = NonZeroU16::new(8).unwrap();
const BLOCK: u32 = 1 << 20;

/// Pages are what wrong content is counted in.
const PAGE: u64 = 4096;

/// What operations need of whoever issues them.
#[derive(Clone)]
pub struct OperationContext {
    /// What is written, and what is expected of reads that are verified.
    pub content: Arc<Content>,
    /// The paths that operations name.
    pub paths: Arc<Paths>,
    /// The clock, the request to stop, and until when work that is not measured may go on.
    pub deadline: Deadline,
    /// No operation may take longer.
    pub operation_timeout: Duration,
    /// Where stalls of work that is not measured are kept.
    pub stalls: OutsideStalls,
}

impl OperationContext {
    /// What is asked of a lane.
    pub fn lane(&self, depth: NonZeroU16, block: u32, verify: bool) -> LaneRequest {
        LaneRequest {
            depth,
            block,
            content: self.content.clone(),
            paths: self.paths.clone(),
            verify,
            concurrent_names: false,
            clock: self.deadline.clock().clone(),
        }
    }
}

/// What reading back found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Bytes read and compared, wrong ones included.
    pub bytes: u64,
    /// Bytes skipped: a write to them was not acknowledged, so they may be old or new.
    pub skipped_bytes: u64,
    /// Blocks of 4 KiB that hold an older generation.
    pub stale: u64,
    /// Blocks of 4 KiB that hold what belongs elsewhere.
    pub misplaced: u64,
    /// Blocks of 4 KiB that are wrong in any other way.
    pub corrupt: u64,
    /// The first wrong place, in words.
    pub first: Option<String>,
}

impl Verified {
    /// Whether everything was as written.
    pub fn is_good(&self) -> bool {
        self.stale + self.misplaced + self.corrupt == 0
    }

    /// Adds what was found in another file.
    pub(crate) fn add(&mut self, other: Verified) {
        self.bytes += other.bytes;
        self.skipped_bytes += other.skipped_bytes;
        self.stale += other.stale;
        self.misplaced += other.misplaced;
        self.corrupt += other.corrupt;
        self.first = self.first.take().or(other.first);
    }
}

/// Writes the whole of a file with several MiB in flight, then flushes it. `progress` is called
/// with the bytes of each write that completed. Fails on the first error; with
/// [`Cause::Interrupted`] when stopped,
/// and [`Cause::Trial`] when the time for all of it is over.
pub fn lay_out(
    share: &dyn Share,
    context: &OperationContext,
    laid_out: LaidOut,
    size: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    let block = block(share.facts().write_size_bytes);
    let work = WriteOnce::new(laid_out.file, size, laid_out.generation, block, progress);
    let pass = Pass { share, context, block, verify: false };
    pass.over("create the test file", |_| work).map(drop)
}

/// Reads back a file of `size` bytes and checks its content: the laid-out generation, or the one
/// after it where `written` says so. Wrong content is counted, not an error; `progress` is called
/// with the bytes of each read that completed. Fails on any other error; with
/// [`Cause::Interrupted`] when stopped,
/// and [`Cause::Trial`] when the time for all of it is over.
pub fn verify(
    share: &dyn Share,
    context: &OperationContext,
    laid_out: LaidOut,
    size: u64,
    written: Option<&Written>,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified, Failure> {
    let mut result = Verified::default();
    let mut wrong: Vec<Span> = Vec::new();
    let block = block(share.facts().read_size_bytes);
    let pass = Pass { share, context, block, verify: true };
    let read_back = |range: Range<u64>, block, seen: &mut dyn FnMut(&Span, &Done)| {
        let LaidOut { file, generation } = laid_out;
        let work = ReadBack::new(file, range, generation, written, block, seen);
        pass.over("read back the written data", |_| work).map(|work| work.skipped_bytes())
    };
    let mut seen = |span: &Span, done: &Done| {
        progress(u64::from(span.length));
        result.bytes += u64::from(span.length);
        if let Err(error) = &done.result
            && is_content(&error.kind)
        {
            result.first.get_or_insert_with(|| error.detail.to_string());
            wrong.push(*span);
        }
    };
    result.skipped_bytes = read_back(0..size, block, &mut seen)?;
    // A wrong read tells of its first wrong piece alone: read its pages one by one to count them.
    for span in wrong {
        let mut count = |_: &Span, done: &Done| match done.result.as_ref().map_err(|e| &e.kind) {
            Err(ErrorKind::StaleContent) => result.stale += 1,
            Err(ErrorKind::MisplacedContent) => result.misplaced += 1,
            Err(ErrorKind::CorruptContent) => result.corrupt += 1,
            _ => {}
        };
        let range = span.offset..span.offset + u64::from(span.length);
        read_back(range, PAGE as u32, &mut count)?;
    }
    Ok(result)
}

fn block(largest: u32) -> u32 {
    if largest == 0 { BLOCK } else { largest.min(BLOCK) }
}

fn is_content(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::StaleContent | ErrorKind::MisplacedContent | ErrorKind::CorruptContent
    )
}

/// Work that is not measured, by one worker with several operations in flight.
pub(crate) struct Pass<'a> {
    pub share: &'a dyn Share,
    pub context: &'a OperationContext,
    /// Largest operation in bytes.
    pub block: u32,
    /// Whether the content of every read is checked.
    pub verify: bool,
}

impl Pass<'_> {
    /// Does the work of a source that is made for the lane, and gives the source back.
    pub fn over<S: OperationSource>(
        &self,
        tried: &str,
        source: impl FnOnce(&dyn Lane) -> S,
    ) -> Result<S, Failure> {
        let mut lane = self.share.lane(self.context.lane(DEPTH, self.block, self.verify))?;
        let mut work = source(&*lane);
        let deadline = &self.context.deadline;
        let clock = &**deadline.clock();
        let mut tally = Tally::new(Shape { timing: None, kinds: &[] });
        tally.begin(clock.now());
        let limits = Limits {
            operation_timeout: self.context.operation_timeout,
            end: deadline.end(),
            must_be_done: false,
            issue: Issue::Closed,
        };
        let (none, progress) = (Team::default(), Progress::default());
        let stop = Stop { user: deadline.stop(), team: &none };
        let (ended, _) = Driver::new(&mut *lane, DEPTH, clock, &limits, stop, &progress)
            .drive(&mut work, &mut tally);
        let counted = tally.finish(clock.now());
        for stalled in stalls_of(&counted) {
            self.context.stalls.keep(counted.start + stalled.start, stalled.length);
        }
        let on = || self.share.facts().given;
        match ended {
            Ended::Failed(error) => Err(failure(tried, on(), &error)),
            Ended::Stopped | Ended::NotDone => {
                let over = plimsoll_transport::Error::from(
                    deadline.remaining().err().unwrap_or(Over::Stopped),
                );
                let (cause, mut next) = connection::advice(&over, "", "");
                if cause == Cause::Interrupted {
                    // The study says it, which knows after its clean-up which files remain.
                    next.clear();
                }
                Err(Failure::new(cause, tried).on(on()).happened(over).next(next))
            }
            // Errors that leave the lane usable, short transfers for one, spoil the file all the
            // same.
            Ended::Complete => match counted.first_error {
                Some(error) if !is_content(&error.kind) => Err(failure(tried, on(), &error)),
                _ => Ok(work),
            },
        }
    }
}

/// The stalls in work that one worker did.
fn stalls_of(counted: &Finished) -> Vec<Stalled> {
    let own = std::slice::from_ref(&counted.silences);
    stalls(counted.start, own, || {
        let mut all = histogram();
        for kind in counted.segments.iter().flat_map(|segment| &segment.kinds) {
            let _ = kind.client.as_ref().map(|client| all.add(client));
        }
        least_seconds(&all, counted.in_stalls, own)
    })
}

/// The failure of a check of content.
pub fn bad_content(given: &str, first: String) -> Failure {
    Failure::new(Cause::Trial, "read back the written data").on(given).happened(first).next(
        "Do not store data there before the memory, disks and network of the storage are checked.",
    )
}

/// The failure that an error under load leads to.
pub fn failure(tried: &str, on: String, error: &OpError) -> Failure {
    let (cause, next) = match error.kind {
        ErrorKind::NoSpace => (
            Cause::NoSpace,
            "Free some space on the target, or give a smaller --size or a smaller --scale.",
        ),
        ErrorKind::NotPermitted => (
            Cause::NotPermitted,
            "Check the permissions of the directory and whether it is read-only.",
        ),
        ErrorKind::ConnectionLost | ErrorKind::TimedOut => (
            Cause::Unreachable,
            "Check that the server is up and the network works, and run it again.",
        ),
        ErrorKind::Gone => (
            Cause::Trial,
            "Make sure that no other program removes the test files, and run it again.",
        ),
        _ => (Cause::Trial, "Read the log of the target, and run it again."),
    };
    Failure::new(cause, tried)
        .on(on)
        .happened(format_args!("{}: {}", error.kind, error.detail))
        .next(next)
}
