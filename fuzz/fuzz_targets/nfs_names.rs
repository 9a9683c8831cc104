//! LOOKUP, GETATTR, ACCESS, CREATE, MKDIR, REMOVE and SETATTR.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{AccessOk, Attributes, Changed, CreateOk, LookupOk, Reply};
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(reply) = decode_all::<Reply<LookupOk>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(reply) = decode_all::<Reply<CreateOk>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(reply) = decode_all::<Reply<Attributes>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(reply) = decode_all::<Reply<AccessOk>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
    if let Ok(reply) = decode_all::<Reply<Changed>>(data) {
        assert_eq!(decode_all(&encode_all(&reply)), Ok(reply));
    }
});
