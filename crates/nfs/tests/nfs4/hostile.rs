//! Peers that break version 4 in every way: errors, no hang, no panic; and servers that are slow or
//! forgetful, which are worked with.

#[path = "delegations.rs"]
mod delegations;
#[path = "limits.rs"]
mod limits;
#[path = "reopened.rs"]
mod reopened;
#[path = "revoked.rs"]
mod revoked;
#[path = "sessions.rs"]
mod sessions;
#[path = "small_files.rs"]
mod small_files;

use super::*;
use plimsoll_nfs::nfs4::{
    Channel, CreateSessionOk, Done, ExchangeIdOk, Fixed, Nfs4, Pipeline, Request, SequenceOk,
};
use plimsoll_nfs::xdr::{Encode, encode_all};
use plimsoll_transport::{Completion, Exchange, PipelineOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

const LAST: u32 = 0x8000_0000;
const SHORT: Duration = Duration::from_millis(700);
const SEQUENCE: u32 = 53;
const PUTFH: u32 = 22;
const GETATTR: u32 = 9;
/// GETATTR: a size of 5 bytes.
const SIZE: [u32; 5] = [1, 16, 8, 0, 5];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// A server of one connection that follows a script.
struct Peer(TcpStream);

/// A call as it came: its operations.
#[derive(Debug, PartialEq)]
struct Call {
    xid: u32,
    first: u32,
    /// What follows the number of the first operation, as words.
    rest: Vec<u32>,
}

impl Peer {
    fn call(&mut self) -> Option<Call> {
        let mut mark = [0; 4];
        self.0.read_exact(&mut mark).ok()?;
        let mut body = vec![0; (u32::from_be_bytes(mark) & !LAST) as usize];
        self.0.read_exact(&mut body).ok()?;
        let words: Vec<u32> =
            body.chunks_exact(4).map(|w| u32::from_be_bytes(w.try_into().unwrap())).collect();
        // Header, credential, verifier, and then the tag, the minor version and the count.
        let credential = 7 + (words[7] as usize).div_ceil(4) + 1;
        let compound = credential + 2;
        Some(Call { xid: words[0], first: words[compound + 3], rest: words[compound + 4..].into() })
    }

    fn send(&mut self, body: &[u8]) {
        let _ = self.0.write_all(&[&words(&[body.len() as u32 | LAST])[..], body].concat());
    }

    fn reply(&mut self, xid: u32, results: &[u8]) {
        self.send(&[&words(&[xid, 1, 0, 0, 0, 0]), results].concat());
    }

    /// One operation that succeeds.
    fn ok(&mut self, call: &Call, results: &impl Encode) {
        self.reply(call.xid, &[words(&[0, 0, 1, call.first, 0]), encode_all(results)].concat());
    }

    /// Takes a registration that is not the first, of which it says this, and a session of this number.
    fn register(&mut self, said: ExchangeIdOk, number: u32) {
        let call = self.call().unwrap();
        assert_eq!(call.first, 42);
        self.ok(&call, &said);
        let call = self.call().unwrap();
        assert_eq!((call.first, call.rest[2]), (43, number));
        self.ok(&call, &session(8));
    }

    /// Takes a registration and a session of so many slots.
    fn set_up(&mut self, slots: u32) {
        loop {
            let call = self.call().unwrap();
            match call.first {
                42 => self.ok(&call, &ExchangeIdOk { client: 77, sequence: 1, flags: 0 }),
                43 => {
                    self.ok(&call, &session(slots));
                    if call.rest[2] != 1 {
                        return; // not the first: there is nothing to reclaim
                    }
                }
                SEQUENCE => {
                    let body = [words(&[0, 0, 2]), sequence(&call, 9999), words(&[58, 0])].concat();
                    return self.reply(call.xid, &body);
                }
                other => panic!("operation {other}"),
            }
        }
    }
}

/// A new registration, with the number of its first session.
fn unconfirmed(sequence: u32) -> ExchangeIdOk {
    ExchangeIdOk { client: 77, sequence, flags: 0 }
}

/// One that has had a session (EXCHGID4_FLAG_CONFIRMED_R): the number is nothing.
fn confirmed(sequence: u32) -> ExchangeIdOk {
    ExchangeIdOk { flags: 0x8000_0000, ..unconfirmed(sequence) }
}

fn session(slots: u32) -> CreateSessionOk {
    let channel =
        Channel { request_most: 1 << 20, reply_most: 1 << 20, kept_most: 0, operations: 16, slots };
    let (fore, back) = (channel, channel);
    CreateSessionOk { session: Fixed([5; 16]), sequence: 1, flags: 0, fore, back }
}

/// What SEQUENCE gives to a call, with the highest slot that is wanted.
fn sequence(call: &Call, target_highest_slot: u32) -> Vec<u8> {
    assert_eq!(call.first, SEQUENCE);
    let ok = SequenceOk {
        session: Fixed([5; 16]),
        sequence: call.rest[4],
        slot: call.rest[5],
        highest_slot: 9999,
        target_highest_slot,
        status: 0,
    };
    [words(&[SEQUENCE, 0]), encode_all(&ok)].concat()
}

/// The results of SEQUENCE, PUTFH and GETATTR.
fn attributes(call: &Call) -> Vec<u8> {
    let tail = words(&[&[PUTFH, 0, GETATTR, 0][..], &SIZE].concat());
    [words(&[0, 0, 3]), sequence(call, 9999), tail].concat()
}

fn with(slots: u32, script: impl FnOnce(Peer) + Send + 'static) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        peer.set_up(slots);
        script(peer);
    });
    (connected(port).unwrap(), thread)
}

