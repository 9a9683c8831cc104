//! A place for undo journals of a stage's own.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use plimsoll_testkit::Stage;

/// A directory of the disk in the place of this machine's `/var/lib`, on a stage.
pub struct OwnPlace {
    _directory: tempfile::TempDir,
}

impl OwnPlace {
    /// From now until it is dropped.
    pub fn new(_stage: &Stage) -> OwnPlace {
        let directory =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory of the disk");
        let none = None::<&str>;
        mount(Some(directory.path()), "/var/lib", none, MsFlags::MS_BIND, none).expect("root");
        OwnPlace { _directory: directory }
    }
}

impl Drop for OwnPlace {
    fn drop(&mut self) {
        let _ = umount2("/var/lib", MntFlags::MNT_DETACH);
    }
}
