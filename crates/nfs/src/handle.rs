//! What servers call files.

use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};
use std::fmt;

/// A server's own name of a file: at most so many bytes, 255 in any case, which mean nothing to a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle<const LONGEST: usize> {
    length: u8,
    bytes: [u8; LONGEST],
}

impl<const LONGEST: usize> Handle<LONGEST> {
    /// Longest handle in bytes.
    pub const LONGEST: usize = LONGEST;

    /// A handle of these bytes; `None` when there are too many.
    pub fn new(handle: &[u8]) -> Option<Self> {
        let (mut bytes, length) = ([0; LONGEST], u8::try_from(handle.len()).ok()?);
        bytes.get_mut(..handle.len())?.copy_from_slice(handle);
        Some(Handle { length, bytes })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const LONGEST: usize> fmt::Debug for Handle<LONGEST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl<const LONGEST: usize> Encode for Handle<LONGEST> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.as_bytes());
    }
}

impl<const LONGEST: usize> Decode<'_> for Handle<LONGEST> {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let bytes = from.opaque(LONGEST as u32)?;
        Handle::new(bytes).ok_or(Error::Invalid("file handle"))
    }
}
