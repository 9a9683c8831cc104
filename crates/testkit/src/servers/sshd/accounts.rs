//! Users of a server, as the stage's own `/etc/passwd` and `/etc/shadow`.

use crate::Error;
use crate::servers::files::write;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

const FILES: [&str; 2] = ["/etc/passwd", "/etc/shadow"];
/// The user ID of the first account made; above what Debian gives to people.
const FIRST_ID: u32 = 64_100;
/// Debian's group without members.
const NOGROUP: u32 = 65_534;

/// Accounts with login shells and homes of their own; root is one of them. Dropping it uncovers
/// the machine's.
#[derive(Debug)]
pub(super) struct Accounts {
    covered: Vec<&'static str>,
}

impl Accounts {
    /// Makes them, with their homes in the directory. No password fits any of them, which
    /// unlike a locked account lets keys in.
    pub(super) fn make(users: &[(String, String)], directory: &Path) -> Result<Self, Error> {
        let machine = fs::read_to_string(FILES[0])
            .map_err(Error::when(format_args!("cannot read {}", FILES[0])))?;
        let (mut passwd, mut shadow) = (String::new(), String::new());
        for ((name, shell), id) in users.iter().zip(FIRST_ID..) {
            let (id, group) = if name == "root" { (0, 0) } else { (id, NOGROUP) };
            let home = home(directory, name);
            fs::create_dir_all(&home)
                .and_then(|()| chown(&home, Some(id), Some(group)))
                .map_err(Error::when(format_args!("cannot make {}", home.display())))?;
            let _ = writeln!(passwd, "{name}:x:{id}:{group}::{}:{shell}", home.display());
            let _ = writeln!(shadow, "{name}:*:19000:0:99999:7:::");
        }
        let taken = |line: &str| users.iter().any(|user| line.split(':').next() == Some(&user.0));
        for line in machine.lines().filter(|line| !taken(line)) {
            let _ = writeln!(passwd, "{line}");
        }
        let mut accounts = Self { covered: Vec::new() };
        for (file, text) in FILES.into_iter().zip([passwd, shadow]) {
            let own = directory.join(Path::new(file).file_name().unwrap_or_default());
            write(&own, &text)?;
            mount(Some(&own), file, None::<&str>, MsFlags::MS_BIND, None::<&str>)
                .map_err(Error::when(format_args!("cannot mount {} on {file}", own.display())))?;
            accounts.covered.push(file);
        }
        Ok(accounts)
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        for file in &self.covered {
            let _ = umount2(*file, MntFlags::MNT_DETACH);
        }
    }
}

/// Where a user's home lies.
pub(super) fn home(directory: &Path, user: &str) -> PathBuf {
    directory.join("home").join(user)
}
