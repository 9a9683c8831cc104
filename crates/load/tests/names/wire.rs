//! Operations on names over NFS and SMB, against real servers.

use super::*;
use plimsoll_load::{ByteRange, LockMode, NfsShare, OpenOptions, Passwords, PathId, SmbShare, Tag};
use plimsoll_model::{Clock, Target};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::servers::liar::{MORE, Recorder, Step, Wire};
use plimsoll_testkit::servers::samba::{PASSWORD, Samba, SambaConfig, SambaShare};
use std::net::{Ipv4Addr, SocketAddr};

fn nfs(server: &Ganesha) -> NfsShare {
    let url = server.url("data");
    let Ok(Target::Nfs(target)) = url.parse() else { panic!("{url}") };
    NfsShare::open(&target, &url, &OpenOptions::default()).unwrap()
}

fn smb(server: &Samba, options: &str) -> SmbShare {
    let url = format!("{}{options}", server.url("data"));
    let Ok(Target::Smb(target)) = url.parse() else { panic!("{url}") };
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    SmbShare::open(&target, &url, &options).unwrap()
}

fn nfs4(server: &Ganesha, version: &str) -> Arc<dyn Share> {
    let url = format!("{}&vers={version}", server.url_with_ports("data"));
    plimsoll_load::open(&url.parse().unwrap(), &OpenOptions::default()).unwrap()
}

/// Signed requests go one by one, others as compounds.
const WAYS: [&str; 4] = ["", "?sign=off", "?encrypt=on", "?vers=2.0.2&sign=off"];

#[test]
fn over_nfs() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for depth in [1, 8] {
        do_everything(&nfs(&server), depth, Some(&disk));
        many_names(&nfs(&server), depth, &disk);
    }
    refusals(&nfs(&server), &disk);
    long_listing(&nfs(&server), &disk);
}

#[test]
fn over_nfs_4() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for version in ["4.0", "4.1", "4.2"] {
        let share = nfs4(&server, version);
        for depth in [1, 8] {
            do_everything(&*share, depth, Some(&disk));
            many_names(&*share, depth, &disk);
        }
        locks(&*share, true);
        refusals(&*share, &disk);
        long_listing(&*share, &disk);
    }
}

#[test]
fn over_smb() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    for way in WAYS {
        for depth in [1, 8] {
            do_everything(&smb(&server, way), depth, Some(&disk));
            many_names(&smb(&server, way), depth, &disk);
        }
        locks(&smb(&server, way), false);
        refusals(&smb(&server, way), &disk);
        long_listing(&smb(&server, way), &disk);
    }
}

/// What is locked cannot be locked again, nor unlocked twice; other bytes can.
fn locks(share: &dyn Share, can_upgrade: bool) {
    share.namespace().unwrap().make_directory("run").unwrap();
    let mut lanes = Lanes::new(share, 1);
    let [create, remove] = [Op::Create, Op::Remove].map(|make| lanes.op(make, "run/locked"));
    let lane = &mut lanes.one;
    for _ in 0..3 {
        let id = opened(lane, create);
        assert!(one(lane, Op::Unlock(id, ByteRange::WHOLE)).result.is_err(), "it is not locked");
        assert_eq!(found(lane, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)), None);
        assert!(
            one(lane, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)).result.is_err(),
            "it is locked"
        );
        assert_eq!(found(lane, Op::Unlock(id, ByteRange::WHOLE)), None);
        assert!(
            one(lane, Op::Unlock(id, ByteRange::WHOLE)).result.is_err(),
            "it is not locked any more"
        );
        let [a, b] = [(0, 1), (1 << 30, 510)].map(|(offset, length)| ByteRange { offset, length });
        let lock = |bytes| Op::Lock(id, bytes, LockMode::Exclusive);
        lane.run_all(&[lock(a), lock(b), Op::Unlock(id, a), lock(a)]);
        assert!(
            one(lane, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)).result.is_err(),
            "parts are locked"
        );
        lane.run_all(&[Op::Unlock(id, b), Op::Unlock(id, a)]);
        // A shared lock becomes an exclusive one where the protocol can do that, and is given back once.
        assert_eq!(found(lane, Op::Lock(id, a, LockMode::Shared)), None);
        assert_eq!(one(lane, lock(a)).result.is_ok(), can_upgrade);
        lane.run_all(&[Op::Unlock(id, a), lock(a), Op::Unlock(id, a), Op::Close(id), remove]);
    }
    drop(lanes);
    share.namespace().unwrap().remove_directory("run").unwrap();
}

