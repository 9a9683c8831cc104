//! Calls in datagrams, of versions 2 and 3: lost, late, doubled, broken and foreign replies. The input
//! is a script of calls, of time that passes and of what the server sends. A true reply to the newest
//! attempt ends its call with its data, once; nothing else does, but what says that it is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs3::{
    Completion, Done, Exchange, FileHandle, Nfs3, PipelineOptions, ReadArguments, Request,
    Stability, WriteArguments,
};
use plimsoll_nfs::rpc::Credential;
use plimsoll_nfs::{Error, Version};
use plimsoll_transport::{Calling, DatagramSocket, SourcePort, SystemClock};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;

/// Longest READ and WRITE.
const MOST: u32 = 64;
/// Where the count stands in the arguments of READ, behind a handle of 32 bytes: version 3 has its length
/// in front, and offsets of 64 bits.
const HEADER: usize = 40;

/// A user whose time passes as the script says.
struct User {
    now: u64,
    ended: BTreeMap<u32, Result<Vec<u8>, Error>>,
}

impl Exchange<Nfs3> for User {
    fn now(&mut self) -> u64 {
        self.now
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &[7; MOST as usize][..count(tag) as usize]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        let tag = completion.tag;
        let result = completion.result.map(|done| match done {
            Done::Read { data, .. } => {
                assert!(data.len() <= count(tag) as usize, "more than asked for");
                data.to_vec()
            }
            _ => Vec::new(),
        });
        assert!(self.ended.insert(tag, result).is_none(), "a call ended twice");
    }
}

fn count(tag: u32) -> u32 {
    tag % MOST
}

fn data(tag: u32) -> Vec<u8> {
    (0..count(tag)).map(|i| (tag + i) as u8).collect()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// An attempt that the server has seen.
#[derive(Clone, Copy)]
struct Attempt {
    xid: u32,
    tag: u32,
    read: bool,
}

/// What a true server answers.
fn truth(version: Version, attempt: Attempt) -> Vec<u8> {
    let mut reply = words(&[attempt.xid, 1, 0, 0, 0, 0, 0]);
    let (data, attributes) = (data(attempt.tag), [&[1][..], &[0; 16]].concat());
    let length = data.len() as u32;
    match (version, attempt.read) {
        (Version::V2, true) => reply.extend(words(&[&attributes[..], &[length]].concat())),
        (Version::V2, false) => reply.extend(words(&attributes)),
        (Version::V3, true) => reply.extend(words(&[0, length, 0, length])),
        (Version::V3, false) => reply.extend(words(&[0, 0, length, 2, 1, 2])),
    }
    if attempt.read {
        reply.extend(&data);
        reply.resize(reply.len().next_multiple_of(4), 0);
    }
    reply
}

fuzz_target!(|script: &[u8]| {
    let mut script = script.iter().copied();
    let Some(first) = script.next() else { return };
    let version = if first & 1 == 0 { Version::V3 } else { Version::V2 };
    let Some(depth) = NonZeroU16::new(u16::from(first >> 1) % 8 + 1) else { return };
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    server.set_nonblocking(true).expect("a socket");
    let SocketAddr::V4(address) = server.local_addr().expect("bound") else { return };
    let (any, free) = (SourcePort::Any, SystemClock::no_deadline());
    let (addresses, port) = ([(*address.ip()).into()], address.port());
    let socket = DatagramSocket::connect(&addresses, port, any, &free).expect("a way");
    let options = PipelineOptions { depth, read_most: MOST, write_most: MOST, unread: false };
    let mut calls = Nfs3::datagrams(version, socket, &Credential::None, options);
    let mut user = User { now: 1, ended: BTreeMap::new() };
    let file = FileHandle::new(&[3; 32]).expect("short");

    let (mut seen, mut client): (Vec<Attempt>, _) = (Vec::new(), None);
    let mut receive = |seen: &mut Vec<Attempt>| {
        let mut call = [0; 1024];
        while let Ok((length, from)) = server.recv_from(&mut call) {
            client = Some(from);
            let word = |at: usize| u32::from_be_bytes(call[at..at + 4].try_into().expect("4"));
            assert!(length >= HEADER + 36, "less than a call");
            let offset = if version == Version::V2 { HEADER + 32 } else { HEADER + 40 };
            // The tag is the offset, except that version 2 has a word before that of a WRITE.
            let read = word(20) == 6;
            let tag = word(if version == Version::V2 && !read { offset + 4 } else { offset });
            assert!(seen.iter().all(|other| other.xid != word(0)), "a number twice");
            seen.push(Attempt { xid: word(0), tag, read });
        }
        client
    };
    // What true replies give, by tag.
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let mut spoiled = false;
    while let Some(step) = script.next() {
        let to = receive(&mut seen);
        let send = |bytes: &[u8]| drop(to.map(|to| server.send_to(bytes, to)));
        match step % 8 {
            kind @ 0..2 => {
                let tag = expected.len() as u32;
                let (offset, count, stability) = (u64::from(tag), count(tag), Stability::FileSync);
                let request = match kind {
                    0 => Request::Read(ReadArguments { file, offset, count }),
                    _ => Request::Write(WriteArguments { file, offset, count, stability }),
                };
                if calls.submit(tag, request).is_ok() {
                    expected.push(if kind == 0 { data(tag) } else { Vec::new() });
                }
            }
            2 => user.now += u64::from(step / 8) * 100_000_000,
            // The truth, about any attempt there was, once or twice.
            kind @ 3..6 if !seen.is_empty() => {
                let attempt = seen[usize::from(step / 8) % seen.len()];
                (0..kind - 2).for_each(|_| send(&truth(version, attempt)));
            }
            // Anything in place of the results, or at all.
            6 if !seen.is_empty() => {
                let attempt = seen[usize::from(step / 8) % seen.len()];
                let length = usize::from(script.next().unwrap_or(0) % 32);
                let results: Vec<u8> = script.by_ref().take(length).collect();
                send(&[words(&[attempt.xid, 1, 0, 0, 0, 0]), results].concat());
                spoiled = true;
            }
            7 => {
                let bytes: Vec<u8> = script.by_ref().take(usize::from(step / 8)).collect();
                send(&bytes);
                spoiled |= bytes.len() >= 4;
            }
            _ => {}
        }
        let now = user.now;
        calls.reap(now, &mut user).expect("no datagram ends it");
    }
    // A server that answers all of them from now on is done with soon.
    for _ in 0..1000 {
        if let Some(to) = receive(&mut seen) {
            for attempt in std::mem::take(&mut seen) {
                let _ = server.send_to(&truth(version, attempt), to);
            }
        }
        user.now += 1_000_000_000;
        let now = user.now;
        calls.reap(now, &mut user).expect("no datagram ends it");
    }
    assert_eq!(calls.in_flight(), 0, "calls that were answered go on");
    assert_eq!(user.ended.len(), expected.len());
    for (result, expected) in user.ended.into_values().zip(expected) {
        assert!(spoiled || result == Ok(expected), "{result:?}");
    }
});
