//! Directories, on the file systems at hand and with both engines.

mod common;

use common::{job, workers};
use plimsoll_load::{
    Content, DirectoryShare, Ended, EntryKind, Files, LaidOut, Lane, Memory, Op, OpenOptions,
    OperationContext, RunSpec, Share, Span, SystemClock, Tag, Written, lay_out, run, verify,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, ClientMemory, DirectoryTarget, Engine, ErrorKind, OpKind, PageCache, Pattern,
    PatternJob, Stability,
};
use plimsoll_testkit::Need;
use std::fs;
use std::os::unix::fs::{FileExt, chown, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn open(path: &Path, engine: Option<Engine>) -> Result<DirectoryShare, plimsoll_model::Failure> {
    open_with(path, OpenOptions { engine, ..OpenOptions::default() })
}

fn open_with(path: &Path, options: OpenOptions) -> Result<DirectoryShare, plimsoll_model::Failure> {
    let target = DirectoryTarget { path: path.to_owned() };
    DirectoryShare::open(&target, &path.display().to_string(), &options)
}

fn context() -> OperationContext {
    OperationContext {
        content: Arc::new(Content::new(77)),
        paths: Arc::default(),
        deadline: SystemClock::no_deadline(),
        operation_timeout: Duration::from_secs(20),
        stalls: Default::default(),
    }
}

/// Two laid-out files of `size` bytes.
fn prepare(share: &dyn Share, context: &OperationContext, size: u64) -> Files {
    let mut namespace = share.namespace().unwrap();
    let mut file = |name| {
        let laid_out = LaidOut { file: namespace.create(name).unwrap(), generation: 1 };
        lay_out(share, context, laid_out, size, &mut |_| {}).unwrap();
        laid_out
    };
    Files { read: vec![file("read")], write: vec![file("write")] }
}

fn spec(context: &OperationContext, files: Files, depth: u16, job: PatternJob) -> RunSpec {
    RunSpec {
        context: context.clone(),
        depth: workers(depth),
        files,
        ..common::spec(job, context.deadline.clock().clone(), Duration::from_millis(200))
    }
}

/// Every pattern at several depths and blocks, verified while reading and read back after.
fn drive_and_verify(directory: &Path, engine: Engine) {
    let share = open(directory, Some(engine)).unwrap();
    let context = context();
    // Not a multiple of a page: the last kilobyte takes the way around O_DIRECT.
    let size = 3 * MIB + KIB;
    let files = prepare(&share, &context, size);
    assert_eq!(fs::metadata(directory.join("read")).unwrap().len(), size);
    for (pattern, block, depth, stability) in [
        (Pattern::SequentialRead, MIB, 2, Stability::Unstable),
        (Pattern::RandomRead, KIB, 1, Stability::Unstable),
        (Pattern::RandomMixed, 4 * KIB, 1, Stability::Unstable),
        (Pattern::RandomMixed, 4 * KIB, 16, Stability::Unstable),
        // No multiple of any logical block: never O_DIRECT.
        (Pattern::RandomMixed, 1000, 2, Stability::FileSync),
        (Pattern::RandomWrite, KIB, 4, Stability::FileSync),
        (Pattern::RandomWrite, 4 * KIB, 4, Stability::DataSync),
        (Pattern::SequentialWrite, 64 * KIB, 8, Stability::Unstable),
    ] {
        let job = PatternJob {
            block: Bytes(block),
            size: Bytes(size),
            stability,
            verify: true,
            ..job(pattern)
        };
        let spec = RunSpec { workers: workers(2), ..spec(&context, files.clone(), depth, job) };
        let (result, rewritten) = run(&share, &spec, None).unwrap();
        let label = format!("{pattern} {block} x {depth} {engine:?} {:?}", result.first_error);
        assert_eq!(result.ended, Ended::Complete, "{label}");
        assert!(result.first_error.is_none(), "{label}");
        let total = result.total;
        let (read, written) = (total.count(OpKind::READ), total.count(OpKind::WRITE));
        assert!(!pattern.reads() || read.bytes == read.operations * block, "{label}");
        assert!(pattern.reads() == (read.operations > 0), "{label}");
        assert!(pattern.writes() == (written.operations > 0), "{label}");
        let flushes = pattern.writes() && stability == Stability::Unstable;
        assert_eq!(result.flush.is_some(), flushes, "{label}");
        let written: Option<&Written> = pattern.writes().then_some(&rewritten[0]);
        let found = verify(&share, &context, files.write[0], size, written, &mut |_| {}).unwrap();
        assert!(found.is_good() && found.bytes == size, "{label}: {found:?}");
        if pattern.writes() {
            assert!(rewritten[0].blocks() > 0);
            let again = LaidOut { generation: 1, ..files.write[0] };
            lay_out(&share, &context, again, size, &mut |_| {}).unwrap();
        }
    }
}

/// On a disk, wherever others are: tests run with `TMPDIR` in memory where there is plenty.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").expect("a directory")
}

