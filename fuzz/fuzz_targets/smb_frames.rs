//! The pipeline's frame buffer: the frames of a stream are the same in whatever pieces it comes.
//! The first byte is the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_smb::fuzzing::frames;

const LIMIT: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let Some((piece, stream)) = data.split_first() else { return };
    let found = frames(stream, usize::from(*piece), LIMIT);
    assert_eq!(found, frames(stream, usize::MAX, LIMIT));
    for frame in found.into_iter().flatten() {
        assert!(frame.len() <= LIMIT);
        plimsoll_smb::fuzzing::compound(&frame);
    }
});
