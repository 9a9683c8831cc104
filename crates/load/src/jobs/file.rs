//! One file from its beginning to its end: opened or made, gone through in buffers, flushed where its writes are
//! not stable by themselves, closed.

use super::laid_out::LaidOut;
use super::tree::{self, OPERATIONS};
use super::{Asks, NotGood, Point, StorageJob, Workspace, can_do};
use crate::op::{Done, FileId, Found, Op, PathId, Span};
use crate::prepare::lay_out;
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Event, Failure, FileJob, FileWay, Flag, Nanos, OpKind, Phase, Stability};

const READS: &[OpKind] = &[OpKind::OPEN, OpKind::READ, OpKind::CLOSE];
const WRITES: &[OpKind] = &[OpKind::CREATE, OpKind::WRITE, OpKind::FLUSH, OpKind::CLOSE];

/// A file that is read or written whole.
pub(crate) struct FileRun {
    job: FileJob,
    number: usize,
    /// A directory of its own, once it is made.
    directory: Option<String>,
    /// The file of each worker; those that read have one.
    paths: Vec<(String, PathId)>,
    /// Files that were written, to be removed before others are.
    written: Vec<String>,
    /// No two points write the same bytes.
    generation: u32,
}

impl FileRun {
    pub fn new(job: &FileJob, number: usize) -> Self {
        let (job, paths, written) = (job.clone(), Vec::new(), Vec::new());
        FileRun { job, number, directory: None, paths, written, generation: 1 }
    }

    fn kinds(&self) -> &'static [OpKind] {
        match self.job.way {
            FileWay::Read => READS,
            FileWay::Write => WRITES,
        }
    }

    /// The path of a worker's file.
    fn path(&mut self, at: &Workspace<'_>, worker: usize) -> (String, PathId) {
        let directory = self.directory.clone().unwrap_or_default();
        while self.paths.len() <= worker {
            let path = format!("{directory}/{}", tree::file(self.paths.len()));
            let number = at.context.paths.add(path.as_str());
            self.paths.push((path, number));
        }
        self.paths[worker].clone()
    }
}

impl StorageJob for FileRun {
    type Source = FileSource;

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        if self.directory.is_some() {
            return Ok(Vec::new());
        }
        let (names, run) = at.run.names()?;
        let root = format!("{run}/{OPERATIONS}{}", self.number);
        names.make_directory(&root)?;
        let directory = format!("{root}/{}", tree::directory(0));
        names.make_directory(&directory)?;
        self.directory = Some(directory);
        if self.job.way == FileWay::Read {
            let size = self.job.size.0;
            at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes: size });
            let (path, _) = self.path(at, 0);
            let laid_out = LaidOut { file: at.run.names()?.0.create(&path)?, generation: 1 };
            let run = &mut *at.run;
            let mut progress = |bytes| run.event(Event::Progress { bytes });
            lay_out(at.share, at.context, laid_out, size, &mut progress)?;
            at.run.names()?.0.close(laid_out.file);
        }
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.prepare(at)?;
        while let Some(path) = self.written.pop() {
            at.run.names()?.0.remove_file(&path)?;
        }
        self.generation = self.generation.wrapping_add(1);
        for worker in 0..usize::from(point.workers.get()) {
            self.path(at, worker);
        }
        Ok(())
    }

    fn asks(&self) -> Asks {
        let block = u32::try_from(self.job.buffer.0).unwrap_or(u32::MAX);
        Asks { block, verify: false, kinds: self.kinds() }
    }

    fn source(&self, _: &Point, worker: u16, lane: &dyn Lane) -> Result<FileSource, Failure> {
        can_do("read or write a whole file", lane, self.kinds())?;
        let place = match self.job.way {
            FileWay::Read => 0,
            FileWay::Write => usize::from(worker),
        };
        Ok(FileSource {
            job: self.job.clone(),
            made: false,
            path: self.paths.get(place).map_or(PathId(u32::MAX), |(_, path)| *path),
            generation: self.generation,
            file: None,
            offset: 0,
            in_flight: 0,
            next: Next::Begin,
        })
    }

    fn finish(
        &mut self,
        sources: Vec<FileSource>,
        at: &mut Workspace<'_>,
        _complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        let made = |(source, _): &(&FileSource, _)| source.made;
        let made = sources.iter().zip(&self.paths).filter(made);
        self.written.extend(made.map(|(_, (path, _))| path.clone()));
        for file in sources.into_iter().filter_map(|source| source.file) {
            at.run.names()?.0.close(file);
        }
        Ok(Vec::new())
    }
}

/// What comes when nothing is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Begin,
    Flush,
    Close,
    End,
}

/// One worker's way through a file, once.
pub(crate) struct FileSource {
    job: FileJob,
    path: PathId,
    generation: u32,
    file: Option<FileId>,
    /// Whether it has made its file.
    made: bool,
    offset: u64,
    in_flight: usize,
    next: Next,
}

impl FileSource {
    /// The next buffer of the file; `None` at its end.
    fn transfer(&mut self) -> Option<Op> {
        let left = self.job.size.0.saturating_sub(self.offset);
        let length =
            u32::try_from(self.job.buffer.0.min(left)).ok().filter(|length| *length > 0)?;
        let (offset, generation) = (self.offset, self.generation);
        let span = Span { file: self.file?, offset, length, generation };
        self.offset += u64::from(length);
        Some(match self.job.way {
            FileWay::Read => Op::Read(span),
            FileWay::Write => Op::Write(span, self.job.stability),
        })
    }

    /// What comes when nothing is in flight.
    fn alone(&mut self) -> Option<Op> {
        match (self.next, self.file) {
            (Next::Begin, _) => {
                self.next = Next::Flush;
                Some(match self.job.way {
                    FileWay::Read => Op::Open(self.path),
                    FileWay::Write => Op::Create(self.path),
                })
            }
            (Next::Flush, Some(file)) => {
                self.next = Next::Close;
                let flushes =
                    self.job.way == FileWay::Write && self.job.stability == Stability::Unstable;
                if flushes { Some(Op::Flush(file)) } else { self.alone() }
            }
            (Next::Close, Some(file)) => {
                self.next = Next::End;
                Some(Op::Close(file))
            }
            _ => None,
        }
    }
}

impl OperationSource for FileSource {
    fn next(&mut self, _: Nanos) -> Step {
        let op = match self.transfer() {
            Some(op) => Some(op),
            None if self.in_flight > 0 => return Step::WaitUntil(Nanos(u64::MAX)),
            None => self.alone(),
        };
        self.in_flight += usize::from(op.is_some());
        op.map_or(Step::End, Step::Issue)
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight -= 1;
        match (op, &done.result) {
            (Op::Close(_), Ok(_)) => self.file = None,
            (_, Ok(Some(found))) => {
                if let Found::File(file) = **found {
                    self.file = Some(file);
                    self.made = matches!(op, Op::Create(_));
                }
            }
            _ => {}
        }
    }
}
