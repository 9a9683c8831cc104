//! What is in a directory (MS-SMB2, sections 2.2.33 and 2.2.34).

use super::create;
use super::{CreateHow, Entry, EntryKind, parse_output};
use crate::Error;
use crate::link::FileId;
use crate::message::Request;
use crate::ms_smb2::msg::query_directory::{
    FileInformationClass, QueryDirectoryFlags, QueryDirectoryRequest,
};
use crate::ms_smb2::types::{Command, status::NtStatus};
use crate::requests::{OpenKind, Rights};
use crate::tree::Tree;
use crate::wire::{Reader, text};

/// Bytes of names asked for at once: what one credit pays for.
const BUFFER_BYTES: u32 = 64 << 10;

/// A request for the next names of an open directory, at most so many bytes of them.
pub(crate) fn request(directory: FileId, buffer: u32) -> Request {
    let body = QueryDirectoryRequest {
        file_information_class: FileInformationClass::FileDirectoryInformation,
        flags: QueryDirectoryFlags(0),
        file_index: 0,
        file_id: directory.into(),
        output_buffer_length: buffer,
        file_name: "*".into(),
    };
    Request::new(Command::QueryDirectory, &body).with_payload(buffer as usize)
}

/// Decodes a reply to QUERY_DIRECTORY.
pub(crate) fn parse(message: &[u8]) -> Result<Vec<Entry>, Error> {
    parse_entries(parse_output(message)?)
}

/// Decodes a row of FileDirectoryInformation (MS-FSCC, section 2.4.10), `.` and `..` left out.
pub(crate) fn parse_entries(output: &[u8]) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest, "a directory listing");
        let next = reader.length()?;
        reader.skip(4 + 4 * 8)?;
        let size = reader.u64()?;
        reader.skip(8)?;
        let attributes = reader.u32()?;
        let length = reader.length()?;
        let name = name(reader.bytes(length)?);
        if name.is_empty() {
            return Err(reader.malformed("an empty name"));
        }
        if name != "." && name != ".." {
            entries.push(Entry { name, kind: EntryKind::from_attributes(attributes), size });
        }
        if next == 0 {
            break;
        }
        if next < 64 {
            return Err(reader.malformed("an entry that is too short"));
        }
        rest = rest.get(next..).ok_or_else(|| {
            reader.malformed(
                "an entry lies outside the \
        message",
            )
        })?;
    }
    Ok(entries)
}

/// One name: it is put into paths later, so it must not be a path itself.
fn name(utf16: &[u8]) -> String {
    text(utf16).replace(['/', '\\', '\0'], "\u{fffd}")
}

impl Tree {
    /// What is in a directory, without `.` and `..`, in the server's order; at most `limit` names,
    /// or an error.
    pub fn list(&mut self, path: &str, limit: usize) -> Result<Vec<Entry>, Error> {
        let open = create::request(path, CreateHow::Open, Rights::READ, OpenKind::Directory)?;
        let (directory, _) = create::parse(&self.connection.call(open)?.message)?;
        let entries = self.list_open(directory, path, limit);
        let closed = self.close(directory);
        let entries = entries?;
        closed?;
        Ok(entries)
    }

    fn list_open(
        &mut self,
        directory: FileId,
        path: &str,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        let buffer = BUFFER_BYTES.min(self.facts().transact_most);
        let mut listing = Listing::new(limit);
        loop {
            let reply = self.connection.exchange(request(directory, buffer))?;
            let reply = reply.success_or(&[NtStatus::NO_MORE_FILES])?;
            if reply.header.status == NtStatus::NO_MORE_FILES {
                return Ok(listing.entries);
            }
            listing.add(path, parse(&reply.message)?)?;
        }
    }
}

/// A directory's names, put together from pages: a server can give them without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The names so far, in the server's order.
    pub entries: Vec<Entry>,
    limit: usize,
    barren: u32,
    /// Where the last page begins.
    last: usize,
}

impl Listing {
    /// Nothing yet, and no more than `limit` names.
    pub fn new(limit: usize) -> Self {
        Listing { entries: Vec::new(), limit, barren: 0, last: 0 }
    }

