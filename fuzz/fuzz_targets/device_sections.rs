//! Sections of the probe's verbs, read into the record of a device: a JSON text a line.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_device::fuzzing::sections(&String::from_utf8_lossy(data)));
