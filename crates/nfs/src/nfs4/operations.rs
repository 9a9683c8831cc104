//! Arguments and results of operations on names and bytes (RFC 8881, section 18).

use super::attributes::{Attributes, Bitmap, SetAttributes};
use super::types::{ChangeInfo, FileHandle, StateId};
use crate::nfs3::{Data, FileType, Name, Stability, Verifier};
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Says which operation arguments belong to, and what it gives.
macro_rules! operation {
    ($($arguments:ty = $operation:ident -> $results:ty;)*) => { $(
        impl $crate::nfs4::compound::Arguments for $arguments {
            const OPERATION: $crate::nfs4::types::Operation =
                $crate::nfs4::types::Operation::$operation;
            type Results<'a> = $results;
        }
    )* };
}
pub(super) use operation;

/// Operations whose arguments are nothing.
macro_rules! without_arguments {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;
        impl Encode for $name {
            fn encode(&self, _: &mut Encoder<'_>) {}
        }
        impl Decode<'_> for $name {
            fn decode(_: &mut Decoder<'_>) -> Result<Self, Error> {
                Ok($name)
            }
        }
    )* };
}

without_arguments! {
    /// PUTROOTFH.
    PutRoot;
    /// GETFH.
    GetHandle;
    /// SAVEFH.
    SaveHandle;
    /// RESTOREFH.
    RestoreHandle;
}

wire! {
    /// PUTFH.
    pub struct PutHandle {
        /// What becomes the current file.
        pub file: FileHandle,
    }
}

wire! {
    /// LOOKUP; links are not followed.
    pub struct Lookup<'a> {
        /// A name in the current directory.
        pub name: Name<'a>,
    }
}

wire! {
    /// GETATTR.
    pub struct GetAttributes {
        /// Which.
        pub which: Bitmap,
    }
}

wire! {
    /// SETATTR.
    pub struct SetAttributesOf {
        /// The open file where its size is set, else anonymous.
        pub state: StateId,
        /// What to set.
        pub attributes: SetAttributes,
    }
}

wire! {
    /// VERIFY: the compound ends where the current file has others.
    pub struct Verify {
        /// What it must have.
        pub attributes: Attributes,
    }
}

wire! {
    /// ACCESS.
    pub struct Access {
        /// Rights asked for, as bits.
        pub rights: u32,
    }
}

wire! {
    /// What ACCESS gives.
    pub struct AccessOk {
        /// Rights that the server can tell.
        pub supported: u32,
        /// Rights granted, as bits.
        pub rights: u32,
    }
}

wire! {
    /// READ.
    pub struct Read {
        /// The open file.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes wanted.
        pub count: u32,
    }
}

wire! {
    /// What READ gives.
    pub struct ReadOk<'a> {
        /// Whether the file ends after the data.
        pub end_of_file: bool,
        /// The bytes.
        pub data: Data<'a>,
    }
}

wire! {
    /// WRITE up to and without its data, which always follow: [`Data`] of `count` bytes.
    pub struct WriteHead {
        /// The open file.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// How safe the data must be when the call completes.
        pub stability: Stability,
        /// Bytes to write: the length of the data.
        pub count: u32,
    }
}

wire! {
    /// WRITE with its data.
    pub struct Write<'a> {
        /// The open file.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// How safe the data must be when the call completes.
        pub stability: Stability,
        /// The bytes.
        pub data: Data<'a>,
    }
}

wire! {
    /// What WRITE gives.
    pub struct WriteOk {
        /// Bytes written.
        pub count: u32,
        /// How safe they are.
        pub committed: Stability,
        /// Changes when the server restarts.
        pub verifier: Verifier,
    }
}

wire! {
    /// COMMIT; offset and count 0 mean the whole file.
    pub struct Commit {
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there.
        pub count: u32,
    }
}

/// CREATE of a directory, the one kind that this client makes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateDirectory<'a> {
    /// The name in the current directory.
    pub name: Name<'a>,
    /// Attributes of the new directory.
    pub attributes: SetAttributes,
}

impl Encode for CreateDirectory<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.value(&FileType::Directory);
        to.value(&self.name);
        to.value(&self.attributes);
    }
}

impl<'a> Decode<'a> for CreateDirectory<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        match from.value::<FileType>()? {
            FileType::Directory => {
                Ok(CreateDirectory { name: from.value()?, attributes: from.value()? })
            }
            _ => Err(Error::Invalid("CREATE of this client: it makes directories")),
        }
    }
}

wire! {
    /// What CREATE gives.
    pub struct CreateOk {
        /// The directory that it is in.
        pub change: ChangeInfo,
        /// Which attributes were set.
        pub set: Bitmap,
    }
}

wire! {
    /// REMOVE: a file or an empty directory.
    pub struct Remove<'a> {
        /// The name in the current directory.
        pub name: Name<'a>,
    }
}

