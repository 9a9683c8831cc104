//! MNT and EXPORT: handles of at most 64 bytes, chains that end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::mount::{Exports, MountReply};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(reply) = decode_all::<MountReply>(data) {
        if let MountReply(Ok(root)) = reply {
            assert!(root.as_bytes().len() <= 64);
        }
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(exports) = decode_all::<Exports>(data) {
        assert!(exports.0.len() * 12 <= data.len());
    }
});
