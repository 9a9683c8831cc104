//! Frames of the probe's protocol (probe/README.md): encoding and decoding, no input or output.

use std::fmt;

/// The version of the protocol that this program speaks.
pub const VERSION: u8 = 1;
/// Longest body taken from the probe.
pub const LONGEST_FROM_PROBE: usize = 65536;
/// Longest body that the probe takes.
pub const LONGEST_TO_PROBE: usize = 4096;
/// Bytes that a login shell may write before the probe's first frame.
pub const MOST_CHATTER: usize = 64 << 10;

const MAGIC: [u8; 4] = *b"PLMS";
const HEADER_BYTES: usize = 12;
/// Bytes shown of what is no frame.
const SHOWN: usize = 120;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// To the probe: the verb and its settings.
    Request = b'Q',
    /// To the probe: end now, keep what was reported.
    Stop = b'S',
    /// To the probe: a trial of a verb that serves several, or the word that cancels it.
    Trial = b'N',
    /// To the probe: a token. From the probe: that token and its clock.
    Clock = b'C',
    /// From the probe: a JSON object with `section`.
    Result = b'R',
    /// To the probe: take a sample now. From the probe: the sample.
    Sample = b'T',
    /// From the probe: the last frame, JSON.
    Done = b'D',
    /// From the probe: the last frame, JSON: it failed.
    Error = b'E',
}

impl FrameKind {
    /// The kind of that letter, where the probe may send it.
    fn from_probe(letter: u8) -> Option<FrameKind> {
        [FrameKind::Clock, FrameKind::Result, FrameKind::Sample, FrameKind::Done, FrameKind::Error]
            .into_iter()
            .find(|kind| *kind as u8 == letter)
    }
}

/// A frame from the probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// Its body, at most [`LONGEST_FROM_PROBE`] bytes.
    pub body: Vec<u8>,
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// More than [`MOST_CHATTER`] bytes without the start of a frame; their beginning.
    Chatter(Vec<u8>),
    /// A frame of another version of the protocol.
    Version(u8),
    /// A body longer than [`LONGEST_FROM_PROBE`].
    TooLong(u32),
    /// After the first frame, bytes that start none; their beginning.
    NotAFrame(Vec<u8>),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Chatter(start) => write!(
                f,
                "it wrote more than {MOST_CHATTER} bytes that are not from a probe, starting with \"{}\"",
                start.escape_ascii()
            ),
            FrameError::Version(theirs) => write!(
                f,
                "the probe speaks version {theirs} of the protocol, this program version {VERSION}"
            ),
            FrameError::TooLong(length) => write!(
                f,
                "a message claims a length of {length} bytes, more than the limit of {LONGEST_FROM_PROBE}"
            ),
            FrameError::NotAFrame(start) => {
                write!(f, "bytes between its answers: \"{}\"", start.escape_ascii())
            }
        }
    }
}

/// A frame to the probe. Bodies are at most [`LONGEST_TO_PROBE`] bytes.
pub fn encode(kind: FrameKind, body: &[u8]) -> Vec<u8> {
    debug_assert!(body.len() <= LONGEST_TO_PROBE);
    let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&[VERSION, kind as u8, 0, 0]);
    // A longer body never leaves a `Request`; the length would say so to the probe.
    frame.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

/// Takes bytes as they come and gives frames. It holds at most one frame and what was pushed last.
#[derive(Debug, Default)]
pub struct Decoder {
    waiting: Vec<u8>,
    /// What was skipped before the first frame, as far as it is shown.
    chatter: Vec<u8>,
    skipped: usize,
    greeted: bool,
}

