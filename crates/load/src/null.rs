//! A share that completes everything at once: what the program itself costs.

use crate::entry::Space;
use crate::memory::Memory;
use crate::op::{Done, Op, Tag};
use crate::paths::Paths;
use crate::share::{Full, Lane, LaneDead, LaneRequest, Namespace, Share};
use plimsoll_model::{Clock, Failure, Nanos, OpKind, TargetFacts};
use std::sync::Arc;

/// A share without storage whose operations complete the moment they are reaped. Names are kept in
/// memory; nothing is written anywhere, and no content is made or checked.
pub struct NullShare {
    memory: Memory,
}

impl NullShare {
    /// An empty one.
    pub fn new() -> NullShare {
        let all = u64::MAX / 2;
        NullShare { memory: Memory::new(Space { total: all, available: all }) }
    }
}

impl Default for NullShare {
    fn default() -> Self {
        NullShare::new()
    }
}

impl Share for NullShare {
    fn facts(&self) -> TargetFacts {
        TargetFacts {
            given: "null".into(),
            protocol: "none".into(),
            engine: "null".into(),
            client_cache: "none".into(),
            stability: "data is discarded".into(),
            ..TargetFacts::default()
        }
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        Ok(Box::new(self.memory.clone()))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        let depth = usize::from(request.depth.get());
        Ok(Box::new(NullLane {
            clock: request.clock,
            paths: request.paths,
            memory: self.memory.clone(),
            depth,
            queue: Vec::with_capacity(depth),
            names: Vec::new(),
        }))
    }
}

struct NullLane {
    clock: Arc<dyn Clock>,
    paths: Arc<Paths>,
    memory: Memory,
    depth: usize,
    queue: Vec<(Tag, u32, Nanos)>,
    /// Operations on names, done when they were handed over.
    names: Vec<Done>,
}

impl NullLane {
    #[cold]
    fn on_names(&mut self, tag: Tag, op: &Op, issued: Nanos) {
        let result = self.memory.perform(op, &self.paths);
        let bytes = match op {
            Op::Put(whole, _) | Op::Get(whole) if result.is_ok() => whole.length,
            _ => 0,
        };
        self.names.push(Done { tag, issued, sent: issued, done: issued, bytes, result });
    }

    #[cold]
    fn take_names(&mut self, done: Nanos, out: &mut Vec<Done>) {
        self.names.iter_mut().for_each(|name| name.done = done);
        out.append(&mut self.names);
    }
}

impl Lane for NullLane {
    fn does(&self, _kind: OpKind) -> bool {
        true
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        if self.queue.len() + self.names.len() == self.depth {
            return Err(Full);
        }
        let bytes = match op {
            Op::Read(span) | Op::Write(span, _) => span.length,
            Op::Flush(_) => 0,
            name => {
                self.on_names(tag, name, issued);
                return Ok(());
            }
        };
        self.queue.push((tag, bytes, issued));
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        if self.queue.is_empty() && self.names.is_empty() {
            self.clock.sleep_until(until);
            return Ok(());
        }
        let done = self.clock.now();
        if !self.names.is_empty() {
            self.take_names(done, out);
        }
        // Each is made where it stays: a copy of what was just made would wait for its stores.
        out.extend(self.queue.iter().map(|&(tag, bytes, issued)| {
            let sent = issued;
            Done { tag, issued, sent, done, bytes, result: Ok(None) }
        }));
        self.queue.clear();
        Ok(())
    }
}
