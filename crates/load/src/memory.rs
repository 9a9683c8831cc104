//! Names kept in memory, for shares without storage. Files that lanes work on have no content
//! here; small files have.

use crate::entry::{Entry, EntryKind, Space};
use crate::op::{Attributes, FileId, Found, Node as On, Op, OpError};
use crate::paths::Paths;
use crate::share::Namespace;
use plimsoll_model::{Cause, ErrorKind, Failure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A tree of names, shared by all its namespaces.
#[derive(Clone)]
pub(crate) struct Memory {
    tree: Arc<Mutex<Tree>>,
    /// Asked before every call: a scripted failure.
    script: Arc<NamespaceScript>,
}

/// Decides whether a call on a path fails: `(call, path)`, where the call has the name of the
/// method of [`Namespace`].
pub type NamespaceScript = dyn Fn(&str, &str) -> Option<Failure> + Send + Sync;

struct Tree {
    nodes: BTreeMap<String, Node>,
    files: u32,
    /// Those that are open.
    open: BTreeSet<u32>,
    space: Space,
}

enum Node {
    Directory,
    /// With the content of a small file.
    File(Vec<u8>),
}

impl Node {
    fn kind(&self) -> EntryKind {
        match self {
            Node::Directory => EntryKind::Directory,
            Node::File(_) => EntryKind::File,
        }
    }
}

impl Memory {
    pub(crate) fn new(space: Space) -> Memory {
        let tree = Tree { nodes: BTreeMap::new(), files: 0, open: BTreeSet::new(), space };
        Memory { tree: Arc::new(Mutex::new(tree)), script: Arc::new(|_, _| None) }
    }

    pub(crate) fn with_script(self, script: Arc<NamespaceScript>) -> Memory {
        Memory { script, ..self }
    }

    pub(crate) fn set_space(&self, space: Space) {
        self.lock().space = space;
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.lock().nodes.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what an operation does to names, and finds what it finds. Content is not kept.
    pub(crate) fn perform(&self, op: &Op, paths: &Paths) -> Result<Option<Box<Found>>, OpError> {
        let path = |path| {
            let gone = || OpError { kind: ErrorKind::Gone, detail: "no such path".into() };
            paths.get(path).ok_or_else(gone)
        };
        let mut names = self.clone();
        let done = match op {
            Op::Read(_) | Op::Write(..) | Op::Flush(_) => return Ok(None),
            Op::Close(file) if self.lock().open.remove(&file.0) => return Ok(None),
            Op::Close(_) => return Err(not_open()),
            Op::Create(id) => names.create(&path(*id)?).map(|file| Some(Found::File(file))),
            Op::Open(id) => names.open(&path(*id)?).map(|file| Some(Found::File(file))),
            Op::Remove(id) => names.remove_file(&path(*id)?).map(|()| None),
            Op::Lookup(id) => names.look_up(&path(*id)?).map(|a| Some(Found::Attributes(a))),
            Op::LookupIfThere(id) => Ok(names.look_up(&path(*id)?).ok().map(Found::Attributes)),
            Op::ReadDirectory(id) => {
                names.list(&path(*id)?).map(|entries| Some(Found::Entries(entries.into())))
            }
            Op::MakeDirectory(id) => names.make_directory(&path(*id)?).map(|()| None),
            Op::RemoveDirectory(id) => names.remove_directory(&path(*id)?).map(|()| None),
            Op::Rename(from, to) => names.rename(&path(*from)?, &path(*to)?).map(|()| None),
            Op::SetAttribute(On::Directory(id) | On::Closed(id), _) => {
                names.look_up(&path(*id)?).map(|_| None)
            }
            Op::SetAttribute(On::File(file), _) if self.lock().open.contains(&file.0) => {
                return Ok(None);
            }
            Op::GetAttributes(file) if self.lock().open.contains(&file.0) => {
                let attributes = Attributes { kind: EntryKind::File, size: 0 };
                return Ok(Some(Box::new(Found::Attributes(attributes))));
            }
            Op::Lock(file, ..) | Op::Unlock(file, _) if self.lock().open.contains(&file.0) => {
                return Ok(None);
            }
            Op::SetAttribute(..) | Op::GetAttributes(_) | Op::Lock(..) | Op::Unlock(..) => {
                return Err(not_open());
            }
            Op::Access(id) => names.look_up(&path(*id)?).map(|_| None),
            Op::Put(whole, _) => names.create(&path(whole.path)?).map(|f| self.forget(f)),
            Op::Get(whole) => names.open(&path(whole.path)?).map(|f| self.forget(f)),
        };
        done.map(|found| found.map(Box::new)).map_err(|failure| OpError {
            kind: ErrorKind::Gone,
            detail: format!("{}: {}", failure.on, failure.happened).into(),
        })
    }

    /// Gives a file another name, in place of what has it.
    fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        let mut tree = self.enter("rename", from)?;
        match tree.nodes.remove(from) {
            Some(node) => drop(tree.nodes.insert(to.to_owned(), node)),
            None => return Err(failure("rename", from, "no such name")),
        }
        Ok(())
    }

    /// Closes what was opened for one operation alone, which finds nothing.
    fn forget(&self, file: FileId) -> Option<Found> {
        self.lock().open.remove(&file.0);
        None
    }

    fn look_up(&self, path: &str) -> Result<Attributes, Failure> {
        let tree = self.enter("look_up", path)?;
        match tree.nodes.get(path) {
            Some(node) => {
                let size = if let Node::File(content) = node { content.len() as u64 } else { 0 };
                Ok(Attributes { kind: node.kind(), size })
            }
            None => Err(failure("look up", path, "no such name")),
        }
    }

    fn enter(&self, call: &str, path: &str) -> Result<MutexGuard<'_, Tree>, Failure> {
        match (self.script)(call, path) {
            Some(failure) => Err(failure),
            None => Ok(self.lock()),
        }
    }
}

