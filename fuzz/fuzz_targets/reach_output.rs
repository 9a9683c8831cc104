//! What comes from a host in place of a command's output, or before it: greetings, complaints of
//! ssh, noise. The first byte is an exit code, the second the length of pieces; a NUL parts
//! output from errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_reach::fuzzing;

fuzz_target!(|data: &[u8]| {
    let [status, piece, text @ ..] = data else { return };
    let half = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    let (output, errors) = text.split_at(half);
    fuzzing::greeting(text, usize::from(*piece));
    let status = (*status != 1).then_some(i32::from(*status));
    fuzzing::complaint(status, output, errors);
});
