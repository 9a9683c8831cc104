//! What a host serves and mounts: scripts for its shell, the same for every kind of host.

pub mod disk;
pub(super) mod ganesha;
pub mod mount;
pub mod nfsd;
pub mod samba;

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::time::Duration;

/// More than any of this takes, also in an emulated machine on a busy one.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a script that must succeed; what it wrote.
fn script(host: &dyn Reach, tried: &str, script: &str) -> Result<String, Failure> {
    let done = host.run(&format!("set -eu\n{script}"), &[], LIMIT)?;
    if done.status == Some(0) {
        return Ok(String::from_utf8_lossy(&done.output).into_owned());
    }
    let said = String::from_utf8_lossy(&done.errors);
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let shown: String = said
        .unwrap_or("a command failed without a message")
        .chars()
        .filter(|c| !c.is_control())
        .take(300)
        .collect();
    Err(Failure::new(Cause::Unreachable, tried).on(host.name()).happened(shown))
}
