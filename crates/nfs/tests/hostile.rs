//! Peers that break the protocol in every way: errors, no hang, no panic, bounded memory.

use plimsoll_nfs::nfs3::{
    Client, Completion, Done, Exchange, FileHandle, Nfs3, Pipeline, PipelineOptions, Procedure,
    ReadArguments, Request, Stability, Status, Verifier, WriteArguments,
};
use plimsoll_nfs::rpc::{AuthError, AuthSys, Credential, Rejection};
use plimsoll_nfs::{Error, mount, portmap};
use plimsoll_transport::{Socket, SourcePort};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU16;
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

/// Receives one call whole; its transaction.
fn call(stream: &mut TcpStream) -> u32 {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).unwrap();
    let mut body = vec![0; (u32::from_be_bytes(mark) & !LAST) as usize];
    stream.read_exact(&mut body).unwrap();
    u32::from_be_bytes(body[..4].try_into().unwrap())
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
fn bytes_beyond_the_end_of_a_reply_are_passed_over_and_told() {
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
    assert_eq!(client.take_surplus(), None, "told once");
    assert!(matches!(client.space(root), Err(Error::Malformed(_))));
    thread.join().unwrap();

    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[read_results(4, b"data"), vec![9; 12]].concat())).unwrap();
    });
    let (mut pipeline, mut log) = (pipeline(socket), Log::default());
    pipeline.submit(0, read(4096)).unwrap();
    reap(&mut pipeline, &mut log, 1).unwrap();
    assert_eq!(log.ended[0].1, Ok(format!("{:?} true", b"data")));
    assert_eq!(pipeline.protocol_mut().take_surplus(), Some((Procedure::Read, 12)));
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
    assert_eq!(answer, Err(Error::NotRegistered { program: 100_005, version: 3 }));
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

#[test]
fn a_directory_that_repeats_itself_ends() {
    let (socket, thread) = peer(|mut stream| {
        // READDIRPLUS: the same page with the same cookie, never the end.
        let entry = words(&[1, 0, 9, 1, 0x6100_0000, 0, 7, 0, 0]);
        let page = [words(&[0, 0, 0, 0]), entry, words(&[0, 0])].concat();
        for _ in 0..2 {
            let xid = call(&mut stream);
            stream.write_all(&reply(xid, &page)).unwrap();
        }
        // LOOKUP of what the listing left out, twice: gone.
        for _ in 0..2 {
            let xid = call(&mut stream);
            stream.write_all(&reply(xid, &words(&[2, 0]))).unwrap();
        }
    });
    let mut client = Client::new(socket, &credential(), LIMIT);
    let listed = client.list(FileHandle::new(b"root").unwrap()).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|e| e.name == b"a" && e.kind.is_none()));
    thread.join().unwrap();
}

/// The caller's side of a pipeline: keeps what ended.
#[derive(Default)]
struct Log {
    begun: Option<Instant>,
    payload: Vec<u8>,
    ended: Vec<(u32, Result<String, Error>)>,
}

impl Exchange<Nfs3> for Log {
    fn now(&mut self) -> u64 {
        self.begun.get_or_insert_with(Instant::now).elapsed().as_nanos() as u64
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        &self.payload
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done);
        let told = completion.result.map(|done| match done {
            Done::Read { data, end_of_file } => format!("{data:?} {end_of_file}"),
            other => format!("{other:?}"),
        });
        self.ended.push((completion.tag, told));
    }
}

fn pipeline(socket: Socket) -> Pipeline {
    let depth = NonZeroU16::new(5).unwrap();
    let options = PipelineOptions { depth, read_most: 4096, write_most: 64 << 20 };
    Nfs3::pipeline(socket, &credential(), options)
}

fn file() -> FileHandle {
    FileHandle::new(&[3; 32]).unwrap()
}

fn read(count: u32) -> Request<'static> {
    Request::Read(ReadArguments { file: file(), offset: 0, count })
}

