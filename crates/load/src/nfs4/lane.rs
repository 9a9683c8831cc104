//! How operations become compounds of version 4.

use super::share::Server;
use super::{Directories, Nfs4File};
use crate::nfs::calls::About;
use crate::nfs::directories::Way;
use crate::nfs::failures::{lane_dead, op_error};
use crate::nfs::namespace::{DIRECTORY_MODE, FILE_MODE, entry};
use crate::nfs::parts::{EVERY_RIGHT, last, name};
use crate::nfs::stable::Flush;
use crate::op::{Attributes, Found, LockMode, NewAttribute, Node, Op, OpError, Whole};
use crate::open_files::LaneFiles;
use crate::paths::Paths;
use crate::share::{LaneDead, LaneRequest};
use crate::wire::{
    Call, Mended, OperationCall, Outcome, Reply, TransferSizes, Wire, failed, new_path_of,
    not_open, path_of, wrong_size,
};
use plimsoll_model::{ErrorKind, OpKind, Stability};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{self, FileType, Listing, Status};
use plimsoll_nfs::nfs4::{
    self, Done, FileHandle, LockKind, Nfs4, OpenHow, Other, Place, Request, SetAttributes, StateId,
    Time,
};
use std::sync::Arc;

/// What turns operations into calls, for one lane.
pub(super) struct Nfs4Wire {
    server: Arc<Server>,
    held: Arc<Directories>,
    files: LaneFiles<Nfs4File>,
    paths: Arc<Paths>,
    sizes: TransferSizes,
    /// By the operation's tag.
    steps: Box<[Steps]>,
    /// Whether what a server lost in a restart is written again.
    write_again: bool,
}

/// How far an operation has come.
struct Steps {
    next: Next,
    way: Way<FileHandle>,
    listing: Listing,
    /// The file that is closed.
    closing: Option<Arc<Nfs4File>>,
    flush: Flush,
}

/// What its next call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// READ, WRITE or COMMIT of the open file.
    Transfer,
    /// READ or WRITE of this one, which is longer than one call: as nobody's open file.
    Anonymous(FileHandle),
    /// SETATTR of this one.
    Set(FileHandle),
    /// A small file whole, in one compound.
    Whole,
    /// LOOKUP of the next directory on the way.
    Resolve,
    /// What it is about.
    Name,
    /// LOOKUP of a file that was made empty.
    Made,
    /// CLOSE.
    Close,
}

impl Nfs4Wire {
    pub fn new(
        server: &Arc<Server>,
        held: &Arc<Directories>,
        files: LaneFiles<Nfs4File>,
        request: &LaneRequest,
        sizes: TransferSizes,
        write_again: bool,
    ) -> Self {
        let steps = || Steps {
            next: Next::Name,
            way: Way::new(held),
            listing: Listing::default(),
            closing: None,
            flush: Flush::default(),
        };
        let steps = (0..request.depth.get()).map(|_| steps()).collect();
        let (server, held, paths) = (server.clone(), held.clone(), request.paths.clone());
        Nfs4Wire { server, held, files, paths, sizes, steps, write_again }
    }

    /// What comes once the directory is known: a small file that goes in one call is transferred at
    /// once.
    fn in_directory(&self, op: &Op) -> Next {
        let most = match op {
            Op::Put(..) => self.sizes.write,
            Op::Get(_) => self.sizes.read,
            _ => return Next::Name,
        };
        if whole_of(op).is_some_and(|whole| whole.length <= most) {
            Next::Whole
        } else {
            Next::Name
        }
    }

    /// Begins with what is known of a path. Whether bytes are transferred at once.
    fn begin_at(&mut self, tag: u16, op: &Op, path: Arc<str>) -> bool {
        let steps = &mut self.steps[usize::from(tag)];
        steps.listing = Listing::default();
        let done = steps.way.begin(&self.held, op, path);
        let next = if done { self.in_directory(op) } else { Next::Resolve };
        self.steps[usize::from(tag)].next = next;
        next == Next::Whole
    }

    /// A directory on the way was found.
    fn resolved(
        &mut self,
        op: &Op,
        tag: u16,
        directory: FileHandle,
        attributes: &nfs4::Attributes,
    ) -> Result<Outcome, OpError> {
        let way = &mut self.steps[usize::from(tag)].way;
        if attributes.kind != Some(FileType::Directory) {
            let why = format!("'{}' is not a directory", way.part(op));
            return Err(failed(ErrorKind::NotPermitted, why));
        }
        let done = way.found(&self.held, op, directory);
        let next = if done { self.in_directory(op) } else { Next::Resolve };
        self.steps[usize::from(tag)].next = next;
        Ok(if next == Next::Whole { Outcome::Transfer } else { Outcome::GoOn })
    }

