//! Frames: the prefix, and the messages strung together behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(prefix) = data.first_chunk() {
        smb::fuzzing::frame(*prefix);
    }
    smb::fuzzing::compound(data);
});
