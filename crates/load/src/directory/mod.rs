//! A directory on any mounted file system.

mod fetched;
mod file;
mod file_system;
mod mount;
mod names;
mod namespace;
mod psync;
mod ring;
mod shared_memory;
mod tree;
mod uring;

use crate::advice::NAME_FILE_BELOW;
use crate::entry::Space;
use crate::op::FileId;
use crate::open_files::{LaneFiles, OpenFiles};
use crate::open_options::OpenOptions;
use crate::share::{Lane, LaneRequest, Memory, Namespace, Share};
pub use fetched::fetched;
use file::OpenFile;
pub(crate) use file_system::why_not_for_files;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    AdvertisedSizes, Cause, ClientMemory, Deadline, DirectoryTarget, Engine, Failure, InPlace,
    PageCache, Protocol, TargetFacts, suggested_url, without_password,
};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tree::{Tree, Trouble};

/// A directory target, driven by io_uring or by pread and pwrite.
///
/// Unless they are asked to be read and written through it ([`PageCache::Page`]), files bypass the page cache by
/// O_DIRECT where the file system takes it; operations that are not
/// multiples of its logical block go through the page cache. Where it does not take O_DIRECT, or takes
/// it and reads from the page cache all the same, everything does. Clean pages of what goes through it are
/// dropped before a lane begins.
pub struct DirectoryShare {
    path: PathBuf,
    given: String,
    tree: Arc<Tree>,
    files: Arc<OpenFiles<OpenFile>>,
    engine: Choice,
    file_system: String,
    /// What O_DIRECT asks offsets and lengths to be multiples of; `None`: it does not bypass the page
    /// cache.
    direct: Option<u32>,
    memory: Memory,
    space: Space,
    in_place: Option<InPlace>,
    /// What was open when it was let go of.
    released: Mutex<Vec<Released>>,
}

/// A file that was let go of.
struct Released {
    id: FileId,
    path: String,
    number: u64,
    /// Whether it was made here.
    own: bool,
}

/// Which engine drives a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Forced(Engine),
    /// psync at depth 1, where a ring costs more than it gains; io_uring above.
    ByDepth,
    /// psync because the kernel gives no ring.
    NoRing(Errno),
}

impl DirectoryShare {
    /// Opens the directory at `target`, finds out what its file system is and takes, and chooses
    /// the engine. `given` is the target as the user wrote it. With a file in the options nothing
    /// is written.
    ///
    /// Fails with [`Cause::NotPermitted`] if there is no such directory or nothing can be written
    /// there, with [`Cause::NoSpace`] if not even a page can be written, and with
    /// [`Cause::Usage`] if io_uring is forced but the kernel refuses it, or a path that is not there
    /// is written as a share elsewhere.
    pub fn open(
        target: &DirectoryTarget,
        given: &str,
        options: &OpenOptions,
    ) -> Result<DirectoryShare, Failure> {
        let given = &*without_password(given);
        let root = open_root(&target.path, given)?;
        let (tree, found, in_place) = match &options.file {
            None => {
                let found = file_system::probe(&root, given)?;
                (Tree::new(root, found.owner), found, None)
            }
            Some(file) => {
                let tree = Tree::new(root, geteuid().as_raw());
                let look = || {
                    let (directory, name) = tree.place(file)?;
                    file_system::look(&*tree.root()?, &directory, name)
                };
                let (found, size) = look().map_err(|trouble| no_file(given, file, &trouble))?;
                (tree, found, Some(InPlace { file: file.clone(), size: Bytes(size) }))
            }
        };
        let memory = match &*found.name {
            name if file_system::is_memory(name) => {
                Memory::Client(ClientMemory::FileSystem { name: name.to_owned() })
            }
            _ if options.cache == PageCache::Page => Memory::Client(ClientMemory::Buffered),
            name if file_system::is_remote(name) => Memory::Server,
            _ if found.direct.is_none() => Memory::Client(ClientMemory::PageCache),
            _ if tree.root().is_ok_and(|root| file_system::is_on_cached_loop(&root)) => {
                Memory::Client(ClientMemory::LoopDevice)
            }
            _ => Memory::None,
        };
        let engine = match (options.engine, ring::available()) {
            (Some(Engine::IoUring), Err(errno)) => {
                return Err(Failure::new(Cause::Usage, "set up io_uring")
                    .on(given)
                    .happened(format_args!("the kernel refuses it ({})", errno.desc()))
                    .next(
                        "Omit --engine or give --engine psync. To allow io_uring, check \
                     /proc/sys/kernel/io_uring_disabled and the container's seccomp profile.",
                    ));
            }
            (Some(forced), _) => Choice::Forced(forced),
            (None, Ok(())) => Choice::ByDepth,
            (None, Err(errno)) => Choice::NoRing(errno),
        };
        Ok(DirectoryShare {
            released: Mutex::default(),
            given: given.to_owned(),
            path: std::path::absolute(&target.path).unwrap_or_else(|_| target.path.clone()),
            tree: Arc::new(tree),
            files: Arc::default(),
            engine,
            file_system: found.name,
            direct: found.direct.filter(|_| options.cache.is_direct()),
            memory,
            space: found.space,
            in_place,
        })
    }
}

