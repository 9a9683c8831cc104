//! Paths below a target over one connection: directories that are looked up once, and files that are opened and closed.

use crate::nfs::calls::{About, Calls};
use crate::nfs::directories::Directories;
use crate::nfs::exports;
use crate::nfs::failures::not_writable_advice;
use crate::nfs::site::Site;
use plimsoll_model::Failure;
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{FileType, Name, Status};

/// What can go wrong inside: a failure already made, or an error still to be made one.
pub(super) enum Trouble {
    Made(Failure),
    Nfs(Error),
    /// A directory in place of a file.
    Directory,
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

/// A live connection and where paths begin.
pub(super) struct Names<'a, C: Calls> {
    pub(super) calls: &'a mut C,
    pub(super) held: &'a Directories<C::Handle>,
    /// Whether it is done once more, as the connection broke: it may have been done already, so that what
    /// it makes is there and what it removes is gone. The names are the run's own.
    pub(super) again: bool,
}

impl<C: Calls> Names<'_, C> {
    /// The directory a path lies in, and its last name.
    pub(super) fn place<'p>(&mut self, path: &'p str) -> Result<(C::Handle, Name<'p>), Trouble> {
        let (parents, last) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.directory(parents)?, name(last)?))
    }

    /// A directory; links are not followed, and what was looked up once is not looked up again.
    pub(super) fn directory(&mut self, path: &str) -> Result<C::Handle, Trouble> {
        if let Some(held) = self.held.get(path) {
            return Ok(held);
        }
        let mut directory = self.held.base();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let (found, about) = self.calls.lookup(directory, name(part)?)?;
            if about.kind != Some(FileType::Directory) {
                return Err(Trouble::Wrong(format!("'{part}' is {}", what(&about))));
            }
            directory = found;
        }
        self.held.hold(path, directory);
        Ok(directory)
    }

    /// Sees whether a name still stands for the directory that was looked up or made.
    pub(super) fn still(&mut self, path: &str) -> Result<(), Trouble> {
        let held = self.directory(path)?;
        let (parent, name) = self.place(path)?;
        let (found, about) = self.calls.lookup(parent, name)?;
        // A server may have several handles for one directory.
        let same = |held: &About| about.number.is_some() && about.number == held.number;
        if found == held || same(&self.calls.attributes(held)?) {
            return Ok(());
        }
        Err(Trouble::Wrong("it was replaced during the run".into()))
    }

    /// What to do where a directory cannot be changed because of whose it is, or because it only leads to
    /// the exports.
    pub(super) fn why_not_writable(
        &mut self,
        error: &Error,
        directory: C::Handle,
        site: &Site,
    ) -> Option<String> {
        let status = error.status();
        let refused = match status {
            Some(Status::Access | Status::NotOwner) => {
                let about = self.calls.attributes(directory).ok();
                let owner = about.and_then(|of| of.uid.zip(of.gid));
                Some(not_writable_advice(site.caller(Some(self.calls.channel())), owner))
            }
            Some(Status::ReadOnly) => None,
            _ => return None,
        };
        let below = match directory == self.held.base() {
            true => self.calls.exports_below(directory).unwrap_or_default(),
            false => Vec::new(),
        };
        match (exports::of_version_4(&site.target, &below), refused) {
            (Some(exports), Some(refused)) => Some(format!("{refused} {exports}")),
            (Some(exports), None) => Some(format!(
                "This directory only lists the exports of the server and is not writable. {exports}"
            )),
            (None, refused) => refused,
        }
    }

    /// Whether a refusal says that a change was done before the connection broke.
    pub(super) fn done_before(&self, error: &Error, status: Status) -> bool {
        self.again && error.status() == Some(status)
    }

    /// A regular file that exists, for reading.
    pub(super) fn open(&mut self, path: &str) -> Result<(C::File, About), Trouble> {
        let (directory, name) = self.place(path)?;
        let (file, about) = self.calls.open(directory, name)?;
        self.regular(&file, &about)?;
        Ok((file, about))
    }

    /// Closes what is no regular file.
    pub(super) fn regular(&mut self, file: &C::File, about: &About) -> Result<(), Trouble> {
        let trouble = match about.kind {
            Some(FileType::Regular) | None => return Ok(()),
            Some(FileType::Directory) => Trouble::Directory,
            _ => Trouble::Wrong(format!("it is {}, not a regular file", what(about))),
        };
        self.close_after(file, Err(trouble))
    }

    /// Opens what is overwritten, or makes it; how many bytes are in it.
    pub(super) fn open_to_write(
        &mut self,
        directory: C::Handle,
        name: Name<'_>,
    ) -> Result<(C::File, u64), Trouble> {
        match self.calls.open_to_write(directory, name) {
            Ok((file, about)) => {
                self.regular(&file, &about)?;
                if about.links.is_some_and(|links| links > 1) {
                    let trouble = Trouble::Wrong("it has a second name (hard link)".into());
                    return self.close_after(&file, Err(trouble));
                }
                Ok((file, about.size.unwrap_or(u64::MAX)))
            }
            Err(error) if error.status() == Some(Status::NoEntry) => {
                Ok((self.calls.create(directory, name)?, 0))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Closes a file, whatever came of the work with it. The first error counts.
    pub(super) fn close_after<T>(
        &mut self,
        file: &C::File,
        done: Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let closed = self.calls.close(file);
        let done = done?;
        closed?;
        Ok(done)
    }

    /// At most `limit` bytes of a regular file, from `offset` on.
    pub(super) fn read_part(
        &mut self,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, Trouble> {
        let (file, _) = self.open(path)?;
        let read = self.read_from(&file, offset, limit);
        self.close_after(&file, read)
    }

    fn read_from(&mut self, file: &C::File, offset: u64, limit: usize) -> Result<Vec<u8>, Trouble> {
        let mut bytes = Vec::new();
        while bytes.len() < limit {
            let wanted = u32::try_from(limit - bytes.len()).unwrap_or(u32::MAX);
            let place = offset.saturating_add(bytes.len() as u64);
            let (data, end) = self.calls.read(file, place, wanted)?;
            bytes.extend_from_slice(&data);
            if end || data.is_empty() {
                break;
            }
        }
        Ok(bytes)
    }

    /// Writes all of `bytes` from the file's start, cuts off what is behind them, and makes it stable.
    pub(super) fn write_all(
        &mut self,
        file: &C::File,
        before: u64,
        bytes: &[u8],
    ) -> Result<(), Trouble> {
        let mut written = 0;
        while written < bytes.len() {
            let count = self.calls.write(file, written as u64, &bytes[written..])?;
            if count == 0 {
                return Err(Trouble::Wrong("the server wrote 0 bytes".into()));
            }
            written += count as usize;
        }
        if before > bytes.len() as u64 {
            self.calls.set_size(file, bytes.len() as u64)?;
        }
        Ok(())
    }
}

fn name(part: &str) -> Result<Name<'_>, Trouble> {
    Name::new(part).ok_or_else(|| Trouble::Wrong(format!("'{part}' is not a valid name")))
}

fn what(about: &About) -> String {
    about.kind.map_or_else(|| "an unknown file type".to_owned(), |kind| format!("a {kind}"))
}
