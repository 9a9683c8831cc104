//! What may be asked of a pipeline, and which requests of SMB that takes.

use crate::files::{
    Access, CreateHow, Entry, FileInfo, disposition, listing, network_open, renaming, times,
};
use crate::link::FileId;
use crate::ms_smb2::types::{Command, Dialect};
use crate::requests::{self, Create, OpenKind, Rights};
use plimsoll_transport::{ByteRange, LockMode};
use std::time::SystemTime;

/// What is asked for. Paths are relative to the share, with `/` between names; a link in the last
/// name is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// The bytes from `offset` on.
    Read {
        /// The file.
        file: FileId,
        /// In bytes.
        offset: u64,
        /// Bytes wanted.
        count: u32,
    },
    /// The bytes that [`Exchange::payload`](plimsoll_transport::Exchange::payload) gives.
    Write {
        /// The file.
        file: FileId,
        /// In bytes.
        offset: u64,
        /// How many.
        count: u32,
        /// Whether they are stable when it is done.
        through: bool,
    },
    /// Makes the whole file stable.
    Flush {
        /// The file.
        file: FileId,
    },
    /// A small file whole: opened or made, written and closed.
    Put {
        /// Its path.
        path: &'a str,
        /// What if it exists.
        how: CreateHow,
        /// Its length in bytes.
        count: u32,
        /// Whether it is stable when it is done.
        through: bool,
    },
    /// The first `most` bytes of a file: opened, read and closed.
    Get {
        /// Its path.
        path: &'a str,
        /// Bytes wanted.
        most: u32,
    },
    /// A regular file is opened.
    Open {
        /// Its path.
        path: &'a str,
        /// What if it exists.
        how: CreateHow,
        /// What may be done with it.
        access: Access,
    },
    /// A file or a directory is closed.
    Close {
        /// Which.
        file: FileId,
    },
    /// What a name is: opened, asked and closed.
    Lookup {
        /// Its path.
        path: &'a str,
    },
    /// A directory is opened, to be listed.
    OpenDirectory {
        /// Its path.
        path: &'a str,
    },
    /// The next names of an open directory.
    List {
        /// The directory.
        directory: FileId,
    },
    /// A directory is made, which must not exist.
    MakeDirectory {
        /// Its path.
        path: &'a str,
    },
    /// A file is opened, given another name, in place of what has it, and closed.
    Rename {
        /// Its path.
        path: &'a str,
        /// The path that it gets.
        to: &'a str,
    },
    /// What an open file is.
    Attributes {
        /// The file.
        file: FileId,
    },
    /// Bytes of an open file are locked, or that is undone. Where that cannot be done at once, it is refused.
    Lock {
        /// The file.
        file: FileId,
        /// Which bytes.
        bytes: ByteRange,
        /// How; `None` undoes it.
        mode: Option<LockMode>,
    },
    /// The time of the last write of an open file is set.
    SetTimes {
        /// The file.
        file: FileId,
        /// The time.
        written: SystemTime,
    },
    /// The same of a directory, which is opened and closed.
    SetTimesOf {
        /// Its path.
        path: &'a str,
        /// The time.
        written: SystemTime,
    },
    /// A file, or a link itself, is opened, marked for removal and closed.
    Remove {
        /// Its path.
        path: &'a str,
    },
    /// The same for an empty directory.
    RemoveDirectory {
        /// Its path.
        path: &'a str,
    },
}

/// What a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done<'a> {
    /// READ: never more than asked for; less, or nothing, at the end of the file.
    Read {
        /// The bytes, in the receive buffer.
        data: &'a [u8],
    },
    /// WRITE: never more than sent, perhaps less.
    Write {
        /// Bytes written.
        count: u32,
    },
    /// FLUSH.
    Flush,
    /// A small file was made, written and closed.
    Put {
        /// Bytes written: never more than sent, perhaps less.
        count: u32,
    },
    /// A small file was opened, read and closed.
    Get {
        /// Its first bytes, never more than asked for.
        data: &'a [u8],
        /// Its size in bytes.
        size: u64,
    },
    /// A file or a directory was opened.
    Open {
        /// Valid on this connection alone.
        file: FileId,
        /// Its size in bytes.
        size: u64,
    },
    /// A file or a directory was closed.
    Close,
    /// What a name or an open file is.
    Found(FileInfo),
    /// Names of a directory, without `.` and `..`.
    Page {
        /// The names, in the server's order.
        entries: Vec<Entry>,
        /// Whether there are no more; then there are none.
        end: bool,
    },
    /// A directory was made.
    Made,
    /// A file or a directory was removed, renamed, locked or unlocked, or has other times.
    Changed,
}