/// Names at depth: what a lane says of them is what a second, blocking path sees, and the disk.
fn many_names(share: &dyn Share, depth: u16, disk: &Path) {
    const COUNT: usize = 100;
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("run").unwrap();
    let mut rig = Rig::new(share, depth, BLOCK);
    let paths = rig.paths.clone();
    let directories: Vec<_> = (0..COUNT).map(|i| format!("run/Übung {i:03}")).collect();
    let files: Vec<_> = directories.iter().map(|d| format!("{d}/Datei")).collect();
    let ids = |all: &[String]| all.iter().map(|p| paths.add(p.as_str())).collect::<Vec<_>>();
    let (directories, names) = (ids(&directories), files);
    let files = ids(&names);
    let ops = |ids: &[PathId], make: fn(PathId) -> Op| -> Vec<Op> {
        ids.iter().copied().map(make).collect()
    };
    rig.run_all(&ops(&directories, Op::MakeDirectory));
    let whole = |at: usize| Whole {
        path: files[at],
        length: 100 * at as u32,
        content: FileId(at as u32),
        generation: 1,
    };
    let bytes: u64 = (0..COUNT).map(|at| 100 * at as u64).sum();
    let (puts, gets): (Vec<_>, Vec<_>) =
        (0..COUNT).map(|at| (Op::Put(whole(at), Stability::FileSync), Op::Get(whole(at)))).unzip();
    assert_eq!(rig.run_all(&puts), bytes);
    assert_eq!(rig.run_all(&gets), bytes, "and they are checked");
    for (at, name) in names.iter().enumerate() {
        let expected = support::whole(FileId(at as u32), 1, 100 * at as u32);
        assert!(std::fs::read(disk.join(name)).unwrap() == expected, "{name}");
    }

    let mut sizes = Vec::new();
    for done in rig.run(&ops(&files, Op::Lookup)) {
        match done.result.map(|found| found.map(|found| *found)) {
            Ok(Some(Found::Attributes(Attributes { kind: EntryKind::File, size }))) => {
                sizes.push(size);
            }
            other => panic!("{other:?}"),
        }
    }
    sizes.sort();
    assert_eq!(sizes, (0..COUNT).map(|at| 100 * at as u64).collect::<Vec<_>>());
    let run = paths.add("run");
    let seen = listed(&mut rig, Op::ReadDirectory(run));
    let mut expected = namespace.list("run").unwrap();
    expected.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(seen, expected.into_iter().map(|e| (e.name, e.kind)).collect::<Vec<_>>());
    assert_eq!(seen.len(), COUNT);

    // Opened one after the other, and closed in any order.
    let mut open = Vec::new();
    for done in rig.run(&ops(&files, Op::Open)) {
        match done.result.map(|found| found.map(|found| *found)) {
            Ok(Some(Found::File(file))) => open.push(Op::Close(file)),
            other => panic!("{other:?}"),
        }
    }
    open.sort_by_key(|op| op.file());
    open.dedup();
    assert_eq!(open.len(), COUNT, "each has a number of its own");
    rig.run_all(&open);
    rig.run_all(&ops(&files, Op::Remove));
    rig.run_all(&ops(&directories, Op::RemoveDirectory));
    assert_eq!(namespace.list("run").unwrap(), []);
    namespace.remove_directory("run").unwrap();
    assert_eq!(std::fs::read_dir(disk).unwrap().count(), 0);
}

