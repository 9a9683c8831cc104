//! What tests of shares on real servers need: a lane driven by hand, and content on a disk.
#![allow(dead_code)]

pub mod jobs;

use plimsoll_load::{
    Content, Done, FileId, Lane, LaneRequest, Namespace, Op, Paths, Share, Span, SystemClock, Tag,
};
use plimsoll_model::{Clock, Nanos, Stability};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What content is made of.
pub const STUDY: u64 = 7;
/// Longest wait for a server.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A lane and what drives it by hand.
pub struct Rig {
    /// Under test.
    pub lane: Box<dyn Lane>,
    /// What stamps completions.
    pub clock: Arc<SystemClock>,
    /// What operations name.
    pub paths: Arc<Paths>,
    depth: u16,
}

impl Rig {
    pub fn new(share: &dyn Share, depth: u16, block: u32) -> Rig {
        Rig::sharing(share, depth, block, &Arc::default())
    }

    /// One that knows the paths of others.
    pub fn sharing(share: &dyn Share, depth: u16, block: u32, paths: &Arc<Paths>) -> Rig {
        let paths = paths.clone();
        let clock = Arc::new(SystemClock::new());
        let request = LaneRequest {
            depth: NonZeroU16::new(depth).unwrap(),
            block,
            content: Arc::new(Content::new(STUDY)),
            paths: paths.clone(),
            verify: true,
            concurrent_names: false,
            clock: clock.clone(),
        };
        Rig { lane: share.lane(request).unwrap(), clock, paths, depth }
    }

    pub fn until(&self) -> Nanos {
        self.clock.now() + LIMIT
    }

    /// Runs operations with as many in flight as the lane takes; completions in any order.
    pub fn run(&mut self, ops: &[Op]) -> Vec<Done> {
        let mut free: Vec<u16> = (0..self.depth).collect();
        let (mut next, mut all, mut out) = (0, Vec::new(), Vec::new());
        while all.len() < ops.len() {
            while next < ops.len()
                && let Some(tag) = free.pop()
            {
                self.lane.submit(Tag(tag), &ops[next], self.clock.now()).unwrap();
                next += 1;
            }
            let until = self.until();
            self.lane.reap(until, &mut out).unwrap();
            assert!(!out.is_empty(), "no completion in {LIMIT:?}");
            for done in out.drain(..) {
                assert!(done.issued <= done.sent && done.sent <= done.done, "{done:?}");
                free.push(done.tag.0);
                all.push(done);
            }
        }
        all
    }

    /// Runs operations that must all succeed; bytes transferred.
    pub fn run_all(&mut self, ops: &[Op]) -> u64 {
        let done = self.run(ops);
        done.iter().for_each(|d| assert_eq!(d.result, Ok(None)));
        done.iter().map(|d| u64::from(d.bytes)).sum()
    }
}

/// Spans that cover `size` bytes in blocks, in an order that is not the rising one.
pub fn spans(file: FileId, generation: u32, size: u64, block: u32) -> Vec<Span> {
    let blocks = size / u64::from(block);
    let step = (blocks / 2) | 1;
    (0..blocks)
        .map(|i| Span {
            file,
            offset: (i * step % blocks) * u64::from(block),
            length: block,
            generation,
        })
        .collect()
}

pub fn writes(spans: &[Span], stability: Stability) -> Vec<Op> {
    spans.iter().map(|s| Op::Write(*s, stability)).collect()
}

pub fn reads(spans: &[Span]) -> Vec<Op> {
    spans.iter().map(|s| Op::Read(*s)).collect()
}

/// Compares a file on the server's disk with what the content says it should be.
pub fn assert_on_disk(path: &Path, file: FileId, generation: u32, size: u64) {
    let disk = std::fs::read(path).unwrap();
    assert_eq!(disk.len() as u64, size);
    let content = Content::new(STUDY);
    let block = 1 << 20;
    let mut writer = content.writer(block);
    for (i, part) in disk.chunks(block as usize).enumerate() {
        let offset = i as u64 * u64::from(block);
        let span = Span { file, offset, length: part.len() as u32, generation };
        assert!(writer.fill(&span) == part, "{} differs after byte {offset}", path.display());
    }
}

pub fn names(namespace: &mut dyn Namespace, path: &str) -> Vec<String> {
    let mut names: Vec<_> = namespace.list(path).unwrap().into_iter().map(|e| e.name).collect();
    names.sort();
    names
}

/// The bytes of a file of the study.
pub fn whole(file: FileId, generation: u32, size: u32) -> Vec<u8> {
    let span = Span { file, offset: 0, length: size, generation };
    Content::new(STUDY).writer(size).fill(&span).to_vec()
}
