//! How operations become SMB requests.

use super::failures::{lane_dead, op_error};
use super::namespace::{MOST_ENTRIES, entry, kind};
use super::share::OpenFiles;
use super::site::Site;
use crate::op::{Attributes, FileId, Found, NewAttribute, Op, OpError};
use crate::open_files::{Known, LaneFiles};
use crate::paths::Paths;
use crate::share::{LaneDead, LaneRequest};
use crate::wire::{
    OperationCall, Outcome, Reply, TransferSizes, Wire, new_path_of, not_open, path_of, wrong_size,
};
use plimsoll_model::{OpKind, Stability};
use plimsoll_smb::{
    Access, CreateHow, Done, Error, FileId as Handle, Listing, NtStatus, Request, Smb2,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What turns operations into requests, for one lane. It has its own handles of the share's files:
/// of those that were open when it was made, and of others from their first use on. When the lane
/// ends, the server closes them with the connection.
pub(super) struct SmbWire {
    site: Arc<Site>,
    known: Known<Handle>,
    files: LaneFiles<(String, Access)>,
    /// Of files opened later, and how many the share had closed when all of them were open.
    later: HashMap<FileId, Handle>,
    closed: u64,
    paths: Arc<Paths>,
    /// Whether small files go whole.
    whole: (bool, bool),
    /// By the operation's tag.
    steps: Box<[Steps]>,
}

/// How far an operation has come.
struct Steps {
    next: Next,
    path: String,
    /// The path that it gets.
    to: String,
    listing: Listing,
    /// What it failed with, once what it has opened is closed.
    failed: Option<OpError>,
}

/// What its next call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// What it is about.
    Itself,
    /// Opening its file, which another lane has opened.
    Open,
    /// Closing a handle that is not needed; then its bytes are transferred.
    CloseSpare(Handle),
    /// The next names of its directory.
    List(Handle),
    /// Closing its directory; then it has ended.
    CloseDirectory(Handle),
    /// Closing its file; then it has ended.
    Close(Handle),
    /// Nothing.
    End,
}

impl SmbWire {
    /// `known` are the lane's own handles of the files that are open.
    pub fn new(
        site: &Arc<Site>,
        known: Known<Handle>,
        files: &Arc<OpenFiles>,
        request: &LaneRequest,
        sizes: TransferSizes,
    ) -> Self {
        let (block, depth) = (request.block, request.depth.get());
        let steps = |_| Steps {
            next: Next::Itself,
            path: String::new(),
            to: String::new(),
            listing: Listing::new(MOST_ENTRIES),
            failed: None,
        };
        SmbWire {
            site: site.clone(),
            known,
            files: LaneFiles::new(files),
            later: HashMap::new(),
            closed: 0,
            paths: request.paths.clone(),
            whole: (block <= sizes.read, block <= sizes.write),
            steps: (0..depth).map(steps).collect(),
        }
    }

    /// The lane's handle of an open file.
    #[inline]
    fn handle(&self, file: FileId) -> Option<Handle> {
        self.known.get(file).or_else(|| self.later.get(&file)).copied()
    }

    /// The lane's handle of a file that another has closed meanwhile: a name goes away only when the
    /// last handle does.
    fn stale(&mut self) -> Option<Handle> {
        let closed = self.files.closed();
        if closed == self.closed {
            return None;
        }
        let gone = self.later.keys().find(|file| !self.files.is_open(**file)).copied();
        if gone.is_none() {
            self.closed = closed;
        }
        gone.and_then(|file| self.later.remove(&file))
    }

    fn opened(&mut self, path: String, access: Access, handle: Handle) -> Outcome {
        let file = self.files.open((path, access));
        self.later.insert(file, handle);
        Outcome::Found(Some(Found::File(file)))
    }

    /// A handle that was not needed is closed, or was already: the operation does not depend on it.
    fn spare_is_closed(&mut self, op: &Op, tag: u16) -> Outcome {
        let next = self.stale().map_or(Next::Itself, Next::CloseSpare);
        self.steps[usize::from(tag)].next = next;
        let moves = op.file().is_some() || matches!(op, Op::Put(..) | Op::Get(_));
        if next == Next::Itself && moves { Outcome::Transfer } else { Outcome::GoOn }
    }

    /// A page of a listing has come.
    fn page(
        &mut self,
        tag: u16,
        directory: Handle,
        entries: Vec<plimsoll_smb::Entry>,
        end: bool,
    ) -> Outcome {
        let steps = &mut self.steps[usize::from(tag)];
        let added = if end { Ok(()) } else { steps.listing.add(&steps.path, entries) };
        steps.failed = added.as_ref().err().map(op_error);
        if end || added.is_err() {
            steps.next = Next::CloseDirectory(directory);
        }
        Outcome::GoOn
    }

