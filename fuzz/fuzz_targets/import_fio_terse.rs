//! fio's terse lines: fields of any kind and number.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    common::import(&text);
    for version in ["2;rand", "3;fio-3.33;rand", "4;fio-2.1;rand", "5;fio-3.1;rand"] {
        common::import(&format!("{version};0;0;{text}"));
    }
});
