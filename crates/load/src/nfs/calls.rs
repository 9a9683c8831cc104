//! The calls that names below a target are worked with, whatever the version: each waits for its reply.

use super::files::NfsFile;
use super::namespace::{DIRECTORY_MODE, FILE_MODE, kind};
use super::site::Site;
use crate::entry::Space;
use crate::op;
use plimsoll_model::{Deadline, Failure};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{
    Attributes, Client, CreateHow, DirectoryEntry, FileHandle, FileType, Name, SetAttributes,
    Stability,
};
use plimsoll_transport::Channel;

/// A server, as long as it is reached.
pub(crate) trait Server: Send + Sync + 'static {
    /// Calls of the version that is spoken.
    type Calls: Calls;

    /// Where it is, and who calls it.
    fn site(&self) -> &Site;

    /// A new connection.
    fn connect(&self) -> Result<Self::Calls, Failure>;
}

/// What is known of a file or a directory; `None`: the server does not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub kind: Option<FileType>,
    /// In bytes.
    pub size: Option<u64>,
    /// Its names.
    pub links: Option<u32>,
    /// Its file system, and its number there.
    pub number: Option<((u64, u64), u64)>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
}

/// A connection, and the calls of one version over it. Links are not followed.
pub(crate) trait Calls: Send + 'static {
    /// The server's own name of a file or a directory.
    type Handle: Copy + PartialEq + Send + Sync;
    /// A file that is open, as a share knows it.
    type File: Send + Sync;
    /// Whether the server knows of open files, so that they have to be closed.
    const KEEPS_FILES_OPEN: bool;

    /// The connection.
    fn channel(&self) -> &Channel;
    /// Until when calls may take from now on.
    fn set_deadline(&mut self, deadline: Deadline);
    /// Whether the server answers.
    fn null(&mut self) -> Result<(), Error>;
    fn attributes(&mut self, file: Self::Handle) -> Result<About, Error>;
    fn lookup(
        &mut self,
        directory: Self::Handle,
        name: Name<'_>,
    ) -> Result<(Self::Handle, About), Error>;
    fn list(&mut self, directory: Self::Handle) -> Result<Vec<DirectoryEntry>, Error>;
    fn make_directory(
        &mut self,
        directory: Self::Handle,
        name: Name<'_>,
    ) -> Result<Self::Handle, Error>;
    fn remove_directory(&mut self, directory: Self::Handle, name: Name<'_>) -> Result<(), Error>;
    /// Anything but a directory.
    fn remove_file(&mut self, directory: Self::Handle, name: Name<'_>) -> Result<(), Error>;
    /// A file that is not there yet.
    fn create(&mut self, directory: Self::Handle, name: Name<'_>) -> Result<Self::File, Error>;
    /// A file that is there, for reading.
    fn open(
        &mut self,
        directory: Self::Handle,
        name: Name<'_>,
    ) -> Result<(Self::File, About), Error>;
    /// The same for writing, too.
    fn open_to_write(
        &mut self,
        directory: Self::Handle,
        name: Name<'_>,
    ) -> Result<(Self::File, About), Error>;
    fn close(&mut self, file: &Self::File) -> Result<(), Error>;
    /// At most so many bytes, and whether the file ends behind them.
    fn read(
        &mut self,
        file: &Self::File,
        offset: u64,
        count: u32,
    ) -> Result<(Vec<u8>, bool), Error>;
    /// How many bytes were written; they are stable.
    fn write(&mut self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<u32, Error>;
    /// In bytes; stable.
    fn set_size(&mut self, file: &Self::File, size: u64) -> Result<(), Error>;
    /// Of the file system of a directory.
    fn space(&mut self, directory: Self::Handle) -> Result<Space, Error>;
    /// The exports that lie below a directory which leads to them and is none itself, by their paths.
    fn exports_below(&mut self, _: Self::Handle) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
    /// Tells what was odd on the connection since it was told last.
    fn tell_oddities(&mut self, site: &Site);
}

impl From<About> for op::Attributes {
    fn from(of: About) -> op::Attributes {
        op::Attributes { kind: kind(of.kind), size: of.size.unwrap_or_default() }
    }
}

impl From<Attributes> for About {
    fn from(of: Attributes) -> About {
        About {
            kind: Some(of.kind),
            size: Some(of.size),
            links: Some(of.links),
            number: Some(((of.file_system, 0), of.file_id)),
            uid: Some(of.uid),
            gid: Some(of.gid),
        }
    }
}

impl Server for Site {
    type Calls = Client;

    fn site(&self) -> &Site {
        self
    }

    fn connect(&self) -> Result<Client, Failure> {
        self.client()
    }
}

/// Calls that the clients of all versions make alike.
macro_rules! calls_of_all_versions {
    () => {
        fn channel(&self) -> &Channel {
            self.socket()
        }

        fn set_deadline(&mut self, deadline: Deadline) {
            Client::set_deadline(self, deadline);
        }

        fn null(&mut self) -> Result<(), Error> {
            Client::null(self)
        }

        fn attributes(&mut self, file: FileHandle) -> Result<About, Error> {
            Client::attributes(self, file).map(About::from)
        }

        fn lookup(
            &mut self,
            directory: FileHandle,
            name: Name<'_>,
        ) -> Result<(FileHandle, About), Error> {
            let (file, of) = Client::lookup(self, directory, name)?;
            Ok((file, of.into()))
        }

        fn list(&mut self, directory: FileHandle) -> Result<Vec<DirectoryEntry>, Error> {
            Client::list(self, directory)
        }

        fn make_directory(
            &mut self,
            directory: FileHandle,
            name: Name<'_>,
        ) -> Result<FileHandle, Error> {
            Client::make_directory(self, directory, name, DIRECTORY_MODE)
        }
    };
}

pub(crate) use calls_of_all_versions;

/// Versions 2 and 3, which know of no open files: opening is looking up.
impl Calls for Client {
    type Handle = FileHandle;
    type File = NfsFile;
    const KEEPS_FILES_OPEN: bool = false;

    calls_of_all_versions!();

    fn remove_directory(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        Client::remove_directory(self, directory, name)
    }

    fn remove_file(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        self.remove(directory, name)
    }

    fn create(&mut self, directory: FileHandle, name: Name<'_>) -> Result<NfsFile, Error> {
        let attributes = SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() };
        let how = CreateHow::Guarded(attributes);
        Client::create(self, directory, name, how).map(NfsFile::new)
    }

    fn open(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(NfsFile, About), Error> {
        let (file, about) = Calls::lookup(self, directory, name)?;
        Ok((NfsFile::new(file), about))
    }

    fn open_to_write(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(NfsFile, About), Error> {
        Calls::open(self, directory, name)
    }

    fn close(&mut self, _: &NfsFile) -> Result<(), Error> {
        Ok(())
    }

    fn read(&mut self, file: &NfsFile, offset: u64, count: u32) -> Result<(Vec<u8>, bool), Error> {
        let (data, end) = Client::read(self, file.handle, offset, count)?;
        Ok((data.to_vec(), end))
    }

    fn write(&mut self, file: &NfsFile, offset: u64, bytes: &[u8]) -> Result<u32, Error> {
        let (count, _) = Client::write(self, file.handle, offset, Stability::FileSync, bytes)?;
        Ok(count)
    }

    fn set_size(&mut self, file: &NfsFile, size: u64) -> Result<(), Error> {
        Client::set_size(self, file.handle, size)?;
        self.commit(file.handle).map(drop)
    }

    fn space(&mut self, directory: FileHandle) -> Result<Space, Error> {
        let space = Client::space(self, directory)?;
        Ok(Space { total: space.total, available: space.available })
    }

    fn tell_oddities(&mut self, site: &Site) {
        site.oddities.datagrams(&site.given, self.take_datagrams());
        if let Some((call, bytes)) = self.take_surplus() {
            site.oddities.surplus(&site.given, call, bytes);
        }
    }
}
