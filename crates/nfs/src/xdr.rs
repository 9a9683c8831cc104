//! External data representation (RFC 4506): a checked cursor over received bytes, and an encoder
//! that appends to a buffer the caller keeps.
//!
//! Every format above follows one recipe: a type that can only hold valid values implements
//! [`Encode`] and [`Decode`]; nothing is believed about a length before it is compared with a
//! limit and with the bytes at hand, and decoding borrows instead of copying.

/// Why bytes are not the value they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end inside a value.
    #[error("the message ends too early")]
    Truncated,
    /// A length above what the protocol or the caller allows.
    #[error("a length of {length} where at most {limit} is allowed")]
    TooLong {
        /// What the message claims.
        length: u32,
        /// What is allowed.
        limit: u32,
    },
    /// A discriminant or enumeration value that the protocol does not have.
    #[error("{value} is not a {what}")]
    Unknown {
        /// Which enumeration.
        what: &'static str,
        /// The value found.
        value: u32,
    },
    /// Padding after opaque data that is not zero (RFC 4506, section 4.10).
    #[error("padding that is not zero")]
    Padding,
    /// Bytes left over after the value.
    #[error("{0} bytes too many after the message")]
    Trailing(u32),
    /// A value that breaks a rule of its type.
    #[error("not a valid {0}")]
    Invalid(&'static str),
}

/// A value that can be appended to a message.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, to: &mut Encoder<'_>);
}

/// A value that can be taken from the front of received bytes.
pub trait Decode<'a>: Sized {
    /// Takes the value, or says why the bytes are not one.
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error>;
}

/// Bytes that fill opaque data of this length up to a multiple of four.
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Appends values to a buffer. Allocates only when the buffer's capacity is used up.
pub struct Encoder<'b> {
    bytes: &'b mut Vec<u8>,
}

impl<'b> Encoder<'b> {
    /// An encoder at the end of `bytes`.
    #[inline]
    pub fn new(bytes: &'b mut Vec<u8>) -> Self {
        Encoder { bytes }
    }

    /// An unsigned integer; also enumerations.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// An unsigned hyper integer.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Opaque data of a fixed length.
    #[inline]
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(&[0; 3][..padding(bytes.len())]);
    }

    /// Opaque data or a string of variable length, at most `u32::MAX` bytes of it.
    #[inline]
    pub fn opaque(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.u32(length);
        self.fixed(&bytes[..length as usize]);
    }

    /// Any value.
    #[inline]
    pub fn value<T: Encode + ?Sized>(&mut self, value: &T) {
        value.encode(self);
    }

    /// An optional value.
    #[inline]
    pub fn option<T: Encode>(&mut self, value: Option<&T>) {
        self.bool(value.is_some());
        if let Some(value) = value {
            value.encode(self);
        }
    }
}

/// A cursor over received bytes.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// A cursor at the front of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes }
    }

    /// Bytes not taken yet.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Error::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Error::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// An unsigned integer.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    /// An unsigned hyper integer.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    /// A boolean: 0 or 1 and nothing else.
    #[inline]
    pub fn bool(&mut self) -> Result<bool, Error> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(Error::Unknown { what: "boolean", value }),
        }
    }

    /// Opaque data of a fixed length.
    #[inline]
    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let data = self.take(length)?;
        if self.take(padding(length))?.iter().any(|&b| b != 0) {
            return Err(Error::Padding);
        }
        Ok(data)
    }

    /// Opaque data or a string of variable length, at most `limit` bytes.
    #[inline]
    pub fn opaque(&mut self, limit: u32) -> Result<&'a [u8], Error> {
        let length = self.u32()?;
        if length > limit {
            return Err(Error::TooLong { length, limit });
        }
        self.fixed(length as usize)
    }

    /// Any value.
    #[inline]
    pub fn value<T: Decode<'a>>(&mut self) -> Result<T, Error> {
        T::decode(self)
    }

    /// An optional value.
    #[inline]
    pub fn option<T: Decode<'a>>(&mut self) -> Result<Option<T>, Error> {
        if self.bool()? { T::decode(self).map(Some) } else { Ok(None) }
    }

    /// Leaves out an optional value of a fixed length in bytes.
    #[inline]
    pub fn skip_option(&mut self, length: usize) -> Result<(), Error> {
        if self.bool()? {
            self.take(length)?;
        }
        Ok(())
    }

    /// Ends decoding: anything left over is an error.
    pub fn finish(self) -> Result<(), Error> {
        match self.bytes.len() {
            0 => Ok(()),
            n => Err(Error::Trailing(u32::try_from(n).unwrap_or(u32::MAX))),
        }
    }
}

