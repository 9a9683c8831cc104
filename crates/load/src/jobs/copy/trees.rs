//! The trees that copies have on a share, all of them together: those that are read and brought up to date,
//! one for each dataset, and those that were written in points that are over.

use super::names::Names;
use crate::jobs::tree;
use crate::jobs::{RunContext, Workspace};
use plimsoll_model::{Cause, Dataset, Event, Failure};
use std::sync::Arc;

/// The trees of a share.
#[derive(Default)]
pub(crate) struct Trees {
    laid_out: Vec<LaidOut>,
    /// What the names of trees begin with that nobody needs.
    over: Vec<String>,
}

/// Files that lie there to be read, or brought up to date.
struct LaidOut {
    dataset: Dataset,
    /// Whether they have the times of the originals.
    with_times: bool,
    names: Arc<Names>,
    /// What the name of the tree begins with.
    prefix: String,
}

impl Trees {
    /// The files of a dataset, if they are there.
    pub(super) fn laid_out(&self, dataset: &Dataset, with_times: bool) -> Option<Arc<Names>> {
        let is = |of: &&LaidOut| of.dataset == *dataset && (of.with_times || !with_times);
        self.laid_out.iter().find(is).map(|of| of.names.clone())
    }

    /// They are there now, in a tree whose name begins so.
    pub(super) fn add(
        &mut self,
        dataset: &Dataset,
        with_times: bool,
        names: &Arc<Names>,
        prefix: String,
    ) {
        let (dataset, names) = (dataset.clone(), names.clone());
        self.laid_out.push(LaidOut { dataset, with_times, names, prefix });
    }

    /// Trees whose names begin so are removed with the next that are.
    pub(super) fn are_over(&mut self, prefix: String) {
        self.laid_out.retain(|of| of.prefix != prefix);
        if !self.over.contains(&prefix) {
            self.over.push(prefix);
        }
    }

    /// Those that hold a dataset are no longer as they should be.
    pub(super) fn spoilt(&mut self, dataset: &Dataset) {
        let of_it = self.laid_out.iter().filter(|of| of.dataset == *dataset);
        let prefixes: Vec<String> = of_it.map(|of| of.prefix.clone()).collect();
        prefixes.into_iter().for_each(|prefix| self.are_over(prefix));
    }
}

/// Removes the trees that nobody needs.
pub(super) fn remove_over(at: &mut Workspace<'_>) -> Result<(), Failure> {
    while let Some(prefix) = at.trees.over.last() {
        remove(at.run, prefix)?;
        at.trees.over.pop();
    }
    Ok(())
}

fn remove(run: &mut dyn RunContext, prefix: &str) -> Result<(), Failure> {
    let (names, directory) = run.names()?;
    let directory = directory.to_owned();
    let of_ours = |entry: &crate::entry::Entry| entry.name.starts_with(prefix);
    let left: Vec<_> = names.list(&directory)?.into_iter().filter(of_ours).collect();
    for tree in left.iter().filter(|entry| tree::is_tree(entry)) {
        let path = format!("{directory}/{}", tree.name);
        let foreign = tree::remove_tree(run.names()?.0, &path, &mut || {})?;
        if !foreign.is_empty() {
            let happened =
                format!("it contains files that plimsoll did not create: {}", foreign.join(", "));
            let (tried, next) = ("remove an earlier copy", "Move these files elsewhere.");
            return Err(Failure::new(Cause::Trial, tried).on(path).happened(happened).next(next));
        }
        run.event(Event::Progress { bytes: 0 });
    }
    Ok(())
}
