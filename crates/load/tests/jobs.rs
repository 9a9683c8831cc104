//! Scans and copies: exactly on scripted shares, and with real bytes on directories.

mod support;

use nix::unistd::{Uid, getuid, setfsuid};
use plimsoll_load::{
    DirectoryShare, Ended, FileSet, LocalFiles, MockShare, Node, NullShare, Op, OpenOptions, Reply,
    Share, SystemClock, VirtualClock,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, CopyJob, DataClass, DirectoryTarget, Engine, ErrorKind, Failure, Flag, GeneratedData,
    Job, Layout, Length, Method, OpKind, Pattern, PatternJob, ScanJob, Stability, Transfer,
    Workload,
};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::servers::samba::{Samba, SambaConfig, SambaShare};
use std::fs;
use std::num::NonZeroU16;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::jobs::{Run, copy, done, once, opened, part, user_directory};

const MS: Duration = Duration::from_millis(1);

/// So many servers that take a millisecond for everything.
fn mock(clock: &Arc<VirtualClock>, servers: u16) -> MockShare {
    let servers = NonZeroU16::new(servers).unwrap();
    MockShare::new(clock.clone(), servers, |_, _| Reply::After(MS))
}

/// How long a job takes on such servers, by one worker, in milliseconds.
fn took(servers: u16, depth: u16, job: Job, whole: bool) -> u128 {
    let clock = Arc::new(VirtualClock::new());
    let share = mock(&clock, servers);
    let share = if whole { share } else { share.without_whole_files() };
    let mut run = Run::new(Arc::new(share), clock);
    let workload = once(part(job, 1, depth));
    run.prepare(&workload).unwrap();
    let first = run.good(&workload)[0].team.measured;
    let second = run.good(&workload)[0].team.measured;
    assert_eq!(first, second, "every point does the same");
    run.close();
    first.as_millis()
}

#[test]
fn a_scan_lists_every_directory_and_looks_up_every_name() {
    let job = || Job::Scan(ScanJob { directories: 3, files: 4, ..ScanJob::default() });
    // 4 listings, 3 directories and 12 files.
    assert_eq!(took(1, 1, job(), true), 4 + 3 + 12);
    // Four at a time: a listing, and then all names in it at once.
    assert_eq!(took(4, 4, job(), true), 4 * 2);
    assert_eq!(took(1, 1, job(), false), 19);
}

#[test]
fn a_copy_pays_for_each_operation_that_it_is_made_of() {
    let data = user_directory();
    let up = || Job::Copy(copy(data.path(), Transfer::Up, 4096));
    let down = || Job::Copy(copy(data.path(), Transfer::Down, 4096));
    // 10, 10,240, 4096, 0, 300,001 and 4097 bytes in three directories of one tree: three files are no
    // longer than a block, the others have 3, 74 and 2.
    assert_eq!(took(1, 1, up(), true), 4 + 3 + (3 + 74 + 2) + 3 * 2);
    assert_eq!(took(1, 1, up(), false), 4 + (3 + 74 + 2 + 1 + 1) + 6 * 2);
    assert_eq!(took(1, 1, down(), true), 3 + (3 + 74 + 2) + 3 * 2);
    assert_eq!(took(1, 1, down(), false), (3 + 74 + 2 + 1 + 1) + 6 * 2);
    // Blocks of one file are in flight together, everything else is one by one.
    assert_eq!(took(100, 100, up(), true), 4 + 3 + 3 + 3 * 2);
}

