//! Opening, making and closing (MS-SMB2, sections 2.2.13 to 2.2.16).

use super::{Access, CreateHow, EntryKind, FileInfo};
use crate::link::FileId;
use crate::message::{Request, body};
use crate::tree::Tree;
use crate::{Error, names};
use smb2::msg::close::CloseRequest;
use smb2::msg::create::{CreateDisposition, CreateRequest, ImpersonationLevel, ShareAccess};
use smb2::pack::FileTime;
use smb2::types::flags::FileAccessMask as Mask;
use smb2::types::{Command, OplockLevel};

/// Options of MS-SMB2, section 2.2.13.
const DIRECTORY_FILE: u32 = 0x1;
const NON_DIRECTORY_FILE: u32 = 0x40;
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// What is to be opened: never through a link in the last name.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    File,
    Directory,
    /// A file or a directory.
    Either,
    Pipe,
}

/// A request to open a path. Others may read, write and delete meanwhile; no oplock is asked for.
pub(super) fn request(
    path: &str,
    how: CreateHow,
    access: u32,
    kind: Kind,
) -> Result<Request, Error> {
    request_for(names::path(path)?, how, access, kind)
}

/// The same for a name that is no path.
pub(crate) fn request_pipe(name: &str) -> Result<Request, Error> {
    let access = Mask::FILE_READ_DATA | Mask::FILE_WRITE_DATA | Mask::SYNCHRONIZE;
    request_for(name.to_owned(), CreateHow::Open, access, Kind::Pipe)
}

fn request_for(name: String, how: CreateHow, access: u32, kind: Kind) -> Result<Request, Error> {
    let body = CreateRequest {
        requested_oplock_level: OplockLevel::None,
        impersonation_level: ImpersonationLevel::Impersonation,
        desired_access: Mask::new(access),
        file_attributes: 0,
        share_access: ShareAccess(
            ShareAccess::FILE_SHARE_READ
                | ShareAccess::FILE_SHARE_WRITE
                | ShareAccess::FILE_SHARE_DELETE,
        ),
        create_disposition: match how {
            CreateHow::New => CreateDisposition::FileCreate,
            CreateHow::OpenOrCreate => CreateDisposition::FileOpenIf,
            CreateHow::Replace => CreateDisposition::FileOverwriteIf,
            CreateHow::Open => CreateDisposition::FileOpen,
        },
        create_options: match kind {
            Kind::File => NON_DIRECTORY_FILE | OPEN_REPARSE_POINT,
            Kind::Directory => DIRECTORY_FILE | OPEN_REPARSE_POINT,
            Kind::Either => OPEN_REPARSE_POINT,
            Kind::Pipe => 0,
        },
        name,
        create_contexts: Vec::new(),
    };
    Ok(Request::new(Command::Create, &body))
}

/// A request to close a file.
pub(crate) fn close_request(file: FileId) -> Request {
    Request::new(Command::Close, &CloseRequest { flags: 0, file_id: file.into() })
}

impl Access {
    pub(super) fn mask(self) -> u32 {
        let read = Mask::FILE_READ_DATA | Mask::FILE_READ_ATTRIBUTES | Mask::SYNCHRONIZE;
        match self {
            Access::Read => read,
            Access::ReadWrite => {
                read | Mask::FILE_WRITE_DATA | Mask::FILE_APPEND_DATA | Mask::FILE_WRITE_ATTRIBUTES
            }
        }
    }
}

/// Decodes a reply to CREATE.
pub(crate) fn parse(message: &[u8]) -> Result<(FileId, FileInfo), Error> {
    let mut reader = body(message, 89, "a reply to CREATE")?;
    reader.skip(2 + 4 + 8 + 8)?;
    let written = reader.u64()?;
    reader.skip(8 + 8)?;
    let size = reader.u64()?;
    let attributes = reader.u32()?;
    reader.skip(4)?;
    let file = FileId { persistent: reader.u64()?, volatile: reader.u64()? };
    reader.skip(8)?;
    if file == FileId::OF_THE_REQUEST_BEFORE {
        return Err(reader.malformed("its file has no identity"));
    }
    let written = if written == 0 { None } else { FileTime(written).to_system_time() };
    Ok((file, FileInfo { kind: EntryKind::of(attributes), size, written }))
}

impl Tree {
    /// Opens a regular file. A link in the path's last name is never followed: it is refused.
    pub fn create(
        &mut self,
        path: &str,
        how: CreateHow,
        access: Access,
    ) -> Result<(FileId, FileInfo), Error> {
        let request = request(path, how, access.mask(), Kind::File)?;
        let (file, info) = parse(&self.connection.call(request)?.message)?;
        if info.kind != EntryKind::File {
            let _ = self.close(file);
            return Err(Error::NotAFile(path.to_owned()));
        }
        Ok((file, info))
    }

    /// Closes a file; its identity is of no use afterwards.
    pub fn close(&mut self, file: FileId) -> Result<(), Error> {
        self.connection.call(close_request(file))?;
        Ok(())
    }

    /// Makes a directory, which must not exist.
    pub fn make_directory(&mut self, path: &str) -> Result<(), Error> {
        let access = Mask::FILE_READ_ATTRIBUTES | Mask::SYNCHRONIZE;
        let create = request(path, CreateHow::New, access, Kind::Directory)?;
        self.related(create, |_| Vec::new(), &[])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_BYTES;
    use crate::message::tests::reply;

    #[test]
    fn requests_carry_the_path_in_utf16_and_never_follow_a_link() {
        let request = request("a/ü", CreateHow::New, 1, Kind::File).unwrap();
        let body = &request.message[HEADER_BYTES..];
        assert_eq!(body[..2], 57u16.to_le_bytes());
        assert_eq!(body[36..40], 2u32.to_le_bytes());
        assert_eq!(body[40..44], (NON_DIRECTORY_FILE | OPEN_REPARSE_POINT).to_le_bytes());
        assert_eq!(body[44..48], [120, 0, 6, 0]);
        assert_eq!(body[56..], [b'a', 0, b'\\', 0, 0xfc, 0]);
    }

    #[test]
    fn replies_are_decoded() {
        let mut body = vec![0; 88];
        body[0] = 89;
        body[24..32].copy_from_slice(&116_444_736_000_000_000u64.to_le_bytes());
        body[48] = 42;
        body[64] = 5;
        body[72] = 6;
        let message = reply(Command::Create, 1, 0, &body);
        let (file, info) = parse(&message).unwrap();
        assert_eq!(file, FileId { persistent: 5, volatile: 6 });
        assert_eq!((info.kind, info.size), (EntryKind::File, 42));
        assert_eq!(info.written, Some(std::time::UNIX_EPOCH));
        for length in 0..message.len() {
            assert!(parse(&message[..length]).is_err(), "{length}");
        }
        body[57] = 4;
        assert_eq!(parse(&reply(Command::Create, 1, 0, &body)).unwrap().1.kind, EntryKind::Other);
        body[64..80].fill(0xff);
        assert!(parse(&reply(Command::Create, 1, 0, &body)).is_err());
    }
}
