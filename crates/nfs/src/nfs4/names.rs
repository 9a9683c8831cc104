//! What a blocking client does with names and small files.

use super::attributes::{Attributes, SetAttributes};
use super::client::Client;
use super::compound::{Compound, Results};
use super::identity::OpenFile;
use super::listing::ReadDirectory;
use super::opening::{
    BOTH_ACCESS, Claim, Close, ConfirmOpen, Lock, LockKind, Locker, Open, OpenHow, OpenOk,
    READ_ACCESS, StateOwner, TestLock, Unlock,
};
use super::operations::{
    Access, Allocate, Commit, CreateDirectory, GetAttributes, GetHandle, Lookup, PutHandle,
    PutRoot, Read, ReadOk, ReadPlus, Remove, Rename, ReturnDelegation, SaveHandle, SetAttributesOf,
    Write, WriteOk,
};
use super::request::Place;
use super::types::{FileHandle, Minor, Operation, Short, StateId};
use super::{Status, checked_data, checked_written};
use crate::Error;
use crate::nfs3::{Data, DirectoryEntry, Listing, Name, PAGE_BYTES, Stability, Verifier};
use plimsoll_transport::ByteRange;
use std::sync::Arc;

/// Most bytes of names in a page.
pub(super) const PAGE_NAME_BYTES: u32 = 8 * 1024;
/// The attributes of files.
pub(super) const OF_FILES: GetAttributes = GetAttributes { which: Attributes::OF_FILES };

