//! The names below an NFS target, whatever the version.

mod names;

use super::calls::{About, Calls, Server};
use super::directories::Directories;
use super::failures::Service;
use super::site::Site;
use crate::advice::{CHANGED_DURING_RUN, CHECK_NAME, NAME_FILE_BELOW, NAME_REGULAR_FILE};
use crate::connection::patiently;
use crate::entry::{Entry, EntryKind, Space};
use crate::op::FileId;
use crate::open_files::OpenFiles;
use crate::share::Namespace;
use names::{Names, Trouble};
use plimsoll_model::{Cause, Failure, Nanos};
use plimsoll_nfs::nfs3::{DirectoryEntry, FileType, Name, Status};
use plimsoll_nfs::{Error, nfs4};
use std::sync::Arc;
use std::time::Duration;

/// Only the user who measures has a right to the test files.
pub(crate) const FILE_MODE: u32 = 0o600;
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// Servers close connections that nobody uses; after this time one is tried before it is relied
/// on.
const IDLE: Duration = Duration::from_secs(20);
const DIRECTORY: &str = "it is a directory, not a regular file";
/// How often a call is made once more on a new connection: a server that is restarting may cut several.
const AGAIN: u32 = 4;

type HandleOf<S> = <<S as Server>::Calls as Calls>::Handle;
type FileOf<S> = <<S as Server>::Calls as Calls>::File;

/// A handle on the names below a target, with a connection of its own, which is made anew after
/// it broke.
pub(crate) struct NfsNamespace<S: Server> {
    server: Arc<S>,
    held: Arc<Directories<HandleOf<S>>>,
    files: Arc<OpenFiles<FileOf<S>>>,
    calls: Option<S::Calls>,
    used: Nanos,
    /// Whether the server stayed away for as long as it is waited for: then it is not waited for any more.
    away: bool,
}

impl<S: Server> NfsNamespace<S> {
    pub fn connect(
        server: &Arc<S>,
        held: &Arc<Directories<HandleOf<S>>>,
        files: &Arc<OpenFiles<FileOf<S>>>,
    ) -> Result<Self, Failure> {
        let calls = Some(server.connect()?);
        let (server, held, files) = (server.clone(), held.clone(), files.clone());
        let used = server.site().deadline.now();
        Ok(NfsNamespace { server, held, files, calls, used, away: false })
    }

    /// The size of a file that is to be read where it is, in bytes.
    pub fn size(&mut self, path: &str) -> Result<u64, Failure> {
        let tried = format!("open the file '{path}' to be read");
        let on = self.server.site().given.clone();
        let refused = |happened: String, next: &str| {
            Trouble::Made(
                Failure::new(Cause::NotPermitted, tried.as_str())
                    .on(&on)
                    .happened(happened)
                    .next(next),
            )
        };
        self.run(&tried, "", |names| {
            let (file, about) = names.open(path).map_err(|trouble| match trouble {
                Trouble::Wrong(what) => refused(what, NAME_REGULAR_FILE),
                Trouble::Directory => refused(DIRECTORY.to_owned(), NAME_FILE_BELOW),
                // Version 4 opens regular files alone.
                Trouble::Nfs(
                    error @ Error::Nfs4 {
                        status: nfs4::Status::Link | nfs4::Status::WrongType, ..
                    },
                ) => refused(error.to_string(), NAME_REGULAR_FILE),
                Trouble::Nfs(error) => match error.status() {
                    Some(Status::NoEntry | Status::NotDirectory) => {
                        refused(error.to_string(), CHECK_NAME)
                    }
                    Some(Status::IsDirectory) => refused(error.to_string(), NAME_FILE_BELOW),
                    _ => Trouble::Nfs(error),
                },
                made => made,
            })?;
            // Whether it may be read shows when it is.
            let read = names.calls.read(&file, 0, 1).map_err(Trouble::from);
            names.close_after(&file, read)?;
            Ok(about.size.unwrap_or_default())
        })
    }

