//! What calls carry (RFC 1813, section 3.3).

use super::attributes::SetAttributes;
use super::types::{FileHandle, Name, Stability, Verifier};
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

wire! {
    /// A name in a directory (diropargs3): LOOKUP, REMOVE, RMDIR.
    pub struct Place<'a> {
        /// The directory.
        pub directory: FileHandle,
        /// The name in it.
        pub name: Name<'a>,
    }
}

wire! {
    /// ACCESS.
    pub struct AccessArguments {
        /// The file.
        pub file: FileHandle,
        /// Rights asked for, as bits.
        pub rights: u32,
    }
}

wire! {
    /// READ.
    pub struct ReadArguments {
        /// The file.
        pub file: FileHandle,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes wanted.
        pub count: u32,
    }
}

wire! {
    /// COMMIT; offset and count 0 mean the whole file.
    pub struct CommitArguments {
        /// The file.
        pub file: FileHandle,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there.
        pub count: u32,
    }
}

wire! {
    /// WRITE up to and without its data, which always follow: [`Data`](super::types::Data) of `count` bytes.
    pub struct WriteArguments {
        /// The file.
        pub file: FileHandle,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes to write, which is also the length of the data.
        pub count: u32,
        /// How safe the data must be when the call completes.
        pub stability: Stability,
    }
}

wire! {
    /// MKDIR.
    pub struct MakeDirectoryArguments<'a> {
        /// Where.
        pub place: Place<'a>,
        /// Attributes of the new directory.
        pub attributes: SetAttributes,
    }
}

wire! {
    /// CREATE.
    pub struct CreateArguments<'a> {
        /// Where.
        pub place: Place<'a>,
        /// What if it exists.
        pub how: CreateHow,
    }
}

wire! {
    /// RENAME.
    pub struct RenameArguments<'a> {
        /// The name that is there.
        pub from: Place<'a>,
        /// The name that it gets.
        pub to: Place<'a>,
    }
}

/// What CREATE does when the file exists (createhow3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// Succeed and keep it.
    Unchecked(SetAttributes),
    /// Fail.
    Guarded(SetAttributes),
    /// Fail, unless it was made by a call with this very verifier.
    Exclusive(Verifier),
}

impl Encode for CreateHow {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            CreateHow::Unchecked(attributes) => {
                to.u32(0);
                to.value(attributes);
            }
            CreateHow::Guarded(attributes) => {
                to.u32(1);
                to.value(attributes);
            }
            CreateHow::Exclusive(verifier) => {
                to.u32(2);
                to.value(verifier);
            }
        }
    }
}

impl Decode<'_> for CreateHow {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        match from.u32()? {
            0 => from.value().map(CreateHow::Unchecked),
            1 => from.value().map(CreateHow::Guarded),
            2 => from.value().map(CreateHow::Exclusive),
            value => Err(Error::Unknown { what: "createmode3", value }),
        }
    }
}

/// SETATTR, without a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAttributesArguments {
    /// The file.
    pub file: FileHandle,
    /// What to set.
    pub attributes: SetAttributes,
}

impl Encode for SetAttributesArguments {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.value(&self.file);
        to.value(&self.attributes);
        to.bool(false);
    }
}

impl Decode<'_> for SetAttributesArguments {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let arguments = SetAttributesArguments { file: from.value()?, attributes: from.value()? };
        if from.bool()? {
            return Err(Error::Invalid("SETATTR of this client: a guard"));
        }
        Ok(arguments)
    }
}

wire! {
    /// READDIR.
    pub struct ReadDirectoryArguments {
        /// The directory.
        pub directory: FileHandle,
        /// Where to go on; 0 at first.
        pub cookie: u64,
        /// As the last page gave it; 0 at first.
        pub verifier: Verifier,
        /// Longest reply in bytes.
        pub count: u32,
    }
}

wire! {
    /// READDIRPLUS.
    pub struct ReadDirectoryPlusArguments {
        /// The directory.
        pub directory: FileHandle,
        /// Where to go on; 0 at first.
        pub cookie: u64,
        /// As the last page gave it; 0 at first.
        pub verifier: Verifier,
        /// Most bytes of names.
        pub name_bytes: u32,
        /// Longest reply in bytes.
        pub count: u32,
    }
}

/// Appends WRITE's arguments with the length of the data, so that only the data and
/// [`padding`](crate::xdr::padding) are missing.
pub(super) fn encode_write(arguments: &WriteArguments, to: &mut Encoder<'_>) {
    to.value(arguments);
    to.u32(arguments.count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs3::attributes::Time;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;
    use std::fmt::Debug;

    fn handles() -> impl Strategy<Value = FileHandle> {
        prop::collection::vec(any::<u8>(), 0..65).prop_map(|b| FileHandle::new(&b).unwrap())
    }

    fn reads_back<'a, T: Encode + Decode<'a> + PartialEq + Debug>(value: T) {
        let bytes: &'static [u8] = encode_all(&value).leak();
        assert_eq!(decode_all::<T>(bytes), Ok(value));
        for cut in 0..bytes.len() {
            assert!(decode_all::<T>(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn a_write_is_as_the_rfc_says() {
        let file = FileHandle::new(&[9; 5]).unwrap();
        let head = WriteArguments { file, offset: 4096, count: 3, stability: Stability::FileSync };
        let expected = [
            &[0, 0, 0, 5, 9, 9, 9, 9, 9, 0, 0, 0][..], // file
            &[0, 0, 0, 0, 0, 0, 0x10, 0],              // offset
            &[0, 0, 0, 3, 0, 0, 0, 2],                 // count, FILE_SYNC
            &[0, 0, 0, 3, 1, 2, 3, 0],                 // data
        ]
        .concat();
        let mut bytes = Vec::new();
        let mut to = Encoder::new(&mut bytes);
        encode_write(&head, &mut to);
        to.fixed(&[1, 2, 3]);
        assert_eq!(bytes, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn all_arguments_read_back(file in handles(), name in "[^/\0]{1,60}", a: u64, b: u32, c: u32,
                                   mode: Option<u32>, size: Option<u64>, time: Option<(u32, u32)>) {
            prop_assume!(Name::new(&name).is_some());
            let name: &'static str = name.leak();
            let modified = time.map(|(seconds, nanoseconds)| Time { seconds, nanoseconds });
            let attributes = SetAttributes { mode, size, modified };
            let place = Place { directory: file, name: Name::new(name).unwrap() };
            reads_back(place);
            reads_back(RenameArguments { from: place, to: place });
            reads_back(AccessArguments { file, rights: b });
            reads_back(ReadArguments { file, offset: a, count: b });
            reads_back(CommitArguments { file, offset: a, count: b });
            for stability in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
                reads_back(WriteArguments { file, offset: a, count: b, stability });
            }
            reads_back(MakeDirectoryArguments { place, attributes });
            for how in [CreateHow::Unchecked(attributes), CreateHow::Guarded(attributes), CreateHow::Exclusive(Verifier(a))] {
                reads_back(CreateArguments { place, how });
            }
            reads_back(SetAttributesArguments { file, attributes });
            reads_back(ReadDirectoryArguments { directory: file, cookie: a, verifier: Verifier(a ^ 1), count: b });
            reads_back(ReadDirectoryPlusArguments {
                directory: file, cookie: a, verifier: Verifier(a ^ 1), name_bytes: b, count: c,
            });
        }
    }
}
