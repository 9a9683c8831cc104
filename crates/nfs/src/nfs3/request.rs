//! Calls of a pipeline: what they ask for, and what their replies mean.

use super::arguments::{
    AccessArguments, CommitArguments, CreateArguments, MakeDirectoryArguments, Place,
    ReadArguments, ReadDirectoryArguments, ReadDirectoryPlusArguments, RenameArguments,
    SetAttributesArguments, WriteArguments, encode_write,
};
use super::attributes::Attributes;
use super::results::{
    AccessOk, Changed, CommitOk, CreateOk, LookupOk, Page, PageEntry, PagePlus, ReadOk, Renamed,
    Reply, WriteOk, check_written, checked_data,
};
use super::status::Status;
use super::types::{FileHandle, Procedure, Stability};
use crate::rpc::Rejection;
use crate::xdr::{Decode, Decoder, Encode, Encoder};
use crate::{Error, Version, nfs2};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// READ.
    Read(ReadArguments),
    /// WRITE of as many bytes as [`Exchange::payload`](plimsoll_transport::Exchange::payload) gives.
    Write(WriteArguments),
    /// COMMIT.
    Commit(CommitArguments),
    /// GETATTR.
    Attributes(FileHandle),
    /// SETATTR.
    SetAttributes(SetAttributesArguments),
    /// ACCESS.
    Access(AccessArguments),
    /// RENAME.
    Rename(RenameArguments<'a>),
    /// LOOKUP.
    Lookup(Place<'a>),
    /// CREATE.
    Create(CreateArguments<'a>),
    /// MKDIR.
    MakeDirectory(MakeDirectoryArguments<'a>),
    /// REMOVE.
    Remove(Place<'a>),
    /// RMDIR.
    RemoveDirectory(Place<'a>),
    /// READDIRPLUS: one page.
    List(ReadDirectoryPlusArguments),
    /// READDIR: one page.
    ListNames(ReadDirectoryArguments),
}

impl Request<'_> {
    /// COMMIT of the whole file.
    pub fn commit(file: FileHandle) -> Self {
        Request::Commit(CommitArguments { file, offset: 0, count: 0 })
    }

    /// Cuts what is longer than a pipeline has memory for.
    #[inline]
    pub(super) fn cut(&mut self, read_most: u32, write_most: u32, page_most: u32) {
        match self {
            Request::Read(read) => read.count = read.count.min(read_most),
            Request::Write(write) => write.count = write.count.min(write_most),
            Request::List(page) => page.count = page.count.min(page_most),
            Request::ListNames(page) => page.count = page.count.min(page_most),
            _ => {}
        }
    }

    /// What its reply is checked against.
    #[inline]
    pub(crate) fn expected_reply(&self) -> ExpectedReply {
        match self {
            Request::Read(read) => ExpectedReply::Read { count: read.count },
            Request::Write(write) => {
                ExpectedReply::Write { count: write.count, stability: write.stability }
            }
            Request::Commit(_) => ExpectedReply::Commit,
            Request::Attributes(_) => ExpectedReply::Attributes,
            Request::SetAttributes(_) => ExpectedReply::Change(Procedure::SetAttributes),
            Request::Access(_) => ExpectedReply::Access,
            Request::Rename(_) => ExpectedReply::Rename,
            Request::Lookup(_) => ExpectedReply::Lookup,
            Request::Create(_) => ExpectedReply::Make(Procedure::Create),
            Request::MakeDirectory(_) => ExpectedReply::Make(Procedure::MakeDirectory),
            Request::Remove(_) => ExpectedReply::Change(Procedure::Remove),
            Request::RemoveDirectory(_) => ExpectedReply::Change(Procedure::RemoveDirectory),
            Request::List(_) => ExpectedReply::List,
            Request::ListNames(_) => ExpectedReply::ListNames,
        }
    }
}

/// The arguments, without the data of a WRITE.
impl Encode for Request<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Request::Read(read) => to.value(read),
            Request::Write(write) => encode_write(write, to),
            Request::Commit(commit) => to.value(commit),
            Request::Attributes(file) => to.value(file),
            Request::SetAttributes(set) => to.value(set),
            Request::Access(access) => to.value(access),
            Request::Rename(rename) => to.value(rename),
            Request::Create(create) => to.value(create),
            Request::MakeDirectory(make) => to.value(make),
            Request::Lookup(place) | Request::Remove(place) | Request::RemoveDirectory(place) => {
                to.value(place);
            }
            Request::List(page) => to.value(page),
            Request::ListNames(page) => to.value(page),
        }
    }
}

/// Result of a call of versions 2 and 3.
pub type Done<'a> = crate::Done<'a, Attributes, Other<'a>>;

/// Results that version 4 does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other<'a> {
    /// LOOKUP: the file, and its attributes where the server gives them.
    Found(Box<LookupOk>),
    /// CREATE and MKDIR: the new file, where the server gives it.
    Made(Box<CreateOk>),
    /// READDIRPLUS.
    Page(PagePlus<'a>),
    /// READDIR.
    NamesPage(Page<PageEntry<'a>>),
}

/// What a call in flight asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ExpectedReply {
    #[default]
    Nothing,
    Read {
        count: u32,
    },
    Write {
        count: u32,
        stability: Stability,
    },
    Commit,
    Attributes,
    Access,
    Lookup,
    Make(Procedure),
    Change(Procedure),
    Rename,
    List,
    ListNames,
}

impl ExpectedReply {
    #[inline]
    pub fn procedure(self) -> Procedure {
        match self {
            ExpectedReply::Nothing => Procedure::Null,
            ExpectedReply::Read { .. } => Procedure::Read,
            ExpectedReply::Write { .. } => Procedure::Write,
            ExpectedReply::Commit => Procedure::Commit,
            ExpectedReply::Attributes => Procedure::GetAttributes,
            ExpectedReply::Access => Procedure::Access,
            ExpectedReply::Lookup => Procedure::Lookup,
            ExpectedReply::Make(procedure) | ExpectedReply::Change(procedure) => procedure,
            ExpectedReply::Rename => Procedure::Rename,
            ExpectedReply::List => Procedure::ReadDirectoryPlus,
            ExpectedReply::ListNames => Procedure::ReadDirectory,
        }
    }

    /// Decodes the results of a call and checks them against what was asked for; `surplus` notes
    /// bytes beyond their end. The call's `arguments` say what its reply leaves out.
    #[inline]
    pub fn results<'a>(
        self,
        version: Version,
        arguments: &[u8],
        outcome: Result<Decoder<'a>, Rejection>,
        surplus: &mut Option<(Procedure, usize)>,
    ) -> Result<Done<'a>, Error> {
        let mut from = outcome?;
        let result = match version {
            Version::V2 => nfs2::results(self, arguments, &mut from),
            Version::V3 => self.results_3(&mut from),
        };
        if from.remaining() > 0 && result.is_ok() {
            surplus.get_or_insert((self.procedure(), from.remaining()));
        }
        result
    }

    #[inline(always)]
    fn results_3<'a>(self, from: &mut Decoder<'a>) -> Result<Done<'a>, Error> {
        let procedure = self.procedure();
        Ok(match self {
            ExpectedReply::Nothing => return Err(Error::UnknownTransaction(0)),
            ExpectedReply::Read { count } => {
                let ok: ReadOk<'_> = take(from, procedure)?;
                Done::Read { data: checked_data(&ok, count)?, end_of_file: ok.end_of_file }
            }
            ExpectedReply::Write { count, stability } => {
                let ok: WriteOk = take(from, procedure)?;
                check_written(&ok, count, stability)?;
                let WriteOk { count, committed, verifier, .. } = ok;
                Done::Write { count, committed, verifier }
            }
            ExpectedReply::Commit => {
                Done::Commit { verifier: take::<CommitOk>(from, procedure)?.verifier }
            }
            ExpectedReply::Attributes => Done::Attributes(Box::new(take(from, procedure)?)),
            ExpectedReply::Access => Done::Access(take::<AccessOk>(from, procedure)?.rights),
            ExpectedReply::Lookup => Done::Other(Other::Found(Box::new(take(from, procedure)?))),
            ExpectedReply::Make(_) => Done::Other(Other::Made(Box::new(take(from, procedure)?))),
            ExpectedReply::Change(_) => take::<Changed>(from, procedure).map(|_| Done::Changed)?,
            ExpectedReply::Rename => take::<Renamed>(from, procedure).map(|_| Done::Changed)?,
            ExpectedReply::List => Done::Other(Other::Page(take(from, procedure)?)),
            ExpectedReply::ListNames => Done::Other(Other::NamesPage(take(from, procedure)?)),
        })
    }

    /// What an error means for a call that was sent more than once: a server that forgets what it has
    /// answered does it twice, and finds the second time that what was to be removed is gone, or that
    /// what was to be made is there (RFC 1813, section 4.9). That somebody else was faster cannot be
    /// distinguished from it.
    pub fn done_before(self, error: &Error) -> Option<Done<'static>> {
        match (self, error.status()?) {
            (
                ExpectedReply::Change(Procedure::Remove | Procedure::RemoveDirectory)
                | ExpectedReply::Rename,
                Status::NoEntry,
            ) => Some(Done::Changed),
            (ExpectedReply::Make(_), Status::Exists) => {
                // Its user looks it up.
                let made = CreateOk { file: None, attributes: None, directory: Changed };
                Some(Done::Other(Other::Made(Box::new(made))))
            }
            _ => None,
        }
    }
}

fn take<'a, T: Decode<'a>>(from: &mut Decoder<'a>, procedure: Procedure) -> Result<T, Error> {
    let Reply(reply) = from.value::<Reply<T>>()?;
    reply.map_err(|status| Error::Nfs { version: Version::V3, procedure, status })
}
