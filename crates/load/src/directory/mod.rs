//! A directory on any mounted file system.

mod file;
mod file_system;
mod mount;
mod namespace;
mod psync;
mod ring;
mod tree;
mod uring;

use crate::share::{Lane, LaneRequest, Namespace, Share, Space};
use file::{OpenFile, OpenFiles};
use model::{Cause, DirectoryTarget, Engine, Failure, TargetFacts};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::sync::Arc;
use tree::Tree;

/// A directory target, driven by io_uring or by pread and pwrite.
///
/// Files bypass the page cache by O_DIRECT where the file system takes it; operations that are not
/// multiples of its logical block go through the page cache. Where it does not take O_DIRECT,
/// everything does, and clean pages are dropped before a lane begins.
pub struct DirectoryShare {
    given: String,
    tree: Arc<Tree>,
    files: Arc<OpenFiles>,
    engine: Choice,
    file_system: String,
    /// What O_DIRECT asks offsets and lengths to be multiples of; `None`: it is not taken.
    direct: Option<u32>,
    space: Space,
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
    /// the engine. `given` is the target as the user wrote it.
    ///
    /// Fails with [`Cause::NotPermitted`] if there is no such directory or nothing can be written
    /// there, with [`Cause::NoSpace`] if not even a page can be written, and with
    /// [`Cause::Usage`] if io_uring is forced but the kernel refuses it.
    pub fn open(
        target: &DirectoryTarget,
        engine: Option<Engine>,
        given: &str,
    ) -> Result<DirectoryShare, Failure> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let root = nix::fcntl::open(&target.path, flags, Mode::empty()).map_err(|errno| {
            let (happened, next) = match errno {
                Errno::ENOENT => ("there is no such directory", "Create it, or check its name."),
                Errno::ENOTDIR => ("it is not a directory", "Give a directory."),
                Errno::EACCES => ("not permitted", "Choose a directory you may use."),
                other => (other.desc(), "Check the path and its file system."),
            };
            Failure::new(Cause::NotPermitted, "open the directory", given, happened, next)
        })?;
        let found = file_system::probe(&root, given)?;
        let engine = match (engine, ring::available()) {
            (Some(Engine::IoUring), Err(errno)) => {
                return Err(Failure::new(
                    Cause::Usage,
                    "set up io_uring",
                    given,
                    format_args!("the kernel refuses it ({})", errno.desc()),
                    "Leave --engine out or give --engine psync; to allow io_uring, look at \
                     /proc/sys/kernel/io_uring_disabled and the container's seccomp profile.",
                ));
            }
            (Some(forced), _) => Choice::Forced(forced),
            (None, Ok(())) => Choice::ByDepth,
            (None, Err(errno)) => Choice::NoRing(errno),
        };
        Ok(DirectoryShare {
            given: given.to_owned(),
            tree: Arc::new(Tree::new(root, found.owner)),
            files: Arc::default(),
            engine,
            file_system: found.name,
            direct: found.direct,
            space: found.space,
        })
    }
}

impl Share for DirectoryShare {
    fn facts(&self) -> TargetFacts {
        let tmpfs = matches!(self.file_system.as_str(), "tmpfs" | "ramfs");
        let client_cache = match self.direct {
            _ if tmpfs => format!("page cache ({} is memory)", self.file_system),
            Some(_) => "O_DIRECT".to_owned(),
            None => "page cache".to_owned(),
        };
        let mut notes = Vec::new();
        if tmpfs {
            notes.push(format!(
                "{} is this machine's memory: no disk is measured",
                self.file_system
            ));
        }
        if let Choice::NoRing(errno) = self.engine {
            notes.push(format!(
                "io_uring is not available ({}): threads take its place",
                errno.desc()
            ));
        }
        if let Some(alignment) = self.direct.filter(|a| *a > file::SMALLEST_ALIGNMENT) {
            notes.push(format!(
                "O_DIRECT takes multiples of {alignment} bytes: smaller blocks use the page cache"
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
            true => "pwrite with O_DIRECT on NFS: each is committed when it completes",
            false => "pwrite, then fdatasync; O_DSYNC for filesync",
        };
        TargetFacts {
            label: String::new(),
            given: self.given.clone(),
            protocol: format!("directory on {}", self.file_system),
            engine: engine.to_owned(),
            client_cache,
            stability: stability.to_owned(),
            commits_each_write,
            // O_DIRECT passes this machine's memory, but not that of a server.
            memory_below: tmpfs || self.direct.is_none() || is_remote(&self.file_system),
            space_bytes: (self.space.total, self.space.available),
            mount_options: mount::options(self.tree.root()),
            notes,
            ..TargetFacts::default()
        }
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
        let files = self.files.snapshot();
        if self.direct.is_none() {
            files.iter().for_each(|(_, file)| file.drop_cache());
        }
        let ring = match self.engine {
            Choice::Forced(engine) => engine == Engine::IoUring,
            Choice::ByDepth => request.depth.get() > 1,
            Choice::NoRing(_) => false,
        };
        let lane: std::io::Result<Box<dyn Lane>> = if ring {
            uring::UringLane::new(files, &request).map(|l| Box::new(l) as _)
        } else if request.depth.get() == 1 {
            Ok(Box::new(psync::InlineLane::new(files, &request)))
        } else {
            psync::PoolLane::new(files, &request).map(|l| Box::new(l) as _)
        };
        lane.map_err(|error| {
            Failure::new(
                Cause::Trial,
                "set up a worker's queue",
                &self.given,
                error,
                "Use fewer workers or a smaller depth, or give --engine psync.",
            )
        })
    }
}

/// The files a lane knows, few enough to be searched in order.
type LaneFiles = Vec<(crate::op::FileId, Arc<OpenFile>)>;

/// Whether a file system's data are on another machine.
fn is_remote(file_system: &str) -> bool {
    let remote = ["nfs", "cifs", "smb", "ceph", "afs", "9p", "fuse"];
    remote.iter().any(|name| file_system.starts_with(name))
}
