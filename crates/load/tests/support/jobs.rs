//! Jobs on any share, and files of a user's to be copied.
#![allow(dead_code)]

use plimsoll_load::{
    Content, FileSet, Jobs, LocalFiles, Manifest, Namespace, OpenOptions, OperationContext,
    PartDone, Passwords, RunContext, Share, is_tree, remove_tree,
};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Clock, CopyJob, DataClass, Deadline, Event, Failure, Flag, GeneratedData, Job, Length, Method,
    OpKind, Part, PointSpec, Transfer, Workload,
};
use plimsoll_testkit::servers::samba::PASSWORD;
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU16;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The run's directory.
pub const RUN: &str = "run";

/// A run on a share: what the runner does around jobs.
pub struct Run {
    pub jobs: Jobs,
    pub paths: Arc<plimsoll_load::Paths>,
    names: Box<dyn Namespace>,
    points: u32,
}

struct Context<'a>(&'a mut dyn Namespace);

impl RunContext for Context<'_> {
    fn names(&mut self) -> Result<(&mut dyn Namespace, &str), Failure> {
        Ok((&mut *self.0, RUN))
    }

    fn event(&mut self, _event: Event) {}
}

impl Run {
    pub fn new(share: Arc<dyn Share>, clock: Arc<dyn Clock>) -> Run {
        let mut names = share.namespace().unwrap();
        names.make_directory(RUN).unwrap();
        let paths = Arc::default();
        let context = OperationContext {
            content: Arc::new(Content::new(super::STUDY)),
            paths: Arc::clone(&paths),
            deadline: Deadline::new(clock, Arc::default()),
            operation_timeout: Duration::from_secs(20),
            stalls: Default::default(),
        };
        Run { jobs: Jobs::new(share, context, None), paths, names, points: 0 }
    }

    pub fn prepare(&mut self, workload: &Workload) -> Result<Vec<Flag>, Failure> {
        self.jobs.claim(std::slice::from_ref(workload))?;
        let mut flags = Vec::new();
        loop {
            let step = self.jobs.prepare(&mut Context(&mut *self.names))?;
            flags.extend(step.flags);
            if !step.more {
                return Ok(flags);
            }
        }
    }

    /// One point; a failure is of what comes before the load.
    pub fn point(&mut self, workload: &Workload) -> Result<Vec<PartDone>, Failure> {
        self.points += 1;
        let spec = PointSpec {
            number: self.points,
            subject: 0,
            workload: workload.clone(),
            rotation: 0,
            window_seconds: 0.01,
            left_seconds: 1e4,
            seed: 1,
        };
        self.jobs.ready(&spec, &mut Context(&mut *self.names))?;
        self.jobs.run(None, None)?;
        Ok(self.jobs.finish(&mut Context(&mut *self.names)))
    }

    /// One point in which nothing goes wrong.
    pub fn good(&mut self, workload: &Workload) -> Vec<PartDone> {
        let parts = self.point(workload).unwrap_or_else(|failure| panic!("{failure}"));
        for part in &parts {
            assert_eq!(part.team.ended, plimsoll_load::Ended::Complete, "{:?}", errors(part));
            assert!(part.team.first_error.is_none(), "{:?}", errors(part));
            assert!(part.found.as_ref().is_ok_and(Vec::is_empty));
        }
        parts
    }

    /// The trees that are there now.
    pub fn trees(&mut self) -> Vec<String> {
        let entries = self.names.list(RUN).unwrap();
        let mut trees: Vec<_> = entries.into_iter().filter(is_tree).map(|e| e.name).collect();
        trees.sort();
        trees
    }

    /// Removes all that jobs made; nothing else may be there.
    pub fn close(mut self) {
        for tree in self.trees() {
            let left = remove_tree(&mut *self.names, &format!("{RUN}/{tree}"), &mut || {});
            assert_eq!(left.unwrap(), [""; 0]);
        }
        for file in self.jobs.open_files() {
            self.names.close(file);
        }
        drop(self.jobs);
        for entry in self.names.list(RUN).unwrap() {
            self.names.remove_file(&format!("{RUN}/{}", entry.name)).unwrap();
        }
        self.names.remove_directory(RUN).unwrap();
    }
}

