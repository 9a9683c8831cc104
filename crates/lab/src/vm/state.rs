//! The whole state of a machine, its memory and its devices, in a file: a machine begins with it
//! in less than a second where booting takes many.

use super::monitor::{Monitor, socket};
use super::{Machine, qemu};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::quote;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A state is some hundred megabytes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where QEMU takes or puts a state, in its words: it runs this command.
pub(super) fn from(path: &Path) -> String {
    format!("exec:cat {}", quote(&path.display().to_string()))
}

/// Halts a machine: to itself, no time passes.
pub fn pause(machine: &Machine) -> Result<(), Failure> {
    command(machine, "stop").map_err(|error| failed("pause a machine", machine, error))
}

/// Lets a machine that was halted go on.
pub fn go_on(machine: &Machine) -> Result<(), Failure> {
    command(machine, "cont").map_err(|error| failed("continue a machine", machine, error))
}

/// Writes the state of a machine that is halted to a file. What it has on its disks is in their
/// files by then.
pub fn save(machine: &Machine, path: &Path) -> Result<(), Failure> {
    let to = format!("exec:cat >{}", quote(&path.display().to_string()));
    let save = || -> io::Result<()> {
        let mut monitor = monitor(machine)?;
        // As fast as it can be written.
        let unlimited = json!({"max-bandwidth": 1_u64 << 40});
        monitor.execute("migrate-set-parameters", &unlimited)?;
        monitor.execute("migrate", &json!({"uri": to}))?;
        until(|| {
            let state = monitor.execute("query-migrate", &json!({}))?;
            match state.get("status").and_then(Value::as_str) {
                Some("completed") => Ok(true),
                Some("failed" | "cancelled") => {
                    let why = state.get("error-desc").and_then(Value::as_str);
                    Err(io::Error::other(why.unwrap_or("QEMU could not write it").to_owned()))
                }
                _ => Ok(false),
            }
        })
    };
    save().map_err(|error| failed("save the state of a machine", machine, error))
}

/// Waits until a machine that begins with a saved state has taken it, and is halted.
pub fn taken(machine: &Machine) -> Result<(), Failure> {
    let taken = || {
        let mut monitor = monitor(machine)?;
        until(|| {
            let state = monitor.execute("query-status", &json!({}))?;
            Ok(state.get("status").and_then(Value::as_str) != Some("inmigrate"))
        })
    };
    taken().map_err(|error| {
        let complaint = qemu::complaint(machine);
        let why = complaint.map_or(error.to_string(), |complaint| format!("{error}: {complaint}"));
        failed("load the saved state of a machine", machine, why)
    })
}

fn command(machine: &Machine, command: &str) -> io::Result<()> {
    monitor(machine)?.execute(command, &json!({})).map(drop)
}

fn monitor(machine: &Machine) -> io::Result<Monitor> {
    Monitor::connect(&socket(&machine.directory, &machine.name), PATIENCE)
}

fn until(mut holds: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !holds()? {
        if Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn failed(tried: &str, machine: &Machine, happened: impl ToString) -> Failure {
    Failure::new(Cause::Unreachable, tried).on(&machine.name).happened(happened.to_string())
}
