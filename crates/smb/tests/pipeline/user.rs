//! The caller of a pipeline: what it sends, and what became of its calls.

use super::super::peer::{self, Manners, PeerRecord, content};
use plimsoll_smb::{
    Completion, Dialect, Done, Error, Exchange, FileId, Pipeline, PipelineOptions, Request, Smb2,
};
use std::num::NonZeroU16;
use std::time::Instant;

pub const FILE: FileId = FileId { persistent: 3, volatile: 4 };

/// What became of a call, owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Read(Vec<u8>),
    Write(u32),
    Flush,
    Put(u32),
    Get(Vec<u8>, u64),
    Open(FileId, u64),
    Close,
    Failed(Error),
}

pub struct User {
    begun: Instant,
    payload: Vec<u8>,
    /// How much of the payload each tag sends.
    pub lengths: Vec<usize>,
    pub ended: Vec<(u32, Outcome)>,
}

impl User {
    pub fn new() -> Self {
        let payload = content(0, 1 << 20);
        User { begun: Instant::now(), payload, lengths: vec![0; 256], ended: Vec::new() }
    }

    pub fn outcome(&self, tag: u32) -> &Outcome {
        let mut all = self.ended.iter().filter(|(ended, _)| *ended == tag);
        let (_, outcome) = all.next().expect("the call has ended");
        assert!(all.next().is_none(), "once");
        outcome
    }
}

impl Exchange<Smb2> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.payload[..self.lengths[tag as usize]]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done);
        let outcome = match completion.result {
            Ok(Done::Read { data }) => Outcome::Read(data.to_vec()),
            Ok(Done::Write { count }) => Outcome::Write(count),
            Ok(Done::Flush) => Outcome::Flush,
            Ok(Done::Put { count }) => Outcome::Put(count),
            Ok(Done::Get { data, size }) => Outcome::Get(data.to_vec(), size),
            Ok(Done::Open { file, size }) => Outcome::Open(file, size),
            Ok(Done::Close) => Outcome::Close,
            Ok(other) => panic!("{other:?} of what was not asked for"),
            Err(error) => Outcome::Failed(error),
        };
        self.ended.push((completion.tag, outcome));
    }
}

pub fn read(offset: u64, count: u32) -> Request<'static> {
    Request::Read { file: FILE, offset, count }
}

pub fn write(count: u32, through: bool) -> Request<'static> {
    Request::Write { file: FILE, offset: 0, count, through }
}

pub fn options(depth: u16) -> PipelineOptions {
    let depth = NonZeroU16::new(depth).unwrap();
    PipelineOptions { depth, read_most: 1 << 20, write_most: 1 << 20, unread: false }
}

pub fn pipeline(manners: Manners, depth: u16) -> (Pipeline, std::thread::JoinHandle<PeerRecord>) {
    let (link, peer) = peer::connect(manners, 40, Dialect::Smb3_1_1);
    (Smb2::pipeline(link, options(depth)), peer)
}
