//! RPC replies: refusals of all kinds, verifiers, results.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::rpc::open_reply;

fuzz_target!(|data: &[u8]| {
    if let Ok((xid, outcome)) = open_reply(data) {
        assert_eq!(xid.to_be_bytes(), data[..4]);
        match outcome {
            Ok(results) => assert!(results.remaining() < data.len()),
            Err(rejection) => assert!(!rejection.to_string().is_empty()),
        }
    }
});
