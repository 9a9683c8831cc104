//! The user's side of a pipeline: what it sends, and what became of every call.

use plimsoll_smb::{
    Completion, Done, Entry, Error, Exchange, FileId, FileInfo, Pipeline, PipelineOptions, Smb2,
    Tree,
};
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::time::Instant;

/// Keeps what ended, by tag.
pub struct User {
    begun: Instant,
    pub payloads: HashMap<u32, Vec<u8>>,
    pub ended: HashMap<u32, Result<Ended, Error>>,
}

/// What became of a call.
#[derive(Debug, PartialEq)]
pub enum Ended {
    Data(Vec<u8>),
    Count(u32),
    File(FileId, u64),
    Found(FileInfo),
    Page(Vec<Entry>, bool),
    Done,
}

impl User {
    pub fn new() -> Self {
        Self { begun: Instant::now(), payloads: HashMap::new(), ended: HashMap::new() }
    }

    #[track_caller]
    pub fn ok(&mut self, tag: u32) -> Ended {
        self.ended.remove(&tag).expect("it has ended").unwrap()
    }
}

impl Exchange<Smb2> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.payloads[&tag]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done);
        let ended = completion.result.map(|done| match done {
            Done::Read { data } => Ended::Data(data.to_vec()),
            Done::Get { data, size } => {
                assert!(size >= data.len() as u64);
                Ended::Data(data.to_vec())
            }
            Done::Write { count } | Done::Put { count } => Ended::Count(count),
            Done::Open { file, size } => Ended::File(file, size),
            Done::Found(info) => Ended::Found(info),
            Done::Page { entries, end } => Ended::Page(entries, end),
            Done::Flush | Done::Close | Done::Made | Done::Changed => Ended::Done,
        });
        assert!(self.ended.insert(completion.tag, ended).is_none(), "it ended twice");
    }
}

/// A pipeline of this depth for transfers of at most so many bytes.
pub fn pipeline(tree: Tree, depth: u16, most: u32) -> Pipeline {
    let depth = NonZeroU16::new(depth).unwrap();
    tree.into_pipeline(PipelineOptions { depth, read_most: most, write_most: most, unread: false })
}

/// Reaps until everything in flight has ended.
pub fn finish(pipeline: &mut Pipeline, user: &mut User) {
    while pipeline.in_flight() > 0 {
        let until = user.now() + 20_000_000_000;
        assert_ne!(pipeline.reap(until, user).unwrap(), 0, "nothing ended in time");
    }
}
