//! A share that follows a script on a scripted clock: exact tests and simulated studies.

use crate::clock::VirtualClock;
use crate::entry::Space;
use crate::memory::{Memory, NamespaceScript};
use crate::op::{Done, Found, Op, OpError, Tag};
use crate::paths::Paths;
use crate::share::{Full, Lane, LaneDead, LaneRequest, Namespace, Share};
use plimsoll_model::{Clock, ErrorKind, Failure, Nanos, OpKind, TargetFacts};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a scripted share does with one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Completes after this service time. Operations on names do what they do to names kept in
    /// memory, and may fail by that.
    After(Duration),
    /// Completes after this service time and finds this.
    Finds(Duration, Found),
    /// Fails after this service time.
    Fails(Duration, OpError),
    /// Never completes; its server is free again at once.
    Never,
    /// The connection breaks: the lane is dead.
    Dies(LaneDead),
}

impl Reply {
    /// A failure of a kind, in the kind's own words.
    pub fn error(after: Duration, kind: ErrorKind) -> Reply {
        let detail = kind.to_string().into();
        Reply::Fails(after, OpError { kind, detail })
    }
}

/// Decides the fate of an operation from what it is and when it was handed over. Called in the
/// order of submission, so it may keep a state of its own.
pub type Script = dyn Fn(&Op, Nanos) -> Reply + Send + Sync;

/// Bytes that a lane has moved up to an instant.
type MovedBytes = dyn Fn(Nanos) -> u64 + Send + Sync;

/// Times in which all servers of a scripted share stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Begin of the first.
    pub first: Nanos,
    /// From the begin of one to that of the next, on average.
    pub every: Duration,
    /// By how much at most each begins later than that; less than what lies between two.
    pub jitter: Duration,
    /// Length of each.
    pub length: Duration,
}

/// The golden ratio's fraction: its multiples fill the unit interval evenly (Weyl).
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Pauses {
    /// Begin of a pause, by its number.
    fn begin(&self, number: u32) -> Nanos {
        let later = (f64::from(number) * GOLDEN).fract();
        self.first + self.every * number + self.jitter.mul_f64(later)
    }

    /// When work is done that begins at `start` and takes `service` of a server that does not stand still.
    fn done(&self, start: Nanos, service: Duration) -> Nanos {
        let (mut now, mut left) = (start, service);
        let before = now.since(self.first).as_nanos() / self.every.as_nanos().max(1);
        for number in u32::try_from(before).unwrap_or(u32::MAX).saturating_sub(1).. {
            let pause = self.begin(number);
            if pause + self.length <= now {
                continue;
            }
            if now < pause && left <= pause.since(now) {
                break;
            }
            left = left.saturating_sub(pause.since(now));
            now = pause + self.length;
        }
        now + left
    }
}

/// A share of a number of servers with one queue: an operation is served by the server that is
/// free first, for the time the script gives it. The lane moves the clock on.
pub struct MockShare {
    clock: Arc<VirtualClock>,
    memory: Memory,
    servers: Arc<Mutex<Vec<Nanos>>>,
    script: Arc<Script>,
    lane_script: Box<dyn Fn() -> Option<Failure> + Send + Sync>,
    whole_files: bool,
    pauses: Option<Pauses>,
    moved_bytes: Option<Arc<MovedBytes>>,
    facts: TargetFacts,
}

impl MockShare {
    /// `servers` operations at a time are served, each for as long as `script` says. There is
    /// space for 1 TiB.
    pub fn new(
        clock: Arc<VirtualClock>,
        servers: NonZeroU16,
        script: impl Fn(&Op, Nanos) -> Reply + Send + Sync + 'static,
    ) -> MockShare {
        let all = 1 << 40;
        MockShare {
            clock,
            memory: Memory::new(Space { total: all, available: all }),
            servers: Arc::new(Mutex::new(vec![Nanos(0); usize::from(servers.get())])),
            script: Arc::new(script),
            lane_script: Box::new(|| None),
            whole_files: true,
            pauses: None,
            moved_bytes: None,
            facts: TargetFacts {
                given: "mock".into(),
                protocol: "none".into(),
                engine: "mock".into(),
                client_cache: "none".into(),
                stability: "data is discarded".into(),
                space_bytes: (all, all),
                ..TargetFacts::default()
            },
        }
    }

    /// The same with other facts.
    pub fn with_facts(self, facts: TargetFacts) -> MockShare {
        MockShare { facts, ..self }
    }

    /// The same with namespaces whose calls fail where the script says so.
    pub fn with_namespace_script(
        self,
        script: impl Fn(&str, &str) -> Option<Failure> + Send + Sync + 'static,
    ) -> MockShare {
        let script: Arc<NamespaceScript> = Arc::new(script);
        MockShare { memory: self.memory.with_script(script), ..self }
    }

    /// The same with lanes that cannot be made where the script says so.
    pub fn with_lane_script(
        self,
        script: impl Fn() -> Option<Failure> + Send + Sync + 'static,
    ) -> MockShare {
        MockShare { lane_script: Box::new(script), ..self }
    }

    /// The same with lanes that do not write and read small files whole.
    pub fn without_whole_files(self) -> MockShare {
        MockShare { whole_files: false, ..self }
    }

    /// The same with servers that stand still at times.
    pub fn with_pauses(self, pauses: Pauses) -> MockShare {
        MockShare { pauses: Some(pauses), ..self }
    }

