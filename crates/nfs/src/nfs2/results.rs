//! What replies carry (RFC 1094, sections 2.2 and 2.3).

use super::{HANDLE_BYTES, LONGEST_TRANSFER};
use crate::nfs3::{
    Attributes, Changed, CreateOk, Data, Done, ExpectedReply, FileHandle, FileSystemInfo,
    FileSystemSpace, FileType, LookupOk, Other, Page, PageEntry, Procedure, ReadOk, Reply, Skipped,
    Stability, Time, Verifier, checked_data,
};
use crate::xdr::{Decode, Decoder, Error};

/// Where the offset stands in the arguments of READ, in bytes.
const READ_OFFSET: usize = HANDLE_BYTES;
/// Longest name in bytes (MAXNAMLEN).
const LONGEST_NAME: u32 = 255;

/// A handle of version 2, whose length is fixed.
pub fn decode_handle(from: &mut Decoder<'_>) -> Result<FileHandle, Error> {
    FileHandle::new(from.fixed(HANDLE_BYTES)?).ok_or(Error::Invalid("file handle"))
}

/// Attributes of a file (fattr), as those of version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes2(pub Attributes);

impl Decode<'_> for Attributes2 {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let kind = match from.u32()? {
            1 => FileType::Regular,
            2 => FileType::Directory,
            3 => FileType::BlockDevice,
            4 => FileType::CharacterDevice,
            5 => FileType::Link,
            // Not in the RFC; the servers of Unix have them (the X/Open specification of version 2).
            6 => FileType::Socket,
            8 => FileType::Fifo,
            value => return Err(Error::Unknown { what: "file type", value }),
        };
        let mut word = || from.u32();
        let (mode, links, uid, gid, size) = (word()?, word()?, word()?, word()?, word()?);
        let (_block_size, device, blocks) = (word()?, word()?, word()?);
        let (file_system, file_id) = (word()?, word()?);
        let mut time = || {
            let (seconds, microseconds) = (word()?, word()?);
            Ok::<_, Error>(Time { seconds, nanoseconds: microseconds.saturating_mul(1000) })
        };
        let (accessed, modified, changed) = (time()?, time()?, time()?);
        Ok(Attributes2(Attributes {
            kind,
            // The file's type stands in it, too.
            mode: mode & 0o7777,
            links,
            uid,
            gid,
            size: size.into(),
            // In units of 512 bytes, whatever the block size.
            used: u64::from(blocks) * 512,
            device_major: device >> 8,
            device_minor: device & 0xff,
            file_system: file_system.into(),
            file_id: file_id.into(),
            accessed,
            modified,
            changed,
        }))
    }
}

/// diropres: a file and its attributes.
struct File {
    file: FileHandle,
    attributes: Attributes,
}

impl Decode<'_> for File {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let file = decode_handle(from)?;
        from.value().map(|Attributes2(attributes)| File { file, attributes })
    }
}

/// READ.
struct Read<'a> {
    attributes: Attributes,
    data: Data<'a>,
}

impl<'a> Decode<'a> for Read<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let Attributes2(attributes) = from.value()?;
        Ok(Read { attributes, data: Data(from.opaque(LONGEST_TRANSFER)?) })
    }
}

/// A page of READDIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries<'a>(pub Page<PageEntry<'a>>);

impl<'a> Decode<'a> for Entries<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let mut entries = Vec::new();
        while from.bool()? {
            let file_id = from.u32()?.into();
            let name = Data(from.opaque(LONGEST_NAME)?);
            entries.push(PageEntry { file_id, name, cookie: from.u32()?.into() });
        }
        Ok(Entries(Page { verifier: Verifier::default(), entries, end: from.bool()? }))
    }
}

/// STATFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What the server prefers as length of a READ and WRITE, in bytes.
    pub transfer: u32,
    /// Length of a block in bytes.
    pub block: u32,
    /// Blocks of the file system.
    pub blocks: u32,
    /// Free ones.
    pub free: u32,
    /// Those free for this caller.
    pub available: u32,
}

impl Decode<'_> for Space {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut word = || from.u32();
        let (transfer, block, blocks) = (word()?, word()?, word()?);
        Ok(Space { transfer, block, blocks, free: word()?, available: word()? })
    }
}