/// What a call asks for, without its path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Nothing,
    Read { file: FileId, offset: u64, count: u32 },
    Write { file: FileId, offset: u64, count: u32, through: Through },
    Flush { file: FileId },
    Put { how: CreateHow, count: u32, through: Through },
    Get { most: u32 },
    Open { how: CreateHow, access: Access },
    OpenDirectory,
    Close { file: FileId },
    Lookup,
    Attributes { file: FileId },
    Lock { file: FileId, bytes: ByteRange, mode: Option<LockMode> },
    List { directory: FileId, buffer: u32 },
    MakeDirectory,
    Rename,
    SetTimes { file: FileId, written: SystemTime },
    SetTimesOf { written: SystemTime },
    Remove(OpenKind),
}

/// How safe a WRITE is before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// As the server likes.
    No,
    /// By the flag WRITE_THROUGH.
    Flag,
    /// By a FLUSH in the same compound: dialect 2.0.2 has no such flag (MS-SMB2, section 2.2.21).
    Flush,
}

impl Through {
    /// How a WRITE is made stable in a dialect, if it is to be.
    pub fn in_dialect(through: bool, dialect: Dialect) -> Self {
        match (through, dialect) {
            (false, _) => Through::No,
            (true, Dialect::Smb2_0_2) => Through::Flush,
            (true, _) => Through::Flag,
        }
    }
}

/// Most requests of one call.
pub(super) const MOST_PARTS: usize = 4;

