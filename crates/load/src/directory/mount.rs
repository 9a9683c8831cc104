//! How the file system of a directory is mounted.

use std::fs::read_to_string;
use std::os::fd::{AsRawFd, OwnedFd};

/// Options of the mount that this directory is on, the file system's own included, as the kernel
/// has them: what was not said when mounting is there too. `None` where /proc does not tell.
pub(super) fn options(root: &OwnedFd) -> Option<String> {
    // Of this thread, which may be in a mount namespace of its own. The mount's number, not the
    // device's: file systems such as btrfs and NFS have devices of their own for parts of a mount.
    let info = read_to_string(format!("/proc/thread-self/fdinfo/{}", root.as_raw_fd())).ok()?;
    let number = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    options_of(&read_to_string("/proc/thread-self/mountinfo").ok()?, number)
}

/// The options in the line of this mount (proc(5), /proc/pid/mountinfo: fields 1 and 6, and the
/// third after the separator).
fn options_of(mountinfo: &str, number: &str) -> Option<String> {
    let line = mountinfo.lines().find(|line| line.split(' ').next() == Some(number))?;
    let (mount, file_system) = line.split_once(" - ")?;
    let of_mount = mount.split(' ').nth(5)?;
    let of_file_system = file_system.split(' ').nth(2).unwrap_or("");
    let mut options: Vec<&str> = Vec::new();
    for option in of_mount.split(',').chain(of_file_system.split(',')) {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    (!options.is_empty()).then(|| options.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_mount_and_file_system_are_told_once() {
        let info = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro\n\
                    30 27 0:40 / /mnt rw,relatime - nfs4 nas:/a rw,vers=4.2,rsize=1048576\n\
                    31 27 0:41 / /x ro - tmpfs\n";
        assert_eq!(options_of(info, "27").unwrap(), "rw,relatime,errors=remount-ro");
        assert_eq!(options_of(info, "30").unwrap(), "rw,relatime,vers=4.2,rsize=1048576");
        assert_eq!(options_of(info, "31").unwrap(), "ro");
        assert_eq!(options_of(info, "3"), None);
        assert_eq!(options_of("27 nonsense", "27"), None);
    }

    #[test]
    fn this_machine_tells_its_own() {
        let root: OwnedFd = std::fs::File::open("/proc").unwrap().into();
        assert!(options(&root).unwrap().starts_with('r'), "rw or ro");
    }
}
