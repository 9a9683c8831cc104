//! Lab files, perhaps a stranger's.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_lab::fuzzing::plan(&String::from_utf8_lossy(data)));