impl Client {
    /// Calls a compound about one file.
    fn on<R>(
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

    /// SETATTR of the size of an open file, in bytes.
    pub fn set_size(&mut self, file: &OpenFile, size: u64) -> Result<(), Error> {
        let attributes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.on(
            file.handle,
            |_, c| {
                c.add(&SetAttributesOf { state: file.state_id(), attributes });
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

    /// OPEN for reading of a file that exists.
    pub fn open(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(Arc<OpenFile>, Attributes), Error> {
        self.open_with(directory, name, READ_ACCESS, OpenHow::Existing)
    }

    /// OPEN for reading and writing.
    pub fn open_to_write(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        how: OpenHow,
    ) -> Result<(Arc<OpenFile>, Attributes), Error> {
        self.open_with(directory, name, BOTH_ACCESS, how)
    }

    fn open_with(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        share: u32,
        how: OpenHow,
    ) -> Result<(Arc<OpenFile>, Attributes), Error> {
        let (identity, access) = (self.identity().clone(), self.access(share));
        // A new one for each try: a refused one has been numbered by a server of 4.0, or has not.
        let owner = std::cell::Cell::new(identity.next_owner());
        let (ok, found) = self.on(
            directory,
            |client, compound| {
                owner.set(identity.next_owner());
                let (owner, claim) = (owner.get(), Claim::Name(name));
                let owner = owner.for_client(client);
                compound.add(&Open { sequence: 0, access, deny: 0, owner, how, claim });
                compound.add(&GetHandle).add(&OF_FILES);
            },
            |_, results| {
                let ok = results.take::<Open<'_>>()?;
                // Whatever is said of these, the file is open, and is not opened again.
                let found = match results.take_last::<GetHandle>()? {
                    Ok(handle) => Ok((handle, results.take_last::<GetAttributes>()?.ok())),
                    Err(status) => Err(status),
                };
                Ok((ok, found))
            },
        )?;
        let (handle, attributes) = match found {
            Ok(found) => found,
            Err(status) => {
                let _ = self.close_by_name(directory, name, &ok);
                return Err(Error::Nfs4 { operation: Operation::GetHandle, status });
            }
        };
        let file = self.opened(handle, share, owner.get(), &ok)?;
        match attributes.map_or_else(|| self.attributes(handle), Ok) {
            Ok(attributes) => Ok((file, attributes)),
            Err(error) => {
                let _ = self.close(&file);
                Err(error)
            }
        }
    }

    /// Closes a file whose handle the server has refused after its OPEN: it is found by its name.
    fn close_by_name(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        ok: &OpenOk,
    ) -> Result<(), Error> {
        let minor = self.minor();
        let (lookup, mut state, mut sequence) = (Lookup { name }, ok.state.in_calls(minor), 0);
        let mut confirm = None;
        if minor == Minor::V0 {
            sequence = 1;
            if ok.must_confirm(minor) {
                confirm = Some(ConfirmOpen { state, sequence });
                // A state counts its changes, and confirming is one (RFC 7530, section 9.1.4.2).
                state.sequence = state.sequence.wrapping_add(1);
                sequence += 1;
            }
        }
        let close = Close { sequence, state };
        let given = ok.delegation.0.map(|given| ReturnDelegation { state: given.in_calls(minor) });
        self.on(
            directory,
            |_, c| {
                c.add(&lookup);
                if let Some(confirm) = &confirm {
                    c.add(confirm);
                }
                c.add(&close);
                if let Some(given) = &given {
                    c.add(given);
                }
            },
            |_, r| {
                r.take::<Lookup<'_>>()?;
                if confirm.is_some() {
                    r.take::<ConfirmOpen>()?;
                }
                r.take::<Close>()?;
                match given {
                    Some(_) => r.take_last::<ReturnDelegation>().map(drop),
                    None => Ok(()),
                }
            },
        )
    }

    /// CLOSE.
    pub fn close(&mut self, file: &OpenFile) -> Result<(), Error> {
        if !file.is_open() {
            return Ok(());
        }
        let minor = self.minor();
        self.on(
            file.handle,
            |_, c| {
                c.add(&file.close(minor));
            },
            |_, r| r.take::<Close>().map(drop),
        )
    }

    /// READ of at most `count` bytes (64 KiB at most), and whether the file ends after them. Fewer
    /// may come.
    pub fn read(
        &mut self,
        file: &OpenFile,
        offset: u64,
        count: u32,
    ) -> Result<(Vec<u8>, bool), Error> {
        let count = count.min(self.read_most());
        self.on(
            file.handle,
            |_, c| {
                c.add(&Read { state: file.state_id(), offset, count });
            },
            |_, results| {
                let ok: ReadOk<'_> = results.take::<Read>()?;
                Ok((checked_data(&ok, count)?.to_vec(), ok.end_of_file))
            },
        )
    }

    /// READ_PLUS: the same, and holes do not come over the wire; READ where the server does not have
    /// it. An answer without any bytes is asked for by READ once more: NFS-Ganesha 4.3 gives no
    /// others, and says that every file ends there.
    pub fn read_plus(
        &mut self,
        file: &OpenFile,
        offset: u64,
        count: u32,
    ) -> Result<(Vec<u8>, bool), Error> {
        let count = count.min(self.read_most());
        let read = self.on(
            file.handle,
            |_, c| {
                c.add(&ReadPlus { state: file.state_id(), offset, count });
            },
            |_, results| {
                let (ok, mut bytes) = (results.take::<ReadPlus>()?, Vec::new());
                ok.append(offset, count, &mut bytes)?;
                Ok((bytes, ok.end_of_file))
            },
        );
        match read {
            Err(Error::Nfs4 { status: Status::NotSupported | Status::Illegal, .. }) => {}
            Ok((bytes, _)) if bytes.is_empty() => {}
            other => return other,
        }
        self.read(file, offset, count)
    }

    /// ALLOCATE: space for a range, in bytes.
    pub fn allocate(&mut self, file: &OpenFile, offset: u64, length: u64) -> Result<(), Error> {
        if self.minor() < Minor::V2 {
            let (operation, status) = (Operation::Allocate, Status::NotSupported);
            return Err(Error::Nfs4 { operation, status });
        }
        self.on(
            file.handle,
            |_, c| {
                c.add(&Allocate { state: file.state_id(), offset, length });
            },
            |_, results| results.take::<Allocate>(),
        )
    }

    /// WRITE of at most 64 KiB of `data`: bytes written, which may be fewer, and the verifier.
    pub fn write(
        &mut self,
        file: &OpenFile,
        offset: u64,
        stability: Stability,
        data: &[u8],
    ) -> Result<(u32, Verifier), Error> {
        let data = &data[..data.len().min(self.write_most() as usize)];
        let ok: WriteOk = self.on(
            file.handle,
            |_, c| {
                let state = file.state_id();
                c.add(&Write { state, offset, stability, data: Data(data) });
            },
            |_, results| results.take::<Write<'_>>(),
        )?;
        checked_written(&ok, data.len() as u32, stability)?;
        Ok((ok.count, ok.verifier))
    }

    /// COMMIT of the whole file.
    pub fn commit(&mut self, file: FileHandle) -> Result<Verifier, Error> {
        let commit = Commit { offset: 0, count: 0 };
        self.on(
            file,
            |_, c| {
                c.add(&commit);
            },
            |_, r| r.take::<Commit>(),
        )
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

    /// LOCK of a range of bytes: what it is unlocked by. NFS4ERR_DENIED where somebody else has it.
    pub fn lock(
        &mut self,
        file: &OpenFile,
        kind: LockKind,
        bytes: ByteRange,
        owner: &[u8],
    ) -> Result<StateId, Error> {
        let ByteRange { offset, length } = bytes;
        let minor = self.minor();
        let sequence = if minor == Minor::V0 { file.next_sequence() } else { 0 };
        self.on(
            file.handle,
            |client, compound| {
                let (open, owner) = (file.state_id(), StateOwner { client, owner: Short(owner) });
                let (open_sequence, lock_sequence) = (sequence, 0);
                let locker = Locker::New { open_sequence, open, lock_sequence, owner };
                compound.add(&Lock { kind, reclaim: false, offset, length, locker });
            },
            |_, results| Ok(results.take::<Lock<'_>>()?.in_calls(minor)),
        )
    }

    /// LOCKU of a range, as the first thing after its LOCK.
    pub fn unlock(
        &mut self,
        file: FileHandle,
        state: StateId,
        kind: LockKind,
        bytes: ByteRange,
    ) -> Result<(), Error> {
        let ByteRange { offset, length } = bytes;
        let sequence = u32::from(self.minor() == Minor::V0);
        let unlock = Unlock { kind, sequence, state, offset, length };
        self.on(
            file,
            |_, c| {
                c.add(&unlock);
            },
            |_, r| r.take::<Unlock>().map(drop),
        )
    }

    /// LOCKT: whether a range could be locked; NFS4ERR_DENIED if not.
    pub fn test_lock(
        &mut self,
        file: FileHandle,
        kind: LockKind,
        bytes: ByteRange,
        owner: &[u8],
    ) -> Result<(), Error> {
        let ByteRange { offset, length } = bytes;
        self.on(
            file,
            |client, compound| {
                let owner = StateOwner { client, owner: Short(owner) };
                compound.add(&TestLock { kind, offset, length, owner });
            },
            |_, results| results.take::<TestLock<'_>>(),
        )
    }
}

/// What asks for the next page of a listing, of `most` bytes at most.
pub(super) fn next_page(listing: &Listing, most: u32) -> ReadDirectory {
    let (cookie, verifier) = listing.position();
    let (name_bytes, count, which) = (PAGE_NAME_BYTES, PAGE_BYTES.min(most), Attributes::OF_NAMES);
    ReadDirectory { cookie, verifier, name_bytes, count, which }
}
