//! What QEMU's monitor says: greeting, events, answers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_lab::fuzzing::monitor(data));
