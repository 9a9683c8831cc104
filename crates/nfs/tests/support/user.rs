//! The user of a pipeline: what it writes follows from the tag, what came of each call is kept.

use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{Completion, Done, Exchange, Nfs3, Request};
use plimsoll_transport::Calling;
use std::collections::BTreeMap;
use std::time::Instant;

/// What a test waits for at most, in nanoseconds.
pub const LONG: u64 = 60_000_000_000;

pub struct User {
    begun: Instant,
    block: Vec<u8>,
    length: usize,
    pub ended: BTreeMap<u32, Result<Vec<u8>, Error>>,
}

/// The content of a block: no two are alike.
pub fn block(number: u32, length: usize) -> Vec<u8> {
    let word = |i: usize| (number.wrapping_mul(2_654_435_761) ^ i as u32).to_be_bytes();
    (0..length.div_ceil(4)).flat_map(word).take(length).collect()
}

impl User {
    pub fn new(length: usize) -> Self {
        User { begun: Instant::now(), block: Vec::new(), length, ended: BTreeMap::new() }
    }

    /// Does all of it, as many at a time as there are slots. Tags are the numbers of the requests.
    pub fn run<'r>(
        &mut self,
        calls: &mut impl Calling<Nfs3>,
        requests: impl IntoIterator<Item = Request<'r>>,
    ) {
        self.ended.clear();
        for (tag, request) in (0..).zip(requests) {
            while calls.submit(tag, request).is_err() {
                self.reap(calls);
            }
        }
        while calls.in_flight() > 0 {
            self.reap(calls);
        }
    }

    fn reap(&mut self, calls: &mut impl Calling<Nfs3>) {
        let until = self.now() + LONG;
        assert!(calls.reap(until, self).unwrap() > 0, "nothing came for a minute");
    }
}

impl Exchange<Nfs3> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn payload(&mut self, tag: u32) -> &[u8] {
        self.block = block(tag, self.length);
        &self.block
    }

    fn complete(&mut self, completion: Completion<'_>) {
        let result = completion.result.map(|done| match done {
            Done::Read { data, .. } => data.to_vec(),
            Done::Write { count, .. } => {
                assert_eq!(count as usize, self.length, "all of it");
                Vec::new()
            }
            _ => Vec::new(),
        });
        assert!(self.ended.insert(completion.tag, result).is_none(), "a call ended twice");
    }
}