/// rsync's generator looks for files and makes directories while its receiver writes: each does one thing after
/// the other, and directories get their times when all is there.
#[test]
fn as_rsync_names_are_looked_up_while_files_are_written() {
    let data = user_directory();
    let job = || {
        let copy = copy(data.path(), Transfer::Up, MIB);
        Job::Copy(CopyJob { method: Method::Rsync, ..copy })
    };
    let clock = Arc::new(VirtualClock::new());
    let done: Arc<Mutex<Vec<(u64, Op)>>> = Arc::default();
    let log = done.clone();
    let script = move |op: &Op, now: plimsoll_model::Nanos| {
        log.lock().unwrap().push((now.0 / 1_000_000, *op));
        Reply::After(MS)
    };
    let share = MockShare::new(clock.clone(), NonZeroU16::new(100).unwrap(), script);
    let mut run = Run::new(Arc::new(share), clock);
    let workload = once(part(job(), 1, 4));
    run.prepare(&workload).unwrap();
    let together = run.good(&workload)[0].team.measured.as_millis();
    run.close();
    let done = done.lock().unwrap();
    let of_generator = |op: &Op| matches!(op, Op::LookupIfThere(_) | Op::MakeDirectory(_));
    let mut last = [None; 2];
    let (mut receiving, mut ahead) = (None, 0);
    let mut renamed = 0;
    for (now, op) in done.iter() {
        match op {
            Op::SetAttribute(Node::Directory(_), _) => {}
            _ => {
                let before = last[usize::from(of_generator(op))].replace(*now);
                assert!(before < Some(*now), "{op:?}: one after the other");
            }
        }
        match op {
            Op::LookupIfThere(_) if receiving.is_some() => ahead += 1,
            Op::Create(path) => assert_eq!(receiving.replace(*path), None, "one file at a time"),
            Op::Rename(from, _) => {
                assert_eq!(receiving.take(), Some(*from));
                renamed += 1;
            }
            _ => {}
        }
    }
    // The tree and three directories in it, six files; the times of directories last.
    assert_eq!((renamed, ahead > 0), (6, true));
    let is_time = |(_, op): &(u64, Op)| matches!(op, Op::SetAttribute(Node::Directory(_), _));
    assert!(done[done.len() - 4..].iter().all(is_time), "{done:?}");
    // All but the first names are looked up meanwhile, and nothing else is saved.
    let sequential = took(1, 1, job(), true);
    assert_eq!(sequential, done.len() as u128);
    let names = done.iter().filter(|(_, op)| of_generator(op)).count() as u128;
    assert!(together < sequential && together + names > sequential, "{together}, {sequential}");
}

#[test]
fn on_directories() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let there = tempfile::tempdir().unwrap();
        support::jobs::copy_up_and_down(directory(there.path(), engine), there.path());
        support::jobs::generated_up_and_down(directory(there.path(), engine), there.path());
        support::jobs::every_way_and_method(directory(there.path(), engine), there.path(), true);
        support::jobs::scan(directory(there.path(), engine));
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
    }
}

/// Rsync copies to a directory and back; other targets, and more than one worker, are refused.
#[test]
fn by_rsync_itself() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Rsync);
    let there = tempfile::tempdir().unwrap();
    let here = directory(there.path(), Engine::Psync);
    support::jobs::every_way_by_rsync(here.clone(), there.path());
    assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);

    let data = GeneratedData {
        class: DataClass::Music,
        count: 2,
        mean_bytes: 5000.0,
        scale: 1.0,
        seed: 1,
    };
    let (dataset, method) = (data.dataset(), Method::ByRsync);
    let job = |transfer| {
        let block = Bytes(4096);
        Job::Copy(CopyJob { dataset: dataset.clone(), transfer, method, block, verify: false })
    };
    let clock = Arc::new(VirtualClock::new());
    let elsewhere = Run::new(Arc::new(mock(&clock, 1)), clock);
    let here = Run::new(here, Arc::new(SystemClock::new()));
    for (mut run, workers, expected) in [(elsewhere, 1, "not mounted"), (here, 2, "one rsync")] {
        let workload = once(part(job(Transfer::Up), workers, 1));
        let failure = run.prepare(&workload).err().unwrap_or_else(|| not_good(&mut run, &workload));
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.happened.contains(expected), "{failure:?}");
        run.close();
    }
}

fn directory(path: &Path, engine: Engine) -> Arc<dyn Share> {
    let target = DirectoryTarget { path: path.to_owned() };
    let options = OpenOptions { engine: Some(engine), ..OpenOptions::default() };
    Arc::new(DirectoryShare::open(&target, "here", &options).unwrap())
}

#[test]
fn over_nfs() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    support::jobs::copy_up_and_down(opened(&server.url("data")), &disk);
    support::jobs::generated_up_and_down(opened(&server.url("data")), &disk);
    support::jobs::every_way_and_method(opened(&server.url("data")), &disk, true);
    support::jobs::scan(opened(&server.url("data")));
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
}

#[test]
fn over_smb() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    // Signed requests go one by one, others as compounds.
    for options in ["", "?sign=off", "?encrypt=on"] {
        let url = format!("{}{options}", server.url("data"));
        support::jobs::copy_up_and_down(opened(&url), &disk);
        support::jobs::generated_up_and_down(opened(&url), &disk);
        support::jobs::every_way_and_method(opened(&url), &disk, false);
        support::jobs::scan(opened(&url));
        assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    }
}

