//! The names below an NFS target.

use super::failures::{Service, not_writable_advice};
use super::files::{NfsFile, OpenFiles};
use super::site::Site;
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
pub(super) const FILE_MODE: u32 = 0o600;
pub(super) const DIRECTORY_MODE: u32 = 0o700;
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
        Ok(NfsNamespace { site, base, held, files, client, used })
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

    /// Does something on a connection that is alive, and tells what went wrong.
    fn run<T>(
        &mut self,
        tried: &str,
        path: &str,
        work: impl FnOnce(&mut Names<'_>) -> Result<T, Trouble>,
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
        let client = match self.client.as_mut() {
            Some(client) => client,
            None => self.client.insert(self.site.client()?),
        };
        client.set_deadline(operation);
        let mut names = Names { client, base: self.base, held: &self.held };
        let result = work(&mut names);
        self.used = self.site.deadline.now();
        if let Some((call, bytes)) = client.take_surplus() {
            self.site.oddities.surplus(&self.site.given, call, bytes);
        }
        result.map_err(|trouble| self.tell(tried, path, trouble))
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
        work: impl FnOnce(&mut Client, FileHandle, Name<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let site = self.site.clone();
        self.run(tried, path, |names| {
            let (directory, name) = names.place(path)?;
            work(names.client, directory, name).map_err(|trouble| match trouble {
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
        let made = self.change("make the directory", path, |client, directory, name| {
            Ok(client.make_directory(directory, name, DIRECTORY_MODE)?)
        })?;
        lock(&self.held).insert(path.to_owned(), made);
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
        let handle = self.change("create the file", path, |client, directory, name| {
            Ok(new_file(client, directory, name)?)
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
        self.change("write the file", path, |client, directory, name| {
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
        self.change("remove the file", path, |client, directory, name| {
            Ok(client.remove(directory, name)?)
        })
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        let tried = "remove the directory";
        self.run(tried, path, |names| names.still(path))?;
        self.change(tried, path, |client, directory, name| {
            Ok(client.remove_directory(directory, name)?)
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
pub(super) fn entry(listed: &DirectoryEntry) -> Entry {
    let text = std::str::from_utf8(&listed.name).ok().filter(|text| Name::new(text).is_some());
    match text {
        Some(text) => Entry { name: text.to_owned(), kind: kind(listed.kind) },
        None => {
            let name = String::from_utf8_lossy(&listed.name).replace(['/', '\0'], "\u{fffd}");
            Entry { name, kind: EntryKind::Other }
        }
    }
}

pub(super) fn kind(kind: Option<FileType>) -> EntryKind {
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
