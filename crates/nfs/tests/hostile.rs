//! Peers that break the protocol in every way: errors, no hang, no panic, bounded memory.

mod hostile {
    mod pipeline;
}

use plimsoll_nfs::nfs3::{Client, FileHandle, Procedure, Stability};
use plimsoll_nfs::rpc::{AuthError, AuthSys, Credential, Rejection};
use plimsoll_nfs::{Error, mount, portmap};
use plimsoll_transport::{Socket, SourcePort};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// What a call that must not hang may take.
const LIMIT: Duration = Duration::from_millis(700);
const LAST: u32 = 0x8000_0000;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

fn record(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 | LAST).to_be_bytes()[..], body].concat()
}

/// A successful reply with these results.
fn reply(xid: u32, results: &[u8]) -> Vec<u8> {
    record(&[words(&[xid, 1, 0, 0, 0, 0]), results.to_vec()].concat())
}

/// A peer that follows a script on one connection, then closes it.
fn peer(script: impl FnOnce(TcpStream) + Send + 'static) -> (Socket, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || script(listener.accept().unwrap().0));
    let limit = Duration::from_secs(5);
    (
        plimsoll_transport::connect(
            &[HERE],
            port,
            SourcePort::Any,
            limit,
            &plimsoll_transport::SystemClock::no_deadline(),
        )
        .unwrap(),
        thread,
    )
}

/// Receives one call whole; its transaction, and all of it.
fn whole_call(stream: &mut TcpStream) -> (u32, Vec<u8>) {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).unwrap();
    let mut body = vec![0; (u32::from_be_bytes(mark) & !LAST) as usize];
    stream.read_exact(&mut body).unwrap();
    (u32::from_be_bytes(body[..4].try_into().unwrap()), body)
}

/// The same; its transaction.
fn call(stream: &mut TcpStream) -> u32 {
    whole_call(stream).0
}

fn credential() -> Credential {
    Credential::Sys(AuthSys::new("test", 1, 2, &[]))
}

/// What a blocking client makes of an answer.
fn null_answered_by(answer: impl FnOnce(u32) -> Vec<u8> + Send + 'static) -> Error {
    let (socket, thread) = peer(move |mut stream| {
        let xid = call(&mut stream);
        let _ = stream.write_all(&answer(xid));
    });
    let mut client = Client::new(socket, &credential(), LIMIT);
    let begun = Instant::now();
    let error = client.null().unwrap_err();
    assert!(begun.elapsed() < LIMIT + Duration::from_secs(5), "it hangs");
    thread.join().unwrap();
    if error.is_fatal() {
        assert_eq!(client.null().unwrap_err(), error, "a dead connection stays dead");
    }
    error
}

#[test]
fn broken_records_are_errors() {
    assert_eq!(null_answered_by(|_| Vec::new()), plimsoll_transport::Error::Closed.into());
    assert_eq!(null_answered_by(|_| vec![0x80, 0, 0]), plimsoll_transport::Error::Closed.into());
    assert_eq!(
        null_answered_by(|xid| reply(xid, &[])[..20].to_vec()),
        plimsoll_transport::Error::Closed.into()
    );
    assert!(matches!(null_answered_by(|_| vec![0xff; 64]), Error::RecordTooLong { .. }));
    assert_eq!(null_answered_by(|_| vec![0; 4096]), Error::EmptyFragments);
    assert!(matches!(null_answered_by(|_| record(&[])), Error::Malformed(_)));
    assert!(matches!(null_answered_by(|_| record(&[7; 41])), Error::Malformed(_)));
    let http = || b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    assert!(matches!(null_answered_by(move |_| http()), Error::RecordTooLong { .. }));
}

#[test]
fn replies_to_nobody_are_errors() {
    let wrong = null_answered_by(|xid| reply(xid ^ 1, &[]));
    assert!(matches!(wrong, Error::UnknownTransaction(_)));
    let too_weak = null_answered_by(|xid| record(&words(&[xid, 1, 1, 1, 5])));
    assert_eq!(too_weak, Error::Rejected(Rejection::Auth(AuthError::TooWeak)));
}

