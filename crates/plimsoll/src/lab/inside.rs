//! Commands and shells on hosts of labs.

use super::terminal::Terminal;
use crate::output;
use crate::signals::Signals;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_lab::{AgentPort, Entrance, Heard, Namespaces};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_process::child;
use plimsoll_reach::quote;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use std::io::{Read, Write, stdin, stdout};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// What a shell is on a host: the better one where it is there.
const SHELL: &str = "command -v bash >/dev/null && exec bash; exec sh";

/// Becomes its arguments. Daemons lie where the search path of ordinary users does not lead.
const BECOME: &str = r#"PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; exec "$@""#;

/// How often is looked at both what comes in and what goes out.
const TURN: Duration = Duration::from_millis(10);

/// The exit code of a program whose output nobody reads (SIGPIPE), as shells have it.
const BROKEN_PIPE: u8 = 128 + 13;

/// Runs a command there with this program's input and output; its exit code.
pub fn exec(name: &str, command: &[String]) -> Result<u8, Failure> {
    match entrance(name)? {
        Entrance::Namespaces(namespaces) => start_in(&namespaces, command),
        Entrance::Agent(agent) => {
            let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
            relay(&agent, &quoted.join(" "), None)
        }
    }
}

/// A shell there, with a terminal if this program has one.
pub fn shell(name: &str) -> Result<u8, Failure> {
    match entrance(name)? {
        Entrance::Namespaces(namespaces) => {
            start_in(&namespaces, &["/bin/sh", "-c", SHELL].map(str::to_owned))
        }
        Entrance::Agent(agent) => match Terminal::of_this_program()? {
            Some(terminal) => {
                let kind = quote(&std::env::var("TERM").unwrap_or_else(|_| "dumb".to_owned()));
                relay(&agent, &format!("cd; export TERM={kind}; {SHELL}"), Some(terminal))
            }
            None => relay(&agent, &format!("cd; {SHELL}"), None),
        },
    }
}

/// Cuts its power for a moment.
pub fn reset(name: &str) -> Result<u8, Failure> {
    let (lab, host) = parted(name)?;
    plimsoll_lab::reset(&lab, &host).map(|()| 0)
}

fn entrance(name: &str) -> Result<Entrance, Failure> {
    let (lab, host) = parted(name)?;
    plimsoll_lab::entrance(&lab, &host)
}

/// A lab and its host.
fn parted(name: &str) -> Result<(String, String), Failure> {
    let short = name.strip_prefix("lab://").unwrap_or(name);
    match format!("lab://{short}").parse() {
        Ok(HostName::Lab { lab, host }) => Ok((lab, host)),
        _ => {
            let (happened, next) = ("it does not name a host of a lab", "Write it as router/lan.");
            Err(Failure::new(Cause::Usage, "find the host").on(name).happened(happened).next(next))
        }
    }
}

/// Starts the command there and waits until it ends; its exit code. A terminal sends Ctrl-C to the
/// command itself, so this program only goes on waiting; it passes on the request to end. Nothing here
/// may start a thread: see [`Namespaces::join`].
fn start_in(namespaces: &Namespaces, command: &[String]) -> Result<u8, Failure> {
    let on = command.first().map_or("", String::as_str);
    let failed =
        |error: std::io::Error| Failure::new(Cause::Trial, "run a command").on(on).happened(error);
    let mut signals =
        iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD]).map_err(failed)?;
    namespaces.join()?;
    let mut shell = child::command("/bin/sh");
    let mut child = shell.args(["-c", BECOME, "sh"]).args(command).spawn().map_err(failed)?;
    let process = Pid::from_raw(child.id().cast_signed());
    loop {
        for signal in signals.wait() {
            if let Some(ended) = child.try_wait().map_err(failed)? {
                return Ok(exit_code(ended));
            }
            let passed_on = match signal {
                SIGTERM => Signal::SIGTERM,
                SIGHUP => Signal::SIGHUP,
                _ => continue,
            };
            // It may end meanwhile.
            let _ = kill(process, passed_on);
        }
    }
}

/// As shells have it.
fn exit_code(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Passes input and output on until the command ends.
fn relay(agent: &AgentPort, command: &str, terminal: Option<Terminal>) -> Result<u8, Failure> {
    let signals = terminal.is_some().then(Signals::listen).transpose()?;
    let mut remote = agent.open(command, terminal.as_ref().map(Terminal::window))?;
    let input = read_input();
    let mut pending = Vec::new();
    loop {
        if pending.is_empty() {
            match input.try_recv() {
                Ok(bytes) => pending = bytes,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => remote.close_input(),
            }
        }
        if let Some(window) = terminal.as_ref().and_then(Terminal::resized) {
            remote.resize(window);
        }
        match remote.hear(&mut pending, TURN)? {
            Heard::Output(bytes) => {
                let mut out = stdout().lock();
                if out.write_all(&bytes).and_then(|()| out.flush()).is_err() {
                    return Ok(BROKEN_PIPE);
                }
            }
            Heard::Errors(bytes) => output::complain_bytes(&bytes),
            Heard::Nothing => {}
            Heard::Ended(code) => return Ok(code),
        }
        // The terminal is to be left as it was.
        if let Some(signals) = signals.as_ref().filter(|s| s.stop.load(Ordering::Relaxed)) {
            let cause = signals.cause().unwrap_or(Cause::Terminated);
            return Err(Failure::new(cause, "talk to the shell")
                .on("the terminal")
                .happened("a signal"));
        }
    }
}

/// Standard input in pieces, until it ends.
fn read_input() -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count) = stdin().lock().read(&mut buffer) {
            if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}
