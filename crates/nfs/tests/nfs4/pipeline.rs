//! Many compounds in flight against a real server.

use super::*;
use plimsoll_nfs::nfs4::{
    Completion, Done, Nfs4, OpenFile, Other, Pipeline, Place, Request, StateId,
};
use plimsoll_transport::{Exchange, PipelineOptions};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// What came of a call.
#[derive(Debug, PartialEq)]
enum Outcome {
    Bytes(Vec<u8>, bool),
    Written(u32),
    Opened,
    Other,
    Failed(Error),
}

struct User {
    begun: Instant,
    payloads: BTreeMap<u32, Vec<u8>>,
    ended: BTreeMap<u32, Outcome>,
    opened: Vec<Arc<OpenFile>>,
}

impl Exchange<Nfs4> for User {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        self.payloads.get(&tag).map_or(&[], Vec::as_slice)
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done);
        let outcome = match completion.result {
            Ok(Done::Read { data, end_of_file }) => Outcome::Bytes(data.to_vec(), end_of_file),
            Ok(Done::Write { count, .. }) => Outcome::Written(count),
            Ok(Done::Other(Other::Opened(file, _))) => {
                self.opened.push(file);
                Outcome::Opened
            }
            Ok(_) => Outcome::Other,
            Err(error) => Outcome::Failed(error),
        };
        assert!(self.ended.insert(completion.tag, outcome).is_none(), "ended twice");
    }
}

fn user() -> User {
    let (payloads, ended) = (BTreeMap::new(), BTreeMap::new());
    User { begun: Instant::now(), payloads, ended, opened: Vec::new() }
}

fn options(depth: u16) -> PipelineOptions {
    let depth = NonZeroU16::new(depth).unwrap();
    PipelineOptions { depth, read_most: 1 << 20, write_most: 1 << 20, unread: false }
}

fn finish(pipeline: &mut Pipeline, user: &mut User) -> BTreeMap<u32, Outcome> {
    while pipeline.in_flight() > 0 {
        assert_ne!(pipeline.reap(u64::MAX, user).unwrap(), 0);
    }
    std::mem::take(&mut user.ended)
}

/// A relay that counts the calls that pass it.
fn counting(server: &Ganesha) -> (u16, Arc<AtomicU32>) {
    let (listener, to) = (TcpListener::bind((HERE, 0)).unwrap(), (HERE, server.nfs_port()));
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicU32::new(0)));
    let counter = count.clone();
    std::thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let mut server = TcpStream::connect(to).unwrap();
        client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).unwrap();
        let (mut back_from, mut back_to) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        let mut mark = [0; 4];
        while client.read_exact(&mut mark).is_ok() {
            let mark_word = u32::from_be_bytes(mark);
            let mut body = vec![0; (mark_word & 0x7fff_ffff) as usize];
            client.read_exact(&mut body).unwrap();
            counter.fetch_add(mark_word >> 31, Ordering::SeqCst);
            server.write_all(&[&mark[..], &body].concat()).unwrap();
        }
    });
    (port, count)
}

fn client_at(port: u16, minor: Minor, slots: u16) -> Client {
    let free = SystemClock::no_deadline();
    let socket = plimsoll_transport::connect(&[HERE], port, SourcePort::Any, LIMIT, &free).unwrap();
    let credential = Credential::Sys(AuthSys::new("test", 0, 0, &[]));
    let slots = NonZeroU16::new(slots).unwrap();
    Client::new(socket, &credential, &Identity::new(minor), slots, LIMIT).unwrap()
}