fn random_reads() -> Job {
    Job::Pattern(PatternJob {
        pattern: Pattern::RandomRead,
        block: Bytes(4 * KIB),
        size: Bytes(MIB),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    })
}

/// The copy ends, the scan and the reads beside it end with it; each has a result of its own.
#[test]
fn parts_run_at_once_until_the_first_is_done() {
    let data = user_directory();
    let clock = Arc::new(VirtualClock::new());
    let share = mock(&clock, 1);
    let mut run = Run::new(Arc::new(share), clock);
    let scan = Job::Scan(ScanJob { directories: 2, files: 3, ..ScanJob::default() });
    let parts = vec![
        part(Job::Copy(copy(data.path(), Transfer::Up, 4096)), 2, 1),
        part(scan.clone(), 1, 1),
        part(scan, 2, 2),
        part(random_reads(), 1, 4),
    ];
    let length = Length::UntilDone { at_most_seconds: 100.0 };
    let workload = Workload { parts, steps: None, length };
    run.prepare(&workload).unwrap();
    let parts = run.good(&workload);
    assert_eq!(run.trees(), ["copy-0-0", "scan-1", "scan-2"]);
    assert_eq!(done(&parts[0], OpKind::MAKE_DIRECTORY), 4);
    for scan in &parts[1..3] {
        let kinds: Vec<_> = scan.team.total.kinds.keys().copied().collect();
        assert!(kinds.iter().all(|k| [OpKind::LOOKUP, OpKind::READ_DIRECTORY].contains(k)));
    }
    assert_eq!(parts[3].team.total.kinds.len(), 1);
    assert!(done(&parts[3], OpKind::READ) > 0);
    let longest = parts.iter().map(|p| p.team.measured).max().unwrap();
    assert!(longest < Duration::from_secs(10), "nobody waits for the end: {longest:?}");
    run.close();
}

/// For a time: both begin again and again, a copy in a tree of its own each time.
#[test]
fn work_that_is_done_begins_again_until_the_time_is_over() {
    let data = user_directory();
    let clock = Arc::new(VirtualClock::new());
    let mut run = Run::new(Arc::new(mock(&clock, 1)), clock);
    let for_a_second = Length::For { seconds: 1.0, warm_up_seconds: 0.0 };
    let up = part(Job::Copy(copy(data.path(), Transfer::Up, 4096)), 1, 1);
    let workload = Workload::new(up, for_a_second);
    run.prepare(&workload).unwrap();
    let parts = run.good(&workload);
    assert_eq!(parts[0].team.measured, 1000 * MS);
    // One round takes 95 ms: ten are whole, and the eleventh has come to the largest file, which lies
    // behind the three small ones.
    assert_eq!(done(&parts[0], OpKind::PUT), 11 * 3);
    assert_eq!(run.trees().len(), 11);
    run.good(&workload);
    assert_eq!(run.trees().len(), 11, "those of the first point are removed");
    assert!(run.trees().contains(&"copy-0-21".to_owned()), "no number twice");
    let scan = Workload::new(
        part(Job::Scan(ScanJob { directories: 1, files: 2, ..ScanJob::default() }), 1, 1),
        for_a_second,
    );
    run.prepare(&scan).unwrap();
    // 2 listings and 3 names a walk.
    assert_eq!(done(&run.good(&scan)[0], OpKind::READ_DIRECTORY), 2 * 200);
    run.close();
}

#[test]
fn work_that_is_not_done_in_time_fails() {
    let clock = Arc::new(VirtualClock::new());
    let mut run = Run::new(Arc::new(mock(&clock, 1)), clock);
    let job = Job::Scan(ScanJob { directories: 100, files: 50, ..ScanJob::default() });
    let length = Length::UntilDone { at_most_seconds: 2.0 };
    let workload = Workload::new(part(job, 1, 1), length);
    run.prepare(&workload).unwrap();
    let parts = run.point(&workload).unwrap();
    assert_eq!(parts[0].team.ended, Ended::NotDone);
    assert!(parts[0].team.measured <= 2000 * MS);
    run.close();
}

#[test]
fn an_error_of_one_worker_ends_a_copy_that_others_wait_in() {
    let data = user_directory();
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |op, _| match op {
        Op::MakeDirectory(_) => Reply::error(MS, ErrorKind::Io),
        _ => Reply::After(MS),
    });
    let mut run = Run::new(Arc::new(share), clock);
    let workload = once(part(Job::Copy(copy(data.path(), Transfer::Up, 4096)), 4, 1));
    run.prepare(&workload).unwrap();
    let parts = run.point(&workload).unwrap();
    assert!(parts[0].team.first_error.is_some());
    assert_eq!(done(&parts[0], OpKind::PUT), 0);
}

