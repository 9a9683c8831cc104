//! Rebooting a host, and waiting until its kernel is another one: a host answers for a while after it was
//! asked to reboot.

use crate::BEGIN;
use plimsoll_model::units::chosen_time;
use plimsoll_model::{Cause, Deadline, Failure, Over};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::last_line;
use std::sync::Arc;
use std::time::Duration;

/// What reboots a host unless the user knows better.
pub const COMMAND: &str = "reboot";

/// What any one step there may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an answer is waited for, and how often it is looked for.
const LOOKED_FOR: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(1);
/// Exit codes above this are signals': what stops everything may stop its own shell first.
const SIGNALS: i32 = 128;

/// Reboots a host and returns a new way to it, once it answers and has another boot id. What is dirty is
/// written to its disks before; `reboot` does the rest, and `open` reaches it.
///
/// # Errors
/// [`Cause::Unreachable`] where it does not answer before the deadline, [`Cause::Trial`] where it does and
/// has not rebooted, [`Cause::Interrupted`]; and what `reboot` fails with.
pub fn reboot(
    host: &dyn Reach,
    reboot: impl FnOnce(&dyn Reach) -> Result<(), Failure>,
    open: &dyn Fn() -> Result<Arc<dyn Reach>, Failure>,
    deadline: &Deadline,
) -> Result<Arc<dyn Reach>, Failure> {
    let before = boot(host)?;
    host.run("sync", b"", PATIENCE)?;
    reboot(host)?;
    loop {
        let answer = open().and_then(|host| Ok((boot(&*host)?, host)));
        let (cause, happened) = match answer {
            Ok((now, again)) if now != before => return Ok(again),
            Ok(_) => (Cause::Trial, "it answers, but its boot id has not changed".to_owned()),
            Err(failure) => {
                (Cause::Unreachable, format!("it did not come up again: {}", failure.happened))
            }
        };
        let failed = |cause, happened: String, next| {
            Failure::new(cause, TRIED).on(host.name()).happened(happened).next(next)
        };
        deadline.sleep(LOOK).map_err(|over| match over {
            Over::Stopped => failed(Cause::Interrupted, "it was interrupted".to_owned(), ""),
            Over::Step(time) => {
                failed(cause, format!("after {} {happened}", chosen_time(time.as_secs_f64())), NEXT)
            }
            Over::Whole => failed(cause, happened, NEXT),
        })?;
    }
}

const TRIED: &str = "reboot the device";
const NEXT: &str = "Check its power and its console. If it needs more time to boot, give a longer \
limit.";

/// Which start of its kernel this is.
fn boot(host: &dyn Reach) -> Result<String, Failure> {
    let failed = |happened: String| {
        let next = "It must run Linux, with /proc mounted.";
        Failure::new(Cause::NotPermitted, "read the boot id")
            .on(host.name())
            .happened(happened)
            .next(next)
    };
    let read = host.run("cat /proc/sys/kernel/random/boot_id", b"", LOOKED_FOR)?;
    let id = String::from_utf8(read.output).unwrap_or_default();
    if read.status != Some(0) || id.trim().is_empty() {
        return Err(failed(last_line(&read.errors).unwrap_or_else(|| "it has no boot id".into())));
    }
    Ok(id)
}

/// Reboots it by a line of POSIX shell. The connection may be cut before the command ends.
///
/// # Errors
/// [`Cause::NotPermitted`] where the command says that it failed.
pub fn by_command(host: &dyn Reach, command: &str) -> Result<(), Failure> {
    let Ok(output) = host.run(&format!("{BEGIN}; {command}"), b"", PATIENCE) else { return Ok(()) };
    if output.status.is_none_or(|code| code == 0 || code > SIGNALS) {
        return Ok(());
    }
    let why = last_line(&output.errors).unwrap_or_else(|| "it gave no reason".into());
    let happened = format!("{command} failed: {why}");
    let next = "A reboot needs root on the host; the [reboot] of a plan may name another command.";
    Err(Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(happened).next(next))
}
