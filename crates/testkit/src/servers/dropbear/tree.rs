//! The file system of a host with BusyBox alone.

use crate::servers::files::write;
use crate::{Error, program};
use nix::mount::{MsFlags, mount};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const DIRECTORIES: [&str; 10] =
    ["bin", "sbin", "dev", "etc", "proc", "root/.ssh", "sys", "tmp", "usr/bin", "var"];
const DEVICES: [&str; 4] = ["null", "zero", "random", "urandom"];

/// Fills a root directory: BusyBox under all its names, a few devices, `/sys`, one user.
pub(super) fn fill(root: &Path) -> Result<(), Error> {
    for name in DIRECTORIES {
        let path = root.join(name);
        fs::create_dir_all(&path)
            .map_err(Error::when(format_args!("cannot make {}", path.display())))?;
    }
    for (name, mode) in [("tmp", 0o1777), ("root", 0o700), ("root/.ssh", 0o700)] {
        set_mode(&root.join(name), mode)?;
    }
    copy(&program::locate("busybox")?, &root.join("bin/busybox"))?;
    // With their places, as in "usr/bin/awk".
    for applet in program::run("busybox", &["--list-full"])?.lines() {
        let name = applet.rsplit('/').next().unwrap_or_default();
        let place = if applet.contains("sbin/") { "sbin" } else { "bin" };
        if name != "busybox" {
            let link = root.join(place).join(name);
            symlink("/bin/busybox", &link)
                .map_err(Error::when(format_args!("cannot make {}", link.display())))?;
        }
    }
    for name in DEVICES {
        let place = root.join("dev").join(name);
        File::create(&place)
            .map_err(Error::when(format_args!("cannot make {}", place.display())))?;
        bind(&Path::new("/dev").join(name), &place)?;
    }
    mount(Some("sysfs"), &root.join("sys"), Some("sysfs"), MsFlags::empty(), None::<&str>)
        .map_err(Error::when("cannot mount /sys for a host"))?;
    write(&root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
    write(&root.join("etc/group"), "root:x:0:\n")
}

/// Brings a program with the libraries it wants into a directory of the root, its loader to where
/// it wants that.
pub(super) fn bring_program(program: &Path, root: &Path, directory: &str) -> Result<(), Error> {
    let own = root.join(directory.trim_start_matches('/'));
    fs::create_dir_all(&own).map_err(Error::when(format_args!("cannot make {}", own.display())))?;
    copy(program, &own.join(program.file_name().unwrap_or_default()))?;
    // "libz.so.1 => /lib/libz.so.1 (0x…)" for a library, "/lib64/ld-linux.so.2 (0x…)" for the
    // loader.
    for line in program::run("ldd", &[&program.to_string_lossy()])?.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [name, "=>", path, ..] => copy(Path::new(path), &own.join(name))?,
            [path, ..] if path.starts_with('/') => {
                let place = root.join(path.trim_start_matches('/'));
                let parent = place.parent().unwrap_or(root);
                fs::create_dir_all(parent)
                    .map_err(Error::when(format_args!("cannot make {}", parent.display())))?;
                copy(Path::new(path), &place)?;
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), Error> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(Error::when(format_args!("cannot set the permissions of {}", path.display())))
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map(drop).map_err(Error::when(format_args!(
        "cannot copy {} to {}",
        from.display(),
        to.display()
    )))
}

fn bind(from: &Path, to: &Path) -> Result<(), Error> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(Error::when(format_args!("cannot mount {} on {}", from.display(), to.display())))
}
