//! What a host's shell prints of itself, and what coremark, openssl and cryptsetup print.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_device::fuzzing::shell(&String::from_utf8_lossy(data)));
