//! The command-line clients of libnfs, and content that shows misplaced bytes.

use plimsoll_process::child;
use std::process::Command;

/// So many bytes in which every stretch differs from its neighbours.
pub fn pattern(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}

/// Runs a tool; what it said if it failed. The tools of libnfs end with status 0 after some
/// errors, so anything they complain about counts.
pub fn tool(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && said.is_empty() {
        Ok(output.stdout)
    } else {
        Err(format!("{command:?} {}: {said}", output.status))
    }
}

/// The content of a file on a server.
pub fn nfs_cat(url: &str) -> Result<Vec<u8>, String> {
    tool(child::command("nfs-cat").arg(url))
}

/// Copies a file to, from or between servers.
pub fn nfs_cp(from: &str, to: &str) -> Result<(), String> {
    tool(child::command("nfs-cp").args([from, to])).map(drop)
}