/// What a failed update has left under temporary names is in nobody's way.
#[test]
fn after_a_failed_update_the_files_are_copied_anew() {
    let data = user_directory();
    let clock = Arc::new(VirtualClock::new());
    let renames = Arc::new(AtomicU64::new(0));
    let seen = renames.clone();
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op, _| match op {
        Op::Rename(..) if seen.fetch_add(1, Ordering::Relaxed) == 0 => {
            Reply::error(MS, ErrorKind::Io)
        }
        _ => Reply::After(MS),
    });
    let mut run = Run::new(Arc::new(share), clock);
    let workload = once(part(Job::Copy(copy(data.path(), Transfer::Update, 4096)), 1, 1));
    run.prepare(&workload).unwrap();
    let parts = run.point(&workload).unwrap();
    assert!(parts[0].team.first_error.is_some());
    for _ in 0..2 {
        run.good(&workload);
        assert_eq!(run.trees(), ["copy-0-2"]);
    }
    assert_eq!(renames.load(Ordering::Relaxed), 3);
    run.close();
}

fn not_good(run: &mut Run, workload: &Workload) -> Failure {
    match run.point(workload) {
        Err(failure) => failure,
        Ok(mut parts) => match parts.swap_remove(0).found {
            Err(not_good) => not_good.failure,
            Ok(_) => panic!("nothing was found wrong"),
        },
    }
}

/// What is copied is read while it is copied: files that change make the point fail, in words.
#[test]
fn files_that_change_or_vanish_fail_the_copy() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("cut short", |path| {
            fs::File::options().write(true).open(path).unwrap().set_len(5).unwrap()
        }),
        ("No such file", |path| fs::remove_file(path).unwrap()),
        ("changed", |path| fs::write(path, [7; 4096]).unwrap()),
        ("", |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        }),
    ];
    for (_, change) in changes {
        for transfer in [Transfer::Up, Transfer::Down] {
            let (there, data) = (tempfile::tempdir().unwrap(), user_directory());
            let share = directory(there.path(), Engine::Psync);
            let mut run = Run::new(share, Arc::new(SystemClock::new()));
            let workload = once(part(Job::Copy(copy(data.path(), transfer, 4096)), 1, 1));
            run.prepare(&workload).unwrap();
            run.good(&workload);
            change(&data.path().join("sp ace"));
            let failure = not_good(&mut run, &workload);
            assert_eq!(failure.cause, Cause::Trial, "{failure}");
            assert!(failure.on.ends_with("sp ace"), "{failure}");
            assert!(failure.next.contains("while they are copied"), "{failure}");
        }
    }
}

#[test]
fn a_directory_that_is_not_the_planned_one_is_refused() {
    let (there, data) = (tempfile::tempdir().unwrap(), user_directory());
    let workload = once(part(Job::Copy(copy(data.path(), Transfer::Up, 4096)), 1, 1));
    fs::write(data.path().join("later"), b"more").unwrap();
    let share = directory(there.path(), Engine::Psync);
    let mut run = Run::new(share, Arc::new(SystemClock::new()));
    let failure = run.prepare(&workload).unwrap_err();
    assert!(failure.happened.contains("6 files") && failure.happened.contains("7"), "{failure}");
    run.close();
}

#[test]
fn names_that_are_not_text_are_left_out_and_named_and_links_are_not_followed() {
    let data = user_directory();
    let listed = LocalFiles::list(data.path().to_str().unwrap()).unwrap();
    assert_eq!((listed.files(), listed.directories()), (6, 3));
    assert!(matches!(listed.oddities()[..], [Flag::EntriesSkipped { count: 3, .. }]));
    // The files next to them are copied all the same.
    let strange = |name: &'static [u8]| data.path().join(std::ffi::OsStr::from_bytes(name));
    fs::write(strange(b"sub/caf\xe9 \x1b[2J"), b"x").unwrap();
    fs::create_dir(strange(b"sub/\xff")).unwrap();
    fs::write(strange(b"sub/\xff/unseen"), b"x").unwrap();
    let listed = LocalFiles::list(data.path().to_str().unwrap()).unwrap();
    assert_eq!((listed.files(), listed.directories()), (6, 3));
    let oddities = listed.oddities();
    let [_, Flag::NamesNotUtf8 { first, count: 2, .. }] = &oddities[..] else {
        panic!("{oddities:?}")
    };
    assert_eq!(first, "sub/caf\\xe9 \\u{1b}[2J");
    let said = oddities[1].message();
    assert!(said.contains("2 names") && said.contains(first), "{said}");
    let failure = LocalFiles::list("/nowhere/at/all").unwrap_err();
    assert!(failure.happened.contains("No such file"), "{failure}");
}

