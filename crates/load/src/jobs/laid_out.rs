//! The large files that jobs read and write, after they were laid out.

use crate::op::FileId;

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
    /// The files that writes go to, in the same way.
    pub write: Vec<LaidOut>,
}
