//! One call at a time, each with a time limit: names, attributes, small files.

use super::PROGRAM;
use super::arguments::{
    AccessArguments, CommitArguments, CreateArguments, CreateHow, MakeDirectoryArguments, Place,
    ReadArguments, SetAttributesArguments, WholeWrite, WriteArguments,
};
use super::attributes::{Attributes, SetAttributes};
use super::listing::PAGE_BYTES;
use super::results::{
    AccessOk, Changed, CommitOk, CreateOk, FileSystemInfo, FileSystemSpace, LookupOk, ReadOk,
    Reply, WriteOk, check_written, checked_data,
};
use super::types::{Data, FileHandle, Name, Procedure, Stability, Verifier};
use crate::Error;
use crate::rpc::{self, Credential};
use crate::xdr::{Decode, Decoder, Encode};
use plimsoll_transport::{Deadline, Socket};
use std::time::Duration;

/// Longest READ and WRITE of this client in bytes: it is for small files.
const TRANSFER_BYTES: u32 = 64 * 1024;
/// Space for what stands around data or names in a reply, in bytes.
const REPLY_OVERHEAD: usize = 4096;

/// A blocking client of one server.
#[derive(Debug)]
pub struct Client {
    rpc: rpc::Client,
}

impl Client {
    /// A client over a connection; no call waits longer than `limit`.
    pub fn new(socket: Socket, credential: &Credential, limit: Duration) -> Self {
        let reply_limit = TRANSFER_BYTES.max(PAGE_BYTES) as usize + REPLY_OVERHEAD;
        Client { rpc: rpc::Client::new(socket, PROGRAM, credential, reply_limit, limit) }
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        self.rpc.socket()
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.rpc.set_deadline(deadline);
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once.
    pub fn take_surplus(&mut self) -> Option<(Procedure, usize)> {
        let (number, bytes) = self.rpc.take_surplus()?;
        let procedure = Decoder::new(&number.to_be_bytes()).value().ok()?;
        Some((procedure, bytes))
    }

    pub(super) fn call<'a, A: Encode + ?Sized, T: Decode<'a>>(
        &'a mut self,
        procedure: Procedure,
        arguments: &A,
    ) -> Result<T, Error> {
        let Reply(reply) = self.rpc.call::<A, Reply<T>>(procedure as u32, arguments)?;
        reply.map_err(|status| Error::Nfs { procedure, status })
    }

    /// NULL: whether the server answers.
    pub fn null(&mut self) -> Result<(), Error> {
        self.rpc.call(Procedure::Null as u32, &())
    }

    /// GETATTR.
    pub fn attributes(&mut self, file: FileHandle) -> Result<Attributes, Error> {
        self.call(Procedure::GetAttributes, &file)
    }

    /// SETATTR: sets the size in bytes.
    pub fn set_size(&mut self, file: FileHandle, size: u64) -> Result<(), Error> {
        let attributes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let arguments = SetAttributesArguments { file, attributes };
        self.call::<_, Changed>(Procedure::SetAttributes, &arguments).map(drop)
    }

    /// LOOKUP, with GETATTR where the server does not give attributes. Links are not followed.
    pub fn lookup(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(FileHandle, Attributes), Error> {
        let found: LookupOk = self.call(Procedure::Lookup, &Place { directory, name })?;
        let attributes = match found.attributes {
            Some(attributes) => attributes,
            None => self.attributes(found.file)?,
        };
        Ok((found.file, attributes))
    }

    /// ACCESS: which of the rights (bits of RFC 1813, section 3.3.4) the caller has.
    pub fn access(&mut self, file: FileHandle, rights: u32) -> Result<u32, Error> {
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
        let asked = count.min(TRANSFER_BYTES);
        let arguments = ReadArguments { file, offset, count: asked };
        let ok: ReadOk<'_> = self.call(Procedure::Read, &arguments)?;
        Ok((checked_data(&ok, asked)?, ok.end_of_file))
    }

    /// WRITE of at most 64 KiB of `data`: bytes written, which may be fewer, and the verifier.
    pub fn write(
        &mut self,
        file: FileHandle,
        offset: u64,
        stability: Stability,
        data: &[u8],
    ) -> Result<(u32, Verifier), Error> {
        let data = &data[..data.len().min(TRANSFER_BYTES as usize)];
        let count = data.len() as u32;
        let arguments = WriteArguments { file, offset, count, stability };
        let ok: WriteOk = self.call(Procedure::Write, &WholeWrite(arguments, Data(data)))?;
        check_written(&ok, count, stability)?;
        Ok((ok.count, ok.verifier))
    }

    /// COMMIT of the whole file.
    pub fn commit(&mut self, file: FileHandle) -> Result<Verifier, Error> {
        let arguments = CommitArguments { file, offset: 0, count: 0 };
        self.call::<_, CommitOk>(Procedure::Commit, &arguments).map(|ok| ok.verifier)
    }

    /// CREATE, with LOOKUP where the server does not give the handle.
    pub fn create(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
        how: CreateHow,
    ) -> Result<FileHandle, Error> {
        let place = Place { directory, name };
        let made: CreateOk = self.call(Procedure::Create, &CreateArguments { place, how })?;
        self.handle_of(made, directory, name)
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
        let made: CreateOk = self.call(Procedure::MakeDirectory, &arguments)?;
        self.handle_of(made, directory, name)
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
        self.call::<_, Changed>(Procedure::Remove, &Place { directory, name }).map(drop)
    }

    /// RMDIR: removes an empty directory.
    pub fn remove_directory(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        self.call::<_, Changed>(Procedure::RemoveDirectory, &Place { directory, name }).map(drop)
    }

    /// FSSTAT.
    pub fn space(&mut self, root: FileHandle) -> Result<FileSystemSpace, Error> {
        self.call(Procedure::FileSystemSpace, &root)
    }

    /// FSINFO.
    pub fn information(&mut self, root: FileHandle) -> Result<FileSystemInfo, Error> {
        self.call(Procedure::FileSystemInfo, &root)
    }
}