/// What cannot be done is refused, one by one, and spoils nothing else that is in flight.
fn refusals(share: &dyn Share, disk: &Path) {
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("run").unwrap();
    namespace.make_directory("run/full").unwrap();
    namespace.write_small("run/full/file", b"12345").unwrap();
    namespace.write_small("outside", b"precious").unwrap();
    let mut rig = Rig::new(share, 8, BLOCK);
    let id = |path: &str| rig.paths.add(path);
    let small =
        |path: &str, length| Whole { path: id(path), length, content: FileId(0), generation: 0 };
    let (gone, io, forbidden) =
        (Some(&ErrorKind::Gone), Some(&ErrorKind::Io), Some(&ErrorKind::NotPermitted));
    let cases = [
        (Op::Create(id("run/full/file")), io),
        (Op::Put(small("run/full/file", 5), Stability::FileSync), io),
        (Op::Create(id("run/none/file")), gone),
        (Op::Open(id("run/none")), gone),
        (Op::Lookup(id("run/none")), gone),
        (Op::Get(small("run/none", 5)), gone),
        (Op::Get(small("run/full/file", 6)), Some(&ErrorKind::Short)),
        (Op::Get(small("run/full/file", 4)), Some(&ErrorKind::Short)),
        (Op::Remove(id("run/none")), gone),
        (Op::ReadDirectory(id("run/none")), gone),
        (Op::MakeDirectory(id("run/full")), io),
        (Op::RemoveDirectory(id("run/full")), io),
        (Op::RemoveDirectory(id("run/none")), gone),
        (Op::Open(id("run/full")), None),
        (Op::ReadDirectory(id("run/full/file")), None),
        (Op::RemoveDirectory(id("run/full/file")), None),
        (Op::Remove(id("run/full")), None),
        (Op::Lookup(id("run/full/file/below")), None),
        (Op::Close(FileId(u32::MAX)), gone),
        (Op::Remove(id("outside")), forbidden),
        (Op::Create(id("new")), forbidden),
        (Op::MakeDirectory(id("new")), forbidden),
        (Op::Put(small("outside", 5), Stability::FileSync), forbidden),
        (Op::Rename(id("run/none"), id("run/new")), gone),
        (Op::Rename(id("outside"), id("new")), forbidden),
        (Op::Rename(id("run/full/file"), id("run/file")), forbidden),
        (Op::Rename(id("run/full/file"), id("run/full/..")), None),
        (Op::Rename(id("run/full/file"), id("run/full/")), None),
        (Op::SetAttribute(Node::Directory(id("outside")), NewAttribute::Mode(0)), forbidden),
        (Op::SetAttribute(Node::Directory(id("run/none")), NewAttribute::Modified(0)), gone),
        (Op::SetAttribute(Node::Closed(id("outside")), NewAttribute::Modified(0)), forbidden),
        (Op::SetAttribute(Node::Closed(id("run/none")), NewAttribute::Modified(0)), gone),
        (Op::SetAttribute(Node::File(FileId(u32::MAX)), NewAttribute::Mode(0)), gone),
        (Op::Remove(id("run/../outside")), None),
        (Op::Remove(id("run/")), None),
        (Op::Create(id("run//x")), None),
        (Op::Lookup(PathId(u32::MAX)), gone),
    ];
    let look = Op::Lookup(id("run/full/file"));
    for (op, kind) in cases {
        let mut good = 0;
        for done in rig.run(&[look, op, look]) {
            match done.result {
                Ok(found) => {
                    let attributes = Attributes { kind: EntryKind::File, size: 5 };
                    assert_eq!(found, Some(Box::new(Found::Attributes(attributes))), "{op:?}");
                    good += 1;
                }
                Err(error) => {
                    assert!(kind.is_none_or(|kind| *kind == error.kind), "{op:?} {error:?}")
                }
            }
        }
        assert_eq!(good, 2, "{op:?}");
    }
    drop(rig);
    assert_eq!(std::fs::read(disk.join("outside")).unwrap(), b"precious");
    namespace.remove_file("run/full/file").unwrap();
    namespace.remove_directory("run/full").unwrap();
    namespace.remove_directory("run").unwrap();
    namespace.remove_file("outside").unwrap();
    assert_eq!(std::fs::read_dir(disk).unwrap().count(), 0);
}