impl Decoder {
    /// Adds bytes from the probe. Take all frames before the next ones are pushed.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next frame; `None` until more bytes come. After an error nothing sensible follows.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if !self.greeted && !self.skip_chatter()? {
            return Ok(None);
        }
        let bytes = &self.waiting;
        let seen = bytes.len().min(MAGIC.len());
        if bytes[..seen] != MAGIC[..seen] {
            return Err(self.no_frame());
        }
        // The version comes before everything whose meaning it may change.
        match bytes.get(4) {
            Some(&version) if version != VERSION => return Err(FrameError::Version(version)),
            _ => {}
        }
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [.., letter, 0, 0, a, b, c, d] = *header else { return Err(self.no_frame()) };
        let length = u32::from_be_bytes([a, b, c, d]);
        let kind = FrameKind::from_probe(letter).ok_or_else(|| self.no_frame())?;
        if length as usize > LONGEST_FROM_PROBE {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = rest.get(..length as usize) else { return Ok(None) };
        let frame = Frame { kind, body: body.to_vec() };
        self.waiting.drain(..HEADER_BYTES + length as usize);
        Ok(Some(frame))
    }

    /// What came before the first frame, as far as it is shown: a shell's own words on why it
    /// started no probe.
    pub fn chatter(&self) -> String {
        let unread = if self.greeted { &[][..] } else { &self.waiting[..] };
        let shown: Vec<u8> = self.chatter.iter().chain(unread).copied().take(SHOWN).collect();
        String::from_utf8_lossy(&shown).trim().to_owned()
    }

    /// Drops what a login shell wrote before the first frame. False until that has begun.
    fn skip_chatter(&mut self) -> Result<bool, FrameError> {
        let start = self.waiting.windows(MAGIC.len()).position(|window| window == MAGIC);
        self.greeted = start.is_some();
        // Without one, the end may still be the beginning of one.
        let drop = start.unwrap_or(self.waiting.len().saturating_sub(MAGIC.len() - 1));
        let remaining = SHOWN.saturating_sub(self.chatter.len());
        self.chatter.extend_from_slice(&self.waiting[..drop.min(remaining)]);
        self.skipped += drop;
        self.waiting.drain(..drop);
        if self.skipped > MOST_CHATTER {
            return Err(FrameError::Chatter(self.chatter.clone()));
        }
        Ok(self.greeted)
    }

    fn no_frame(&self) -> FrameError {
        FrameError::NotAFrame(self.waiting[..self.waiting.len().min(SHOWN)].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the probe would send it.
    fn frame(kind: FrameKind, body: &[u8]) -> Vec<u8> {
        encode(kind, body)
    }

    fn all(decoder: &mut Decoder) -> Result<Vec<Frame>, FrameError> {
        let mut frames = Vec::new();
        while let Some(frame) = decoder.next_frame()? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn a_frame_is_laid_out_as_the_readme_says() {
        let bytes = encode(FrameKind::Request, b"cpu\n");
        assert_eq!(bytes, b"PLMS\x01Q\0\0\0\0\0\x04cpu\n");
    }

    #[test]
    fn what_a_login_shell_says_is_skipped() {
        let mut decoder = Decoder::default();
        decoder.push(b"Welcome to PLMPL");
        assert_eq!(decoder.next_frame(), Ok(None));
        decoder.push(b"X\n");
        decoder.push(&frame(FrameKind::Result, b"{}"));
        decoder.push(&frame(FrameKind::Done, b""));
        let frames = all(&mut decoder).unwrap();
        assert_eq!(
            frames.iter().map(|f| f.kind).collect::<Vec<_>>(),
            [FrameKind::Result, FrameKind::Done]
        );
        assert_eq!(decoder.chatter(), "Welcome to PLMPLX");
    }

    #[test]
    fn chatter_ends_somewhere() {
        let mut decoder = Decoder::default();
        let mut pushed = 0;
        let error = loop {
            decoder.push(&[b'y'; 8192]);
            pushed += 8192;
            match decoder.next_frame() {
                Ok(frame) => assert_eq!(frame, None),
                Err(error) => break error,
            }
            assert!(decoder.waiting.len() < 8);
        };
        assert!(pushed <= MOST_CHATTER + 2 * 8192);
        assert!(error.to_string().contains("yyyy"), "{error}");
    }

    #[test]
    fn refusals_name_what_is_wrong() {
        let refused = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            decoder.next_frame().unwrap_err()
        };
        assert_eq!(refused(b"PLMS\x02"), FrameError::Version(2));
        let said = refused(b"PLMS\x02").to_string();
        assert!(said.contains("version 2") && said.contains("version 1"), "{said}");
        assert_eq!(refused(b"PLMS\x01R\0\0\x00\x01\x00\x01"), FrameError::TooLong(65537));
        assert_eq!(refused(b"PLMS\x01R\0\0\xff\xff\xff\xff"), FrameError::TooLong(u32::MAX));
        for wrong in [&b"PLMS\x01R\0\x01\0\0\0\0"[..], b"PLMS\x01Q\0\0\0\0\0\0"] {
            assert!(matches!(refused(wrong), FrameError::NotAFrame(_)), "{wrong:?}");
        }
        let second = [frame(FrameKind::Clock, b""), b"\x1b[2Jsurprise".to_vec()].concat();
        let mut decoder = Decoder::default();
        decoder.push(&second);
        decoder.next_frame().unwrap();
        let said = decoder.next_frame().unwrap_err().to_string();
        assert!(said.contains("surprise") && !said.contains('\x1b'), "{said}");
    }

    proptest! {
        /// However the bytes are cut up, the same frames come out.
        #[test]
        fn cuts_do_not_matter(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6),
            chatter in "[a-z \n]{0,30}",
            cuts in prop::collection::vec(1_usize..30, 1..80),
        ) {
            let mut bytes = chatter.into_bytes();
            for body in &bodies {
                bytes.extend(frame(FrameKind::Result, body));
            }
            let (mut decoder, mut frames, mut cuts) = (Decoder::default(), Vec::new(), cuts.iter().cycle());
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                decoder.push(now);
                frames.extend(all(&mut decoder).unwrap());
                rest = later;
            }
            prop_assert_eq!(frames.into_iter().map(|f| f.body).collect::<Vec<_>>(), bodies);
        }

        #[test]
        fn garbage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.push(&[b"PLMS", &bytes[..]].concat());
            let _ = all(&mut decoder);
        }
    }
}
