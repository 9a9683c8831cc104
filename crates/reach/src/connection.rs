//! The one connection to a host that all its commands share.
//!
//! Its `ssh` is a child of this program, not a daemon (`ControlPersist`), and its session over
//! there is a shell that waits for the end of its standard input: so however this program ends,
//! the connection ends with it, and nothing is left here or there.

use super::process::{Group, Process};
use super::socket::SocketDir;
use super::{Settings, complaint, shell};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_process::child;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Probes for life in a stretch of silence that counts as a loss.
const PROBES: u64 = 6;
/// The `ssh` of a command may learn of the connection's end before it shows here.
pub(super) const NEWS: Duration = Duration::from_millis(300);

/// What the connection's own session does on the host: nothing, until its input ends.
const WAIT: &str = "read -r end";
/// Becomes the program it is given, deaf to the terminal: after Ctrl-C the connection is still
/// needed, to put things back. A process group of its own could not ask for a password.
const DEAF: &str = r#"trap "" HUP INT QUIT; exec "$0" "$@""#;

/// A connection; dropping it closes it.
pub(super) struct Connection {
    host: HostName,
    program: PathBuf,
    arguments: Vec<OsString>,
    patience: Duration,
    master: Mutex<Process>,
    /// Where its socket lies; removed after the connection is closed.
    _place: SocketDir,
}

impl Connection {
    /// Connects and logs in.
    pub(super) fn make(host: &HostName, settings: &Settings) -> Result<Connection, Failure> {
        let program =
            child::find(&settings.program).ok_or_else(|| no_client(host, &settings.program))?;
        let place = SocketDir::make().map_err(|error| {
            let next = "Free space there, or name another directory with TMPDIR.";
            let tried = "create a private directory for the socket of ssh";
            Failure::new(Cause::NotPermitted, tried).on(host).happened(error).next(next)
        })?;
        let arguments = arguments(host, settings, place.socket())?;
        let mut command = child::command("/bin/sh");
        let batch = if settings.may_ask { "no" } else { "yes" };
        command
            .args(["-c", DEAF])
            .arg(&program)
            .args([
                "-o",
                "ControlMaster=yes",
                "-o",
                &format!("BatchMode={batch}"),
                "-o",
                "LogLevel=INFO",
            ])
            .args(&arguments)
            .env("LC_ALL", "C");
        let mut master = Process::start(&mut command, Group::Shared)
            .map_err(|error| complaint::not_started(host, &program, &error))?;
        let line = shell::line(WAIT).unwrap_or_default();
        shell::begin(&mut master, &line, Instant::now() + settings.patience)
            .map_err(|instead| complaint::not_let_in(host, &instead))?;
        // Of greetings there is nothing to be reported when the connection is lost.
        master.forget_said();
        let (host, patience, master) = (host.clone(), settings.patience, Mutex::new(master));
        Ok(Connection { host, program, arguments, patience, master, _place: place })
    }

    /// The host it leads to.
    pub(super) fn host(&self) -> &HostName {
        &self.host
    }

    /// Starts a command, and returns it with the first of its output.
    pub(super) fn start(&self, line: &str) -> Result<(Process, Vec<u8>), Failure> {
        // Otherwise ssh would make a new connection.
        if let Some(failure) = self.lost(Duration::ZERO) {
            return Err(failure);
        }
        let mut command = child::command(&self.program);
        command
            .args(["-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"])
            .args(&self.arguments)
            .env("LC_ALL", "C");
        let mut process = Process::start(&mut command, Group::Own)
            .map_err(|error| complaint::not_started(&self.host, &self.program, &error))?;
        match shell::begin(&mut process, line, Instant::now() + self.patience) {
            Ok(first) => Ok((process, first)),
            Err(instead) => {
                Err(self.lost(NEWS).unwrap_or_else(|| complaint::not_begun(&self.host, &instead)))
            }
        }
    }

    /// What ended the connection, if that is seen before the patience is over.
    pub(super) fn lost(&self, patience: Duration) -> Option<Failure> {
        let mut master = self.master.lock().unwrap_or_else(PoisonError::into_inner);
        match master.ended(Instant::now() + patience) {
            Ok(None) => {
                // So that it never waits for space to complain in.
                master.said();
                None
            }
            Ok(Some(_)) | Err(_) => Some(complaint::lost(&self.host, master.said())),
        }
    }
}

/// What every `ssh` of a connection is given: how to reach the host, where the socket is, and what
/// the user's configuration must not change.
fn arguments(
    host: &HostName,
    settings: &Settings,
    socket: &Path,
) -> Result<Vec<OsString>, Failure> {
    let destination = destination(host, settings)?;
    let interval = settings.silence.as_secs().div_ceil(PROBES).max(1);
    let probes = settings.silence.as_secs().div_ceil(interval).max(1);
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&OsStr]| arguments.extend(words.iter().map(|w| w.into()));
    // No terminal there, no X11, no agent: nothing of this machine is handed on.
    add(&["-T", "-x", "-a"].map(OsStr::new));
    add(&["-S".as_ref(), socket.as_os_str()]);
    for option in [
        "ControlPersist=no".to_owned(),
        format!("ConnectTimeout={}", (settings.patience / 2).as_secs().max(1)),
        "ConnectionAttempts=1".to_owned(),
        "NumberOfPasswordPrompts=1".to_owned(),
        format!("ServerAliveInterval={interval}"),
        format!("ServerAliveCountMax={probes}"),
        "ClearAllForwardings=yes".to_owned(),
        "PermitLocalCommand=no".to_owned(),
        "RemoteCommand=none".to_owned(),
    ] {
        add(&["-o", &option].map(OsStr::new));
    }
    arguments.extend(destination);
    arguments.push(shell::WRAPPER.into());
    Ok(arguments)
}

/// How ssh is told which host: its configuration, port, user and name, the last of all options.
pub(super) fn destination(host: &HostName, settings: &Settings) -> Result<Vec<OsString>, Failure> {
    let HostName::Ssh { user, host: name, port } = host else {
        let next = "Give ssh://[user@]host[:port].";
        let happened = "it is not a host for ssh";
        return Err(Failure::new(Cause::Usage, "log in over ssh")
            .on(host)
            .happened(happened)
            .next(next));
    };
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&OsStr]| arguments.extend(words.iter().map(|w| w.into()));
    if let Some(file) = &settings.configuration {
        add(&["-F".as_ref(), file.as_os_str()]);
    }
    if let Some(port) = port {
        add(&["-p", &port.to_string()].map(OsStr::new));
    }
    if let Some(user) = user {
        add(&["-l", user].map(OsStr::new));
    }
    add(&["--", name].map(OsStr::new));
    Ok(arguments)
}

fn no_client(host: &HostName, name: &OsStr) -> Failure {
    let happened = format!("the program {} is not installed on this machine", name.display());
    let next = "Install the OpenSSH client (Debian: openssh-client).";
    Failure::new(Cause::Unreachable, "log in over ssh").on(host).happened(happened).next(next)
}