#[test]
fn silence_ends_in_time() {
    let (socket, thread) = peer(|mut stream| {
        call(&mut stream);
        let _ = stream.read(&mut [0]);
    });
    let mut client = Client::new(socket, &credential(), LIMIT);
    assert!(matches!(client.null(), Err(Error::Tcp(plimsoll_transport::Error::TimedOut { .. }))));
    assert!(matches!(client.null(), Err(Error::Tcp(plimsoll_transport::Error::TimedOut { .. }))));
    drop(client);
    thread.join().unwrap();
}

#[test]
fn a_trickle_does_not_outlast_the_limit() {
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        for byte in reply(xid, &[0; 400]) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut client = Client::new(socket, &credential(), LIMIT);
    assert!(matches!(client.null(), Err(Error::Tcp(plimsoll_transport::Error::TimedOut { .. }))));
    drop(client);
    thread.join().unwrap();
}

#[test]
fn a_request_to_stop_is_seen_while_the_server_says_nothing() {
    let (socket, thread) = peer(|mut stream| {
        call(&mut stream);
        let _ = stream.read(&mut [0]);
    });
    let deadline = plimsoll_transport::SystemClock::no_deadline();
    let stop = deadline.stop().clone();
    let mut client = Client::new(socket, &credential(), Duration::from_secs(100_000));
    client.set_deadline(deadline);
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(client.null(), Err(Error::Tcp(plimsoll_transport::Error::Stopped)));
    stopping.join().unwrap();
    drop(client);
    thread.join().unwrap();
}

/// Each page comes in time and brings a new name, without end.
#[test]
fn a_listing_that_never_ends_does_not_outlast_its_deadline() {
    let (socket, thread) = peer(|mut stream| {
        for cookie in 1.. {
            let mut mark = [0; 4];
            if stream.read_exact(&mut mark).is_err() {
                return;
            }
            let mut body = vec![0; (u32::from_be_bytes(mark) & !LAST) as usize];
            stream.read_exact(&mut body).unwrap();
            let xid = u32::from_be_bytes(body[..4].try_into().unwrap());
            std::thread::sleep(Duration::from_millis(20));
            let entry = words(&[1, 0, 9, 1, 0x6100_0000, 0, cookie, 0, 0]);
            let page = [words(&[0, 0, 0, 0]), entry, words(&[0, 0])].concat();
            if stream.write_all(&reply(xid, &page)).is_err() {
                return;
            }
        }
    });
    let mut client = Client::new(socket, &credential(), Duration::from_secs(100_000));
    client.set_deadline(plimsoll_transport::SystemClock::no_deadline().within(LIMIT));
    let listed = client.list(FileHandle::new(b"root").unwrap());
    assert!(matches!(
        listed,
        Err(Error::Tcp(plimsoll_transport::Error::TimedOut { after: LIMIT, .. }))
    ));
    drop(client);
    thread.join().unwrap();
}

/// willscott/go-nfs ends its FSSTAT replies with four bytes too many.
#[test]
fn bytes_beyond_the_end_of_a_reply_are_passed_over_and_reported() {
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[words(&[0, 0]), vec![1; 52]].concat())).unwrap();
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[words(&[0, 0]), vec![1; 56]].concat())).unwrap();
        for too_many in [8, 0] {
            let xid = call(&mut stream);
            stream.write_all(&reply(xid, &vec![0; too_many])).unwrap();
        }
        // Too few are still an error.
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[words(&[0, 0]), vec![1; 48]].concat())).unwrap();
    });
    let root = FileHandle::new(b"root").unwrap();
    let mut client = Client::new(socket, &credential(), LIMIT);
    let whole = client.space(root).unwrap();
    assert_eq!(client.take_surplus(), None);
    assert_eq!(client.space(root).unwrap(), whole);
    client.null().unwrap();
    assert_eq!(client.take_surplus(), Some((Procedure::FileSystemSpace, 4)), "the first");
    client.null().unwrap();
    assert_eq!(client.take_surplus(), None, "reported once");
    assert!(matches!(client.space(root), Err(Error::Malformed(_))));
    thread.join().unwrap();
}

