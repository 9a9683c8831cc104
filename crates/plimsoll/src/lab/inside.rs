//! Commands and shells on hosts of labs.

use crate::output;
use host::reach::{Reach, quote};
use lab::bed::{self, Entrance};
use model::{Cause, Failure, HostName};
use std::io::{ErrorKind, Read, Write, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// What a shell is on a host: the better one where it is there.
const SHELL: &str = "command -v bash >/dev/null && exec bash; exec sh";

/// A command may take as long as it likes: a year.
const LONG: Duration = Duration::from_secs(365 * 24 * 3600);

/// How often is looked at both what comes in and what goes out.
const TURN: Duration = Duration::from_millis(20);

/// Runs a command there with this program's input and output; its exit code.
pub fn exec(name: &str, command: &[String]) -> Result<u8, Failure> {
    match entrance(name)? {
        Entrance::Words(words) => become_it(words, command),
        Entrance::Reach(reach) => {
            let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
            relay(&*reach, &quoted.join(" "))
        }
    }
}

/// A shell there.
pub fn shell(name: &str) -> Result<u8, Failure> {
    match entrance(name)? {
        Entrance::Words(words) => become_it(words, &["/bin/sh", "-c", SHELL].map(str::to_owned)),
        // No terminal leads there, so the shell is told that it talks with a person.
        Entrance::Reach(reach) => relay(&*reach, "exec sh -i 2>&1"),
    }
}

/// Cuts its power for a moment.
pub fn reset(name: &str) -> Result<u8, Failure> {
    let (lab, host) = parted(name)?;
    bed::reset(&lab, &host).map(|()| 0)
}

fn entrance(name: &str) -> Result<Entrance, Failure> {
    let (lab, host) = parted(name)?;
    bed::entrance(&lab, &host)
}

/// A lab and its host.
fn parted(name: &str) -> Result<(String, String), Failure> {
    let short = name.strip_prefix("lab://").unwrap_or(name);
    match format!("lab://{short}").parse() {
        Ok(HostName::Lab { lab, host }) => Ok((lab, host)),
        _ => {
            let (happened, next) = ("it is no host of a lab", "Write it as router/lan.");
            Err(Failure::new(Cause::Usage, "find the host", name, happened, next))
        }
    }
}

/// This program becomes the command: terminal, signals and exit code are the command's own.
fn become_it(words: Vec<String>, command: &[String]) -> Result<u8, Failure> {
    let mut all = words.iter().chain(command);
    let program = all.next().map_or("/bin/sh", String::as_str);
    let error = Command::new(program).args(all).exec();
    Err(Failure::new(Cause::Trial, "run a command", program, error, ""))
}

/// Passes input and output on until the command ends.
fn relay(reach: &dyn Reach, command: &str) -> Result<u8, Failure> {
    let mut channel = reach.open(command)?;
    let input = read_input();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let failed = |error| {
            Failure::new(Cause::Unreachable, "talk with a command", reach.name(), error, "")
        };
        match input.try_recv() {
            // Over there it may have ended, which reading tells.
            Ok(bytes) => drop(channel.write(&bytes, Instant::now() + LONG)),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        match channel.read(&mut buffer, Instant::now() + TURN) {
            Ok(0) => break,
            Ok(count) => pass_on(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let output = channel.finish(LONG)?;
    pass_on(&output.output);
    output::complain_bytes(&output.errors);
    Ok(output.status.and_then(|code| u8::try_from(code).ok()).unwrap_or(137))
}

fn pass_on(bytes: &[u8]) {
    let mut out = stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
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
