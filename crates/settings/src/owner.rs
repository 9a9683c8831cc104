//! Which run an entry of a journal belongs to, and whether that run is alive.

use plimsoll_process::{ProcessId, space};
use serde::{Deserialize, Serialize};
use std::fs;

/// A run by its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The machine it runs on: a digest of its machine-id, else its name.
    pub machine: String,
    /// One boot and one process-id namespace: process numbers compare only within.
    pub space: String,
    /// Its number.
    pub process: u32,
    /// When it was started, in clock ticks since boot: tells a reused number apart.
    pub started: u64,
}

/// What is known of the process of an [`Owner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// It runs.
    Alive,
    /// It is gone.
    Dead,
    /// It is or was on another machine, or in another container of this one.
    Unknown,
}

/// Longest text in an owner, in bytes.
const LONGEST: usize = 128;

impl Owner {
    /// This process.
    pub fn this_process() -> Owner {
        let ProcessId { pid: process, started } = ProcessId::this();
        Owner { machine: machine(), space: space(), process, started }
    }

    /// Whether it is alive, as far as this process can tell.
    pub fn process(&self) -> Process {
        if self.space == space() {
            let process = ProcessId { pid: self.process, started: self.started };
            return if process.alive() { Process::Alive } else { Process::Dead };
        }
        let boot = |space: &str| space.split(' ').next().unwrap_or_default().to_owned();
        match self.machine == machine() && boot(&self.space) != boot(&space()) {
            true => Process::Dead,
            false => Process::Unknown,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let sound = |text: &String| text.len() <= LONGEST && !text.contains(char::is_control);
        match [&self.machine, &self.space].into_iter().all(sound) {
            true => Ok(()),
            false => Err("its owner is invalid".into()),
        }
    }
}

fn machine() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    match id.trim() {
        "" => nix::sys::utsname::uname()
            .map(|name| name.nodename().to_string_lossy().chars().take(64).collect())
            .unwrap_or_default(),
        // The id itself is not for others to see (machine-id(5)).
        id => format!("{:016x}", super::entry::digest(&["plimsoll", id])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_distinguished_from_a_later_one_and_from_what_cannot_be_seen() {
        let this = Owner::this_process();
        assert_eq!(this.process(), Process::Alive);
        this.check().unwrap();
        let reused = Owner { started: this.started + 1, ..this.clone() };
        assert_eq!(reused.process(), Process::Dead);
        let before = Owner { space: "an-earlier-boot pid:[1]".into(), ..this.clone() };
        assert_eq!(before.process(), Process::Dead);
        let boot = this.space.split(' ').next().unwrap();
        let container = Owner { space: format!("{boot} pid:[1]"), ..this.clone() };
        assert_eq!(container.process(), Process::Unknown);
        let other = Owner { machine: "another".into(), ..before };
        assert_eq!(other.process(), Process::Unknown);
    }
}
