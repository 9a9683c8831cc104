//! The files of a responder, in memory: each as it would survive a restart, and as it is read now.

use nfs3_types::nfs3::nfsstat3::{
    self, NFS3ERR_EXIST, NFS3ERR_FBIG, NFS3ERR_ISDIR, NFS3ERR_NOENT, NFS3ERR_NOTDIR,
    NFS3ERR_NOTEMPTY, NFS3ERR_STALE,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// The number of the exported directory.
pub(super) const ROOT: u64 = 1;
/// Longest file, in bytes.
const LONGEST: u64 = 1 << 30;

pub(super) struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
}

#[derive(Default)]
pub(super) struct Node {
    pub mode: u32,
    pub owner: (u32, u32),
    pub modified: u32,
    pub kind: Content,
}

pub(super) enum Content {
    Directory(BTreeMap<Vec<u8>, u64>),
    File(File),
}

impl Default for Content {
    fn default() -> Self {
        Content::Directory(BTreeMap::new())
    }
}

/// A file's bytes.
#[derive(Default)]
pub(super) struct File {
    /// What is read.
    pub now: Vec<u8>,
    /// What would be there after a restart.
    stable: Vec<u8>,
    /// Where the two may differ.
    unstable: Vec<Range<usize>>,
}

type Result<T> = std::result::Result<T, nfsstat3>;

impl Tree {
    pub fn new() -> Self {
        let root = Node { mode: 0o777, ..Node::default() };
        Tree { nodes: BTreeMap::from([(ROOT, root)]), next: ROOT + 1 }
    }

    pub fn node(&mut self, id: u64) -> Result<&mut Node> {
        self.nodes.get_mut(&id).ok_or(NFS3ERR_STALE)
    }

    pub fn file(&mut self, id: u64) -> Result<&mut File> {
        match &mut self.node(id)?.kind {
            Content::File(file) => Ok(file),
            Content::Directory(_) => Err(NFS3ERR_ISDIR),
        }
    }

    pub fn names(&mut self, directory: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>> {
        match &mut self.node(directory)?.kind {
            Content::Directory(names) => Ok(names),
            Content::File(_) => Err(NFS3ERR_NOTDIR),
        }
    }

    pub fn look_up(&mut self, directory: u64, name: &[u8]) -> Result<u64> {
        self.names(directory)?.get(name).copied().ok_or(NFS3ERR_NOENT)
    }

    /// Adds a node; an error if the name is there.
    pub fn add(&mut self, directory: u64, name: &[u8], node: Node) -> Result<u64> {
        let id = self.next;
        let names = self.names(directory)?;
        if names.contains_key(name) {
            return Err(NFS3ERR_EXIST);
        }
        names.insert(name.to_vec(), id);
        self.nodes.insert(id, node);
        self.next += 1;
        Ok(id)
    }

    pub fn remove(&mut self, directory: u64, name: &[u8], a_directory: bool) -> Result<()> {
        let id = self.look_up(directory, name)?;
        match (&self.node(id)?.kind, a_directory) {
            (Content::Directory(names), true) if !names.is_empty() => return Err(NFS3ERR_NOTEMPTY),
            (Content::Directory(_), false) => return Err(NFS3ERR_ISDIR),
            (Content::File(_), true) => return Err(NFS3ERR_NOTDIR),
            _ => {}
        }
        self.names(directory)?.remove(name);
        self.nodes.remove(&id);
        Ok(())
    }

    /// In place of what has the name already.
    pub fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<()> {
        let id = self.look_up(from.0, from.1)?;
        let replaced = self.names(to.0)?.insert(to.1.to_vec(), id);
        if let Some(replaced) = replaced.filter(|replaced| *replaced != id) {
            self.nodes.remove(&replaced);
        }
        if from != to {
            self.names(from.0)?.remove(from.1);
        }
        Ok(())
    }

    /// The file of a path below the root.
    pub fn find(&mut self, path: &str) -> Result<&File> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        let mut id = ROOT;
        for part in parts {
            id = self.look_up(id, part.as_bytes())?;
        }
        self.file(id).map(|file| &*file)
    }

    /// The paths of everything below the root, sorted.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut directories = vec![(ROOT, String::new())];
        while let Some((id, above)) = directories.pop() {
            if let Some(Node { kind: Content::Directory(names), .. }) = self.nodes.get(&id) {
                for (name, id) in names {
                    let path = format!("{above}{}", String::from_utf8_lossy(name));
                    directories.push((*id, format!("{path}/")));
                    paths.push(path);
                }
            }
        }
        paths.sort();
        paths
    }

    /// What is not stable is gone; how many bytes were overwritten or added in vain.
    pub fn restart(&mut self) -> u64 {
        let files = self.nodes.values_mut().filter_map(|node| match &mut node.kind {
            Content::File(file) => Some(file),
            Content::Directory(_) => None,
        });
        files.map(File::restart).sum()
    }
}

impl File {
    pub fn write(&mut self, offset: u64, data: &[u8], stable: bool) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= LONGEST);
        let range = offset as usize..end.ok_or(NFS3ERR_FBIG)? as usize;
        put(&mut self.now, range.start, data);
        if stable {
            put(&mut self.stable, range.start, data);
        } else {
            self.unstable.push(range);
        }
        Ok(())
    }

    /// Makes everything stable that lies in a range, or partly.
    pub fn commit(&mut self, offset: u64, count: u32) {
        let end = if count == 0 { u64::MAX } else { offset.saturating_add(count.into()) };
        let File { now, stable, unstable } = self;
        unstable.retain(|range| {
            let inside = (range.start as u64) < end && range.end as u64 > offset;
            if let Some(data) = now.get(range.start..range.end.min(now.len()))
                && inside
            {
                put(stable, range.start, data);
            }
            !inside
        });
    }

    pub fn set_size(&mut self, size: u64) -> Result<()> {
        if size > LONGEST {
            return Err(NFS3ERR_FBIG);
        }
        self.now.resize(size as usize, 0);
        self.stable.resize(size as usize, 0);
        Ok(())
    }

    /// What would be there after a restart.
    pub fn stable(&self) -> &[u8] {
        &self.stable
    }

    fn restart(&mut self) -> u64 {
        let lost = self.unstable.drain(..).map(|range| range.len() as u64).sum();
        self.now.clone_from(&self.stable);
        lost
    }
}

fn put(to: &mut Vec<u8>, at: usize, data: &[u8]) {
    if to.len() < at + data.len() {
        to.resize(at + data.len(), 0);
    }
    to[at..at + data.len()].copy_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_is_gone_after_a_restart() {
        let mut file = File::default();
        file.write(0, b"stable", true).unwrap();
        file.write(2, b"?", false).unwrap();
        file.write(6, b" and committed", false).unwrap();
        file.commit(6, 1);
        file.write(20, b" and not", false).unwrap();
        assert_eq!(file.now, b"st?ble and committed and not");
        assert_eq!(file.restart(), 1 + 8);
        assert_eq!(file.now, b"stable and committed");
        assert_eq!(file.write(u64::MAX, b"x", true), Err(NFS3ERR_FBIG));
    }
}
