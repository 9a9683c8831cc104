//! flent's results, packed or not.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    common::import(&format!(
        "{{\"version\": 4, \"metadata\": {{\"HOST\": \"b\"}}, \"x_values\": [0, 1], \"results\": {{{text}"
    ));
    common::import_bytes(data);
});
