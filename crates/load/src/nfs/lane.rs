//! How operations become NFS calls.

use super::calls::About;
use super::directories::{Directories, Way};
use super::failures::{lane_dead, op_error};
use super::files::NfsFile;
use super::namespace::{DIRECTORY_MODE, FILE_MODE, entry};
use super::parts::{EVERY_RIGHT, last, name};
use super::site::Site;
use super::stable::Flush;
use crate::op::{Attributes, Found, NewAttribute, Node, Op, OpError, Span, not_done_here};
use crate::open_files::LaneFiles;
use crate::paths::Paths;
use crate::share::{LaneDead, LaneRequest};
use crate::wire::{
    Call, Mended, OperationCall, Outcome, Reply, Wire, failed, new_path_of, not_open, path_of,
    wrong_size,
};
use plimsoll_model::{ErrorKind, OpKind, Stability};
use plimsoll_nfs::nfs3::{
    self, AccessArguments, CreateArguments, CreateHow, DirectoryEntry, Done, FileHandle, Listing,
    MakeDirectoryArguments, Name, Nfs3, Other, Place, ReadArguments, RenameArguments, Request,
    SetAttributes, SetAttributesArguments, Status, Time, WriteArguments,
};
use plimsoll_nfs::{Error, Version};
use plimsoll_transport::DatagramCounts;
use std::sync::Arc;

/// What turns operations into calls, for one lane.
pub(super) struct NfsWire {
    site: Arc<Site>,
    held: Arc<Directories<FileHandle>>,
    files: LaneFiles<NfsFile>,
    paths: Arc<Paths>,
    /// Whether what a server lost in a restart is written again.
    write_again: bool,
    /// By the operation's tag.
    steps: Box<[Steps]>,
}

/// How far an operation has come.
struct Steps {
    next: Next,
    way: Way<FileHandle>,
    listing: Listing,
    /// What was listed.
    entries: Vec<DirectoryEntry>,
    flush: Flush,
}

/// What its next call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// READ, WRITE or COMMIT of the open file, or of this one.
    Transfer(Option<FileHandle>),
    /// LOOKUP of the next directory on the way.
    Resolve,
    /// What it is about.
    Name,
    /// LOOKUP of what was made, as the server has not given its handle.
    Made,
    /// GETATTR of what was found, as the server has not given its attributes.
    Attributes(FileHandle),
    /// READDIR, as there is no READDIRPLUS.
    Names,
    /// LOOKUP of the listed name of this number, as the server has not said what it is.
    Kind(usize),
}

impl NfsWire {
    pub fn new(
        site: &Arc<Site>,
        held: &Arc<Directories<FileHandle>>,
        files: LaneFiles<NfsFile>,
        request: &LaneRequest,
        write_again: bool,
    ) -> Self {
        let steps = || Steps {
            next: Next::Name,
            way: Way::new(held),
            listing: Listing::default(),
            entries: Vec::new(),
            flush: Flush::default(),
        };
        NfsWire {
            site: site.clone(),
            held: held.clone(),
            files,
            paths: request.paths.clone(),
            write_again,
            steps: (0..request.depth.get()).map(|_| steps()).collect(),
        }
    }

    /// Begins with what is known of a path.
    fn begin_at(&mut self, tag: u16, op: &Op, path: Arc<str>) {
        let steps = &mut self.steps[usize::from(tag)];
        let done = steps.way.begin(&self.held, op, path);
        steps.next = if done { Next::Name } else { Next::Resolve };
        steps.listing = Listing::default();
    }

    /// A directory on the way was found.
    fn resolved(&mut self, op: &Op, tag: u16, found: &nfs3::LookupOk) -> Result<Outcome, OpError> {
        let steps = &mut self.steps[usize::from(tag)];
        if let Some(of) = found.attributes.filter(|of| of.kind != nfs3::FileType::Directory) {
            let why = format!("'{}' is a {}", steps.way.part(op), of.kind);
            return Err(failed(ErrorKind::NotPermitted, why));
        }
        let done = steps.way.found(&self.held, op, found.file);
        steps.next = if done { Next::Name } else { Next::Resolve };
        Ok(Outcome::GoOn)
    }

