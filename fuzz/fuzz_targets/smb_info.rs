//! WRITE, QUERY_INFO and IOCTL: small replies of one shape.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    plimsoll_smb::fuzzing::write(data);
    plimsoll_smb::fuzzing::query_info(data);
    plimsoll_smb::fuzzing::ioctl(data);
});
