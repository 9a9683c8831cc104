//! What a lab has made, as it was written down: bed.json.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_lab::fuzzing::state(&String::from_utf8_lossy(data)));
