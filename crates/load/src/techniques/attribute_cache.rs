//! Attributes that are known for a while: who asks again for those of a name or of an open file within their
//! lifetime is answered without the wire, as mounts do (nfs(5), "acregmin"). The lifetime begins when they come.
//!
//! What is changed through the lane itself is forgotten; what others change is seen when the lifetime is over.

use super::inner::{InnerLane, Wrapper};
use crate::op::{Attributes, Done, FileId, Found, Node, Op, PathId, Span, Tag};
use crate::share::{Full, Lane, LaneDead};
use plimsoll_model::{Clock, Nanos};
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// A lane that remembers attributes.
pub(super) struct AttributeCache {
    inner: InnerLane<InFlight>,
    clock: Arc<dyn Clock>,
    lifetime: Duration,
    known: HashMap<About, Known>,
    /// The names of files that were opened here, as a file and its name have the same attributes. A file that
    /// may have got another one has none.
    opened: HashMap<FileId, Option<PathId>>,
    /// Counts what may have changed attributes, at its begin and at its end.
    changes: u64,
    /// What completed without the wire.
    ready: Vec<Done>,
}

/// What attributes are of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About {
    Name(PathId),
    /// An open file whose name is not known.
    File(FileId),
}

struct Known {
    attributes: Attributes,
    until: Nanos,
}

/// What an operation below is for.
struct InFlight {
    tag: Tag,
    op: Op,
    /// How many changes there were before it.
    changes: u64,
    /// Something else in flight moves what one of its names stands for: nobody knows which came first.
    contested: bool,
}

/// The names an operation finds a file by or gives to one, and whether they stand for another one then.
fn names(op: &Op) -> ([Option<PathId>; 2], bool) {
    match *op {
        Op::Open(path) => ([Some(path), None], false),
        Op::Create(path) | Op::Remove(path) => ([Some(path), None], true),
        Op::Rename(from, to) => ([Some(from), Some(to)], true),
        _ => ([None, None], false),
    }
}

impl AttributeCache {
    pub fn new(
        inner: Box<dyn Lane>,
        lifetime: Duration,
        depth: NonZeroU16,
        clock: Arc<dyn Clock>,
    ) -> Self {
        AttributeCache {
            inner: InnerLane::new(inner, depth),
            clock,
            lifetime,
            known: HashMap::new(),
            opened: HashMap::new(),
            changes: 0,
            ready: Vec::new(),
        }
    }

    /// What an operation asks the attributes of, if that is all that it asks for.
    fn asks_for(&self, op: &Op) -> Option<About> {
        match op {
            Op::Lookup(path) | Op::LookupIfThere(path) => Some(About::Name(*path)),
            Op::GetAttributes(file) => self.file(*file),
            _ => None,
        }
    }

    /// What the attributes of a file are known by; none if it may have any name.
    fn file(&self, file: FileId) -> Option<About> {
        self.opened.get(&file).map_or(Some(About::File(file)), |path| path.map(About::Name))
    }

    /// Takes note, of an operation to be submitted and of those in flight, whether their order decides which
    /// file has which name.
    fn contest(&mut self, op: &Op) -> bool {
        let (mine, moves) = names(op);
        let mut contested = false;
        if mine == [None, None] {
            return contested;
        }
        for other in self.inner.in_flight() {
            let (theirs, moved) = names(&other.op);
            let shared = mine.iter().flatten().any(|name| theirs.contains(&Some(*name)));
            if shared && (moves || moved) {
                (contested, other.contested) = (true, true);
            }
        }
        contested
    }

    /// Forgets what an operation changes.
    fn forget(&mut self, op: &Op) {
        let changed: [Option<About>; 2] = match op {
            Op::Write(Span { file, .. }, _) | Op::SetAttribute(Node::File(file), _) => {
                let about = self.file(*file);
                if about.is_none() {
                    self.known.clear();
                }
                [about, None]
            }
            Op::SetAttribute(Node::Directory(path) | Node::Closed(path), _) => {
                [Some(About::Name(*path)), None]
            }
            Op::Create(path) | Op::Remove(path) => [Some(About::Name(*path)), None],
            Op::MakeDirectory(path) | Op::RemoveDirectory(path) => [Some(About::Name(*path)), None],
            Op::Put(whole, _) => [Some(About::Name(whole.path)), None],
            Op::Rename(from, to) => [Some(About::Name(*from)), Some(About::Name(*to))],
            _ => return,
        };
        self.changes += 1;
        for about in changed.into_iter().flatten() {
            self.known.remove(&about);
        }
    }

    /// What an operation that has ended says about names, open files and attributes.
    fn learn(&mut self, of: &InFlight, done: &Done) {
        self.forget(&of.op);
        let Ok(found) = &done.result else { return };
        match (&of.op, found.as_deref()) {
            (Op::Open(path) | Op::Create(path), Some(Found::File(file))) => {
                self.opened.insert(*file, (!of.contested).then_some(*path));
            }
            (Op::Close(file), _) => {
                self.known.remove(&About::File(*file));
                self.opened.remove(file);
            }
            // What is open under a name that has gone, or that another file has got, has none.
            (Op::Remove(path), _) => self.rename(*path, None),
            (Op::Rename(from, to), _) => {
                self.rename(*to, None);
                self.rename(*from, Some(*to).filter(|_| !of.contested));
            }
            // Attributes that may be older than a change are not kept.
            (op, Some(Found::Attributes(attributes))) if of.changes == self.changes => {
                if let Some(about) = self.asks_for(op) {
                    let until = done.done + self.lifetime;
                    self.known.insert(about, Known { attributes: *attributes, until });
                }
            }
            _ => {}
        }
    }

    /// Gives the files of a name another one, or none.
    fn rename(&mut self, from: PathId, to: Option<PathId>) {
        self.opened.values_mut().filter(|name| **name == Some(from)).for_each(|name| *name = to);
    }
}

impl Wrapper for AttributeCache {
    fn inner(&self) -> &dyn Lane {
        self.inner.lane()
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let known = self.asks_for(op).and_then(|about| self.known.get(&about));
        if let Some(known) = known.filter(|known| issued < known.until) {
            let result = Ok(Some(Box::new(Found::Attributes(known.attributes))));
            let done = self.clock.now();
            self.ready.push(Done { tag, issued, sent: issued, done, bytes: 0, result });
            return Ok(());
        }
        self.forget(op);
        let contested = self.contest(op);
        let in_flight = InFlight { tag, op: *op, changes: self.changes, contested };
        self.inner.submit(in_flight, op, issued).map(drop)
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let before = out.len();
        out.append(&mut self.ready);
        if out.len() > before && self.inner.is_idle() {
            return Ok(());
        }
        // With something at hand what was batched is sent, and nothing is waited for.
        let wait = if out.len() > before { Nanos(0) } else { until };
        self.inner.reap(wait)?;
        while let Some((of, done)) = self.inner.ended() {
            self.learn(&of, &done);
            out.push(Done { tag: of.tag, ..done });
        }
        Ok(())
    }
}