    /// What an operation does with a file that it found or made.
    fn reached(
        &mut self,
        op: &Op,
        tag: u16,
        file: FileHandle,
        attributes: Option<nfs3::Attributes>,
    ) -> Result<Outcome, OpError> {
        let steps = &mut self.steps[usize::from(tag)];
        let regular = |of: &nfs3::Attributes| match of.kind {
            nfs3::FileType::Regular => Ok(()),
            kind => {
                Err(failed(ErrorKind::NotPermitted, format!("it is a {kind}, not a regular file")))
            }
        };
        match (op, attributes) {
            (Op::Create(_), _) => {
                let file = self.files.open(NfsFile::new(file));
                return Ok(Outcome::Found(Some(Found::File(file))));
            }
            (Op::Put(..), _) => {}
            (Op::SetAttribute(..), _) => {
                steps.next = Next::Transfer(Some(file));
                return Ok(Outcome::GoOn);
            }
            (_, None) => {
                steps.next = Next::Attributes(file);
                return Ok(Outcome::GoOn);
            }
            (Op::Open(_), Some(of)) => {
                regular(&of)?;
                let file = self.files.open(NfsFile::new(file));
                return Ok(Outcome::Found(Some(Found::File(file))));
            }
            (Op::Get(whole), Some(of)) => {
                regular(&of)?;
                if of.size != u64::from(whole.length) {
                    return Err(wrong_size(whole, of.size));
                }
            }
            (_, Some(of)) => {
                let found = Attributes::from(About::from(of));
                return Ok(Outcome::Found(Some(Found::Attributes(found))));
            }
        }
        steps.next = Next::Transfer(Some(file));
        match op {
            Op::Put(whole, _) | Op::Get(whole) if whole.length > 0 => Ok(Outcome::Transfer),
            _ => Ok(Outcome::Found(None)),
        }
    }

    /// The next name listed whose kind the server has not said, or the end of a listing.
    fn find_kinds(&mut self, tag: u16, from: usize) -> Outcome {
        let steps = &mut self.steps[usize::from(tag)];
        let unknown = |entry: &DirectoryEntry| entry.kind.is_none() && usable(entry).is_some();
        let rest = steps.entries.get(from..).unwrap_or(&[]);
        if let Some(at) = rest.iter().position(unknown) {
            steps.next = Next::Kind(from + at);
            return Outcome::GoOn;
        }
        let entries = std::mem::take(&mut steps.entries);
        Outcome::Found(Some(Found::Entries(entries.iter().map(entry).collect())))
    }

    fn page<E: nfs3::Listed>(
        &mut self,
        tag: u16,
        page: &nfs3::Page<E>,
    ) -> Result<Outcome, OpError> {
        let steps = &mut self.steps[usize::from(tag)];
        if !steps.listing.add(page).map_err(|e| op_error(&e))? {
            return Ok(Outcome::GoOn);
        }
        steps.entries = std::mem::take(&mut steps.listing).into_entries();
        Ok(self.find_kinds(tag, 0))
    }

    /// What a reply means for an operation on an open file.
    fn transferred(&mut self, of: OperationCall<'_>, done: Done<'_>) -> Result<Outcome, OpError> {
        let file = of.op.file().and_then(|file| self.files.get(file));
        let unstable = file.map(|file| &file.unstable);
        let flush = &mut self.steps[usize::from(of.call.op)].flush;
        flush.transferred(of, done, unstable, self.write_again)
    }
}

impl Wire for NfsWire {
    type Protocol = Nfs3;
    const COMMITS_AT_CLOSE: bool = true;

    /// Locks are another protocol's (NLM), which is not spoken here.
    fn does(&self, kind: OpKind) -> bool {
        match kind {
            OpKind::LOCK | OpKind::UNLOCK => false,
            OpKind::ACCESS => self.site.version == Version::V3,
            _ => true,
        }
    }

    fn begin(&mut self, tag: u16, op: &Op) -> Result<bool, OpError> {
        if !self.does(op.kind()) {
            return Err(not_done_here(op));
        }
        if let Some(path) = path_of(&self.paths, op)? {
            if matches!(op, Op::Rename(..)) {
                self.steps[usize::from(tag)].way.to = new_path_of(&self.paths, op, &path)?;
            }
            self.begin_at(tag, op, path);
            return Ok(false);
        }
        let steps = &mut self.steps[usize::from(tag)];
        (steps.next, steps.flush) = (Next::Transfer(None), Flush::default());
        match (op, op.file()) {
            (Op::Close(file), _) if self.files.close(*file) => Ok(false),
            (Op::Close(file), _) => Err(not_open(*file)),
            (_, Some(file)) if self.files.get(file).is_none() => Err(not_open(file)),
            _ => Ok(true),
        }
    }

