//! The names below an NFS target of version 4.

use super::share::Server;
use super::{Held, Nfs4File, OpenFiles};
use crate::nfs::failures::{Service, not_writable_advice};
use crate::nfs::namespace::{DIRECTORY_MODE, FILE_MODE, entry};
use crate::op::FileId;
use crate::share::{Entry, Namespace, Space};
use plimsoll_model::{Cause, Failure};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{FileType, Name, Stability, Status};
use plimsoll_nfs::nfs4::{Attributes, Client, FileHandle, OpenFile, OpenHow, SetAttributes};
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

/// A handle on the names below a target, with a connection of its own, which is made anew after it
/// broke.
pub(super) struct Nfs4Namespace {
    server: Arc<Server>,
    base: FileHandle,
    held: Arc<Held>,
    files: Arc<OpenFiles>,
    client: Option<Client>,
}

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

impl Nfs4Namespace {
    pub fn connect(
        server: &Arc<Server>,
        base: FileHandle,
        held: &Arc<Held>,
        files: &Arc<OpenFiles>,
    ) -> Result<Self, Failure> {
        let client = Some(server.client()?);
        let (server, held, files) = (server.clone(), held.clone(), files.clone());
        Ok(Nfs4Namespace { server, base, held, files, client })
    }

    /// The size of a file that is to be read where it is, in bytes.
    pub fn size(&mut self, path: &str) -> Result<u64, Failure> {
        let tried = format!("open the file '{path}' to be read");
        self.run(&tried, "", |names| {
            let (file, attributes) = names.open(path)?;
            // Whether it may be read shows when it is.
            names.client.read(&file, 0, 1)?;
            names.client.close(&file)?;
            Ok(attributes.size.unwrap_or_default())
        })
    }

    /// Does something, once more on another connection where it breaks meanwhile, and tells what went
    /// wrong.
    fn run<T>(
        &mut self,
        tried: &str,
        path: &str,
        mut work: impl FnMut(&mut Names<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let mut result = self.attempt(&mut work);
        if matches!(&result, Err(Trouble::Nfs(error)) if error.is_lost()) {
            self.client = None;
            result = self.attempt(&mut work);
        }
        result.map_err(|trouble| self.failure(tried, path, trouble))
    }

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Names<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let site = &self.server.site;
        let client = match self.client.as_mut() {
            Some(client) => client,
            None => {
                let limit = site.limits.call / 2;
                let new = || self.server.client();
                self.client.insert(crate::connection::patiently(&site.deadline, limit, new)?)
            }
        };
        client.set_deadline(site.operation());
        work(&mut Names { client, base: self.base, held: &self.held })
    }

