//! Little-endian fields read from bytes that are not trusted.

use crate::Error;

/// Reads field after field; running out of bytes is an error, never a panic.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// What is being read, for the error.
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Reader { bytes, what }
    }

    pub fn malformed(&self, how: &str) -> Error {
        Error::Malformed(format!("{}: {how}", self.what))
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (head, rest) =
            self.bytes.split_at_checked(count).ok_or_else(|| self.malformed("it is truncated"))?;
        self.bytes = rest;
        Ok(head)
    }

    pub fn skip(&mut self, count: usize) -> Result<(), Error> {
        self.bytes(count).map(|_| ())
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// A 32-bit count or length.
    pub fn length(&mut self) -> Result<usize, Error> {
        self.u32().map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    }
}

/// The bytes at an offset that a message names itself: a length from outside, checked here.
pub(crate) fn part<'a>(
    message: &'a [u8],
    offset: usize,
    length: usize,
    what: &'static str,
) -> Result<&'a [u8], Error> {
    if length == 0 {
        return Ok(&[]);
    }
    message
        .get(offset..)
        .and_then(|rest| rest.get(..length))
        .ok_or_else(|| Error::Malformed(format!("{what}: its data lies outside the message")))
}

/// UTF-16 in bytes to text; what is not UTF-16 is replaced.
pub(crate) fn text(utf16: &[u8]) -> String {
    let units = utf16.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Text to UTF-16 in bytes.
pub(crate) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order_and_an_early_end_is_an_error() {
        let mut reader = Reader::new(&[1, 2, 0, 3, 0, 0, 0, 9], "test");
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(2));
        assert_eq!(reader.length(), Ok(3));
        assert_eq!(reader.u16(), Err(Error::Malformed("test: it is truncated".into())));
        assert_eq!(reader.u8(), Ok(9));
        assert!(reader.u8().is_err());
    }

    #[test]
    fn parts_lie_inside() {
        assert_eq!(part(b"abcdef", 2, 3, "test").unwrap(), b"cde");
        assert_eq!(part(b"abcdef", 2, 4, "test").unwrap(), b"cdef");
        assert!(part(b"abcdef", 2, 5, "test").is_err());
        assert!(part(b"abcdef", 9, 1, "test").is_err());
        assert!(part(b"abcdef", usize::MAX, usize::MAX, "test").is_err());
        assert_eq!(part(b"abcdef", usize::MAX, 0, "test").unwrap(), b"");
    }

    #[test]
    fn broken_utf16_is_replaced() {
        assert_eq!(text(&utf16("Grüße 🚢")), "Grüße 🚢");
        assert_eq!(text(&[0x00, 0xd8, b'a', 0]), "\u{fffd}a");
        assert_eq!(text(b"a\0b"), "a");
    }
}
