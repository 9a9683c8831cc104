//! Calls of a pipeline: the compounds that they are, and what their replies mean.

mod files;

pub(super) use files::{KeptPlace, Rest, Transfer};

use super::attributes::{Attributes, SetAttributes};
use super::compound::{Compound, Results};
use super::identity::{Identity, OpenFile, OwnerName};
use super::listing::{PageEntry, ReadDirectory};
use super::names::{OF_FILES, next_page};
use super::opening::{BOTH_ACCESS, Close, Lock, LockKind, Locker, OpenHow, READ_ACCESS, Unlock};
use super::operations::{
    Access, Commit, CreateDirectory, GetAttributes, GetHandle, Lookup, PutHandle, Read, Remove,
    Rename, SaveHandle, SetAttributesOf, Verify, WriteHead, WriteOk,
};
use super::types::{FileHandle, Minor, StateId};
use super::{checked_data, checked_written};
use crate::Error;
use crate::nfs3::{FileType, Listing, Name, Page, Stability};
use files::Opened;
use plimsoll_transport::ByteRange;
use std::sync::Arc;

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The directory.
    pub directory: FileHandle,
    /// The name in it.
    pub name: Name<'a>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// READ of an open file, or of any by [`StateId::ANONYMOUS`].
    Read {
        /// The file.
        file: FileHandle,
        /// As what it is open.
        state: StateId,
        /// Offset in bytes.
        offset: u64,
        /// Bytes wanted.
        count: u32,
    },
    /// WRITE of as many bytes as [`Exchange::payload`](plimsoll_transport::Exchange::payload) gives.
    Write {
        /// The file.
        file: FileHandle,
        /// As what it is open.
        state: StateId,
        /// Offset in bytes.
        offset: u64,
        /// Bytes to write.
        count: u32,
        /// How safe they must be.
        stability: Stability,
    },
    /// COMMIT of the whole file.
    Commit(FileHandle),
    /// GETATTR.
    Attributes(FileHandle),
    /// ACCESS: these rights, as bits.
    Access(FileHandle, u32),
    /// LOCK of bytes of an open file.
    Lock {
        /// The file.
        file: &'a OpenFile,
        /// Against whom.
        kind: LockKind,
        /// The bytes; a length of all ones is to the end, wherever that is (RFC 8881, section 18.10.3).
        bytes: ByteRange,
        /// Who has locks on it already; `None`: a new owner.
        owner: Option<LockOwner>,
    },
    /// LOCKU of bytes of an open file.
    Unlock {
        /// The file.
        file: FileHandle,
        /// The bytes of its LOCK.
        bytes: ByteRange,
        /// Who has locked them.
        owner: LockOwner,
    },
    /// SETATTR of what needs no open file.
    SetAttributes(FileHandle, SetAttributes),
    /// LOOKUP.
    Lookup(Place<'a>),
    /// OPEN for reading.
    Open(Place<'a>),
    /// OPEN for reading and writing of a file that is made, or kept as `how` says.
    Create(Place<'a>, OpenHow),
    /// CLOSE.
    Close(&'a OpenFile),
    /// CREATE of a directory.
    MakeDirectory(Place<'a>, SetAttributes),
    /// REMOVE of a file or of an empty directory.
    Remove(Place<'a>),
    /// REMOVE of what is an empty directory, and of nothing else.
    RemoveDirectory(Place<'a>),
    /// RENAME, over what has the new name.
    Rename(Place<'a>, Place<'a>),
    /// READDIR: one page.
    List(FileHandle, &'a Listing),
    /// A small file whole: OPEN, WRITE and CLOSE.
    Put {
        /// Where.
        place: Place<'a>,
        /// Whether it is made, and with which attributes.
        how: OpenHow,
        /// Its bytes, given as those of a WRITE.
        count: u32,
        /// How safe they must be.
        stability: Stability,
    },
    /// A small file whole: OPEN, READ and CLOSE.
    Get {
        /// Where.
        place: Place<'a>,
        /// Most bytes wanted.
        count: u32,
    },
}

/// Owner of locks on an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOwner {
    /// What its calls name its locks by, as of its last LOCK or LOCKU.
    pub state: StateId,
    /// Number of its next call (4.0): its calls before.
    pub sequence: u32,
}

/// Result of a call of version 4.
pub type Done<'a> = crate::Done<'a, Attributes, Other<'a>>;

/// Results that versions 2 and 3 do not have.
#[derive(Debug)]
pub enum Other<'a> {
    /// LOCK and LOCKU: the state of the owner's locks.
    Locks(StateId),
    /// LOOKUP, and a new directory.
    Found(Box<(FileHandle, Attributes)>),
    /// OPEN and a new file.
    Opened(Arc<OpenFile>, Box<Attributes>),
    /// READDIR.
    Page(Page<PageEntry<'a>>),
}

/// What a call in flight asked for.
#[derive(Debug, Default)]
pub(super) enum ExpectedReply {
    #[default]
    Nothing,
    Read(u32),
    Write(u32, Stability),
    Commit,
    Attributes,
    Access,
    Lock,
    Unlock,
    SetAttributes,
    Lookup,
    Open(u32, OwnerName),
    /// The file is open, and its open is confirmed (4.0), or asked for its attributes once more.
    Opened(Box<Opened>),
    Close,
    MakeDirectory,
    Remove,
    RemoveDirectory,
    Rename,
    List,
    /// A small file: in 4.0 this opens it alone.
    Whole(Transfer),
    /// What is left to be done with a file that is open.
    Rest,
}

impl ExpectedReply {
    /// Whether something is open at the server for this call: it is not made anew.
    pub fn follows_an_open(&self) -> bool {
        matches!(self, ExpectedReply::Opened(_) | ExpectedReply::Rest)
    }
}

/// What a reply leads to.
pub(super) enum Step<'a> {
    Done(Done<'a>),
    /// Another compound, which has been built.
    Next(ExpectedReply),
    /// The same, for later: the server asks for that.
    Later(ExpectedReply),
}

impl Step<'_> {
    fn of(expected: ExpectedReply, is_later: bool) -> Self {
        if is_later { Step::Later(expected) } else { Step::Next(expected) }
    }
}

/// Where a compound is built, and as whom.
pub(super) struct Building<'c, 'b> {
    pub identity: &'c Identity,
    pub client: u64,
    pub compound: Compound<'b>,
    /// Longest page of names in bytes.
    pub page_most: u32,
    /// Where the data of a WRITE belong, and their bytes.
    pub data_at: Option<(usize, u32)>,
    /// What is left to be done with a file, where that is more than one compound.
    pub rest: &'b mut Option<Rest>,
    /// Where the file is that the call opens.
    pub place: &'b mut KeptPlace,
}

impl Building<'_, '_> {
    fn put(&mut self, file: FileHandle) {
        self.compound.add(&PutHandle { file });
    }

    fn write(&mut self, state: StateId, offset: u64, count: u32, stability: Stability) {
        self.compound.add(&WriteHead { state, offset, stability, count });
        self.data_at = Some((self.compound.length(), count));
    }

    /// Builds the (first) compound of a request.
    #[inline]
    pub fn request(&mut self, request: &Request<'_>) -> ExpectedReply {
        match *request {
            Request::Read { file, state, offset, count } => {
                self.put(file);
                self.compound.add(&Read { state, offset, count });
                ExpectedReply::Read(count)
            }
            Request::Write { file, state, offset, count, stability } => {
                self.put(file);
                self.write(state, offset, count, stability);
                ExpectedReply::Write(count, stability)
            }
            Request::Commit(file) => {
                self.put(file);
                self.compound.add(&Commit { offset: 0, count: 0 });
                ExpectedReply::Commit
            }
            ref other => self.name_request(other),
        }
    }

    fn name_request(&mut self, request: &Request<'_>) -> ExpectedReply {
        match request {
            Request::Attributes(file) => {
                self.put(*file);
                self.compound.add(&OF_FILES);
                ExpectedReply::Attributes
            }
            Request::Access(file, rights) => {
                self.put(*file);
                self.compound.add(&Access { rights: *rights });
                ExpectedReply::Access
            }
            Request::Lock { file, kind, bytes, owner } => {
                self.put(file.handle);
                let counts = self.identity.minor() == Minor::V0;
                let name;
                let locker = match owner {
                    Some(LockOwner { state, sequence }) => {
                        let sequence = if counts { *sequence } else { 0 };
                        Locker::Known { state: *state, sequence }
                    }
                    None => {
                        name = self.identity.next_owner();
                        Locker::New {
                            open_sequence: if counts { file.next_sequence() } else { 0 },
                            open: file.state_id(),
                            lock_sequence: 0,
                            owner: name.for_client(self.client),
                        }
                    }
                };
                let (kind, reclaim) = (*kind, false);
                let ByteRange { offset, length } = *bytes;
                self.compound.add(&Lock { kind, reclaim, offset, length, locker });
                ExpectedReply::Lock
            }
            Request::Unlock { file, bytes, owner: LockOwner { state, sequence } } => {
                self.put(*file);
                let counts = self.identity.minor() == Minor::V0;
                let sequence = if counts { *sequence } else { 0 };
                let (kind, state) = (LockKind::Write, *state);
                let ByteRange { offset, length } = *bytes;
                self.compound.add(&Unlock { kind, sequence, state, offset, length });
                ExpectedReply::Unlock
            }
            Request::SetAttributes(file, attributes) => {
                self.put(*file);
                let (state, attributes) = (StateId::ANONYMOUS, *attributes);
                self.compound.add(&SetAttributesOf { state, attributes });
                ExpectedReply::SetAttributes
            }
            Request::Lookup(Place { directory, name }) => {
                self.put(*directory);
                self.compound.add(&Lookup { name: *name }).add(&GetHandle).add(&OF_FILES);
                ExpectedReply::Lookup
            }
            Request::Open(place) => {
                let owner = self.open(place, READ_ACCESS, OpenHow::Existing);
                self.compound.add(&OF_FILES);
                ExpectedReply::Open(READ_ACCESS, owner)
            }
            Request::Create(place, how) => {
                let owner = self.open(place, BOTH_ACCESS, *how);
                self.compound.add(&OF_FILES);
                ExpectedReply::Open(BOTH_ACCESS, owner)
            }
            Request::Close(file) => {
                self.put(file.handle);
                self.compound.add(&file.close(self.identity.minor()));
                ExpectedReply::Close
            }
            Request::MakeDirectory(Place { directory, name }, attributes) => {
                self.put(*directory);
                let create = CreateDirectory { name: *name, attributes: *attributes };
                self.compound.add(&create).add(&GetHandle).add(&OF_FILES);
                ExpectedReply::MakeDirectory
            }
            Request::Remove(Place { directory, name }) => {
                self.put(*directory);
                self.compound.add(&Remove { name: *name });
                ExpectedReply::Remove
            }
            Request::RemoveDirectory(Place { directory, name }) => {
                self.put(*directory);
                let kind = Some(FileType::Directory);
                let attributes = Attributes { kind, ..Attributes::default() };
                self.compound.add(&Lookup { name: *name }).add(&Verify { attributes });
                self.put(*directory);
                self.compound.add(&Remove { name: *name });
                ExpectedReply::RemoveDirectory
            }
            Request::Rename(from, to) => {
                self.put(from.directory);
                self.compound.add(&SaveHandle);
                self.put(to.directory);
                self.compound.add(&Rename { from: from.name, to: to.name });
                ExpectedReply::Rename
            }
            Request::List(directory, listing) => {
                self.put(*directory);
                self.compound.add(&next_page(listing, self.page_most));
                ExpectedReply::List
            }
            Request::Put { place, how, count, stability } => {
                self.whole(place, Transfer::Put(*count, *stability), *how)
            }
            Request::Get { place, count } => {
                self.whole(place, Transfer::Get(*count), OpenHow::Existing)
            }
            Request::Read { .. } | Request::Write { .. } | Request::Commit(_) => {
                ExpectedReply::Nothing
            }
        }
    }

    /// What a reply means for what was asked for; another compound may be built for it.
    pub fn reply<'a>(
        &mut self,
        expected: ExpectedReply,
        results: &mut Results<'a>,
    ) -> Result<Step<'a>, Error> {
        let expected = match expected {
            ExpectedReply::Opened(opened) => return self.opened_reply(results, *opened),
            ExpectedReply::Rest => return self.rest_reply(results),
            ExpectedReply::Rename => {
                results.take::<PutHandle>()?;
                results.take::<SaveHandle>()?;
                ExpectedReply::Rename
            }
            other => other,
        };
        results.take::<PutHandle>()?;
        Ok(Step::Done(match expected {
            ExpectedReply::Read(count) => read(results, count)?,
            ExpectedReply::Write(count, stability) => write(results, count, stability)?,
            ExpectedReply::Commit => Done::Commit { verifier: results.take::<Commit>()? },
            ExpectedReply::Attributes => {
                Done::Attributes(Box::new(results.take::<GetAttributes>()?))
            }
            ExpectedReply::Access => Done::Access(results.take::<Access>()?.rights),
            ExpectedReply::Lock => self.locks(results.take::<Lock<'_>>()?),
            ExpectedReply::Unlock => self.locks(results.take::<Unlock>()?),
            ExpectedReply::SetAttributes => {
                results.take::<SetAttributesOf>().map(|_| Done::Changed)?
            }
            ExpectedReply::Lookup => {
                results.take::<Lookup<'_>>()?;
                found(results)?
            }
            ExpectedReply::MakeDirectory => {
                results.take::<CreateDirectory<'_>>()?;
                found(results)?
            }
            ExpectedReply::Close => results.take::<Close>().map(|_| Done::Changed)?,
            ExpectedReply::RemoveDirectory => {
                results.take::<Lookup<'_>>()?;
                results.take::<Verify>()?;
                results.take::<PutHandle>()?;
                results.take::<Remove<'_>>().map(|_| Done::Changed)?
            }
            ExpectedReply::Remove => results.take::<Remove<'_>>().map(|_| Done::Changed)?,
            ExpectedReply::Rename => results.take::<Rename<'_>>().map(|_| Done::Changed)?,
            ExpectedReply::List => Done::Other(Other::Page(results.take::<ReadDirectory>()?.0)),
            ExpectedReply::Open(access, owner) => return self.opened(results, access, owner),
            ExpectedReply::Whole(transfer) => return self.whole_reply(results, transfer),
            ExpectedReply::Nothing | ExpectedReply::Opened(_) | ExpectedReply::Rest => {
                return Err(Error::UnknownTransaction(0));
            }
        }))
    }

    fn locks<'a>(&self, state: StateId) -> Done<'a> {
        Done::Other(Other::Locks(state.in_calls(self.identity.minor())))
    }
}

fn found<'a>(results: &mut Results<'_>) -> Result<Done<'a>, Error> {
    let found = (results.take::<GetHandle>()?, results.take::<GetAttributes>()?);
    Ok(Done::Other(Other::Found(Box::new(found))))
}

fn read<'a>(results: &mut Results<'a>, count: u32) -> Result<Done<'a>, Error> {
    let ok = results.take::<Read>()?;
    Ok(Done::Read { data: checked_data(&ok, count)?, end_of_file: ok.end_of_file })
}

fn write<'a>(
    results: &mut Results<'_>,
    count: u32,
    stability: Stability,
) -> Result<Done<'a>, Error> {
    let ok: WriteOk = results.take::<WriteHead>()?;
    checked_written(&ok, count, stability)?;
    let WriteOk { count, committed, verifier } = ok;
    Ok(Done::Write { count, committed, verifier })
}
