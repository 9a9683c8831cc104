//! What reads the words of the agent, for fuzz targets. Not part of the interface.

use super::frame::{Decoder, Frame, MOST};

/// What an agent says, in pieces of so many bytes.
///
/// # Panics
/// If a frame carries more than a frame may.
pub fn frames(said: &[u8], piece: usize) {
    let mut decoder = Decoder::default();
    for piece in said.chunks(piece.max(1)) {
        decoder.take(piece);
        loop {
            match decoder.next() {
                Ok(None) => break,
                Ok(Some(Frame::Output(bytes) | Frame::Errors(bytes))) => {
                    assert!(bytes.len() <= MOST);
                }
                Ok(Some(_)) => {}
                Err(_) => return,
            }
        }
    }
}
