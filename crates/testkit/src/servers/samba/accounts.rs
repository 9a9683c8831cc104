//! Users of a server: accounts on the stage, and passwords in the server's own database.

use super::config::User;
use crate::servers::files::write;
use crate::{Error, program};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use plimsoll_process::child;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

const PASSWD: &str = "/etc/passwd";
/// The user ID of the first account made; above what Debian gives to people.
const FIRST_ID: u32 = 64_000;
/// Debian's group without members.
const NOGROUP: u32 = 65_534;

/// The stage's own `/etc/passwd`, with accounts that the machine lacks; dropping it uncovers the
/// machine's. Samba insists that a user has an account.
#[derive(Debug)]
pub(super) struct Accounts;

impl Accounts {
    /// Makes the accounts that are missing, if any are.
    pub(super) fn make(users: &[User], directory: &Path) -> Result<Option<Self>, Error> {
        let mut passwd = fs::read_to_string(PASSWD)
            .map_err(Error::when(format_args!("cannot read {PASSWD}")))?;
        let known = |name: &str| passwd.lines().any(|line| line.split(':').next() == Some(name));
        let missing: Vec<_> = users.iter().filter(|user| !known(&user.name)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        for (id, user) in (FIRST_ID..).zip(missing) {
            let _ = writeln!(passwd, "{}:x:{id}:{NOGROUP}::/nonexistent:/bin/false", user.name);
        }
        let own = directory.join("passwd");
        write(&own, &passwd)?;
        mount(Some(&own), PASSWD, None::<&str>, MsFlags::MS_BIND, None::<&str>)
            .map_err(Error::when(format_args!("cannot mount {} on {PASSWD}", own.display())))?;
        Ok(Some(Self))
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        let _ = umount2(PASSWD, MntFlags::MNT_DETACH);
    }
}

/// Sets a user's password in the database that `smb.conf` of the directory names.
pub(super) fn set_password(user: &User, directory: &Path) -> Result<(), Error> {
    let tried = format!("cannot set the password of {} with smbpasswd", user.name);
    let mut child = child::command(program::locate("smbpasswd")?)
        .arg("-c")
        .arg(directory.join("smb.conf"))
        .args(["-a", "-s", &user.name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::when(&tried))?;
    if let Some(mut input) = child.stdin.take() {
        // Asked for twice. If it ended without reading, what it said tells more than this error.
        let _ = write!(input, "{0}\n{0}\n", user.password);
    }
    let output = child.wait_with_output().map_err(Error::when(&tried))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("{tried} ({}): {}", output.status, said.trim())))
}
