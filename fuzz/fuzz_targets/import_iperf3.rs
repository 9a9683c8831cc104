//! iperf3's JSON: documents and streams of events in any state.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    common::import(&format!("{{\"start\": {{\"test_start\": {{\"protocol\": \"TCP\", {text}"));
    common::import(&text);
});
