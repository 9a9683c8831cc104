//! Version 2: attributes, pages of names, STATFS, handles of a fixed length, MNT of version 1. What is
//! taken has the length that RFC 1094 says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::mount::MountReply1;
use plimsoll_nfs::nfs2::{Attributes2, Entries, HANDLE_BYTES, Space, decode_handle};
use plimsoll_nfs::xdr::{Decoder, decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(Attributes2(attributes)) = decode_all(data) {
        assert_eq!(data.len(), 68);
        assert!(attributes.mode <= 0o7777 && attributes.size <= u64::from(u32::MAX));
    }
    if let Ok(Entries(page)) = decode_all(data) {
        // Each has a mark, a number, a length and a cookie.
        assert!(page.entries.len() * 16 + 8 <= data.len());
        assert!(page.entries.iter().all(|entry| entry.name.0.len() <= 255));
    }
    if let Ok(space) = decode_all::<Space>(data) {
        assert_eq!(data.len(), 20);
        assert!((1..=8192).contains(&space.information().read_preferred));
        space.space();
    }
    if let Ok(reply) = decode_all::<MountReply1>(data) {
        if let MountReply1(Ok(root)) = reply {
            assert_eq!(root.as_bytes().len(), HANDLE_BYTES);
        }
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(handle) = decode_handle(&mut Decoder::new(data)) {
        assert_eq!(handle.as_bytes(), &data[..HANDLE_BYTES]);
    }
});
