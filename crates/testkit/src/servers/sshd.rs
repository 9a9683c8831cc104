//! OpenSSH's server on loopback, with keys, users and login shells of its own, without PAM. Needs
//! [`crate::Need::Sshd`].

mod accounts;
pub(super) mod client;
pub(super) mod daemon;

use crate::stage::Stage;
use crate::{Error, program};
use accounts::Accounts;
use client::Client;
use daemon::Daemon;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

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
    daemon: Option<Daemon>,
    _accounts: Accounts,
}

impl Sshd {
    /// Starts a server on a stage and waits until it serves. Everything it keeps lies on the
    /// stage's own `/run`, its users' homes too.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(_stage: &Stage, config: SshdConfig) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = PathBuf::from(format!("/run/sshd-{number}"));
        // Where sshd keeps its unprivileged part, as Debian builds it.
        for path in [Path::new("/run/sshd"), &directory] {
            fs::create_dir_all(path)
                .map_err(Error::when(format_args!("cannot make {}", path.display())))?;
        }
        let client = Client::make(&directory)?;
        client::write(&directory.join("authorized_keys"), &client.public_key()?)?;
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
        client::write(&file, &text)?;
        let program = program::locate("sshd")?;
        let words = [&program.to_string_lossy(), "-D", "-e", "-f", &file.to_string_lossy()];
        let started =
            Daemon::start(&words, Path::new("/"), &[], &self.log_path(), self.config.port)?;
        self.daemon = Some(started);
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
        self.daemon.as_ref().map(Daemon::processes).unwrap_or_default()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        daemon::log_tail(&self.log_path())
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("sshd.log")
    }
}
