//! One queue pair for every kind of share: what a target must offer to be driven.

use crate::content::Content;
use crate::entry::{Entry, Space};
use crate::op::{Done, FileId, Op, Tag};
use crate::paths::Paths;
use plimsoll_model::{
    ClientMemory, Clock, Deadline, ErrorKind, Failure, Flag, Nanos, OpKind, TargetFacts,
};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An opened target: it owns connections and the namespace.
pub trait Share: Send + Sync {
    /// What the target turned out to be. The label is left empty.
    fn facts(&self) -> TargetFacts;
    /// Where it is on this machine, if it is mounted.
    fn local_directory(&self) -> Option<PathBuf> {
        None
    }
    /// The memory that may serve reads in place of a disk.
    fn memory(&self) -> Memory {
        if self.facts().memory_below { Memory::Server } else { Memory::None }
    }
    /// Tries whether two processes of this machine share memory by a file of the run's own, which is overwritten: each
    /// maps it, and is to see what the other one writes there. Asked of what has a local directory.
    ///
    /// # Errors
    /// Why they do not, in words.
    fn share_memory(&self, path: &str, deadline: &Deadline) -> Result<(), String> {
        let _ = (path, deadline);
        Err("the target is not mounted on this machine".to_owned())
    }
    /// What was odd since this was last asked for; each oddity once.
    fn take_flags(&self) -> Vec<Flag> {
        Vec::new()
    }
    /// A handle on the names below the target: untimed and blocking, with its own connection.
    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure>;
    /// A lane: a queue pair for one worker, with its own connection. Files that are open when it is
    /// made cost nothing to find; files opened later are looked up in the share's table.
    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure>;
    /// Closes what it has open on this machine, while no lane is at work, so that what it lies on can be
    /// unmounted. Until [`Share::resume`], nothing can be done on it.
    fn release(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// Opens again what [`Share::release`] has closed, the same files under the same numbers.
    fn resume(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The memory that may serve reads of a share in place of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// None: O_DIRECT passes it.
    None,
    /// A server's.
    Server,
    /// That of the machine that reads.
    Client(ClientMemory),
}

/// What a worker wants of its lane.
#[derive(Clone)]
pub struct LaneRequest {
    /// Most operations in flight.
    pub depth: NonZeroU16,
    /// Largest operation in bytes.
    pub block: u32,
    /// What is written, and what is expected when `verify` is set.
    pub content: Arc<Content>,
    /// The paths that operations name.
    pub paths: Arc<Paths>,
    /// Whether to check the content of every read.
    pub verify: bool,
    /// Whether operations on names are to be in flight beside others. A local directory does them in threads
    /// then, where its lanes would do one after the other.
    pub concurrent_names: bool,
    /// The clock that stamps [`Done`].
    pub clock: Arc<dyn Clock>,
}

/// The queue is full: reap first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The lane cannot be used any more; operations in flight are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneDead {
    /// Why, as a kind.
    pub kind: ErrorKind,
    /// Why, in words.
    pub detail: String,
}

/// A queue pair, as io_uring is: operations go in, completions come out, in any order.
pub trait Lane: Send {
    /// Queues one operation; may send it at once or batch it until `reap`. `issued` is the time
    /// the driver took for it just before. A failure to send is reported as a `Done` or by `reap`.
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full>;
    /// Sends what was batched, waits until at least one operation completes or `until` has come,
    /// and appends every completion at hand to `out`.
    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead>;
    /// Whether it does operations of this kind. A lane that does not write or read small files whole
    /// may do all that it takes one after the other.
    fn does(&self, kind: OpKind) -> bool {
        matches!(kind, OpKind::READ | OpKind::WRITE | OpKind::FLUSH)
    }
    /// Whether what was written to a file is made stable when programs close it, as NFS clients do
    /// (RFC 1813, section 4.11): it is flushed then before it is closed.
    fn commits_at_close(&self) -> bool {
        false
    }
    /// Bytes that it has sent and received so far, those of operations in flight included: where nothing completes,
    /// they tell a slow link from a target that stands still. `None` where that is not known, and while a server
    /// that went away or is not ready is asked again: what is sent once more is no progress.
    fn moved_bytes(&self) -> Option<u64> {
        None
    }
    /// Closes the files that it opened and nobody closed, once its trial has ended, perhaps within one. While a local file
    /// is open on a mount of NFS, its directory cannot be removed.
    fn close_own(&mut self) {}
    /// CPU time that threads of the lane's own, beside the one that calls it, have used so far.
    fn helper_cpu(&self) -> Duration {
        Duration::ZERO
    }
}

/// The names below a target. Paths are relative to it, with `/` between names, and never start
/// with `/`; the empty path is the target itself. No call follows a symbolic link in its last
/// name.
pub trait Namespace: Send {
    /// Makes one directory; an error if it exists.
    fn make_directory(&mut self, path: &str) -> Result<(), Failure>;
    /// What is in a directory, without `.` and `..`, in any order.
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure>;
    /// Creates a file that must not exist, for reading and writing, and opens it.
    fn create(&mut self, path: &str) -> Result<FileId, Failure>;
    /// Opens an existing file for reading.
    fn open(&mut self, path: &str) -> Result<FileId, Failure>;
    /// Opens an existing file of the run's own for reading and writing, through the page cache where there is one. It is
    /// open for another program each time: locks of one are in the way of the other.
    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure>;
    /// Forgets an open file; lanes that know it may go on until they end.
    fn close(&mut self, file: FileId);
    /// Writes a small file whole, replacing what was there, and makes it stable.
    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure>;
    /// Reads a small file whole, at most `limit` bytes of it.
    fn read_small(&mut self, path: &str, limit: usize) -> Result<Vec<u8>, Failure> {
        self.read_part(path, 0, limit)
    }
    /// Reads a part of a file: what it has from this offset on, at most `limit` bytes.
    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure>;
    /// Removes a file (or a link itself, never what it points to).
    fn remove_file(&mut self, path: &str) -> Result<(), Failure>;
    /// Removes an empty directory.
    fn remove_directory(&mut self, path: &str) -> Result<(), Failure>;
    /// Space in bytes.
    fn space(&mut self) -> Result<Space, Failure>;
}
