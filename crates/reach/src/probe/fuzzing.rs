//! For fuzz targets.

use super::frame::{Decoder, LONGEST_FROM_PROBE};
use super::message;

/// Everything that a probe may say, in pieces of the first byte's length.
pub fn from_probe(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let mut decoder = Decoder::default();
    for piece in bytes.chunks(usize::from(size) * 16 + 1) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    assert!(frame.body.len() <= LONGEST_FROM_PROBE);
                    let _ = message::decode(&frame);
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().contains(char::is_control));
                    return;
                }
            }
        }
    }
}
