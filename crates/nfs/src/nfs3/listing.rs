//! A directory's names, page by page.

use super::arguments::{ReadDirectoryArguments, ReadDirectoryPlusArguments};
use super::results::{Page, PageEntry, PagePlusEntry};
use super::types::{FileHandle, FileType, Name, Procedure, Verifier};
use super::{Client, Status};
use crate::Error;

/// Most names taken from one directory: a server can give names without end.
pub const MOST_ENTRIES: usize = 200_000;
/// Longest page asked for, in bytes.
pub(super) const PAGE_BYTES: u32 = 64 * 1024;
/// Most bytes of names in a page with attributes.
const PAGE_NAME_BYTES: u32 = 8 * 1024;

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name as the server gives it. Any bytes: only what [`Name::new`] takes is a name that
    /// can be used.
    pub name: Vec<u8>,
    /// What it is, not following links, where the server says so.
    pub kind: Option<FileType>,
}

/// What both kinds of entries have.
trait Listed {
    fn cookie(&self) -> u64;
    fn entry(&self) -> DirectoryEntry;
}

impl Listed for PageEntry<'_> {
    fn cookie(&self) -> u64 {
        self.cookie
    }
    fn entry(&self) -> DirectoryEntry {
        DirectoryEntry { name: self.name.0.to_vec(), kind: None }
    }
}

impl Listed for PagePlusEntry<'_> {
    fn cookie(&self) -> u64 {
        self.entry.cookie
    }
    fn entry(&self) -> DirectoryEntry {
        let kind = self.attributes.map(|a| a.kind);
        DirectoryEntry { kind, ..self.entry.entry() }
    }
}

/// Where a listing has come to.
struct Progress {
    entries: Vec<DirectoryEntry>,
    cookie: u64,
    verifier: Verifier,
    end: bool,
}

impl Progress {
    fn add<E: Listed>(&mut self, page: &Page<E>) -> Result<(), Error> {
        for listed in &page.entries {
            let entry = listed.entry();
            if !matches!(&entry.name[..], b"." | b"..") {
                self.entries.push(entry);
            }
        }
        if self.entries.len() > MOST_ENTRIES {
            return Err(Error::DirectoryTooLong(MOST_ENTRIES));
        }
        let cookie = page.entries.last().map(Listed::cookie);
        // A page that brings us no further, and is not the last, would come again for ever.
        self.end = page.end || cookie.is_none_or(|c| c == self.cookie);
        self.cookie = cookie.unwrap_or(self.cookie);
        self.verifier = page.verifier;
        Ok(())
    }
}

impl Client {
    /// All names in a directory but `.` and `..`: READDIRPLUS, or READDIR where the server does
    /// not have it. Names may appear twice if the directory changes meanwhile.
    pub fn list(&mut self, directory: FileHandle) -> Result<Vec<DirectoryEntry>, Error> {
        match self.list_with(directory, Client::page_plus) {
            Err(Error::Nfs { status: Status::NotSupported, .. }) => {
                let mut entries = self.list_with(directory, Client::page)?;
                self.find_kinds(directory, &mut entries)?;
                Ok(entries)
            }
            Ok(mut entries) => {
                self.find_kinds(directory, &mut entries)?;
                Ok(entries)
            }
            Err(error) => Err(error),
        }
    }

    fn list_with(
        &mut self,
        directory: FileHandle,
        page: fn(&mut Client, FileHandle, &mut Progress) -> Result<(), Error>,
    ) -> Result<Vec<DirectoryEntry>, Error> {
        let mut progress =
            Progress { entries: Vec::new(), cookie: 0, verifier: Verifier(0), end: false };
        // Pages of `.` and `..` alone add nothing that the limit on names would count.
        for _ in 0..MOST_ENTRIES {
            page(self, directory, &mut progress)?;
            if progress.end {
                return Ok(progress.entries);
            }
        }
        Err(Error::DirectoryTooLong(MOST_ENTRIES))
    }

    fn page_plus(&mut self, directory: FileHandle, progress: &mut Progress) -> Result<(), Error> {
        let arguments = ReadDirectoryPlusArguments {
            directory,
            cookie: progress.cookie,
            verifier: progress.verifier,
            name_bytes: PAGE_NAME_BYTES,
            count: PAGE_BYTES,
        };
        let page: Page<PagePlusEntry<'_>> = self.call(Procedure::ReadDirectoryPlus, &arguments)?;
        progress.add(&page)
    }

    fn page(&mut self, directory: FileHandle, progress: &mut Progress) -> Result<(), Error> {
        let arguments = ReadDirectoryArguments {
            directory,
            cookie: progress.cookie,
            verifier: progress.verifier,
            count: PAGE_BYTES,
        };
        let page: Page<PageEntry<'_>> = self.call(Procedure::ReadDirectory, &arguments)?;
        progress.add(&page)
    }

    /// Asks for what the listing left out. A name that is gone meanwhile keeps no kind.
    fn find_kinds(
        &mut self,
        directory: FileHandle,
        entries: &mut [DirectoryEntry],
    ) -> Result<(), Error> {
        for entry in entries.iter_mut().filter(|e| e.kind.is_none()) {
            let Some(name) = std::str::from_utf8(&entry.name).ok().and_then(Name::new) else {
                continue;
            };
            match self.lookup(directory, name) {
                Ok((_, attributes)) => entry.kind = Some(attributes.kind),
                Err(Error::Nfs { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::Data;
    use super::*;

    fn page(names: &[&'static str], cookie: u64, end: bool) -> Page<PageEntry<'static>> {
        let entries = names
            .iter()
            .map(|n| PageEntry { file_id: 1, name: Data(n.as_bytes()), cookie })
            .collect();
        Page { verifier: Verifier(5), entries, end }
    }

    fn start() -> Progress {
        Progress { entries: Vec::new(), cookie: 0, verifier: Verifier(0), end: false }
    }

    #[test]
    fn dots_are_left_out_and_cookies_kept() {
        let mut progress = start();
        progress.add(&page(&[".", "..", "a", "b"], 7, false)).unwrap();
        assert_eq!((progress.cookie, progress.verifier, progress.end), (7, Verifier(5), false));
        let names: Vec<_> = progress.entries.iter().map(|e| &e.name[..]).collect();
        assert_eq!(names, [b"a", b"b"]);
    }

    #[test]
    fn a_server_that_repeats_itself_ends_the_listing() {
        let mut progress = start();
        progress.add(&page(&["a"], 7, false)).unwrap();
        progress.add(&page(&["a"], 7, false)).unwrap();
        assert!(progress.end);
        let mut progress = start();
        progress.add(&page(&[], 0, false)).unwrap();
        assert!(progress.end);
    }
}
