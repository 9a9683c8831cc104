//! Lists of shares, and security tokens by themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    plimsoll_smb::fuzzing::shares(data);
    plimsoll_smb::fuzzing::challenge(data);
});
