//! Sample tables of an MP4 file in any state.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_load::film_file;
use std::io::Cursor;

fuzz_target!(|data: &[u8]| {
    let _ = film_file(Cursor::new(data));
    let file = [&b"\0\0\0\x08ftyp"[..], data].concat();
    if let Ok(film) = film_file(Cursor::new(&file)) {
        assert!(film.seconds > 0.0 && film.mean_rate().is_finite());
        assert!(film.second_bytes.len() <= 86_400);
    }
});
