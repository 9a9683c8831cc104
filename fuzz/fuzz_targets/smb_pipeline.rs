//! A pipeline's completions: frames in the buffer, verified or decrypted, matched with the calls
//! in flight. The input says how messages are protected, which calls are made and what the server
//! lies about. What nobody without the keys could have said is true wherever it is believed.
#![no_main]

#[path = "../../crates/smb/tests/peer/mod.rs"]
mod peer;

use libfuzzer_sys::fuzz_target;
use peer::{EVERY_PROTECTION, How, Lie, Manners, Protection, content};
use plimsoll_smb::{
    Access, ByteRange, Completion, CreateHow, Dialect, Done, Error, Exchange, FileId, LockMode,
    Pipeline, PipelineOptions, Request, Smb2,
};
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::time::Instant;

const MOST: u32 = 512;
const MOMENT: u64 = 2_000_000_000;

struct User {
    begun: Instant,
    /// Whether whatever succeeds has to be true.
    strict: bool,
    ended: BTreeSet<u32>,
    payload: Vec<u8>,
}

/// Where a call reads or writes, and how much.
fn place(tag: u32) -> (u64, u32) {
    (u64::from(tag) * 1000, tag * 37 % MOST)
}

impl Exchange<Smb2> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        let (offset, count) = if tag.is_multiple_of(2) { place(tag) } else { (0, place(tag).1) };
        self.payload = content(offset, count as usize);
        &self.payload
    }
    fn complete(&mut self, completion: Completion<'_>) {
        let tag = completion.tag;
        assert!(self.ended.insert(tag), "call {tag} ended twice");
        let (offset, count) = place(tag);
        match completion.result {
            Ok(Done::Read { data }) => {
                assert!(data.len() <= count as usize, "more than asked for");
                assert!(!self.strict || data == content(offset, count as usize), "call {tag}");
            }
            Ok(Done::Get { data, .. }) => {
                assert!(data.len() <= count as usize, "more than asked for");
                assert!(!self.strict || data == content(0, count as usize), "call {tag}");
            }
            Ok(Done::Write { count: done } | Done::Put { count: done }) => {
                assert!(done <= count, "more than sent");
                assert!(!self.strict || done == count, "call {tag}");
            }
            Ok(Done::Page { entries, .. }) => assert!(entries.len() <= 1, "names of nowhere"),
            Err(error) => assert!(!self.strict, "call {tag}: {error}"),
            Ok(_) => {}
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [protection, manner, count, script @ ..] = data else { return };
    let protection = EVERY_PROTECTION[usize::from(protection % 8)];
    let (calls, lies) = script.split_at(script.len().min(usize::from(count % 12)));
    // Each that sends a frame twice doubles what the ones before it send.
    let lies: Vec<Lie> = lies.chunks_exact(4).map(lie).take(12).collect();
    let said = lies.iter().any(|lie| lie.how == How::Say);
    let between = lies.iter().any(|lie| matches!(lie.how, How::Flip | How::Cut));
    let protected = protection != Protection::Plain;
    // Interim replies are not signed.
    let pending = manner & 1 != 0 && !matches!(protection, Protection::Sign(_));
    let manners =
        Manners { protection, split: manner & 2 != 0, pending, lies, ..Manners::default() };
    let (link, thread) = peer::connect(manners, 64, Dialect::Smb3_1_1);

    let depth = NonZeroU16::new(u16::from(manner / 4 % 4) + 1).expect("not 0");
    let options = PipelineOptions { depth, read_most: MOST, write_most: MOST, unread: false };
    let mut pipeline = Smb2::pipeline(link, options);
    pipeline.protocol_mut().use_compounds(manner & 16 == 0);
    let strict = !said && (protected || !between);
    let (begun, ended) = (Instant::now(), BTreeSet::new());
    let mut user = User { begun, strict, ended, payload: Vec::new() };
    let file = FileId { persistent: 1, volatile: 2 };
    let mut failed = None;
    // Payloads are told apart by their tags: even ones stand somewhere, odd ones are whole files.
    for (i, call) in (0_u32..).zip(calls) {
        let (somewhere, whole) = (2 * i, 2 * i + 1);
        let (offset, count) = place(somewhere);
        while pipeline.in_flight() >= usize::from(depth.get()) && failed.is_none() {
            failed = reap(&mut pipeline, &mut user);
        }
        let (path, directory) = ("a/b", file);
        let (tag, request) = match call % 16 {
            0 => (somewhere, Request::Read { file, offset, count }),
            1 => (somewhere, Request::Write { file, offset, count, through: call & 16 != 0 }),
            2 => (somewhere, Request::Flush { file }),
            3 => {
                let (how, count) = (CreateHow::Replace, place(whole).1);
                (whole, Request::Put { path, how, count, through: false })
            }
            4 => (whole, Request::Get { path, most: place(whole).1 }),
            5 => {
                let (how, access) = (CreateHow::Open, Access::Read);
                (somewhere, Request::Open { path, how, access })
            }
            6 => (somewhere, Request::Close { file }),
            7 => (somewhere, Request::Lookup { path }),
            8 => (somewhere, Request::OpenDirectory { path }),
            9 => (somewhere, Request::List { directory }),
            10 => (somewhere, Request::MakeDirectory { path }),
            11 => (somewhere, Request::Remove { path }),
            12 => (somewhere, Request::Attributes { file }),
            13 => (
                somewhere,
                Request::Lock { file, bytes: ByteRange::WHOLE, mode: Some(LockMode::Shared) },
            ),
            14 => (somewhere, Request::Lock { file, bytes: ByteRange::WHOLE, mode: None }),
            _ => (somewhere, Request::RemoveDirectory { path }),
        };
        let queued = pipeline.submit(tag, request);
        if queued.is_err() {
            break;
        }
    }
    while pipeline.in_flight() > 0 && failed.is_none() {
        failed = reap(&mut pipeline, &mut user);
    }
    drop(pipeline);
    thread.join().expect("the peer holds what it is to hold");
});

fn lie(bytes: &[u8]) -> Lie {
    let how = [How::Say, How::Flip, How::Cut, How::Twice, How::Withhold];
    Lie {
        reply: bytes[0] / 8,
        how: how[usize::from(bytes[0] % 8) % how.len()],
        at: u16::from_be_bytes([bytes[1] % 4, bytes[2]]),
        value: bytes[3],
    }
}

fn reap(pipeline: &mut Pipeline, user: &mut User) -> Option<Error> {
    let until = user.now() + MOMENT;
    match pipeline.reap(until, user) {
        Ok(0) => panic!("a server that hangs up is not noticed"),
        Ok(_) => None,
        Err(error) => Some(error),
    }
}
