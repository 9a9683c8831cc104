//! The large files that patterns share: some are read and never written, another is written.

use super::pattern::{Files, LaidOut};
use super::{Point, RunContext, Workspace};
use crate::op::FileId;
use crate::prepare::{Means, lay_out};
use crate::share::Share;
use plimsoll_model::{Event, Failure, PatternJob, Phase};

/// The name of a file that is read and never written after it was laid out, by its number from 0.
pub fn read_file_name(number: u32) -> String {
    format!("read-{number}.data")
}

/// Whether a file is such a one, or the only one that earlier versions of the program made.
pub fn is_read_file(name: &str) -> bool {
    name == "read.data" || (0..PatternJob::READ_FILES).any(|n| name == read_file_name(n))
}

/// The file that is written.
pub const WRITE_FILE: &str = "write.data";

/// The files that the patterns of a study share on one target.
pub(crate) struct TestFiles {
    read: Vec<LaidOut>,
    /// Whether they are the run's own.
    own: bool,
    /// With the generation of the points that it was laid out for.
    write: Option<(LaidOut, u32)>,
    /// What the largest pattern asks for: all that is read, each of the run's own files of it, and the
    /// one that is written.
    pub working_set: u64,
    pub read_size: u64,
    pub write_size: u64,
    /// The last generation of content used on this target: no two layouts or points share one.
    generation: u32,
}

impl TestFiles {
    /// `in_place`: a file of the user's, which is read instead.
    pub fn new(in_place: Option<LaidOut>) -> Self {
        let (own, read) = (in_place.is_none(), in_place.into_iter().collect());
        TestFiles {
            read,
            own,
            write: None,
            working_set: 0,
            read_size: 0,
            write_size: 0,
            generation: 0,
        }
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

    /// Creates and lays out a file with a generation of its own, the next after `before` bytes of
    /// `total_bytes`.
    pub fn lay_out(
        &mut self,
        share: &dyn Share,
        means: &Means,
        run: &mut dyn RunContext,
        name: &str,
        size: u64,
        (before, total_bytes): (u64, u64),
    ) -> Result<LaidOut, Failure> {
        run.event(Event::Phase { phase: Phase::LayOut, total_bytes });
        if before > 0 {
            run.event(Event::Progress { bytes: before });
        }
        let (names, directory) = run.names()?;
        let path = format!("{directory}/{name}");
        let file = names.create(&path)?;
        self.generation += 1;
        let laid_out = LaidOut { file, generation: self.generation };
        let mut progress = |bytes| run.event(Event::Progress { bytes });
        lay_out(share, means, laid_out, size, &mut progress)?;
        Ok(laid_out)
    }

    /// Closes and removes the written file.
    pub fn discard(&mut self, run: &mut dyn RunContext, file: FileId) -> Result<(), Failure> {
        let (names, directory) = run.names()?;
        let path = format!("{directory}/{WRITE_FILE}");
        names.close(file);
        names.remove_file(&path)
    }

    /// Lays out the next of the files that are read; whether there are others to be laid out.
    pub fn lay_out_next(at: &mut Workspace<'_>) -> Result<bool, Failure> {
        let Workspace { share, means, run, files } = at;
        let wanted = if files.own && files.read_size > 0 { PatternJob::READ_FILES } else { 0 };
        let number = files.read.len() as u32;
        if number < wanted {
            let (name, size) = (read_file_name(number), files.read_size);
            let of_all = (size * u64::from(number), size * u64::from(wanted));
            let laid_out = files.lay_out(*share, means, *run, &name, size, of_all)?;
            files.read.push(laid_out);
        }
        Ok(number + 1 < wanted)
    }

    /// The files of a point, those that are read in the order of their turns; one that is `written`
    /// is laid out afresh for each new generation of points, and where it will be read back.
    pub fn of_point(
        at: &mut Workspace<'_>,
        written: bool,
        point: &Point,
        afresh: bool,
    ) -> Result<Files, Failure> {
        let Workspace { share, means, run, files } = at;
        let generation = point.generation;
        let reuse = files.write.is_some_and(|(_, of)| of == generation && !afresh);
        if written && !reuse {
            if let Some((old, _)) = files.write.take() {
                files.discard(*run, old.file)?;
            }
            let size = files.write_size;
            let laid_out = files.lay_out(*share, means, *run, WRITE_FILE, size, (0, size))?;
            files.write = Some((laid_out, generation));
        }
        let write = files.write.map(|(write, _)| write);
        let mut read = files.read.clone();
        let first = point.read_file as usize % read.len().max(1);
        read.rotate_left(first);
        // A pattern that only reads never touches the other file.
        let nothing = LaidOut { file: FileId(u32::MAX), generation: 0 };
        Ok(Files { read, write: write.unwrap_or(nothing) })
    }

    /// The next point must not write the same bytes again: a server may notice that nothing changed
    /// and write nothing.
    pub fn was_written(&mut self) {
        self.generation += 1;
        if let Some((write, _)) = &mut self.write {
            write.generation = self.generation;
        }
    }
}