/// Decodes a value that must fill `bytes` exactly.
pub fn decode_all<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut from = Decoder::new(bytes);
    let value = T::decode(&mut from)?;
    from.finish()?;
    Ok(value)
}

/// Encodes a value alone. For the cold path and for tests.
pub fn encode_all<T: Encode + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut Encoder::new(&mut bytes));
    bytes
}

impl Encode for () {
    fn encode(&self, _: &mut Encoder<'_>) {}
}

impl Decode<'_> for () {
    fn decode(_: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(())
    }
}

impl Encode for u32 {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(*self);
    }
}

impl Decode<'_> for u32 {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u32()
    }
}

impl Encode for u64 {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(*self);
    }
}

impl Decode<'_> for u64 {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u64()
    }
}

impl Encode for bool {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(*self);
    }
}

impl Decode<'_> for bool {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.bool()
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.option(self.as_ref());
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        from.option()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn opaque_data_is_padded_with_zeros() {
        let mut bytes = Vec::new();
        Encoder::new(&mut bytes).opaque(b"abcde");
        assert_eq!(bytes, [0, 0, 0, 5, b'a', b'b', b'c', b'd', b'e', 0, 0, 0]);
        assert_eq!(Decoder::new(&bytes).opaque(5), Ok(&b"abcde"[..]));
        assert_eq!(Decoder::new(&bytes).opaque(4), Err(Error::TooLong { length: 5, limit: 4 }));
        bytes[11] = 1;
        assert_eq!(Decoder::new(&bytes).opaque(5), Err(Error::Padding));
        assert_eq!(Decoder::new(&bytes[..10]).opaque(5), Err(Error::Truncated));
    }

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_taken() {
        assert_eq!(Decoder::new(&[0xff; 8]).opaque(u32::MAX), Err(Error::Truncated));
        assert_eq!(
            Decoder::new(&[0, 0, 0, 2]).bool(),
            Err(Error::Unknown { what: "boolean", value: 2 })
        );
        assert_eq!(decode_all::<u32>(&[0, 0, 0, 1, 9]), Err(Error::Trailing(1)));
        assert_eq!(Decoder::new(&[0, 0, 0, 1, 0]).skip_option(8), Err(Error::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(a: u32, b: u64, c: bool, d in prop::collection::vec(any::<u8>(), 0..50)) {
            let mut bytes = Vec::new();
            let mut to = Encoder::new(&mut bytes);
            to.u32(a);
            to.u64(b);
            to.bool(c);
            to.opaque(&d);
            to.option(Some(&a));
            prop_assert_eq!(bytes.len() % 4, 0);
            let mut from = Decoder::new(&bytes);
            prop_assert_eq!(from.u32(), Ok(a));
            prop_assert_eq!(from.u64(), Ok(b));
            prop_assert_eq!(from.bool(), Ok(c));
            prop_assert_eq!(from.opaque(50), Ok(&d[..]));
            prop_assert_eq!(from.option::<u32>(), Ok(Some(a)));
            prop_assert_eq!(from.finish(), Ok(()));
        }

        #[test]
        fn cut_messages_are_errors(d in prop::collection::vec(any::<u8>(), 0..50), cut: prop::sample::Index) {
            let mut bytes = Vec::new();
            Encoder::new(&mut bytes).opaque(&d);
            let cut = cut.index(bytes.len());
            prop_assert_eq!(Decoder::new(&bytes[..cut]).opaque(50), Err(Error::Truncated));
        }
    }
}
