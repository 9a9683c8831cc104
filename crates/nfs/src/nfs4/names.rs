//! What a blocking client does with names.

use super::attributes::{Attributes, SetAttributes};
use super::client::Client;
use super::compound::{Compound, Results};
use super::listing::ReadDirectory;
use super::operations::{
    Access, CreateDirectory, GetAttributes, GetHandle, Lookup, PutHandle, PutRoot, Remove, Rename,
    SaveHandle, SetAttributesOf,
};
use super::request::Place;
use super::types::{FileHandle, StateId};
use crate::Error;
use crate::nfs3::{DirectoryEntry, Listing, Name, PAGE_BYTES};

/// Most bytes of names in a page.
pub(super) const PAGE_NAME_BYTES: u32 = 8 * 1024;
/// The attributes of files.
pub(super) const OF_FILES: GetAttributes = GetAttributes { which: Attributes::OF_FILES };

impl Client {
    /// Calls a compound about one file.
    pub(super) fn on<R>(
        &mut self,
        file: FileHandle,
        build: impl Fn(u64, &mut Compound<'_>),
        read: impl Fn(u64, &mut Results<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let put = PutHandle { file };
        self.call(
            |client, compound| {
                compound.add(&put);
                build(client, compound);
            },
            |client, results| {
                results.take::<PutHandle>()?;
                read(client, results)
            },
        )
    }

    /// The root of all that the server exports (PUTROOTFH).
    pub fn root(&mut self) -> Result<(FileHandle, Attributes), Error> {
        self.call(
            |_, compound| {
                compound.add(&PutRoot).add(&GetHandle).add(&OF_FILES);
            },
            |_, results| {
                results.take::<PutRoot>()?;
                Ok((results.take::<GetHandle>()?, results.take::<GetAttributes>()?))
            },
        )
    }

    /// LOOKUP. Links are not followed.
    pub fn lookup(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(FileHandle, Attributes), Error> {
        let lookup = Lookup { name };
        self.on(
            directory,
            |_, compound| {
                compound.add(&lookup).add(&GetHandle).add(&OF_FILES);
            },
            |_, results| {
                results.take::<Lookup<'_>>()?;
                Ok((results.take::<GetHandle>()?, results.take::<GetAttributes>()?))
            },
        )
    }

    /// GETATTR.
    pub fn attributes(&mut self, file: FileHandle) -> Result<Attributes, Error> {
        self.on(
            file,
            |_, c| {
                c.add(&OF_FILES);
            },
            |_, r| r.take::<GetAttributes>(),
        )
    }

    /// GETATTR of the server and the file system: space, limits, lease.
    pub fn file_system(&mut self, root: FileHandle) -> Result<Attributes, Error> {
        let which = GetAttributes { which: Attributes::OF_FILE_SYSTEMS };
        self.on(
            root,
            |_, c| {
                c.add(&which);
            },
            |_, r| r.take::<GetAttributes>(),
        )
    }

    /// SETATTR of what needs no open file.
    pub fn set_attributes(
        &mut self,
        file: FileHandle,
        attributes: SetAttributes,
    ) -> Result<(), Error> {
        let set = SetAttributesOf { state: StateId::ANONYMOUS, attributes };
        self.on(
            file,
            |_, c| {
                c.add(&set);
            },
            |_, r| r.take::<SetAttributesOf>().map(drop),
        )
    }

    /// ACCESS: which of the rights (bits of RFC 8881, section 18.1.1) the caller has.
    pub fn access_rights(&mut self, file: FileHandle, rights: u32) -> Result<u32, Error> {
        let access = Access { rights };
        let ok = self.on(
            file,
            |_, c| {
                c.add(&access);
            },
            |_, r| r.take::<Access>(),
        )?;
        Ok(ok.rights & rights)
    }

    /// CREATE of a directory.
    pub fn make_directory(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        mode: u32,
    ) -> Result<FileHandle, Error> {
        let attributes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        let create = CreateDirectory { name, attributes };
        self.on(
            directory,
            |_, compound| {
                compound.add(&create).add(&GetHandle);
            },
            |_, results| {
                results.take::<CreateDirectory<'_>>()?;
                results.take::<GetHandle>()
            },
        )
    }

    /// REMOVE of a file or of an empty directory: version 4 has no other operation for those.
    pub fn remove(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        let remove = Remove { name };
        self.on(
            directory,
            |_, c| {
                c.add(&remove);
            },
            |_, r| r.take::<Remove<'_>>().map(drop),
        )
    }

    /// RENAME, over what has the new name.
    pub fn rename(&mut self, from: Place<'_>, to: Place<'_>) -> Result<(), Error> {
        let put = PutHandle { file: to.directory };
        let rename = Rename { from: from.name, to: to.name };
        self.on(
            from.directory,
            |_, compound| {
                compound.add(&SaveHandle).add(&put).add(&rename);
            },
            |_, results| {
                results.take::<SaveHandle>()?;
                results.take::<PutHandle>()?;
                results.take::<Rename<'_>>().map(drop)
            },
        )
    }

    /// All names in a directory; version 4 lists neither `.` nor `..`.
    pub fn list(&mut self, directory: FileHandle) -> Result<Vec<DirectoryEntry>, Error> {
        let mut listing = Listing::default();
        loop {
            let page = next_page(&listing, self.page_most());
            // A page borrows from the reply: what is kept of it is added inside.
            let added = std::cell::RefCell::new(listing);
            let end = self.on(
                directory,
                |_, compound| {
                    compound.add(&page);
                },
                |_, results| added.borrow_mut().add(&results.take::<ReadDirectory>()?.0),
            )?;
            listing = added.into_inner();
            if end {
                return Ok(listing.into_entries());
            }
        }
    }
}

/// What asks for the next page of a listing, of `most` bytes at most.
pub(super) fn next_page(listing: &Listing, most: u32) -> ReadDirectory {
    let (cookie, verifier) = listing.position();
    let (name_bytes, count, which) = (PAGE_NAME_BYTES, PAGE_BYTES.min(most), Attributes::OF_NAMES);
    ReadDirectory { cookie, verifier, name_bytes, count, which }
}
