//! Lists of shares, and security tokens by themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    smb::fuzzing::shares(data);
    smb::fuzzing::challenge(data);
});
