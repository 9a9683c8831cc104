//! WRITE and COMMIT.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{CommitOk, Reply, WriteOk};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(reply) = decode_all::<Reply<WriteOk>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(reply) = decode_all::<Reply<CommitOk>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
});
