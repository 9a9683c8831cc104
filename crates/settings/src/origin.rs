//! Which host an entry of a journal is of: the start of a kernel, and the namespaces of it.
//!
//! A name does not tell: `local` is another host in a container, and the hosts of a namespace lab
//! share this machine's kernel and its disk.

use super::command;
use plimsoll_model::Failure;
use plimsoll_reach::Reach;
use serde::{Deserialize, Serialize};
use std::fs;

/// What of a host a setting belongs to: where else it is the same setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The kernel, whatever namespaces the host consists of.
    Kernel,
    /// The network namespace.
    Network,
    /// The network and the mount namespace: files and servers of the host.
    Host,
}

/// A host as its kernel has it. What a kernel does not say is empty, and equals everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The boot id: which start of which kernel.
    pub boot: String,
    /// The network namespace, as in `net:[4026531840]`.
    pub network: String,
    /// The mount namespace, as in `mnt:[4026531841]`.
    pub mounts: String,
}

/// Prints an [`Origin`], a line for each of its parts.
pub(super) const PRINT: &str = "
for what in 'cat /proc/sys/kernel/random/boot_id' 'readlink /proc/self/ns/net' 'readlink /proc/self/ns/mnt'; do
    said=$($what 2>/dev/null); echo \"$said\"
done
";

/// Number of lines of [`PRINT`].
pub(super) const LINES: usize = 3;

impl Origin {
    /// Asks a host.
    pub fn read(host: &dyn Reach) -> Result<Origin, Failure> {
        let text = command(host, "identify the host", PRINT, b"")?;
        Ok(Origin::from_lines(text.lines()))
    }

    /// From what [`PRINT`] printed.
    pub(super) fn from_lines<'a>(mut lines: impl Iterator<Item = &'a str>) -> Origin {
        let mut part = || {
            let line = lines.next().unwrap_or_default();
            if is_sound(line) { line.to_owned() } else { String::new() }
        };
        Origin { boot: part(), network: part(), mounts: part() }
    }

    /// Whether a setting that was found here is one of the host `now`. After another start of the
    /// kernel namespaces do not compare: what was on a disk still is to be undone.
    pub fn is(&self, now: &Origin, scope: Scope) -> bool {
        let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        if scope == Scope::Kernel || !same(&self.boot, &now.boot) {
            return true;
        }
        let network = same(&self.network, &now.network);
        network && (scope == Scope::Network || same(&self.mounts, &now.mounts))
    }

    /// What keeps settings of two hosts on one disk apart.
    pub(super) fn key(&self, scope: Scope) -> &str {
        if scope == Scope::Kernel { "" } else { &self.network }
    }

    /// Whether its network namespace is gone from this machine for certain, and with it every
    /// setting that belonged to it.
    pub(super) fn is_gone_here(&self) -> bool {
        let all_seen = fs::read_link("/proc/self/ns/pid")
            .is_ok_and(|space| space.to_string_lossy() == FIRST_PROCESSES);
        if self.boot != plimsoll_process::boot() || self.network.is_empty() || !all_seen {
            return false;
        }
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let processes = processes.flatten().map(|process| process.path());
        for process in processes.filter(|path| path.join("ns").is_dir()) {
            match fs::read_link(process.join("ns/net")) {
                Ok(network) if network.to_string_lossy() == self.network => return false,
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return false,
                _ => {}
            }
        }
        // One without a process may be held by a mount, as `ip netns` does.
        let mounts = fs::read_to_string("/proc/self/mountinfo");
        mounts.is_ok_and(|mounts| !mounts.contains(&self.network))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match [&self.boot, &self.network, &self.mounts].into_iter().all(|part| is_sound(part)) {
            true => Ok(()),
            false => Err("it names an invalid host".into()),
        }
    }
}

/// The process namespace that a kernel starts with (PROC_PID_INIT_INO): it has all processes.
const FIRST_PROCESSES: &str = "pid:[4026531836]";

fn is_sound(part: &str) -> bool {
    part.len() <= 64 && part.chars().all(|c| c.is_ascii_alphanumeric() || "-:[]".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;

    fn origin(boot: &str, network: &str, mounts: &str) -> Origin {
        Origin { boot: boot.into(), network: network.into(), mounts: mounts.into() }
    }

    #[test]
    fn hosts_of_one_kernel_differ_by_what_their_settings_belong_to() {
        use Scope::{Host, Kernel, Network};
        let found = origin("b", "n", "m");
        for (now, network, host) in [
            (origin("b", "n", "m"), true, true),
            (origin("b", "n", "other"), true, false),
            (origin("b", "other", "m"), false, false),
            (origin("other", "other", "other"), true, true),
            (origin("b", "", ""), true, true),
        ] {
            assert!(found.is(&now, Kernel) && now.is(&found, Kernel));
            assert_eq!((found.is(&now, Network), now.is(&found, Network)), (network, network));
            assert_eq!((found.is(&now, Host), now.is(&found, Host)), (host, host), "{now:?}");
        }
        assert_eq!(found.key(Kernel), "");
        assert_eq!((found.key(Network), found.key(Host)), ("n", "n"));
    }

    #[test]
    fn this_host_says_which_it_is_and_is_not_gone() {
        let this = Origin::read(&Local).unwrap();
        assert_eq!(this.boot, plimsoll_process::boot());
        let network = fs::read_link("/proc/self/ns/net").unwrap();
        assert_eq!(this.network, network.to_string_lossy());
        assert!(this.mounts.starts_with("mnt:["), "{this:?}");
        this.check().unwrap();
        assert!(!this.is_gone_here());
        assert_eq!(Origin::from_lines(["\x1b[2J", "a b", "net:[1]"].into_iter()).network, "");
        assert!(origin("b\n", "", "").check().is_err());
    }
}
