//! fio's JSON: documents in any state, and what is around them.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = format!("{{\"fio version\" : \"fio-3.33\", {}", String::from_utf8_lossy(data));
    common::import(&text);
    common::import(&String::from_utf8_lossy(data));
});