/// Longer than one page; several listings at once.
fn long_listing(share: &dyn Share, disk: &Path) {
    let run = disk.join("run");
    std::fs::create_dir(&run).unwrap();
    for number in 0..3000 {
        std::fs::write(run.join(format!("a file whose name is long {number:04}")), b"").unwrap();
    }
    let mut rig = Rig::new(share, 3, BLOCK);
    let list = Op::ReadDirectory(rig.paths.add("run"));
    for done in rig.run(&[list; 3]) {
        let Ok(Some(found)) = done.result else { panic!("{done:?}") };
        let Found::Entries(entries) = *found else { panic!("{found:?}") };
        let mut names: Vec<_> = entries.iter().map(|entry| &entry.name).collect();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), entries.len()), (3000, 3000));
        assert!(entries.iter().all(|entry| entry.kind == EntryKind::File));
    }
    drop(rig);
    std::fs::remove_dir_all(&run).unwrap();
}

/// Makes an operation on a path.
type Make = fn(PathId) -> Op;

/// What a client would send for an operation, and no more: directories are looked up once.
fn replies_to_each(share: &dyn Share, recorder: &Recorder, expected: &[(Make, &str, usize)]) {
    let mut rig = Rig::new(share, 1, BLOCK);
    // A busy server announces a reply by an interim one.
    let last = |step: &&Step| step.flags & MORE == 0;
    let count = || recorder.transcript().0.iter().filter(last).count();
    let mut open = None;
    for (make, path, replies) in expected {
        let before = count();
        let op = match (make(rig.paths.add(*path)), open) {
            (Op::Close(_), Some(file)) => Op::Close(file),
            (Op::GetAttributes(_), Some(file)) => Op::GetAttributes(file),
            (Op::Lock(_, bytes, mode), Some(file)) => Op::Lock(file, bytes, mode),
            (Op::Unlock(_, bytes), Some(file)) => Op::Unlock(file, bytes),
            (op, _) => op,
        };
        if let Some(Found::File(file)) = found(&mut rig, op) {
            open = Some(file);
        }
        assert_eq!(count() - before, *replies, "{op:?} {path}");
    }
}

/// A small file of 5000 bytes.
fn small(path: PathId) -> Whole {
    Whole { path, length: 5000, content: FileId(0), generation: 0 }
}

