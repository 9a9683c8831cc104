//! The names below an SMB target.

use super::failures::Step;
use super::share::OpenFiles;
use super::site::Site;
use crate::entry::{Entry, EntryKind, Space};
use crate::op::FileId;
use crate::share::Namespace;
use plimsoll_model::{Failure, Nanos};
use plimsoll_smb::{Access, Command, CreateHow, Error, NtStatus, Tree};
use std::sync::Arc;
use std::time::Duration;

/// Servers close connections that nobody uses; after this time one is tried before it is relied
/// on.
const IDLE: Duration = Duration::from_secs(20);
/// How long a server may take to notice that a lane's connection is gone and to close its files.
/// Until then a file that was removed still has its name.
const SETTLE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);
/// Longest listing.
pub(super) const MOST_ENTRIES: usize = 1 << 20;

/// A handle on the names below a target, with a session of its own, which is made anew after it
/// broke. It holds no file open: files are known by their paths, and each lane opens its own.
pub(super) struct SmbNamespace {
    site: Arc<Site>,
    files: Arc<OpenFiles>,
    tree: Option<Tree>,
    used: Nanos,
}

impl SmbNamespace {
    /// With a session that is there already.
    pub fn new(site: &Arc<Site>, files: &Arc<OpenFiles>, tree: Tree) -> Self {
        let (site, files) = (site.clone(), files.clone());
        let used = site.deadline.now();
        SmbNamespace { site, files, tree: Some(tree), used }
    }

    /// Does something with a path on a session that is alive, and tells what went wrong.
    fn run<T>(
        &mut self,
        tried: &str,
        path: &str,
        work: impl FnMut(&mut Tree, &str) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        self.run_until_settled(tried, path, |_| false, work)
    }

    /// The same, and again for a while where the error is one of those that a file leaves behind
    /// which was removed and is still open on another session.
    fn run_until_settled<T>(
        &mut self,
        tried: &str,
        path: &str,
        is_unsettled: impl Fn(&Error) -> bool,
        mut work: impl FnMut(&mut Tree, &str) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let operation = self.site.operation();
        // A server may close the connection that it has had for longest.
        self.tree.take_if(|tree| tree.socket().is_closed());
        if operation.now().since(self.used) > IDLE
            && let Some(tree) = &mut self.tree
        {
            tree.set_deadline(operation.clone());
            if tree.echo().is_err() {
                self.tree = None;
            }
        }
        let full = self.site.path(path);
        let settled = operation.within(SETTLE);
        let mut is_new = false;
        let result = loop {
            let tree = match self.tree.as_mut() {
                Some(tree) => tree,
                None => {
                    is_new = true;
                    self.tree.insert(self.site.tree()?)
                }
            };
            tree.set_deadline(operation.clone());
            let result = work(tree, &full);
            // Nothing of it was done.
            if !is_new && result.as_ref().is_err_and(Error::ends_session) {
                self.tree = None;
                continue;
            }
            let again = result.as_ref().is_err_and(&is_unsettled);
            if !again || settled.sleep(PAUSE).is_err() {
                break result;
            }
        };
        self.used = self.site.deadline.now();
        result.map_err(|error| self.tell(tried, path, &error))
    }

    fn tell(&mut self, tried: &str, path: &str, error: &Error) -> Failure {
        let tried = if path.is_empty() { tried.to_owned() } else { format!("{tried} '{path}'") };
        let standing = self.tree.as_ref().map(|tree| (tree.tree_facts(), tree.facts()));
        let step = Step::Use {
            writable: standing.is_none_or(|(share, _)| !share.read_only),
            guest: standing.is_some_and(|(_, session)| session.guest),
        };
        let failure = self.site.failure(tried, step, error);
        if error.is_fatal() || error.ends_session() {
            self.tree = None;
        }
        failure
    }
}

impl Drop for SmbNamespace {
    fn drop(&mut self) {
        if let Some(mut tree) = self.tree.take() {
            tree.set_deadline(self.site.deadline.clone());
            tree.disconnect();
        }
    }
}

/// Writes all of `bytes` from the file's start, cuts the file after them, and makes them stable.
/// Overwritten first and cut after: whoever reads meanwhile finds no empty file.
fn write_whole(
    tree: &mut Tree,
    file: plimsoll_smb::FileId,
    before: u64,
    bytes: &[u8],
) -> Result<(), Error> {
    let most = tree.facts().write_most.max(1) as usize;
    let mut written = 0;
    while written < bytes.len() {
        let part = &bytes[written..bytes.len().min(written + most)];
        match tree.write(file, written as u64, part)? {
            0 => return Err(Error::ShortWrite { asked: bytes.len(), written }),
            count => written += count,
        }
    }
    if before > bytes.len() as u64 {
        tree.set_size(file, bytes.len() as u64)?;
    }
    tree.flush(file)
}

