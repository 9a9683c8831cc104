//! What the shell on a watched host answers: what it is, then its counters. A NUL parts answers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_watch::fuzzing::answers(data));
