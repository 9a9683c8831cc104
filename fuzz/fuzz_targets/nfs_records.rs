//! Record marking: any stream, in pieces of any size, through a buffer that never grows. The first
//! byte is the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::rpc::RecordBuffer;

const LIMIT: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let Some((size, mut stream)) = data.split_first() else { return };
    let mut buffer = RecordBuffer::new(LIMIT);
    while !stream.is_empty() {
        let remaining = buffer.remaining();
        assert!(!remaining.is_empty(), "nothing remains, and no record");
        let count = (usize::from(*size) + 1).min(remaining.len()).min(stream.len());
        remaining[..count].copy_from_slice(&stream[..count]);
        buffer.filled(count);
        stream = &stream[count..];
        loop {
            match buffer.next_frame() {
                Ok(Some(place)) => assert!(buffer.frame(place).len() <= LIMIT),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
