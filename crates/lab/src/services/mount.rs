//! What a host mounts from others by its kernel's clients.

use super::script;
use crate::plan::{FileSystem, Mount, Samba};
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};
use std::net::Ipv4Addr;

/// Loads what mounting takes, which is much for a machine that is emulated.
pub fn prepare(host: &dyn Reach, mounts: &[Mount]) -> Result<(), Failure> {
    let modules_for = |fs, modules| mounts.iter().any(|mount| mount.fs == fs).then_some(modules);
    let wanted =
        [modules_for(FileSystem::Nfs, "nfsv3 nfsv4"), modules_for(FileSystem::Cifs, "cifs")];
    let wanted: Vec<&str> = wanted.into_iter().flatten().collect();
    if wanted.is_empty() {
        return Ok(());
    }
    // What is missing, mounting tells.
    let text = format!("/sbin/modprobe -qa {} || true", wanted.join(" "));
    script(host, "make ready for mounts", &text).map(drop)
}

/// Mounts a share of the host at this address; `samba` is that host's, for user and password.
pub fn mount(
    host: &dyn Reach,
    mount: &Mount,
    server: Ipv4Addr,
    samba: Option<&Samba>,
) -> Result<(), Failure> {
    let at = quote(&mount.at);
    let command = match mount.fs {
        FileSystem::Nfs => {
            let from = quote(&format!("{server}:{}", mount.from.path));
            let options = quote(&nfs_options(&mount.options));
            format!("mount -t nfs -o {options} {from} {at}")
        }
        FileSystem::Cifs => {
            let from = quote(&format!("//{server}/{}", mount.from.path.trim_start_matches('/')));
            let (user, password) = samba.map_or(("", ""), |samba| (&*samba.user, &*samba.password));
            let options = joined(&[&format!("username={user}"), &mount.options]);
            // Not among the options, where a comma would end it and all could read it.
            format!("PASSWD={} mount -t cifs -o {} {from} {at}", quote(password), quote(&options))
        }
    };
    let tried = format!("mount {} at {}", mount.from, mount.at);
    script(host, &tried, &format!("mkdir -p {at}\n{command} </dev/null")).map(drop)
}

/// Version 3 has its locks in a protocol of their own, for which nothing runs here.
fn nfs_options(given: &str) -> String {
    let mut words = given.split(',');
    let three = words.any(|word| matches!(word, "vers=3" | "nfsvers=3" | "v3"));
    let says = given.split(',').any(|word| matches!(word, "lock" | "nolock" | "local_lock"));
    let nolock = if three && !says { "nolock" } else { "" };
    // Nothing stands behind a try that fails: the server is there before its clients are.
    joined(&[given, nolock, if given.contains("retry=") { "" } else { "retry=0" }])
}

fn joined(options: &[&str]) -> String {
    let options: Vec<_> = options.iter().filter(|options| !options.is_empty()).copied().collect();
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_3_is_mounted_without_locks_unless_they_are_asked_for() {
        assert_eq!(nfs_options("vers=3"), "vers=3,nolock,retry=0");
        assert_eq!(nfs_options("vers=3,lock"), "vers=3,lock,retry=0");
        assert_eq!(nfs_options("vers=4.2,retry=1"), "vers=4.2,retry=1");
        assert_eq!(nfs_options(""), "retry=0");
    }
}