    #[inline]
    fn request(&mut self, of: OperationCall<'_>) -> Result<Option<Request<'_>>, OpError> {
        let OperationCall { op, call } = of;
        let steps = &mut self.steps[usize::from(call.op)];
        let Call { offset, length: count, .. } = *call;
        let directory = steps.way.directory;
        if let Next::Transfer(file) = steps.next {
            let opened = op.file().and_then(|file| self.files.get(file));
            let file = file.or(opened.map(|opened| opened.handle));
            let Some(file) = file else {
                return match op {
                    Op::Read(Span { file, .. })
                    | Op::Write(Span { file, .. }, _)
                    | Op::Flush(file)
                    | Op::GetAttributes(file)
                    | Op::SetAttribute(Node::File(file), _) => Err(not_open(*file)),
                    _ => Ok(None),
                };
            };
            let stability = match op {
                Op::Read(_) | Op::Get(_) => {
                    return Ok(Some(Request::Read(ReadArguments { file, offset, count })));
                }
                // Every WRITE of version 2 is stable.
                Op::Flush(_) if self.site.version == Version::V2 => return Ok(None),
                // What was lost in a restart.
                Op::Flush(_) if count > 0 => nfs3::Stability::Unstable,
                Op::Flush(_) => {
                    if let Some(opened) = opened {
                        steps.flush.commit_begins(&opened.unstable);
                    }
                    return Ok(Some(Request::commit(file)));
                }
                Op::SetAttribute(_, new) => return Ok(Some(set_attribute(file, *new))),
                Op::GetAttributes(_) => return Ok(Some(Request::Attributes(file))),
                Op::Write(_, Stability::Unstable) => nfs3::Stability::Unstable,
                Op::Write(_, Stability::DataSync) => nfs3::Stability::DataSync,
                // One WRITE that is stable is what a client's close comes to, too.
                Op::Write(_, Stability::FileSync) | Op::Put(..) => nfs3::Stability::FileSync,
                _ => return Ok(None),
            };
            return Ok(Some(Request::Write(WriteArguments { file, offset, count, stability })));
        }
        let place = |name| Place { directory, name };
        let made = |mode| SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        Ok(Some(match (steps.next, op) {
            (Next::Resolve, _) => Request::Lookup(place(name(steps.way.part(op))?)),
            (Next::Attributes(file), _) => Request::Attributes(file),
            (Next::Kind(at), _) => match steps.entries.get(at).and_then(usable) {
                Some(name) => Request::Lookup(place(name)),
                None => return Ok(None),
            },
            (Next::Names, _) => Request::ListNames(steps.listing.next_names(directory)),
            (_, Op::ReadDirectory(_)) => Request::List(steps.listing.next_page(directory)),
            (_, Op::Access(_)) => {
                Request::Access(AccessArguments { file: directory, rights: EVERY_RIGHT })
            }
            (Next::Name, Op::Create(_) | Op::Put(..)) => {
                let (place, how) =
                    (place(last(&steps.way.path)?), CreateHow::Guarded(made(FILE_MODE)));
                Request::Create(CreateArguments { place, how })
            }
            (_, Op::MakeDirectory(_)) => {
                let (place, attributes) = (place(last(&steps.way.path)?), made(DIRECTORY_MODE));
                Request::MakeDirectory(MakeDirectoryArguments { place, attributes })
            }
            (_, Op::SetAttribute(Node::Directory(_), new)) => set_attribute(directory, *new),
            (_, Op::Rename(..)) => {
                let (from, to) = (place(last(&steps.way.path)?), place(last(&steps.way.to)?));
                Request::Rename(RenameArguments { from, to })
            }
            (_, Op::Remove(_)) => Request::Remove(place(last(&steps.way.path)?)),
            (_, Op::RemoveDirectory(_)) => Request::RemoveDirectory(place(last(&steps.way.path)?)),
            _ => Request::Lookup(place(last(&steps.way.path)?)),
        }))
    }

    fn outcome<'a>(&mut self, of: OperationCall<'_>, done: Done<'a>) -> Result<Reply<'a>, OpError>
    where
        'a: 'a, // as in the trait, where it stands in a projection alone
    {
        let (op, tag) = (of.op, of.call.op);
        if let Done::Read { data, end_of_file } = done {
            return Ok(Reply::Data(data, end_of_file));
        }
        let next = self.steps[usize::from(tag)].next;
        let outcome = match (next, done) {
            (Next::Transfer(_), done) => self.transferred(of, done),
            (Next::Resolve, Done::Other(Other::Found(found))) => self.resolved(op, tag, &found),
            (Next::Kind(at), Done::Other(Other::Found(found))) => {
                if let Some(entry) = self.steps[usize::from(tag)].entries.get_mut(at) {
                    entry.kind = found.attributes.map(|of| of.kind);
                }
                Ok(self.find_kinds(tag, at + 1))
            }
            (_, Done::Other(Other::Found(found))) => {
                self.reached(op, tag, found.file, found.attributes)
            }
            (Next::Attributes(file), Done::Attributes(of)) => {
                self.reached(op, tag, file, Some(*of))
            }
            (_, Done::Other(Other::Page(page))) => self.page(tag, &page),
            (_, Done::Other(Other::NamesPage(page))) => self.page(tag, &page),
            (_, Done::Other(Other::Made(made))) => match (op, made.file) {
                (Op::MakeDirectory(_), file) => {
                    if let Some(file) = file {
                        self.held.hold(&self.steps[usize::from(tag)].way.path, file);
                    }
                    Ok(Outcome::Found(None))
                }
                (_, Some(file)) => self.reached(op, tag, file, None),
                (_, None) => {
                    self.steps[usize::from(tag)].next = Next::Made;
                    Ok(Outcome::GoOn)
                }
            },
            _ => {
                if matches!(op, Op::RemoveDirectory(_)) {
                    self.held.forget(&self.steps[usize::from(tag)].way.path);
                }
                Ok(Outcome::Found(None))
            }
        };
        outcome.map(Reply::from)
    }

    fn refused(&mut self, of: OperationCall<'_>, error: &Error) -> Result<Outcome, OpError> {
        let tag = of.call.op;
        let steps = &mut self.steps[usize::from(tag)];
        match (steps.next, of.op, error.status()) {
            (Next::Name, Op::ReadDirectory(_), Some(Status::NotSupported)) => {
                (steps.next, steps.listing) = (Next::Names, Listing::default());
                Ok(Outcome::GoOn)
            }
            (Next::Name, Op::LookupIfThere(_), Some(Status::NoEntry)) => Ok(Outcome::Found(None)),
            // A name that is gone meanwhile keeps no kind.
            (Next::Kind(at), _, Some(_)) => Ok(self.find_kinds(tag, at + 1)),
            (_, _, Some(Status::Jukebox)) => Ok(Outcome::Later),
            // The call was done before the connection broke, and its reply was lost. The names are in a
            // directory that the run made for itself, so nobody else has made or removed them.
            (Next::Name, Op::Create(_) | Op::Put(..), Some(Status::Exists)) if of.call.resent => {
                steps.next = Next::Made;
                Ok(Outcome::GoOn)
            }
            (Next::Name, Op::MakeDirectory(_), Some(Status::Exists)) if of.call.resent => {
                Ok(Outcome::Found(None))
            }
            (
                Next::Name,
                Op::Remove(_) | Op::RemoveDirectory(_) | Op::Rename(..),
                Some(Status::NoEntry),
            ) if of.call.resent => Ok(Outcome::Found(None)),
            _ => Err(op_error(error)),
        }
    }

    fn dead(error: &Error) -> LaneDead {
        lane_dead(error)
    }

    fn datagrams(&self, counts: DatagramCounts) {
        self.site.oddities.datagrams(&self.site.given, counts);
    }

    fn is_lost(error: &Error) -> bool {
        error.is_lost()
    }

    fn mended(&self, mended: &Mended<'_>) {
        self.site.oddities.mended(&self.site.given, mended);
    }

    fn farewell(&self, protocol: &mut Nfs3, waits: u64) {
        self.site.oddities.waited(&self.site.given, waits);
        if let Some((call, bytes)) = protocol.take_surplus() {
            self.site.oddities.surplus(&self.site.given, call, bytes);
        }
    }
}

fn set_attribute(file: FileHandle, new: NewAttribute) -> Request<'static> {
    let none = SetAttributes::default();
    let attributes = match new {
        NewAttribute::Mode(mode) => SetAttributes { mode: Some(mode.into()), ..none },
        NewAttribute::Modified(seconds) => {
            SetAttributes { modified: Some(Time { seconds, nanoseconds: 0 }), ..none }
        }
    };
    Request::SetAttributes(SetAttributesArguments { file, attributes })
}

/// A listed name that can be looked up.
fn usable(entry: &DirectoryEntry) -> Option<Name<'_>> {
    std::str::from_utf8(&entry.name).ok().and_then(Name::new)
}
