//! A tree of empty files that a job makes before it is measured.

use super::{Workspace, tree};
use crate::op::{Done, FileId, Found, Op, PathId, Whole};
use crate::prepare::Pass;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Event, Failure, Nanos, OpKind, Stability};

/// The paths of a tree: directories below a root, with files in them.
pub(super) struct Tree {
    pub root: PathId,
    pub directories: Vec<PathId>,
    /// By directory.
    pub files: Vec<Vec<PathId>>,
}

impl Tree {
    /// Makes a tree at a path: directories with so many empty files each.
    pub fn make(
        tried: &str,
        at: &mut Workspace<'_>,
        root: String,
        files_of_each: &[usize],
    ) -> Result<Tree, Failure> {
        let add = |path: String| at.context.paths.add(path);
        let (mut directories, mut files) = (Vec::new(), Vec::new());
        for (number, count) in files_of_each.iter().enumerate() {
            let directory = format!("{root}/{}", tree::directory(number));
            let file = |file| add(format!("{directory}/{}", tree::file(file)));
            files.push((0..*count).map(file).collect());
            directories.push(add(directory));
        }
        let made = Tree { root: add(root), directories, files };
        let pass = Pass { share: at.share, context: at.context, block: 4096, verify: false };
        let mut progress = || at.run.event(Event::Progress { bytes: 0 });
        pass.over(tried, |lane| MakeTree::new(&made, lane.does(OpKind::PUT), &mut progress))?;
        Ok(made)
    }
}

/// Makes a tree: the root, then the directories, then empty files.
struct MakeTree<'a> {
    /// What is left, the first last.
    stages: Vec<Vec<Op>>,
    in_flight: usize,
    progress: &'a mut dyn FnMut(),
}

impl<'a> MakeTree<'a> {
    fn new(tree: &Tree, puts: bool, progress: &'a mut dyn FnMut()) -> Self {
        let empty = |path| Whole { path, length: 0, content: FileId(0), generation: 0 };
        let file = |path: &PathId| {
            if puts { Op::Put(empty(*path), Stability::FileSync) } else { Op::Create(*path) }
        };
        let files = tree.files.iter().flatten().map(file).collect();
        let directories = tree.directories.iter().map(|d| Op::MakeDirectory(*d)).collect();
        let stages = vec![files, directories, vec![Op::MakeDirectory(tree.root)]];
        MakeTree { stages, in_flight: 0, progress }
    }
}

impl OperationSource for MakeTree<'_> {
    fn next(&mut self, _now: Nanos) -> Step {
        while let Some(stage) = self.stages.last_mut() {
            if let Some(op) = stage.pop() {
                self.in_flight += 1;
                return Step::Issue(op);
            }
            if self.in_flight > 0 {
                return Step::WaitUntil(Nanos(u64::MAX));
            }
            self.stages.pop();
        }
        Step::End
    }

    fn completed(&mut self, _op: &Op, done: &Done) {
        self.in_flight -= 1;
        (self.progress)();
        if let Ok(Some(found)) = &done.result
            && let Found::File(file) = **found
            && let Some(stage) = self.stages.last_mut()
        {
            stage.push(Op::Close(file));
        }
    }
}