fn write(count: u32) -> Request<'static> {
    let stability = Stability::FileSync;
    Request::Write(WriteArguments { file: file(), offset: 0, count, stability })
}

/// READ results: no attributes, `count`, end of file, data.
fn read_results(count: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[0, 0, count, 1, data.len() as u32]);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Reaps until as many have ended.
fn reap(pipeline: &mut Pipeline, log: &mut Log, count: usize) -> Result<(), Error> {
    let until = log.now() + 10_000_000_000;
    while log.ended.len() < count {
        assert_ne!(pipeline.reap(until, log)?, 0, "nothing ended in time");
    }
    Ok(())
}

#[test]
fn replies_come_in_any_order_and_one_bad_one_spoils_no_other() {
    let (socket, thread) = peer(|mut stream| {
        let xids: Vec<u32> = (0..5).map(|_| call(&mut stream)).collect();
        let answers = [
            read_results(3, b"abc"),
            read_results(4, b"abc"),        // count and data differ
            read_results(4097, &[0; 4097]), // more than asked for
            words(&[70, 0]),                // NFS3ERR_STALE
            words(&[0, 0, 1]),              // cut off
        ];
        for (xid, answer) in xids.iter().zip(answers).rev() {
            stream.write_all(&reply(*xid, &answer)).unwrap();
        }
        let xid = call(&mut stream);
        stream.write_all(&reply(xid, &[words(&[0, 0, 0]), vec![5; 8]].concat())).unwrap();
    });
    let (mut pipeline, mut log) = (pipeline(socket), Log::default());
    for tag in 0..5 {
        pipeline.submit(tag, read(4096)).unwrap();
    }
    assert!(pipeline.submit(9, read(1)).is_err(), "full");
    reap(&mut pipeline, &mut log, 5).unwrap();
    log.ended.sort_by_key(|e| e.0);
    assert_eq!(log.ended[0].1, Ok("[97, 98, 99] true".into()));
    assert!(matches!(log.ended[1].1, Err(Error::Malformed(_))));
    let procedure = Procedure::Read;
    assert_eq!(log.ended[2].1, Err(Error::TooMuch { procedure, asked: 4096, got: 4097 }));
    assert_eq!(log.ended[3].1, Err(Error::Nfs { procedure, status: Status::Stale }));
    assert!(matches!(log.ended[4].1, Err(Error::Malformed(_))));
    pipeline.submit(7, Request::commit(file())).unwrap();
    reap(&mut pipeline, &mut log, 6).unwrap();
    let verifier = Verifier(0x0505_0505_0505_0505);
    assert_eq!(log.ended[5], (7, Ok(format!("{:?}", Done::Commit { verifier }))));
    thread.join().unwrap();
}

#[test]
fn a_reply_given_twice_ends_the_connection() {
    let (socket, thread) = peer(|mut stream| {
        let xid = call(&mut stream);
        let answer = reply(xid, &read_results(1, b"x"));
        stream.write_all(&[answer.clone(), answer].concat()).unwrap();
        let _ = stream.read(&mut [0]);
    });
    let (mut pipeline, mut log) = (pipeline(socket), Log::default());
    pipeline.submit(0, read(4096)).unwrap();
    let first = reap(&mut pipeline, &mut log, 1);
    pipeline.submit(1, read(4096)).unwrap_or_default();
    let error = first.and_then(|()| reap(&mut pipeline, &mut log, 2)).unwrap_err();
    assert!(matches!(error, Error::UnknownTransaction(_)));
    drop(pipeline);
    thread.join().unwrap();
}

#[test]
fn a_write_answered_before_it_was_sent_is_refused() {
    let (socket, thread) = peer(|mut stream| {
        let mut head = [0; 8];
        stream.read_exact(&mut head).unwrap();
        let xid = u32::from_be_bytes(head[4..].try_into().unwrap());
        let ok = [words(&[0, 0, 0, 32 << 20, 2]), vec![0; 8]].concat();
        stream.write_all(&reply(xid, &ok)).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    });
    let (mut pipeline, mut log) = (pipeline(socket), Log::default());
    log.payload = vec![1; 32 << 20];
    pipeline.submit(0, write(32 << 20)).unwrap();
    assert!(matches!(reap(&mut pipeline, &mut log, 1), Err(Error::UnknownTransaction(_))));
    thread.join().unwrap();
}