    /// The same with lanes that count the bytes that they move: so many up to an instant.
    pub fn with_moved_bytes(
        self,
        moved_bytes: impl Fn(Nanos) -> u64 + Send + Sync + 'static,
    ) -> MockShare {
        MockShare { moved_bytes: Some(Arc::new(moved_bytes)), ..self }
    }

    /// Sets the space that namespaces report.
    pub fn set_space(&self, space: Space) {
        self.memory.set_space(space);
    }

    /// Every path that exists, in order.
    pub fn paths(&self) -> Vec<String> {
        self.memory.paths()
    }

    /// The clock it moves.
    pub fn clock(&self) -> Arc<VirtualClock> {
        self.clock.clone()
    }
}

impl Share for MockShare {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        Ok(Box::new(self.memory.clone()))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        if let Some(failure) = (self.lane_script)() {
            return Err(failure);
        }
        let depth = usize::from(request.depth.get());
        Ok(Box::new(MockLane {
            clock: self.clock.clone(),
            paths: request.paths,
            memory: self.memory.clone(),
            whole_files: self.whole_files,
            pauses: self.pauses,
            moved_bytes: self.moved_bytes.clone(),
            servers: self.servers.clone(),
            script: self.script.clone(),
            slots: vec![None; depth],
            order: BinaryHeap::with_capacity(depth),
            submitted: 0,
            in_flight: 0,
            dead: None,
        }))
    }
}

struct MockLane {
    clock: Arc<VirtualClock>,
    paths: Arc<Paths>,
    memory: Memory,
    whole_files: bool,
    pauses: Option<Pauses>,
    moved_bytes: Option<Arc<MovedBytes>>,
    servers: Arc<Mutex<Vec<Nanos>>>,
    script: Arc<Script>,
    /// What is in flight, by the lane's own numbers: bytes, and how it will end.
    slots: Vec<Option<Done>>,
    /// When each ends, ties in the order of submission.
    order: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    submitted: u64,
    /// Operations submitted and not completed, those that never will included.
    in_flight: usize,
    dead: Option<LaneDead>,
}

impl Lane for MockLane {
    fn does(&self, kind: OpKind) -> bool {
        self.whole_files || !matches!(kind, OpKind::PUT | OpKind::GET)
    }

    fn moved_bytes(&self) -> Option<u64> {
        self.moved_bytes.as_ref().map(|until| until(self.clock.now()))
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        if self.in_flight == self.slots.len() {
            return Err(Full);
        }
        self.in_flight += 1;
        let (service, result) = match (self.script)(op, issued) {
            Reply::After(service) => (service, self.memory.perform(op, &self.paths)),
            Reply::Finds(service, found) => (service, Ok(Some(Box::new(found)))),
            Reply::Fails(service, error) => (service, Err(error)),
            Reply::Never => return Ok(()),
            Reply::Dies(dead) => {
                self.dead.get_or_insert(dead);
                return Ok(());
            }
        };
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let done = |start| match self.pauses {
            Some(pauses) => pauses.done(start, service),
            None => start + service,
        };
        let done = match servers.iter_mut().min() {
            Some(free) => {
                *free = done((*free).max(issued));
                *free
            }
            None => done(issued),
        };
        let bytes = match op {
            Op::Read(span) | Op::Write(span, _) if result.is_ok() => span.length,
            Op::Put(whole, _) | Op::Get(whole) if result.is_ok() => whole.length,
            _ => 0,
        };
        let slot = self.slots.iter().position(Option::is_none).ok_or(Full)?;
        self.slots[slot] = Some(Done { tag, issued, sent: issued, done, bytes, result });
        self.order.push(Reverse((done, self.submitted, slot)));
        self.submitted += 1;
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        match self.order.peek() {
            Some(Reverse((first, ..))) if *first <= until => self.clock.sleep_until(*first),
            _ => self.clock.sleep_until(until),
        }
        let now = self.clock.now();
        while let Some(Reverse((done, _, slot))) = self.order.peek().copied()
            && done <= now
        {
            self.order.pop();
            self.in_flight -= 1;
            out.extend(self.slots[slot].take());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_the_end_of_a_pause() {
        let ms = Duration::from_millis;
        let (first, jitter) = (Nanos(15_000_000), Duration::ZERO);
        let pauses = Pauses { first, every: ms(20), jitter, length: ms(5) };
        let done =
            |start: u64, service| pauses.done(Nanos(start * 1_000_000), ms(service)).0 as f64 / 1e6;
        assert_eq!(done(0, 15), 15.0);
        assert_eq!(done(0, 16), 21.0);
        assert_eq!(done(14, 2), 21.0);
        assert_eq!(done(17, 1), 21.0);
        assert_eq!(done(20, 1), 21.0);
        assert_eq!(done(53, 3), 61.0, "the third");
        assert_eq!(done(10, 40), 65.0, "three of them");
        let jitter = Pauses { jitter: ms(10), ..pauses };
        let begins: Vec<u64> = (0..4).map(|number| jitter.begin(number).0 / 1_000_000).collect();
        assert_eq!(begins, [15, 41, 57, 83]);
        assert_eq!(jitter.done(Nanos(40_000_000), ms(2)), Nanos(47_000_000), "the pause at 41.2");
    }
}
