//! What a server answered in a session: its frames, in the order of the requests that they answer.

/// How frames on a connection, and replies to them, are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// ONC RPC: a record mark (RFC 5531, section 11), then the transaction's number.
    Rpc,
    /// SMB 2: a length (MS-SMB2, section 2.1), then messages strung together, each with a number.
    Smb,
}

/// The first frame of a connection.
pub const FIRST: u16 = 0x1;
/// The next frame belongs to the same request.
pub const MORE: u16 = 0x2;
/// The frame comes twice.
pub const TWICE: u16 = 0x4;
/// The frame never comes.
pub const WITHHELD: u16 = 0x8;
/// The frame comes after the next one, or when the client has fallen silent. With [`TWICE`] it
/// comes now and then.
pub const LATER: u16 = 0x10;
/// The server sends nothing after this frame.
pub const CLOSED: u16 = 0x20;
/// The frame comes in pieces, a record in several fragments.
pub const PIECES: u16 = 0x40;
/// The frame comes as it is, its own first bytes its length, its number that of the recording.
pub const RAW: u16 = 0x80;
/// The frame has the number of the request before.
pub const STALE: u16 = 0x100;

/// One frame of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When and how it is sent.
    pub flags: u16,
    /// Its content, without its length.
    pub frame: Vec<u8>,
}

/// A session, as a server saw it. As bytes: of each step two bytes of flags, two of length, both
/// with the high byte first, and the frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript(pub Vec<Step>);

impl Transcript {
    /// Reads any bytes: what ends too early ends there.
    pub fn from_bytes(mut bytes: &[u8]) -> Transcript {
        let mut steps = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
            let length = usize::from(u16::from_be_bytes([head[2], head[3]])).min(rest.len());
            let (frame, rest) = rest.split_at(length);
            steps.push(Step { flags: u16::from_be_bytes([head[0], head[1]]), frame: frame.into() });
            bytes = rest;
        }
        Transcript(steps)
    }

    /// As bytes. A frame longer than 65,535 bytes is cut.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in &self.0 {
            let length = u16::try_from(step.frame.len()).unwrap_or(u16::MAX);
            bytes.extend(step.flags.to_be_bytes());
            bytes.extend(length.to_be_bytes());
            bytes.extend(&step.frame[..length.into()]);
        }
        bytes
    }

    /// The frames of one connection, by its number.
    pub(super) fn connection(&self, number: usize) -> &[Step] {
        let begins = |(i, step): (usize, &Step)| (step.flags & FIRST != 0).then_some(i);
        let mut firsts = self.0.iter().enumerate().filter_map(begins).skip(number);
        let Some(first) = firsts.next() else { return &[] };
        &self.0[first..firsts.next().unwrap_or(self.0.len())]
    }
}

impl Wire {
    /// The length of the frame that follows a prefix.
    pub(super) fn length(self, prefix: [u8; 4]) -> usize {
        let length = u32::from_be_bytes(prefix) as usize;
        match self {
            Wire::Rpc => length & 0x7fff_ffff,
            Wire::Smb => length & 0xff_ffff,
        }
    }

    /// What stands before a frame; `last` is of a record's fragments.
    pub(super) fn prefix(self, length: usize, last: bool) -> [u8; 4] {
        let mark = if self == Wire::Rpc && last { 0x8000_0000 } else { 0 };
        (length as u32 | mark).to_be_bytes()
    }

    /// The numbers of the messages in a frame.
    pub(super) fn numbers(self, frame: &[u8]) -> Vec<u64> {
        self.messages(frame).into_iter().filter_map(|at| self.number(frame, at)).collect()
    }

    /// Gives the messages of a frame these numbers, those that are left over the last of them.
    pub(super) fn put_numbers(self, frame: &mut [u8], numbers: &[u64]) {
        let places = self.messages(frame);
        let Some(last) = numbers.last() else { return };
        for (i, at) in places.into_iter().enumerate() {
            let number = numbers.get(i).unwrap_or(last);
            match self {
                Wire::Rpc => {
                    if let Some(place) = frame.get_mut(at..at + 4) {
                        place.copy_from_slice(&(*number as u32).to_be_bytes());
                    }
                }
                Wire::Smb => {
                    if let Some(place) = frame.get_mut(at + 24..at + 32) {
                        place.copy_from_slice(&number.to_le_bytes());
                    }
                }
            }
        }
    }

    fn number(self, frame: &[u8], at: usize) -> Option<u64> {
        match self {
            Wire::Rpc => Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?).into()),
            Wire::Smb => Some(u64::from_le_bytes(*frame.get(at + 24..)?.first_chunk()?)),
        }
    }

    /// Where the messages of a frame begin.
    fn messages(self, frame: &[u8]) -> Vec<usize> {
        let mut places = vec![0];
        let mut at = 0;
        while self == Wire::Smb
            && let Some(next) = frame.get(at + 20..).and_then(|rest| rest.first_chunk())
            && let next @ 64.. = u32::from_le_bytes(*next) as usize
            && at + next < frame.len()
        {
            at += next;
            places.push(at);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_a_transcript_and_a_transcript_is_bytes() {
        let step = |flags, frame: &[u8]| Step { flags, frame: frame.into() };
        let whole = Transcript(vec![step(FIRST, b"a"), step(MORE, b""), step(FIRST | RAW, b"bc")]);
        let bytes = whole.to_bytes();
        assert_eq!(Transcript::from_bytes(&bytes), whole);
        for length in 0..bytes.len() {
            assert!(Transcript::from_bytes(&bytes[..length]).0.len() <= 3);
        }
        assert_eq!(whole.connection(0), &whole.0[..2]);
        assert_eq!(whole.connection(1), &whole.0[2..]);
        assert_eq!(whole.connection(2), &[]);
    }

    #[test]
    fn numbers_are_found_and_put() {
        let mut record = vec![0; 8];
        Wire::Rpc.put_numbers(&mut record, &[0x0102_0304]);
        assert_eq!(record, [1, 2, 3, 4, 0, 0, 0, 0]);
        assert_eq!(Wire::Rpc.numbers(&record), [0x0102_0304]);
        let mut compound = vec![0; 64 + 72 + 64];
        compound[20] = 64;
        compound[64 + 20] = 72;
        Wire::Smb.put_numbers(&mut compound, &[7, 8]);
        assert_eq!(Wire::Smb.numbers(&compound), [7, 8, 8]);
        Wire::Smb.put_numbers(&mut compound[..30], &[9]);
        assert_eq!(Wire::Smb.numbers(&compound[..20]), [0; 0]);
    }
}
