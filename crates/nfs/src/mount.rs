//! MOUNT, versions 3 (RFC 1813, appendix I) and 1 (RFC 1094, appendix A): the file handle of an
//! export's root, and which exports there are.

pub use crate::mount_status::MountStatus;

use crate::nfs2;
use crate::nfs3::FileHandle;
use crate::rpc::{self, Credential, Program};
use crate::xdr::{self, Decode, Decoder, Encode, Encoder};
use crate::{Error, Version};
use plimsoll_transport::{Channel, DatagramCounts};
use std::time::Duration;

/// The RPC program that goes with version 3 of NFS.
pub const PROGRAM: Program = Program { number: 100_005, version: 3 };

/// The RPC program that goes with a version of NFS.
pub fn program(version: Version) -> Program {
    match version {
        Version::V2 => Program { version: 1, ..PROGRAM },
        Version::V3 => PROGRAM,
    }
}

/// Longest path in bytes.
pub const LONGEST_PATH: usize = 1024;
/// Longest name of a group of hosts in bytes.
const LONGEST_GROUP: u32 = 255;
/// Most exports, and most groups of one, that are taken from a server.
const MOST_ENTRIES: usize = 4096;
/// Most security flavors of an export.
const MOST_FLAVORS: u32 = 64;
/// Longest reply taken in bytes: an export list.
const REPLY_LIMIT: usize = 512 * 1024;

const NULL: u32 = 0;
const MNT: u32 = 1;
const UMNT: u32 = 3;
const EXPORT: u32 = 5;

/// A path on the server, at most [`LONGEST_PATH`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<'a>(&'a str);

impl<'a> Path<'a> {
    /// A path, or `None` when it is too long or contains a NUL.
    pub fn new(path: &'a str) -> Option<Self> {
        (path.len() <= LONGEST_PATH && !path.contains('\0')).then_some(Path(path))
    }
}

impl Encode for Path<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.0.as_bytes());
    }
}

impl<'a> Decode<'a> for Path<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, xdr::Error> {
        let path = std::str::from_utf8(from.opaque(LONGEST_PATH as u32)?).ok();
        path.and_then(Path::new).ok_or(xdr::Error::Invalid("path"))
    }
}

/// What MNT answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountReply(pub Result<FileHandle, MountStatus>);

impl Encode for MountReply {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Ok(root) => {
                to.u32(0);
                to.value(&root);
                to.u32(1);
                to.u32(1); // AUTH_SYS
            }
            Err(status) => to.u32(status.number()),
        }
    }
}

impl Decode<'_> for MountReply {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, xdr::Error> {
        match from.u32()? {
            0 => {
                let root = from.value()?;
                let flavors = from.u32()?;
                if flavors > MOST_FLAVORS {
                    return Err(xdr::Error::TooLong { length: flavors, limit: MOST_FLAVORS });
                }
                for _ in 0..flavors {
                    from.u32()?;
                }
                Ok(MountReply(Ok(root)))
            }
            number => Ok(MountReply(Err(MountStatus::from_number(number)))),
        }
    }
}

/// What MNT of version 1 answers: a handle of a fixed length, and nothing about security; else an
/// error of Unix, whose numbers are those of version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountReply1(pub Result<FileHandle, MountStatus>);

impl Encode for MountReply1 {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Ok(root) => {
                to.u32(0);
                nfs2::encode_handle(&root, to);
            }
            Err(_) => to.value(&MountReply(self.0)),
        }
    }
}

impl Decode<'_> for MountReply1 {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, xdr::Error> {
        match from.u32()? {
            0 => nfs2::decode_handle(from).map(|root| MountReply1(Ok(root))),
            number => Ok(MountReply1(Err(MountStatus::from_number(number)))),
        }
    }
}

/// One export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its path on the server; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Hosts or groups that may use it; empty: everybody.
    pub groups: Vec<String>,
}

/// What EXPORT answers: a chain of exports, each with a chain of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exports(pub Vec<Export>);

impl Encode for Exports {
    fn encode(&self, to: &mut Encoder<'_>) {
        for export in &self.0 {
            to.bool(true);
            to.opaque(export.path.as_bytes());
            for group in &export.groups {
                to.bool(true);
                to.opaque(group.as_bytes());
            }
            to.bool(false);
        }
        to.bool(false);
    }
}

impl Decode<'_> for Exports {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, xdr::Error> {
        let mut entries = 0;
        let mut exports = Vec::new();
        while another(from, &mut entries)? {
            let path = text(from, LONGEST_PATH as u32)?;
            let mut groups = Vec::new();
            while another(from, &mut entries)? {
                groups.push(text(from, LONGEST_GROUP)?);
            }
            exports.push(Export { path, groups });
        }
        Ok(Exports(exports))
    }
}

/// Whether the chain goes on; it may not go on for ever.
fn another(from: &mut Decoder<'_>, entries: &mut usize) -> Result<bool, xdr::Error> {
    *entries += 1;
    if *entries > MOST_ENTRIES {
        return Err(xdr::Error::Invalid("export list: too long"));
    }
    from.bool()
}

