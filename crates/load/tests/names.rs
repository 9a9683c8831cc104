//! Operations on names, the same on every kind of lane.

#[path = "names/wire.rs"]
mod over_the_wire;
mod support;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use plimsoll_load::{
    Attributes, ByteRange, DirectoryShare, Done, EntryKind, FileId, Found, LockMode, MockShare,
    NewAttribute, Node, NullShare, Op, OpenOptions, Paths, Reply, Share, Span, VirtualClock, Whole,
};
use plimsoll_model::{DirectoryTarget, Engine, ErrorKind, OpKind, Stability};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::{Rig, whole};

const BLOCK: u32 = 64 << 10;

fn directory(path: &Path, engine: Engine) -> DirectoryShare {
    let target = DirectoryTarget { path: path.to_owned() };
    let options = OpenOptions { engine: Some(engine), ..OpenOptions::default() };
    DirectoryShare::open(&target, "here", &options).unwrap()
}

/// Lanes on one share, and the paths that they know.
struct Lanes {
    one: Rig,
    other: Rig,
    paths: Arc<Paths>,
}

impl Lanes {
    fn new(share: &dyn Share, depth: u16) -> Lanes {
        let one = Rig::new(share, depth, BLOCK);
        let other = Rig::sharing(share, depth, BLOCK, &one.paths);
        let paths = one.paths.clone();
        Lanes { one, other, paths }
    }

    fn op(&self, make: impl Fn(plimsoll_load::PathId) -> Op, path: &str) -> Op {
        make(self.paths.add(path))
    }
}

fn one(rig: &mut Rig, op: Op) -> Done {
    rig.run(&[op]).pop().unwrap()
}

fn found(rig: &mut Rig, op: Op) -> Option<Found> {
    one(rig, op).result.unwrap_or_else(|e| panic!("{op:?}: {}", e.detail)).map(|found| *found)
}

fn opened(rig: &mut Rig, op: Op) -> FileId {
    match found(rig, op) {
        Some(Found::File(file)) => file,
        other => panic!("{other:?}"),
    }
}

