//! A pipeline's connection: records in fragments and pieces of any size, replies in any order, to
//! any transaction. The input is a script of calls and of what the server sends. A true reply
//! completes its call with its data, once; one to nobody ends the connection.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{
    AccessArguments, Completion, CreateArguments, CreateHow, Done, Exchange, FileHandle, Listing,
    Name, Nfs3, Other, PipelineOptions, Place, ReadArguments, Request, SetAttributes, Stability,
    WriteArguments,
};
use plimsoll_nfs::rpc::Credential;
use plimsoll_transport::Socket;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Longest READ and WRITE.
const MOST: u32 = 64;
const MOMENT: u64 = 1_000_000_000;
const GETATTR: u32 = 1;
const LOOKUP: u32 = 3;
const READ: u32 = 6;
const WRITE: u32 = 7;
const CREATE: u32 = 8;
const REMOVE: u32 = 12;
const READDIRPLUS: u32 = 17;

/// A call that the server has seen.
struct Call {
    xid: u32,
    procedure: u32,
    tag: u32,
    count: u32,
}

struct User {
    begun: Instant,
    /// What came of each call.
    ended: BTreeMap<u32, Result<Vec<u8>, Error>>,
}

impl Exchange<Nfs3> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &[7; MOST as usize][..(tag % MOST) as usize]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        let outcome = completion.result.map(|done| match done {
            Done::Read { data, .. } => {
                assert!(data.len() <= (completion.tag % MOST) as usize, "more than asked for");
                data.to_vec()
            }
            Done::Write { count, .. } => {
                assert!(count <= completion.tag % MOST, "more than sent");
                Vec::new()
            }
            Done::Other(Other::Page(page)) => {
                assert!(page.entries.len() <= MOST as usize * 100, "names of nowhere");
                Vec::new()
            }
            _ => Vec::new(),
        });
        assert!(self.ended.insert(completion.tag, outcome).is_none(), "a call ended twice");
    }
}

/// Bytes of the script, one after the other.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A call about names, or COMMIT.
fn name_call(which: u8, file: FileHandle) -> Request<'static> {
    let place = Place { directory: file, name: Name::new("a name").expect("a name") };
    let attributes = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    match which % 7 {
        1 => Request::Attributes(file),
        2 => Request::Lookup(place),
        3 => Request::Create(CreateArguments { place, how: CreateHow::Guarded(attributes) }),
        4 => Request::Remove(place),
        5 => Request::List(Listing::default().next_page(file)),
        6 => Request::Access(AccessArguments { file, rights: 0x3f }),
        _ => Request::commit(file),
    }
}

/// What a true server answers.
fn truth(call: &Call) -> (Vec<u8>, Vec<u8>) {
    let data: Vec<u8> = (0..call.count).map(|i| (call.tag + i) as u8).collect();
    let mut reply = words(&[call.xid, 1, 0, 0, 0, 0, 0]);
    match call.procedure {
        READ => {
            reply.extend(words(&[0, call.count, 0, call.count]));
            reply.extend(&data);
            reply.resize(reply.len().next_multiple_of(4), 0);
            (reply, data)
        }
        WRITE => {
            reply.extend(words(&[0, 0, call.count, 2, 1, 2]));
            (reply, Vec::new())
        }
        procedure => {
            let attributes = [&[1][..], &[0; 20]].concat();
            reply.extend(words(match procedure {
                GETATTR => &attributes,
                LOOKUP => &[4, 7, 0, 0],
                CREATE => &[1, 4, 7, 0, 0, 0],
                REMOVE => &[0, 0],
                READDIRPLUS => &[0, 1, 2, 0, 1],
                _ => &[0, 0, 1, 2],
            }));
            (reply, Vec::new())
        }
    }
}

/// A record in fragments of a size, 0: one.
fn record(body: &[u8], fragment: usize) -> Vec<u8> {
    let fragment = if fragment == 0 { body.len() } else { fragment };
    let mut bytes = Vec::new();
    let mut rest = body;
    loop {
        let (part, after) = rest.split_at(fragment.min(rest.len()));
        let last = if after.is_empty() { 0x8000_0000 } else { 0 };
        bytes.extend((part.len() as u32 | last).to_be_bytes());
        bytes.extend(part);
        rest = after;
        if rest.is_empty() {
            return bytes;
        }
    }
}

/// The server's end of the connection.
struct Peer {
    stream: TcpStream,
    calls: Vec<Call>,
}

impl Peer {
    /// Reads a call that was sent; the tag is known from their order.
    fn read(&mut self, tag: u32) {
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).expect("a call that was sent arrives");
        let mut body = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        self.stream.read_exact(&mut body).expect("whole");
        let word = |at: usize| u32::from_be_bytes(body[at..at + 4].try_into().expect("4"));
        let procedure = word(20);
        self.calls.push(Call { xid: word(0), procedure, tag, count: tag % MOST });
    }
}

