//! A directory's names, page by page.

use super::arguments::{ReadDirectoryArguments, ReadDirectoryPlusArguments};
use super::client::unexpected;
use super::results::{Page, PageEntry, PagePlusEntry};
use super::types::{FileHandle, FileType, Name, Procedure, Verifier};
use super::{Client, Done, Other, Request, Status};
use crate::Error;

/// Most names taken from one directory: a server can give names without end.
pub const MOST_ENTRIES: usize = 200_000;
/// Longest page asked for, in bytes.
pub(crate) const PAGE_BYTES: u32 = 64 * 1024;
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
pub trait Listed {
    /// Where to go on after it.
    fn cookie(&self) -> u64;
    /// What is kept of it.
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

/// A directory's names, put together from pages: a server can give them without end, and any page
/// twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    entries: Vec<DirectoryEntry>,
    cookie: u64,
    verifier: Verifier,
    pages: usize,
    end: bool,
}

impl Listing {
    /// What asks for the next page, with attributes.
    pub fn next_page(&self, directory: FileHandle) -> ReadDirectoryPlusArguments {
        let Listing { cookie, verifier, .. } = *self;
        let (name_bytes, count) = (PAGE_NAME_BYTES, PAGE_BYTES);
        ReadDirectoryPlusArguments { directory, cookie, verifier, name_bytes, count }
    }

    /// What asks for the next page of names alone. Cookies of one kind are nothing to the other.
    pub fn next_names(&self, directory: FileHandle) -> ReadDirectoryArguments {
        let Listing { cookie, verifier, .. } = *self;
        ReadDirectoryArguments { directory, cookie, verifier, count: PAGE_BYTES }
    }

    /// Where the next page begins.
    pub fn position(&self) -> (u64, Verifier) {
        (self.cookie, self.verifier)
    }

    /// Adds a page; whether it was the last. `.` and `..` are left out.
    pub fn add<E: Listed>(&mut self, page: &Page<E>) -> Result<bool, Error> {
        let entries = page.entries.iter().map(Listed::entry);
        self.entries.extend(entries.filter(|entry| !matches!(&entry.name[..], b"." | b"..")));
        // Pages of `.` and `..` alone add nothing that the limit on names would count.
        self.pages += 1;
        if self.entries.len() > MOST_ENTRIES || self.pages > MOST_ENTRIES {
            return Err(Error::DirectoryTooLong(MOST_ENTRIES));
        }
        let cookie = page.entries.last().map_or(self.cookie, Listed::cookie);
        // A page that leads no further, and is not the last, would come again for ever. The names after it
        // cannot be had, and whoever counts on them must know.
        if !page.end && cookie == self.cookie {
            return Err(Error::ListingRepeats { cookie });
        }
        self.end = page.end;
        self.cookie = cookie;
        self.verifier = page.verifier;
        Ok(self.end)
    }

    /// The names.
    pub fn into_entries(self) -> Vec<DirectoryEntry> {
        self.entries
    }
}

impl Client {
    /// All names in a directory but `.` and `..`: READDIRPLUS, or READDIR where the server does
    /// not have it. Names may appear twice if the directory changes meanwhile.
    pub fn list(&mut self, directory: FileHandle) -> Result<Vec<DirectoryEntry>, Error> {
        let listing = match self.list_with(directory, Client::page) {
            Err(Error::Nfs { status: Status::NotSupported, .. }) => {
                self.list_with(directory, Client::names_page)
            }
            other => other,
        };
        let mut entries = listing?.into_entries();
        self.find_kinds(directory, &mut entries)?;
        Ok(entries)
    }

    fn list_with(
        &mut self,
        directory: FileHandle,
        page: fn(&mut Client, FileHandle, &mut Listing) -> Result<bool, Error>,
    ) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        while !page(self, directory, &mut listing)? {}
        Ok(listing)
    }

    fn page(&mut self, directory: FileHandle, listing: &mut Listing) -> Result<bool, Error> {
        match self.ask(Request::List(listing.next_page(directory)), &[])? {
            Done::Other(Other::Page(page)) => listing.add(&page),
            _ => Err(unexpected(Procedure::ReadDirectoryPlus)),
        }
    }

    fn names_page(&mut self, directory: FileHandle, listing: &mut Listing) -> Result<bool, Error> {
        match self.ask(Request::ListNames(listing.next_names(directory)), &[])? {
            Done::Other(Other::NamesPage(page)) => listing.add(&page),
            _ => Err(unexpected(Procedure::ReadDirectory)),
        }
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

    #[test]
    fn dots_are_left_out_and_cookies_kept() {
        let mut listing = Listing::default();
        listing.add(&page(&[".", "..", "a", "b"], 7, false)).unwrap();
        assert_eq!((listing.cookie, listing.verifier, listing.end), (7, Verifier(5), false));
        let names: Vec<_> = listing.entries.iter().map(|e| &e.name[..]).collect();
        assert_eq!(names, [b"a", b"b"]);
    }

    #[test]
    fn a_listing_whose_page_comes_again_is_not_complete() {
        let mut listing = Listing::default();
        listing.add(&page(&["a"], 7, false)).unwrap();
        let again = listing.add(&page(&["a"], 7, false));
        assert_eq!(again, Err(Error::ListingRepeats { cookie: 7 }));
        let mut listing = Listing::default();
        let empty = listing.add(&page(&[], 0, false));
        assert_eq!(empty, Err(Error::ListingRepeats { cookie: 0 }));
        // The last page may be empty, and its cookie is of no use to anybody.
        let mut listing = Listing::default();
        listing.add(&page(&["a"], 7, false)).unwrap();
        assert_eq!(listing.add(&page(&["b"], 7, true)), Ok(true));
        assert_eq!(listing.add(&page(&[], 7, true)), Ok(true));
        assert_eq!(listing.into_entries().len(), 2);
    }
}
