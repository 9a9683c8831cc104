//! Calls in datagrams: lost, doubled, late, foreign and broken ones.

#[path = "support/user.rs"]
mod user;

use plimsoll_nfs::nfs3::{
    Client, CreateHow, FileHandle, Name, Nfs3, PipelineOptions, ReadArguments, Request,
    SetAttributes, Stability, Status, WriteArguments,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_nfs::{Error, Version, mount};
use plimsoll_testkit::proxy::{Faults, UdpProxy};
use plimsoll_testkit::servers::Nfs2Server;
use plimsoll_transport::{Calling, DatagramCounts, DatagramSocket, SourcePort, SystemClock};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use user::{User, block};

const LIMIT: Duration = Duration::from_secs(30);

fn socket(to: SocketAddr) -> DatagramSocket {
    let free = SystemClock::no_deadline();
    DatagramSocket::connect(&[to.ip()], to.port(), SourcePort::Any, &free).unwrap()
}

fn credential() -> Credential {
    Credential::Sys(AuthSys::new("test", 1, 2, &[]))
}

fn client(to: SocketAddr, limit: Duration) -> Client {
    Client::of_version(Version::V2, socket(to), &credential(), limit)
}

fn root(server: &Nfs2Server) -> FileHandle {
    let mut mount =
        mount::Client::of_version(Version::V2, socket(server.address()), &credential(), LIMIT);
    mount.mount(mount::Path::new("/export").unwrap()).unwrap()
}

fn name(name: &str) -> Name<'_> {
    Name::new(name).unwrap()
}

fn created(client: &mut Client, root: FileHandle, name: Name<'_>) -> FileHandle {
    client.create(root, name, CreateHow::Guarded(SetAttributes::default())).unwrap()
}

