//! What stands in results and calls of version 4: what decodes is what it encodes to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs4::*;
use plimsoll_nfs::xdr::{decode_all, encode_all};

macro_rules! reads_back {
    ($data:ident: $($type:ty),* $(,)?) => { $(
        if let Ok(value) = decode_all::<$type>($data) {
            assert_eq!(decode_all::<$type>(&encode_all(&value)), Ok(value));
        }
    )* };
}

fuzz_target!(|data: &[u8]| {
    reads_back!(data: Attributes, SetAttributes, Bitmap, FileHandle, OpenOk, ExchangeIdOk);
    reads_back!(data: CreateSessionOk, SequenceOk, WriteOk, Registration, RenameOk);
    reads_back!(data: Open<'_>, Lock<'_>, Segment<'_>);
    if let Ok(page) = decode_all::<ReadDirectoryOk<'_>>(data) {
        assert_eq!(decode_all(&encode_all(&page)), Ok(page.clone()));
    }
});
