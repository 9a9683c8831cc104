//! What the agent in a machine says: frames, as `guest/agent.c` describes them. Untrusted: a
//! machine may be made to run anything.

/// Bytes that a frame carries at most.
pub(super) const MOST: usize = 8192;

/// Type and length.
const HEAD: usize = 3;

/// In each stream at most so many bytes are under way that its reader has not acknowledged.
pub(super) const WINDOW: usize = 128 << 10;

/// Zeros that complete whatever frame was cut short before: they go before the first of a session.
pub(super) const COMPLETE: [u8; HEAD + MOST] = [0; HEAD + MOST];

/// A frame of the agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// It has been started: the machine is not the one that it was.
    Began,
    /// The session with this number has begun.
    Welcome([u8; 8]),
    /// Output of the command.
    Output(Vec<u8>),
    /// What it wrote to standard error.
    Errors(Vec<u8>),
    /// So many bytes of input have been taken by the command.
    Taken(u32),
    /// The command reads no more input.
    Deaf,
    /// The command has ended.
    Ended(Ending),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With this exit code.
    Code(u8),
    /// By this signal.
    Signal(u8),
    /// It could not be started, for this error number of the system.
    NotStarted(u8),
}

/// What is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// Takes bytes as they come, gives frames. Holds no more than what was last taken and a frame.
#[derive(Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    at: usize,
}

impl Decoder {
    /// Takes more.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Drops all up to the beginning of the session with this number, which was cut off somewhere
    /// in the one before. Returns whether it was there.
    pub(super) fn begin(&mut self, number: [u8; 8]) -> bool {
        let sign = encode(b'W', &number);
        let found = self.bytes.windows(sign.len()).position(|window| window == sign);
        self.at = found.map_or(self.bytes.len().saturating_sub(sign.len()), |at| at + sign.len());
        found.is_some()
    }

    /// The next frame, if the whole of it is there.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Nonsense> {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| *b != 0).unwrap_or(rest.len());
        let Some((&[kind, high, low], rest)) = self.bytes[self.at..].split_first_chunk() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MOST {
            return Err(Nonsense);
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = decode(kind, body)?;
        self.at += HEAD + length;
        Ok(Some(frame))
    }
}

fn decode(kind: u8, body: &[u8]) -> Result<Frame, Nonsense> {
    Ok(match (kind, body) {
        (b'B', []) => Frame::Began,
        (b'W', _) => Frame::Welcome(body.try_into().map_err(|_| Nonsense)?),
        (b'O', _) => Frame::Output(body.to_vec()),
        (b'R', _) => Frame::Errors(body.to_vec()),
        (b'a', _) => Frame::Taken(u32::from_be_bytes(body.try_into().map_err(|_| Nonsense)?)),
        (b'P', []) => Frame::Deaf,
        (b'X', &[code, 1]) => Frame::Ended(Ending::Code(code)),
        (b'X', &[signal, 2]) => Frame::Ended(Ending::Signal(signal)),
        (b'X', &[error, 3]) => Frame::Ended(Ending::NotStarted(error)),
        _ => return Err(Nonsense),
    })
}

/// A frame for the agent; `body` has at most [`MOST`] bytes.
pub(super) fn encode(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<Frame>, Nonsense> {
        let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.take(piece);
            while let Some(frame) = decoder.next()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    #[test]
    fn frames_are_what_the_agent_says() {
        let said =
            b"\0\0B\0\0W\0\x0812345678O\0\x02hiR\0\x01!a\0\x04\0\0\x01\0P\0\0X\0\x02\x07\x01";
        let expected = [
            Frame::Began,
            Frame::Welcome(*b"12345678"),
            Frame::Output(b"hi".to_vec()),
            Frame::Errors(b"!".to_vec()),
            Frame::Taken(256),
            Frame::Deaf,
            Frame::Ended(Ending::Code(7)),
        ];
        assert_eq!(all(&[said]).unwrap(), expected);
        let bytes: Vec<&[u8]> = said.chunks(1).collect();
        assert_eq!(all(&bytes).unwrap(), expected);
    }

    #[test]
    fn what_is_cut_short_is_completed_by_zeros_and_ends_no_command() {
        let whole = encode(b'X', &[7, 1]);
        for cut in 1..whole.len() {
            let said = [&whole[..cut], &COMPLETE, &encode(b'B', &[])].concat();
            let frames = all(&[&said]);
            assert!(
                frames.as_ref().map_or(true, |f| !f.iter().any(|f| matches!(f, Frame::Ended(_)))),
                "{cut}: {frames:?}"
            );
        }
        let output = [&encode(b'O', &[1; 600])[..300], &COMPLETE, &encode(b'B', &[])].concat();
        assert_eq!(all(&[&output]).unwrap().last(), Some(&Frame::Began));
    }

    #[test]
    fn a_session_begins_behind_what_is_left_of_the_one_before() {
        let mut decoder = Decoder::default();
        decoder.take(b"rubbish W\0\x08123");
        assert!(!decoder.begin(*b"12345678"));
        decoder.take(b"45678P\0\0");
        assert!(decoder.begin(*b"12345678"));
        assert_eq!(decoder.next(), Ok(Some(Frame::Deaf)));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for nonsense in [&b"?\0\0"[..], b"O\x20\x01", b"X\0\x02\0\0", b"a\0\x01\0", b"B\0\x01."] {
            assert_eq!(all(&[nonsense]), Err(Nonsense), "{nonsense:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_hoard(pieces in prop::collection::vec(
            prop::collection::vec(any::<u8>(), 0..400), 0..40,
        )) {
            let mut decoder = Decoder::default();
            for piece in &pieces {
                decoder.take(piece);
                while let Ok(Some(_)) = decoder.next() {}
                if decoder.next().is_err() {
                    return Ok(());
                }
                prop_assert!(decoder.bytes.len() <= HEAD + MOST + 400);
            }
        }
    }
}
