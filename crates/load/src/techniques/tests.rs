//! Techniques above a lane in memory that completes what is in flight in any order, and counts.

use super::lane;
use crate::clock::VirtualClock;
use crate::content::Content;
use crate::entry::EntryKind;
use crate::op::{
    Attributes, Done, FileId, Found, NewAttribute, Node, Op, OpError, PathId, Span, Tag,
};
use crate::paths::Paths;
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Clock, ErrorKind, Nanos, OpKind, Stability, Technique};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
/// Bytes of every file.
const SIZE: u64 = 128;

/// What the operations have made of names and files.
#[derive(Default)]
struct Server {
    names: BTreeMap<PathId, u32>,
    open: BTreeMap<FileId, u32>,
    /// The generation of each byte, by file.
    bytes: BTreeMap<u32, Vec<u32>>,
    /// How often a file or its attributes were changed: its size, as far as anybody asks.
    changes: BTreeMap<u32, u64>,
    /// Everything that was done, in the order of completion.
    done: Vec<Op>,
    /// What the last read found.
    read: Vec<u32>,
    /// Delayed writes at offsets that this divides fail.
    fails: Option<u64>,
    failed: BTreeMap<FileId, u32>,
}

impl Server {
    fn count(&self, wanted: impl Fn(&Op) -> bool) -> usize {
        self.done.iter().filter(|op| wanted(op)).count()
    }

    fn perform(&mut self, op: &Op) -> Result<Option<Box<Found>>, OpError> {
        self.done.push(*op);
        let gone = || OpError { kind: ErrorKind::Gone, detail: "gone".into() };
        let file = op.file().map(|file| self.open.get(&file).copied().ok_or_else(gone));
        let file = file.transpose()?.unwrap_or_default();
        let range = |span: &Span| span.offset as usize..span.offset as usize + span.length as usize;
        let found = |file: &u32, changes: &BTreeMap<u32, u64>| {
            let size = changes.get(file).copied().unwrap_or_default();
            Some(Box::new(Found::Attributes(Attributes { kind: EntryKind::File, size })))
        };
        match op {
            Op::Write(span, stability) => {
                let divides = |by| span.offset % by == 0;
                if *stability == Stability::Unstable && self.fails.is_some_and(divides) {
                    *self.failed.entry(span.file).or_default() += 1;
                    return Err(OpError { kind: ErrorKind::NoSpace, detail: "full".into() });
                }
                let bytes = self.bytes.entry(file).or_default();
                bytes.resize(bytes.len().max(range(span).end), 0);
                bytes[range(span)].fill(span.generation);
                *self.changes.entry(file).or_default() += 1;
            }
            Op::Read(span) => {
                let bytes = self.bytes.entry(file).or_default();
                bytes.resize(bytes.len().max(range(span).end), 0);
                self.read = bytes[range(span)].to_vec();
            }
            Op::SetAttribute(node, _) => {
                let file = match node {
                    Node::File(_) => file,
                    Node::Closed(path) | Node::Directory(path) => {
                        *self.names.get(path).ok_or_else(gone)?
                    }
                };
                *self.changes.entry(file).or_default() += 1;
            }
            Op::GetAttributes(_) => return Ok(found(&file, &self.changes)),
            Op::Lookup(path) => {
                return Ok(found(self.names.get(path).ok_or_else(gone)?, &self.changes));
            }
            Op::Open(path) => {
                let file = *self.names.get(path).ok_or_else(gone)?;
                let number = FileId(self.open.len() as u32);
                self.open.insert(number, file);
                return Ok(Some(Box::new(Found::File(number))));
            }
            Op::Rename(from, to) => {
                let file = self.names.remove(from).ok_or_else(gone)?;
                self.names.insert(*to, file);
            }
            _ => {}
        }
        Ok(None)
    }
}

/// A lane to it: operations are done from one to nine milliseconds after they were handed on, in any order, and their
/// replies come up to nine milliseconds after that, in any other.
struct Model {
    server: Arc<Mutex<Server>>,
    clock: Arc<VirtualClock>,
    depth: usize,
    in_flight: Vec<InFlight>,
    drawn: u64,
}

struct InFlight {
    op: Op,
    performed_at: Nanos,
    /// With its result, once it is performed.
    done: Done,
    is_performed: bool,
}

impl Model {
    fn draw(&mut self) -> Duration {
        // Numerical Recipes' generator: any order will do.
        self.drawn = self.drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        MS * (1 + (self.drawn >> 16) as u32 % 9)
    }
}

