//! READDIR and READDIRPLUS: no more entries than there are bytes for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{Page, PageEntry, PagePlus, Reply};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(Reply(Ok(page))) = decode_all::<Reply<Page<PageEntry>>>(data) {
        assert!(page.entries.len() * 24 <= data.len());
        assert_eq!(decode_all(&encode_all(&page)), Ok(page));
    }
    if let Ok(Reply(Ok(page))) = decode_all::<Reply<PagePlus>>(data) {
        assert!(page.entries.len() * 32 <= data.len());
        assert_eq!(decode_all(&encode_all(&page)), Ok(page));
    }
});