    /// Does something on a connection that is alive, once more on another one where it breaks meanwhile,
    /// and tells what went wrong.
    fn run<T>(
        &mut self,
        tried: &str,
        path: &str,
        mut work: impl FnMut(&mut Names<'_, S::Calls>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let operation = self.server.site().operation();
        if operation.now().since(self.used) > IDLE
            && let Some(calls) = &mut self.calls
        {
            calls.set_deadline(operation.clone());
            if calls.null().is_err() {
                self.calls = None;
            }
        }
        let mut result = self.attempt(&mut work, false);
        for _ in 0..AGAIN {
            if !matches!(&result, Err(Trouble::Nfs(error)) if error.is_lost()) {
                break;
            }
            let Ok(calls) = self.connect_again() else { break };
            self.calls = Some(calls);
            result = self.attempt(&mut work, true);
        }
        let site = self.server.site();
        self.used = site.deadline.now();
        if let Some(calls) = &mut self.calls {
            calls.tell_oddities(site);
        }
        result.map_err(|trouble| self.tell(tried, path, trouble))
    }

    /// Does it on the connection that there is, or a new one; `again`: once more.
    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Names<'_, S::Calls>) -> Result<T, Trouble>,
        again: bool,
    ) -> Result<T, Trouble> {
        let connected = match self.calls.take() {
            Some(calls) => calls,
            None => self.connect_again()?,
        };
        let calls = self.calls.insert(connected);
        calls.set_deadline(self.server.site().operation());
        work(&mut Names { calls, held: &self.held, again })
    }

    /// Another connection to a server that may be restarting.
    fn connect_again(&mut self) -> Result<S::Calls, Failure> {
        let site = self.server.site();
        let limit = if self.away { Duration::ZERO } else { site.limits.call / 2 };
        let connected = patiently(&site.deadline, limit, || self.server.connect());
        self.away = connected.is_err();
        connected
    }

    /// Whether what this user makes belongs to them.
    fn look_for_squash(&mut self, made: HandleOf<S>) {
        let site = self.server.site();
        // A server that does not say, or has gone, shows soon enough in the work itself.
        if let Some(calls) = &mut self.calls
            && let Ok(About { uid: Some(owner), .. }) = calls.attributes(made)
            && owner != site.user.uid()
        {
            site.oddities.other_owner(&site.given, site.user.uid(), owner);
        }
    }

    fn tell(&mut self, tried: &str, path: &str, trouble: Trouble) -> Failure {
        let tried = if path.is_empty() { tried.to_owned() } else { format!("{tried} '{path}'") };
        let site = self.server.site();
        match trouble {
            Trouble::Made(failure) => failure,
            Trouble::Directory => changed(tried, site, DIRECTORY),
            Trouble::Wrong(happened) => changed(tried, site, &happened),
            Trouble::Nfs(error) => {
                let channel = self.calls.as_ref().map(Calls::channel);
                let failure = site.failure(tried, Service::Nfs, channel, &error);
                if error.is_fatal() {
                    self.calls = None;
                }
                failure
            }
        }
    }