fn text(from: &mut Decoder<'_>, limit: u32) -> Result<String, xdr::Error> {
    from.opaque(limit).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// A client of the MOUNT service.
#[derive(Debug)]
pub struct Client {
    rpc: rpc::Client,
    version: Version,
}

impl Client {
    /// A client of version 3; no call waits longer than `limit`.
    pub fn new(channel: impl Into<Channel>, credential: &Credential, limit: Duration) -> Self {
        Self::of_version(Version::V3, channel, credential, limit)
    }

    /// A client of the version that goes with a version of NFS.
    pub fn of_version(
        version: Version,
        channel: impl Into<Channel>,
        credential: &Credential,
        limit: Duration,
    ) -> Self {
        let program = program(version);
        Client { rpc: rpc::Client::new(channel, program, credential, REPLY_LIMIT, limit), version }
    }

    /// NULL: whether the server answers, and has this version.
    pub fn null(&mut self) -> Result<(), Error> {
        self.rpc.call(NULL, &())
    }

    /// What became of datagrams since this was asked last.
    pub fn take_datagrams(&mut self) -> DatagramCounts {
        self.rpc.take_datagrams()
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once.
    pub fn take_surplus(&mut self) -> Option<(&'static str, usize)> {
        let (number, bytes) = self.rpc.take_surplus()?;
        let name = match number {
            MNT => "MNT",
            UMNT => "UMNT",
            _ => "EXPORT",
        };
        Some((name, bytes))
    }

    /// The handle of an exported directory (MNT).
    pub fn mount(&mut self, path: Path<'_>) -> Result<FileHandle, Error> {
        let reply = match self.version {
            Version::V2 => self.rpc.call::<_, MountReply1>(MNT, &path)?.0,
            Version::V3 => self.rpc.call::<_, MountReply>(MNT, &path)?.0,
        };
        reply.map_err(|status| Error::Mount { version: self.version, status })
    }

    /// Tells the server that the export is no longer used (UMNT); servers keep a list of users
    /// for show, nothing depends on it.
    pub fn unmount(&mut self, path: Path<'_>) -> Result<(), Error> {
        self.rpc.call(UMNT, &path)
    }

    /// The exports there are (EXPORT).
    pub fn exports(&mut self) -> Result<Vec<Export>, Error> {
        let Exports(exports) = self.rpc.call(EXPORT, &())?;
        Ok(exports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;

    #[test]
    fn statuses_have_their_names() {
        assert_eq!(MountStatus::from_number(13).to_string(), "MNT3ERR_ACCES");
        assert_eq!(MountStatus::from_number(99).to_string(), "Other(99)");
        assert_eq!(MountStatus::from_number(13).name_in(Version::V2), "EACCES");
        assert_eq!(MountStatus::from_number(99).name_in(Version::V2), "error 99");
        assert!(Path::new(&"x".repeat(1025)).is_none());
        assert!(Path::new("a\0b").is_none());
    }

    #[test]
    fn an_endless_export_list_is_refused() {
        // One export, then groups with empty names for ever.
        let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, 0];
        for _ in 0..MOST_ENTRIES + 1 {
            bytes.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        }
        assert_eq!(
            decode_all::<Exports>(&bytes),
            Err(xdr::Error::Invalid("export list: too long"))
        );
    }

    proptest! {
        #[test]
        fn replies_read_back(handle in prop::collection::vec(any::<u8>(), 0..65), status in 1u32..20_000,
                             exports in prop::collection::vec(("\\PC{0,20}", prop::collection::vec("\\PC{0,9}", 0..3)), 0..5)) {
            let handle = FileHandle::new(&handle).unwrap();
            for reply in [MountReply(Ok(handle)), MountReply(Err(MountStatus::from_number(status)))] {
                let bytes = encode_all(&reply);
                prop_assert_eq!(decode_all::<MountReply>(&bytes), Ok(reply));
                for cut in 0..bytes.len() {
                    prop_assert!(decode_all::<MountReply>(&bytes[..cut]).is_err());
                }
            }
            let one = FileHandle::new(&[7; nfs2::HANDLE_BYTES]).unwrap();
            for reply in [MountReply1(Ok(one)), MountReply1(Err(MountStatus::from_number(status)))] {
                let bytes = encode_all(&reply);
                prop_assert_eq!(decode_all::<MountReply1>(&bytes), Ok(reply));
                for cut in 0..bytes.len() {
                    prop_assert!(decode_all::<MountReply1>(&bytes[..cut]).is_err());
                }
            }
            let exports = Exports(exports.into_iter().map(|(path, groups)| Export { path, groups }).collect());
            let bytes = encode_all(&exports);
            prop_assert_eq!(decode_all::<Exports>(&bytes), Ok(exports));
            for cut in 0..bytes.len() {
                prop_assert!(decode_all::<Exports>(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_all::<Exports>(&bytes);
            let _ = decode_all::<MountReply>(&bytes);
            let _ = decode_all::<MountReply1>(&bytes);
            let _ = decode_all::<Path>(&bytes);
        }
    }
}