pub fn errors(part: &PartDone) -> &Option<plimsoll_load::OpError> {
    &part.team.first_error
}

/// What completed of a kind.
pub fn done(part: &PartDone, kind: OpKind) -> u64 {
    part.team.total.count(kind).operations
}

/// A target that test servers serve.
pub fn opened(url: &str) -> Arc<dyn Share> {
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    plimsoll_load::open(&url.parse().unwrap(), &options).unwrap()
}

pub fn part(job: Job, workers: u16, depth: u16) -> Part {
    let nonzero = |n| NonZeroU16::new(n).unwrap();
    Part::closed(job, nonzero(workers), nonzero(depth))
}

/// Until it is done, a minute at most.
pub fn once(part: Part) -> Workload {
    Workload::new(part, Length::UntilDone { at_most_seconds: 60.0 })
}

pub fn copy(data: &Path, transfer: Transfer, block: u64) -> CopyJob {
    let dataset = LocalFiles::list(data.to_str().unwrap()).unwrap().dataset();
    CopyJob {
        dataset,
        transfer,
        method: Method::default(),
        block: Bytes(block),
        verify: transfer == Transfer::Down,
    }
}

/// The user's files, in the order in which they are copied: their places there and their bytes.
pub fn user_files() -> [(&'static str, Vec<u8>); 6] {
    let bytes = |length: usize, seed: usize| -> Vec<u8> {
        (0..length).map(|i| (i * 31 + i / 251 + seed) as u8).collect()
    };
    [
        ("d000000/f000000", bytes(10, 1)),
        ("d000000/f000001", bytes(10_240, 2)),
        ("d000000/f000002", bytes(4096, 3)),
        ("d000001/f000003", Vec::new()),
        ("d000001/f000004", bytes(300_001, 4)),
        ("d000002/f000005", bytes(4097, 5)),
    ]
}

/// A directory with these files under names that are trouble, and with things that are no files.
pub fn user_directory() -> tempfile::TempDir {
    let there = tempfile::tempdir().unwrap();
    let names = [
        " -rf *",
        "..\u{202e}\n\"'\\",
        "sp ace",
        "sub/a:b|c?",
        "sub/\u{1f4f7} photo",
        "sub/deep/x",
    ]
    .map(str::to_owned);
    fs::create_dir_all(there.path().join("sub/deep")).unwrap();
    for (name, (_, bytes)) in names.iter().zip(user_files()) {
        fs::write(there.path().join(name), bytes).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", there.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", there.path().join("sub/directory")).unwrap();
    let socket = there.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(socket).unwrap());
    there
}

/// Copies up with several workers, and down again with everything compared; what is on the server's
/// disk below `root` is the user's bytes. Twice, to see that points follow each other.
pub fn copy_up_and_down(share: Arc<dyn Share>, root: &Path) {
    let data = user_directory();
    let clock = Arc::new(plimsoll_load::SystemClock::new());
    let mut run = Run::new(share, clock);
    let up = once(part(Job::Copy(copy(data.path(), Transfer::Up, 4096)), 3, 4));
    let flags = run.prepare(&up).unwrap();
    assert!(matches!(flags[..], [Flag::EntriesSkipped { count: 3, .. }]), "{flags:?}");
    for tree in ["copy-0-0", "copy-0-1"] {
        let parts = run.good(&up);
        assert_eq!(run.trees(), [tree], "the one before is removed");
        for (place, bytes) in user_files() {
            let on_disk = fs::read(root.join(RUN).join(tree).join(place)).unwrap();
            assert!(on_disk == bytes, "{place}");
        }
        let total = parts[0].team.total.total();
        assert_eq!(total.bytes, user_files().iter().map(|f| f.1.len() as u64).sum::<u64>());
        let files = [OpKind::CLOSE, OpKind::PUT].map(|kind| done(&parts[0], kind));
        assert_eq!(files.iter().sum::<u64>(), 6);
        assert_eq!(done(&parts[0], OpKind::MAKE_DIRECTORY), 4);
    }
    let down = once(part(Job::Copy(copy(data.path(), Transfer::Down, 4096)), 3, 4));
    run.prepare(&down).unwrap();
    for _ in 0..2 {
        let parts = run.good(&down);
        assert_eq!(parts[0].team.total.total().bytes, 318_444);
        assert_eq!(run.trees(), ["copy-1-0"], "what was copied up is gone");
    }
    // Bytes on the server that are not the user's are found.
    let spoilt = root.join(RUN).join("copy-1-0/d000001/f000004");
    let mut bytes = fs::read(&spoilt).unwrap();
    bytes[200_000] ^= 1;
    fs::write(&spoilt, bytes).unwrap();
    let parts = run.point(&down).unwrap();
    let error = errors(&parts[0]).as_ref().expect("it differs");
    assert!(error.kind.is_content() && error.detail.contains("byte 200000"), "{}", error.detail);
    run.close();
}

