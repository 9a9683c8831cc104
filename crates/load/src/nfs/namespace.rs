//! The names below an NFS target.

use super::failures::{Service, not_writable_advice};
use super::files::{NfsFile, OpenFiles};
use super::site::Site;
use crate::connection::patiently;
use crate::op::FileId;
use crate::share::{Entry, EntryKind, Namespace, Space};
use plimsoll_model::{Cause, Failure, Nanos};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{
    Attributes, Client, CreateHow, DirectoryEntry, FileHandle, FileType, Name, SetAttributes,
    Stability, Status,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Only the user who measures has a right to the test files.
pub(crate) const FILE_MODE: u32 = 0o600;
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// Servers close connections that nobody uses; after this time one is tried before it is relied
/// on.
const IDLE: Duration = Duration::from_secs(20);

/// A handle on the names below a target, with a connection of its own, which is made anew after
/// it broke.
pub(super) struct NfsNamespace {
    site: Arc<Site>,
    base: FileHandle,
    held: Arc<Held>,
    files: Arc<OpenFiles>,
    client: Option<Client>,
    used: Nanos,
    /// Whether the server stayed away for as long as it is waited for: then it is not waited for any more.
    away: bool,
}

/// Handles of the directories below a target that were made or looked up, by their paths: one stays
/// what it was, whatever its name stands for later.
pub(super) type Held = Mutex<BTreeMap<String, FileHandle>>;

/// What can go wrong inside: a failure already made, or an error still to be made one.
enum Trouble {
    Made(Failure),
    Nfs(Error),
    /// A name that is not what it should be.
    Wrong(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Nfs(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Made(failure)
    }
}

impl NfsNamespace {
    pub fn connect(
        site: &Arc<Site>,
        base: FileHandle,
        held: &Arc<Held>,
        files: &Arc<OpenFiles>,
    ) -> Result<Self, Failure> {
        let client = Some(site.client()?);
        let (site, held, files) = (site.clone(), held.clone(), files.clone());
        let used = site.deadline.now();
        Ok(NfsNamespace { site, base, held, files, client, used, away: false })
    }

    /// The size of a file that is to be read where it is, in bytes.
    pub fn size(&mut self, path: &str) -> Result<u64, Failure> {
        let tried = format!("open the file '{path}' to be read");
        let on = self.site.given.clone();
        let refused = |happened: String, next: &str| {
            Trouble::Made(Failure::new(Cause::NotPermitted, tried.as_str(), &on, happened, next))
        };
        self.run(&tried, "", |names| {
            let (file, attributes) = names.file(path).map_err(|trouble| match trouble {
                Trouble::Wrong(what) => refused(what, "Name a regular file, and not by a link."),
                Trouble::Nfs(error) if matches!(error.status(), Some(Status::NoEntry)) => {
                    refused(error.to_string(), "Check its name, below what the target names.")
                }
                other => other,
            })?;
            // Whether it may be read shows when it is.
            names.client.read(file, 0, 1)?;
            Ok(attributes.size)
        })
    }

    /// Does something on a connection that is alive, once more on another one where it breaks meanwhile,
    /// and tells what went wrong.
    fn run<T>(
        &mut self,
        tried: &str,
        path: &str,
        mut work: impl FnMut(&mut Names<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let operation = self.site.operation();
        if operation.now().since(self.used) > IDLE
            && let Some(client) = &mut self.client
        {
            client.set_deadline(operation.clone());
            if client.null().is_err() {
                self.client = None;
            }
        }
        let mut result = self.attempt(&mut work, false);
        if matches!(&result, Err(Trouble::Nfs(error)) if error.is_lost()) && self.connect_again() {
            result = self.attempt(&mut work, true);
        }
        self.used = self.site.deadline.now();
        if let Some(client) = &mut self.client {
            self.site.oddities.datagrams(&self.site.given, client.take_datagrams());
        }
        let surplus = self.client.as_mut().and_then(Client::take_surplus);
        if let Some((call, bytes)) = surplus {
            self.site.oddities.surplus(&self.site.given, call, bytes);
        }
        result.map_err(|trouble| self.tell(tried, path, trouble))
    }

    /// Does it on the connection that there is, or a new one; `again`: once more.
    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Names<'_>) -> Result<T, Trouble>,
        again: bool,
    ) -> Result<T, Trouble> {
        let client = match self.client.as_mut() {
            Some(client) => client,
            None => self.client.insert(self.site.client()?),
        };
        client.set_deadline(self.site.operation());
        work(&mut Names { client, base: self.base, held: &self.held, again })
    }

    /// Makes another connection to a server that may be restarting; whether there is one.
    fn connect_again(&mut self) -> bool {
        let limit = if self.away { Duration::ZERO } else { self.site.limits.call / 2 };
        let connected = patiently(&self.site.deadline, limit, || self.site.client());
        self.away = connected.is_err();
        self.client = connected.ok().or(self.client.take());
        !self.away
    }

    /// Whether what this user makes belongs to them.
    fn look_for_squash(&mut self, made: FileHandle) {
        let (uid, site) = (self.site.user.uid(), self.site.clone());
        // A server that does not say, or has gone, shows soon enough in the work itself.
        if let Some(client) = &mut self.client
            && let Ok(of) = client.attributes(made)
            && of.uid != uid
        {
            site.oddities.other_owner(&site.given, uid, of.uid);
        }
    }

    fn tell(&mut self, tried: &str, path: &str, trouble: Trouble) -> Failure {
        let tried = if path.is_empty() { tried.to_owned() } else { format!("{tried} '{path}'") };
        match trouble {
            Trouble::Made(failure) => failure,
            Trouble::Wrong(happened) => {
                let next = "Somebody changed it meanwhile: remove it, or name another directory.";
                Failure::new(Cause::NotPermitted, tried, &self.site.given, happened, next)
            }
            Trouble::Nfs(error) => {
                let socket = self.client.as_ref().map(Client::socket);
                let failure = self.site.failure(tried, Service::Nfs, socket, &error);
                if error.is_fatal() {
                    self.client = None;
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
        mut work: impl FnMut(&mut Names<'_>, FileHandle, Name<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let site = self.site.clone();
        self.run(tried, path, |names| {
            let (directory, name) = names.place(path)?;
            work(names, directory, name).map_err(|trouble| match trouble {
                Trouble::Nfs(error)
                    if matches!(error.status(), Some(Status::Access | Status::NotOwner)) =>
                {
                    let owner = names.client.attributes(directory).ok().map(|a| (a.uid, a.gid));
                    let caller = site.caller(Some(names.client.socket()));
                    let next = not_writable_advice(caller, owner);
                    let tried = format!("{tried} '{path}'");
                    let cause = Cause::NotPermitted;
                    Trouble::Made(Failure::new(cause, tried, &site.given, error, next))
                }
                other => other,
            })
        })
    }
}

/// A live connection and where paths begin.
struct Names<'a> {
    client: &'a mut Client,
    base: FileHandle,
    held: &'a Held,
    /// Whether it is done once more, as the connection broke: it may have been done already, so that what
    /// it makes is there and what it removes is gone. The names are the run's own.
    again: bool,
}

impl Names<'_> {
    /// The directory a path lies in, and its last name.
    fn place<'p>(&mut self, path: &'p str) -> Result<(FileHandle, Name<'p>), Trouble> {
        let (parents, last) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.directory(parents)?, name(last)?))
    }

    /// A directory; links are not followed, and what was looked up once is not looked up again.
    fn directory(&mut self, path: &str) -> Result<FileHandle, Trouble> {
        if let Some(held) = lock(self.held).get(path) {
            return Ok(*held);
        }
        let mut directory = self.base;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let (found, attributes) = self.client.lookup(directory, name(part)?)?;
            if attributes.kind != FileType::Directory {
                return Err(Trouble::Wrong(format!("'{part}' is a {}", attributes.kind)));
            }
            directory = found;
        }
        if !path.is_empty() {
            lock(self.held).insert(path.to_owned(), directory);
        }
        Ok(directory)
    }

    /// Sees whether a name still stands for the directory that was looked up or made.
    fn still(&mut self, path: &str) -> Result<(), Trouble> {
        let held = self.directory(path)?;
        let (parent, name) = self.place(path)?;
        let (found, attributes) = self.client.lookup(parent, name)?;
        // A server may have several handles for one directory.
        let file = |of: &Attributes| (of.file_system, of.file_id);
        if found == held || file(&attributes) == file(&self.client.attributes(held)?) {
            return Ok(());
        }
        Err(Trouble::Wrong("something else was put in its place".into()))
    }

    /// Whether a refusal says that a change was done before the connection broke.
    fn done_before(&self, error: &Error, status: Status) -> bool {
        self.again && error.status() == Some(status)
    }

    /// A regular file that exists.
    fn file(&mut self, path: &str) -> Result<(FileHandle, Attributes), Trouble> {
        let (directory, name) = self.place(path)?;
        let (file, attributes) = self.client.lookup(directory, name)?;
        regular(&attributes)?;
        Ok((file, attributes))
    }
}

