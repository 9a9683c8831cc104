//! NFS version 4 against a real server: every minor version.

#[path = "nfs4/hostile.rs"]
mod hostile;
#[path = "nfs4/pipeline.rs"]
mod pipeline;

use plimsoll_nfs::nfs3::{FileType, Name, Stability};
use plimsoll_nfs::nfs4::{
    Client, FileHandle, Identity, LockKind, Minor, OpenHow, Place, SetAttributes, Status, Time,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_nfs::{ByteRange, Error};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_transport::{Socket, SourcePort, SystemClock};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LIMIT: Duration = Duration::from_secs(20);
const MINORS: [Minor; 3] = [Minor::V0, Minor::V1, Minor::V2];

fn connect(server: &Ganesha) -> Socket {
    let free = SystemClock::no_deadline();
    plimsoll_transport::connect(&[HERE], server.nfs_port(), SourcePort::Auto, LIMIT, &free).unwrap()
}

fn client_of(server: &Ganesha, identity: &Arc<Identity>) -> Client {
    let credential = Credential::Sys(AuthSys::new("test", 0, 0, &[]));
    let slots = NonZeroU16::new(32).unwrap();
    Client::new(connect(server), &credential, identity, slots, LIMIT).unwrap()
}

fn name(name: &str) -> Name<'_> {
    Name::new(name).unwrap()
}

fn place(directory: FileHandle, file: &str) -> Place<'_> {
    Place { directory, name: name(file) }
}

fn bytes(offset: u64, length: u64) -> ByteRange {
    ByteRange { offset, length }
}

fn descend(client: &mut Client, path: &str) -> FileHandle {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let (root, _) = client.root().unwrap();
    parts.fold(root, |directory, part| client.lookup(directory, name(part)).unwrap().0)
}

/// Bytes that are nowhere the same for 251 blocks of 4 KiB.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at / 4096) % 251) as u8 ^ (at % 253) as u8).collect()
}

fn status<T: std::fmt::Debug>(result: Result<T, Error>) -> Status {
    match result {
        Err(Error::Nfs4 { status, .. }) => status,
        other => panic!("{other:?}"),
    }
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

#[test]
fn files_and_names_in_every_minor_version() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for minor in MINORS {
        let mut client = client_of(&server, &Identity::new(minor));
        let slots = client.limits().map(|limits| limits.slots);
        assert_eq!(slots.is_some(), minor != Minor::V0, "{minor}");
        let base = descend(&mut client, "run/export/data");
        let about = client.file_system(base).unwrap();
        assert!(about.space_total.unwrap() >= about.space_available.unwrap(), "{minor}");
        assert!(about.read_most.unwrap() >= 65536 && about.lease_seconds.unwrap() > 0, "{minor}");

        let run = client.make_directory(base, name("run"), 0o700).unwrap();
        assert_eq!(status(client.make_directory(base, name("run"), 0o700)), Status::Exists);
        let how = OpenHow::Guarded(mode(0o600));
        let (file, made) = client.open_to_write(run, name("Übung"), how).unwrap();
        assert_eq!((made.kind, made.size), (Some(FileType::Regular), Some(0)), "{minor}");
        assert_eq!(status(client.open_to_write(run, name("Übung"), how)), Status::Exists);
        let bytes = content(300_000);
        let mut at = 0;
        while at < bytes.len() {
            let stability = [Stability::Unstable, Stability::FileSync][at / 65536 % 2];
            at += client.write(&file, at as u64, stability, &bytes[at..]).unwrap().0 as usize;
        }
        client.commit(file.handle).unwrap();
        assert_eq!(std::fs::read(disk.join("run/Übung")).unwrap(), bytes, "{minor}: on the disk");
        client.close(&file).unwrap();

        // Another connection of the same client, and another client, read it back.
        for identity in [client.identity().clone(), Identity::new(minor)] {
            let mut reader = client_of(&server, &identity);
            let (file, found) = reader.open(run, name("Übung")).unwrap();
            assert_eq!(found.size, Some(300_000));
            let (mut back, mut ended) = (Vec::new(), false);
            while !ended {
                let (data, end) = reader.read(&file, back.len() as u64, 65536).unwrap();
                back.extend(data);
                ended = end;
            }
            assert!(back == bytes, "{minor}: read back");
            let write = reader.write(&file, 0, Stability::FileSync, b"x");
            assert_eq!(status(write), Status::OpenMode, "{minor}: opened for reading");
            reader.close(&file).unwrap();
            // The state is gone with it: this client's own, so the server cannot take it for another's.
            status(reader.read(&file, 0, 1));
        }

        let modified = Some(Time { seconds: 1_000_000_000, nanoseconds: 0 });
        client.set_attributes(file.handle, SetAttributes { modified, ..mode(0o640) }).unwrap();
        let changed = client.attributes(file.handle).unwrap();
        assert_eq!((changed.mode, changed.modified), (Some(0o640), modified));
        assert_eq!((changed.owner.unwrap().0, changed.links), (Some(0), Some(1)));
        client.rename(place(run, "Übung"), place(base, "moved")).unwrap();
        assert_eq!(status(client.open(run, name("Übung"))), Status::NoEntry);
        for n in 0..700 {
            std::fs::write(disk.join(format!("run/a rather long name of a file {n}")), "").unwrap();
        }
        let listed = client.list(run).unwrap();
        assert_eq!(listed.len(), 700);
        let mut names: Vec<_> = listed.iter().map(|entry| entry.name.clone()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 700, "{minor}: each once");
        assert!(listed.iter().all(|entry| entry.kind == Some(FileType::Regular)));
        assert_eq!(status(client.remove(base, name("run"))), Status::NotEmpty);
        for entry in &listed {
            client.remove(run, name(std::str::from_utf8(&entry.name).unwrap())).unwrap();
        }
        client.remove(base, name("run")).unwrap();
        client.remove(base, name("moved")).unwrap();
        client.renew().unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "{minor}");
        assert_eq!((client.waits(), client.sessions_lost()), (0, 0));
    }
}