static LAST: AtomicU8 = AtomicU8::new(0);

fuzz_target!(|data: &[u8]| {
    let mut script = Script(data);
    let Some(depth) = script.byte().and_then(|b| NonZeroU16::new(u16::from(b % 8) + 1)) else {
        return;
    };
    // Each time at another address: ports of connections that are closed stay taken for a minute.
    let address = Ipv4Addr::new(127, 0, LAST.fetch_add(1, Ordering::Relaxed), 1);
    let listener = TcpListener::bind((address, 0)).expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (stream, _) = listener.accept().expect("it connects");
    stream.set_nodelay(true).expect("TCP");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("TCP");
    let mut peer = Peer { stream, calls: Vec::new() };
    let options = PipelineOptions { depth, read_most: MOST, write_most: MOST, unread: false };
    let socket =
        Socket::new(client, plimsoll_transport::SystemClock::no_deadline()).expect("a connection");
    let mut pipeline = Nfs3::pipeline(socket, &Credential::None, options);
    let mut user = User { begun: Instant::now(), ended: BTreeMap::new() };
    let file = FileHandle::new(&[3; 8]).expect("short");

    // What is to come of calls; whether a reply to nobody, or anything at all, has been sent.
    let mut expected: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let (mut to_nobody, mut spoiled) = (false, false);
    let mut tag = 0;
    let mut failed = None;
    while failed.is_none()
        && let Some(step) = script.byte()
    {
        match step % 8 {
            kind @ 0..3 => {
                let count = tag % MOST;
                let stability = Stability::FileSync;
                let request = match kind {
                    0 => Request::Read(ReadArguments { file, offset: 0, count }),
                    1 => Request::Write(WriteArguments { file, offset: 0, count, stability }),
                    _ => name_call(step / 8, file),
                };
                let queued = pipeline.submit(tag, request);
                if queued.is_ok() {
                    failed = pipeline.flush(&mut user).err();
                    if failed.is_none() {
                        peer.read(tag);
                    }
                    tag += 1;
                }
            }
            // The truth, about any call that is open.
            3 | 4 if !peer.calls.is_empty() => {
                let which = usize::from(script.byte().unwrap_or(0)) % peer.calls.len();
                let call = peer.calls.swap_remove(which);
                let (reply, data) = truth(&call);
                let bytes = record(&reply, usize::from(step / 8));
                // A peer that was hung up on: seen below.
                let _ = peer.stream.write_all(&bytes);
                if !to_nobody && !spoiled {
                    expected.insert(call.tag, data);
                }
            }
            // Anything in place of the results.
            5 if !peer.calls.is_empty() => {
                let call = peer.calls.swap_remove(0);
                let length = usize::from(script.byte().unwrap_or(0)).min(script.0.len());
                let (results, rest) = script.0.split_at(length);
                script.0 = rest;
                let reply = [words(&[call.xid, 1, 0, 0, 0, 0]), results.to_vec()].concat();
                let _ = peer.stream.write_all(&record(&reply, usize::from(step / 8)));
            }
            // To nobody.
            6 => {
                let xid = peer.calls.first().map_or(1, |call| call.xid ^ 0x4000_0000);
                let _ = peer.stream.write_all(&record(&words(&[xid, 1, 0, 0, 0, 0, 0]), 0));
                to_nobody |= !spoiled;
            }
            // No record at all.
            7 => {
                let length = usize::from(step / 8).min(script.0.len());
                let (bytes, rest) = script.0.split_at(length);
                script.0 = rest;
                let _ = peer.stream.write_all(bytes);
                spoiled |= length > 0;
            }
            _ => {}
        }
        if failed.is_none() {
            failed = pipeline.reap(0, &mut user).err();
        }
    }
    let all = |user: &User| expected.keys().all(|tag| user.ended.contains_key(tag));
    while failed.is_none() && (to_nobody || !all(&user)) && pipeline.in_flight() > 0 {
        let until = user.now() + 5 * MOMENT;
        match pipeline.reap(until, &mut user) {
            Ok(0) => panic!("replies that were sent are not seen"),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    assert!(failed.is_none() || to_nobody || spoiled, "a true server is refused: {failed:?}");
    for (tag, data) in expected {
        if let Some(outcome) = user.ended.get(&tag) {
            assert_eq!(outcome.as_ref(), Ok(&data), "call {tag}");
        } else {
            assert!(failed.is_some(), "call {tag} never ended");
        }
    }
});
