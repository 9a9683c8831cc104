//! Patterns: reads and writes of equal blocks in large files.

use super::laid_out::{Files, LaidOut};
use super::test_files::TestFiles;
use super::{Asks, NotGood, Point, StorageJob, Workspace, Written};
use crate::op::{Done, FileId, Op, Span};
use crate::prepare::{Verified, bad_content, verify};
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{
    Cause, Event, Failure, Flag, Layout, Nanos, OpKind, Pattern, PatternJob, Phase, Stability,
};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::collections::VecDeque;
use std::num::{NonZeroU16, NonZeroU32};
use std::ops::Range;

/// The kinds of operation that a pattern issues.
pub(crate) fn kinds(pattern: Pattern) -> &'static [OpKind] {
    match (pattern.reads(), pattern.writes()) {
        (true, true) => &[OpKind::READ, OpKind::WRITE],
        (true, false) => &[OpKind::READ],
        (false, _) => &[OpKind::WRITE],
    }
}

/// What a pattern asks of its lanes.
pub(crate) fn asks(job: &PatternJob) -> Asks {
    Asks {
        block: u32::try_from(job.block.0).unwrap_or(u32::MAX),
        verify: job.verify,
        kinds: kinds(job.pattern),
    }
}

/// What all workers together wrote to each of the files that writes go to, in their order.
pub(crate) fn written(files: &Files, sources: Vec<PatternSource>) -> Vec<Written> {
    let mut all: Vec<Written> = files.write.iter().map(|_| Written::nothing()).collect();
    for source in sources {
        all.iter_mut().zip(source.into_written()).for_each(|(all, own)| all.add(&own));
    }
    all
}

/// The failure of a file that is too small for its workers.
pub(crate) fn not_shared_out(given: &str, happened: String) -> Failure {
    let next = "Give a larger --size, a smaller --block or fewer --workers.";
    Failure::new(Cause::Usage, "divide the file among the workers")
        .on(given)
        .happened(happened)
        .next(next)
}

/// One worker's part of a pattern: endless, until the driver's time is up.
pub struct PatternSource {
    pattern: Pattern,
    reads: Turns,
    writes: Turns,
    block: NonZeroU32,
    stability: Stability,
    random: Pcg64,
    /// What was written to each of the files that are written, in the order of their turns.
    written: Vec<(FileId, Written)>,
}

/// Files whose turn comes one after the other.
struct Turns {
    /// Whose turn it is, and those that follow it.
    now: LaidOut,
    queue: VecDeque<LaidOut>,
    /// Operations until the next one's turn, and those of a turn.
    left: u64,
    each: u64,
    /// This worker's blocks, as numbers of blocks in each file.
    range: Range<u64>,
    /// The next of them in sequential order.
    next_block: u64,
}

impl Turns {
    /// A worker goes on to the next file when it has gone over its part of one whole or, in random order, as
    /// often as makes a quarter of it. So a short trial stays in one file, and a long one goes over the
    /// whole working set before it finds again what a server may have kept.
    fn new(
        job: &PatternJob,
        files: Vec<LaidOut>,
        block: NonZeroU32,
        workers: NonZeroU16,
        worker: u16,
    ) -> Turns {
        let block = u64::from(block.get());
        let blocks = (job.size.0 / files.len().max(1) as u64).max(block) / block;
        let range = match range(job.layout, blocks, workers, worker) {
            // A working set of less than a block for each worker in each file is everybody's.
            none if none.is_empty() => 0..blocks,
            own => own,
        };
        let own = range.end - range.start;
        let each = if job.pattern.is_sequential() { own } else { (own / 4).max(1) };
        let nothing = LaidOut { file: FileId(u32::MAX), generation: 0 };
        let next_block = range.start;
        let mut turns =
            Turns { now: nothing, queue: files.into(), left: each, each, range, next_block };
        turns.next();
        turns
    }

    #[cold]
    fn next(&mut self) {
        if let Some(next) = self.queue.pop_front() {
            self.queue.push_back(next);
            self.now = next;
        }
        self.left = self.each;
    }

    /// The next block in sequential order.
    #[inline]
    fn rising(&mut self) -> u64 {
        let block = self.next_block;
        self.next_block = if block + 1 == self.range.end { self.range.start } else { block + 1 };
        block
    }

