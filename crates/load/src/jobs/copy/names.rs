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
    files: usize,
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
        let all = 1 + count + 2 * files.files();
        let number_of_files = files.files();
        let path = move |number: u32| match (number as usize).checked_sub(1) {
            None => tree.clone(),
            Some(directory) if directory < directories.len() => directories[directory].clone(),
            Some(item) => {
                let item = item - directories.len();
                let file = item % files.files().max(1);
                let name = if files.has_long_names() { tree::long_file } else { tree::file };
                let name = name(file);
                let name = if item < files.files() { name } else { tree::temporary(&name) };
                format!("{}/{name}", directories[files.directory_of(file)])
            }
        };
        let paths = paths.add_computed(all as u32, path);
        Names { paths, directories: count, files: number_of_files }
    }

    /// The tree itself.
    pub fn tree(&self) -> PathId {
        self.paths.id(0)
    }

    /// A directory, from 0.
    pub fn directory(&self, number: usize) -> PathId {
        self.paths.id(1 + number)
    }

    /// The name that a file has while it is copied, from 0.
    pub fn temporary(&self, number: usize) -> PathId {
        self.paths.id(1 + self.directories + self.files + number)
    }

    /// A file, from 0.
    pub fn file(&self, number: usize) -> PathId {
        self.paths.id(1 + self.directories + number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Manifest;
    use plimsoll_model::{DataClass, GeneratedData};
    use std::collections::HashSet;

    /// Longest path that servers and clients of Windows take.
    const LONGEST: usize = 259;

    #[test]
    fn paths_of_a_whole_source_tree_are_unique_and_not_too_long() {
        let (count, mean_bytes) = DataClass::Source.files_and_mean_bytes();
        let data =
            GeneratedData { class: DataClass::Source, count, mean_bytes, scale: 1.0, seed: 3 };
        let files: Arc<dyn FileSet> = Arc::new(Manifest::new(&data.dataset(), &data).unwrap());
        let paths = Arc::new(Paths::default());
        let tree = ".plimsoll-0123abcd-00000007/copy-12-345";
        let names = Names::new(&paths, tree.to_owned(), &files);
        let get = |id| paths.get(id).expect("it is known").to_string();
        assert_eq!(get(names.tree()), tree);
        let mut seen = HashSet::new();
        let mut add = |path: String, within: String| {
            let name = path.strip_prefix(&within).and_then(|rest| rest.strip_prefix('/'));
            assert!(name.is_some_and(|name| !name.contains('/')), "{path} in {within}");
            assert!(path.len() <= LONGEST, "{path}");
            assert!(seen.insert(path));
        };
        for number in 0..files.directories() {
            let above = files.parent(number).map_or(names.tree(), |above| names.directory(above));
            add(get(names.directory(number)), get(above));
        }
        for number in 0..files.files() {
            let directory = get(names.directory(files.directory_of(number)));
            add(get(names.file(number)), directory.clone());
            add(get(names.temporary(number)), directory);
        }
        assert_eq!(seen.len(), 3650 + 2 * 56_206);
    }
}