impl Lane for Model {
    fn does(&self, _: OpKind) -> bool {
        true
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        if self.in_flight.len() == self.depth {
            return Err(Full);
        }
        let performed_at = self.clock.now() + self.draw();
        let done = performed_at + (self.draw() - MS);
        let done = Done { tag, issued, sent: issued, done, bytes: 0, result: Ok(None) };
        self.in_flight.push(InFlight { op: *op, performed_at, done, is_performed: false });
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        let first = self.in_flight.iter().map(|of| of.done.done).min().unwrap_or(until);
        self.clock.sleep_until(first.min(until));
        let now = self.clock.now();
        self.in_flight.sort_by_key(|of| of.performed_at);
        for of in &mut self.in_flight {
            if of.performed_at <= now && !of.is_performed {
                of.is_performed = true;
                of.done.result = self.server.lock().unwrap().perform(&of.op);
                of.done.bytes = match of.op {
                    Op::Write(span, _) | Op::Read(span) if of.done.result.is_ok() => span.length,
                    _ => 0,
                };
            }
        }
        self.in_flight.sort_by_key(|of| of.done.done);
        while self.in_flight.first().is_some_and(|of| of.done.done <= now) {
            out.push(self.in_flight.remove(0).done);
        }
        Ok(())
    }
}

/// A program above a technique.
struct Program {
    server: Arc<Mutex<Server>>,
    clock: Arc<VirtualClock>,
    lane: Box<dyn Lane>,
}