impl Share for DirectoryShare {
    fn local_directory(&self) -> Option<PathBuf> {
        Some(self.path.clone())
    }

    fn facts(&self) -> TargetFacts {
        let client_cache = match (&self.memory, self.direct) {
            (Memory::Client(ClientMemory::FileSystem { name }), _) => {
                format!("page cache ({name} is memory)")
            }
            (Memory::Client(ClientMemory::Buffered), _) => {
                "page cache by --cache page, dropped before each trial".to_owned()
            }
            (_, Some(_)) => "O_DIRECT".to_owned(),
            (_, None) => "page cache".to_owned(),
        };
        let mut notes = Vec::new();
        if let Choice::NoRing(errno) = self.engine {
            notes.push(format!(
                "io_uring is not available ({}); threads are used instead",
                errno.desc()
            ));
        }
        if let Some(alignment) = self.direct.filter(|a| *a > file::SMALLEST_ALIGNMENT) {
            notes.push(format!(
                "O_DIRECT needs multiples of {alignment} bytes; smaller block sizes use the page cache"
            ));
        }
        let engine = match self.engine {
            Choice::Forced(Engine::IoUring) => "io_uring",
            Choice::Forced(Engine::Psync) | Choice::NoRing(_) => "psync",
            Choice::ByDepth => "psync at depth 1, io_uring above",
        };
        // The kernel's NFS client sends O_DIRECT writes as FILE_SYNC, or commits them at once.
        let commits_each_write = self.direct.is_some() && self.file_system.starts_with("nfs");
        let stability = match commits_each_write {
            true => "pwrite with O_DIRECT on NFS: each write is committed when it completes",
            false => "pwrite, then fdatasync; O_DSYNC for filesync",
        };
        let block = self.tree.root().ok().and_then(|root| file_system::preferred_block(&root));
        TargetFacts {
            label: String::new(),
            given: self.given.clone(),
            protocol: Protocol::Directory { file_system: self.file_system.clone() },
            engine: engine.to_owned(),
            advertised: AdvertisedSizes {
                preferred_read_bytes: block,
                preferred_write_bytes: block,
                ..AdvertisedSizes::default()
            },
            client_cache,
            stability: stability.to_owned(),
            commits_each_write,
            memory_below: self.memory != Memory::None,
            space_bytes: (self.space.total, self.space.available),
            in_place: self.in_place.clone(),
            mount_options: self.tree.root().ok().and_then(|root| mount::options(&root)),
            notes,
            ..TargetFacts::default()
        }
    }

    fn memory(&self) -> Memory {
        self.memory.clone()
    }

    fn share_memory(&self, path: &str, deadline: &Deadline) -> Result<(), String> {
        shared_memory::on_file(&self.tree, path, deadline)
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        Ok(Box::new(namespace::DirectoryNamespace {
            tree: self.tree.clone(),
            given: self.given.clone(),
            files: self.files.clone(),
            direct: self.direct,
        }))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        let files = LaneFiles::new(&self.files);
        if self.direct.is_none() {
            files.known().for_each(|file| file.drop_cache());
        }
        let ring = match self.engine {
            Choice::Forced(engine) => engine == Engine::IoUring,
            Choice::ByDepth => request.depth.get() > 1 && !request.concurrent_names,
            Choice::NoRing(_) => false,
        };
        let lane: std::io::Result<Box<dyn Lane>> = if ring {
            uring::UringLane::new(files, &self.tree, &request).map(|l| Box::new(l) as _)
        } else if request.depth.get() == 1 {
            Ok(Box::new(psync::InlineLane::new(files, &self.tree, &request)))
        } else {
            psync::PoolLane::new(files, &self.tree, &request).map(|l| Box::new(l) as _)
        };
        lane.map_err(|error| {
            Failure::new(Cause::Trial, "set up a worker's queue")
                .on(&self.given)
                .happened(error)
                .next("Use fewer workers or a smaller depth, or give --engine psync.")
        })
    }

