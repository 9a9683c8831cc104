//! NEGOTIATE: dialect, limits and contexts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_smb::fuzzing::negotiate(data));
