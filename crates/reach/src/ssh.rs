//! Commands on another host, by the system's OpenSSH client.
//!
//! One connection is made when a host is reached; each command is a further `ssh` that uses it
//! (`ControlPath`). Keys, agents, jump hosts, known hosts and aliases are the user's own: nothing
//! of his configuration is replaced but what would get in the way.

use super::connection::{Connection, NEWS, destination};
use super::process::{Group, Process};
use super::{Channel, Output, Reach, complaint, shell};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_process::child;
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

/// Longest time of `ssh -G`, which connects to nothing.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Place of a host in the configuration of ssh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// Name or address to which ssh connects.
    pub hostname: Option<String>,
    /// Jump host or command in between.
    pub proxy: Option<String>,
}

impl Configured {
    /// What `ssh -G` prints of a host.
    ///
    /// # Errors
    /// ssh is not installed, or does not answer.
    pub fn for_host(host: &HostName, settings: &Settings) -> Result<Configured, Failure> {
        let tried = "read the configuration of ssh";
        let failed = |happened: String| {
            let next = "Check the configuration: ssh -G prints it.";
            Failure::new(Cause::Unreachable, tried).on(host).happened(happened).next(next)
        };
        let program = child::find(&settings.program)
            .ok_or_else(|| failed("ssh is not installed on this machine".to_owned()))?;
        let mut command = child::command(&program);
        command.arg("-G").args(destination(host, settings)?).env("LC_ALL", "C");
        let mut process =
            Process::start(&mut command, Group::Own).map_err(|e| failed(e.to_string()))?;
        let mut printed = Vec::new();
        let ended = process.end(&[], &mut printed, Instant::now() + LOOK_UP);
        let (status, _) = ended.map_err(|e| failed(e.to_string()))?;
        match status.success() {
            true => Ok(Configured::parse(&String::from_utf8_lossy(&printed))),
            false => Err(failed(String::from_utf8_lossy(process.said()).trim().to_owned())),
        }
    }

    /// Lines of a keyword and its value.
    fn parse(printed: &str) -> Configured {
        let value = |keyword: &str| {
            let values = printed.lines().filter_map(|line| line.split_once(' '));
            let mut values = values.filter(|(key, _)| key.eq_ignore_ascii_case(keyword));
            values.next().map(|(_, value)| value.trim().to_owned()).filter(|v| !v.is_empty())
        };
        let used = |value: &String| !value.eq_ignore_ascii_case("none");
        Configured {
            hostname: value("hostname"),
            proxy: value("proxyjump").or_else(|| value("proxycommand")).filter(used),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_host_is_seen() {
        let plain = Configured::parse("host nas\nuser root\nhostname 192.168.1.2\nport 22\n");
        assert_eq!(plain.hostname.as_deref(), Some("192.168.1.2"));
        assert_eq!(plain.proxy, None);
        for (line, proxy) in [
            ("proxyjump gate", Some("gate")),
            ("proxycommand nc %h %p", Some("nc %h %p")),
            ("proxycommand none", None),
            ("proxyjump ", None),
        ] {
            let found = Configured::parse(&format!("hostname nas\n{line}\n"));
            assert_eq!(found.proxy.as_deref(), proxy, "{line}");
        }
        assert_eq!(Configured::parse("\u{fffd}\n"), Configured::default());
    }
}
