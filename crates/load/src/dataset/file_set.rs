//! What is known of a set of files, of whatever source.

use plimsoll_model::units::Bytes;
use plimsoll_model::{Failure, Flag};

/// Files by numbers, from 0, in directories by numbers. A directory comes after the one that it is in, and so
/// do the files of a directory after those of the one before.
pub trait FileSet: Send + Sync {
    /// How many files there are.
    fn files(&self) -> usize;
    /// How many directories there are, the one at the top included.
    fn directories(&self) -> usize;
    /// Bytes of all files.
    fn bytes(&self) -> Bytes;
    /// Size of a file.
    fn size(&self, file: usize) -> u64;
    /// The directory that a file is in.
    fn directory_of(&self, file: usize) -> usize;
    /// The directory that a directory is copied into; `None`: beside the first.
    fn parent(&self, directory: usize) -> Option<usize> {
        let _ = directory;
        None
    }
    /// Whether its files have names as long as those of sources.
    fn has_long_names(&self) -> bool {
        false
    }
    /// What a user who named them may not expect: what was left out, what is copied as more than it is.
    fn oddities(&self) -> Vec<Flag> {
        Vec::new()
    }
    /// Whether something went wrong while its bytes were read.
    fn failed(&self) -> bool {
        false
    }
    /// What went wrong first, or what is not any more as it was when it was listed.
    ///
    /// # Errors
    /// [`Cause::Trial`](plimsoll_model::Cause::Trial), with the file's name.
    fn check_unchanged(&self) -> Result<(), Failure> {
        Ok(())
    }
}
