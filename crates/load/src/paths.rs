//! The paths that operations name: an operation is copied about and must stay small.

use crate::op::PathId;
use std::sync::{Arc, PoisonError, RwLock};

/// The paths of a share, known to all of its lanes. Numbers are never used twice; a path may be in it
/// more than once.
#[derive(Debug, Default)]
pub struct Paths {
    table: RwLock<Vec<Arc<str>>>,
}

impl Paths {
    /// Adds a path below the target, with `/` between names and none before the first.
    pub fn add(&self, path: impl Into<Arc<str>>) -> PathId {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.push(path.into());
        PathId((table.len() - 1) as u32)
    }

    /// The path of this number.
    pub fn get(&self, path: PathId) -> Option<Arc<str>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.get(path.0 as usize).cloned()
    }
}
