//! The requests about files, appended to a buffer without a detour: for the pipeline and for one call
//! at a time.
//!
//! Each function writes what follows the header.

use crate::files::CreateHow;
use crate::link::FileId;
use crate::message::HEADER_BYTES;
use plimsoll_transport::{ByteRange, LockMode};

/// Bytes of a WRITE in front of its payload, with its header.
pub(crate) const WRITE_BYTES: usize = HEADER_BYTES + 48;
/// Bytes of a CREATE in front of its name, with its header.
const CREATE_BYTES: usize = HEADER_BYTES + 56;
/// Where the server is to put the data of a READ: right behind the reply's fixed part.
pub(crate) const READ_DATA: u8 = 80;

/// Little-endian fields at the end of a buffer.
struct Fields<'a>(&'a mut Vec<u8>);

impl Fields<'_> {
    fn u8(self, value: u8) -> Self {
        self.0.push(value);
        self
    }
    fn u16(self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn u32(self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn u64(self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn file(self, file: FileId) -> Self {
        self.u64(file.persistent).u64(file.volatile)
    }
}

/// What is to be opened: never through a link in the last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenKind {
    File,
    Directory,
    /// A file or a directory.
    Either,
    Pipe,
}

/// What is wanted of what is opened: bits of MS-SMB2, section 2.2.13.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights(pub u32);

impl Rights {
    /// FILE_READ_ATTRIBUTES, SYNCHRONIZE.
    pub const ATTRIBUTES: Rights = Rights(0x0010_0080);
    /// FILE_READ_DATA beside these: reading, and listing.
    pub const READ: Rights = Rights(0x0010_0081);
    /// FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_WRITE_ATTRIBUTES beside these.
    pub const READ_WRITE: Rights = Rights(0x0010_0187);
    /// FILE_WRITE_ATTRIBUTES beside FILE_READ_ATTRIBUTES, SYNCHRONIZE.
    pub const SET_ATTRIBUTES: Rights = Rights(0x0010_0180);
    /// DELETE beside FILE_READ_ATTRIBUTES, SYNCHRONIZE.
    pub const REMOVE: Rights = Rights(0x0011_0080);
    /// FILE_READ_DATA, FILE_WRITE_DATA, SYNCHRONIZE.
    pub const PIPE: Rights = Rights(0x0010_0003);
}

/// How a path is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Create {
    pub how: CreateHow,
    pub rights: Rights,
    pub kind: OpenKind,
}

/// CREATE (MS-SMB2, section 2.2.13): shared with everybody, without an oplock; a link in its last
/// name is not followed. The path, with `/` between its names, has been checked.
pub(crate) fn create(to: &mut Vec<u8>, path: &str, create: Create) {
    let units = path.encode_utf16().count();
    let disposition = match create.how {
        CreateHow::Open => 1,
        CreateHow::New => 2,
        CreateHow::OpenOrCreate => 3,
        CreateHow::Replace => 5,
    };
    // FILE_ATTRIBUTE_NORMAL for a file. FILE_OPEN_REPARSE_POINT for anything, beside it
    // FILE_NON_DIRECTORY_FILE or FILE_DIRECTORY_FILE.
    let (attributes, options) = match create.kind {
        OpenKind::File => (0x80, 0x0020_0040),
        OpenKind::Directory => (0, 0x0020_0001),
        OpenKind::Either => (0, 0x0020_0000),
        OpenKind::Pipe => (0, 0),
    };
    Fields(to)
        .u16(57)
        .u16(0) // no oplock
        .u32(2) // impersonation
        .u64(0)
        .u64(0)
        .u32(create.rights.0)
        .u32(attributes)
        .u32(0x7) // share: read, write, delete
        .u32(disposition)
        .u32(options)
        .u16(CREATE_BYTES as u16)
        .u16((units * 2) as u16)
        .u64(0); // no contexts
    if units == 0 {
        // The variable part has one byte at least.
        to.push(0);
    }
    let separated = path.encode_utf16().map(|u| if u == u16::from(b'/') { 0x5c } else { u });
    to.extend(separated.flat_map(u16::to_le_bytes));
}

/// READ (section 2.2.19).
pub(crate) fn read(to: &mut Vec<u8>, file: FileId, offset: u64, count: u32) {
    Fields(to).u16(49).u8(READ_DATA).u8(0).u32(count).u64(offset).file(file).u64(0).u64(0).u8(0); // the fixed part counts one byte of a variable part that is empty
}

/// WRITE up to its payload (section 2.2.21).
pub(crate) fn write(to: &mut Vec<u8>, file: FileId, offset: u64, count: u32, through: bool) {
    Fields(to)
        .u16(49)
        .u16(WRITE_BYTES as u16)
        .u32(count)
        .u64(offset)
        .file(file)
        .u64(0)
        .u32(0)
        .u32(through.into());
}

/// FLUSH and CLOSE, which look the same (sections 2.2.17 and 2.2.15).
pub(crate) fn flush_or_close(to: &mut Vec<u8>, file: FileId) {
    Fields(to).u16(24).u16(0).u32(0).file(file);
}