wire! {
    /// RENAME: from the saved directory to the current one.
    pub struct Rename<'a> {
        /// The name that is there.
        pub from: Name<'a>,
        /// The name that it gets.
        pub to: Name<'a>,
    }
}

wire! {
    /// What RENAME gives.
    pub struct RenameOk {
        /// The directory that it was in.
        pub from: ChangeInfo,
        /// The directory that it is in.
        pub to: ChangeInfo,
    }
}

wire! {
    /// DELEGRETURN.
    pub struct ReturnDelegation {
        /// What was given.
        pub state: StateId,
    }
}

wire! {
    /// ALLOCATE (4.2).
    pub struct Allocate {
        /// The open file.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there.
        pub length: u64,
    }
}

wire! {
    /// READ_PLUS (4.2).
    pub struct ReadPlus {
        /// The open file.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes wanted.
        pub count: u32,
    }
}

/// A piece of what READ_PLUS gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Bytes.
    Data {
        /// Where in the file.
        offset: u64,
        /// The bytes.
        data: Data<'a>,
    },
    /// Zeros.
    Hole {
        /// Where in the file.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
}

impl Encode for Segment<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Segment::Data { offset, data } => {
                to.u32(0);
                to.u64(*offset);
                to.value(data);
            }
            Segment::Hole { offset, length } => {
                to.u32(1);
                to.u64(*offset);
                to.u64(*length);
            }
        }
    }
}

impl<'a> Decode<'a> for Segment<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        match from.u32()? {
            0 => Ok(Segment::Data { offset: from.u64()?, data: from.value()? }),
            1 => Ok(Segment::Hole { offset: from.u64()?, length: from.u64()? }),
            value => Err(Error::Unknown { what: "data_content4", value }),
        }
    }
}

/// What READ_PLUS gives: its pieces stand one after the other in the reply, each checked here.
#[derive(Clone, Copy, Debug)]
pub struct ReadPlusOk<'a> {
    /// Whether the file ends after them.
    pub end_of_file: bool,
    count: u32,
    pieces: Decoder<'a>,
}

impl<'a> ReadPlusOk<'a> {
    /// The pieces, in the order of the reply.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        let mut pieces = self.pieces;
        (0..self.count).map_while(move |_| pieces.value().ok())
    }

    /// Appends to `bytes` what the pieces are of `count` bytes from `offset` on. They must follow
    /// each other without a gap; holes are zeros, and end where `count` does.
    pub fn append(&self, offset: u64, count: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let (begin, end) = (bytes.len(), bytes.len() + count as usize);
        for segment in self.segments() {
            let (Segment::Data { offset: at, .. } | Segment::Hole { offset: at, .. }) = segment;
            if offset.checked_add((bytes.len() - begin) as u64) != Some(at) {
                return Err(Error::Invalid("READ_PLUS: pieces that are not contiguous"));
            }
            let left = end - bytes.len();
            match segment {
                Segment::Data { data: Data(data), .. } if data.len() <= left => {
                    bytes.extend_from_slice(data);
                }
                Segment::Data { .. } => return Err(Error::Invalid("READ_PLUS: too many bytes")),
                Segment::Hole { length, .. } => {
                    let zeros = usize::try_from(length).unwrap_or(usize::MAX).min(left);
                    bytes.resize(bytes.len() + zeros, 0);
                }
            }
        }
        Ok(())
    }
}

impl<'a> Decode<'a> for ReadPlusOk<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let (end_of_file, count) = (from.bool()?, from.u32()?);
        let pieces = *from;
        for _ in 0..count {
            from.value::<Segment<'_>>()?;
        }
        Ok(ReadPlusOk { end_of_file, count, pieces })
    }
}

operation! {
    PutRoot = PutRoot -> ();
    GetHandle = GetHandle -> FileHandle;
    SaveHandle = SaveHandle -> ();
    RestoreHandle = RestoreHandle -> ();
    PutHandle = PutHandle -> ();
    Lookup<'_> = Lookup -> ();
    GetAttributes = GetAttributes -> Attributes;
    SetAttributesOf = SetAttributes -> Bitmap;
    Verify = Verify -> ();
    Access = Access -> AccessOk;
    Read = Read -> ReadOk<'a>;
    WriteHead = Write -> WriteOk;
    Write<'_> = Write -> WriteOk;
    Commit = Commit -> Verifier;
    CreateDirectory<'_> = Create -> CreateOk;
    Remove<'_> = Remove -> ChangeInfo;
    Rename<'_> = Rename -> RenameOk;
    ReturnDelegation = ReturnDelegation -> ();
    Allocate = Allocate -> ();
    ReadPlus = ReadPlus -> ReadPlusOk<'a>;
}