    /// Adds a page of the directory at `path`.
    pub fn add(&mut self, path: &str, more: Vec<Entry>) -> Result<(), Error> {
        if self.entries.len() + more.len() > self.limit {
            let why = format!("'{path}': more than {} names in one directory", self.limit);
            return Err(Error::OverLimit(why));
        }
        // `.` and `..` may come by themselves; what the limit does not count must not go on.
        self.barren += u32::from(more.is_empty());
        if self.barren > 2 {
            return Err(Error::OverLimit(format!("'{path}': the listing does not end")));
        }
        // One that comes again would do so until the limit, and the names after it cannot be had.
        if !more.is_empty() && self.entries[self.last..] == more[..] {
            let why = format!(
                "'{path}': the server repeats a page of the listing, so the listing is \
                incomplete"
            );
            return Err(Error::OverLimit(why));
        }
        self.last = self.entries.len();
        self.entries.extend(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::utf16;
    use proptest::prelude::*;

    fn entry(name: &str, attributes: u32, size: u64, last: bool) -> Vec<u8> {
        let name = utf16(name);
        let length = (64 + name.len()).next_multiple_of(8);
        let mut bytes = vec![0; 64];
        let next = if last { 0 } else { length as u32 };
        bytes[..4].copy_from_slice(&next.to_le_bytes());
        bytes[40..48].copy_from_slice(&size.to_le_bytes());
        bytes[56..60].copy_from_slice(&attributes.to_le_bytes());
        bytes[60..64].copy_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&name);
        if !last {
            bytes.resize(length, 0);
        }
        bytes
    }

    fn some() -> Vec<u8> {
        [
            entry(".", 0x10, 0, false),
            entry("..", 0x10, 0, false),
            entry("grüße.bin", 0x80, 7, false),
            entry("sub", 0x10, 0, false),
            entry("link", 0x410, 0, true),
        ]
        .concat()
    }

    #[test]
    fn names_are_listed() {
        let expected = [
            ("grüße.bin", EntryKind::File, 7),
            ("sub", EntryKind::Directory, 0),
            ("link", EntryKind::Other, 0),
        ]
        .map(|(name, kind, size)| Entry { name: name.into(), kind, size });
        assert_eq!(parse_entries(&some()).unwrap(), expected);
        assert_eq!(parse_entries(&[]).unwrap(), []);
    }

    #[test]
    fn a_listing_whose_page_comes_again_is_not_complete() {
        let page = || parse_entries(&some()).unwrap();
        let other = || parse_entries(&entry("other", 0, 0, true)).unwrap();
        let mut listing = Listing::new(100);
        listing.add("d", page()).unwrap();
        listing.add("d", other()).unwrap();
        listing.add("d", page()).unwrap();
        assert_eq!(listing.entries.len(), 7);
        let error = listing.add("d", page()).unwrap_err().to_string();
        assert!(error.contains("repeats a page") && error.contains("incomplete"), "{error}");
    }

    #[test]
    fn a_name_is_never_a_path() {
        let entries = parse_entries(&entry("..\\..\\etc/x\0", 0, 0, true)).unwrap();
        assert_eq!(entries[0].name, "..\u{fffd}..\u{fffd}etc\u{fffd}x\u{fffd}");
        assert!(parse_entries(&entry("", 0, 0, true)).is_err());
    }

    #[test]
    fn entries_go_forward_and_lie_inside() {
        for next in [1u32, 63, 4096, u32::MAX] {
            let mut bytes = entry("a", 0, 0, false);
            bytes[..4].copy_from_slice(&next.to_le_bytes());
            assert!(parse_entries(&bytes).is_err(), "{next}");
        }
        let mut bytes = entry("a", 0, 0, true);
        bytes[60..64].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(parse_entries(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn any_listing_is_read_or_refused(cut in 0usize..500, flips in prop::collection::vec((0usize..500, any::<u8>()), 0..6)) {
            let mut bytes = some();
            for (at, value) in flips {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(cut);
            if let Ok(entries) = parse_entries(&bytes) {
                prop_assert!(entries.len() <= bytes.len() / 64);
            }
        }
    }
}
