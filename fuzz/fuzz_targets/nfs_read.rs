//! READ: data is borrowed from the reply and never longer than it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{ReadOk, Reply};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(Reply(Ok(ok))) = decode_all::<Reply<ReadOk>>(data) {
        assert!(ok.data.0.len() < data.len());
        assert_eq!(decode_all(&encode_all(&Reply(Ok(ok)))), Ok(Reply(Ok(ok))));
    }
});
