//! What comes from a virtual machine's serial port: frames of its agent, if it is one. The first
//! byte is the length of pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_lab::vm::fuzzing;

fuzz_target!(|data: &[u8]| {
    let [piece, said @ ..] = data else { return };
    fuzzing::frames(said, usize::from(*piece));
});
