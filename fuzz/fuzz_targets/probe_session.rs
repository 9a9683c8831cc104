//! What a host sends where the probe should answer: chatter, frames, JSON, samples.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_reach::probe::fuzzing::from_probe(data));