    /// What an operation does with a name that it found.
    fn found(
        &mut self,
        op: &Op,
        tag: u16,
        file: FileHandle,
        of: nfs4::Attributes,
    ) -> Result<Outcome, OpError> {
        let steps = &mut self.steps[usize::from(tag)];
        match op {
            Op::MakeDirectory(_) => {
                self.held.hold(&steps.way.path, file);
                Ok(Outcome::Found(None))
            }
            Op::SetAttribute(..) => {
                steps.next = Next::Set(file);
                Ok(Outcome::GoOn)
            }
            Op::Put(..) => {
                steps.next = Next::Anonymous(file);
                Ok(Outcome::Transfer)
            }
            Op::Get(whole) => {
                regular(&of)?;
                if of.size != Some(whole.length.into()) {
                    return Err(wrong_size(whole, of.size.unwrap_or_default()));
                }
                steps.next = Next::Anonymous(file);
                Ok(Outcome::Transfer)
            }
            _ => {
                let found = Attributes::from(About::from(of));
                Ok(Outcome::Found(Some(Found::Attributes(found))))
            }
        }
    }

    /// What a reply means for an operation on an open file.
    fn transferred(&mut self, of: OperationCall<'_>, done: Done<'_>) -> Result<Outcome, OpError> {
        let OperationCall { op, call } = of;
        let file = op.file().and_then(|file| self.files.get(file));
        let steps = &mut self.steps[usize::from(call.op)];
        match (done, file) {
            (Done::Other(Other::Locks(state)), Some(file)) => {
                file.locks().changed(op, state);
                Ok(Outcome::Found(None))
            }
            (Done::Write { count, .. }, _) if steps.next == Next::Whole && count < call.length => {
                let detail = format!("{count} of {} bytes were written", call.length);
                Err(failed(ErrorKind::Short, detail))
            }
            (done, file) => {
                let unstable = file.map(|file| &file.unstable);
                steps.flush.transferred(of, done, unstable, self.write_again)
            }
        }
    }

    /// A call of an operation that has a name.
    fn name_request(&mut self, of: OperationCall<'_>) -> Result<Option<Request<'_>>, OpError> {
        let OperationCall { op, call } = of;
        let steps = &self.steps[usize::from(call.op)];
        let directory = steps.way.directory;
        let mode = SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() };
        // If the reply to the same call was lost, the file is there, and was made by it: the names are in a
        // directory that the run made for itself.
        let how = if call.resent { OpenHow::Unchecked(mode) } else { OpenHow::Guarded(mode) };
        let place = |name| Place { directory, name };
        let named = || last(&steps.way.path).map(place);
        Ok(Some(match (steps.next, op) {
            (Next::Resolve, _) => Request::Lookup(place(name(steps.way.part(op))?)),
            // One WRITE that is stable is what a client's close comes to, too.
            (Next::Whole, Op::Put(..)) => Request::Put {
                place: named()?,
                how,
                count: call.length,
                stability: nfs3::Stability::FileSync,
            },
            // One byte more than none shows whether there are any.
            (Next::Whole, _) => Request::Get { place: named()?, count: call.length.max(1) },
            // Made empty, as it is longer than one call; then it is looked up and written.
            (Next::Name, Op::Put(..)) => Request::Put {
                place: named()?,
                how,
                count: 0,
                stability: nfs3::Stability::FileSync,
            },
            (_, Op::ReadDirectory(_)) => Request::List(directory, &steps.listing),
            (_, Op::Access(_)) => Request::Access(directory, EVERY_RIGHT),
            (_, Op::Create(_)) => Request::Create(named()?, how),
            (_, Op::Open(_)) => Request::Open(named()?),
            (_, Op::MakeDirectory(_)) => {
                let mode = Some(DIRECTORY_MODE);
                Request::MakeDirectory(named()?, SetAttributes { mode, ..SetAttributes::default() })
            }
            (_, Op::SetAttribute(Node::Directory(_), new)) => {
                Request::SetAttributes(directory, attributes(*new))
            }
            (_, Op::Rename(..)) => Request::Rename(named()?, place(last(&steps.way.to)?)),
            (_, Op::Remove(_)) => Request::Remove(named()?),
            (_, Op::RemoveDirectory(_)) => Request::RemoveDirectory(named()?),
            _ => Request::Lookup(named()?),
        }))
    }
}

impl Wire for Nfs4Wire {
    type Protocol = Nfs4;
    const COMMITS_AT_CLOSE: bool = true;

    fn does(&self, _: OpKind) -> bool {
        true
    }

