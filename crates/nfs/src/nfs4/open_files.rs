//! What a blocking client does with files that it opens.

use super::attributes::{Attributes, SetAttributes};
use super::client::Client;
use super::identity::OpenFile;
use super::names::OF_FILES;
use super::opening::{
    BOTH_ACCESS, Claim, Close, Lock, LockKind, Locker, Open, OpenHow, READ_ACCESS, StateOwner,
    TestLock, Unlock,
};
use super::operations::{
    Allocate, Commit, GetAttributes, GetHandle, Lookup, Read, ReadOk, ReadPlus, SetAttributesOf,
    Write, WriteOk,
};
use super::request::Rest;
use super::types::{FileHandle, Minor, Operation, Short, StateId};
use super::{Status, checked_data, checked_written};
use crate::Error;
use crate::nfs3::{Data, Name, Stability, Verifier};
use plimsoll_transport::ByteRange;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

impl Client {
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
        let owner = Cell::new(identity.next_owner());
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
                let refused = Error::Nfs4 { operation: Operation::GetHandle, status };
                let rest = Rest::without_handle(&ok, self.minor(), refused.clone());
                let _ = self.close_by_name(directory, name, rest);
                return Err(refused);
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
        rest: Rest,
    ) -> Result<(), Error> {
        let (minor, lookup, rest) = (self.minor(), Lookup { name }, RefCell::new(rest));
        self.on(
            directory,
            |_, c| {
                let rest = rest.borrow();
                c.add(&lookup);
                let confirmed = rest.add_confirmation(c);
                rest.add_end(c, minor, confirmed);
            },
            |_, r| {
                r.take::<Lookup<'_>>()?;
                rest.borrow_mut().follow(r).map(drop)
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
