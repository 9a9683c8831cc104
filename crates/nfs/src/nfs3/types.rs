//! The words of NFS version 3 (RFC 1813, section 2).

use crate::Handle;
use crate::wire::enumeration;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

enumeration! {
    /// The procedures this client calls, by their numbers.
    pub enum Procedure, "procedure" {
        /// Does nothing.
        Null = 0 "NULL",
        /// Attributes of a file.
        GetAttributes = 1 "GETATTR",
        /// Sets attributes.
        SetAttributes = 2 "SETATTR",
        /// A name in a directory.
        Lookup = 3 "LOOKUP",
        /// What the caller may do.
        Access = 4 "ACCESS",
        /// Bytes from a file.
        Read = 6 "READ",
        /// Bytes to a file.
        Write = 7 "WRITE",
        /// A new file.
        Create = 8 "CREATE",
        /// A new directory.
        MakeDirectory = 9 "MKDIR",
        /// Removes a file.
        Remove = 12 "REMOVE",
        /// Removes a directory.
        RemoveDirectory = 13 "RMDIR",
        /// Gives a name another one.
        Rename = 14 "RENAME",
        /// Names in a directory.
        ReadDirectory = 16 "READDIR",
        /// Names in a directory, with attributes.
        ReadDirectoryPlus = 17 "READDIRPLUS",
        /// Space.
        FileSystemSpace = 18 "FSSTAT",
        /// Limits and preferences.
        FileSystemInfo = 19 "FSINFO",
        /// Makes unstable writes stable.
        Commit = 21 "COMMIT",
    }
}

enumeration! {
    /// What a file is (ftype3).
    pub enum FileType, "file type" {
        /// A regular file.
        Regular = 1 "regular file",
        /// A directory.
        Directory = 2 "directory",
        /// A block device.
        BlockDevice = 3 "block device",
        /// A character device.
        CharacterDevice = 4 "character device",
        /// A symbolic link.
        Link = 5 "symbolic link",
        /// A socket.
        Socket = 6 "socket",
        /// A named pipe.
        Fifo = 7 "named pipe",
    }
}

enumeration! {
    /// How safe a completed WRITE is (stable_how); a greater one is safer.
    pub enum Stability, "stable_how" {
        /// In the server's memory until COMMIT.
        Unstable = 0 "UNSTABLE",
        /// Data, and what is needed to find it, on stable storage.
        DataSync = 1 "DATA_SYNC",
        /// Data and all attributes on stable storage.
        FileSync = 2 "FILE_SYNC",
    }
}

/// The server's own name of a file (NFS3_FHSIZE).
pub type FileHandle = Handle<64>;

/// A name in a directory that is safe to use: 1 to 255 bytes, without `/` and NUL, and not `.`
/// or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(&'a str);

impl<'a> Name<'a> {
    /// Longest name in bytes; servers may allow less.
    pub const LONGEST: usize = 255;

    /// The name, or `None` when it is not a safe one.
    pub fn new(name: &'a str) -> Option<Self> {
        let safe = (1..=Name::LONGEST).contains(&name.len())
            && !matches!(name, "." | "..")
            && !name.contains(['/', '\0']);
        safe.then_some(Name(name))
    }

    /// As text.
    pub fn as_str(&self) -> &'a str {
        self.0
    }
}

impl Encode for Name<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.0.as_bytes());
    }
}

impl<'a> Decode<'a> for Name<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let name = std::str::from_utf8(from.opaque(Name::LONGEST as u32)?).ok();
        name.and_then(Name::new).ok_or(Error::Invalid("name"))
    }
}

/// Opaque data whose length was checked against the message alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a>(pub &'a [u8]);

impl Encode for Data<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.0);
    }
}

impl<'a> Decode<'a> for Data<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        from.opaque(u32::MAX).map(Data)
    }
}

/// Eight bytes that change when the server restarts (writeverf3), or when a directory changed
/// under its reader (cookieverf3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verifier(pub u64);

impl Encode for Verifier {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(self.0);
    }
}

impl Decode<'_> for Verifier {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u64().map(Verifier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{decode_all, encode_all};

    #[test]
    fn unsafe_names_cannot_be_made() {
        for bad in ["", ".", "..", "a/b", "/", "a\0", &"x".repeat(256)] {
            assert!(Name::new(bad).is_none(), "{bad}");
        }
        assert!(Name::new("...").is_some());
        assert!(decode_all::<Name>(&encode_all(&Data(b"../etc"))).is_err());
    }

    #[test]
    fn handles_have_a_limit() {
        assert!(FileHandle::new(&[1; 65]).is_none());
        assert!(decode_all::<FileHandle>(&encode_all(&Data(&[1; 65]))).is_err());
        let handle = FileHandle::new(&[1; 64]).unwrap();
        assert_eq!(decode_all::<FileHandle>(&encode_all(&handle)), Ok(handle));
    }
}
