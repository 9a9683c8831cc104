//! Entries of undo journals, here and on hosts: what comes through is a setting that can be undone,
//! of nothing else.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    plimsoll_settings::fuzzing::entry(bytes);
    plimsoll_settings::fuzzing::exports(bytes);
    let text = String::from_utf8_lossy(bytes);
    plimsoll_settings::fuzzing::listings(&text);
    plimsoll_settings::fuzzing::factor_request(&text);
});
