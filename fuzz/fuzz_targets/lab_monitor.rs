//! What QEMU's monitor says: greeting, events, answers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| lab::bed::fuzzing::monitor(data));
