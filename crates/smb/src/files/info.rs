//! What is known of a file and may be changed, and of the share (MS-SMB2, sections 2.2.37 to
//! 2.2.40; MS-FSCC, sections 2.4 and 2.5).

use super::create::{self, written_at};
use super::{CreateHow, EntryKind, FileInfo, Space};
use crate::link::FileId;
use crate::message::{Request, body};
use crate::ms_smb2::msg::query_info::{InfoType, QueryInfoRequest};
use crate::ms_smb2::msg::set_info::SetInfoRequest;
use crate::ms_smb2::pack::FileTime;
use crate::ms_smb2::types::Command;
use crate::requests::{OpenKind, Rights};
use crate::tree::Tree;
use crate::wire::{Reader, part, utf16};
use crate::{Error, names};
use std::time::SystemTime;

/// Information classes (MS-FSCC, sections 2.4 and 2.5).
const BASIC: u8 = 4;
const RENAME: u8 = 10;
const DISPOSITION: u8 = 13;
const END_OF_FILE: u8 = 20;
const NETWORK_OPEN: u8 = 34;
const SPACE: u8 = 3;
/// Length of FileNetworkOpenInformation.
const NETWORK_OPEN_BYTES: u32 = 56;
/// Length of FileFsSizeInformation.
const SPACE_BYTES: u32 = 24;
/// What servers take for FileRenameInformation at least, its padding included.
const LEAST_RENAME_BYTES: usize = 24;

fn set(file: FileId, class: u8, buffer: Vec<u8>) -> Request {
    let body = SetInfoRequest {
        info_type: InfoType::File,
        file_info_class: class,
        additional_information: 0,
        file_id: file.into(),
        buffer,
    };
    Request::new(Command::SetInfo, &body)
}

/// Marks a file for removal.
pub(crate) fn disposition(file: FileId) -> Request {
    set(file, DISPOSITION, vec![1])
}

fn query(file: FileId, info_type: InfoType, class: u8, most: u32) -> Request {
    let body = QueryInfoRequest {
        info_type,
        file_info_class: class,
        output_buffer_length: most,
        additional_information: 0,
        flags: 0,
        file_id: file.into(),
        input_buffer: Vec::new(),
    };
    Request::new(Command::QueryInfo, &body)
}

/// Asks for a file's attributes.
pub(crate) fn network_open(file: FileId) -> Request {
    query(file, InfoType::File, NETWORK_OPEN, NETWORK_OPEN_BYTES)
}

/// FileNetworkOpenInformation (MS-FSCC, section 2.4.34).
pub(crate) fn parse_network_open(message: &[u8]) -> Result<FileInfo, Error> {
    let mut reader = Reader::new(parse_output(message)?, "a file's attributes");
    reader.skip(8 + 8)?;
    let written = reader.u64()?;
    reader.skip(8 + 8)?;
    let size = reader.u64()?;
    let kind = EntryKind::from_attributes(reader.u32()?);
    Ok(FileInfo { kind, size, written: written_at(written) })
}

/// Gives a file that is open another name, which is a path from the share's root.
pub(crate) fn renaming(file: FileId, to: &str, replace: bool) -> Request {
    set(file, RENAME, rename_information(&to.replace('/', "\\"), replace))
}