/// With as many slots as calls, and with calls that have to wait for a slot.
#[test]
fn reads_and_writes_in_flight_are_all_right() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for (minor, slots) in [(Minor::V0, 1), (Minor::V1, 32), (Minor::V1, 3), (Minor::V2, 32)] {
        let mut client = client_at(server.nfs_port(), minor, slots);
        if let Some(limits) = client.limits() {
            assert_eq!(limits.slots, u32::from(slots));
        }
        let base = descend(&mut client, "run/export/data");
        let mut pipeline = Nfs4::pipeline(client, options(32)).unwrap();
        let mut user = user();
        let place = Place { directory: base, name: name("f") };
        pipeline.submit(0, Request::Create(place, OpenHow::Guarded(mode(0o600)))).unwrap();
        assert_eq!(finish(&mut pipeline, &mut user)[&0], Outcome::Opened);
        let file = user.opened.pop().unwrap();
        let (handle, state) = (file.handle, file.state_id());
        // Small ones are copied, large ones handed over.
        for block in [4096, 100_000, 700_001] {
            let bytes = content(32 * block);
            for (tag, part) in (0..).zip(bytes.chunks(block)) {
                user.payloads.insert(tag, part.to_vec());
                let (offset, count) = (u64::from(tag) * block as u64, part.len() as u32);
                let stability = [Stability::Unstable, Stability::FileSync][tag as usize % 2];
                let write = Request::Write { file: handle, state, offset, count, stability };
                pipeline.submit(tag, write).unwrap();
            }
            assert!(pipeline.submit(99, Request::Commit(handle)).is_err(), "full");
            let ended = finish(&mut pipeline, &mut user);
            assert_eq!(ended.len(), 32);
            assert!(ended.values().all(|o| *o == Outcome::Written(block as u32)), "{minor}");
            pipeline.submit(0, Request::Commit(handle)).unwrap();
            assert_eq!(finish(&mut pipeline, &mut user)[&0], Outcome::Other);
            assert!(std::fs::read(disk.join("f")).unwrap() == bytes, "{minor}: on the disk");
            for tag in 0..32 {
                let (offset, count) = (u64::from(tag) * block as u64, block as u32);
                pipeline.submit(tag, Request::Read { file: handle, state, offset, count }).unwrap();
            }
            let ended = finish(&mut pipeline, &mut user);
            for (tag, part) in (0..).zip(bytes.chunks(block)) {
                let Outcome::Bytes(data, _) = &ended[&tag] else { panic!("{:?}", ended[&tag]) };
                assert!(data == part, "{minor}: part {tag} of {block}");
            }
        }
        pipeline.submit(0, Request::Close(&file)).unwrap();
        pipeline.submit(1, Request::Remove(place)).unwrap();
        let ended = finish(&mut pipeline, &mut user);
        assert!(ended.values().all(|outcome| *outcome == Outcome::Other), "{ended:?}");
    }
}

/// Data that nobody looks at have the right length, also where a file ends, beside calls that are looked at.
#[test]
fn long_reads_that_nobody_looks_at_have_the_right_length() {
    const LENGTH: usize = 3_000_001;
    const BLOCK: usize = 700_001;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let bytes = content(LENGTH);
    std::fs::write(server.directory("data").unwrap().join("f"), &bytes).unwrap();
    for minor in [Minor::V0, Minor::V1] {
        let mut client = client_at(server.nfs_port(), minor, 8);
        let base = descend(&mut client, "run/export/data");
        let options = PipelineOptions { unread: true, ..options(8) };
        let mut pipeline = Nfs4::pipeline(client, options).unwrap();
        let mut user = user();
        let place = Place { directory: base, name: name("f") };
        pipeline.submit(0, Request::Get { place, count: 1000 }).unwrap();
        let small = finish(&mut pipeline, &mut user).remove(&0);
        assert_eq!(small, Some(Outcome::Bytes(bytes[..1000].to_vec(), false)), "{minor}");
        let (file, state) = (
            descend(&mut client_at(server.nfs_port(), minor, 8), "run/export/data/f"),
            StateId::ANONYMOUS,
        );
        for round in 0..3 {
            let offsets: Vec<usize> = (0..7).map(|n| n * (450_000 + round)).collect();
            for (tag, offset) in (0..).zip(&offsets) {
                let (offset, count) = (*offset as u64, BLOCK as u32);
                pipeline.submit(tag, Request::Read { file, state, offset, count }).unwrap();
            }
            pipeline.submit(9, Request::Attributes(file)).unwrap();
            let ended = finish(&mut pipeline, &mut user);
            assert_eq!(ended[&9], Outcome::Other);
            for (tag, offset) in (0..).zip(offsets) {
                let Outcome::Bytes(data, end) = &ended[&tag] else { panic!("{:?}", ended[&tag]) };
                assert_eq!(data.len(), BLOCK.min(LENGTH - offset), "{minor}: at {offset}");
                assert_eq!(*end, offset + data.len() == LENGTH, "{minor}: at {offset}");
                assert!(*data != bytes[offset..offset + data.len()], "{minor}: it was copied");
            }
        }
    }
}