    /// The file of an operation.
    #[inline]
    fn take(&mut self) -> LaidOut {
        let file = self.now;
        self.left -= 1;
        if self.left == 0 {
            self.next();
        }
        file
    }
}

impl PatternSource {
    /// Worker `worker` (from 0) of so many. The same seed, job and worker make the same
    /// operations; workers draw from different streams of the generator. An error, in words, if
    /// the file is too small to give this worker a block of its own, or a block is 0 or above
    /// 4 GiB.
    pub fn new(
        job: &PatternJob,
        workers: NonZeroU16,
        worker: u16,
        files: Files,
        seed: u64,
    ) -> Result<PatternSource, String> {
        let block = u32::try_from(job.block.0)
            .ok()
            .and_then(NonZeroU32::new)
            .ok_or_else(|| format!("a block size of {} is not supported", job.block))?;
        let all = job.size.0 / u64::from(block.get());
        if range(job.layout, all, workers, worker).is_empty() {
            return Err(format!(
                "{} with a block size of {} cannot be divided among {workers} workers",
                job.size, job.block
            ));
        }
        let turns = |files| Turns::new(job, files, block, workers, worker);
        let (reads, writes) = (turns(files.read), turns(files.write.clone()));
        let written = |file: LaidOut| match job.pattern.writes() {
            true => (file.file, Written::new(writes.range.end * u64::from(block.get()), block)),
            false => (file.file, Written::nothing()),
        };
        Ok(PatternSource {
            pattern: job.pattern,
            block,
            stability: job.stability,
            random: Pcg64::new(u128::from(seed), u128::from(worker)),
            written: files.write.into_iter().map(written).collect(),
            reads,
            writes,
        })
    }

    /// What was written to each of the files that writes go to, in their order, for reading it back.
    pub fn into_written(self) -> Vec<Written> {
        self.written.into_iter().map(|(_, written)| written).collect()
    }

    fn written(&mut self, file: FileId) -> Option<&mut Written> {
        self.written.iter_mut().find(|(known, _)| *known == file).map(|(_, written)| written)
    }

    /// A uniformly drawn block, and a fair coin from bits that the block does not depend on: the
    /// product takes its top bits from the top of the draw. A block's probability is off by less
    /// than (blocks / 2^64) of itself.
    #[inline]
    fn draw(&mut self) -> (u64, bool) {
        let draw = self.random.next_u64();
        let write = match self.pattern {
            Pattern::RandomMixed => draw & 1 == 1,
            pattern => pattern.writes(),
        };
        let range = if write { &self.writes.range } else { &self.reads.range };
        let block = (u128::from(draw) * u128::from(range.end - range.start)) >> 64;
        (range.start + block as u64, write)
    }
}

impl OperationSource for PatternSource {
    #[inline]
    fn next(&mut self, _now: Nanos) -> Step {
        let (block, write) = match self.pattern {
            Pattern::SequentialRead => (self.reads.rising(), false),
            Pattern::SequentialWrite => (self.writes.rising(), true),
            Pattern::SequentialMixed => match self.random.next_u64() & 1 == 1 {
                true => (self.writes.rising(), true),
                false => (self.reads.rising(), false),
            },
            Pattern::RandomRead | Pattern::RandomWrite | Pattern::RandomMixed => self.draw(),
        };
        let laid_out = if write { self.writes.take() } else { self.reads.take() };
        let offset = block * u64::from(self.block.get());
        let mut span = Span {
            file: laid_out.file,
            offset,
            length: self.block.get(),
            generation: laid_out.generation,
        };
        Step::Issue(if write {
            span.generation = laid_out.generation.wrapping_add(1);
            if let Some(written) = self.written(span.file) {
                written.issue(offset);
            }
            Op::Write(span, self.stability)
        } else {
            Op::Read(span)
        })
    }

    #[inline]
    fn completed(&mut self, op: &Op, done: &Done) {
        if let Op::Write(span, _) = op
            && done.result.is_ok()
            && let Some(written) = self.written(span.file)
        {
            written.acknowledge(span.offset);
        }
    }

