//! WRITE, QUERY_INFO and IOCTL: small replies of one shape.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    smb::fuzzing::write(data);
    smb::fuzzing::query_info(data);
    smb::fuzzing::ioctl(data);
});
