//! SESSION_SETUP: the security token, and the challenge in it answered.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_smb::fuzzing::session_setup(data));
