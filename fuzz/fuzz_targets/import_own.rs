//! plimsoll's own JSON: what is read is written again and reads the same.
#![no_main]

#[path = "common/import.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(study) = plimsoll_record::from_json(&text)
        && let Ok(written) = plimsoll_record::to_json(&study)
    {
        assert_eq!(
            plimsoll_record::to_json(&plimsoll_record::from_json(&written).unwrap()).unwrap(),
            written
        );
    }
    common::import(&text);
});