fn listed(rig: &mut Rig, op: Op) -> Vec<(String, EntryKind)> {
    let Some(Found::Entries(entries)) = found(rig, op) else { panic!("{op:?}") };
    let mut names: Vec<_> = entries.iter().map(|e| (e.name.clone(), e.kind)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

fn fails(rig: &mut Rig, op: Op) -> ErrorKind {
    one(rig, op).result.expect_err("it cannot be done").kind
}

/// What every lane does to names below the directory `run`; `keeps` says whether content is kept.
fn do_everything(share: &dyn Share, depth: u16, keeps: Option<&Path>) {
    share.namespace().unwrap().make_directory("run").unwrap();
    let mut lanes = Lanes::new(share, depth);
    let path = |lanes: &Lanes, make: fn(plimsoll_load::PathId) -> Op, path| lanes.op(make, path);
    let (file, a, b) = ("run/d1/f1", "run/d1", "run/d1/small");
    let create = path(&lanes, Op::Create, file);
    assert_eq!(fails(&mut lanes.one, create), ErrorKind::Gone, "no directory yet");
    let make = path(&lanes, Op::MakeDirectory, a);
    assert_eq!(found(&mut lanes.one, make), None);
    assert!(one(&mut lanes.one, make).result.is_err(), "it exists");

    // Made by one lane, written by another, made stable by the first.
    let id = opened(&mut lanes.one, create);
    assert!(one(&mut lanes.one, create).result.is_err(), "it exists");
    let span = |offset| Span { file: id, offset, length: BLOCK, generation: 3 };
    let writes = [span(0), span(BLOCK.into())].map(|s| Op::Write(s, Stability::Unstable));
    assert_eq!(lanes.other.run_all(&writes), 2 * u64::from(BLOCK));
    let through = Op::Write(span(2 * u64::from(BLOCK)), Stability::FileSync);
    for op in [through, Op::Flush(id)] {
        assert_eq!(found(&mut lanes.one, op), None);
    }
    asked_and_locked(&mut lanes, id, a, keeps.map(|_| 3 * u64::from(BLOCK)));
    assert_eq!(found(&mut lanes.one, Op::Close(id)), None);
    assert_eq!(fails(&mut lanes.one, Op::GetAttributes(id)), ErrorKind::Gone, "closed");
    assert_eq!(fails(&mut lanes.one, Op::Close(id)), ErrorKind::Gone);
    let size = 3 * BLOCK;
    if let Some(root) = keeps {
        assert!(std::fs::read(root.join(file)).unwrap() == whole(id, 3, size));
        assert_eq!(fails(&mut lanes.one, Op::Read(span(0))), ErrorKind::Gone, "closed");
    }

    // A small file whole.
    let small = Whole { path: lanes.paths.add(b), length: 5000, content: id, generation: 3 };
    assert_eq!(one(&mut lanes.other, Op::Put(small, Stability::FileSync)).bytes, 5000);
    assert_eq!(one(&mut lanes.one, Op::Get(small)).bytes, 5000);
    assert!(one(&mut lanes.one, Op::Put(small, Stability::FileSync)).result.is_err(), "it exists");
    if let Some(root) = keeps {
        assert!(std::fs::read(root.join(b)).unwrap() == whole(id, 3, 5000));
        let longer = Whole { length: 5001, ..small };
        assert_eq!(fails(&mut lanes.one, Op::Get(longer)), ErrorKind::Short);
        let shorter = Whole { length: 4999, ..small };
        assert_eq!(fails(&mut lanes.one, Op::Get(shorter)), ErrorKind::Short);
        let older = Whole { generation: 4, ..small };
        assert!(fails(&mut lanes.one, Op::Get(older)).is_content(), "gets are verified");
    }

    // What is there.
    let list = path(&lanes, Op::ReadDirectory, a);
    let names = listed(&mut lanes.other, list);
    let expected = ["f1", "small"].map(|name| (name.to_owned(), EntryKind::File));
    assert_eq!(names, expected);
    let look = path(&lanes, Op::Lookup, file);
    let Some(Found::Attributes(Attributes { kind, size: found_size })) =
        found(&mut lanes.one, look)
    else {
        panic!("attributes")
    };
    assert_eq!(kind, EntryKind::File);
    assert!(keeps.is_none() || found_size == u64::from(size));

    // Opened by one lane, read by another, content and all.
    let open = path(&lanes, Op::Open, file);
    let again = opened(&mut lanes.one, open);
    assert_ne!(again, id, "numbers are not used twice");
    if keeps.is_some() {
        let at_end = Span { file: again, offset: 0, length: BLOCK, generation: 3 };
        let other_file = one(&mut lanes.other, Op::Read(at_end));
        assert!(other_file.result.is_err_and(|e| e.kind.is_content()), "reads are verified");
    }
    lanes.other.run_all(&[Op::Close(again)]);

    renamed_and_touched(&mut lanes, file, b, keeps);

    // And away.
    let remove_directory = path(&lanes, Op::RemoveDirectory, a);
    assert!(one(&mut lanes.one, remove_directory).result.is_err(), "it is not empty");
    let removes = [file, b].map(|name| path(&lanes, Op::Remove, name));
    lanes.one.run_all(&removes);
    assert_eq!(fails(&mut lanes.other, look), ErrorKind::Gone);
    lanes.one.run_all(&[remove_directory]);
    let list = path(&lanes, Op::ReadDirectory, "run");
    assert_eq!(listed(&mut lanes.one, list), []);
    share.namespace().unwrap().remove_directory("run").unwrap();
}

/// What is asked of an open file and of a directory, and a lock of that file.
fn asked_and_locked(lanes: &mut Lanes, id: FileId, directory: &str, size: Option<u64>) {
    for lane in [&mut lanes.one, &mut lanes.other] {
        let Some(Found::Attributes(of)) = found(lane, Op::GetAttributes(id)) else {
            panic!("none")
        };
        assert_eq!(of.kind, EntryKind::File);
        assert!(size.is_none_or(|size| of.size == size), "{of:?}");
    }
    // What a protocol has no call for is refused without one.
    let (access, lane) = (Op::Access(lanes.paths.add(directory)), &mut lanes.one);
    match lane.lane.does(OpKind::ACCESS) {
        true => assert_eq!(found(lane, access), None),
        false => assert_eq!(fails(lane, access), ErrorKind::Protocol),
    }
    match lane.lane.does(OpKind::LOCK) {
        true => {
            for op in [
                Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive),
                Op::Unlock(id, ByteRange::WHOLE),
                Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive),
                Op::Unlock(id, ByteRange::WHOLE),
            ] {
                assert_eq!(found(lane, op), None, "{op:?}");
            }
        }
        false => assert_eq!(
            fails(lane, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)),
            ErrorKind::Protocol
        ),
    }
}