#[test]
fn a_directory_of_pipes_or_of_the_kernel_is_not_one_of_files() {
    for kernel in ["/proc", "/sys"] {
        let failure = LocalFiles::list(kernel).unwrap_err();
        assert!(failure.next.contains("copies regular files and directories only"), "{failure}");
    }
    // Pipes are not opened: that would wait for their other end.
    let there = tempfile::tempdir().unwrap();
    let path = there.path().to_str().unwrap();
    let pipe =
        |name: &str| nix::unistd::mkfifo(&there.path().join(name), nix::sys::stat::Mode::S_IRWXU);
    pipe("pipe").unwrap();
    let failure = LocalFiles::list(path).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.happened.contains("holds 0 regular files, and 1 devices"), "{failure}");
    assert!(failure.next.contains("copies regular files and directories only"), "{failure}");
    fs::write(there.path().join("file"), b"x").unwrap();
    let listed = LocalFiles::list(path).unwrap();
    assert_eq!(listed.files(), 1);
    assert!(matches!(listed.oddities()[..], [Flag::EntriesSkipped { count: 1, .. }]));
}

#[test]
fn holes_are_told_and_what_may_not_be_read_is_refused_before_anything_is_copied() {
    let data = tempfile::tempdir().unwrap();
    let disk = fs::File::create(data.path().join("disk.img")).unwrap();
    disk.set_len(8 << 20).unwrap();
    disk.write_all_at(&[7; 4096], 1 << 20).unwrap();
    disk.sync_all().unwrap();
    fs::write(data.path().join("film"), vec![7; 100_000]).unwrap();
    let listed = LocalFiles::list(data.path().to_str().unwrap()).unwrap();
    assert_eq!(listed.bytes().0, (8 << 20) + 100_000);
    match listed.oddities()[..] {
        [Flag::SparseFiles { count: 1, holes, .. }] => {
            assert!((7 << 20..8 << 20).contains(&holes.0), "{holes}");
        }
        ref other => panic!("{other:?}"),
    }
    fs::set_permissions(data.path().join("film"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::set_permissions(data.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // As anybody but root, whom nothing is refused: of this thread alone.
    setfsuid(Uid::from_raw(65_534));
    let failure = LocalFiles::list(data.path().to_str().unwrap()).map(drop).unwrap_err();
    setfsuid(getuid());
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.on.ends_with("/film") && failure.happened.contains("ermission"), "{failure}");
}

/// Somebody else changes the tree that is scanned.
#[test]
fn a_tree_that_is_not_as_it_was_made_fails_the_scan() {
    let changes: [fn(&Path); 3] = [
        |tree| fs::remove_file(tree.join("d000001/f000002")).unwrap(),
        |tree| fs::write(tree.join("d000000/holiday"), b"x").unwrap(),
        |tree| {
            fs::remove_file(tree.join("d000000/f000000")).unwrap();
            fs::create_dir(tree.join("d000000/f000000")).unwrap();
        },
    ];
    for change in changes {
        let there = tempfile::tempdir().unwrap();
        let share = directory(there.path(), Engine::Psync);
        let mut run = Run::new(share, Arc::new(SystemClock::new()));
        let workload =
            once(part(Job::Scan(ScanJob { directories: 2, files: 3, ..ScanJob::default() }), 1, 1));
        run.prepare(&workload).unwrap();
        run.good(&workload);
        change(&there.path().join("run/scan-0"));
        let failure = not_good(&mut run, &workload);
        assert!(failure.next.contains("no other program changes"), "{failure}");
    }
}

#[test]
fn what_is_no_job_for_storage_is_refused_in_words() {
    let mut run = Run::new(Arc::new(NullShare::new()), Arc::new(SystemClock::new()));
    let stream = plimsoll_model::StreamJob { connections: 1, rate: None };
    let failure = run.prepare(&once(part(Job::Stream(stream), 1, 1))).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.happened.contains("network path") && failure.tried.contains("stream"));
    let failure = run.point(&once(part(random_reads(), 1, 1))).err().unwrap();
    assert!(failure.happened.contains("runs until it is stopped"), "{failure}");
}
