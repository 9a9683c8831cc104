//! Cues of a Matroska file in any state.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_load::film_file;
use std::io::Cursor;

fuzz_target!(|data: &[u8]| {
    // A header, and a segment whose length is not known.
    let file = [&b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\xff"[..], data].concat();
    if let Ok(film) = film_file(Cursor::new(&file)) {
        assert!(film.seconds > 0.0 && film.mean_rate().is_finite());
        assert!(film.second_bytes.len() <= 86_400);
    }
});
