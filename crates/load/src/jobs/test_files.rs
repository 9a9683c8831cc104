//! The large files that patterns share: some are read and never written, others are written. Both are
//! laid out before the first point; what is written is written over in place.

use super::laid_out::{Files, LaidOut};
use super::{Point, RunContext, Workspace};
use crate::op::FileId;
use crate::prepare::{OperationContext, lay_out};
use crate::share::Share;
use plimsoll_model::{Cause, Event, Failure, PatternJob, Phase};

/// The name of a file that is read and never written after it was laid out, by its number from 0.
pub fn read_file_name(number: u32) -> String {
    format!("read-{number}.data")
}

/// The name of a file that is written, by its number from 0.
pub fn write_file_name(number: u32) -> String {
    format!("write-{number}.data")
}

/// The names of all of them.
pub fn test_file_names() -> impl Iterator<Item = String> {
    let numbers = 0..PatternJob::FILES;
    numbers.clone().map(read_file_name).chain(numbers.map(write_file_name))
}

/// Whether a file is one of them, or of the two that earlier versions of the program made.
pub fn is_test_file(name: &str) -> bool {
    ["read.data", "write.data"].contains(&name) || test_file_names().any(|own| name == own)
}

/// The files that the patterns of a study share on one target.
pub(crate) struct TestFiles {
    read: Vec<LaidOut>,
    /// Whether they are the run's own.
    own: bool,
    /// Each with whether nothing was written to it since it was laid out.
    write: Vec<(LaidOut, bool)>,
    /// What the largest pattern asks for: all that is read, and each of the run's own files of what is
    /// read and of what is written.
    pub working_set: u64,
    pub read_size: u64,
    pub write_size: u64,
}

/// Bytes of all files that are laid out: those of earlier files, and the sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayOutBytes {
    pub before: u64,
    pub total: u64,
}

/// Words of the failure where a job that lasts until it is stopped has no length.
pub(crate) struct Endless {
    pub tried: &'static str,
    pub on: &'static str,
    pub happened: &'static str,
}

impl TestFiles {
    /// `in_place`: a file of the user's, which is read instead.
    pub fn new(in_place: Option<LaidOut>) -> Self {
        let (own, read) = (in_place.is_none(), in_place.into_iter().collect());
        TestFiles { read, own, write: Vec::new(), working_set: 0, read_size: 0, write_size: 0 }
    }

    /// Claims files that are read: bytes that are read of all together, and the size of each.
    pub fn claim_reads(&mut self, working_set: u64, file_bytes: u64) {
        self.working_set = self.working_set.max(working_set);
        self.read_size = self.read_size.max(file_bytes);
    }

    /// The files that are read, and what patterns read of all of them together, in bytes.
    pub fn read(&self) -> (&[LaidOut], u64) {
        let laid_out = self.read_size.saturating_mul(self.read.len() as u64);
        (&self.read, if self.own { laid_out } else { self.working_set })
    }

    /// All files, as far as they are open.
    pub fn open(&self) -> impl Iterator<Item = FileId> {
        let write = self.write.iter().map(|(write, _)| write);
        self.read.iter().chain(write).map(|laid_out| laid_out.file)
    }

    /// Creates and lays out a file.
    pub fn lay_out(
        share: &dyn Share,
        context: &OperationContext,
        run: &mut dyn RunContext,
        name: &str,
        size: u64,
        bytes: LayOutBytes,
    ) -> Result<LaidOut, Failure> {
        run.event(Event::Phase { phase: Phase::LayOut, total_bytes: bytes.total });
        if bytes.before > 0 {
            run.event(Event::Progress { bytes: bytes.before });
        }
        let (names, directory) = run.names()?;
        let path = format!("{directory}/{name}");
        let laid_out = LaidOut { file: names.create(&path)?, generation: 1 };
        lay_out(share, context, laid_out, size, &mut |bytes| run.event(Event::Progress { bytes }))?;
        Ok(laid_out)
    }

    /// Lays out the next of the files; whether there are others to be laid out.
    pub fn lay_out_next(at: &mut Workspace<'_>) -> Result<bool, Failure> {
        let Workspace { share, context, run, files, .. } = at;
        let wanted = |needed| if needed { PatternJob::FILES } else { 0 };
        let reads = wanted(files.own && files.read_size > 0);
        let (writes, own) = (wanted(files.write_size > 0), files.own);
        let read = if own { files.read.len() as u32 } else { 0 };
        let write = files.write.len() as u32;
        let bytes = |reads: u32, writes: u32| {
            files.read_size * u64::from(reads) + files.write_size * u64::from(writes)
        };
        let of_all = LayOutBytes { before: bytes(read, write), total: bytes(reads, writes) };
        if read < reads {
            let (name, size) = (read_file_name(read), files.read_size);
            files.read.push(TestFiles::lay_out(*share, context, *run, &name, size, of_all)?);
        } else if write < writes {
            let (name, size) = (write_file_name(write), files.write_size);
            let laid_out = TestFiles::lay_out(*share, context, *run, &name, size, of_all)?;
            files.write.push((laid_out, true));
        }
        Ok(read + write + 1 < reads + writes)
    }

    /// The files of a point, in the order of their turns. Those that it `writes` to are laid out where
    /// nobody has asked for that before; and where what is written will be read back, those that were
    /// written to are laid out again, over what they hold.
    pub fn of_point(
        at: &mut Workspace<'_>,
        writes: bool,
        point: &Point,
        read_back: bool,
    ) -> Result<Files, Failure> {
        let missing = |files: &TestFiles| {
            files.write_size > 0 && files.write.len() < PatternJob::FILES as usize
        };
        while writes && missing(at.files) {
            TestFiles::lay_out_next(at)?;
        }
        let Workspace { share, context, run, files, .. } = at;
        let size = files.write_size;
        for (file, whole) in files.write.iter_mut().filter(|(_, whole)| read_back && !whole) {
            run.event(Event::Phase { phase: Phase::LayOut, total_bytes: size });
            file.generation += 1;
            let mut progress = |bytes| run.event(Event::Progress { bytes });
            lay_out(*share, context, *file, size, &mut progress)?;
            *whole = true;
        }
        let in_turn = |mut files: Vec<LaidOut>| {
            let first = point.rotation as usize % files.len().max(1);
            files.rotate_left(first);
            files
        };
        let write = files.write.iter().map(|(write, _)| *write).collect();
        Ok(Files { read: in_turn(files.read.clone()), write: in_turn(write) })
    }

    /// The files of a point that reads them until it is stopped, in the order of their turns.
    pub fn of_endless(
        at: &mut Workspace<'_>,
        point: &Point,
        job: &Endless,
    ) -> Result<Vec<LaidOut>, Failure> {
        if point.once {
            let next = "Give a length in seconds.";
            return Err(Failure::new(Cause::Usage, job.tried)
                .on(job.on)
                .happened(job.happened)
                .next(next));
        }
        Ok(TestFiles::of_point(at, false, point, false)?.read)
    }

    /// A point wrote to a file. The next must not write the same bytes again: a server may notice that
    /// nothing changed and write nothing.
    pub fn was_written(&mut self, file: FileId) {
        for (write, whole) in self.write.iter_mut().filter(|(write, _)| write.file == file) {
            write.generation += 1;
            *whole = false;
        }
    }
}
