//! READ: data inside the message, never more than asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_smb::fuzzing::read(data));