#[test]
fn names_take_the_calls_that_a_client_makes() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Samba);
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let put: Make = |path| Op::Put(small(path), Stability::FileSync);
    let get: Make = |path| Op::Get(small(path));
    let close: Make = |_| Op::Close(FileId(0));
    let attributes: Make = |_| Op::GetAttributes(FileId(0));
    let lock: Make = |_| Op::Lock(FileId(0), ByteRange::WHOLE, LockMode::Exclusive);
    let unlock: Make = |_| Op::Unlock(FileId(0), ByteRange::WHOLE);

    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    std::fs::create_dir_all(server.directory("data").unwrap().join("run/a/b")).unwrap();
    let mut recorder = Recorder::new(Wire::Rpc);
    let way = recorder.before(here(server.nfs_port())).unwrap();
    let plain = server.url_with_ports("data");
    let url = plain.replace(&format!(":{}/", server.nfs_port()), &format!(":{}/", way.port()));
    let Ok(Target::Nfs(target)) = url.parse() else { panic!("{url}") };
    let share = NfsShare::open(&target, &url, &OpenOptions::default()).unwrap();
    let expected: [(Make, &str, usize); 16] = [
        (Op::ReadDirectory, "run/a/b", 4), // LOOKUP of three names, READDIRPLUS
        (Op::ReadDirectory, "run/a/b", 1),
        (Op::MakeDirectory, "run/a/c", 1),
        (Op::Access, "run/a/c", 1),
        (Op::Create, "run/a/c/f", 1),
        (attributes, "", 1),
        (close, "", 0),
        (Op::Lookup, "run/a/c/f", 1),
        (Op::Open, "run/a/c/f", 1),
        (put, "run/a/c/small", 2), // CREATE, WRITE
        (get, "run/a/c/small", 2), // LOOKUP, READ
        (Op::Remove, "run/a/c/small", 1),
        (Op::Remove, "run/a/c/f", 1),
        (Op::RemoveDirectory, "run/a/c", 1),
        (Op::MakeDirectory, "run/a/c", 1),
        (Op::RemoveDirectory, "run/a/c", 1),
    ];
    replies_to_each(&share, &recorder, &expected);

    // Frames, of compounds and of requests one by one.
    for (port, options, whole) in [(20471, "?sign=off", true), (20472, "", false)] {
        let config = SambaConfig::one(SambaShare::new("data")).port(port);
        let server = Samba::start(&stage, config).unwrap();
        let mut recorder = Recorder::new(Wire::Smb);
        let way = recorder.before(here(port)).unwrap();
        let url = format!("{}{options}", server.url("data"));
        let url = url.replace(&format!(":{port}/"), &format!(":{}/", way.port()));
        let Ok(Target::Smb(target)) = url.parse() else { panic!("{url}") };
        let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
        let open = OpenOptions { passwords, ..OpenOptions::default() };
        let share = SmbShare::open(&target, &url, &open).unwrap();
        share.namespace().unwrap().make_directory("run").unwrap();
        let frames = |requests| if whole { 1 } else { requests };
        let expected: [(Make, &str, usize); 12] = [
            (Op::ReadDirectory, "run", 4), // CREATE, QUERY_DIRECTORY until there are no more, CLOSE
            (Op::MakeDirectory, "run/c", frames(2)),
            (Op::Create, "run/c/f", 1),
            (attributes, "", 1),
            (lock, "", 1),
            (unlock, "", 1),
            (close, "", 1),
            (Op::Lookup, "run/c/f", frames(3)),
            (put, "run/c/small", frames(3)),
            (get, "run/c/small", frames(3)),
            (Op::Remove, "run/c/small", frames(3)),
            (Op::Remove, "run/c/f", frames(3)),
        ];
        replies_to_each(&share, &recorder, &expected);
    }
}

/// The server dies while directories are being listed: what has ended is whole, the rest is lost with
/// the lane, and nothing waits for it.
fn dies_while_listing(share: &dyn Share, disk: &Path, die: impl FnOnce()) {
    let run = disk.join("run");
    std::fs::create_dir(&run).unwrap();
    for number in 0..2000 {
        std::fs::write(run.join(format!("a file whose name is long {number:04}")), b"").unwrap();
    }
    let mut rig = Rig::new(share, 8, BLOCK);
    let list = Op::ReadDirectory(rig.paths.add("run"));
    let mut out = Vec::new();
    for tag in 0..8 {
        rig.lane.submit(Tag(tag), &list, rig.clock.now()).unwrap();
    }
    rig.lane.reap(rig.clock.now() + Duration::from_millis(5), &mut out).unwrap();
    die();
    let begun = rig.clock.now();
    let dead = loop {
        if let Err(dead) = rig.lane.reap(rig.until(), &mut out) {
            break dead;
        }
        // All may have ended before: then the next one cannot.
        let _ = rig.lane.submit(Tag(0), &list, rig.clock.now());
    };
    assert!(rig.clock.now() - begun < support::LIMIT, "it hangs");
    assert_eq!(dead.kind, ErrorKind::ConnectionLost, "{dead:?}");
    for done in out {
        match done.result {
            Ok(Some(found)) => match *found {
                Found::Entries(entries) => assert_eq!(entries.len(), 2000),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    assert!(rig.lane.reap(rig.until(), &mut Vec::new()).is_err(), "a dead lane stays dead");
}

#[test]
fn a_lane_that_dies_while_it_lists_ends() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Samba);
    let mut server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    dies_while_listing(&nfs(&server), &disk, || server.kill());
    let mut server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    dies_while_listing(&smb(&server, ""), &disk, || server.kill());
}
