//! The five patterns of a check.

use super::test_files::TestFiles;
use super::{Asks, NotGood, OperationSource, Point, Step, StorageJob, Workspace, Written};
use crate::op::{Done, FileId, Op, Span};
use crate::prepare::{Verified, bad_content, verify};
use crate::share::Lane;
use plimsoll_model::{
    Cause, Event, Failure, Flag, JobFacts, Layout, Nanos, OpKind, Pattern, PatternJob, Phase,
    Stability,
};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::collections::VecDeque;
use std::num::{NonZeroU16, NonZeroU32};
use std::ops::Range;

/// A file of the job's size, laid out whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaidOut {
    /// The file.
    pub file: FileId,
    /// The generation it was laid out with. Patterns write `generation + 1`.
    pub generation: u32,
}

/// The files of a trial. Those that are read are never written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The files that reads go to, in turn: of equal size, together the job's.
    pub read: Vec<LaidOut>,
    /// The file that writes go to.
    pub write: LaidOut,
}

/// The kinds of operation that a pattern issues.
pub(crate) fn kinds(pattern: Pattern) -> &'static [OpKind] {
    match (pattern.reads(), pattern.writes()) {
        (true, true) => &[OpKind::READ, OpKind::WRITE],
        (true, false) => &[OpKind::READ],
        (false, _) => &[OpKind::WRITE],
    }
}

/// What a pattern asks of its lanes. Writes that are not stable when they complete are flushed at
/// the end.
pub(crate) fn asks(job: &PatternJob, files: &Files) -> Asks {
    let flushed = job.stability() == Some(Stability::Unstable);
    Asks {
        block: u32::try_from(job.block.0).unwrap_or(u32::MAX),
        verify: job.verify,
        kinds: kinds(job.pattern),
        flush: flushed.then_some(files.write.file),
    }
}

/// The failure of a file that is too small for its workers.
pub(crate) fn not_shared_out(given: &str, happened: String) -> Failure {
    let next = "Give a larger --size, a smaller --block or fewer --workers.";
    Failure::new(Cause::Usage, "share out the file to the workers", given, happened, next)
}

/// One worker's part of a pattern: endless, until the driver's time is up.
pub struct PatternSource {
    pattern: Pattern,
    write: LaidOut,
    /// The file that is read, and those that follow it.
    read: LaidOut,
    reads: VecDeque<LaidOut>,
    /// Reads before the next file's turn.
    turn: u64,
    block: NonZeroU32,
    stability: Stability,
    /// This worker's blocks, as numbers of blocks in the file: of each that is read, and of the one
    /// that is written.
    read_range: Range<u64>,
    write_range: Range<u64>,
    /// Next block of a sequential pattern.
    next: u64,
    random: Pcg64,
    written: Written,
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
            .ok_or_else(|| format!("a block of {} cannot be driven", job.block))?;
        let range = |bytes| range(job.layout, bytes / u64::from(block.get()), workers, worker);
        let write_range = range(job.size.0);
        if write_range.is_empty() {
            return Err(format!(
                "{} in blocks of {} cannot be shared out to {workers} workers",
                job.size, job.block
            ));
        }
        let written =
            if job.pattern.writes() { Written::new(job.size.0, block) } else { Written::nothing() };
        let Files { read, write } = files;
        let of_each = (job.size.0 / read.len().max(1) as u64).max(u64::from(block.get()));
        let read_range = match range(of_each) {
            // A working set of less than a block for each worker in each file is read by all.
            none if none.is_empty() => 0..of_each / u64::from(block.get()),
            own => own,
        };
        let mut source = PatternSource {
            pattern: job.pattern,
            write,
            read: write,
            reads: read.into(),
            turn: 0,
            block,
            stability: job.stability,
            next: if job.pattern.writes() { write_range.start } else { read_range.start },
            read_range,
            write_range,
            random: Pcg64::new(u128::from(seed), u128::from(worker)),
            written,
        };
        source.next_file();
        Ok(source)
    }

    /// The next file's turn to be read: until it was read whole or, in random order, a quarter of it.
    /// So a short trial stays in one file, and a long one reads the whole working set before it finds
    /// again what a server may have kept.
    #[cold]
    fn next_file(&mut self) {
        if let Some(next) = self.reads.pop_front() {
            self.reads.push_back(next);
            self.read = next;
        }
        let blocks = self.read_range.end - self.read_range.start;
        self.turn = if self.pattern.is_sequential() { blocks } else { (blocks / 4).max(1) };
    }

    /// What was written, for reading it back.
    pub fn into_written(self) -> Written {
        self.written
    }

    #[inline]
    fn next_block(&mut self, range: Range<u64>) -> u64 {
        let block = self.next;
        self.next = if block + 1 == range.end { range.start } else { block + 1 };
        block
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
        let range = if write { &self.write_range } else { &self.read_range };
        let block = (u128::from(draw) * u128::from(range.end - range.start)) >> 64;
        (range.start + block as u64, write)
    }

    /// The file of a read.
    #[inline]
    fn read_from(&mut self) -> LaidOut {
        let file = self.read;
        self.turn -= 1;
        if self.turn == 0 {
            self.next_file();
        }
        file
    }
}