impl Program {
    /// Three files with names, opened under the numbers 0 to 2.
    fn new(technique: Technique, seed: u64) -> Program {
        let (mut server, clock) = (Server::default(), Arc::new(VirtualClock::new()));
        for file in 0..3 {
            server.names.insert(PathId(file), file);
            server.open.insert(FileId(file), file);
            server.bytes.insert(file, vec![0; SIZE as usize]);
        }
        let server = Arc::new(Mutex::new(server));
        let request = LaneRequest {
            depth: NonZeroU16::new(4).unwrap(),
            block: 64,
            content: Arc::new(Content::new(1)),
            paths: Arc::new(Paths::default()),
            verify: false,
            concurrent_names: false,
            clock: clock.clone(),
        };
        let mut make = |request: LaneRequest| {
            let (server, clock) = (server.clone(), clock.clone());
            let depth = usize::from(request.depth.get());
            let model = Model { server, clock, depth, in_flight: Vec::new(), drawn: seed };
            Ok(Box::new(model) as Box<dyn Lane>)
        };
        let lane = lane(&[technique], request, 0, &mut make).unwrap();
        Program { server, clock, lane }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Does these together, and tells how each ended.
    fn together(&mut self, ops: &[Op]) -> Vec<Done> {
        for (tag, op) in (0..).zip(ops) {
            let now = self.clock.now();
            self.lane.submit(Tag(tag), op, now).unwrap();
        }
        let mut done = Vec::new();
        let end = self.clock.now() + Duration::from_secs(3600);
        while done.len() < ops.len() {
            let now = self.clock.now();
            assert!(now < end, "{done:?} is all that has ended of {ops:?}");
            self.lane.reap(now + Duration::from_secs(1), &mut done).unwrap();
        }
        done.sort_by_key(|done| done.tag.0);
        assert!(done.iter().map(|done| usize::from(done.tag.0)).eq(0..ops.len()), "{done:?}");
        done
    }

    fn one(&mut self, op: Op) -> Done {
        self.together(&[op]).remove(0)
    }

    fn opened(&mut self, path: PathId) -> FileId {
        match self.one(Op::Open(path)).result.map(|found| found.map(|found| *found)) {
            Ok(Some(Found::File(file))) => file,
            other => panic!("{other:?}"),
        }
    }

    fn wait(&mut self, time: Duration) {
        self.clock.sleep_until(self.clock.now() + time);
    }
}

fn write_back(gather: u64) -> Technique {
    Technique::WriteBack { gather: Bytes(gather) }
}

fn cached(lifetime_seconds: f64) -> Technique {
    Technique::AttributeCache { lifetime_seconds }
}

fn span(file: u32, offset: u64, length: u32, generation: u32) -> Span {
    Span { file: FileId(file), offset, length, generation }
}

#[test]
fn writes_that_follow_each_other_are_one() {
    for (gather, length) in [(64, 4), (4, 4), (5, 4), (3, 4), (64, 60)] {
        let mut program = Program::new(write_back(gather), 1);
        let all = 100 * u64::from(length);
        for number in 0..100 {
            let at = span(0, number * u64::from(length), length, 1);
            let done = program.one(Op::Write(at, Stability::Unstable));
            assert_eq!((done.bytes, done.result), (length, Ok(None)));
        }
        assert_eq!(program.one(Op::Flush(FileId(0))).result, Ok(None));
        let server = program.server();
        let writes = server.count(|op| matches!(op, Op::Write(..)));
        assert_eq!(writes as u64, all.div_ceil(gather), "{length} bytes gathered up to {gather}");
        assert!(server.bytes[&0][..all as usize].iter().all(|byte| *byte == 1));
    }
}

/// A delayed write that nothing waits for takes no time, as long as there is room for it.
#[test]
fn delayed_writes_do_not_wait_for_the_wire() {
    let mut program = Program::new(write_back(8), 1);
    let took = |program: &mut Program, offset| {
        let before = program.clock.now();
        program.one(Op::Write(span(0, offset, 8, 1), Stability::Unstable));
        program.clock.now().since(before)
    };
    let background = u64::from(super::WriteBack::BACKGROUND);
    for number in 0..=background {
        assert_eq!(took(&mut program, 8 * number), Duration::ZERO, "{number}");
    }
    assert!(took(&mut program, 8 * (background + 1)) > Duration::ZERO, "all of it is in use");
    // What must be stable when it completes is not delayed.
    let mut program = Program::new(write_back(8), 1);
    program.one(Op::Write(span(0, 0, 8, 1), Stability::FileSync));
    assert_eq!(program.server().count(|op| matches!(op, Op::Write(..))), 1);
}

/// One name every 100 ms for ten seconds, where attributes are good for three.
#[test]
fn attributes_are_asked_for_once_in_their_lifetime() {
    for (lifetime, asked) in [(0.0, 100), (3.0, 4), (1e300, 1), (f64::NAN, 1), (-1.0, 100)] {
        let mut program = Program::new(cached(lifetime), 1);
        for _ in 0..100 {
            let begun = program.clock.now();
            program.one(Op::Lookup(PathId(0)));
            program.clock.sleep_until(begun + 100 * MS);
        }
        let lookups = program.server().count(|op| matches!(op, Op::Lookup(_)));
        assert_eq!(lookups, asked, "{lifetime} s");
    }
}

/// What somebody else changes is seen when the lifetime is over, not before.
#[test]
fn attributes_are_old_for_their_lifetime_at_most() {
    let mut program = Program::new(cached(3.0), 1);
    let before = program.one(Op::Lookup(PathId(0))).result;
    *program.server().changes.entry(0).or_default() += 1;
    program.wait(2900 * MS);
    assert_eq!(program.one(Op::Lookup(PathId(0))).result, before);
    program.wait(200 * MS);
    assert_ne!(program.one(Op::Lookup(PathId(0))).result, before);
}

/// Of renames in flight together the one that ends last need not be the one that was done last, so afterwards
/// either file may have either name.
#[test]
fn renames_that_overlap_leave_files_without_a_known_name() {
    let names = [0, 1, 2].map(PathId);
    let [a, b, c] = names;
    for overlapping in [[Op::Rename(b, a), Op::Rename(a, b)], [Op::Rename(a, b), Op::Rename(b, c)]]
    {
        for seed in 0..200 {
            let mut program = Program::new(cached(1e3), seed);
            let files = names.map(|path| program.opened(path));
            program.together(&overlapping);
            for changed in files {
                program.one(Op::Write(span(changed.0, 0, 1, 0), Stability::Unstable));
                for ask in names.map(Op::Lookup).into_iter().chain(files.map(Op::GetAttributes)) {
                    let answer = program.one(ask).result.ok().flatten();
                    let is = program.server().perform(&ask).ok().flatten();
                    assert_eq!(answer, is, "{seed}: {ask:?} after {overlapping:?}");
                }
            }
        }
    }
}

/// Any operation on three files.
fn op() -> impl Strategy<Value = Op> {
    let at = (0..3_u32, 0..SIZE - 32, 1..32_u32);
    (0..13_u8, at, 0..3_u32).prop_map(|(kind, (file, offset, length), other)| {
        let (at, id, path) = (span(file, offset, length, 0), FileId(file), PathId(file));
        match kind {
            0..=4 => Op::Write(at, Stability::Unstable),
            5 => Op::Write(at, Stability::FileSync),
            6 => Op::Read(at),
            7 => Op::Flush(id),
            8 => Op::SetAttribute(Node::File(id), NewAttribute::Mode(0o644)),
            9 => Op::SetAttribute(Node::Closed(path), NewAttribute::Mode(0o600)),
            11 => Op::GetAttributes(id),
            10 if other != file => Op::Rename(path, PathId(other)),
            _ => Op::Lookup(path),
        }
    })
}

proptest! {
    /// Whatever is delayed, who reads finds what was written last; what was flushed is there, each byte once.
    #[test]
    fn nothing_that_was_delayed_is_lost_or_late(
        ops in vec(op(), 1..60), gather in 1..40_u64, seed in any::<u64>(),
    ) {
        let mut program = Program::new(write_back(gather), seed);
        let mut expected = vec![vec![0_u32; SIZE as usize]; 3];
        let mut written = 0;
        let flushes = (0..3).map(|file| Op::Flush(FileId(file)));
        for (number, op) in (1..).zip(ops.into_iter().chain(flushes)) {
            let op = match op {
                Op::Write(span, stability) => {
                    Op::Write(Span { generation: number, ..span }, stability)
                }
                other => other,
            };
            let done = program.one(op);
            let server = program.server();
            let part = |span: &Span| span.offset as usize..(span.offset + u64::from(span.length)) as usize;
            match &op {
                Op::Write(span, stability) => {
                    prop_assert_eq!(&done.result, &Ok(None));
                    prop_assert_eq!(done.bytes, span.length);
                    written += u64::from(span.length);
                    let file = span.file.0;
                    expected[file as usize][part(span)].fill(number);
                    if *stability == Stability::FileSync {
                        prop_assert_eq!(&server.bytes[&file], &expected[file as usize]);
                    }
                }
                Op::Read(span) => {
                    prop_assert_eq!(&server.read[..], &expected[span.file.0 as usize][part(span)]);
                }
                Op::Flush(file) => {
                    prop_assert_eq!(&server.bytes[&file.0], &expected[file.0 as usize]);
                }
                _ => {}
            }
        }
        let server = program.server();
        let writes = server.done.iter().filter_map(|op| match op {
            Op::Write(span, stability) => Some((span.length, *stability)),
            _ => None,
        });
        let mut sum = 0;
        for (length, stability) in writes {
            sum += u64::from(length);
            prop_assert!(stability == Stability::FileSync || u64::from(length) <= gather);
        }
        prop_assert_eq!(sum, written);
    }

    /// A delayed write that failed is reported by the next flush or close of its file, and only there, once.
    #[test]
    fn what_failed_in_the_background_is_reported(
        ops in vec(op(), 1..60), gather in 1..40_u64, seed in any::<u64>(), fails in 1..9_u64,
    ) {
        let mut program = Program::new(write_back(gather), seed);
        program.server().fails = Some(fails);
        let closes = (0..3).map(|file| Op::Close(FileId(file)));
        for op in ops.into_iter().chain(closes) {
            let done = program.one(op);
            let mut server = program.server();
            match op {
                Op::Flush(file) | Op::Close(file) => {
                    let failed = server.failed.remove(&file).is_some();
                    let full = matches!(&done.result, Err(error) if error.kind == ErrorKind::NoSpace);
                    prop_assert_eq!(full, failed, "{:?}", done);
                }
                Op::Lookup(_) | Op::Rename(..) | Op::SetAttribute(..) => {}
                _ => prop_assert!(done.result.is_ok(), "{done:?}"),
            }
        }
        prop_assert!(program.server().failed.is_empty());
    }

    /// However changes and questions overlap: once they have ended, an answer has all of one's own changes.
    #[test]
    fn one_s_own_changes_are_seen_at_once(
        steps in vec(vec(op(), 1..4), 1..30), lifetime in 0.0..0.1, seed in any::<u64>(),
    ) {
        let mut program = Program::new(cached(lifetime), seed);
        let files: Vec<FileId> = (0..3).map(|path| program.opened(PathId(path))).collect();
        for step in steps {
            // Files are those that were opened by their names.
            let by_name = |op: Op| match op {
                Op::Write(span, stability) => {
                    Op::Write(Span { file: files[span.file.0 as usize], ..span }, stability)
                }
                Op::SetAttribute(Node::File(file), to) => {
                    Op::SetAttribute(Node::File(files[file.0 as usize]), to)
                }
                Op::GetAttributes(file) => Op::GetAttributes(files[file.0 as usize]),
                other => other,
            };
            let step: Vec<Op> = step.into_iter().map(by_name).collect();
            program.together(&step);
            let names = (0..3).map(|path| Op::Lookup(PathId(path)));
            for ask in names.chain(files.iter().map(|file| Op::GetAttributes(*file))) {
                let answer = program.one(ask).result.ok().flatten();
                let mut server = program.server();
                let is = server.perform(&ask).ok().flatten();
                server.done.pop();
                prop_assert_eq!(answer, is);
            }
        }
    }
}
