//! What the pipe of share lists says: fragments of a remote procedure call (C706, chapter 12), and
//! the list in them. The first byte is the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((piece, said)) = data.split_first() else { return };
    plimsoll_smb::fuzzing::pipe(said, usize::from(*piece));
});
