//! The paths that operations name: an operation is copied about and must stay small.

use crate::op::PathId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The first number of a path that is computed; those below are of paths that are kept.
const COMPUTED: u32 = 1 << 31;

/// The paths of a share, known to all of its lanes. A path may be in it more than once.
#[derive(Debug, Default)]
pub struct Paths {
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Numbers of these are never used twice.
    kept: Vec<Arc<str>>,
    /// Those that are computed, by their first numbers.
    computed: BTreeMap<u32, Computed>,
    next: u32,
}

struct Computed {
    count: u32,
    path: Box<dyn Fn(u32) -> String + Send + Sync>,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} paths", self.count)
    }
}

impl Paths {
    /// Adds a path below the target, with `/` between names and none before the first.
    pub fn add(&self, path: impl Into<Arc<str>>) -> PathId {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.kept.push(path.into());
        PathId((table.kept.len() - 1) as u32)
    }

    /// Adds so many paths, from number 0, that are computed whenever they are asked for.
    pub fn add_computed(
        self: &Arc<Self>,
        count: u32,
        path: impl Fn(u32) -> String + Send + Sync + 'static,
    ) -> ManyPaths {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut first = table.next.max(COMPUTED);
        if first.checked_add(count).is_none() {
            // Begin again between those that are left.
            first = COMPUTED;
            while let Some((other, of)) =
                table.computed.range(..first.saturating_add(count)).next_back()
                && other + of.count > first
            {
                first = other + of.count;
            }
        }
        table.next = first.saturating_add(count);
        table.computed.insert(first, Computed { count, path: Box::new(path) });
        ManyPaths { paths: self.clone(), first }
    }

    /// The path of this number.
    pub fn get(&self, path: PathId) -> Option<Arc<str>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        if path.0 < COMPUTED {
            return table.kept.get(path.0 as usize).cloned();
        }
        let (first, of) = table.computed.range(..=path.0).next_back()?;
        let number = path.0 - first;
        (number < of.count).then(|| (of.path)(number).into())
    }
}

/// Paths that are computed, known as long as this is there.
#[derive(Debug)]
pub struct ManyPaths {
    paths: Arc<Paths>,
    first: u32,
}

impl ManyPaths {
    /// The path with this number of them.
    pub fn id(&self, number: usize) -> PathId {
        PathId(self.first + number as u32)
    }
}

impl Drop for ManyPaths {
    fn drop(&mut self) {
        let mut table = self.paths.table.write().unwrap_or_else(PoisonError::into_inner);
        table.computed.remove(&self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_paths_are_known_until_they_are_dropped() {
        let paths = Arc::new(Paths::default());
        let one = paths.add("run/lease");
        let many = |name: &'static str| paths.add_computed(3, move |n| format!("{name}/{n}"));
        let (first, second) = (many("first"), many("second"));
        let get = |path| paths.get(path).map(|path| path.to_string());
        assert_eq!(get(one).as_deref(), Some("run/lease"));
        assert_eq!(get(first.id(2)).as_deref(), Some("first/2"));
        assert_eq!(get(second.id(0)).as_deref(), Some("second/0"));
        assert_eq!(get(second.id(3)), None);
        let gone = first.id(1);
        drop(first);
        assert_eq!((get(gone), get(second.id(1)).as_deref()), (None, Some("second/1")));
    }

    #[test]
    fn numbers_that_begin_again_pass_over_those_in_use() {
        let paths = Arc::new(Paths::default());
        let most = u32::MAX - COMPUTED - 5;
        let held = paths.add_computed(10, |n| format!("held/{n}"));
        drop(paths.add_computed(most - 10, |n| format!("gone/{n}")));
        let late = paths.add_computed(20, |n| format!("late/{n}"));
        assert_eq!(held.id(10), late.id(0), "it begins behind what is held");
        assert_eq!(paths.get(held.id(9)).as_deref(), Some("held/9"));
        assert_eq!(paths.get(late.id(19)).as_deref(), Some("late/19"));
    }
}
