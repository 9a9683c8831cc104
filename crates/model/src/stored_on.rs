//! Where bytes lay that were read.

use serde::{Deserialize, Serialize};

/// Where the bytes of a pattern came from, as far as the cache test can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredOn {
    /// The memory of the machine that reads: its page cache, or a file system in it.
    ClientMemory,
    /// The server's memory: blocks are as fast when they are read first as when they are read again.
    ServerMemory,
    /// A disk or flash: three of four blocks are clearly slower when they are read first.
    Disk,
    /// Not known here.
    Unknown,
}

/// What of the memory of the machine that reads may serve reads in place of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "memory", rename_all = "snake_case")]
pub enum ClientMemory {
    /// The file system is in memory.
    FileSystem {
        /// Its name: "tmpfs".
        name: String,
    },
    /// Its page cache: the file system does not take O_DIRECT, or does not honour it.
    PageCache,
    /// Its page cache, because the study asks for buffered calls.
    Buffered,
    /// Its page cache too, which a loop device reads its file through.
    LoopDevice,
}