#[test]
fn a_small_file_goes_whole_in_one_compound_each_way() {
    const FILES: u32 = 200;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for (minor, compounds) in [(Minor::V0, 2), (Minor::V1, 1), (Minor::V2, 1)] {
        let (port, count) = counting(&server);
        let mut client = client_at(port, minor, 32);
        let base = descend(&mut client, "run/export/data");
        let mut pipeline = Nfs4::pipeline(client, options(32)).unwrap();
        let (mut user, how) = (user(), OpenHow::Guarded(mode(0o600)));
        let names: Vec<_> = (0..FILES).map(|n| format!("file {n}")).collect();
        let place = |n: u32| Place { directory: base, name: name(&names[n as usize]) };
        let bytes = |n: u32| content(11_500 + n as usize)[n as usize..].to_vec();
        let before = count.load(Ordering::SeqCst);
        for first in (0..FILES).step_by(32) {
            for n in first..(first + 32).min(FILES) {
                user.payloads.insert(n, bytes(n));
                let (place, count, stability) = (place(n), 11_500, Stability::FileSync);
                pipeline.submit(n, Request::Put { place, how, count, stability }).unwrap();
            }
            let ended = finish(&mut pipeline, &mut user);
            assert!(ended.values().all(|o| *o == Outcome::Written(11_500)), "{minor}: {ended:?}");
        }
        assert_eq!(count.load(Ordering::SeqCst) - before, FILES * compounds, "{minor}");
        for n in 0..FILES {
            assert!(std::fs::read(disk.join(&names[n as usize])).unwrap() == bytes(n), "{minor}");
        }
        let before = count.load(Ordering::SeqCst);
        for first in (0..FILES).step_by(32) {
            for n in first..(first + 32).min(FILES) {
                pipeline.submit(n, Request::Get { place: place(n), count: 20_000 }).unwrap();
            }
            for (n, outcome) in finish(&mut pipeline, &mut user) {
                assert_eq!(outcome, Outcome::Bytes(bytes(n), true), "{minor}: file {n}");
            }
        }
        assert_eq!(count.load(Ordering::SeqCst) - before, FILES * compounds, "{minor}");
        for n in 0..FILES {
            // What is there is not overwritten, and what is not is no file.
            let missing = Place { directory: base, name: name("missing") };
            let (place, count, stability) = (place(n), 11_500, Stability::FileSync);
            pipeline.submit(0, Request::Put { place, how, count, stability }).unwrap();
            pipeline.submit(1, Request::Get { place: missing, count: 1 }).unwrap();
            let ended = finish(&mut pipeline, &mut user);
            let failed = |tag| match &ended[&tag] {
                Outcome::Failed(Error::Nfs4 { status, .. }) => *status,
                other => panic!("{other:?}"),
            };
            assert_eq!((failed(0), failed(1)), (Status::Exists, Status::NoEntry), "{minor}");
            pipeline.submit(0, Request::Remove(place)).unwrap();
            assert_eq!(finish(&mut pipeline, &mut user)[&0], Outcome::Other);
        }
    }
}

/// Its file is closed again: a server that still had it open would hold it against the next opener.
#[test]
fn a_small_file_that_does_not_fit_fails_and_the_pipeline_goes_on() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let export = Export::directory("data").size(1 << 20);
    let server = Ganesha::start(&stage, GaneshaConfig::one(export)).unwrap();
    for minor in MINORS {
        let mut client = client_at(server.nfs_port(), minor, 8);
        let base = descend(&mut client, "run/export/data");
        let mut pipeline = Nfs4::pipeline(client, options(8)).unwrap();
        let (mut user, stability) = (user(), Stability::FileSync);
        let how = OpenHow::Guarded(mode(0o600));
        for (tag, file) in (0..).zip(["a", "b", "c"]) {
            let (place, count) = (Place { directory: base, name: name(file) }, 900_000);
            user.payloads.insert(tag, content(count as usize));
            pipeline.submit(tag, Request::Put { place, how, count, stability }).unwrap();
        }
        let ended = finish(&mut pipeline, &mut user);
        let whole = ended.values().filter(|o| **o == Outcome::Written(900_000)).count();
        assert!(whole <= 1, "{minor}: {ended:?}");
        let full = |o: &Outcome| {
            matches!(o, Outcome::Failed(Error::Nfs4 { status: Status::NoSpace, .. }))
                || matches!(o, Outcome::Written(some) if *some < 900_000)
        };
        assert_eq!(ended.values().filter(|o| full(o)).count(), 3 - whole, "{minor}: {ended:?}");
        for (tag, file) in (0..).zip(["a", "b", "c"]) {
            let place = Place { directory: base, name: name(file) };
            pipeline.submit(tag, Request::Remove(place)).unwrap();
        }
        let ended = finish(&mut pipeline, &mut user);
        assert!(ended.values().all(|outcome| *outcome == Outcome::Other), "{minor}: {ended:?}");
    }
}

#[test]
fn a_session_that_is_gone_ends_the_pipeline() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let mut client = client_at(server.nfs_port(), Minor::V1, 8);
    let base = descend(&mut client, "run/export/data");
    let mut pipeline = Nfs4::pipeline(client, options(8)).unwrap();
    let mut user = user();
    pipeline.submit(0, Request::Attributes(base)).unwrap();
    assert_eq!(finish(&mut pipeline, &mut user)[&0], Outcome::Other);
    // Of a file that is not open there is nothing to read, and the pipeline goes on.
    let state = StateId { sequence: 1, ..file_state() };
    pipeline.submit(0, Request::Read { file: base, state, offset: 0, count: 1 }).unwrap();
    assert!(matches!(finish(&mut pipeline, &mut user)[&0], Outcome::Failed(_)));
    server.restart().unwrap();
    pipeline.submit(1, Request::Attributes(base)).unwrap();
    let error = pipeline.reap(u64::MAX, &mut user).unwrap_err();
    assert!(error.is_fatal(), "{error}");
    assert_eq!(pipeline.reap(u64::MAX, &mut user), Err(error), "it stays");
}

fn file_state() -> StateId {
    StateId { sequence: 7, other: plimsoll_nfs::nfs4::Fixed([9; 12]) }
}
