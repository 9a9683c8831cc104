//! What two ends of a path say of a trial: the sections of the probe's verb `net`, and their figures.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_net::fuzzing::sections(data));
