//! Lease files of run directories, which anybody may have left.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runner::fuzzing::lease(bytes));
