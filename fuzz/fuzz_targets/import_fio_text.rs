//! fio's text: reports in any state.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    common::import(&text);
    // Past the first line of a report, where most of the reading is.
    common::import(&format!(
        "a: (g=0): rw=randrw, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\na: (groupid=0, jobs=4): err= 0: pid=1: x\n{text}"
    ));
});