impl Space {
    /// As FSSTAT has it. Numbers of files are not known.
    pub fn space(&self) -> FileSystemSpace {
        let bytes = |blocks: u32| u64::from(blocks) * u64::from(self.block);
        FileSystemSpace {
            attributes: Skipped,
            total: bytes(self.blocks),
            free: bytes(self.free),
            available: bytes(self.available),
            total_files: 0,
            free_files: 0,
            available_files: 0,
            unchanging_seconds: 0,
        }
    }

    /// As FSINFO has it: what follows from the version, and the server's preference.
    pub fn information(&self) -> FileSystemInfo {
        let preferred = self.transfer.clamp(1, LONGEST_TRANSFER);
        FileSystemInfo {
            attributes: Skipped,
            read_most: LONGEST_TRANSFER,
            read_preferred: preferred,
            read_multiple: 1,
            write_most: LONGEST_TRANSFER,
            write_preferred: preferred,
            write_multiple: 1,
            directory_preferred: LONGEST_TRANSFER,
            longest_file: u32::MAX.into(),
            time_precision: Time { seconds: 0, nanoseconds: 1000 },
            properties: 0,
        }
    }
}

/// Decodes the results of a call and checks them against what was asked for.
pub(crate) fn results<'a>(
    expected: ExpectedReply,
    arguments: &[u8],
    from: &mut Decoder<'a>,
) -> Result<Done<'a>, crate::Error> {
    let procedure = expected.procedure();
    Ok(match expected {
        ExpectedReply::Nothing => return Err(crate::Error::UnknownTransaction(0)),
        ExpectedReply::Read { count } => {
            let Read { attributes, data } = take(from, procedure)?;
            let got = data.0.len() as u32;
            let ok = ReadOk { attributes: Skipped, count: got, end_of_file: false, data };
            let data = checked_data(&ok, count)?;
            let offset = arguments.get(READ_OFFSET..).and_then(<[u8]>::first_chunk).copied();
            let end = offset.map_or(0, u32::from_be_bytes).saturating_add(got);
            Done::Read { data, end_of_file: u64::from(end) >= attributes.size }
        }
        ExpectedReply::Write { count, .. } => {
            take::<Attributes2>(from, procedure)?;
            let (committed, verifier) = (Stability::FileSync, Verifier::default());
            Done::Write { count, committed, verifier }
        }
        ExpectedReply::Attributes => {
            Done::Attributes(Box::new(take::<Attributes2>(from, procedure)?.0))
        }
        ExpectedReply::Lookup => {
            let File { file, attributes } = take(from, procedure)?;
            let attributes = Some(attributes);
            let found = LookupOk { file, attributes, directory: Skipped };
            Done::Other(Other::Found(Box::new(found)))
        }
        ExpectedReply::Make(_) => {
            let File { file, attributes } = take(from, procedure)?;
            let (file, attributes) = (Some(file), Some(attributes));
            let made = CreateOk { file, attributes, directory: Changed };
            Done::Other(Other::Made(Box::new(made)))
        }
        ExpectedReply::Change(Procedure::SetAttributes) => {
            take::<Attributes2>(from, procedure)?;
            Done::Changed
        }
        ExpectedReply::Change(_) | ExpectedReply::Rename => {
            take::<()>(from, procedure)?;
            Done::Changed
        }
        ExpectedReply::ListNames => {
            Done::Other(Other::NamesPage(take::<Entries<'_>>(from, procedure)?.0))
        }
        // Not sent.
        ExpectedReply::Commit | ExpectedReply::List | ExpectedReply::Access => {
            let status = crate::nfs3::Status::NotSupported;
            return Err(crate::Error::Nfs { version: crate::Version::V2, procedure, status });
        }
    })
}

fn take<'a, T: Decode<'a>>(
    from: &mut Decoder<'a>,
    procedure: Procedure,
) -> Result<T, crate::Error> {
    let Reply(reply) = from.value::<Reply<T>>()?;
    reply.map_err(|status| crate::Error::Nfs { version: crate::Version::V2, procedure, status })
}
