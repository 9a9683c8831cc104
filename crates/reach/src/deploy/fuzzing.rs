//! What a host answers where a program is deployed on it, for fuzzing.

use super::remote_dir::ready;
use super::{Ending, HostMachine};
use crate::Output;

/// What machine it is, where the program lies, and how it ended; `status` is an exit code.
///
/// # Panics
/// If a directory is believed that is not the program's own: that is what is looked for.
pub fn answers(status: Option<i32>, output: &[u8], errors: &[u8]) {
    let look = HostMachine::from_answer(output);
    assert!(look.machines.len() <= 3 && !look.words().contains(char::is_control));
    if let Some(directory) = ready(output, "name") {
        assert!(directory.starts_with('/') && directory.ends_with("/name"));
        assert!(!directory.contains(char::is_control));
    }
    let output = Output { status, output: output.to_vec(), errors: errors.to_vec(), cut: false };
    let _ = Ending::from_output(&output);
}