/// LOCK (section 2.2.26) of bytes of an open file, at once or not at all, or that is undone.
pub(crate) fn lock(to: &mut Vec<u8>, file: FileId, bytes: ByteRange, mode: Option<LockMode>) {
    const SHARED: u32 = 0x01;
    const EXCLUSIVE: u32 = 0x02;
    const UNLOCK: u32 = 0x04;
    const AT_ONCE: u32 = 0x10;
    let flags = match mode {
        Some(LockMode::Shared) => SHARED | AT_ONCE,
        Some(LockMode::Exclusive) => EXCLUSIVE | AT_ONCE,
        None => UNLOCK,
    };
    let fields = Fields(to).u16(48).u16(1).u32(0).file(file);
    fields.u64(bytes.offset).u64(bytes.length).u32(flags).u32(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ms_smb2::msg::close::CloseRequest;
    use crate::ms_smb2::msg::create::{
        CreateDisposition, CreateRequest, ImpersonationLevel, ShareAccess,
    };
    use crate::ms_smb2::msg::flush::FlushRequest;
    use crate::ms_smb2::msg::lock::{
        LockElement, LockRequest, SMB2_LOCKFLAG_EXCLUSIVE_LOCK, SMB2_LOCKFLAG_FAIL_IMMEDIATELY,
        SMB2_LOCKFLAG_SHARED_LOCK, SMB2_LOCKFLAG_UNLOCK,
    };
    use crate::ms_smb2::msg::read::{ReadRequest, SMB2_CHANNEL_NONE};
    use crate::ms_smb2::msg::write::WriteRequest;
    use crate::ms_smb2::pack::{Pack, WriteCursor};
    use crate::ms_smb2::types::flags::FileAccessMask;
    use crate::ms_smb2::types::{FileId as TheirFileId, OplockLevel};

    const FILE: FileId = FileId { persistent: 0x0102_0304, volatile: 0x0506_0708_090a };
    const THEIR_FILE: TheirFileId =
        TheirFileId { persistent: FILE.persistent, volatile: FILE.volatile };

    fn theirs(request: &impl Pack) -> Vec<u8> {
        let mut cursor = WriteCursor::new();
        request.pack(&mut cursor);
        cursor.into_inner()
    }

    fn ours(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        bytes
    }

    #[test]
    fn requests_agree_with_a_second_implementation() {
        for (how, create_disposition) in [
            (CreateHow::Open, CreateDisposition::FileOpen),
            (CreateHow::New, CreateDisposition::FileCreate),
            (CreateHow::OpenOrCreate, CreateDisposition::FileOpenIf),
            (CreateHow::Replace, CreateDisposition::FileOverwriteIf),
        ] {
            let access = FileAccessMask::FILE_READ_DATA
                | FileAccessMask::FILE_WRITE_DATA
                | FileAccessMask::FILE_APPEND_DATA
                | FileAccessMask::FILE_READ_ATTRIBUTES
                | FileAccessMask::FILE_WRITE_ATTRIBUTES
                | FileAccessMask::SYNCHRONIZE;
            let request = CreateRequest {
                requested_oplock_level: OplockLevel::None,
                impersonation_level: ImpersonationLevel::Impersonation,
                desired_access: FileAccessMask::new(access),
                file_attributes: 0x80,
                share_access: ShareAccess(7),
                create_disposition,
                create_options: 0x0020_0040,
                name: "ordner\\grüße".into(),
                create_contexts: Vec::new(),
            };
            let bytes = ours(|to| {
                create(
                    to,
                    "ordner/grüße",
                    Create { how, rights: Rights::READ_WRITE, kind: OpenKind::File },
                )
            });
            assert_eq!(bytes, theirs(&request));
        }
        let request = ReadRequest {
            padding: 0x50,
            flags: 0,
            length: 70_000,
            offset: 1 << 40,
            file_id: THEIR_FILE,
            minimum_count: 0,
            channel: SMB2_CHANNEL_NONE,
            remaining_bytes: 0,
            read_channel_info: Vec::new(),
        };
        assert_eq!(ours(|to| read(to, FILE, 1 << 40, 70_000)), theirs(&request));
        let at_once = SMB2_LOCKFLAG_FAIL_IMMEDIATELY;
        for (mode, flags) in [
            (Some(LockMode::Shared), SMB2_LOCKFLAG_SHARED_LOCK | at_once),
            (Some(LockMode::Exclusive), SMB2_LOCKFLAG_EXCLUSIVE_LOCK | at_once),
            (None, SMB2_LOCKFLAG_UNLOCK),
        ] {
            for (offset, length) in [(0, u64::MAX), (1 << 30, 510)] {
                let locks = vec![LockElement { offset, length, flags }];
                let request = LockRequest { lock_sequence: 0, file_id: THEIR_FILE, locks };
                let bytes = ByteRange { offset, length };
                assert_eq!(ours(|to| lock(to, FILE, bytes, mode)), theirs(&request));
            }
        }
        for through in [false, true] {
            let request = WriteRequest {
                data_offset: 112,
                offset: 4096,
                file_id: THEIR_FILE,
                channel: 0,
                remaining_bytes: 0,
                write_channel_info_offset: 0,
                write_channel_info_length: 0,
                flags: through.into(),
                data: vec![7; 33],
            };
            let mut bytes = ours(|to| write(to, FILE, 4096, 33, through));
            bytes.extend_from_slice(&[7; 33]);
            assert_eq!(bytes, theirs(&request));
        }
        let bytes = ours(|to| flush_or_close(to, FILE));
        assert_eq!(bytes, theirs(&FlushRequest { file_id: THEIR_FILE }));
        assert_eq!(bytes, theirs(&CloseRequest { flags: 0, file_id: THEIR_FILE }));
    }
}