/// Bytes that this thread's reads have fetched from storage, by the kernel's count.
fn fetched() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.unwrap().parse().unwrap()
}

/// By default each read goes to the storage. Through the page cache the first one does, and brings more than was
/// asked for; the second comes from memory, until the next lane begins.
#[test]
fn reads_go_through_the_page_cache_where_that_is_asked_for_alone() {
    const BLOCK: u32 = 4096;
    for cache in [PageCache::Direct, PageCache::Page] {
        let directory = on_disk();
        let options = OpenOptions { cache, ..OpenOptions::default() };
        let share = open_with(directory.path(), options).unwrap();
        let context = context();
        let file = prepare(&share, &context, 4 << 20).read[0];
        let stated = share.facts().client_cache;
        if cache == PageCache::Direct && stated != "O_DIRECT" {
            eprintln!("SKIPPED: /var/tmp does not take O_DIRECT");
            return;
        }
        let request = || context.lane(workers(1), BLOCK, false);
        let mut lane = share.lane(request()).unwrap();
        let read = |lane: &mut Box<dyn Lane>, offset| {
            let span = Span { file: file.file, offset, length: BLOCK, generation: file.generation };
            let (before, now) = (fetched(), context.deadline.now());
            lane.submit(Tag(0), &Op::Read(span), now).unwrap();
            let mut done = Vec::new();
            lane.reap(now + Duration::from_secs(20), &mut done).unwrap();
            assert!(done[0].result.is_ok(), "{:?}", done[0].result);
            fetched() - before
        };
        let block = u64::from(BLOCK);
        let of_one_lane = [0, 0, block].map(|offset| read(&mut lane, offset));
        let mut next = share.lane(request()).unwrap();
        let of_next = read(&mut next, 0);
        match cache {
            PageCache::Direct => {
                assert_eq!((of_one_lane, of_next), ([block; 3], block), "each one alone");
            }
            PageCache::Page => {
                assert!(of_one_lane[0] > block, "read ahead: {of_one_lane:?}");
                // The next block is in memory too, but reading it may begin the next read-ahead.
                assert_eq!(of_one_lane[1], 0, "in memory by then");
                assert!(of_next >= block, "dropped before the next trial");
                assert!(stated.contains("--cache page"), "{stated}");
            }
        }
    }
}

#[test]
fn psync_on_the_usual_file_system() {
    drive_and_verify(on_disk().path(), Engine::Psync);
}

#[test]
fn io_uring_on_the_usual_file_system() {
    drive_and_verify(on_disk().path(), Engine::IoUring);
}

#[test]
fn both_engines_on_tmpfs() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    for (name, engine) in [("p", Engine::Psync), ("u", Engine::IoUring)] {
        let directory = directory.path().join(name);
        fs::create_dir(&directory).unwrap();
        drive_and_verify(&directory, engine);
        let facts = open(&directory, Some(engine)).unwrap().facts();
        assert_eq!(facts.protocol, "directory on tmpfs".into());
        assert!(facts.client_cache.contains("memory"), "{}", facts.client_cache);
    }
}

#[test]
fn both_engines_where_o_direct_is_not_taken() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    for (name, engine) in [("p", Engine::Psync), ("u", Engine::IoUring)] {
        let directory = Path::new("/run").join(name);
        fs::create_dir(&directory).unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "ramfs", "ramfs"])
            .arg(&directory)
            .status();
        assert!(mount.unwrap().success());
        let facts = open(&directory, None).unwrap().facts();
        assert_eq!(facts.protocol, "directory on ramfs".into());
        assert!(facts.client_cache.starts_with("page cache"), "{}", facts.client_cache);
        drive_and_verify(&directory, engine);
    }
}

