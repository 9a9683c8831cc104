//! Attributes: a bitmap that says which, and their values in the order of their numbers
//! (RFC 8881, section 5).

use crate::nfs3::FileType;
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Words of a bitmap that this client keeps; later ones must be zero where they matter.
const WORDS: usize = 3;
/// Most words taken of a bitmap.
const MOST_WORDS: u32 = 16;

/// Which attributes (bitmap4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bitmap(pub [u32; WORDS]);

impl Bitmap {
    /// These numbers; those that it has no place for are left out.
    pub const fn from_numbers(numbers: &[u32]) -> Bitmap {
        let (mut words, mut at) = ([0; WORDS], 0);
        while at < numbers.len() {
            let word = (numbers[at] / 32) as usize;
            if word < WORDS {
                words[word] |= 1 << (numbers[at] % 32);
            }
            at += 1;
        }
        Bitmap(words)
    }

    /// Whether this attribute is in it.
    pub fn has(&self, number: u32) -> bool {
        self.0.get((number / 32) as usize).is_some_and(|word| word & (1 << (number % 32)) != 0)
    }
}

impl Encode for Bitmap {
    fn encode(&self, to: &mut Encoder<'_>) {
        let used = WORDS - self.0.iter().rev().take_while(|word| **word == 0).count();
        to.u32(used as u32);
        self.0[..used].iter().for_each(|word| to.u32(*word));
    }
}

impl Decode<'_> for Bitmap {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let length = from.u32()?;
        if length > MOST_WORDS {
            return Err(Error::TooLong { length, limit: MOST_WORDS });
        }
        let mut words = [0; WORDS];
        for at in 0..length as usize {
            let word = from.u32()?;
            match words.get_mut(at) {
                Some(kept) => *kept = word,
                None if word == 0 => {}
                None => return Err(Error::Invalid("bitmap: an attribute that was not requested")),
            }
        }
        Ok(Bitmap(words))
    }
}

wire! {
    /// A time (nfstime4).
    pub struct Time {
        /// Seconds since 1970-01-01 UTC.
        pub seconds: i64,
        /// Nanoseconds within the second.
        pub nanoseconds: u32,
    }
}

wire! {
    /// A file system (fsid4).
    pub struct FileSystemId {
        /// First half.
        pub major: u64,
        /// Second half.
        pub minor: u64,
    }
}

/// The usual number of a user who is nobody.
const NOBODY: u32 = 65534;

/// An owner or a group: a number, as servers give it to AUTH_SYS callers, or a name (RFC 8881, section
/// 5.9), of which this client knows the numbers of root and nobody alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub Option<u32>);

impl Encode for Owner {
    fn encode(&self, to: &mut Encoder<'_>) {
        let text = self.0.map_or_else(|| "someone@localdomain".into(), |id| id.to_string());
        to.opaque(text.as_bytes());
    }
}

impl Decode<'_> for Owner {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let text = std::str::from_utf8(from.opaque(1024)?).ok();
        Ok(Owner(text.and_then(|text| match text.split('@').next() {
            Some("root") => Some(0),
            Some("nobody" | "nfsnobody" | "nogroup") => Some(NOBODY),
            _ => text.parse().ok(),
        })))
    }
}

macro_rules! attributes {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $number:literal,)*) => {
        /// Attributes of a file or of its file system, as far as they were asked for and the server
        /// has them (fattr4).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Attributes { $($(#[$doc])* pub $field: Option<$type>,)* }

        impl Encode for Attributes {
            fn encode(&self, to: &mut Encoder<'_>) {
                let mut which = Bitmap::default();
                let mut values = Vec::new();
                let mut list = Encoder::new(&mut values);
                $(if let Some(value) = &self.$field {
                    which.0[$number / 32] |= 1 << ($number % 32);
                    list.value(value);
                })*
                to.value(&which);
                to.opaque(&values);
            }
        }

        impl Decode<'_> for Attributes {
            fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
                let mut which: Bitmap = from.value()?;
                let mut list = Decoder::new(from.opaque(u32::MAX)?);
                let mut attributes = Attributes::default();
                // In the order of their numbers, as they stand here.
                $(if which.has($number) {
                    which.0[$number / 32] &= !(1 << ($number % 32));
                    attributes.$field = Some(list.value()?);
                })*
                if which != Bitmap::default() {
                    return Err(Error::Invalid("list of attributes: one that was not requested"));
                }
                list.finish()?;
                Ok(attributes)
            }
        }
    };
}

