//! The `nfs3_server` crate's file-system traits over a [`Tree`].

use super::attributes;
use super::places::ROOT;
use super::tree::Tree;
use nfs3_server::nfs3_types::nfs3::{
    FSF3_CANSETTIME, FSF3_HOMOGENEOUS, FSINFO3resok, Nfs3Option, createverf3, fattr3, filename3,
    nfspath3, nfsstat3, nfstime3, sattr3, stable_how,
};
use nfs3_server::vfs::{
    DirEntryPlus, FileHandleU64, NextResult, NfsFileSystem, NfsReadFileSystem, ReadDirPlusIterator,
};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest READ and WRITE in bytes; what is asked beyond it is not read.
const LARGEST_TRANSFER: u32 = 1 << 20;

/// Verifiers of exclusive creates are remembered for so many files.
const VERIFIERS: usize = 1024;

/// A directory being served. Calls are answered one after another on the server's thread; only
/// waiting for the disk is done aside.
#[derive(Debug)]
pub(super) struct ServedDirectory {
    tree: Arc<Tree>,
    /// By which verifier a file was created, so that a repeated call is distinguished from a rival's
    /// (RFC 1813, section 3.3.8).
    created: Mutex<HashMap<u64, createverf3>>,
}

impl ServedDirectory {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self { tree: Arc::new(Tree::open(directory)?), created: Mutex::default() })
    }

    fn attributes(&self, id: u64) -> Result<fattr3, nfsstat3> {
        Ok(attributes::from_metadata(id, &self.tree.metadata(id)?))
    }
}

/// Waits for the disk without holding up other calls.
async fn sync(
    file: Arc<File>,
    how: impl FnOnce(&File) -> io::Result<()> + Send + 'static,
) -> Result<(), nfsstat3> {
    match tokio::task::spawn_blocking(move || how(&file)).await {
        Ok(result) => result.map_err(attributes::status),
        Err(_) => Err(nfsstat3::NFS3ERR_SERVERFAULT),
    }
}

impl NfsReadFileSystem for ServedDirectory {
    type Handle = FileHandleU64;

    fn root_dir(&self) -> FileHandleU64 {
        ROOT.into()
    }

    async fn lookup(
        &self,
        directory: &FileHandleU64,
        name: &filename3<'_>,
    ) -> Result<FileHandleU64, nfsstat3> {
        self.tree.lookup(directory.as_u64(), name.as_ref()).map(Into::into)
    }

    async fn getattr(&self, id: &FileHandleU64) -> Result<fattr3, nfsstat3> {
        self.attributes(id.as_u64())
    }

    async fn read(
        &self,
        id: &FileHandleU64,
        offset: u64,
        count: u32,
    ) -> Result<(Vec<u8>, bool), nfsstat3> {
        let file = self.tree.regular(id.as_u64())?;
        let size = file.metadata().map_err(attributes::status)?.len();
        let wanted = u64::from(count.min(LARGEST_TRANSFER)).min(size.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(wanted).map_err(|_| nfsstat3::NFS3ERR_INVAL)?];
        // The file may be cut short between the two calls.
        let got = read_at(&file, &mut bytes, offset).map_err(attributes::status)?;
        bytes.truncate(got);
        Ok((bytes, offset.saturating_add(got as u64) >= size))
    }

    async fn readdirplus(
        &self,
        directory: &FileHandleU64,
        cookie: u64,
    ) -> Result<impl ReadDirPlusIterator<FileHandleU64>, nfsstat3> {
        let mut names = self.tree.list(directory.as_u64())?;
        names.retain(|(id, _)| *id > cookie);
        Ok(Listing { tree: Arc::clone(&self.tree), names: names.into_iter() })
    }

    async fn readlink(&self, id: &FileHandleU64) -> Result<nfspath3<'_>, nfsstat3> {
        self.tree.link(id.as_u64()).map(Into::into)
    }

    async fn fsinfo(&self, root: &FileHandleU64) -> Result<FSINFO3resok, nfsstat3> {
        Ok(FSINFO3resok {
            obj_attributes: Nfs3Option::Some(self.attributes(root.as_u64())?),
            rtmax: LARGEST_TRANSFER,
            rtpref: LARGEST_TRANSFER,
            rtmult: 4096,
            wtmax: LARGEST_TRANSFER,
            wtpref: LARGEST_TRANSFER,
            wtmult: 4096,
            dtpref: 1 << 16,
            maxfilesize: i64::MAX.cast_unsigned(),
            time_delta: nfstime3 { seconds: 0, nseconds: 1 },
            properties: FSF3_HOMOGENEOUS | FSF3_CANSETTIME,
        })
    }
}

/// Fills the buffer as far as the file goes; the bytes read.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// The rest of a directory.
struct Listing {
    tree: Arc<Tree>,
    names: std::vec::IntoIter<(u64, Vec<u8>)>,
}

