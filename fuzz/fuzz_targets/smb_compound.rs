//! Frames: the prefix, and the messages strung together behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(prefix) = data.first_chunk() {
        plimsoll_smb::fuzzing::frame(*prefix);
    }
    plimsoll_smb::fuzzing::compound(data);
});