/// A program that must end well; what it wrote.
#[track_caller]
fn shell(words: &[&str]) -> String {
    let output = std::process::Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn memory(directory: &str) -> Memory {
    open(Path::new(directory), None).unwrap().memory()
}

#[test]
fn file_systems_in_memory_are_known_as_such() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    let in_memory = |name: &str| Memory::Client(ClientMemory::FileSystem { name: name.to_owned() });
    for name in ["t", "r", "t/upper", "t/work", "o"] {
        fs::create_dir_all(Path::new("/run").join(name)).unwrap();
        match name {
            "t" => drop(shell(&["mount", "-t", "tmpfs", "none", "/run/t"])),
            "r" => drop(shell(&["mount", "-t", "ramfs", "none", "/run/r"])),
            _ => {}
        }
    }
    assert_eq!(memory("/run/t"), in_memory("tmpfs"));
    assert_eq!(memory("/run/r"), in_memory("ramfs"));
    // It takes O_DIRECT, which tmpfs below takes and does not honour.
    let layers = "lowerdir=/run/r,upperdir=/run/t/upper,workdir=/run/t/work";
    shell(&["mount", "-t", "overlay", "overlay", "-o", layers, "/run/o"]);
    assert_eq!(memory("/run/o"), Memory::Client(ClientMemory::PageCache));
}

#[test]
fn o_direct_that_is_not_honoured_is_noticed() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    if !Path::new("/dev/loop-control").exists() {
        eprintln!("skipped: no loop devices");
        return;
    }
    // Not below /run, which is memory here, as a temporary directory may be.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (options, while_cached, while_direct) in [
        ("loop", Memory::Client(ClientMemory::LoopDevice), Memory::None),
        (
            "loop,data=journal",
            Memory::Client(ClientMemory::PageCache),
            Memory::Client(ClientMemory::PageCache),
        ),
    ] {
        let (image, at) = (home.path().join("image"), home.path().join("at"));
        fs::create_dir_all(&at).unwrap();
        fs::File::create(&image).unwrap().set_len(32 * MIB).unwrap();
        let (image, at) = (image.to_str().unwrap(), at.to_str().unwrap());
        shell(&["mkfs.ext4", "-q", image]);
        // The device goes with the mount.
        shell(&["mount", "-o", options, image, at]);
        let device = shell(&["findmnt", "--noheadings", "--output", "SOURCE", at]);
        assert_eq!(memory(at), while_cached, "{options}");
        let layers = format!("lowerdir=/run,upperdir={at}/upper,workdir={at}/work");
        for name in ["upper", "work", "top"] {
            fs::create_dir(Path::new(at).join(name)).unwrap();
        }
        let top = format!("{at}/top");
        shell(&["mount", "-t", "overlay", "overlay", "-o", &layers, &top]);
        assert_eq!(memory(&top), while_cached, "{options}, below an overlay");
        shell(&["umount", &top]);
        shell(&["losetup", "--direct-io=on", &device]);
        assert_eq!(memory(at), while_direct, "{options}, read directly");
        shell(&["umount", at]);
    }
}