impl OperationSource for PatternSource {
    #[inline]
    fn next(&mut self, _now: Nanos) -> Step {
        let (block, write) = match self.pattern {
            Pattern::SequentialRead => (self.next_block(self.read_range.clone()), false),
            Pattern::SequentialWrite => (self.next_block(self.write_range.clone()), true),
            Pattern::RandomRead | Pattern::RandomWrite | Pattern::RandomMixed => self.draw(),
        };
        let laid_out = if write { self.write } else { self.read_from() };
        let offset = block * u64::from(self.block.get());
        let mut span = Span {
            file: laid_out.file,
            offset,
            length: self.block.get(),
            generation: laid_out.generation,
        };
        Step::Issue(if write {
            span.generation = laid_out.generation.wrapping_add(1);
            self.written.issue(offset);
            Op::Write(span, self.stability)
        } else {
            Op::Read(span)
        })
    }

    #[inline]
    fn completed(&mut self, op: &Op, done: &Done) {
        if let Op::Write(span, _) = op
            && done.result.is_ok()
        {
            self.written.acknowledge(span.offset);
        }
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
const NOTHING: Files =
    Files { read: Vec::new(), write: LaidOut { file: FileId(u32::MAX), generation: 0 } };

impl StorageJob for PatternRun {
    type Source = PatternSource;

    fn claim(&self, files: &mut TestFiles) {
        let PatternJob { pattern, size, .. } = self.job;
        if pattern.reads() {
            files.working_set = files.working_set.max(size.0);
            files.read_size = files.read_size.max(self.job.read_file_bytes());
        }
        if pattern.writes() {
            files.write_size = files.write_size.max(size.0);
        }
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        let PatternJob { pattern, verify, .. } = self.job;
        let files = TestFiles::of_point(at, pattern.writes(), point, verify)?;
        self.files = Some(files);
        if point.once {
            let tried = "drive a pattern until it is done";
            let (happened, next) = ("it has no end of its own", "Give its length in seconds.");
            return Err(Failure::new(Cause::Usage, tried, pattern, happened, next));
        }
        Ok(())
    }

    fn asks(&self) -> Asks {
        asks(&self.job, self.files.as_ref().unwrap_or(&NOTHING))
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
        let mut found = Ok(Vec::new());
        if self.job.verify && complete {
            let mut written = Written::nothing();
            sources.into_iter().for_each(|source| written.add(&source.into_written()));
            found = read_back(at, files.write, self.job.size.0, &written);
        }
        at.files.was_written();
        found
    }
}

/// Reads back what a point wrote.
fn read_back(
    at: &mut Workspace<'_>,
    laid_out: LaidOut,
    size: u64,
    written: &Written,
) -> Result<Vec<Flag>, Box<NotGood>> {
    let Workspace { share, means, run, .. } = at;
    run.event(Event::Phase { phase: Phase::Verify, total_bytes: size });
    let mut progress = |bytes| run.event(Event::Progress { bytes });
    let verified = verify(*share, means, laid_out, size, Some(written), &mut progress)?;
    if verified.is_good() {
        return Ok(Vec::new());
    }
    let Verified { stale, misplaced, corrupt, first, .. } = verified;
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