attributes! {
    /// Which attributes the server has.
    supported: Bitmap = 0,
    /// What it is.
    kind: FileType = 1,
    /// Changes when the file does.
    change: u64 = 3,
    /// In bytes.
    size: u64 = 4,
    /// Its file system.
    file_system: FileSystemId = 8,
    /// How long the server keeps what a silent client has open, in seconds.
    lease_seconds: u32 = 10,
    /// In a listing: why the other attributes are not there.
    error: u32 = 11,
    /// Number of the file in its file system.
    file_id: u64 = 20,
    /// Longest READ in bytes.
    read_most: u64 = 30,
    /// Longest WRITE in bytes.
    write_most: u64 = 31,
    /// Permission bits.
    mode: u32 = 33,
    /// Hard links.
    links: u32 = 35,
    /// Owner.
    owner: Owner = 36,
    /// Group.
    group: Owner = 37,
    /// Space that the caller may still use, in bytes.
    space_available: u64 = 42,
    /// Space in bytes.
    space_total: u64 = 44,
    /// Last change of the content.
    modified: Time = 53,
}

impl Attributes {
    /// What is asked for of files.
    pub const OF_FILES: Bitmap = Bitmap::from_numbers(&[1, 3, 4, 8, 20, 33, 35, 36, 37, 53]);
    /// What is asked for of listed names.
    pub const OF_NAMES: Bitmap = Bitmap::from_numbers(&[1, 11, 20]);
    /// What is asked for of a server and a file system.
    pub const OF_FILE_SYSTEMS: Bitmap = Bitmap::from_numbers(&[0, 8, 10, 30, 31, 42, 44]);
}

/// Attributes to set (fattr4); `None` leaves as is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Size in bytes.
    pub size: Option<u64>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Last change of the content (SET_TO_CLIENT_TIME4).
    pub modified: Option<Time>,
}

const SIZE: u32 = 4;
const MODE: u32 = 33;
const SET_MODIFIED: u32 = 54;
const CLIENT_TIME: u32 = 1;

impl Encode for SetAttributes {
    fn encode(&self, to: &mut Encoder<'_>) {
        let parts = [(SIZE, self.size.map(|_| 8)), (MODE, self.mode.map(|_| 4))];
        let parts = parts.into_iter().chain([(SET_MODIFIED, self.modified.map(|_| 16))]);
        let (mut which, mut bytes) = (Bitmap::default(), 0);
        for (number, length) in parts.filter_map(|(number, length)| Some((number, length?))) {
            which.0[(number / 32) as usize] |= 1 << (number % 32);
            bytes += length;
        }
        to.value(&which);
        to.u32(bytes);
        if let Some(size) = self.size {
            to.u64(size);
        }
        if let Some(mode) = self.mode {
            to.u32(mode);
        }
        if let Some(modified) = &self.modified {
            to.u32(CLIENT_TIME);
            to.value(modified);
        }
    }
}

impl Decode<'_> for SetAttributes {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let which: Bitmap = from.value()?;
        let mut list = Decoder::new(from.opaque(64)?);
        let size = which.has(SIZE).then(|| list.value()).transpose()?;
        let mode = which.has(MODE).then(|| list.value()).transpose()?;
        let mut modified = None;
        if which.has(SET_MODIFIED) {
            match list.u32()? {
                CLIENT_TIME => modified = Some(list.value()?),
                value => return Err(Error::Unknown { what: "time_how4 that is sent", value }),
            }
        }
        list.finish()?;
        Ok(SetAttributes { size, mode, modified })
    }
}
