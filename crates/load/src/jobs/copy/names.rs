//! The paths of one copy: names of ours, in directories as the files lie in theirs.

use crate::dataset::FileSet;
use crate::jobs::tree;
use crate::op::PathId;
use crate::paths::{ManyPaths, Paths};
use std::sync::Arc;

/// The paths of one copy. Those of directories are kept, those of files computed.
pub(super) struct Names {
    paths: ManyPaths,
    directories: usize,
}

impl Names {
    /// A tree of this path.
    pub fn new(paths: &Arc<Paths>, tree: String, files: &Arc<dyn FileSet>) -> Names {
        let mut directories: Vec<String> = Vec::with_capacity(files.directories());
        for number in 0..files.directories() {
            let above = files.parent(number).map_or(&tree, |above| &directories[above]);
            directories.push(format!("{above}/{}", tree::directory(number)));
        }
        let (count, files) = (directories.len(), files.clone());
        let all = 1 + count + files.files();
        let path = move |number: u32| match (number as usize).checked_sub(1) {
            None => tree.clone(),
            Some(directory) if directory < directories.len() => directories[directory].clone(),
            Some(item) => {
                let file = item - directories.len();
                let name = if files.has_long_names() { tree::long_file } else { tree::file };
                format!("{}/{}", directories[files.directory_of(file)], name(file))
            }
        };
        Names { paths: paths.add_computed(all as u32, path), directories: count }
    }

    /// The tree itself.
    pub fn tree(&self) -> PathId {
        self.paths.id(0)
    }

    /// A directory, from 0.
    pub fn directory(&self, number: usize) -> PathId {
        self.paths.id(1 + number)
    }

    /// A file, from 0.
    pub fn file(&self, number: usize) -> PathId {
        self.paths.id(1 + self.directories + number)
    }
}
