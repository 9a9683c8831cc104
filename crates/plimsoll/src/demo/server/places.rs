//! Which number stands for which name: NFS file ids, given out at first sight.

use std::collections::HashMap;

/// The id of the served directory itself.
pub(super) const ROOT: u64 = 1;

/// A name in a directory: the directory's id and the name's bytes.
pub(super) type Place = (u64, Vec<u8>);

/// Ids and places, one to one. An id is never given out twice, so the handle of a removed file
/// stays stale even when its name is used again.
#[derive(Debug)]
pub(super) struct Places {
    last: u64,
    places: HashMap<u64, Place>,
    ids: HashMap<Place, u64>,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { last: ROOT, places: HashMap::new(), ids: HashMap::new() }
    }

    /// The id of a place; a new one if it has none.
    pub(super) fn id(&mut self, place: &Place) -> u64 {
        if let Some(id) = self.ids.get(place) {
            return *id;
        }
        self.last += 1;
        self.places.insert(self.last, place.clone());
        self.ids.insert(place.clone(), self.last);
        self.last
    }

    /// The names from the root to an id; `None` if it stands for nothing.
    pub(super) fn path(&self, id: u64) -> Option<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        let mut id = id;
        while id != ROOT {
            let (parent, name) = self.places.get(&id)?;
            names.push(name.clone());
            id = *parent;
        }
        names.reverse();
        Some(names)
    }

    /// Nothing is at this place any more; the id it had.
    pub(super) fn forget(&mut self, place: &Place) -> Option<u64> {
        let id = self.ids.remove(place)?;
        self.places.remove(&id);
        Some(id)
    }

    /// What was at one place is at another now, in place of what was there; the id of that.
    pub(super) fn rename(&mut self, from: &Place, to: &Place) -> Option<u64> {
        if from == to {
            return None;
        }
        let replaced = self.forget(to);
        if let Some(id) = self.ids.remove(from) {
            self.ids.insert(to.clone(), id);
            self.places.insert(id, to.clone());
        }
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(parent: u64, name: &str) -> Place {
        (parent, name.as_bytes().to_vec())
    }

    #[test]
    fn an_id_is_kept_and_never_used_twice() {
        let mut places = Places::new();
        let first = places.id(&place(ROOT, "a"));
        assert_eq!(places.id(&place(ROOT, "a")), first);
        assert_eq!(places.forget(&place(ROOT, "a")), Some(first));
        assert_eq!(places.path(first), None);
        assert_ne!(places.id(&place(ROOT, "a")), first);
    }

    #[test]
    fn files_move_with_their_directory() {
        let mut places = Places::new();
        let directory = places.id(&place(ROOT, "d"));
        let file = places.id(&place(directory, "f"));
        let replaced = places.id(&place(ROOT, "e"));
        assert_eq!(places.rename(&place(ROOT, "d"), &place(ROOT, "e")), Some(replaced));
        assert_eq!(places.path(file), Some(vec![b"e".to_vec(), b"f".to_vec()]));
        assert_eq!(places.path(replaced), None);
        assert_eq!(places.rename(&place(ROOT, "e"), &place(ROOT, "e")), None);
        assert_eq!(places.path(directory), Some(vec![b"e".to_vec()]));
    }
}