/// What copying programs do after they have written a file: its time, its mode, its name in place of the
/// one that was there.
fn renamed_and_touched(lanes: &mut Lanes, file: &str, other: &str, keeps: Option<&Path>) {
    let temporary = "run/d1/.f1.new";
    let [new, taken, missing] = [temporary, file, "run/d1/nothing"].map(|p| lanes.paths.add(p));
    let directory = lanes.paths.add("run/d1");
    assert_eq!(found(&mut lanes.one, Op::LookupIfThere(missing)), None);
    let there = found(&mut lanes.one, Op::LookupIfThere(taken));
    assert!(matches!(there, Some(Found::Attributes(_))), "{there:?}");
    let id = opened(&mut lanes.one, Op::Create(new));
    let span = Span { file: id, offset: 0, length: BLOCK, generation: 9 };
    lanes.one.run_all(&[Op::Write(span, Stability::Unstable)]);
    let (modified, mode) = (NewAttribute::Modified(1_400_000_000), NewAttribute::Mode(0o640));
    for new in [modified, mode] {
        assert_eq!(found(&mut lanes.one, Op::SetAttribute(Node::File(id), new)), None);
    }
    assert_eq!(found(&mut lanes.one, Op::Close(id)), None);
    let closed = Op::SetAttribute(Node::File(id), modified);
    assert_eq!(fails(&mut lanes.one, closed), ErrorKind::Gone, "it is closed");
    let (earlier, only_read) = (NewAttribute::Modified(1_300_000_000), NewAttribute::Mode(0o440));
    for (lane, set) in [(0, earlier), (1, only_read), (1, mode), (0, modified)] {
        let lane = if lane == 0 { &mut lanes.one } else { &mut lanes.other };
        assert_eq!(found(lane, Op::SetAttribute(Node::Closed(new), set)), None);
    }
    let nobody = Op::SetAttribute(Node::Closed(missing), modified);
    assert_eq!(fails(&mut lanes.one, nobody), ErrorKind::Gone, "it is not there");
    assert_eq!(found(&mut lanes.other, Op::Rename(new, taken)), None);
    assert!(one(&mut lanes.one, Op::Rename(new, taken)).result.is_err(), "it is gone");
    let elsewhere = lanes.paths.add("run/f1");
    if keeps.is_some() {
        let rename = Op::Rename(taken, elsewhere);
        assert_eq!(fails(&mut lanes.one, rename), ErrorKind::NotPermitted, "another directory");
    }
    assert_eq!(found(&mut lanes.one, Op::SetAttribute(Node::Directory(directory), modified)), None);
    let Some(root) = keeps else { return };
    assert!(std::fs::read(root.join(file)).unwrap() == whole(id, 9, BLOCK), "in place of the old");
    assert!(!root.join(temporary).exists() && root.join(other).exists());
    for path in [file, "run/d1"] {
        assert_eq!(std::fs::metadata(root.join(path)).unwrap().mtime(), 1_400_000_000, "{path}");
    }
}

#[test]
fn on_directories() {
    let there = tempfile::tempdir().unwrap();
    for (engine, depth) in [(Engine::Psync, 1), (Engine::Psync, 4), (Engine::IoUring, 4)] {
        do_everything(&directory(there.path(), engine), depth, Some(there.path()));
    }
}

/// Nobody else can lock it meanwhile: locks of a description that is open, as those of another process.
#[test]
fn a_lock_on_a_directory_is_one() {
    let there = tempfile::tempdir().unwrap();
    let share = directory(there.path(), Engine::Psync);
    share.namespace().unwrap().make_directory("run").unwrap();
    let mut lanes = Lanes::new(&share, 1);
    let create = lanes.op(Op::Create, "run/f");
    let id = opened(&mut lanes.one, create);
    let other = std::fs::File::options().write(true).open(there.path().join("run/f")).unwrap();
    let wanted = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as nix::libc::c_short,
        l_whence: 0,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let others = || fcntl(&other, FcntlArg::F_OFD_SETLK(&wanted)).map(drop);
    assert_eq!(found(&mut lanes.one, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)), None);
    assert_eq!(others(), Err(Errno::EAGAIN));
    assert_eq!(found(&mut lanes.one, Op::Unlock(id, ByteRange::WHOLE)), None);
    assert_eq!(others(), Ok(()));
    assert!(
        one(&mut lanes.one, Op::Lock(id, ByteRange::WHOLE, LockMode::Exclusive)).result.is_err(),
        "it is somebody else's"
    );
}

