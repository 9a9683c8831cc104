//! Samba, the SMB server of most NAS devices: dialects 2.0.2 to 3.1.1, shares of real
//! directories. Needs [`crate::Need::Samba`], and root.

mod accounts;
mod config;

use super::files::{make_directory, open_to_all, own_directory, tail, write};
use super::process::{Process, takes_connections};
use crate::stage::{Mount, Stage};
use crate::{Error, program};
use accounts::Accounts;
pub use config::{
    Dialect, Encryption, PASSWORD, Place, SambaConfig, SambaShare, Signing, USER, User,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plimsoll_process::child;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a component stays unescaped in a URL (RFC 3986, section 2.3).
const IN_A_COMPONENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A running Samba. Dropping it kills the server with every process it started.
#[derive(Debug)]
pub struct Samba {
    config: SambaConfig,
    directory: PathBuf,
    process: Option<Process>,
    // Last, so that the server is gone before its shares are unmounted.
    _accounts: Option<Accounts>,
    _shares: Vec<Mount>,
}

impl Samba {
    /// Starts a server on a stage and waits until it serves. Everything it keeps lies on the
    /// stage's own `/run`; users that have no account on this machine get one on the stage.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(stage: &Stage, config: SambaConfig) -> Result<Self, Error> {
        let directory = own_directory("samba")?;
        let mut shares = Vec::new();
        for share in &config.shares {
            if let Place::Own { bytes } = share.place {
                shares.push(stage.tmpfs(share.path(), bytes)?);
                open_to_all(&share.path())?;
            }
        }
        make_directories(&directory)?;
        let accounts = Accounts::make(&config.users, &directory)?;
        Self::with(config, directory, accounts, shares)
    }

    /// Starts a server without a stage, on this machine's own loopback: for benchmarks. It keeps
    /// its things in `directory`. Shares must be existing directories, users must have accounts.
    ///
    /// # Errors
    /// As [`Samba::start`], and if a share would need a stage.
    pub fn start_in(directory: impl Into<PathBuf>, config: SambaConfig) -> Result<Self, Error> {
        if let Some(share) = config.shares.iter().find(|s| matches!(s.place, Place::Own { .. })) {
            let what = "wants a file system of its own, which takes a stage";
            return Err(Error::new(format!("the share {} {what}", share.name)));
        }
        let directory = directory.into();
        make_directories(&directory)?;
        Self::with(config, directory, None, Vec::new())
    }

    fn with(
        config: SambaConfig,
        directory: PathBuf,
        accounts: Option<Accounts>,
        shares: Vec<Mount>,
    ) -> Result<Self, Error> {
        let mut server =
            Self { config, directory, process: None, _accounts: accounts, _shares: shares };
        write(&server.configuration(), &server.config.text(&server.directory))?;
        for user in &server.config.users {
            accounts::set_password(user, &server.directory)?;
        }
        server.launch()?;
        Ok(server)
    }

    fn launch(&mut self) -> Result<(), Error> {
        let (program, configuration) = (program::locate("smbd")?, self.configuration());
        let options = ["--foreground", "--no-process-group", "--configfile"].map(Path::new);
        let words = [&[&*program][..], &options, &[&configuration]].concat();
        let process = Process::start("smbd", &[], &words, &[], self.logs())?;
        self.process = Some(process.ready(|| takes_connections(self.config.port))?);
        Ok(())
    }

    /// Stops it in an orderly way (SIGTERM), which takes a second or two.
    pub fn stop(&mut self) -> Result<(), Error> {
        match self.process.take() {
            Some(process) => process.terminate(),
            None => Ok(()),
        }
    }

    /// Kills it and every process it started (SIGKILL), as a power cut would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Kills it if it runs, and starts it again with the same shares. Files stay.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        self.launch()
    }

    /// Makes it fall silent (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) -> Result<(), Error> {
        self.running()?.freeze()
    }

    /// Lets it go on after [`Samba::freeze`].
    pub fn thaw(&self) -> Result<(), Error> {
        self.running()?.thaw();
        Ok(())
    }

    fn running(&self) -> Result<&Process, Error> {
        self.process.as_ref().ok_or_else(|| Error::new("samba does not run"))
    }

    /// The process id of `smbd` itself, while it runs. Its work is done by other processes, one a
    /// connection: see [`Samba::processes`].
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref()?.id()
    }

    /// The process ids of everything it runs, `smbd` itself first; none while it does not run.
    pub fn processes(&self) -> Vec<u32> {
        self.process.as_ref().map(Process::processes).unwrap_or_default()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&self.logs())
    }

    fn logs(&self) -> Vec<PathBuf> {
        ["smbd.out", "smbd.log"].map(|name| self.directory.join(name)).into()
    }

    /// Where the files of a share lie; `None` for an unknown one.
    pub fn directory(&self, share: &str) -> Option<PathBuf> {
        self.config.shares.iter().find(|s| s.name == share).map(SambaShare::path)
    }

    /// The port of SMB.
    pub fn port(&self) -> u16 {
        self.config.port
    }

    /// Its `smb.conf`.
    pub fn configuration(&self) -> PathBuf {
        self.directory.join("smb.conf")
    }

    /// The URL of a share for plimsoll, with the first user's name; the password is not in it.
    /// An unknown share gives a URL of one that does not exist, which tests of wrong names want.
    pub fn url(&self, share: &str) -> String {
        let user = self.config.users.first().map(|user| format!("{}@", escaped(&user.name)));
        self.url_as(&user.unwrap_or_default(), share)
    }

    /// The URL of a share for plimsoll without a user: as a guest.
    pub fn guest_url(&self, share: &str) -> String {
        self.url_as("", share)
    }

    fn url_as(&self, user: &str, share: &str) -> String {
        format!("smb://{user}127.0.0.1:{}/{}", self.config.port, escaped(share))
    }

    /// Samba's own client on a share as the first user, ready for options and commands (`-c`).
    /// Needs [`crate::Need::Smbclient`].
    pub fn smbclient(&self, share: &str) -> Result<Command, Error> {
        let mut command = smbclient(self.config.port, share)?;
        command.arg("-s").arg(self.configuration());
        match self.config.users.first() {
            Some(user) => command.arg("-U").arg(&user.name).env("PASSWD", &user.password),
            None => command.arg("-N"),
        };
        Ok(command)
    }
}

/// `smbclient` on a share of this port's server; the password is taken from the environment
/// variable `PASSWD`.
pub(super) fn smbclient(port: u16, share: &str) -> Result<Command, Error> {
    let mut command = child::command(program::locate("smbclient")?);
    command.arg(format!("//127.0.0.1/{share}")).arg("-p").arg(port.to_string());
    Ok(command)
}

fn escaped(component: &str) -> String {
    utf8_percent_encode(component, IN_A_COMPONENT).to_string()
}

fn make_directories(directory: &Path) -> Result<(), Error> {
    for name in ["private", "state", "cache", "lock", "pid", "ncalrpc"] {
        make_directory(&directory.join(name))?;
    }
    // smbd insists on it (its locks are open to the processes of all users).
    let lock = directory.join("lock");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o755))
        .map_err(Error::when(format_args!("cannot set the permissions of {}", lock.display())))
}
