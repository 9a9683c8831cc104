//! Lines out of a stream of bytes, none longer than allowed.

use std::fmt;

/// Lines out of a stream of bytes.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Bytes that were looked at and hold no end of a line.
    seen: usize,
    most: usize,
}

/// A line is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Most bytes of a line.
    pub most: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a line has more than {} bytes", self.most)
    }
}

impl Lines {
    /// Lines of at most so many bytes.
    pub fn new(most: usize) -> Self {
        Lines { buffer: Vec::new(), seen: 0, most }
    }

    /// Takes what came. Lines are to be taken out before more is pushed.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, without its end; `None`: there is none yet.
    ///
    /// # Errors
    /// [`TooLong`]; then nothing after it can be understood.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let end = self.buffer[self.seen..].iter().position(|byte| *byte == b'\n');
        let length = end.map_or(self.buffer.len(), |end| self.seen + end);
        if length > self.most {
            return Err(TooLong { most: self.most });
        }
        if end.is_none() {
            self.seen = length;
            return Ok(None);
        }
        self.seen = 0;
        let rest = self.buffer.split_off(length + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However a stream is cut into pieces, its lines are the same.
        #[test]
        fn lines_in_pieces(text in "([a-c]{0,6}\n){0,6}[a-c]{0,6}", step in 1_usize..9) {
            let mut lines = Lines::new(6);
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(step) {
                lines.push(piece);
                while let Some(line) = lines.next_line().unwrap() {
                    found.push(String::from_utf8(line).unwrap());
                }
            }
            let mut expected: Vec<&str> = text.split('\n').collect();
            expected.pop();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn long_lines_are_refused_before_they_end() {
        let mut lines = Lines::new(4);
        lines.push(b"abcd");
        assert_eq!(lines.next_line(), Ok(None));
        lines.push(b"e");
        assert_eq!(lines.next_line(), Err(TooLong { most: 4 }));
        let mut lines = Lines::new(4);
        lines.push(b"abcde\n");
        assert_eq!(lines.next_line(), Err(TooLong { most: 4 }));
    }
}