#[test]
fn what_others_did_to_the_file_is_found() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let directory = tempfile::tempdir().unwrap();
        let share = open(directory.path(), Some(engine)).unwrap();
        let context = context();
        let files = prepare(&share, &context, MIB);
        let raw =
            fs::OpenOptions::new().write(true).read(true).open(directory.path().join("write"));
        let raw = raw.unwrap();
        let mut page = [0; 4096];
        raw.read_exact_at(&mut page, 8 * 4096).unwrap();
        raw.write_all_at(&page, 20 * 4096).unwrap(); // page 20 holds page 8
        raw.write_all_at(&[1], 30 * 4096 + 777).unwrap();
        raw.write_all_at(&[2; 4096], 31 * 4096).unwrap();
        raw.sync_all().unwrap();
        let check = |laid_out| verify(&share, &context, laid_out, MIB, None, &mut |_| {}).unwrap();
        let found = check(files.write[0]);
        assert_eq!((found.stale, found.misplaced, found.corrupt), (0, 1, 2), "{found:?}");
        let found = check(LaidOut { generation: 2, ..files.read[0] });
        assert_eq!((found.stale, found.misplaced, found.corrupt), (256, 0, 0), "{found:?}");
        // Reads that verify count what they meet, and go on.
        let job = PatternJob { size: Bytes(MIB), verify: true, ..job(Pattern::SequentialRead) };
        let swapped = Files { read: files.write.clone(), write: files.read.clone() };
        let (result, _) = run(&share, &spec(&context, swapped, 2, job), None).unwrap();
        assert_eq!(result.ended, Ended::Complete);
        assert!(result.errors[&OpKind::READ][&ErrorKind::CorruptContent] > 0);
        assert!(result.errors[&OpKind::READ][&ErrorKind::MisplacedContent] > 0);
    }
}

#[test]
fn a_file_cut_short_gives_short_reads() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let directory = tempfile::tempdir().unwrap();
        let share = open(directory.path(), Some(engine)).unwrap();
        let context = context();
        let files = prepare(&share, &context, MIB);
        fs::File::options()
            .write(true)
            .open(directory.path().join("read"))
            .unwrap()
            .set_len(4096)
            .unwrap();
        let job = job(Pattern::SequentialRead);
        let (result, _) = run(&share, &spec(&context, files.clone(), 3, job), None).unwrap();
        assert!(result.errors[&OpKind::READ][&ErrorKind::Short] > 0, "{engine:?}");
        let failure = verify(&share, &context, files.read[0], MIB, None, &mut |_| {}).unwrap_err();
        assert_eq!(failure.cause, Cause::Trial);
    }
}

#[test]
fn a_full_file_system_is_told_as_such() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    let mount = stage.tmpfs("/run/full", MIB).unwrap();
    for engine in [Engine::Psync, Engine::IoUring] {
        let share = open(mount.path(), Some(engine)).unwrap();
        assert!(share.facts().space_bytes.0 <= MIB);
        let mut namespace = share.namespace().unwrap();
        let laid_out = LaidOut { file: namespace.create("data").unwrap(), generation: 0 };
        let failure = lay_out(&share, &context(), laid_out, 4 * MIB, &mut |_| {}).unwrap_err();
        assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
        assert_eq!(open(mount.path(), None).err().map(|f| f.cause), Some(Cause::NoSpace));
        namespace.close(laid_out.file);
        namespace.remove_file("data").unwrap();
    }
}

#[test]
fn refusals_name_the_target_and_a_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"x").unwrap();
    for path in [directory.path().join("missing"), file, "/proc/self".into()] {
        let Err(failure) = open(&path, None) else { panic!("{} was opened", path.display()) };
        assert_eq!(failure.cause, Cause::NotPermitted);
        assert!(failure.on.contains(&path.display().to_string()) && !failure.next.is_empty());
    }
}

#[test]
fn opening_leaves_nothing_behind() {
    for parent in [std::env::temp_dir(), "/dev/shm".into()] {
        let directory = tempfile::tempdir_in(parent).unwrap();
        open(directory.path(), None).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn names_are_kept_to_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    fs::write(&precious, b"precious").unwrap();
    let share = open(directory.path(), None).unwrap();
    let mut names = share.namespace().unwrap();

    names.make_directory("ä b").unwrap();
    assert!(names.make_directory("ä b").is_err());
    names.write_small("ä b/lease", b"a longer text").unwrap();
    names.write_small("ä b/lease", b"short").unwrap();
    assert_eq!(names.read_small("ä b/lease", 100).unwrap(), b"short");
    assert_eq!(names.read_small("ä b/lease", 2).unwrap(), b"sh");
    let first = names.create("ä b/data").unwrap();
    assert!(names.create("ä b/data").is_err(), "it exists");
    let again = names.open("ä b/data").unwrap();
    assert_ne!(first, again);

    symlink(&precious, directory.path().join("ä b/link")).unwrap();
    symlink(outside.path(), directory.path().join("directory-link")).unwrap();
    assert!(names.open("ä b/link").is_err());
    assert!(names.create("ä b/link").is_err());
    assert!(names.write_small("ä b/link", b"gone").is_err());
    assert!(names.read_small("ä b/link", 10).is_err());
    assert!(names.list("directory-link").is_err());
    let mut listed: Vec<_> =
        names.list("ä b").unwrap().into_iter().map(|e| (e.name, e.kind)).collect();
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("data".to_owned(), EntryKind::File),
        ("lease".to_owned(), EntryKind::File),
        ("link".to_owned(), EntryKind::Other),
    ];
    assert_eq!(listed, expected);
    assert!(names.remove_directory("ä b").is_err(), "it is not empty");
    for name in ["data", "lease", "link"] {
        names.remove_file(&format!("ä b/{name}")).unwrap();
    }
    names.remove_directory("ä b").unwrap();
    names.remove_file("directory-link").unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert!(names.list("").unwrap().is_empty());
    let space = names.space().unwrap();
    assert!(0 < space.available && space.available <= space.total);
}

