//! The files of a dataset on a disk of the client's, for programs that copy files from there.

use super::names::Names;
use super::task::MODIFIED_SECONDS;
use crate::content::Content;
use crate::dataset::FileSet;
use crate::op::{FileId, PathId, Span};
use crate::paths::Paths;
use nix::sys::statvfs::statvfs;
use plimsoll_model::units::{Bytes, amount};
use plimsoll_model::{Cause, Failure};
use std::fs::{self, DirBuilder, File, FileTimes, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MAKE_ROOM: &str =
    "Name a directory with space for the dataset in TMPDIR, or give a smaller --scale.";
/// Directories of plimsoll's that are tried before it gives up to find a name for one.
const TRIED: u32 = 1000;
/// As the copies' own directories, and most files of users.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o644;

/// A directory of the client's with the files of a dataset in it, and one to copy them back to. Both go
/// with this.
pub(super) struct LocalTree {
    directory: PathBuf,
    /// Files of it, below `from`, by their numbers.
    names: Vec<PathBuf>,
}

impl LocalTree {
    /// Writes all files, where `fill`, below the system's directory for temporary files.
    pub fn new(
        files: &dyn FileSet,
        content: &Content,
        names: &Names,
        paths: &Paths,
        fill: bool,
    ) -> Result<LocalTree, Failure> {
        expect_space(files.bytes())?;
        let directory = make()?;
        let mut tree = LocalTree { directory, names: Vec::new() };
        for place in [tree.from(), tree.back()] {
            tree.make_directory(&place)?;
        }
        if fill {
            let written = tree.write(files, content, names, paths);
            written.map_err(|error| tree.failure("write the files of the dataset", &error))?;
        }
        Ok(tree)
    }

    /// Where the files are.
    pub fn from(&self) -> PathBuf {
        self.directory.join("from")
    }

    /// Where files are copied back to.
    pub fn back(&self) -> PathBuf {
        self.directory.join("back")
    }

    /// Removes what was copied back.
    pub fn empty_back(&self) -> Result<(), Failure> {
        let back = self.back();
        fs::remove_dir_all(&back)
            .map_err(|error| self.failure("remove the downloaded copy", &error))?;
        self.make_directory(&back)
    }

    /// Gives files another time than they have had, as if they had changed.
    pub fn touch(&self, files: impl Iterator<Item = usize>, round: u32) -> Result<(), Failure> {
        let mut touched = files.filter_map(|file| self.names.get(file));
        let touch = |path: &PathBuf| set_times(&File::open(path)?, MODIFIED_SECONDS + 1 + round);
        let done = touched.try_for_each(touch);
        done.map_err(|error| self.failure("change the time of a file", &error))
    }

    fn write(
        &mut self,
        files: &dyn FileSet,
        content: &Content,
        names: &Names,
        paths: &Paths,
    ) -> io::Result<()> {
        const BLOCK: u32 = 1 << 20;
        let from = self.from();
        let tree = paths.get(names.tree()).unwrap_or_default();
        let below = |path: PathId| -> PathBuf {
            let path = paths.get(path).unwrap_or_default();
            from.join(path.strip_prefix(&*tree).unwrap_or(&path).trim_start_matches('/'))
        };
        let directories: Vec<PathBuf> =
            (0..files.directories()).map(|number| below(names.directory(number))).collect();
        for directory in &directories {
            DirBuilder::new().mode(DIRECTORY_MODE).create(directory)?;
        }
        let mut writer = content.writer(BLOCK);
        for number in 0..files.files() {
            let path = below(names.file(number));
            let mut file = File::create_new(&path)?;
            let size = files.size(number);
            let mut offset = 0;
            while offset < size {
                let length = (size - offset).min(BLOCK.into()) as u32;
                let generation = number as u32;
                file.write_all(writer.fill(&Span { file: FileId(0), offset, length, generation }))?;
                offset += u64::from(length);
            }
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            set_times(&file, MODIFIED_SECONDS)?;
            self.names.push(path);
        }
        for directory in directories.iter().rev().chain([&from]) {
            set_times(&File::open(directory)?, MODIFIED_SECONDS)?;
        }
        Ok(())
    }

    fn make_directory(&self, path: &Path) -> Result<(), Failure> {
        let made = DirBuilder::new().mode(DIRECTORY_MODE).create(path);
        made.map_err(|error| self.failure("create a directory for local files", &error))
    }

    fn failure(&self, tried: &str, error: &io::Error) -> Failure {
        failure(tried, &self.directory, error)
    }
}

impl Drop for LocalTree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Fails where there is no room for so many bytes, before anything is written.
fn expect_space(needed: Bytes) -> Result<(), Failure> {
    let place = std::env::temp_dir();
    let Ok(found) = statvfs(&place) else { return Ok(()) };
    let free = found.blocks_available().saturating_mul(found.fragment_size());
    match needed.0 <= free {
        true => Ok(()),
        false => {
            let free = amount(Bytes(free));
            let happened = format!("they need {}, but {free} are free", amount(needed));
            let (tried, on) = ("find space for local files", place.display());
            Err(Failure::new(Cause::NoSpace, tried).on(on).happened(happened).next(MAKE_ROOM))
        }
    }
}

fn make() -> Result<PathBuf, Failure> {
    let place = std::env::temp_dir();
    let own = std::process::id();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..TRIED {
        let path = place.join(format!("plimsoll-copy-{own}-{number}"));
        match DirBuilder::new().mode(DIRECTORY_MODE).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => {
                return Err(failure("create a directory for local files", &place, &error));
            }
        }
    }
    Err(failure("create a directory for local files", &place, &last))
}

fn set_times(file: &File, seconds: u32) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
    file.set_times(FileTimes::new().set_modified(time))
}

fn failure(tried: &str, on: &Path, error: &io::Error) -> Failure {
    let full = error.kind() == io::ErrorKind::StorageFull;
    let cause = if full { Cause::NoSpace } else { Cause::NotPermitted };
    Failure::new(cause, tried).on(on.display()).happened(error).next(MAKE_ROOM)
}