    /// Writes that are not stable when they complete are flushed at the end.
    fn to_flush(&self) -> Vec<FileId> {
        let unstable = self.stability == Stability::Unstable;
        let touched = self.written.iter().filter(|(_, written)| unstable && written.any());
        touched.map(|(file, _)| *file).collect()
    }
}

/// A pattern on the files that patterns share.
pub(crate) struct PatternRun {
    job: PatternJob,
    /// Those of the point that is measured.
    files: Option<Files>,
}

impl PatternRun {
    pub fn new(job: &PatternJob) -> Self {
        PatternRun { job: job.clone(), files: None }
    }
}

/// Before a point began.
const NOTHING: Files = Files { read: Vec::new(), write: Vec::new() };

impl StorageJob for PatternRun {
    type Source = PatternSource;

    fn claim(&self, files: &mut TestFiles) {
        let PatternJob { pattern, size, .. } = self.job;
        if pattern.reads() {
            files.claim_reads(size.0, self.job.file_bytes());
        }
        if pattern.writes() {
            files.write_size = files.write_size.max(self.job.file_bytes());
        }
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        let PatternJob { pattern, verify, .. } = self.job;
        let writes = pattern.writes();
        self.files = Some(TestFiles::of_point(at, writes, point, verify && writes)?);
        if point.once {
            let tried = "run a pattern without a time limit";
            let (happened, next) = (
                "a pattern runs until it is stopped",
                "Give a length in \
            seconds.",
            );
            return Err(Failure::new(Cause::Usage, tried)
                .on(pattern)
                .happened(happened)
                .next(next));
        }
        Ok(())
    }

    fn asks(&self) -> Asks {
        asks(&self.job)
    }

    fn source(
        &self,
        point: &Point,
        worker: u16,
        _lane: &dyn Lane,
    ) -> Result<PatternSource, Failure> {
        let files = self.files.clone().unwrap_or(NOTHING);
        PatternSource::new(&self.job, point.workers, worker, files, point.seed)
            .map_err(|happened| not_shared_out(self.job.pattern.name(), happened))
    }

    fn finish(
        &mut self,
        sources: Vec<PatternSource>,
        at: &mut Workspace<'_>,
        complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        let Some(files) = self.files.take().filter(|_| self.job.pattern.writes()) else {
            return Ok(Vec::new());
        };
        let written = written(&files, sources);
        let mut found = Ok(Vec::new());
        if self.job.verify && complete {
            found = read_back(at, &files.write, self.job.file_bytes(), &written);
        }
        for (file, _) in files.write.iter().zip(&written).filter(|(_, written)| written.any()) {
            at.files.was_written(file.file);
        }
        found
    }
}

/// Reads back the files that a point wrote to, `size` bytes of each.
fn read_back(
    at: &mut Workspace<'_>,
    files: &[LaidOut],
    size: u64,
    written: &[Written],
) -> Result<Vec<Flag>, Box<NotGood>> {
    let Workspace { share, context, run, .. } = at;
    run.event(Event::Phase { phase: Phase::Verify, total_bytes: size * files.len() as u64 });
    let mut all = Verified::default();
    for (laid_out, written) in files.iter().zip(written) {
        let mut progress = |bytes| run.event(Event::Progress { bytes });
        all.add(verify(*share, context, *laid_out, size, Some(written), &mut progress)?);
    }
    if all.is_good() {
        return Ok(Vec::new());
    }
    let Verified { stale, misplaced, corrupt, first, .. } = all;
    let failure = bad_content(&share.facts().given, first.unwrap_or_default());
    let flags = vec![Flag::BadContent { stale, misplaced, corrupt }];
    Err(Box::new(NotGood { failure, flags }))
}

/// Those of a file's whole blocks that belong to a worker; a rest shorter than a block is not used.
fn range(layout: Layout, blocks: u64, workers: NonZeroU16, worker: u16) -> Range<u64> {
    match layout {
        Layout::Shared => 0..blocks,
        Layout::Disjoint => {
            let workers = u128::from(workers.get());
            let cut = |i: u16| (u128::from(blocks) * u128::from(i).min(workers) / workers) as u64;
            cut(worker)..cut(worker.saturating_add(1))
        }
    }
}
