//! A log: each record is written and flushed before the next, in the files that are written in turn.

use super::test_files::TestFiles;
use super::{Asks, Counted, Files, LaidOut, NotGood, Point, StorageJob, Workspace};
use crate::op::{Done, Op, Span};
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Cause, Failure, Flag, LogJob, Nanos, OpKind, Stability};
use std::ops::Range;

/// A log in the files that are written.
pub(crate) struct LogRun {
    job: LogJob,
    files: Option<Files>,
}

impl LogRun {
    pub fn new(job: &LogJob) -> Self {
        LogRun { job: job.clone(), files: None }
    }
}

impl StorageJob for LogRun {
    type Source = LogSource;
    const COUNTED: Counted = &[(LogJob::COMMITS, &[OpKind::FLUSH])];

    fn claim(&self, files: &mut TestFiles) {
        files.write_size = files.write_size.max(self.job.file_bytes());
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.files = Some(TestFiles::of_point(at, true, point, false)?);
        Ok(())
    }

    fn asks(&self) -> Asks {
        let block = u32::try_from(self.job.block.0).unwrap_or(u32::MAX);
        Asks { block, verify: false, kinds: &[OpKind::WRITE, OpKind::FLUSH] }
    }

    fn source(&self, point: &Point, worker: u16, _: &dyn Lane) -> Result<LogSource, Failure> {
        let record = u32::try_from(self.job.block.0).unwrap_or(0).max(1);
        let share = self.job.file_bytes() / u64::from(point.workers.get()) / u64::from(record);
        let first = share * u64::from(worker);
        let files = self.files.as_ref().filter(|files| share > 0 && !files.write.is_empty());
        let files = files.ok_or_else(|| {
            let happened = format!("{} is too small for one record per worker", self.job.size);
            let next = "Give a larger --size or fewer --workers.";
            Failure::new(Cause::Usage, "divide the log").on("--size").happened(happened).next(next)
        })?;
        let records = first..first + share;
        let (files, next, once) = (files.write.clone(), records.start, point.once);
        Ok(LogSource { files, turn: 0, record, next, records, once, state: Idle })
    }

    fn finish(
        &mut self,
        _: Vec<LogSource>,
        at: &mut Workspace<'_>,
        _: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        for file in self.files.take().map_or_else(Vec::new, |files| files.write) {
            at.files.was_written(file.file);
        }
        Ok(Vec::new())
    }
}

use RecordState::{Idle, Waiting, Written};

/// Where a worker is with its record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordState {
    Idle,
    /// An operation is in flight.
    Waiting,
    /// Written, and not flushed yet.
    Written,
}

/// One worker's records, one at a time whatever its depth.
pub(crate) struct LogSource {
    /// In the order of their turns; whose turn it is.
    files: Vec<LaidOut>,
    turn: usize,
    record: u32,
    records: Range<u64>,
    next: u64,
    /// Whether its end is the end of its part of the last file.
    once: bool,
    state: RecordState,
}

impl LogSource {
    /// Whether every file was gone over.
    fn is_over(&self) -> bool {
        self.next == self.records.end && self.turn + 1 == self.files.len()
    }
}

impl OperationSource for LogSource {
    fn next(&mut self, _: Nanos) -> Step {
        let mut laid_out = self.files[self.turn];
        match std::mem::replace(&mut self.state, Waiting) {
            Waiting => Step::WaitUntil(Nanos(u64::MAX)),
            Written => Step::Issue(Op::Flush(laid_out.file)),
            Idle if self.once && self.is_over() => Step::End,
            Idle => {
                if self.next == self.records.end {
                    self.next = self.records.start;
                    self.turn = (self.turn + 1) % self.files.len();
                    laid_out = self.files[self.turn];
                }
                let LaidOut { file, generation } = laid_out;
                let offset = self.next * u64::from(self.record);
                self.next += 1;
                let generation = generation.wrapping_add(1);
                let span = Span { file, offset, length: self.record, generation };
                Step::Issue(Op::Write(span, Stability::Unstable))
            }
        }
    }

    fn completed(&mut self, op: &Op, _: &Done) {
        self.state = if matches!(op, Op::Write(..)) { Written } else { Idle };
    }
}
