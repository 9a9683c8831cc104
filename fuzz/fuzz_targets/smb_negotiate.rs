//! NEGOTIATE: dialect, limits and contexts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| smb::fuzzing::negotiate(data));
