//! A stage whose parameters are a user's own, to be found and put back.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use plimsoll_testkit::Stage;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Parameters of a network namespace with what a test finds there: none is the kernel's default.
pub const FOUND: [(&str, &str, &str); 2] =
    [("tcp_keepalive_time", "4321", "7200"), ("tcp_wmem", "5000\t17000\t5000000", "4096\t16384")];

/// Where a parameter is.
pub fn parameter(name: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv4").join(name)
}

/// What a parameter is.
pub fn value(name: &str) -> String {
    fs::read_to_string(parameter(name)).unwrap().trim_end().to_owned()
}

/// What all parameters are.
pub fn values() -> BTreeMap<&'static str, String> {
    FOUND.into_iter().map(|(name, _, _)| (name, value(name))).collect()
}

/// A directory of the disk in the place of this machine's `/var/lib`, on a stage.
pub struct OwnPlace {
    _directory: tempfile::TempDir,
}

impl Drop for OwnPlace {
    fn drop(&mut self) {
        let _ = umount2("/var/lib", MntFlags::MNT_DETACH);
    }
}

/// On a stage whose parameters are the user's own, and with them.
pub fn own_settings(_stage: &Stage) -> OwnPlace {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let none = None::<&str>;
    mount(Some(directory.path()), "/var/lib", none, MsFlags::MS_BIND, none).unwrap();
    for (name, found, default) in FOUND {
        assert!(value(name).starts_with(default), "{name}: {}", value(name));
        fs::write(parameter(name), found).unwrap();
        assert_eq!(value(name), found);
    }
    OwnPlace { _directory: directory }
}
