//! Undoing what runs left that were killed: `plimsoll restore`.

use super::{Entry, Journal, Process, Unreadable, device, knob};
use plimsoll_model::{Failure, HostName};
use plimsoll_reach::Reach;
use std::path::PathBuf;

/// What became of the entries of one host.
#[derive(Debug, Default)]
pub struct Restored {
    /// Put back, verified, and taken out of the journals.
    pub done: Vec<Entry>,
    /// Left, because the run is alive or may be.
    pub left: Vec<(Entry, Process)>,
    /// Left, because they are of another host than the one that has this name now; with the file
    /// that has each.
    pub elsewhere: Vec<(Entry, PathBuf)>,
    /// Taken out of this machine's journal, because the host is gone, and its setting with it.
    pub gone: Vec<Entry>,
    /// Could not be put back, and why; their entries are still there.
    pub failed: Vec<(Entry, Failure)>,
    /// Files on the host that are no entries.
    pub unreadable: Vec<Unreadable>,
}

/// Puts back what runs left changed on a host, as this machine's journal and the host's own have
/// it. Entries of runs that may be alive on other machines are left unless `force` is set; those
/// of runs that are seen to be alive are left always. No other host's entry is undone or removed.
///
/// # Errors
/// A journal cannot be read.
pub fn restore(
    journal: &Journal,
    name: &HostName,
    host: &dyn Reach,
    force: bool,
) -> Result<Restored, Failure> {
    let device::There { origin, entries: there, unreadable } = device::read(host)?;
    let mut restored = Restored { unreadable, ..Restored::default() };
    let (here, _) = journal.list()?;
    for device::OnHost { entry, .. } in &there {
        restored.take(entry, force, || {
            put_back(host, entry)?;
            device::remove(host, entry)?;
            // This machine's copy of it, under whatever name the host had then.
            here.iter().filter(|other| *other == entry).try_for_each(|other| journal.remove(other))
        });
    }
    for entry in here.iter().filter(|entry| entry.host == *name) {
        if !entry.is_of(&origin) {
            match entry.owner.process() == Process::Dead && entry.origin.is_gone_here() {
                true => {
                    journal.remove(entry)?;
                    restored.gone.push(entry.clone());
                }
                false => restored.elsewhere.push((entry.clone(), journal.path(entry))),
            }
            continue;
        }
        match there.iter().find(|other| other.entry.knob == entry.knob) {
            Some(other) if other.entry == *entry => {}
            // It never came to be written on the host, so nothing was changed.
            Some(_) if entry.owner.process() != Process::Alive => journal.remove(entry)?,
            _ => restored.take(entry, force, || {
                put_back(host, entry)?;
                device::remove(host, entry)?;
                journal.remove(entry)
            }),
        }
    }
    journal.sweep()?;
    Ok(restored)
}

fn put_back(host: &dyn Reach, entry: &Entry) -> Result<(), Failure> {
    knob(&entry.knob)?.undo(host, &entry.original)
}

impl Restored {
    fn take(&mut self, entry: &Entry, force: bool, undo: impl FnOnce() -> Result<(), Failure>) {
        match entry.owner.process() {
            Process::Unknown if force => {}
            Process::Dead => {}
            process => return self.left.push((entry.clone(), process)),
        }
        match undo() {
            Ok(()) => self.done.push(entry.clone()),
            Err(failure) => self.failed.push((entry.clone(), failure)),
        }
    }
}
