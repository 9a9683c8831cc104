//! The text of perf script of a host. Samples are bounded, and hold each line of the text once at most.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_trace::fuzzing::samples(data));
