//! Opening, making and closing (MS-SMB2, sections 2.2.13 to 2.2.16).

use super::{Access, CreateHow, EntryKind, FileInfo};
use crate::link::FileId;
use crate::message::{Request, body};
use crate::ms_smb2::pack::FileTime;
use crate::ms_smb2::types::Command;
use crate::requests::{self, Create, OpenKind, Rights};
use crate::tree::Tree;
use crate::{Error, names};
use std::time::SystemTime;

/// A request to open a path. Others may read, write and delete meanwhile; no oplock is asked for.
pub(super) fn request(
    path: &str,
    how: CreateHow,
    rights: Rights,
    kind: OpenKind,
) -> Result<Request, Error> {
    names::check_path(path)?;
    let create = Create { how, rights, kind };
    Ok(Request::encoded(Command::Create, |to| requests::create(to, path, create)))
}

/// The same for a pipe.
pub(crate) fn request_pipe(name: &str) -> Request {
    let create = Create { how: CreateHow::Open, rights: Rights::PIPE, kind: OpenKind::Pipe };
    Request::encoded(Command::Create, |to| requests::create(to, name, create))
}

/// A request to close a file.
pub(crate) fn close_request(file: FileId) -> Request {
    Request::encoded(Command::Close, |to| requests::flush_or_close(to, file))
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
        return Err(reader.malformed("its file id is missing"));
    }
    Ok((
        file,
        FileInfo {
            kind: EntryKind::from_attributes(attributes),
            size,
            written: written_at(written),
        },
    ))
}

/// A time of the last write, where the server knows it.
pub(super) fn written_at(time: u64) -> Option<SystemTime> {
    if time == 0 { None } else { FileTime(time).to_system_time() }
}

impl Tree {
    /// Opens a regular file. A link in the path's last name is never followed: it is refused.
    pub fn create(
        &mut self,
        path: &str,
        how: CreateHow,
        access: Access,
    ) -> Result<(FileId, FileInfo), Error> {
        let request = request(path, how, access.rights(), OpenKind::File)?;
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
        let create = request(path, CreateHow::New, Rights::ATTRIBUTES, OpenKind::Directory)?;
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
        let request = request("a/ü", CreateHow::New, Rights::READ, OpenKind::File).unwrap();
        let body = &request.message[HEADER_BYTES..];
        assert_eq!(body[..2], 57u16.to_le_bytes());
        assert_eq!(body[36..40], 2u32.to_le_bytes());
        assert_eq!(body[40..44], 0x0020_0040u32.to_le_bytes());
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
