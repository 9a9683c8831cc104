//! What an earlier run left changed: found before a host is measured or set.

use super::{Entry, Journal, Process, Unreadable, device};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_reach::Reach;

/// Fails where a run that died, or one that is alive, has a setting changed of a host that
/// `concerns` names, as this machine's journal has it.
///
/// # Errors
/// [`Cause::Usage`], with the command that restores; or the journal cannot be read.
pub fn expect_none_left(
    journal: &Journal,
    concerns: impl Fn(&HostName) -> bool,
) -> Result<(), Failure> {
    let (entries, unreadable) = journal.list()?;
    if let Some(entry) = entries.iter().find(|entry| concerns(&entry.host)) {
        return Err(failure(entry));
    }
    unreadable.first().map_or(Ok(()), |unreadable| Err(not_read(unreadable, "this machine")))
}

/// The same of a host that is reached, as its own journal has it.
///
/// # Errors
/// [`Cause::Usage`] likewise; what [`Reach::run`] fails with.
pub fn expect_none_left_on(host: &dyn Reach) -> Result<(), Failure> {
    let (entries, unreadable) = device::list(host)?;
    if let Some(other) = entries.first() {
        let mut entry = other.entry.clone();
        // The name by which it is reached now, which may be another one.
        if let Ok(named) = host.name().parse() {
            entry.host = named;
        }
        return Err(failure(&entry));
    }
    unreadable.first().map_or(Ok(()), |unreadable| Err(not_read(unreadable, host.name())))
}

/// A setting is changed already.
pub(super) fn failure(entry: &Entry) -> Failure {
    let tried = "use this host";
    let (host, knob, study) = (&entry.host, &entry.knob, &entry.study);
    let owner = &entry.owner;
    let (happened, next) = match owner.process() {
        Process::Alive => (
            format!("study {study} is running as process {} and has changed {knob}", owner.process),
            "Wait until that study ends.".to_owned(),
        ),
        Process::Dead => (
            format!("study {study} was killed after it had changed {knob}"),
            format!("Restore it first: plimsoll restore {host}"),
        ),
        Process::Unknown => (
            format!("study {study} of another machine or container has changed {knob}"),
            format!(
                "Wait until that study ends. If it was killed: plimsoll restore --force {host}"
            ),
        ),
    };
    Failure::new(Cause::Usage, tried).on(host).happened(happened).next(next)
}

fn not_read(unreadable: &Unreadable, host: &str) -> Failure {
    let Unreadable { path, why } = unreadable;
    let tried = "read the undo journal of an earlier run";
    let next = "Restore the setting manually or with the newer plimsoll that wrote the entry, then \
    remove the file.";
    Failure::new(Cause::Usage, tried).on(format!("{path} on {host}")).happened(why).next(next)
}