#[test]
fn locks_keep_another_client_out() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for minor in MINORS {
        let mut one = client_of(&server, &Identity::new(minor));
        let mut other = client_of(&server, &Identity::new(minor));
        let base = descend(&mut one, "run/export/data");
        let how = OpenHow::Unchecked(mode(0o600));
        let (ours, _) = one.open_to_write(base, name("f"), how).unwrap();
        let (theirs, _) = other.open_to_write(base, name("f"), how).unwrap();
        let held = one.lock(&ours, LockKind::Write, bytes(100, 50), b"one").unwrap();
        let over = other.lock(&theirs, LockKind::Write, bytes(149, 1), b"other");
        assert_eq!(status(over), Status::Denied, "{minor}");
        let test = other.test_lock(base, LockKind::Read, bytes(0, 10), b"other");
        status(test); // a directory has no locks
        assert_eq!(
            status(other.test_lock(theirs.handle, LockKind::Read, bytes(120, 1), b"other")),
            Status::Denied
        );
        other.test_lock(theirs.handle, LockKind::Write, bytes(150, 10), b"other").unwrap();
        one.unlock(ours.handle, held, LockKind::Write, bytes(100, 50)).unwrap();
        other.test_lock(theirs.handle, LockKind::Write, bytes(100, 50), b"other").unwrap();
        one.close(&ours).unwrap();
        other.close(&theirs).unwrap();
        one.remove(base, name("f")).unwrap();
    }
}

#[test]
fn holes_and_space_of_4_2() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for minor in MINORS {
        let mut client = client_of(&server, &Identity::new(minor));
        let base = descend(&mut client, "run/export/data");
        let how = OpenHow::Guarded(mode(0o600));
        let (file, _) = client.open_to_write(base, name("f"), how).unwrap();
        client.write(&file, 40_000, Stability::FileSync, b"after a hole").unwrap();
        let mut expected = vec![0; 40_000];
        expected.extend(b"after a hole");
        // With READ_PLUS where the server has it, with READ where not: the same bytes.
        let (mut back, mut ended) = (Vec::new(), false);
        while !ended {
            let (data, end) = client.read_plus(&file, back.len() as u64, 65536).unwrap();
            assert!(end || !data.is_empty());
            back.extend(data);
            ended = end;
        }
        assert!(
            back == expected,
            "{minor}: {} {:?}",
            back.len(),
            back.iter().position(|b| *b != 0)
        );
        match client.allocate(&file, 0, 1 << 20) {
            Ok(()) => assert_eq!(minor, Minor::V2),
            Err(error) => assert_eq!(status::<()>(Err(error)), Status::NotSupported, "{minor}"),
        }
        client.close(&file).unwrap();
        client.remove(base, name("f")).unwrap();
    }
}

/// A server that was killed and started again knows neither session nor registration; files are open
/// again under other states, for every connection.
#[test]
fn a_restarted_server_gets_a_new_session_and_the_open_files() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for minor in [Minor::V1, Minor::V2] {
        let identity = Identity::new(minor);
        let mut client = client_of(&server, &identity);
        let base = descend(&mut client, "run/export/data");
        let how = OpenHow::Guarded(mode(0o600));
        let (file, _) = client.open_to_write(base, name("f"), how).unwrap();
        client.write(&file, 0, Stability::FileSync, b"before").unwrap();
        server.restart().unwrap();
        let broken = client.read(&file, 0, 6).unwrap_err();
        assert!(broken.is_fatal(), "{broken}");
        let mut again = client_of(&server, &identity);
        again.write(&file, 6, Stability::FileSync, b" and after").unwrap();
        assert_eq!(again.read(&file, 0, 100).unwrap(), (b"before and after".to_vec(), true));
        again.close(&file).unwrap();
        again.remove(base, name("f")).unwrap();
    }
}