    /// For what changes a directory: a refusal is explained by whose directory it is.
    fn change<T>(
        &mut self,
        tried: &str,
        path: &str,
        mut work: impl FnMut(&mut Names<'_, S::Calls>, HandleOf<S>, Name<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let server = self.server.clone();
        let site = server.site();
        self.run(tried, path, |names| {
            let (directory, name) = names.place(path)?;
            work(names, directory, name).map_err(|trouble| {
                let Trouble::Nfs(error) = trouble else { return trouble };
                let Some(next) = names.why_not_writable(&error, directory, site) else {
                    return Trouble::Nfs(error);
                };
                let (cause, tried) = (Cause::NotPermitted, format!("{tried} '{path}'"));
                Trouble::Made(Failure::new(cause, tried).on(&site.given).happened(error).next(next))
            })
        })
    }
}

/// A failure where another program changed a name of the run.
fn changed(tried: String, site: &Site, happened: &str) -> Failure {
    Failure::new(Cause::NotPermitted, tried)
        .on(&site.given)
        .happened(happened)
        .next(CHANGED_DURING_RUN)
}

impl<S: Server> Namespace for NfsNamespace<S> {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        let made =
            self.change("create the directory", path, |names, directory, name| {
                match names.calls.make_directory(directory, name) {
                    Err(error) if names.done_before(&error, Status::Exists) => {
                        Ok(names.calls.lookup(directory, name)?.0)
                    }
                    made => Ok(made?),
                }
            })?;
        if self.held.hold(path, made) {
            self.look_for_squash(made);
        }
        Ok(())
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        let listed = self.run("list the directory", path, |names| {
            let directory = names.directory(path)?;
            Ok(names.calls.list(directory)?)
        })?;
        Ok(listed.iter().map(entry).collect())
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        let file = self.change("create the file", path, |names, directory, name| {
            match names.calls.create(directory, name) {
                Err(error) if names.done_before(&error, Status::Exists) => {
                    Ok(names.calls.open_to_write(directory, name)?.0)
                }
                made => Ok(made?),
            }
        })?;
        Ok(self.files.open(file))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        let (file, _) = self.run("open the file", path, |names| names.open(path))?;
        Ok(self.files.open(file))
    }

    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure> {
        let (file, _) = self.run("open the file", path, |names| {
            let (directory, name) = names.place(path)?;
            let (file, about) = names.calls.open_to_write(directory, name)?;
            names.regular(&file, &about)?;
            Ok((file, about))
        })?;
        Ok(self.files.open(file))
    }

    fn close(&mut self, file: FileId) {
        let open = self.files.get(file);
        self.files.close(file);
        if let Some(open) = open.filter(|_| S::Calls::KEEPS_FILES_OPEN) {
            // Lanes that still use it are told so by the server. What cannot be closed ends with the lease.
            let _ = self.run("close a file", "", |names| Ok(names.calls.close(&open)?));
        }
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.change("write the file", path, |names, directory, name| {
            let (file, before) = names.open_to_write(directory, name)?;
            // Overwritten first and cut after: whoever reads meanwhile finds no empty file.
            let written = names.write_all(&file, before, bytes);
            names.close_after(&file, written)
        })
    }

    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure> {
        self.run("read the file", path, |names| names.read_part(path, offset, limit))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        self.change("remove the file", path, |names, directory, name| {
            match names.calls.remove_file(directory, name) {
                Err(error) if names.done_before(&error, Status::NoEntry) => Ok(()),
                removed => Ok(removed?),
            }
        })
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        let tried = "remove the directory";
        self.run(tried, path, |names| names.still(path))?;
        self.change(tried, path, |names, directory, name| {
            match names.calls.remove_directory(directory, name) {
                Err(error) if names.done_before(&error, Status::NoEntry) => Ok(()),
                removed => Ok(removed?),
            }
        })?;
        self.held.forget(path);
        Ok(())
    }

    fn space(&mut self) -> Result<Space, Failure> {
        self.run("query the free space", "", |names| {
            let base = names.held.base();
            Ok(names.calls.space(base)?)
        })
    }
}

/// A name as it is shown. Names that could not be used in a path, which only a strange server
/// gives, are made harmless and are nobody's file or directory.
pub(crate) fn entry(listed: &DirectoryEntry) -> Entry {
    let text = std::str::from_utf8(&listed.name).ok().filter(|text| Name::new(text).is_some());
    match text {
        Some(text) => Entry { name: text.to_owned(), kind: kind(listed.kind) },
        None => {
            let name = String::from_utf8_lossy(&listed.name).replace(['/', '\0'], "\u{fffd}");
            Entry { name, kind: EntryKind::Other }
        }
    }
}

pub(crate) fn kind(kind: Option<FileType>) -> EntryKind {
    match kind {
        Some(FileType::Regular) => EntryKind::File,
        Some(FileType::Directory) => EntryKind::Directory,
        _ => EntryKind::Other,
    }
}

#[cfg(test)]
mod tests;
