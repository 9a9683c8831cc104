//! One call at a time, each with a time limit: names, attributes, small files.

use super::arguments::{
    AccessArguments, CreateArguments, CreateHow, MakeDirectoryArguments, Place, ReadArguments,
    SetAttributesArguments, WriteArguments,
};
use super::attributes::{Attributes, SetAttributes};
use super::listing::PAGE_BYTES;
use super::pipeline::DATAGRAM_PAGE;
use super::request::{Done, Other, Request};
use super::results::{AccessOk, CreateOk, FileSystemInfo, FileSystemSpace, Reply};
use super::types::{FileHandle, Name, Procedure, Stability, Verifier};
use crate::rpc::{self, Credential};
use crate::xdr::{Decode, Decoder, Encode, Encoder};
use crate::{Error, Version, nfs2};
use plimsoll_transport::{Channel, DatagramCounts, Deadline};
use std::time::Duration;

/// Longest READ and WRITE of this client in bytes: it is for small files.
const TRANSFER_BYTES: u32 = 64 * 1024;
/// Space for what stands around data or names in a reply, in bytes.
const REPLY_OVERHEAD: usize = 4096;

/// A blocking client of one server.
#[derive(Debug)]
pub struct Client {
    rpc: rpc::Client,
    version: Version,
    /// Longest page of names in bytes; no READ and no WRITE is longer.
    most: u32,
    /// Longest READ in bytes.
    read_most: u32,
    /// Longest WRITE in bytes.
    write_most: u32,
    /// The arguments of the last call.
    arguments: Vec<u8>,
    surplus: Option<(Procedure, usize)>,
}

/// Arguments that are encoded already.
struct Encoded<'a>(&'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.fixed(self.0);
    }
}

/// A reply of another kind than the call's: there is none.
pub(super) fn unexpected(procedure: Procedure) -> Error {
    Error::Nfs { version: Version::V3, procedure, status: super::Status::ServerFault }
}

impl Client {
    /// A client of version 3; no call waits longer than `limit`.
    pub fn new(channel: impl Into<Channel>, credential: &Credential, limit: Duration) -> Self {
        Self::of_version(Version::V3, channel, credential, limit)
    }

    /// A client of this version; no call waits longer than `limit`.
    pub fn of_version(
        version: Version,
        channel: impl Into<Channel>,
        credential: &Credential,
        limit: Duration,
    ) -> Self {
        let channel = channel.into();
        let most = match channel {
            Channel::Stream(_) => TRANSFER_BYTES.max(PAGE_BYTES),
            Channel::Datagrams(_) => DATAGRAM_PAGE,
        };
        let most = most.min(version.longest_transfer().unwrap_or(most));
        let reply_limit = most as usize + REPLY_OVERHEAD;
        let rpc = rpc::Client::new(channel, version.program(), credential, reply_limit, limit);
        let (read_most, write_most) = (most, most);
        Client { rpc, version, most, read_most, write_most, arguments: Vec::new(), surplus: None }
    }

    /// No READ and no WRITE is longer than this from now on, in bytes: what the server takes for the file
    /// system ([`Client::information`]).
    pub fn limit_transfers(&mut self, read_most: u32, write_most: u32) {
        (self.read_most, self.write_most) =
            (read_most.clamp(1, self.most), write_most.clamp(1, self.most));
    }

    /// The connection.
    pub fn socket(&self) -> &Channel {
        self.rpc.socket()
    }