    /// A listing has ended.
    fn listed(&mut self, tag: u16) -> Result<Outcome, OpError> {
        let steps = &mut self.steps[usize::from(tag)];
        let listing = std::mem::replace(&mut steps.listing, Listing::new(MOST_ENTRIES));
        match steps.failed.take() {
            Some(error) => Err(error),
            None => {
                let entries = listing.entries.into_iter().map(entry).collect();
                Ok(Outcome::Found(Some(Found::Entries(entries))))
            }
        }
    }
}

impl Wire for SmbWire {
    type Protocol = Smb2;
    const COMMITS_AT_CLOSE: bool = false;

    fn does(&self, kind: OpKind) -> bool {
        match kind {
            OpKind::GET => self.whole.0,
            OpKind::PUT => self.whole.1,
            // There is no such request: what may be done comes with what is opened.
            OpKind::ACCESS => false,
            _ => true,
        }
    }

    fn begin(&mut self, tag: u16, op: &Op) -> Result<bool, OpError> {
        let at = usize::from(tag);
        if let Some(path) = path_of(&self.paths, op)? {
            if !self.does(op.kind()) {
                return Err(crate::op::not_done_here(op));
            }
            let to = match op {
                Op::Rename(..) => self.site.path(&new_path_of(&self.paths, op, &path)?),
                _ => String::new(),
            };
            let path = self.site.path(&path);
            let next = self.stale().map_or(Next::Itself, Next::CloseSpare);
            let listing = Listing::new(MOST_ENTRIES);
            self.steps[at] = Steps { next, path, to, listing, failed: None };
            return Ok(next == Next::Itself && matches!(op, Op::Put(..) | Op::Get(_)));
        }
        let Some(file) = op.file() else { return Err(crate::op::not_done_here(op)) };
        let steps = &mut self.steps[at];
        if matches!(op, Op::Close(_)) {
            if !self.files.close(file) {
                return Err(not_open(file));
            }
            let handle = self.later.remove(&file).or_else(|| self.known.take(file));
            steps.next = handle.map_or(Next::End, Next::Close);
            return Ok(false);
        }
        steps.next = Next::Itself;
        if self.known.get(file).is_some() {
            return Ok(true);
        }
        let Some(opened) = self.files.get(file) else { return Err(not_open(file)) };
        if !self.later.contains_key(&file) {
            (steps.next, steps.path) = (Next::Open, opened.0.clone());
        }
        Ok(steps.next == Next::Itself)
    }

