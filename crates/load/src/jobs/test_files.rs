//! The two large files that patterns share: one is read and never written, the other is written.

use super::pattern::{Files, LaidOut};
use super::{RunContext, Workspace};
use crate::op::FileId;
use crate::prepare::{Means, lay_out};
use crate::share::Share;
use plimsoll_model::{Event, Failure, Phase};

/// The file that is read and never written after it was laid out.
pub const READ_FILE: &str = "read.data";
/// The file that is written.
pub const WRITE_FILE: &str = "write.data";

/// The files that the patterns of a study share on one target.
pub(crate) struct TestFiles {
    read: Option<LaidOut>,
    /// With the generation of the points that it was laid out for.
    write: Option<(LaidOut, u32)>,
    /// As large as the largest pattern asks for.
    pub read_size: u64,
    pub write_size: u64,
    /// The last generation of content used on this target: no two layouts or points share one.
    generation: u32,
}

impl TestFiles {
    /// `in_place`: a file of the user's, which is read instead.
    pub fn new(in_place: Option<LaidOut>) -> Self {
        TestFiles { read: in_place, write: None, read_size: 0, write_size: 0, generation: 0 }
    }

    /// The file that is read, if there is one.
    pub fn read(&self) -> Option<LaidOut> {
        self.read
    }

    /// Both files, as far as they are open.
    pub fn open(&self) -> impl Iterator<Item = FileId> {
        let write = self.write.map(|(write, _)| write);
        [self.read, write].into_iter().flatten().map(|laid_out| laid_out.file)
    }

    /// Creates and lays out a file with a generation of its own.
    pub fn lay_out(
        &mut self,
        share: &dyn Share,
        means: &Means,
        run: &mut dyn RunContext,
        name: &str,
        size: u64,
    ) -> Result<LaidOut, Failure> {
        run.event(Event::Phase { phase: Phase::LayOut, total_bytes: size });
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

    /// Lays out the file that is read, once.
    pub fn prepare(at: &mut Workspace<'_>) -> Result<(), Failure> {
        let Workspace { share, means, run, files } = at;
        if files.read.is_none() && files.read_size > 0 {
            let size = files.read_size;
            files.read = Some(files.lay_out(*share, means, *run, READ_FILE, size)?);
        }
        Ok(())
    }

    /// The files of a point; one that is `written` is laid out afresh for each new generation of
    /// points, and where it will be read back.
    pub fn of_point(
        at: &mut Workspace<'_>,
        written: bool,
        generation: u32,
        afresh: bool,
    ) -> Result<Files, Failure> {
        let Workspace { share, means, run, files } = at;
        let reuse = files.write.is_some_and(|(_, of)| of == generation && !afresh);
        if written && !reuse {
            if let Some((old, _)) = files.write.take() {
                files.discard(*run, old.file)?;
            }
            let size = files.write_size;
            let laid_out = files.lay_out(*share, means, *run, WRITE_FILE, size)?;
            files.write = Some((laid_out, generation));
        }
        let write = files.write.map(|(write, _)| write);
        // A pattern that only reads never touches the other file, nor the other way round.
        let nothing = LaidOut { file: FileId(u32::MAX), generation: 0 };
        let read = files.read.or(write).unwrap_or(nothing);
        Ok(Files { read, write: write.unwrap_or(read) })
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