/// Every byte is right, and what the client counts is what the relay counts: exactly, whatever times
/// anything took, as a reply that comes too late is counted too.
#[test]
fn what_is_lost_and_doubled_is_sent_again_dropped_and_counted() {
    const BLOCK: u32 = 4096;
    const BLOCKS: u32 = 600;
    let server = Nfs2Server::start().unwrap();
    let root = root(&server);
    let file = created(&mut client(server.address(), LIMIT), root, name("file"));
    for seed in 1..4 {
        let faults = Faults { dropped: 20, doubled: 20 };
        let relay = UdpProxy::before(server.address(), faults, seed).unwrap();
        let depth = NonZeroU16::new(16).unwrap();
        let options = PipelineOptions { depth, read_most: BLOCK, write_most: BLOCK, unread: false };
        let mut calls =
            Nfs3::datagrams(Version::V2, socket(relay.address()), &credential(), options);
        let mut user = User::new(BLOCK as usize);
        let place = |i: u32| u64::from(i) * u64::from(BLOCK);
        let stability = Stability::Unstable;
        user.run(
            &mut calls,
            (0..BLOCKS).map(|i| {
                Request::Write(WriteArguments { file, offset: place(i), count: BLOCK, stability })
            }),
        );
        assert!(user.ended.values().all(Result::is_ok) && user.ended.len() == BLOCKS as usize);
        let whole: Vec<u8> = (0..BLOCKS).flat_map(|i| block(i, BLOCK as usize)).collect();
        assert!(server.content("file").unwrap() == whole, "what the server has differs");
        user.run(
            &mut calls,
            (0..BLOCKS)
                .map(|i| Request::Read(ReadArguments { file, offset: place(i), count: BLOCK })),
        );
        for (i, read) in &user.ended {
            assert!(*read == Ok(block(*i, BLOCK as usize)), "block {i} differs");
        }
        // What is still on its way comes before the answers to further calls.
        relay.set(Faults::default());
        let mut done = u64::from(2 * BLOCKS);
        let begun = Instant::now();
        loop {
            user.run(&mut calls, [Request::Attributes(file)]);
            done += 1;
            let (client, relay) = (calls.datagrams(), relay.counts());
            let expected = DatagramCounts {
                retransmitted: relay.attempts - done,
                late: relay.answered - done,
                doubled: relay.doubled,
                unknown: 0,
            };
            if client == expected {
                assert!(relay.dropped > 10 && client.retransmitted > 10, "{relay:?}");
                assert!(client.doubled > 10, "{client:?}");
                break;
            }
            assert!(begun.elapsed() < LIMIT, "{client:?} is not {expected:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(server.content("file").unwrap().len() as u32, BLOCKS * BLOCK);
}

/// A peer that follows a script; it is given each call's transaction and procedure.
fn peer(
    mut script: impl FnMut(u32, u32, &dyn Fn(&[u8])) -> bool + Send + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let mut call = [0; 4096];
        loop {
            let (length, from) = socket.recv_from(&mut call).unwrap();
            assert!(length >= 40, "less than a call");
            let word = |at: usize| u32::from_be_bytes(call[at..at + 4].try_into().unwrap());
            let send = |bytes: &[u8]| drop(socket.send_to(bytes, from));
            if !script(word(0), word(20), &send) {
                return;
            }
        }
    });
    (address, thread)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn reply(xid: u32, results: &[u32]) -> Vec<u8> {
    words(&[&[xid, 1, 0, 0, 0, 0], results].concat())
}

const NOENT: u32 = 2;
const EXIST: u32 = 17;

/// What the RFC calls the weakness of the protocol: the answer to the first attempt is lost, and the
/// second finds that it was done.
#[test]
fn what_was_done_by_an_attempt_before_is_no_error() {
    for lose in [true, false] {
        let mut lost = None;
        let (address, thread) = peer(move |xid, procedure, send| {
            let loses = lose && !matches!(procedure, 0 | 4) && lost != Some(procedure);
            match procedure {
                _ if loses => lost = Some(procedure),
                0 => send(&reply(xid, &[])),
                // LOOKUP: of what a guarded CREATE is to make, which is not there; then of what it made.
                4 if lost != Some(9) => send(&reply(xid, &[NOENT])),
                4 => send(&reply(xid, &[&[0; 9][..], &[1; 17]].concat())),
                9 | 14 => send(&reply(xid, &[EXIST])),
                _ => send(&reply(xid, &[NOENT])),
            }
            // RMDIR is the last.
            loses || procedure != 15
        });
        let mut client = client(address, LIMIT);
        // The round trip is known from here on, so that nothing waits for a second.
        (0..3).for_each(|_| client.null().unwrap());
        let at = FileHandle::new(&[7; 32]).unwrap();
        let guarded = CreateHow::Guarded(SetAttributes::default());
        let results = [
            client.create(at, name("a"), guarded).map(drop),
            client.remove(at, name("a")),
            client.remove_directory(at, name("a")),
        ];
        let statuses = results.map(|result| result.map_err(|error| error.status()));
        if lose {
            assert_eq!(statuses, [Ok(()); 3]);
            assert!(client.take_datagrams().retransmitted >= 3);
        } else {
            let expected = [Status::Exists, Status::NoEntry, Status::NoEntry];
            assert_eq!(statuses, expected.map(|status| Err(Some(status))));
        }
        thread.join().unwrap();
    }
}

#[test]
fn names_change_once_over_a_way_that_loses_much() {
    let server = Nfs2Server::start().unwrap();
    let root = root(&server);
    let faults = Faults { dropped: 120, doubled: 100 };
    let relay = UdpProxy::before(server.address(), faults, 11).unwrap();
    let mut client = client(relay.address(), LIMIT);
    for round in 0..12 {
        let directory = client.make_directory(root, name("directory"), 0o700).unwrap();
        let file = created(&mut client, directory, name("file"));
        assert_eq!(client.write(file, 0, Stability::FileSync, &[round; 3000]).unwrap().0, 3000);
        assert_eq!(server.content("directory/file").unwrap(), [round; 3000]);
        assert_eq!(client.read(file, 1000, 8000).unwrap(), (&[round; 2000][..], true));
        client.remove(directory, name("file")).unwrap();
        client.remove_directory(root, name("directory")).unwrap();
        assert_eq!(server.count(), 0);
    }
    assert!(client.take_datagrams().retransmitted > 0 && relay.counts().dropped > 0);
}

#[test]
fn foreign_broken_and_doubled_datagrams_are_no_answers() {
    let (address, _thread) = peer(|xid, procedure, send| {
        if procedure == 1 {
            for other in [xid - 1, xid + 1, xid ^ 0x8000_0000, 0] {
                send(&reply(other, &[70]));
            }
            send(&[]);
            send(&xid.to_be_bytes()[..3]);
            // Longer than anything that was asked for, and to nobody.
            send(&[&words(&[xid + 7])[..], &[0; 60_000]].concat());
            send(&reply(xid, &[&[0, 1][..], &[5; 16]].concat()));
            send(&reply(xid, &[70]));
        } else {
            send(&reply(xid, &[]));
        }
        true
    });
    let mut client = client(address, LIMIT);
    let file = FileHandle::new(&[7; 32]).unwrap();
    client.null().unwrap();
    client.take_datagrams();
    assert_eq!(client.attributes(file).unwrap().size, 5);
    client.null().unwrap();
    let counts = client.take_datagrams();
    // The one before was answered by then.
    assert_eq!((counts.doubled, counts.unknown), (2, 6), "{counts:?}");
}

#[test]
fn a_reply_that_is_cut_or_too_long_is_an_error_of_its_call_alone() {
    let whole = reply(0, &[&[0, 1][..], &[5; 16]].concat());
    for cut in 4..whole.len() {
        let short = whole[4..cut].to_vec();
        let (address, thread) = peer(move |xid, procedure, send| {
            match procedure {
                1 => send(&[&xid.to_be_bytes(), &short[..]].concat()),
                _ => send(&reply(xid, &[])),
            }
            procedure == 1
        });
        let mut client = client(address, LIMIT);
        let error = client.attributes(FileHandle::new(&[7; 32]).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "cut at {cut}: {error}");
        client.null().unwrap();
        thread.join().unwrap();
    }
    let (address, _thread) = peer(|xid, _, send| {
        send(&[&words(&[xid])[..], &[0; 60_000]].concat());
        true
    });
    let error = client(address, LIMIT).null().unwrap_err();
    assert!(matches!(error, Error::RecordTooLong { length: 60_004, .. }), "{error}");
}

#[test]
fn silence_ends_with_the_time_and_a_closed_port_at_once() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let limit = Duration::from_millis(3500);
    let begun = Instant::now();
    let mut calls = client(silent.local_addr().unwrap(), limit);
    let error = calls.null().unwrap_err();
    let address = silent.local_addr().unwrap();
    let after = plimsoll_transport::Error::TimedOut { address, after: limit };
    assert_eq!(error, Error::Tcp(after));
    assert!(begun.elapsed() >= limit, "too early");
    // After a second and after two more.
    assert_eq!(calls.take_datagrams(), DatagramCounts { retransmitted: 2, ..Default::default() });
    let mut xids = Vec::new();
    let mut buffer = [0; 256];
    silent.set_nonblocking(true).unwrap();
    while silent.recv(&mut buffer).is_ok() {
        xids.push(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
    }
    assert_eq!(xids.len(), 3);
    assert!(xids[0] != xids[1] && xids[1] != xids[2], "each attempt has a number of its own");
    drop(silent);
    let error = client(address, LIMIT).null().unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::Connect { .. })), "{error}");
}

/// A call whose time was over is not answered by what comes then.
#[test]
fn an_answer_to_a_call_that_was_given_up_is_not_taken_for_another_s() {
    let (address, _thread) = peer({
        let mut first = None;
        move |xid, _, send| {
            match first {
                None => first = Some(xid),
                Some(before) => {
                    send(&reply(before, &[&[0, 1][..], &[5; 16]].concat()));
                    send(&reply(xid, &[&[0, 1][..], &[6; 16]].concat()));
                }
            }
            true
        }
    });
    // Less than the first attempt waits.
    let mut client = client(address, Duration::from_millis(900));
    let file = FileHandle::new(&[7; 32]).unwrap();
    assert!(client.attributes(file).is_err());
    assert_eq!(client.attributes(file).unwrap().size, 6);
    assert_eq!(client.take_datagrams().late, 1);
}
