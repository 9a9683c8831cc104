//! netperf's omni output: keys, CSV, columns, and older tables.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    common::import(&format!("MIGRATED TCP STREAM TEST from a () to b ()\n{text}"));
    common::import(&text);
});