/// Whatever lies under the names of a run's files.
#[test]
fn what_is_planted_under_a_name_is_not_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let precious = directory.path().join("precious");
    fs::write(&precious, b"precious").unwrap();
    let share = open(directory.path(), None).unwrap();
    let mut names = share.namespace().unwrap();
    names.make_directory("run").unwrap();
    let lease = directory.path().join("run/lease");
    let link = || fs::hard_link(&precious, &lease).unwrap();
    let symlink = || symlink(&precious, &lease).unwrap();
    let pipe = || nix::unistd::mkfifo(&lease, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let plants: [(&str, &dyn Fn()); 3] =
        [("hard link", &link), ("link", &symlink), ("pipe", &pipe)];
    for (what, plant) in plants {
        plant();
        assert!(names.write_small("run/lease", b"gone").is_err(), "{what}");
        assert!(names.read_small("run/lease", 10).is_err(), "{what}");
        assert!(names.create("run/lease").is_err(), "{what}");
        assert!(what == "hard link" || names.open("run/lease").is_err(), "{what}");
        names.remove_file("run/lease").unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious", "{what}");
    }
    names.remove_directory("run").unwrap();
}

#[test]
fn a_directory_stays_the_one_that_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let share = open(directory.path(), None).unwrap();
    let mut names = share.namespace().unwrap();
    names.make_directory("run").unwrap();
    fs::rename(at("run"), at("elsewhere")).unwrap();
    fs::create_dir(at("run")).unwrap();
    fs::write(at("run/lease"), b"precious").unwrap();
    // Another handle of the same share knows it too: one is made again after a failure.
    for mut names in [names, share.namespace().unwrap()] {
        names.write_small("run/lease", b"ours").unwrap();
        assert_eq!(fs::read(at("elsewhere/lease")).unwrap(), b"ours");
        names.remove_file("run/lease").unwrap();
        fs::rename(at("run/lease"), at("kept")).unwrap();
        let failure = names.remove_directory("run").unwrap_err();
        assert!(failure.happened.contains("replaced during the run"), "{failure}");
        fs::rename(at("kept"), at("run/lease")).unwrap();
    }
    assert_eq!(fs::read(at("run/lease")).unwrap(), b"precious");
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 0);
}

#[test]
fn nothing_is_changed_in_a_directory_of_another_user() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED: only root can make a directory of another user");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("lease"), b"theirs").unwrap();
    chown(&run, Some(1234), None).unwrap();
    let share = open(directory.path(), None).unwrap();
    let mut names = share.namespace().unwrap();
    assert_eq!(names.list("run").unwrap().len(), 1);
    let refused = [
        names.write_small("run/lease", b"gone").unwrap_err(),
        names.create("run/data").unwrap_err(),
        names.make_directory("run/more").unwrap_err(),
        names.remove_file("run/lease").unwrap_err(),
    ];
    assert!(refused.iter().all(|f| f.happened.contains("belongs to user 1234")), "{refused:?}");
    // A file of somebody else in it is not its owner's word.
    assert!(names.read_small("run/lease", 10).is_err());
    fs::remove_file(run.join("lease")).unwrap();
    assert!(names.remove_directory("run").unwrap_err().happened.contains("user 1234"));
}