    /// What became of datagrams since this was asked last.
    pub fn take_datagrams(&mut self) -> DatagramCounts {
        self.rpc.take_datagrams()
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.rpc.set_deadline(deadline);
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once.
    pub fn take_surplus(&mut self) -> Option<(Procedure, usize)> {
        self.surplus.take()
    }

    /// Calls what a request asks for, with the data of a WRITE.
    pub(super) fn ask(&mut self, mut request: Request<'_>, data: &[u8]) -> Result<Done<'_>, Error> {
        request.cut(self.read_most, self.write_most, self.most);
        if let Some(refusal) = self.version.refusal(&request) {
            return Err(refusal);
        }
        let (expected, version) = (request.expected_reply(), self.version);
        self.arguments.clear();
        let mut to = Encoder::new(&mut self.arguments);
        version.encode(&request, &mut to);
        to.fixed(data);
        let number = version.number(expected.procedure());
        let outcome = self.rpc.ask(number, &Encoded(&self.arguments))?;
        let repeated = outcome.repeated;
        match expected.results(version, &self.arguments, outcome.results, &mut self.surplus) {
            Err(error) if repeated => expected.done_before(&error).ok_or(error),
            result => result,
        }
    }

    /// A call that has no [`Request`].
    fn call<'a, A: Encode + ?Sized, T: Decode<'a>>(
        &'a mut self,
        procedure: Procedure,
        arguments: &A,
    ) -> Result<T, Error> {
        let outcome = self.rpc.ask(self.version.number(procedure), arguments)?;
        let mut results: Decoder<'a> = outcome.results?;
        let Reply(reply) = results.value::<Reply<T>>()?;
        if results.remaining() > 0 {
            self.surplus.get_or_insert((procedure, results.remaining()));
        }
        reply.map_err(|status| Error::Nfs { version: self.version, procedure, status })
    }

    /// NULL: whether the server answers, and has this version.
    pub fn null(&mut self) -> Result<(), Error> {
        self.rpc.call(Procedure::Null as u32, &())
    }

    /// GETATTR.
    pub fn attributes(&mut self, file: FileHandle) -> Result<Attributes, Error> {
        match self.ask(Request::Attributes(file), &[])? {
            Done::Attributes(attributes) => Ok(*attributes),
            _ => Err(unexpected(Procedure::GetAttributes)),
        }
    }

    /// SETATTR: sets the size in bytes.
    pub fn set_size(&mut self, file: FileHandle, size: u64) -> Result<(), Error> {
        let attributes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let arguments = SetAttributesArguments { file, attributes };
        self.ask(Request::SetAttributes(arguments), &[]).map(drop)
    }

    /// LOOKUP, with GETATTR where the server does not give attributes. Links are not followed.
    pub fn lookup(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(FileHandle, Attributes), Error> {
        let place = Place { directory, name };
        let Done::Other(Other::Found(found)) = self.ask(Request::Lookup(place), &[])? else {
            return Err(unexpected(Procedure::Lookup));
        };
        let attributes = match found.attributes {
            Some(attributes) => attributes,
            None => self.attributes(found.file)?,
        };
        Ok((found.file, attributes))
    }

    /// ACCESS: which of the rights (bits of RFC 1813, section 3.3.4) the caller has. Version 2 has no
    /// such call.
    pub fn access(&mut self, file: FileHandle, rights: u32) -> Result<u32, Error> {
        if self.version == Version::V2 {
            let status = super::Status::NotSupported;
            let (version, procedure) = (self.version, Procedure::Access);
            return Err(Error::Nfs { version, procedure, status });
        }
        let ok: AccessOk = self.call(Procedure::Access, &AccessArguments { file, rights })?;
        Ok(ok.rights & rights)
    }

    /// READ: at most `count` bytes (64 KiB at most), and whether the file ends after them. Fewer
    /// may come.
    pub fn read(
        &mut self,
        file: FileHandle,
        offset: u64,
        count: u32,
    ) -> Result<(&[u8], bool), Error> {
        match self.ask(Request::Read(ReadArguments { file, offset, count }), &[])? {
            Done::Read { data, end_of_file } => Ok((data, end_of_file)),
            _ => Err(unexpected(Procedure::Read)),
        }
    }

    /// WRITE of at most 64 KiB of `data`: bytes written, which may be fewer, and the verifier.
    pub fn write(
        &mut self,
        file: FileHandle,
        offset: u64,
        stability: Stability,
        data: &[u8],
    ) -> Result<(u32, Verifier), Error> {
        let data = &data[..data.len().min(self.write_most as usize)];
        let count = data.len() as u32;
        let arguments = WriteArguments { file, offset, count, stability };
        match self.ask(Request::Write(arguments), data)? {
            Done::Write { count, verifier, .. } => Ok((count, verifier)),
            _ => Err(unexpected(Procedure::Write)),
        }
    }

    /// COMMIT of the whole file; in version 2 nothing, as every WRITE is stable.
    pub fn commit(&mut self, file: FileHandle) -> Result<Verifier, Error> {
        if self.version == Version::V2 {
            return Ok(Verifier::default());
        }
        match self.ask(Request::commit(file), &[])? {
            Done::Commit { verifier } => Ok(verifier),
            _ => Err(unexpected(Procedure::Commit)),
        }
    }

    /// CREATE, with LOOKUP where the server does not give the handle. Version 2 does
    /// not fail where the file is there (RFC 1094, section 2.2.10): what is guarded is looked up before.
    pub fn create(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        how: CreateHow,
    ) -> Result<FileHandle, Error> {
        let place = Place { directory, name };
        if self.version == Version::V2 && !matches!(how, CreateHow::Unchecked(_)) {
            let (procedure, missing) = (Procedure::Create, super::Status::NoEntry);
            match self.ask(Request::Lookup(place), &[]) {
                Ok(_) => {
                    let (version, status) = (self.version, super::Status::Exists);
                    return Err(Error::Nfs { version, procedure, status });
                }
                Err(Error::Nfs { status, .. }) if status == missing => {}
                Err(error) => return Err(error),
            }
        }
        let arguments = CreateArguments { place, how };
        let Done::Other(Other::Made(made)) = self.ask(Request::Create(arguments), &[])? else {
            return Err(unexpected(Procedure::Create));
        };
        self.handle_of(*made, directory, name)
    }

    /// MKDIR.
    pub fn make_directory(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        mode: u32,
    ) -> Result<FileHandle, Error> {
        let place = Place { directory, name };
        let attributes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        let arguments = MakeDirectoryArguments { place, attributes };
        let Done::Other(Other::Made(made)) = self.ask(Request::MakeDirectory(arguments), &[])?
        else {
            return Err(unexpected(Procedure::MakeDirectory));
        };
        self.handle_of(*made, directory, name)
    }

    fn handle_of(
        &mut self,
        made: CreateOk,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<FileHandle, Error> {
        match made.file {
            Some(file) => Ok(file),
            None => self.lookup(directory, name).map(|found| found.0),
        }
    }

    /// REMOVE: removes anything but a directory.
    pub fn remove(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        self.ask(Request::Remove(Place { directory, name }), &[]).map(drop)
    }

    /// RMDIR: removes an empty directory.
    pub fn remove_directory(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        self.ask(Request::RemoveDirectory(Place { directory, name }), &[]).map(drop)
    }

    /// STATFS of version 2.
    fn statfs(&mut self, root: FileHandle) -> Result<nfs2::Space, Error> {
        self.arguments.clear();
        nfs2::encode_handle(&root, &mut Encoder::new(&mut self.arguments));
        let arguments = std::mem::take(&mut self.arguments);
        self.call(Procedure::FileSystemSpace, &Encoded(&arguments))
    }

    /// FSSTAT; STATFS in version 2.
    pub fn space(&mut self, root: FileHandle) -> Result<FileSystemSpace, Error> {
        match self.version {
            Version::V2 => self.statfs(root).map(|space| space.space()),
            Version::V3 => self.call(Procedure::FileSystemSpace, &root),
        }
    }

    /// FSINFO; STATFS in version 2.
    pub fn information(&mut self, root: FileHandle) -> Result<FileSystemInfo, Error> {
        match self.version {
            Version::V2 => self.statfs(root).map(|space| space.information()),
            Version::V3 => self.call(Procedure::FileSystemInfo, &root),
        }
    }
}