fn lock(held: &Held) -> MutexGuard<'_, BTreeMap<String, FileHandle>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(part: &str) -> Result<Name<'_>, Trouble> {
    Name::new(part).ok_or_else(|| Trouble::Wrong(format!("'{part}' cannot be a name")))
}

fn regular(attributes: &Attributes) -> Result<(), Trouble> {
    match attributes.kind {
        FileType::Regular => Ok(()),
        kind => Err(Trouble::Wrong(format!("it is a {kind}, not a regular file"))),
    }
}

fn new_file(
    client: &mut Client,
    directory: FileHandle,
    name: Name<'_>,
) -> Result<FileHandle, Error> {
    let attributes = SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() };
    client.create(directory, name, CreateHow::Guarded(attributes))
}

/// Writes all of `bytes` from the file's start and makes them stable.
fn write_all(client: &mut Client, file: FileHandle, bytes: &[u8]) -> Result<(), Trouble> {
    let mut written = 0;
    while written < bytes.len() {
        let (count, _) =
            client.write(file, written as u64, Stability::FileSync, &bytes[written..])?;
        if count == 0 {
            return Err(Trouble::Wrong("the server wrote nothing".into()));
        }
        written += count as usize;
    }
    Ok(())
}

impl Namespace for NfsNamespace {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        let made = self.change("make the directory", path, |names, directory, name| match names
            .client
            .make_directory(directory, name, DIRECTORY_MODE)
        {
            Err(error) if names.done_before(&error, Status::Exists) => {
                Ok(names.client.lookup(directory, name)?.0)
            }
            made => Ok(made?),
        })?;
        let is_first = lock(&self.held).is_empty();
        lock(&self.held).insert(path.to_owned(), made);
        if is_first {
            self.look_for_squash(made);
        }
        Ok(())
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        let listed = self.run("list the directory", path, |names| {
            let directory = names.directory(path)?;
            Ok(names.client.list(directory)?)
        })?;
        Ok(listed.iter().map(entry).collect())
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        let handle =
            self.change("create the file", path, |names, directory, name| {
                match new_file(names.client, directory, name) {
                    Err(error) if names.done_before(&error, Status::Exists) => {
                        Ok(names.client.lookup(directory, name)?.0)
                    }
                    made => Ok(made?),
                }
            })?;
        Ok(self.files.open(NfsFile::new(handle)))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        let (handle, _) = self.run("open the file", path, |names| names.file(path))?;
        Ok(self.files.open(NfsFile::new(handle)))
    }

    fn close(&mut self, file: FileId) {
        self.files.close(file);
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.change("write the file", path, |names, directory, name| {
            let client = &mut *names.client;
            // Overwritten first and cut after: whoever reads meanwhile finds no empty file.
            let (file, before) = match client.lookup(directory, name) {
                Ok((file, attributes)) => {
                    regular(&attributes)?;
                    if attributes.links > 1 {
                        return Err(Trouble::Wrong("it has another name elsewhere".into()));
                    }
                    (file, attributes.size)
                }
                Err(Error::Nfs { status: Status::NoEntry, .. }) => {
                    (new_file(client, directory, name)?, 0)
                }
                Err(error) => return Err(error.into()),
            };
            write_all(client, file, bytes)?;
            if before > bytes.len() as u64 {
                client.set_size(file, bytes.len() as u64)?;
                client.commit(file)?;
            }
            Ok(())
        })
    }

    fn read_small(&mut self, path: &str, limit: usize) -> Result<Vec<u8>, Failure> {
        self.run("read the file", path, |names| {
            let (file, _) = names.file(path)?;
            let mut bytes = Vec::new();
            while bytes.len() < limit {
                let wanted = u32::try_from(limit - bytes.len()).unwrap_or(u32::MAX);
                let (data, end) = names.client.read(file, bytes.len() as u64, wanted)?;
                bytes.extend_from_slice(data);
                if end || data.is_empty() {
                    break;
                }
            }
            Ok(bytes)
        })
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        self.change("remove the file", path, |names, directory, name| {
            match names.client.remove(directory, name) {
                Err(error) if names.done_before(&error, Status::NoEntry) => Ok(()),
                removed => Ok(removed?),
            }
        })
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        let tried = "remove the directory";
        self.run(tried, path, |names| names.still(path))?;
        self.change(tried, path, |names, directory, name| {
            match names.client.remove_directory(directory, name) {
                Err(error) if names.done_before(&error, Status::NoEntry) => Ok(()),
                removed => Ok(removed?),
            }
        })?;
        lock(&self.held).remove(path);
        Ok(())
    }

    fn space(&mut self) -> Result<Space, Failure> {
        self.run("ask for the space", "", |names| {
            let space = names.client.space(names.base)?;
            Ok(Space { total: space.total, available: space.available })
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
mod tests {
    use super::*;

    #[test]
    fn strange_names_are_nobodys() {
        let directory = Some(FileType::Directory);
        for bad in [&b"../x"[..], b"a/b", b"\xff\xfe", b"", b"a\0"] {
            let entry = entry(&DirectoryEntry { name: bad.to_vec(), kind: directory });
            assert_eq!(entry.kind, EntryKind::Other);
            assert!(!entry.name.contains(['/', '\0']), "{entry:?}");
        }
        let good = entry(&DirectoryEntry { name: "Übung 1".into(), kind: directory });
        assert_eq!(good, Entry { name: "Übung 1".into(), kind: EntryKind::Directory });
        let link = DirectoryEntry { name: b"l".to_vec(), kind: Some(FileType::Link) };
        assert_eq!(entry(&link).kind, EntryKind::Other);
    }
}