    fn begin(&mut self, tag: u16, op: &Op) -> Result<bool, OpError> {
        if let Some(path) = path_of(&self.paths, op)? {
            if matches!(op, Op::Rename(..)) {
                self.steps[usize::from(tag)].way.to = new_path_of(&self.paths, op, &path)?;
            }
            return Ok(self.begin_at(tag, op, path));
        }
        let steps = &mut self.steps[usize::from(tag)];
        (steps.next, steps.flush) = (Next::Transfer, Flush::default());
        let Some(file) = op.file() else { return Ok(true) };
        let Some(open) = self.files.get(file) else { return Err(not_open(file)) };
        if matches!(op, Op::Close(_)) {
            (steps.next, steps.closing) = (Next::Close, Some(open.clone()));
            if !self.files.close(file) {
                return Err(not_open(file));
            }
            return Ok(false);
        }
        Ok(true)
    }

    #[inline]
    fn request(&mut self, of: OperationCall<'_>) -> Result<Option<Request<'_>>, OpError> {
        let OperationCall { op, call } = of;
        let steps = &mut self.steps[usize::from(call.op)];
        let Call { offset, length: count, .. } = *call;
        let (file, state) = match steps.next {
            Next::Transfer => {
                let Some(opened) = op.file().and_then(|file| self.files.get(file)) else {
                    return op.file().map_or(Ok(None), |file| Err(not_open(file)));
                };
                match op {
                    Op::Flush(_) if count == 0 => {
                        steps.flush.commit_begins(&opened.unstable);
                        return Ok(Some(Request::Commit(opened.open.handle)));
                    }
                    Op::GetAttributes(_) => {
                        return Ok(Some(Request::Attributes(opened.open.handle)));
                    }
                    Op::Lock(_, bytes, mode) => {
                        let locks = opened.locks();
                        if !locks.can_lock(bytes, *mode) {
                            let why = "it is locked already".to_owned();
                            return Err(failed(ErrorKind::Protocol, why));
                        }
                        let (file, owner) = (&*opened.open, locks.owner);
                        let kind = match mode {
                            LockMode::Shared => LockKind::Read,
                            LockMode::Exclusive => LockKind::Write,
                        };
                        return Ok(Some(Request::Lock { file, kind, bytes: *bytes, owner }));
                    }
                    Op::Unlock(_, bytes) => {
                        let locks = opened.locks();
                        let Some(owner) = locks.owner.filter(|_| locks.has(bytes)) else {
                            let why = "it is not locked".to_owned();
                            return Err(failed(ErrorKind::Protocol, why));
                        };
                        let file = opened.open.handle;
                        return Ok(Some(Request::Unlock { file, bytes: *bytes, owner }));
                    }
                    Op::SetAttribute(_, new) => {
                        let file = opened.open.handle;
                        return Ok(Some(Request::SetAttributes(file, attributes(*new))));
                    }
                    _ => (opened.open.handle, opened.open.state_id()),
                }
            }
            Next::Anonymous(file) => (file, StateId::ANONYMOUS),
            Next::Set(file) => {
                let Op::SetAttribute(_, new) = op else { return Ok(None) };
                return Ok(Some(Request::SetAttributes(file, attributes(*new))));
            }
            Next::Close => {
                let closing = self.steps[usize::from(call.op)].closing.as_ref();
                // What a restart of the server has closed need not be.
                let open = closing.filter(|file| file.open.is_open());
                return Ok(open.map(|file| Request::Close(&file.open)));
            }
            // The rest of a file that was not given whole, though it was asked for.
            Next::Whole if offset > 0 => {
                let why =
                    format!("{offset} bytes were transferred of {}", offset + u64::from(count));
                return Err(failed(ErrorKind::Short, why));
            }
            _ => return self.name_request(of),
        };
        let stability = match op {
            Op::Read(_) | Op::Get(_) => {
                return Ok(Some(Request::Read { file, state, offset, count }));
            }
            Op::Write(_, Stability::FileSync) | Op::Put(..) => nfs3::Stability::FileSync,
            Op::Write(_, Stability::DataSync) => nfs3::Stability::DataSync,
            // Also what was lost in a restart.
            _ => nfs3::Stability::Unstable,
        };
        Ok(Some(Request::Write { file, state, offset, count, stability }))
    }

    fn outcome<'a>(&mut self, of: OperationCall<'_>, done: Done<'a>) -> Result<Reply<'a>, OpError>
    where
        'a: 'a, // as in the trait, where it stands in a projection alone
    {
        let (op, tag) = (of.op, of.call.op);
        let next = self.steps[usize::from(tag)].next;
        let outcome = match (next, done) {
            (Next::Whole, Done::Read { data, end_of_file }) => {
                if let Some(whole) = whole_of(op)
                    && (data.len() != whole.length as usize || !end_of_file)
                {
                    let more = u64::from(!end_of_file);
                    return Err(wrong_size(whole, data.len() as u64 + more));
                }
                return Ok(Reply::Data(data, end_of_file));
            }
            (_, Done::Read { data, end_of_file }) => return Ok(Reply::Data(data, end_of_file)),
            (next, Done::Other(Other::Found(found))) => {
                let (file, of) = *found;
                match next {
                    Next::Resolve => self.resolved(op, tag, file, &of),
                    _ => self.found(op, tag, file, of),
                }
            }
            (_, Done::Other(Other::Opened(open, of))) => regular(&of).map(|()| {
                let file = self.files.open(Nfs4File::new(open));
                Outcome::Found(Some(Found::File(file)))
            }),
            (_, Done::Other(Other::Page(page))) => {
                let steps = &mut self.steps[usize::from(tag)];
                match steps.listing.add(&page).map_err(|e| op_error(&e))? {
                    false => Ok(Outcome::GoOn),
                    true => {
                        let entries = std::mem::take(&mut steps.listing).into_entries();
                        let entries = entries.iter().map(entry).collect();
                        Ok(Outcome::Found(Some(Found::Entries(entries))))
                    }
                }
            }
            (Next::Name, Done::Changed) if matches!(op, Op::Put(..)) => {
                self.steps[usize::from(tag)].next = Next::Made;
                Ok(Outcome::GoOn)
            }
            (_, Done::Changed) => {
                let steps = &mut self.steps[usize::from(tag)];
                steps.closing = None;
                if matches!(op, Op::RemoveDirectory(_)) {
                    self.held.forget(&steps.way.path);
                }
                Ok(Outcome::Found(None))
            }
            (_, done) => self.transferred(of, done),
        };
        outcome.map(Reply::from)
    }

    fn refused(&mut self, of: OperationCall<'_>, error: &Error) -> Result<Outcome, OpError> {
        let next = self.steps[usize::from(of.call.op)].next;
        let is_later = matches!(error, Error::Nfs4 { status, .. } if status.is_later());
        if let (Op::Lock(file, ..) | Op::Unlock(file, _), false) = (of.op, Self::is_lost(error))
            && let Some(file) = self.files.get(*file)
        {
            file.locks().refused(is_later);
        }
        if is_later {
            return Ok(Outcome::Later);
        }
        match (next, of.op, error.status()) {
            (Next::Name, Op::LookupIfThere(_), Some(Status::NoEntry)) => Ok(Outcome::Found(None)),
            // The call was done before the connection broke, and its reply was lost. The names are in a
            // directory that the run made for itself, so nobody else has made or removed them.
            (Next::Name, Op::MakeDirectory(_), Some(Status::Exists)) if of.call.resent => {
                Ok(Outcome::Found(None))
            }
            (
                Next::Name,
                Op::Remove(_) | Op::RemoveDirectory(_) | Op::Rename(..),
                Some(Status::NoEntry),
            ) if of.call.resent => Ok(Outcome::Found(None)),
            // It ended with the server's last life, or in the try before.
            (Next::Close, ..) if of.call.resent => Ok(Outcome::Found(None)),
            _ => Err(op_error(error)),
        }
    }

    fn dead(error: &Error) -> LaneDead {
        lane_dead(error)
    }

    fn is_lost(error: &Error) -> bool {
        matches!(error, Error::Nfs4 { status, .. } if status.is_session_lost()) || error.is_lost()
    }

    fn mended(&self, mended: &Mended<'_>) {
        let site = &self.server.site;
        site.oddities.mended(&site.given, mended);
    }

    fn farewell(&self, protocol: &mut Nfs4, waits: u64) {
        let site = &self.server.site;
        site.oddities.waited(&site.given, waits);
        let surplus = protocol.take_surplus();
        if surplus > 0 {
            site.oddities.surplus(&site.given, "COMPOUND", surplus);
        }
    }
}

fn whole_of(op: &Op) -> Option<&Whole> {
    match op {
        Op::Put(whole, _) | Op::Get(whole) => Some(whole),
        _ => None,
    }
}

fn regular(of: &nfs4::Attributes) -> Result<(), OpError> {
    match of.kind {
        Some(FileType::Regular) | None => Ok(()),
        Some(kind) => {
            Err(failed(ErrorKind::NotPermitted, format!("it is a {kind}, not a regular file")))
        }
    }
}

fn attributes(new: NewAttribute) -> SetAttributes {
    let none = SetAttributes::default();
    match new {
        NewAttribute::Mode(mode) => SetAttributes { mode: Some(mode.into()), ..none },
        NewAttribute::Modified(seconds) => {
            let modified = Some(Time { seconds: seconds.into(), nanoseconds: 0 });
            SetAttributes { modified, ..none }
        }
    }
}
