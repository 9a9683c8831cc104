//! The calls of version 4 that names below a target are worked with.

use super::share::Server;
use super::{Nfs4File, exports};
use crate::entry::Space;
use crate::nfs::calls::{self, About, Calls, calls_of_all_versions};
use crate::nfs::namespace::{DIRECTORY_MODE, FILE_MODE};
use crate::nfs::site::Site;
use plimsoll_model::{Deadline, Failure};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{DirectoryEntry, FileType, Name, Stability};
use plimsoll_nfs::nfs4::{
    Attributes, Client, FileHandle, OpenHow, Operation, SetAttributes, Status,
};
use plimsoll_transport::Channel;

impl From<Attributes> for About {
    fn from(of: Attributes) -> About {
        About {
            kind: of.kind,
            size: of.size,
            links: of.links,
            number: of.file_system.map(|id| (id.major, id.minor)).zip(of.file_id),
            uid: of.owner.and_then(|owner| owner.0),
            gid: of.group.and_then(|group| group.0),
        }
    }
}

impl calls::Server for Server {
    type Calls = Client;

    fn site(&self) -> &Site {
        &self.site
    }

    fn connect(&self) -> Result<Client, Failure> {
        self.client()
    }
}

impl Calls for Client {
    type Handle = FileHandle;
    type File = Nfs4File;
    const KEEPS_FILES_OPEN: bool = true;

    calls_of_all_versions!();

    fn remove_directory(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        self.remove(directory, name)
    }

    /// REMOVE takes empty directories, too: what it is, is looked up before.
    fn remove_file(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(), Error> {
        let (_, of) = Client::lookup(self, directory, name)?;
        if of.kind == Some(FileType::Directory) {
            let (operation, status) = (Operation::Remove, Status::IsDirectory);
            return Err(Error::Nfs4 { operation, status });
        }
        self.remove(directory, name)
    }

    fn create(&mut self, directory: FileHandle, name: Name<'_>) -> Result<Nfs4File, Error> {
        let attributes = SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() };
        let how = OpenHow::Guarded(attributes);
        let (file, _) = Client::open_to_write(self, directory, name, how)?;
        Ok(Nfs4File::new(file))
    }

    fn open(&mut self, directory: FileHandle, name: Name<'_>) -> Result<(Nfs4File, About), Error> {
        let (file, of) = Client::open(self, directory, name)?;
        Ok((Nfs4File::new(file), of.into()))
    }

    fn open_to_write(
        &mut self,
        directory: FileHandle,
        name: Name<'_>,
    ) -> Result<(Nfs4File, About), Error> {
        let (file, of) = Client::open_to_write(self, directory, name, OpenHow::Existing)?;
        Ok((Nfs4File::new(file), of.into()))
    }

    fn close(&mut self, file: &Nfs4File) -> Result<(), Error> {
        Client::close(self, &file.open)
    }

    fn read(&mut self, file: &Nfs4File, offset: u64, count: u32) -> Result<(Vec<u8>, bool), Error> {
        Client::read(self, &file.open, offset, count)
    }

    fn write(&mut self, file: &Nfs4File, offset: u64, bytes: &[u8]) -> Result<u32, Error> {
        let (count, _) = Client::write(self, &file.open, offset, Stability::FileSync, bytes)?;
        Ok(count)
    }

    fn set_size(&mut self, file: &Nfs4File, size: u64) -> Result<(), Error> {
        Client::set_size(self, &file.open, size)?;
        self.commit(file.open.handle).map(drop)
    }

    fn space(&mut self, directory: FileHandle) -> Result<Space, Error> {
        let attributes = self.file_system(directory)?;
        Ok(Space {
            total: attributes.space_total.unwrap_or_default(),
            available: attributes.space_available.unwrap_or_default(),
        })
    }

    fn exports_below(&mut self, directory: FileHandle) -> Result<Vec<String>, Error> {
        exports::paths_from(self, directory)
    }

    fn tell_oddities(&mut self, _: &Site) {}
}