#[test]
fn writes_less_stable_than_asked_for_are_told() {
    let (socket, thread) = peer(|mut stream| {
        for committed in [0, 2] {
            let xid = call(&mut stream);
            let ok = [words(&[0, 0, 0, 3, committed]), vec![0; 8]].concat();
            stream.write_all(&reply(xid, &ok)).unwrap();
        }
    });
    let (mut pipeline, mut log) = (pipeline(socket), Log::default());
    log.payload = b"abc".to_vec();
    for tag in 0..2 {
        pipeline.submit(tag, write(3)).unwrap();
        reap(&mut pipeline, &mut log, tag as usize + 1).unwrap();
    }
    let (asked, got) = (Stability::FileSync, Stability::Unstable);
    assert_eq!(log.ended[0].1, Err(Error::NotStable { asked, got }));
    assert!(log.ended[1].1.is_ok());
    thread.join().unwrap();
}

#[test]
fn both_sides_sending_at_once_do_not_block_each_other() {
    // Answers the READ with 64 MiB of data while the client has 64 MiB of WRITE to send, and reads
    // nothing before its answer is out.
    const SIZE: usize = 64 << 20;
    let (socket, thread) = peer(|mut stream| {
        let read = call(&mut stream);
        stream.write_all(&reply(read, &read_results(SIZE as u32, &vec![9; SIZE]))).unwrap();
        let write = call(&mut stream);
        let ok = [words(&[0, 0, 0, SIZE as u32, 2]), vec![0; 8]].concat();
        stream.write_all(&reply(write, &ok)).unwrap();
    });
    struct Sizes(Vec<u8>, Instant, Vec<(u32, usize)>);
    impl Exchange<Nfs3> for Sizes {
        fn now(&mut self) -> u64 {
            self.1.elapsed().as_nanos() as u64
        }
        fn payload(&mut self, _: u32) -> &[u8] {
            &self.0
        }
        fn complete(&mut self, completion: Completion<'_>) {
            let size = match completion.result.unwrap() {
                Done::Read { data, .. } => data.len(),
                Done::Write { count, .. } => count as usize,
                _ => 0,
            };
            self.2.push((completion.tag, size));
        }
    }
    let most = SIZE as u32;
    let depth = NonZeroU16::new(2).unwrap();
    let options = PipelineOptions { depth, read_most: most, write_most: most };
    let mut pipeline = Nfs3::pipeline(socket, &credential(), options);
    let mut with = Sizes(vec![4; SIZE], Instant::now(), Vec::new());
    pipeline.submit(0, read(most)).unwrap();
    pipeline.submit(1, write(most)).unwrap();
    while with.2.len() < 2 {
        assert_ne!(pipeline.reap(60_000_000_000, &mut with).unwrap(), 0, "a halt");
    }
    assert_eq!(with.2, [(0, SIZE), (1, SIZE)]);
    thread.join().unwrap();
}

#[test]
fn garbage_ends_a_pipeline_and_keeps_it_ended() {
    for garbage in [vec![0xff; 100], vec![0; 4096], record(b"abc"), Vec::new()] {
        let (socket, thread) = peer(move |mut stream| {
            call(&mut stream);
            let _ = stream.write_all(&garbage);
        });
        let (mut pipeline, mut log) = (pipeline(socket), Log::default());
        pipeline.submit(0, read(4096)).unwrap();
        let error = reap(&mut pipeline, &mut log, 1).unwrap_err();
        assert_eq!(pipeline.reap(0, &mut log), Err(error.clone()));
        assert_eq!(pipeline.flush(&mut log), Err(error));
        assert!(log.ended.is_empty());
        thread.join().unwrap();
    }
}