fn connected(port: u16) -> Result<Client, Error> {
    connected_as(&Identity::new(Minor::V1), port)
}

fn connected_as(identity: &Arc<Identity>, port: u16) -> Result<Client, Error> {
    let free = SystemClock::no_deadline();
    let socket = plimsoll_transport::connect(&[HERE], port, SourcePort::Any, LIMIT, &free)?;
    let credential = Credential::Sys(AuthSys::new("test", 0, 0, &[]));
    let slots = NonZeroU16::new(8).unwrap();
    Client::new(socket, &credential, identity, slots, SHORT)
}

fn file() -> FileHandle {
    FileHandle::new(&[1; 40]).unwrap()
}

#[test]
fn a_reply_that_is_cut_anywhere_is_an_error_and_the_whole_one_is_not() {
    let whole = Call { xid: 0, first: SEQUENCE, rest: vec![0; 20] };
    let length = attributes(&whole).len();
    let (mut client, peer) = with(8, move |mut peer| {
        for cut in 0..=length {
            let call = peer.call().unwrap();
            let mut results = attributes(&call);
            results.truncate(cut);
            peer.reply(call.xid, &results);
            // A slot whose SEQUENCE was not understood has the number that it had; the server goes along.
        }
    });
    for _ in 0..length {
        let error = client.attributes(file()).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{error}");
    }
    assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    drop(client);
    peer.join().unwrap();
}

#[test]
fn nonsense_ends_the_connection_or_the_call_and_never_hangs() {
    type Script = fn(&mut Peer, Call);
    let cases: [(&str, Script); 8] = [
        ("unknown call", |peer, call| peer.reply(call.xid ^ 1, &attributes(&call))),
        ("more than the limit", |peer, _| peer.0.write_all(&words(&[0xffff_ffff, 0])).unwrap()),
        ("empty fragments", |peer, _| peer.0.write_all(&words(&[0; 20_000])).unwrap_or(())),
        ("within", |_, _| std::thread::sleep(2 * SHORT)),
        ("closed", |_, _| {}),
        ("PROG_MISMATCH", |peer, call| peer.send(&words(&[call.xid, 1, 0, 0, 0, 2, 3, 3]))),
        ("another call", |peer, mut call| {
            call.rest[5] += 1; // another slot
            peer.reply(call.xid, &attributes(&call));
        }),
        ("another call", |peer, mut call| {
            call.rest[4] += 1; // another number
            peer.reply(call.xid, &attributes(&call));
        }),
    ];
    for (expected, script) in cases {
        let (mut client, peer) = with(8, move |mut peer| {
            let call = peer.call().unwrap();
            script(&mut peer, call);
        });
        let text = client.attributes(file()).unwrap_err().to_string();
        assert!(text.contains(expected), "{expected}: {text}");
        drop(client);
        peer.join().unwrap();
    }
}

