//! Commands on another host, by the system's OpenSSH client.
//!
//! One connection is made when a host is reached; each command is a further `ssh` that uses it
//! (`ControlPath`). Keys, agents, jump hosts, known hosts and aliases are the user's own: nothing
//! of his configuration is replaced but what would get in the way.

use super::connection::{Connection, NEWS};
use super::process::Process;
use super::{Channel, Output, Reach, complaint, shell};
use plimsoll_model::{Failure, HostName};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The environment variable that names a configuration file for ssh in place of the user's and the
/// system's (`ssh -F`).
pub const CONFIGURATION_VARIABLE: &str = "PLIMSOLL_SSH_CONFIG";

/// How hosts are reached over ssh.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client: a path, or a name to look for in `PATH`.
    pub program: OsString,
    /// A configuration file in place of the user's and the system's.
    pub configuration: Option<PathBuf>,
    /// Whether ssh may ask on the terminal: for a password, a passphrase, or whether a host's key
    /// is right.
    pub may_ask: bool,
    /// How long a login may take, of which half is for taking the connection and exchanging keys;
    /// and how long a command may take to begin there.
    pub patience: Duration,
    /// After so long without any sign of the host, the connection counts as lost. In whole seconds.
    pub silence: Duration,
}

impl Settings {
    /// `ssh`, with the configuration that [`CONFIGURATION_VARIABLE`] names. It asks where there is a
    /// terminal. It gives a login up after 30 s, or after 3 min where somebody types, and a
    /// connection after 30 s of silence: a router at full load is slow to answer.
    pub fn from_environment() -> Settings {
        let may_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
        Settings {
            program: "ssh".into(),
            configuration: std::env::var_os(CONFIGURATION_VARIABLE)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            may_ask,
            patience: Duration::from_secs(if may_ask { 180 } else { 30 }),
            silence: Duration::from_secs(30),
        }
    }
}

/// A host reached over ssh. The connection is closed when this and all its channels are dropped.
pub struct Ssh {
    name: String,
    connection: Arc<Connection>,
}

impl Ssh {
    /// Logs in.
    ///
    /// # Errors
    /// Why not, as far as ssh tells; [`plimsoll_model::Cause::Usage`] for a host that is not reached over ssh.
    pub fn connect(host: &HostName, settings: &Settings) -> Result<Ssh, Failure> {
        let connection = Arc::new(Connection::make(host, settings)?);
        Ok(Ssh { name: host.to_string(), connection })
    }

    fn start(&self, command: &str) -> Result<Talk, Failure> {
        let line = shell::line(command).ok_or_else(|| complaint::nul(&self.name))?;
        let (process, first) = self.connection.start(&line)?;
        Ok(Talk { process, first: first.into(), connection: self.connection.clone() })
    }
}

impl Reach for Ssh {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        self.start(command)?.end(input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Ok(Box::new(self.start(command)?))
    }
}

/// A command under way.
struct Talk {
    // Before the connection, so that it ends before that is closed.
    process: Process,
    /// Output that came with the beginning.
    first: VecDeque<u8>,
    connection: Arc<Connection>,
}

impl Talk {
    fn end(mut self, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        let mut output: Vec<u8> = self.first.into();
        let ended = self.process.end(input, &mut output, Instant::now() + limit);
        let (status, cut) = ended.map_err(|error| {
            let failure = || complaint::not_ended(self.connection.host(), &error, limit);
            self.connection.lost(Duration::ZERO).unwrap_or_else(failure)
        })?;
        let status = match status.code() {
            Some(complaint::OWN_STATUS) | None => match self.connection.lost(NEWS) {
                Some(failure) => return Err(failure),
                None => None,
            },
            status => status,
        };
        Ok(Output { status, output, errors: self.process.said().to_vec(), cut })
    }
}

impl Channel for Talk {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.process.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        if self.first.is_empty() {
            self.process.read(buffer, until)
        } else {
            self.first.read(buffer)
        }
    }

    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        self.end(&[], limit)
    }
}