    fn failure(&mut self, tried: &str, path: &str, trouble: Trouble) -> Failure {
        let tried = if path.is_empty() { tried.to_owned() } else { format!("{tried} '{path}'") };
        let site = &self.server.site;
        match trouble {
            Trouble::Made(failure) => failure,
            Trouble::Wrong(happened) => {
                let next = "Somebody changed it meanwhile: remove it, or name another directory.";
                Failure::new(Cause::NotPermitted, tried, &site.given, happened, next)
            }
            Trouble::Nfs(error) => {
                let socket = self.client.as_ref().map(Client::socket);
                let failure = site.failure(tried, Service::Nfs, socket, &error);
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
        mut work: impl FnMut(&mut Client, FileHandle, Name<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let server = self.server.clone();
        self.run(tried, path, |names| {
            let (directory, name) = names.place(path)?;
            work(names.client, directory, name).map_err(|trouble| match trouble {
                Trouble::Nfs(error)
                    if matches!(error.status(), Some(Status::Access | Status::NotOwner)) =>
                {
                    let of = names.client.attributes(directory).ok();
                    let owner = of.and_then(|of| of.owner?.0.zip(of.group?.0));
                    let caller = server.site.caller(Some(names.client.socket()));
                    let next = not_writable_advice(caller, owner);
                    let (tried, cause) = (format!("{tried} '{path}'"), Cause::NotPermitted);
                    Trouble::Made(Failure::new(cause, tried, &server.site.given, error, next))
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
            if attributes.kind != Some(FileType::Directory) {
                return Err(Trouble::Wrong(format!("'{part}' is no directory")));
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
        let file = |of: &Attributes| of.file_system.zip(of.file_id);
        let same = file(&attributes).is_some()
            && file(&attributes) == file(&self.client.attributes(held)?);
        if found == held || same {
            return Ok(());
        }
        Err(Trouble::Wrong("something else was put in its place".into()))
    }

    /// Opens a regular file that exists.
    fn open(&mut self, path: &str) -> Result<(Arc<OpenFile>, Attributes), Trouble> {
        let (directory, name) = self.place(path)?;
        Ok(self.client.open(directory, name)?)
    }
}

fn lock(held: &Held) -> MutexGuard<'_, BTreeMap<String, FileHandle>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(part: &str) -> Result<Name<'_>, Trouble> {
    Name::new(part).ok_or_else(|| Trouble::Wrong(format!("'{part}' cannot be a name")))
}

/// A new file, and no other: for reading and writing.
fn new_file() -> OpenHow {
    OpenHow::Guarded(SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() })
}

/// Writes all of `bytes` from the file's start, stable, and cuts off what was behind them.
fn write_all(
    client: &mut Client,
    file: &OpenFile,
    before: u64,
    bytes: &[u8],
) -> Result<(), Trouble> {
    let mut written = 0;
    while written < bytes.len() {
        let (offset, rest) = (written as u64, &bytes[written..]);
        let (count, _) = client.write(file, offset, Stability::FileSync, rest)?;
        if count == 0 {
            return Err(Trouble::Wrong("the server wrote nothing".into()));
        }
        written += count as usize;
    }
    if before > bytes.len() as u64 {
        client.set_size(file, bytes.len() as u64)?;
        client.commit(file.handle)?;
    }
    Ok(())
}

impl Namespace for Nfs4Namespace {
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
        let (file, _) = self.change("create the file", path, |client, directory, name| {
            Ok(client.open_to_write(directory, name, new_file())?)
        })?;
        Ok(self.files.open(Nfs4File::new(file)))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        let (file, _) = self.run("open the file", path, |names| names.open(path))?;
        Ok(self.files.open(Nfs4File::new(file)))
    }

    fn close(&mut self, file: FileId) {
        if let Some(open) = self.files.get(file) {
            self.files.close(file);
            // Lanes that still use it are told so by the server. What cannot be closed ends with the lease.
            let _ = self.run("close a file", "", |names| Ok(names.client.close(&open.open)?));
        }
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.change("write the file", path, |client, directory, name| {
            // Overwritten first and cut after: whoever reads meanwhile finds no empty file.
            let opened = match client.open_to_write(directory, name, OpenHow::Existing) {
                Err(error) if error.status() == Some(Status::NoEntry) => {
                    client.open_to_write(directory, name, new_file())
                }
                other => other,
            };
            let (file, attributes) = opened?;
            let written = if attributes.links.is_some_and(|links| links > 1) {
                Err(Trouble::Wrong("it has another name elsewhere".into()))
            } else {
                write_all(client, &file, attributes.size.unwrap_or(u64::MAX), bytes)
            };
            client.close(&file)?;
            written
        })
    }

    fn read_small(&mut self, path: &str, limit: usize) -> Result<Vec<u8>, Failure> {
        self.run("read the file", path, |names| {
            let (file, _) = names.open(path)?;
            let mut bytes = Vec::new();
            while bytes.len() < limit {
                let wanted = u32::try_from(limit - bytes.len()).unwrap_or(u32::MAX);
                let (data, end) = names.client.read(&file, bytes.len() as u64, wanted)?;
                let nothing = data.is_empty();
                bytes.extend(data);
                if end || nothing {
                    break;
                }
            }
            names.client.close(&file)?;
            Ok(bytes)
        })
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        self.change("remove the file", path, |client, directory, name| {
            // REMOVE takes empty directories too.
            let (_, attributes) = client.lookup(directory, name)?;
            if attributes.kind == Some(FileType::Directory) {
                return Err(Trouble::Wrong("it is a directory".into()));
            }
            Ok(client.remove(directory, name)?)
        })
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        let tried = "remove the directory";
        self.run(tried, path, |names| names.still(path))?;
        self.change(tried, path, |client, directory, name| Ok(client.remove(directory, name)?))?;
        lock(&self.held).remove(path);
        Ok(())
    }

    fn space(&mut self) -> Result<Space, Failure> {
        self.run("ask for the space", "", |names| {
            let about = names.client.file_system(names.base)?;
            let (total, available) = (about.space_total, about.space_available);
            Ok(Space { total: total.unwrap_or_default(), available: available.unwrap_or_default() })
        })
    }
}
