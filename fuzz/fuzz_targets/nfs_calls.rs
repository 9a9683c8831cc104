//! Calls, as a server would read them: headers, credentials, names and arguments.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{CreateArguments, MakeDirectoryArguments, SetAttributesArguments};
use plimsoll_nfs::rpc::CallHeader;
use plimsoll_nfs::xdr::{decode_all, encode_all};

fuzz_target!(|data: &[u8]| {
    if let Ok(header) = decode_all::<CallHeader>(data) {
        assert_eq!(decode_all(&encode_all(&header)), Ok(header));
    }
    if let Ok(create) = decode_all::<CreateArguments>(data) {
        assert!(!create.place.name.as_str().contains(['/', '\0']));
        assert_eq!(encode_all(&create), data);
    }
    if let Ok(make) = decode_all::<MakeDirectoryArguments>(data) {
        assert_eq!(encode_all(&make), data);
    }
    if let Ok(set) = decode_all::<SetAttributesArguments>(data) {
        assert_eq!(encode_all(&set), data);
    }
});