/// Every way and method of a copy: each leaves the files of the dataset, with their bytes, and what was
/// asked of the server for it is counted.
pub fn every_way_and_method(share: Arc<dyn Share>, root: &Path, sets_modes: bool) {
    let pipelined = Method::Pipelined { files: NonZeroU16::new(16).unwrap() };
    every_way(share, root, sets_modes, &[Method::Rsync, pipelined]);
}

/// The same by rsync itself; then what plimsoll has copied as rsync does and what rsync has copied are the
/// same to rsync, in content, time and mode.
pub fn every_way_by_rsync(share: Arc<dyn Share>, root: &Path) {
    every_way(share.clone(), root, true, &[Method::ByRsync]);
    let data = GeneratedData {
        class: DataClass::Source,
        count: 150,
        mean_bytes: 20_000.0,
        scale: 1.0,
        seed: 44,
    };
    let (dataset, block) = (data.dataset(), Bytes(8192));
    let mut run = Run::new(share, Arc::new(plimsoll_load::SystemClock::new()));
    // Each is moved away before the next takes its place.
    let kept = tempfile::tempdir().unwrap();
    let trees = [(Method::Rsync, "as"), (Method::ByRsync, "by")].map(|(method, name)| {
        let transfer = Transfer::Up;
        let job = CopyJob { dataset: dataset.clone(), transfer, method, block, verify: false };
        let workload = once(part(Job::Copy(job), 1, 4));
        run.prepare(&workload).unwrap();
        run.good(&workload);
        let [tree] = &run.trees()[..] else { panic!("{:?}", run.trees()) };
        let place = kept.path().join(name);
        fs::rename(root.join(RUN).join(tree), &place).unwrap();
        place
    });
    let compare = |one: &Path, other: &Path| {
        let path = |tree: &Path| format!("{}/", tree.display());
        let output = Command::new("rsync")
            .args(["-anci", "--delete", &path(one), &path(other)])
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(compare(&trees[0], &trees[1]), "");
    assert_eq!(compare(&trees[1], &trees[0]), "");
    // What differs is seen.
    let (_, file) = files_below(&trees[0]).remove(0);
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(&file, mode).unwrap();
    assert_eq!(compare(&trees[0], &trees[1]).lines().count(), 1);
    run.close();
}

fn every_way(share: Arc<dyn Share>, root: &Path, sets_modes: bool, methods: &[Method]) {
    let data = GeneratedData {
        class: DataClass::Source,
        count: 250,
        mean_bytes: 6000.0,
        scale: 1.0,
        seed: 43,
    };
    let (dataset, block) = (data.dataset(), Bytes(8192));
    let (files, directories) = (dataset.files, dataset.directories);
    let mut run = Run::new(share, Arc::new(plimsoll_load::SystemClock::new()));
    let (manifest, content) =
        (Manifest::new(&dataset, &data).unwrap(), Content::of_generated(data.seed, true));
    for (transfer, method) in
        Transfer::ALL.iter().flat_map(|way| methods.iter().map(|m| (*way, *m)))
    {
        let job = CopyJob { dataset: dataset.clone(), transfer, method, block, verify: true };
        let (changed, rsync) = (job.changed_files(), method == Method::Rsync);
        assert_eq!(changed, 2);
        let by_rsync = method == Method::ByRsync;
        let workload = once(part(Job::Copy(job), if by_rsync { 1 } else { 2 }, 16));
        run.prepare(&workload).unwrap();
        for _ in 0..2 {
            let parts = run.good(&workload);
            let count = |kind| done(&parts[0], kind);
            let ended = count(OpKind::CLOSE) + count(OpKind::PUT) + count(OpKind::GET);
            let what = format!("{transfer:?} {method:?}: {:?}", parts[0].team.total.kinds.keys());
            let copied = if transfer == Transfer::Update { changed } else { files };
            assert_eq!(ended, copied, "{what}");
            let lookups = match (transfer, rsync) {
                (Transfer::Up, true) => files + directories + 1,
                (Transfer::Update, true) => files + directories + 1,
                (Transfer::Update, false) if !by_rsync => files,
                _ => 0,
            };
            assert_eq!(count(OpKind::LOOKUP), lookups, "{what}");
            let renamed = match transfer {
                Transfer::Up if rsync => files,
                Transfer::Update if !by_rsync => changed,
                _ => 0,
            };
            assert_eq!(count(OpKind::RENAME), renamed, "{what}");
            let listed =
                if (transfer, rsync) == (Transfer::Down, true) { directories + 1 } else { 0 };
            assert_eq!(count(OpKind::READ_DIRECTORY), listed, "{what}");
            if by_rsync {
                assert_eq!(count(OpKind::CLOSE), 0, "{what}");
                assert!(parts[0].team.cpu > Duration::ZERO, "rsync's own");
            }
            if rsync {
                let set = count(OpKind::SET_ATTRIBUTES);
                let touched = set - 3 * renamed;
                let expected = match transfer {
                    // Each directory when it is made, and again when it is full.
                    Transfer::Up => 2 * (directories + 1)..=2 * (directories + 1),
                    Transfer::Update => 1..=changed,
                    Transfer::Down => 0..=0,
                };
                assert!(expected.contains(&touched), "{touched} directories: {what}");
                assert_eq!(count(OpKind::PUT) + count(OpKind::GET), 0, "{what}");
            }
        }
        assert_eq!(
            run.trees().len(),
            1,
            "one tree for all that read and update, one that was copied up"
        );
        // As it lies on the server's disk.
        let mut trees = run.trees();
        trees.sort_by_key(|tree| tree.split('-').nth(1).unwrap().parse::<usize>().unwrap());
        let tree = root.join(RUN).join(trees.last().unwrap());
        let found = files_below(&tree);
        assert_eq!(found.len() as u64, files);
        for (number, path) in &found {
            let bytes = fs::read(path).unwrap();
            assert_eq!(bytes.len() as u64, manifest.size(*number), "{path:?}");
            content.check(plimsoll_load::FileId(0), *number as u32, 0, &bytes).unwrap();
            let name = path.file_name().unwrap().to_string_lossy();
            assert!(!name.starts_with('.') && !name.ends_with(".new"), "{path:?} is left");
            if transfer == Transfer::Up && matches!(method, Method::Rsync | Method::ByRsync) {
                let set = fs::metadata(path).unwrap();
                assert_eq!(set.mtime(), 1_500_000_000, "{path:?}");
                assert!(!sets_modes || set.mode() & 0o777 == 0o644, "{path:?}");
            }
        }
    }
    run.close();
}

/// A source tree that is generated, and every way in which a file of it can be wrong afterwards: what is on
/// the server's disk below `root` has the right sizes and bytes, and nothing else is taken for it.
pub fn generated_up_and_down(share: Arc<dyn Share>, root: &Path) {
    let data = GeneratedData {
        class: DataClass::Source,
        count: 150,
        mean_bytes: 6000.0,
        scale: 1.0,
        seed: 42,
    };
    let (dataset, block) = (data.dataset(), Bytes(4096));
    let job = |transfer| CopyJob {
        dataset: dataset.clone(),
        transfer,
        method: Method::default(),
        block,
        verify: true,
    };
    let mut run = Run::new(share, Arc::new(plimsoll_load::SystemClock::new()));
    let up = once(part(Job::Copy(job(Transfer::Up)), 3, 4));
    assert_eq!(run.prepare(&up).unwrap(), vec![]);
    for tree in ["copy-0-0", "copy-0-1"] {
        let parts = run.good(&up);
        assert_eq!(run.trees(), [tree], "the one before is removed");
        assert_eq!(parts[0].team.total.total().bytes, 900_000);
        assert_eq!(done(&parts[0], OpKind::MAKE_DIRECTORY), 1 + dataset.directories);
    }
    let down = once(part(Job::Copy(job(Transfer::Down)), 3, 4));
    run.prepare(&down).unwrap();
    for _ in 0..2 {
        let parts = run.good(&down);
        let files = [OpKind::CLOSE, OpKind::GET].map(|kind| done(&parts[0], kind));
        assert_eq!((files.iter().sum::<u64>(), parts[0].team.total.total().bytes), (150, 900_000));
    }
    // Looked at from outside: the sizes of the manifest, each file's bytes its own.
    let (manifest, content) =
        (Manifest::new(&dataset, &data).unwrap(), Content::of_generated(data.seed, true));
    let tree = root.join(RUN).join("copy-1-0");
    let mut found = files_below(&tree);
    found.sort();
    assert_eq!(found.len(), 150);
    let mut depths = BTreeSet::new();
    for (number, path) in &found {
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes.len() as u64, manifest.size(*number), "{path:?}");
        content.check(plimsoll_load::FileId(0), *number as u32, 0, &bytes).unwrap();
        depths.insert(path.strip_prefix(&tree).unwrap().components().count());
    }
    assert!(depths.len() > 2, "directories lie in directories: {depths:?}");
    // One wrong byte; another file's bytes; bytes that are missing.
    let largest = found.iter().max_by_key(|(number, _)| manifest.size(*number)).unwrap();
    let whole = fs::read(&largest.1).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() - 1] ^= 1;
    let span = plimsoll_load::Span {
        file: plimsoll_load::FileId(0),
        offset: 0,
        length: whole.len() as u32,
        generation: largest.0 as u32 + 1,
    };
    let other = content.writer(span.length).fill(&span).to_vec();
    for wrong in [&flipped[..], &other, &whole[..whole.len() - 1]] {
        fs::write(&largest.1, wrong).unwrap();
        let parts = run.point(&down).unwrap();
        let error = errors(&parts[0]).as_ref().expect("it differs");
        let is_short = wrong.len() < whole.len();
        assert!(error.kind.is_content() != is_short, "{:?}: {}", error.kind, error.detail);
    }
    fs::write(&largest.1, whole).unwrap();
    run.good(&down);
    run.close();
}

/// The files of a tree, with the numbers in their names.
fn files_below(directory: &Path) -> Vec<(usize, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            let name = entry.file_name().into_string().unwrap();
            found.push((name[1..7].parse().unwrap(), entry.path()));
        }
    }
    found
}

/// Walks a tree, once and again and again beside another job.
pub fn scan(share: Arc<dyn Share>) {
    let job =
        plimsoll_model::ScanJob { directories: 7, files: 30, ..plimsoll_model::ScanJob::default() };
    let scan = once(part(Job::Scan(job), 3, 4));
    let mut run = Run::new(share, Arc::new(plimsoll_load::SystemClock::new()));
    run.prepare(&scan).unwrap();
    for _ in 0..2 {
        let parts = run.good(&scan);
        assert_eq!(done(&parts[0], OpKind::LOOKUP), 7 + 7 * 30);
        assert_eq!(done(&parts[0], OpKind::READ_DIRECTORY), 1 + 7);
    }
    run.close();
}