#[test]
fn a_lane_knows_the_files_that_were_open() {
    let directory = tempfile::tempdir().unwrap();
    for engine in [Engine::Psync, Engine::IoUring] {
        let share = open(directory.path(), Some(engine)).unwrap();
        let files = common::files();
        let job = job(Pattern::RandomRead);
        let (result, _) = run(&share, &spec(&context(), files, 1, job), None).unwrap();
        assert!(matches!(result.ended, Ended::Failed(e) if e.kind == ErrorKind::Gone));
    }
}

/// What this process has open below a directory.
fn open_below(directory: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    links.filter(|fd| fs::read_link(fd.path()).is_ok_and(|at| at.starts_with(directory))).count()
}

/// A trial may end within a copied file. On a mount of NFS its directory could not be removed while it was open.
#[test]
fn what_a_trial_left_open_is_closed() {
    for (engine, depth) in [(Engine::Psync, 1), (Engine::Psync, 2), (Engine::IoUring, 2)] {
        let there = tempfile::tempdir().unwrap();
        let path = there.path().canonicalize().unwrap();
        let share = open(&path, Some(engine)).unwrap();
        share.namespace().unwrap().make_directory("own").unwrap();
        let context = context();
        let (file, left) = (context.paths.add("own/left"), path.join("own/left"));
        let mut lane = share.lane(context.lane(workers(depth), 4096, false)).unwrap();
        let now = context.deadline.now();
        lane.submit(Tag(0), &Op::Create(file), now).unwrap();
        let mut done = Vec::new();
        lane.reap(now + Duration::from_secs(20), &mut done).unwrap();
        assert!(done[0].result.is_ok(), "{:?}", done[0].result);
        assert_eq!(open_below(&left), 1, "{engine:?}");
        lane.close_own();
        drop(lane);
        assert_eq!(open_below(&left), 0, "{engine:?} at depth {depth}");
    }
}

/// So that it can be unmounted; and what is opened again is the same, or nothing.
#[test]
fn a_directory_is_let_go_of_and_taken_up_again() {
    for engine in [Engine::Psync, Engine::IoUring] {
        let there = tempfile::tempdir().unwrap();
        let path = there.path().canonicalize().unwrap();
        let share = open(&path, Some(engine)).unwrap();
        let context = context();
        share.namespace().unwrap().make_directory("own").unwrap();
        let mut namespace = share.namespace().unwrap();
        let file = LaidOut { file: namespace.create("own/data").unwrap(), generation: 1 };
        lay_out(&share, &context, file, MIB, &mut |_| {}).unwrap();
        assert!(open_below(&path) > 2);
        share.release().unwrap();
        share.release().unwrap();
        assert_eq!(open_below(&path), 0);
        assert!(namespace.list("own").unwrap_err().to_string().contains("has been closed"));
        share.resume().unwrap();
        share.resume().unwrap();
        // The same number, the same content, and still to be written.
        let read = verify(&share, &context, file, MIB, None, &mut |_| {}).unwrap();
        assert_eq!((read.bytes, read.stale, read.misplaced, read.corrupt), (MIB, 0, 0, 0));
        lay_out(&share, &context, LaidOut { generation: 2, ..file }, MIB, &mut |_| {}).unwrap();
        // Somebody puts another directory in its place meanwhile.
        share.release().unwrap();
        fs::rename(path.join("own"), path.join("kept")).unwrap();
        fs::create_dir(path.join("own")).unwrap();
        fs::write(path.join("own/data"), "the user's").unwrap();
        let failure = share.resume().unwrap_err();
        assert!(failure.happened.contains("replaced during the run"), "{failure}");
        assert!(namespace.remove_file("own/data").is_err());
        assert_eq!(fs::read(path.join("own/data")).unwrap(), b"the user's");
        // Or another file; and a link leads nowhere.
        share.release().unwrap();
        fs::remove_dir_all(path.join("own")).unwrap();
        fs::rename(path.join("kept"), path.join("own")).unwrap();
        fs::rename(path.join("own/data"), path.join("own/before")).unwrap();
        fs::copy(path.join("own/before"), path.join("own/data")).unwrap();
        assert!(share.resume().is_err());
    }
}