#[test]
fn in_memory() {
    do_everything(&NullShare::new(), 2, None);
    let clock = Arc::new(VirtualClock::new());
    let servers = std::num::NonZeroU16::MIN;
    let share = MockShare::new(clock, servers, |_, _| Reply::After(Duration::ZERO));
    do_everything(&share, 2, None);
}

#[test]
fn a_script_may_say_what_is_found() {
    let clock = Arc::new(VirtualClock::new());
    let servers = std::num::NonZeroU16::MIN;
    let share = MockShare::new(clock, servers, |op, _| match op.kind() {
        OpKind::LOOKUP => {
            let attributes = Attributes { kind: EntryKind::Other, size: 42 };
            Reply::Finds(Duration::from_millis(3), Found::Attributes(attributes))
        }
        _ => Reply::After(Duration::ZERO),
    });
    let mut rig = Rig::new(&share, 1, BLOCK);
    let look = Op::Lookup(rig.paths.add("nowhere"));
    let done = one(&mut rig, look);
    assert_eq!(done.done - done.issued, Duration::from_millis(3));
    let attributes = Attributes { kind: EntryKind::Other, size: 42 };
    assert_eq!(done.result, Ok(Some(Box::new(Found::Attributes(attributes)))));
}

/// A lane works in the run's directory alone, and never through a link.
#[test]
fn lanes_of_directories_change_nothing_elsewhere() {
    let there = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    for engine in [Engine::Psync, Engine::IoUring] {
        let share = directory(there.path(), engine);
        std::os::unix::fs::symlink(outside.path(), there.path().join("link")).unwrap();
        std::fs::write(outside.path().join("f"), b"precious").unwrap();
        std::fs::create_dir(there.path().join("run")).unwrap();
        std::os::unix::fs::symlink(outside.path(), there.path().join("run/link")).unwrap();
        let mut rig = Rig::new(&share, 2, BLOCK);
        for path in ["f", "link/f", "run/link/f", "run/../f", "run/..", "", "/", "run/"] {
            let id = rig.paths.add(path);
            let small = Whole { path: id, length: 10, content: FileId(0), generation: 0 };
            for op in [
                Op::Create(id),
                Op::Put(small, Stability::FileSync),
                Op::Remove(id),
                Op::MakeDirectory(id),
                Op::RemoveDirectory(id),
            ] {
                let done = one(&mut rig, op);
                assert!(done.result.is_err(), "{op:?} {path}");
            }
        }
        let through_a_link = rig.paths.add("run/link/f");
        for op in [Op::Open(through_a_link), Op::Lookup(through_a_link)] {
            assert!(one(&mut rig, op).result.is_err(), "{op:?}");
        }
        assert_eq!(std::fs::read(outside.path().join("f")).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        std::fs::remove_file(there.path().join("link")).unwrap();
        std::fs::remove_dir_all(there.path().join("run")).unwrap();
    }
}

/// More directories than a process may have open files.
#[test]
fn directories_are_not_held_open_without_end() {
    let there = tempfile::tempdir().unwrap();
    let share = directory(there.path(), Engine::Psync);
    std::fs::create_dir(there.path().join("run")).unwrap();
    let mut rig = Rig::new(&share, 1, BLOCK);
    for number in 0..600 {
        let (directory, file) = (format!("run/d{number}"), format!("run/d{number}/f"));
        let (directory, file) = (rig.paths.add(directory), rig.paths.add(file));
        let small = Whole { path: file, length: 1, content: FileId(0), generation: 0 };
        rig.run_all(&[Op::MakeDirectory(directory), Op::Put(small, Stability::FileSync)]);
    }
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let held = open
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter(|target| target.starts_with(there.path()))
        .count();
    assert!((1..=210).contains(&held), "{held} directories are held open");
}
