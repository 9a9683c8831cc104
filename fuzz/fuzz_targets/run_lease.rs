//! Lease files of run directories, which anybody may have left.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plimsoll_runner::fuzzing::lease(bytes));
