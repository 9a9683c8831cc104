//! The feed of a run of another process, read and shown. The first byte is the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((piece, feed)) = data.split_first() else { return };
    plimsoll_live::fuzzing::feed(feed, usize::from(*piece) * 16);
});