/// Whoever cleans up must not take half of the names for all of them.
#[test]
fn a_listing_whose_page_comes_again_is_no_listing() {
    let (mut client, peer) = with(8, |mut peer| {
        for _ in 0..2 {
            let call = peer.call().unwrap();
            // READDIR: one name, cookie 7, no attributes, and more to come.
            let page = [26, 0, 0, 0, 1, 0, 7, 1, 0x6100_0000, 0, 0, 0, 0];
            let body = [words(&[0, 0, 3]), sequence(&call, 9999), words(&[PUTFH, 0])].concat();
            peer.reply(call.xid, &[body, words(&page)].concat());
        }
    });
    assert_eq!(client.list(file()), Err(Error::ListingRepeats { cookie: 7 }));
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_server_that_is_not_ready_is_asked_again_and_that_is_counted() {
    let (mut client, peer) = with(8, |mut peer| {
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let call = peer.call().unwrap();
            numbers.push(call.rest[4]);
            peer.reply(call.xid, &words(&[10008, 0, 1, SEQUENCE, 10008]));
        }
        let call = peer.call().unwrap();
        numbers.push(call.rest[4]);
        let body = [words(&[10013, 0, 2]), sequence(&call, 9), words(&[PUTFH, 10013])].concat();
        peer.reply(call.xid, &body);
        let call = peer.call().unwrap();
        numbers.push(call.rest[4]);
        peer.reply(call.xid, &attributes(&call));
        // The first was RECLAIM_COMPLETE's. A slot goes on where its SEQUENCE succeeded, and only there.
        assert_eq!(numbers, [2, 2, 2, 3]);
    });
    assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    assert_eq!(client.waits(), 3);
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_lost_session_is_made_again_but_not_for_ever() {
    let (mut client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[10052, 0, 1, SEQUENCE, 10052]));
        let call = peer.call().unwrap();
        assert_eq!(
            (call.first, call.rest[2]),
            (43, 2),
            "a new session under the same registration"
        );
        peer.ok(&call, &session(8));
        let call = peer.call().unwrap();
        assert_eq!(call.rest[4], 1, "which begins again");
        peer.reply(call.xid, &attributes(&call));
        while let Some(call) = peer.call() {
            match call.first {
                43 => peer.ok(&call, &session(8)),
                _ => peer.reply(call.xid, &words(&[10052, 0, 1, SEQUENCE, 10052])),
            }
        }
    });
    assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    assert_eq!(client.sessions_lost(), 1);
    assert_eq!(status(client.attributes(file())), Status::BadSession);
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_session_without_slots_is_refused() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        for _ in 0..2 {
            let call = peer.call().unwrap();
            match call.first {
                42 => peer.ok(&call, &ExchangeIdOk { client: 77, sequence: 1, flags: 0 }),
                _ => peer.ok(&call, &session(0)),
            }
        }
    });
    assert!(connected(port).unwrap_err().to_string().contains("session"));
    thread.join().unwrap();
}

#[derive(Default)]
struct User {
    /// A second goes by with each look, so that nothing is waited for.
    seconds: u64,
    /// Calls that are made again by the pipeline.
    put_off: u32,
    /// Tags of calls, and bytes of the file or that were transferred.
    ended: Vec<(u32, Result<Option<u64>, Error>)>,
}

impl Exchange<Nfs4> for User {
    fn now(&mut self) -> u64 {
        self.seconds += 1;
        self.seconds * 1_000_000_000
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        b"four"
    }
    fn postponed(&mut self, _: u64) {
        self.put_off += 1;
    }
    fn complete(&mut self, completion: Completion<Done<'_>, Error>) {
        let bytes = completion.result.map(|done| match done {
            Done::Attributes(of) => of.size,
            Done::Read { data, .. } => Some(data.len() as u64),
            Done::Write { count, .. } => Some(count.into()),
            _ => None,
        });
        self.ended.push((completion.tag, bytes));
    }
}

fn finish(pipeline: &mut Pipeline, user: &mut User) {
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, user).unwrap();
    }
}

fn pipeline(client: Client) -> Pipeline {
    let depth = NonZeroU16::new(8).unwrap();
    Nfs4::pipeline(
        client,
        PipelineOptions { depth, read_most: 4096, write_most: 4096, unread: false },
    )
    .unwrap()
}