    fn release(&self) -> Result<(), Failure> {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |trouble: Trouble| self.not_taken_up("close the directory", &trouble);
        for (id, file) in self.files.take_all() {
            // What lanes opened has ended with them.
            let Some(path) = file.path.clone() else { continue };
            let number = file.number().map_err(|errno| failed(errno.into()))?;
            released.push(Released { id, path, number, own: file.is_own() });
        }
        self.tree.release().map_err(failed)
    }

    fn resume(&self) -> Result<(), Failure> {
        let failed = |trouble: Trouble| self.not_taken_up("open the directory again", &trouble);
        self.tree.resume(open_root(&self.path, &self.given)?).map_err(failed)?;
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        for Released { id, path, number, own } in released.iter() {
            let open = || {
                let (directory, name) = self.tree.place(path)?;
                let file = match own {
                    true => OpenFile::again(&directory, name, self.direct, *number)?,
                    false => OpenFile::open(&directory, name, self.direct)?,
                };
                Ok(file.at(path))
            };
            self.files.put_back(*id, open().map_err(failed)?);
        }
        released.clear();
        Ok(())
    }
}

impl DirectoryShare {
    fn not_taken_up(&self, tried: &str, trouble: &Trouble) -> Failure {
        let next = "Check the mount, and run it again.";
        Failure::new(Cause::NotPermitted, tried).on(&self.given).happened(trouble).next(next)
    }
}

fn open_root(path: &Path, given: &str) -> Result<OwnedFd, Failure> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    nix::fcntl::open(path, flags, Mode::empty()).map_err(|errno| not_opened(path, given, errno))
}

fn not_opened(path: &Path, given: &str, errno: Errno) -> Failure {
    let tried = "open the directory";
    if let (Errno::ENOENT, Some(url)) = (errno, path.to_str().and_then(suggested_url)) {
        let happened = "no such directory; other programs use this syntax for a share";
        let next = format!("For the share write {url}.");
        return Failure::new(Cause::Usage, tried).on(given).happened(happened).next(next);
    }
    if let (Errno::ENOENT, true) = (errno, server_may_be_meant(given)) {
        let next = format!(
            "For a share write nfs://{given}/EXPORT or smb://USER@{given}/SHARE. For a directory, create it or \
             check its name."
        );
        return Failure::new(Cause::NotPermitted, tried)
            .on(given)
            .happened("no such directory")
            .next(next);
    }
    let (happened, next) = match errno {
        Errno::ENOENT => ("no such directory", "Create it, or check its name."),
        Errno::ENOTDIR => match std::fs::metadata(path).map(|m| m.file_type()) {
            Ok(kind) if kind.is_file() => (
                "it is a file, not a directory",
                "Give its directory. To read the file itself: 'plimsoll check DIRECTORY --file NAME'.",
            ),
            Ok(kind) if kind.is_fifo() => ("it is a pipe, not a directory", "Give a directory."),
            Ok(kind) if kind.is_block_device() || kind.is_char_device() => {
                ("it is a device, not a directory", "Give a directory on its file system.")
            }
            Ok(_) => ("it is not a directory", "Give a directory."),
            Err(_) => ("a part of its path is not a directory", "Check the path."),
        },
        Errno::EACCES => ("not permitted", "Choose a directory that you can read and write."),
        Errno::ELOOP => ("its symbolic links form a loop", "Check the links."),
        other => (other.desc(), "Check the path and its file system."),
    };
    Failure::new(Cause::NotPermitted, tried).on(given).happened(happened).next(next)
}

/// Whether a path looks like the name or address of a server, without a share.
fn server_may_be_meant(given: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    !given.starts_with(['.', '-']) && !given.is_empty() && given.chars().all(is_name)
}

fn no_file(given: &str, file: &str, trouble: &Trouble) -> Failure {
    let (happened, next) = match trouble {
        Trouble::System(Errno::ELOOP | Errno::ENOTDIR) => {
            ("a part of its path is a symbolic link, or not a directory", "Name the file itself.")
        }
        Trouble::System(Errno::ENOENT) => ("no such file", "Check its name."),
        Trouble::System(Errno::EINVAL) => (
            "it is not a path below the directory",
            "Write it without '..' and without a leading '/'.",
        ),
        Trouble::System(Errno::EISDIR) => ("it is a directory", NAME_FILE_BELOW),
        Trouble::System(errno) => (errno.desc(), "Name a file that you can read."),
        Trouble::Wrong(what) => (what.as_str(), "Name a regular file."),
    };
    let on = format!("{}/{file}", given.trim_end_matches('/'));
    Failure::new(Cause::NotPermitted, "open the file to be read")
        .on(on)
        .happened(happened)
        .next(next)
}
