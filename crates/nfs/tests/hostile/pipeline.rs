//! The same with several calls in flight.

use super::super::{call, credential, peer, record, reply, words};
use plimsoll_nfs::nfs3::{
    Completion, Done, Exchange, FileHandle, Nfs3, Pipeline, PipelineOptions, Procedure,
    ReadArguments, Request, Stability, Status, Verifier, WriteArguments,
};
use plimsoll_nfs::{Error, Version};
use plimsoll_transport::Socket;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

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
        let done = completion.result.map(|done| match done {
            Done::Read { data, end_of_file } => format!("{data:?} {end_of_file}"),
            other => format!("{other:?}"),
        });
        self.ended.push((completion.tag, done));
    }
}

fn pipeline(socket: Socket) -> Pipeline {
    let depth = NonZeroU16::new(5).unwrap();
    let options = PipelineOptions { depth, read_most: 4096, write_most: 64 << 20, unread: false };
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
    let (version, procedure) = (Version::V3, Procedure::Read);
    assert_eq!(log.ended[2].1, Err(Error::TooMuch { procedure, asked: 4096, got: 4097 }));
    assert_eq!(log.ended[3].1, Err(Error::Nfs { version, procedure, status: Status::Stale }));
    assert!(matches!(log.ended[4].1, Err(Error::Malformed(_))));
    pipeline.submit(7, Request::commit(file())).unwrap();
    reap(&mut pipeline, &mut log, 6).unwrap();
    let verifier = Verifier(0x0505_0505_0505_0505);
    assert_eq!(log.ended[5], (7, Ok(format!("{:?}", Done::Commit { verifier }))));
    thread.join().unwrap();
}

#[test]
fn bytes_beyond_the_end_of_a_reply_are_passed_over_and_reported() {
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
fn writes_less_stable_than_asked_for_are_reported() {
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
    let options = PipelineOptions { depth, read_most: most, write_most: most, unread: false };
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