#[test]
fn replies_in_any_order_reach_their_calls_and_slots_are_respected() {
    let (client, peer) = with(8, |mut peer| {
        let calls: Vec<_> = std::iter::from_fn(|| peer.call()).take(8).collect();
        let slots: Vec<_> = calls.iter().map(|call| call.rest[5]).collect();
        assert_eq!(slots, [0, 1, 2, 3, 4, 5, 6, 7]);
        let highest: Vec<_> = calls.iter().map(|call| call.rest[6]).collect();
        assert_eq!(highest, [0, 1, 2, 3, 4, 5, 6, 7]);
        for call in calls.iter().rev() {
            let mut results = attributes(call);
            // From now on two slots are wanted, which the next eight calls have to share.
            let at = results.len() - 4 * (SIZE.len() + 4) - 8;
            results[at..at + 4].copy_from_slice(&1u32.to_be_bytes());
            peer.reply(call.xid, &results);
        }
        let (mut seen, mut waiting) = (0, Vec::new());
        while seen < 8 {
            let call = peer.call().unwrap();
            assert!(call.rest[5] < 2, "slot {}", call.rest[5]);
            waiting.push(call);
            seen += 1;
            if waiting.len() == 2 {
                for call in std::mem::take(&mut waiting) {
                    let mut results = attributes(&call);
                    let at = results.len() - 4 * (SIZE.len() + 4) - 8;
                    results[at..at + 4].copy_from_slice(&1u32.to_be_bytes());
                    peer.reply(call.xid, &results);
                }
            }
        }
    });
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    for _ in 0..2 {
        for tag in 0..8 {
            pipeline.submit(tag, Request::Attributes(file())).unwrap();
        }
        while pipeline.in_flight() > 0 {
            pipeline.reap(u64::MAX, &mut user).unwrap();
        }
        user.ended.sort_by_key(|(tag, _)| *tag);
        let expected: Vec<_> = (0..8).map(|tag| (tag, Ok(Some(5)))).collect();
        assert_eq!(std::mem::take(&mut user.ended), expected);
    }
    drop(pipeline);
    peer.join().unwrap();
}

#[test]
fn in_a_pipeline_delay_is_one_calls_and_a_lost_session_is_all_calls() {
    let (client, peer) = with(1, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[10008, 0, 1, SEQUENCE, 10008]));
        let again = peer.call().unwrap();
        assert_eq!((again.rest[4], again.rest[5]), (call.rest[4], call.rest[5]), "the same number");
        peer.reply(again.xid, &attributes(&again));
        let last = peer.call().unwrap();
        assert_eq!(last.rest[4], again.rest[4] + 1);
        peer.reply(last.xid, &words(&[10052, 0, 1, SEQUENCE, 10052]));
        let end = peer.call().unwrap();
        assert_eq!(end.first, 44, "the session is ended when the pipeline is dropped");
    });
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    for _ in 0..2 {
        pipeline.submit(3, Request::Attributes(file())).unwrap();
        pipeline.reap(u64::MAX, &mut user).unwrap();
    }
    let (delayed, good) = (user.ended.remove(0).1, user.ended.remove(0).1);
    assert_eq!((status(delayed), good), (Status::Delay, Ok(Some(5))));
    pipeline.submit(3, Request::Attributes(file())).unwrap();
    assert_eq!(status(pipeline.reap(u64::MAX, &mut user)), Status::BadSession);
    assert!(user.ended.is_empty());
    drop(pipeline);
    peer.join().unwrap();
}

#[test]
fn a_pipeline_refuses_doubled_and_foreign_replies() {
    for foreign in [false, true] {
        let (client, peer) = with(8, move |mut peer| {
            let call = peer.call().unwrap();
            let results = attributes(&call);
            if foreign {
                return peer.reply(call.xid.wrapping_add(64), &results);
            }
            peer.reply(call.xid, &results);
            peer.reply(call.xid, &results);
        });
        let (mut pipeline, mut user) = (pipeline(client), User::default());
        pipeline.submit(0, Request::Attributes(file())).unwrap();
        let first = pipeline.reap(u64::MAX, &mut user);
        let error = first.and_then(|_| {
            pipeline.submit(1, Request::Attributes(file())).unwrap();
            pipeline.reap(u64::MAX, &mut user)
        });
        assert!(matches!(error, Err(Error::UnknownTransaction(_))), "{error:?}");
        drop(pipeline);
        peer.join().unwrap();
    }
}