#[test]
fn a_reply_in_many_fragments_is_put_together() {
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        let body = words(&[xid, 1, 0, 0, 0, 0]);
        for (i, byte) in body.iter().enumerate() {
            let last = if i + 1 == body.len() { LAST } else { 0 };
            stream.write_all(&[&(1 | last).to_be_bytes()[..], &[*byte]].concat()).unwrap();
        }
    });
    Client::new(socket, &credential(), LIMIT).null().unwrap();
    thread.join().unwrap();
}

#[test]
fn hostile_portmappers_and_mounts_are_refused() {
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &words(&[70_000]))).unwrap();
    });
    let answer = portmap::port_of(socket, mount::PROGRAM, LIMIT);
    assert!(matches!(answer, Err(Error::Malformed(_))));
    thread.join().unwrap();
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &words(&[0]))).unwrap();
    });
    let answer = portmap::port_of(socket, mount::PROGRAM, LIMIT);
    assert_eq!(answer, Err(Error::NotRegistered { program: 100_005, version: 3, over: "TCP" }));
    thread.join().unwrap();
    // A handle of 65 bytes; then exports without end.
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[words(&[0, 65]), vec![1; 68]].concat())).unwrap();
        let xid = call(&mut stream);
        let endless = words(&[1, 0, 0]).repeat(10_000);
        let _ = stream.write_all(&reply(xid, &endless));
    });
    let mut client = mount::Client::new(socket, &credential(), LIMIT);
    let path = mount::Path::new("/x").unwrap();
    assert!(matches!(client.mount(path), Err(Error::Malformed(_))));
    assert!(matches!(client.exports(), Err(Error::Malformed(_))));
    thread.join().unwrap();
}

/// As FSINFO says it (rtmax and wtmax; RFC 1813, section 3.3.19).
#[test]
fn single_calls_are_no_longer_than_the_server_takes() {
    let (socket, thread) = peer(|mut stream| {
        let (xid, read) = whole_call(&mut stream);
        assert!(read.ends_with(&words(&[0, 0, 1000])), "offset and count");
        let data = words(&[0, 0, 4, 1, 4, u32::from_be_bytes(*b"read")]);
        stream.write_all(&reply(xid, &data)).unwrap();
        let (xid, write) = whole_call(&mut stream);
        let before = &write[..write.len() - 3000];
        assert!(before.ends_with(&words(&[0, 0, 3000, 2, 3000])), "up to the length of the data");
        stream.write_all(&reply(xid, &words(&[0, 0, 0, 3000, 2, 0, 9]))).unwrap();
    });
    let root = FileHandle::new(b"root").unwrap();
    let mut client = Client::new(socket, &credential(), LIMIT);
    client.limit_transfers(1000, 3000);
    assert_eq!(client.read(root, 0, 65536).unwrap(), (&b"read"[..], true));
    assert_eq!(client.write(root, 0, Stability::FileSync, &[7; 5000]).unwrap().0, 3000);
    thread.join().unwrap();
}

#[test]
fn a_directory_that_repeats_itself_is_incomplete() {
    let (socket, thread) = peer(|mut stream| {
        // READDIRPLUS: the same page with the same cookie, never the end.
        let entry = words(&[1, 0, 9, 1, 0x6100_0000, 0, 7, 0, 0]);
        let page = [words(&[0, 0, 0, 0]), entry, words(&[0, 0])].concat();
        for _ in 0..2 {
            let xid = call(&mut stream);
            stream.write_all(&reply(xid, &page)).unwrap();
        }
    });
    let mut client = Client::new(socket, &credential(), LIMIT);
    let listed = client.list(FileHandle::new(b"root").unwrap());
    assert!(matches!(listed, Err(Error::ListingRepeats { cookie: 7 })), "{listed:?}");
    thread.join().unwrap();
}
