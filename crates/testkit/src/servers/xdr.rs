//! As much of XDR (RFC 4506) as servers of tests need, apart from the client's own.

/// Bytes that are read from the front.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn fixed(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn word(&mut self) -> Option<u32> {
        self.fixed(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Opaque data or a string, whose padding must be zero.
    pub fn opaque(&mut self, most: usize) -> Option<&'a [u8]> {
        let length = self.word()? as usize;
        if length > most {
            return None;
        }
        let data = self.fixed(length)?;
        let padding = self.fixed(length.next_multiple_of(4) - length)?;
        padding.iter().all(|byte| *byte == 0).then_some(data)
    }
}

pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Opaque data or a string.
pub(super) fn fill(data: &[u8]) -> Vec<u8> {
    let mut bytes = [&(data.len() as u32).to_be_bytes()[..], data].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