impl Action {
    /// The requests that it takes, each but the first about the file of the first.
    pub fn commands(self) -> &'static [Command] {
        use Command::{
            Close, Create, Flush, Lock, QueryDirectory, QueryInfo, Read, SetInfo, Write,
        };
        match self {
            Action::Nothing => &[],
            Action::Read { .. } => &[Read],
            Action::Write { through: Through::Flush, .. } => &[Write, Flush],
            Action::Write { .. } => &[Write],
            Action::Flush { .. } => &[Flush],
            Action::Put { count: 0, .. } | Action::MakeDirectory => &[Create, Close],
            Action::Put { through: Through::Flush, .. } => &[Create, Write, Flush, Close],
            Action::Put { .. } => &[Create, Write, Close],
            Action::Get { .. } => &[Create, Read, Close],
            Action::Open { .. } | Action::OpenDirectory => &[Create],
            Action::Close { .. } => &[Close],
            Action::Lookup => &[Create, QueryInfo, Close],
            Action::Attributes { .. } => &[QueryInfo],
            Action::Lock { .. } => &[Lock],
            Action::List { .. } => &[QueryDirectory],
            Action::SetTimes { .. } => &[SetInfo],
            Action::Rename | Action::SetTimesOf { .. } | Action::Remove(_) => {
                &[Create, SetInfo, Close]
            }
        }
    }

    /// Bytes of payload that a request of it moves: what is charged for.
    pub fn payload(self, part: Command) -> u32 {
        match (self, part) {
            (Action::Read { count, .. } | Action::Get { most: count }, Command::Read) => count,
            (Action::Write { count, .. } | Action::Put { count, .. }, Command::Write) => count,
            (Action::List { buffer, .. }, _) => buffer,
            _ => 0,
        }
    }

    /// The file that it names, if it is one that is open.
    pub fn file(self) -> FileId {
        match self {
            Action::Read { file, .. }
            | Action::Write { file, .. }
            | Action::Flush { file }
            | Action::SetTimes { file, .. }
            | Action::Attributes { file }
            | Action::Lock { file, .. }
            | Action::List { directory: file, .. }
            | Action::Close { file } => file,
            _ => FileId::OF_THE_REQUEST_BEFORE,
        }
    }

    /// How it opens its path.
    fn create(self) -> Create {
        let (how, rights, kind) = match self {
            Action::Put { how, .. } => (how, Access::ReadWrite.rights(), OpenKind::File),
            Action::Open { how, access } => (how, access.rights(), OpenKind::File),
            Action::OpenDirectory => (CreateHow::Open, Rights::READ, OpenKind::Directory),
            Action::Lookup => (CreateHow::Open, Rights::ATTRIBUTES, OpenKind::Either),
            Action::MakeDirectory => (CreateHow::New, Rights::ATTRIBUTES, OpenKind::Directory),
            Action::SetTimesOf { .. } => {
                (CreateHow::Open, Rights::SET_ATTRIBUTES, OpenKind::Either)
            }
            Action::Rename => (CreateHow::Open, Rights::REMOVE, OpenKind::File),
            Action::Remove(kind) => (CreateHow::Open, Rights::REMOVE, kind),
            _ => (CreateHow::Open, Rights::READ, OpenKind::File),
        };
        Create { how, rights, kind }
    }

    /// Whether what it opens must be a regular file.
    pub fn wants_a_file(self) -> bool {
        matches!(self, Action::Put { .. } | Action::Get { .. } | Action::Open { .. })
    }

    /// Appends what follows the header in one of its requests, without a payload. `new_path` is that
    /// of a rename.
    pub fn encode(self, part: usize, path: &str, new_path: &str, file: FileId, to: &mut Vec<u8>) {
        match (self.commands()[part], self) {
            (Command::Create, _) => requests::create(to, path, self.create()),
            (Command::Read, Action::Read { offset, count, .. }) => {
                requests::read(to, file, offset, count);
            }
            (Command::Read, _) => requests::read(to, file, 0, self.payload(Command::Read)),
            (Command::Write, Action::Write { offset, count, through, .. }) => {
                requests::write(to, file, offset, count, through == Through::Flag);
            }
            (Command::Write, Action::Put { count, through, .. }) => {
                requests::write(to, file, 0, count, through == Through::Flag);
            }
            (Command::QueryInfo, _) => network_open(file).append_body(to),
            (Command::Lock, Action::Lock { bytes, mode, .. }) => {
                requests::lock(to, file, bytes, mode);
            }
            (
                Command::SetInfo,
                Action::SetTimes { written, .. } | Action::SetTimesOf { written },
            ) => times(file, written).append_body(to),
            (Command::SetInfo, Action::Rename) => renaming(file, new_path, true).append_body(to),
            (Command::SetInfo, _) => disposition(file).append_body(to),
            (Command::QueryDirectory, _) => {
                listing(file, self.payload(Command::QueryDirectory)).append_body(to);
            }
            _ => requests::flush_or_close(to, file),
        }
    }

    /// After its path was opened once: the same, but it exists now.
    pub fn again(self) -> Action {
        match self {
            Action::Put { count, through, .. } => {
                Action::Put { how: CreateHow::Open, count, through }
            }
            other => other,
        }
    }

    /// What a call that failed nowhere did.
    pub fn done<'a>(self, replies: Replies, opened: Option<FileId>, data: &'a [u8]) -> Done<'a> {
        let Replies { info, written, entries, end } = replies;
        let file = opened.unwrap_or(FileId::OF_THE_REQUEST_BEFORE);
        match self {
            Action::Read { .. } => Done::Read { data },
            Action::Write { .. } => Done::Write { count: written },
            Action::Flush { .. } => Done::Flush,
            Action::Put { .. } => Done::Put { count: written },
            Action::Get { .. } => Done::Get { data, size: info.size },
            Action::Open { .. } | Action::OpenDirectory => Done::Open { file, size: info.size },
            Action::Lookup | Action::Attributes { .. } => Done::Found(info),
            Action::List { .. } => Done::Page { entries, end },
            Action::MakeDirectory => Done::Made,
            Action::Rename
            | Action::Lock { .. }
            | Action::SetTimes { .. }
            | Action::SetTimesOf { .. }
            | Action::Remove(_) => Done::Changed,
            Action::Close { .. } | Action::Nothing => Done::Close,
        }
    }
}

/// What replies have said.
#[derive(Debug, Default)]
pub(super) struct Replies {
    pub info: FileInfo,
    pub written: u32,
    pub entries: Vec<Entry>,
    pub end: bool,
}