fn read_from(
    tree: &mut Tree,
    file: plimsoll_smb::FileId,
    offset: u64,
    limit: usize,
) -> Result<Vec<u8>, Error> {
    let most = (tree.facts().read_most.max(1) as usize).min(1 << 20);
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let begin = bytes.len();
        bytes.resize(limit.min(begin + most), 0);
        let place = offset.saturating_add(begin as u64);
        let count = tree.read(file, place, &mut bytes[begin..])?;
        bytes.truncate(begin + count);
        if count == 0 {
            break;
        }
    }
    Ok(bytes)
}

impl Namespace for SmbNamespace {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.run_until_settled("create the directory", path, is_pending, Tree::make_directory)
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        let entries =
            self.run("list the directory", path, |tree, path| tree.list(path, MOST_ENTRIES))?;
        Ok(entries.into_iter().map(entry).collect())
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        // Samba calls what is removed and still open a collision, too.
        let is_unsettled = |error: &Error| {
            is_pending(error) || error.status() == Some(NtStatus::OBJECT_NAME_COLLISION)
        };
        self.run_until_settled("create the file", path, is_unsettled, |tree, path| {
            let (file, _) = tree.create(path, CreateHow::New, Access::ReadWrite)?;
            tree.close(file)
        })?;
        Ok(self.files.open((self.site.path(path), Access::ReadWrite)))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        self.run("open the file", path, |tree, path| {
            let (file, _) = tree.create(path, CreateHow::Open, Access::Read)?;
            tree.close(file)
        })?;
        Ok(self.files.open((self.site.path(path), Access::Read)))
    }

    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure> {
        self.run("open the file", path, |tree, path| {
            let (file, _) = tree.create(path, CreateHow::Open, Access::ReadWrite)?;
            tree.close(file)
        })?;
        Ok(self.files.open((self.site.path(path), Access::ReadWrite)))
    }

    fn close(&mut self, file: FileId) {
        self.files.close(file);
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.run("write the file", path, |tree, path| {
            let (file, info) = tree.create(path, CreateHow::OpenOrCreate, Access::ReadWrite)?;
            let written = write_whole(tree, file, info.size, bytes);
            let closed = tree.close(file);
            written.and(closed)
        })
    }

    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure> {
        self.run("read the file", path, |tree, path| {
            let (file, _) = tree.create(path, CreateHow::Open, Access::Read)?;
            let read = read_from(tree, file, offset, limit);
            let closed = tree.close(file);
            read.and_then(|bytes| closed.map(|()| bytes))
        })
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        self.run("remove the file", path, |tree, path| match tree.remove_file(path) {
            // It is removed, and goes with the last session that still has it open.
            Err(Error::Status { status: NtStatus::DELETE_PENDING, .. }) => Ok(()),
            result => result,
        })
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        // Empty for its user, but not yet for the server: see `SETTLE`. Samba looks through the directory that
        // is open then, and a name in it that goes meanwhile is not found.
        let is_unsettled = |error: &Error| match error {
            Error::Status { command: Command::SetInfo, .. } if error.is_not_there() => true,
            _ => matches!(
                error.status(),
                Some(NtStatus::DIRECTORY_NOT_EMPTY | NtStatus::DELETE_PENDING)
            ),
        };
        let tried = "remove the directory";
        self.run_until_settled(tried, path, is_unsettled, Tree::remove_directory)
    }

    fn space(&mut self) -> Result<Space, Failure> {
        let space = self.run("query the free space", "", |tree, _| tree.space())?;
        Ok(Space { total: space.total, available: space.available })
    }
}

fn is_pending(error: &Error) -> bool {
    error.status() == Some(NtStatus::DELETE_PENDING)
}

/// A name as it is shown. Names that could not be used in a path, which only a strange server
/// gives, are made harmless and are nobody's file or directory.
pub(super) fn entry(listed: plimsoll_smb::Entry) -> Entry {
    let usable = !listed.name.is_empty() && !listed.name.contains(['/', '\\', '\0']);
    if !usable {
        let name = listed.name.replace(['/', '\\', '\0'], "\u{fffd}");
        return Entry { name, kind: EntryKind::Other };
    }
    Entry { name: listed.name, kind: kind(listed.kind) }
}

pub(super) fn kind(kind: plimsoll_smb::EntryKind) -> EntryKind {
    match kind {
        plimsoll_smb::EntryKind::File => EntryKind::File,
        plimsoll_smb::EntryKind::Directory => EntryKind::Directory,
        plimsoll_smb::EntryKind::Other => EntryKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_names_are_nobodys() {
        let listed = |name: &str| plimsoll_smb::Entry {
            name: name.into(),
            kind: plimsoll_smb::EntryKind::Directory,
            size: 0,
        };
        for bad in ["../x", "..\\x", "a/b", "", "a\0"] {
            let entry = entry(listed(bad));
            assert_eq!(entry.kind, EntryKind::Other);
            assert!(!entry.name.contains(['/', '\\', '\0']), "{entry:?}");
        }
        let good = entry(listed("Übung 1"));
        assert_eq!(good, Entry { name: "Übung 1".into(), kind: EntryKind::Directory });
    }
}