    #[inline]
    fn request(&mut self, of: OperationCall<'_>) -> Result<Option<Request<'_>>, OpError> {
        let OperationCall { op, call } = of;
        let steps = &self.steps[usize::from(call.op)];
        let (path, count) = (steps.path.as_str(), call.length);
        let open = |how, access| Request::Open { path, how, access };
        match steps.next {
            Next::End => return Ok(None),
            Next::Close(file) | Next::CloseSpare(file) | Next::CloseDirectory(file) => {
                return Ok(Some(Request::Close { file }));
            }
            Next::List(directory) => return Ok(Some(Request::List { directory })),
            Next::Open => {
                let file = op.file().and_then(|file| self.files.get(file));
                let access = file.map_or(Access::Read, |file| file.1);
                return Ok(Some(open(CreateHow::Open, access)));
            }
            Next::Itself => {}
        }
        if let Some(id) = op.file() {
            let (file, offset) = (self.handle(id).ok_or_else(|| not_open(id))?, call.offset);
            return Ok(match op {
                Op::Read(_) => Some(Request::Read { file, offset, count }),
                Op::Write(_, stability) => {
                    let through = *stability != Stability::Unstable;
                    Some(Request::Write { file, offset, count, through })
                }
                Op::Flush(_) => Some(Request::Flush { file }),
                Op::GetAttributes(_) => Some(Request::Attributes { file }),
                Op::Lock(_, bytes, mode) => {
                    Some(Request::Lock { file, bytes: *bytes, mode: Some(*mode) })
                }
                Op::Unlock(_, bytes) => Some(Request::Lock { file, bytes: *bytes, mode: None }),
                Op::SetAttribute(_, NewAttribute::Modified(seconds)) => {
                    Some(Request::SetTimes { file, written: time(*seconds) })
                }
                // There are no permission bits: kernel clients keep them to themselves, too.
                _ => None,
            });
        }
        Ok(Some(match op {
            Op::Create(_) => open(CreateHow::New, Access::ReadWrite),
            Op::Open(_) => open(CreateHow::Open, Access::Read),
            Op::Remove(_) => Request::Remove { path },
            Op::ReadDirectory(_) => Request::OpenDirectory { path },
            Op::MakeDirectory(_) => Request::MakeDirectory { path },
            Op::RemoveDirectory(_) => Request::RemoveDirectory { path },
            Op::Rename(..) => Request::Rename { path, to: &steps.to },
            Op::SetAttribute(_, NewAttribute::Modified(seconds)) => {
                Request::SetTimesOf { path, written: time(*seconds) }
            }
            Op::SetAttribute(..) => return Ok(None),
            Op::Put(_, stability) => {
                let through = *stability != Stability::Unstable;
                Request::Put { path, how: CreateHow::New, count, through }
            }
            Op::Get(_) => Request::Get { path, most: count },
            _ => Request::Lookup { path },
        }))
    }

    fn outcome<'a>(&mut self, of: OperationCall<'_>, done: Done<'a>) -> Result<Reply<'a>, OpError>
    where
        'a: 'a, // as in the trait, where it stands in a projection alone
    {
        let (op, tag) = (of.op, of.call.op);
        let next = self.steps[usize::from(tag)].next;
        match next {
            Next::CloseSpare(_) => return Ok(self.spare_is_closed(op, tag).into()),
            Next::CloseDirectory(_) => return self.listed(tag).map(Reply::from),
            _ => {}
        }
        let steps = &mut self.steps[usize::from(tag)];
        let outcome = match (op, done) {
            // A read that ends before its end has met the end of the file, or a server that gives
            // less: the next one tells.
            (_, Done::Read { data }) => return Ok(Reply::Data(data, data.is_empty())),
            (Op::Get(whole), Done::Get { size, .. }) if size != u64::from(whole.length) => {
                return Err(wrong_size(whole, size));
            }
            (_, Done::Get { data, .. }) => return Ok(Reply::Data(data, true)),
            (_, Done::Write { count }) => Outcome::Moved { count, ended: false },
            (_, Done::Put { count }) => Outcome::Moved { count, ended: true },
            (Op::ReadDirectory(_), Done::Open { file, .. }) => {
                steps.next = Next::List(file);
                Outcome::GoOn
            }
            (Op::Create(_), Done::Open { file, .. }) => {
                let path = std::mem::take(&mut steps.path);
                self.opened(path, Access::ReadWrite, file)
            }
            (Op::Open(_), Done::Open { file, .. }) => {
                let path = std::mem::take(&mut steps.path);
                self.opened(path, Access::Read, file)
            }
            (_, Done::Open { file, .. }) => {
                let spare = op.file().is_none_or(|id| self.handle(id).is_some());
                let steps = &mut self.steps[usize::from(tag)];
                steps.next = if spare { Next::CloseSpare(file) } else { Next::Itself };
                if let (false, Some(id)) = (spare, op.file()) {
                    self.later.insert(id, file);
                }
                if spare { Outcome::GoOn } else { Outcome::Transfer }
            }
            (_, Done::Found(info)) => {
                let found = Attributes { kind: kind(info.kind), size: info.size };
                Outcome::Found(Some(Found::Attributes(found)))
            }
            (_, Done::Page { entries, end }) => match next {
                Next::List(directory) => self.page(tag, directory, entries, end),
                _ => Outcome::Found(None),
            },
            _ => Outcome::Found(None),
        };
        Ok(outcome.into())
    }

    fn refused(&mut self, of: OperationCall<'_>, error: &Error) -> Result<Outcome, OpError> {
        let tag = of.call.op;
        let steps = &mut self.steps[usize::from(tag)];
        match (steps.next, of.op, error.status()) {
            (Next::CloseSpare(_), ..) => Ok(self.spare_is_closed(of.op, tag)),
            (Next::CloseDirectory(_), ..) => {
                steps.failed.get_or_insert(op_error(error));
                self.listed(tag)
            }
            (Next::List(directory), ..) => {
                steps.failed = Some(op_error(error));
                steps.next = Next::CloseDirectory(directory);
                Ok(Outcome::GoOn)
            }
            (_, Op::LookupIfThere(_), _) if error.is_not_there() => Ok(Outcome::Found(None)),
            // It is removed, and goes with the last session that still has it open.
            (_, Op::Remove(_), Some(NtStatus::DELETE_PENDING)) => Ok(Outcome::Found(None)),
            _ => Err(op_error(error)),
        }
    }

    fn dead(error: &Error) -> LaneDead {
        lane_dead(error)
    }
}

fn time(seconds: u32) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())
}
