//! QUERY_DIRECTORY: the listing and each of its names.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_smb::fuzzing::query_directory(data));
