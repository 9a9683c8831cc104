//! What a host answers where a program is deployed on it: its machine, the directory, how the
//! program ended. The first byte is an exit code; a NUL parts output from errors.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [status, text @ ..] = data else { return };
    // Programs begin with zeros too: the last one parts.
    let half = text.iter().rposition(|byte| *byte == 0).unwrap_or(text.len());
    let (output, errors) = text.split_at(half);
    let status = (*status != 1).then_some(i32::from(*status));
    plimsoll_reach::deploy::fuzzing::answers(status, output, errors);
});
