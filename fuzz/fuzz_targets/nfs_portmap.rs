//! GETPORT.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::portmap::{Answer, Query};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(answer) = decode_all::<Answer>(data) {
        assert_ne!(answer.0, Some(0));
        assert_eq!(encode_all(&answer), data);
    }
    if let Ok(query) = decode_all::<Query>(data) {
        assert_eq!(encode_all(&query)[..12], data[..12]);
    }
});