impl Tree {
    /// Adds a name that must not exist to a directory that must.
    fn add(&mut self, path: &str, node: Node) -> Result<(), Failure> {
        let parent = path.rsplit_once('/').map_or("", |p| p.0);
        if !parent.is_empty() && !matches!(self.nodes.get(parent), Some(Node::Directory)) {
            return Err(failure("make", path, "its directory does not exist"));
        }
        if self.nodes.contains_key(path) {
            return Err(failure("make", path, "it exists"));
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    fn next_file(&mut self) -> FileId {
        self.files += 1;
        self.open.insert(self.files);
        FileId(self.files)
    }

    fn children<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a Node)> {
        self.nodes.iter().filter_map(move |(name, node)| {
            let below = match path {
                "" => name.as_str(),
                _ => name.strip_prefix(path)?.strip_prefix('/')?,
            };
            (!below.contains('/')).then_some((below, node))
        })
    }
}

impl Namespace for Memory {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.enter("make_directory", path)?.add(path, Node::Directory)
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        let tree = self.enter("list", path)?;
        if !path.is_empty() && !matches!(tree.nodes.get(path), Some(Node::Directory)) {
            return Err(failure("list", path, "no such directory"));
        }
        let entries = tree
            .children(path)
            .map(|(name, node)| Entry { name: name.to_owned(), kind: node.kind() });
        Ok(entries.collect())
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        let mut tree = self.enter("create", path)?;
        tree.add(path, Node::File(Vec::new()))?;
        Ok(tree.next_file())
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        let mut tree = self.enter("open", path)?;
        match tree.nodes.get(path) {
            Some(Node::File(_)) => Ok(tree.next_file()),
            _ => Err(failure("open", path, "no such file")),
        }
    }

    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure> {
        self.open(path)
    }

    fn close(&mut self, file: FileId) {
        self.lock().open.remove(&file.0);
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut tree = self.enter("write_small", path)?;
        if let Some(Node::File(content)) = tree.nodes.get_mut(path) {
            *content = bytes.to_vec();
            return Ok(());
        }
        tree.add(path, Node::File(bytes.to_vec()))
    }

    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure> {
        match self.enter("read_part", path)?.nodes.get(path) {
            Some(Node::File(content)) => {
                let begin = content.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
                let rest = &content[begin..];
                Ok(rest[..rest.len().min(limit)].to_vec())
            }
            _ => Err(failure("read", path, "no such file")),
        }
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        let mut tree = self.enter("remove_file", path)?;
        match tree.nodes.get(path) {
            Some(Node::File(_)) => {
                tree.nodes.remove(path);
                Ok(())
            }
            _ => Err(failure("remove", path, "no such file")),
        }
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        let mut tree = self.enter("remove_directory", path)?;
        if !matches!(tree.nodes.get(path), Some(Node::Directory)) {
            return Err(failure("remove", path, "no such directory"));
        }
        if tree.children(path).next().is_some() {
            return Err(failure("remove", path, "it is not empty"));
        }
        tree.nodes.remove(path);
        Ok(())
    }

    fn space(&mut self) -> Result<Space, Failure> {
        Ok(self.enter("space", "")?.space)
    }
}

fn not_open() -> OpError {
    OpError { kind: ErrorKind::Gone, detail: "not open".into() }
}

fn failure(tried: &str, path: &str, happened: &str) -> Failure {
    Failure::new(Cause::Trial, format!("{tried} a name")).on(path).happened(happened)
}
