//! OpenSSH's server on loopback, with keys, users and login shells of its own, without PAM. Needs
//! [`crate::Need::Sshd`].

mod accounts;
pub(super) mod client;

use super::files::{make_directory, own_directory, tail, write};
use super::process::{Process, takes_connections};
use crate::stage::Stage;
use crate::{Error, program};
use accounts::Accounts;
use client::Client;
use nix::mount::{MsFlags, mount};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct SshdConfig {
    /// The port it listens on.
    pub port: u16,
    /// Users with their login shells; the first one is in [`Sshd::url`].
    pub users: Vec<(String, String)>,
    /// Further lines of `sshd_config`.
    pub lines: Vec<String>,
}

impl Default for SshdConfig {
    /// Root with `/bin/sh`, on port 20022.
    fn default() -> Self {
        let root = ("root".to_owned(), "/bin/sh".to_owned());
        Self { port: 20_022, users: vec![root], lines: Vec::new() }
    }
}

impl SshdConfig {
    /// Adds a user.
    #[must_use]
    pub fn user(mut self, name: &str, shell: &str) -> Self {
        self.users.push((name.to_owned(), shell.to_owned()));
        self
    }

    /// Adds a line to `sshd_config`.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }
}

/// A running server. Dropping it kills it with everything its users started.
#[derive(Debug)]
pub struct Sshd {
    config: SshdConfig,
    directory: PathBuf,
    client: Client,
    daemon: Option<Process>,
    _accounts: Accounts,
}

impl Sshd {
    /// Starts a server on a stage and waits until it serves. Everything it keeps lies on the
    /// stage's own `/run`, its users' homes too.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(_stage: &Stage, config: SshdConfig) -> Result<Self, Error> {
        let directory = own_directory("sshd")?;
        // Where sshd keeps its unprivileged part, as Debian builds it.
        make_directory(Path::new("/run/sshd"))?;
        let client = Client::make(&directory)?;
        write(&directory.join("authorized_keys"), &client.public_key()?)?;
        let accounts = Accounts::make(&config.users, &directory)?;
        let mut server = Self { config, directory, client, daemon: None, _accounts: accounts };
        server.change_host_key()?;
        let key = server.directory.join("host_key.pub");
        let key = fs::read_to_string(&key)
            .map_err(Error::when(format_args!("cannot read {}", key.display())))?;
        server.client.knows(server.config.port, &key)?;
        Ok(server)
    }

    /// Gives it another host key, of which its client knows nothing, and starts it again.
    pub fn change_host_key(&mut self) -> Result<(), Error> {
        self.kill();
        let key = self.directory.join("host_key");
        let _ = fs::remove_file(&key);
        client::make_key(&key)?;
        self.restart()
    }

    /// Kills it if it runs, and starts it again.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        let file = self.directory.join("sshd_config");
        let text = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {own}/host_key\nPidFile none\n\
             AuthorizedKeysFile {own}/authorized_keys\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             UseDNS no\nLogLevel VERBOSE\n{lines}\n",
            port = self.config.port,
            own = self.directory.display(),
            lines = self.config.lines.join("\n"),
        );
        write(&file, &text)?;
        let program = program::locate("sshd")?;
        let words = [&program.to_string_lossy(), "-D", "-e", "-f", &file.to_string_lossy()];
        let root = Path::new("/");
        self.daemon = Some(host("sshd", &words, root, &[], self.log_path(), self.config.port)?);
        Ok(())
    }

    /// Kills it and every process its users started, as a power cut would.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// The first user on this host, for plimsoll.
    pub fn url(&self) -> String {
        self.url_as(self.config.users.first().map_or("root", |user| &user.0))
    }

    /// A user on this host, for plimsoll.
    pub fn url_as(&self, user: &str) -> String {
        format!("ssh://{user}@127.0.0.1:{}", self.config.port)
    }

    /// Where it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.config.port
    }

    /// A user's home.
    pub fn home(&self, user: &str) -> PathBuf {
        accounts::home(&self.directory, user)
    }

    /// The file for `ssh -F` with which the server lets everybody in.
    pub fn configuration(&self) -> PathBuf {
        self.client.configuration()
    }

    /// One for `ssh -F` with a key that the server does not know.
    pub fn configuration_of_a_stranger(&self) -> PathBuf {
        self.client.stranger()
    }

    /// One for `ssh -F` that knows no host's key.
    pub fn configuration_of_a_newcomer(&self) -> PathBuf {
        self.client.newcomer()
    }

    /// The process ids of the server and of all its users run, the server's own first.
    pub fn processes(&self) -> Vec<u32> {
        self.daemon.as_ref().map(Process::processes).unwrap_or_default()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&[self.log_path()])
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("sshd.log")
    }
}

/// Starts an ssh server with `root` as its file system's root, and waits until this port takes
/// connections. Its `/proc` shows no processes but its own, as on a machine of its own, and file
/// systems that the stage mounts later are seen in it too.
pub(super) fn host(
    name: &'static str,
    words: &[&str],
    root: &Path,
    environment: &[(&str, &str)],
    log: PathBuf,
    port: u16,
) -> Result<Process, Error> {
    let shared = MsFlags::MS_REC | MsFlags::MS_SHARED;
    mount(None::<&str>, root, None::<&str>, shared, None::<&str>)
        .map_err(Error::when(format_args!("cannot share the mounts of {}", root.display())))?;
    let options = ["--mount", "--propagation", "slave", "--mount-proc=/proc", "--root"];
    let namespaces = [&options.map(OsStr::new)[..], &[root.as_os_str()]].concat();
    let process = Process::start(name, &namespaces, words, environment, vec![log])?;
    process.ready(|| takes_connections(port))
}