impl ReadDirPlusIterator<FileHandleU64> for Listing {
    async fn next(&mut self) -> NextResult<DirEntryPlus<FileHandleU64>> {
        let Some((id, name)) = self.names.next() else {
            return NextResult::Eof;
        };
        // A name that vanished since is listed without attributes, as RFC 1813 allows.
        let metadata = self.tree.metadata(id).ok();
        NextResult::Ok(DirEntryPlus {
            fileid: id,
            name: name.into(),
            cookie: id,
            name_attributes: metadata.map(|metadata| attributes::from_metadata(id, &metadata)),
            name_handle: Some(id.into()),
        })
    }
}

impl NfsFileSystem for ServedDirectory {
    async fn setattr(&self, id: &FileHandleU64, wanted: sattr3) -> Result<fattr3, nfsstat3> {
        let id = id.as_u64();
        let result = if self.tree.metadata(id)?.is_dir() {
            if matches!(wanted.size, Nfs3Option::Some(_)) {
                return Err(nfsstat3::NFS3ERR_ISDIR);
            }
            attributes::set(&self.tree.directory(id)?, &wanted)
        } else {
            attributes::set(&*self.tree.regular(id)?, &wanted)
        };
        result.map_err(attributes::status)?;
        self.attributes(id)
    }

    async fn write(
        &self,
        id: &FileHandleU64,
        offset: u64,
        data: &[u8],
        stable: stable_how,
    ) -> Result<(fattr3, stable_how), nfsstat3> {
        let id = id.as_u64();
        let file = self.tree.regular(id)?;
        let end = offset.checked_add(data.len() as u64);
        if end.is_none_or(|end| end > i64::MAX.cast_unsigned()) {
            return Err(nfsstat3::NFS3ERR_FBIG);
        }
        file.write_all_at(data, offset).map_err(attributes::status)?;
        match stable {
            stable_how::UNSTABLE => {}
            stable_how::DATA_SYNC => sync(file, File::sync_data).await?,
            stable_how::FILE_SYNC => sync(file, File::sync_all).await?,
        }
        Ok((self.attributes(id)?, stable))
    }

    /// UNCHECKED and GUARDED; for the latter the crate has looked that the name is free.
    async fn create(
        &self,
        directory: &FileHandleU64,
        name: &filename3<'_>,
        wanted: sattr3,
    ) -> Result<(FileHandleU64, fattr3), nfsstat3> {
        let mode = match wanted.mode {
            Nfs3Option::Some(mode) => mode,
            Nfs3Option::None => 0o666,
        };
        let (id, file) = self.tree.create(directory.as_u64(), name.as_ref(), mode, false)?;
        attributes::set(&file, &wanted).map_err(attributes::status)?;
        Ok((id.into(), self.attributes(id)?))
    }

    async fn create_exclusive(
        &self,
        directory: &FileHandleU64,
        name: &filename3<'_>,
        verifier: createverf3,
    ) -> Result<FileHandleU64, nfsstat3> {
        let created = || self.created.lock().unwrap_or_else(PoisonError::into_inner);
        match self.tree.create(directory.as_u64(), name.as_ref(), 0o666, true) {
            Ok((id, _)) => {
                let mut created = created();
                if created.len() >= VERIFIERS {
                    created.clear();
                }
                created.insert(id, verifier);
                Ok(id.into())
            }
            Err(nfsstat3::NFS3ERR_EXIST) => {
                let id = self.tree.lookup(directory.as_u64(), name.as_ref())?;
                match created().get(&id) {
                    Some(known) if *known == verifier => Ok(id.into()),
                    _ => Err(nfsstat3::NFS3ERR_EXIST),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn mkdir(
        &self,
        directory: &FileHandleU64,
        name: &filename3<'_>,
    ) -> Result<(FileHandleU64, fattr3), nfsstat3> {
        let id = self.tree.make_directory(directory.as_u64(), name.as_ref())?;
        Ok((id.into(), self.attributes(id)?))
    }

    async fn remove(
        &self,
        directory: &FileHandleU64,
        name: &filename3<'_>,
    ) -> Result<(), nfsstat3> {
        self.tree.remove(directory.as_u64(), name.as_ref())
    }

    async fn rename<'a>(
        &self,
        from: &FileHandleU64,
        from_name: &filename3<'a>,
        to: &FileHandleU64,
        to_name: &filename3<'a>,
    ) -> Result<(), nfsstat3> {
        self.tree.rename((from.as_u64(), from_name.as_ref()), (to.as_u64(), to_name.as_ref()))
    }

    /// Links are shown and never followed, so none is made either.
    async fn symlink<'a>(
        &self,
        _directory: &FileHandleU64,
        _name: &filename3<'a>,
        _link: &nfspath3<'a>,
        _wanted: &sattr3,
    ) -> Result<(FileHandleU64, fattr3), nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }

    /// The whole file, whichever range is named, as RFC 1813 allows.
    async fn commit(&self, id: &FileHandleU64, _offset: u64, _count: u32) -> Result<(), nfsstat3> {
        sync(self.tree.regular(id.as_u64())?, File::sync_all).await
    }
}