/// FileRenameInformation (MS-FSCC, section 2.4.42.2).
fn rename_information(to: &str, replace: bool) -> Vec<u8> {
    let name = utf16(to);
    let mut buffer = vec![0; 16];
    buffer[0] = replace.into();
    buffer.extend_from_slice(&(name.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&name);
    buffer.resize(buffer.len().max(LEAST_RENAME_BYTES), 0);
    buffer
}

/// Sets the time of the last write; the other times stay (FileBasicInformation, MS-FSCC, section 2.4.7).
pub(crate) fn times(file: FileId, written: SystemTime) -> Request {
    let mut buffer = vec![0; 40];
    buffer[16..24].copy_from_slice(&FileTime::from_system_time(written).0.to_le_bytes());
    set(file, BASIC, buffer)
}

/// Decodes a reply to QUERY_INFO or QUERY_DIRECTORY, which look the same: what it carries.
pub(crate) fn parse_output(message: &[u8]) -> Result<&[u8], Error> {
    const WHAT: &str = "a reply to a query";
    let mut reader = body(message, 9, WHAT)?;
    let (offset, length) = (reader.u16()?, reader.length()?);
    part(message, offset.into(), length, WHAT)
}

/// FileFsSizeInformation (MS-FSCC, section 2.5.8). What is free in it is free to this user, where
/// users have quotas.
fn parse_space(output: &[u8]) -> Result<Space, Error> {
    let mut reader = Reader::new(output, "the space of a share");
    let (total, available) = (reader.u64()?, reader.u64()?);
    let unit = u64::from(reader.u32()?).saturating_mul(reader.u32()?.into());
    Ok(Space { total: total.saturating_mul(unit), available: available.saturating_mul(unit) })
}

impl Tree {
    /// Makes a file as long as `size` bytes.
    pub fn set_size(&mut self, file: FileId, size: u64) -> Result<(), Error> {
        self.connection.call(set(file, END_OF_FILE, size.to_le_bytes().to_vec()))?;
        Ok(())
    }

    /// Sets the time of the last write; the other times stay.
    pub fn set_times(&mut self, file: FileId, written: SystemTime) -> Result<(), Error> {
        self.connection.call(times(file, written))?;
        Ok(())
    }

    /// Gives a file or a directory another name on the same share, which must not exist.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Error> {
        let to = names::path(to)?;
        let open = create::request(from, CreateHow::Open, Rights::REMOVE, OpenKind::Either)?;
        self.related(open, |file| vec![renaming(file, &to, false)], &[])?;
        Ok(())
    }

    /// Removes a file, or a link itself and never what it points to.
    pub fn remove_file(&mut self, path: &str) -> Result<(), Error> {
        self.remove(path, OpenKind::File)
    }

    /// Removes an empty directory; one with something in it is refused.
    pub fn remove_directory(&mut self, path: &str) -> Result<(), Error> {
        self.remove(path, OpenKind::Directory)
    }

    /// Opens, marks for removal and closes. Marking, unlike an option of the opening, is refused
    /// by every server where the removal would be.
    fn remove(&mut self, path: &str, kind: OpenKind) -> Result<(), Error> {
        let open = create::request(path, CreateHow::Open, Rights::REMOVE, kind)?;
        self.related(open, |file| vec![disposition(file)], &[])?;
        Ok(())
    }

    /// Space on the share, for this user.
    pub fn space(&mut self) -> Result<Space, Error> {
        let open = create::request("", CreateHow::Open, Rights::ATTRIBUTES, OpenKind::Directory)?;
        let query = |file| vec![query(file, InfoType::Filesystem, SPACE, SPACE_BYTES)];
        let (_, replies) = self.related(open, query, &[])?;
        match replies.first() {
            Some(reply) => parse_space(parse_output(&reply.message)?),
            None => Err(Error::Malformed("a reply is missing".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_BYTES;
    use crate::message::tests::reply;

    #[test]
    fn space_is_counted_in_units() {
        let mut output = Vec::new();
        for n in [1000u64, 400] {
            output.extend_from_slice(&n.to_le_bytes());
        }
        output.extend_from_slice(&[8, 0, 0, 0, 0, 2, 0, 0]);
        let space = Space { total: 1000 * 4096, available: 400 * 4096 };
        assert_eq!(parse_space(&output), Ok(space));
        assert!(parse_space(&output[..23]).is_err());
        output[..8].fill(0xff);
        assert_eq!(parse_space(&output).unwrap().total, u64::MAX);
    }

    #[test]
    fn attributes_are_decoded() {
        let mut body = [&[9, 0, 72, 0, 56, 0, 0, 0][..], &[0; 56]].concat();
        body[8 + 16..8 + 24].copy_from_slice(&116_444_736_000_000_000u64.to_le_bytes());
        (body[8 + 40], body[8 + 48]) = (42, 0x10);
        let message = reply(Command::QueryInfo, 1, 0, &body);
        let written = Some(SystemTime::UNIX_EPOCH);
        let info = FileInfo { kind: EntryKind::Directory, size: 42, written };
        assert_eq!(parse_network_open(&message), Ok(info));
        for length in 0..message.len() {
            assert!(parse_network_open(&message[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn output_lies_inside_the_reply() {
        let message = reply(Command::QueryInfo, 1, 0, &[9, 0, 72, 0, 3, 0, 0, 0, 1, 2, 3]);
        assert_eq!(parse_output(&message).unwrap(), [1, 2, 3]);
        for length in 0..message.len() {
            assert!(parse_output(&message[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn short_names_are_padded() {
        assert_eq!(rename_information("a", false).len(), LEAST_RENAME_BYTES);
        assert_eq!(rename_information("a", true)[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
        let long = rename_information("dir\\name", false);
        assert_eq!(long.len(), 20 + 16);
        assert_eq!(long[..20], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]);
        let request = set(FileId::OF_THE_REQUEST_BEFORE, RENAME, long);
        assert_eq!(request.message[HEADER_BYTES..][..12], [33, 0, 1, 10, 36, 0, 0, 0, 96, 0, 0, 0]);
    }
}
