#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plimsoll_remote::protocol::fuzzing::replies(bytes));
