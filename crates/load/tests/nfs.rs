//! An NFS target against a real server: what is written is on the server's disk byte for byte,
//! reads are checked, and whatever is refused says why and what to do.

mod support;

use plimsoll_load::{
    EntryKind, FileId, Found, NfsShare, Op, OpenOptions, Share, Span, Tag, TimeLimits,
};
use plimsoll_model::{Cause, Clock, ErrorKind, Failure, Flag, NfsTarget, Stability, Target};
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig, Squash};
use plimsoll_testkit::{Need, Stage};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, names, reads, spans, whole, writes};

fn target(url: &str) -> NfsTarget {
    match url.parse() {
        Ok(Target::Nfs(target)) => target,
        other => panic!("{url}: {other:?}"),
    }
}

fn open(url: &str) -> Result<NfsShare, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    NfsShare::open(&target(url), url, &OpenOptions { limits, ..OpenOptions::default() })
}

fn refused(url: &str) -> Failure {
    open(url).map(drop).expect_err(url)
}

fn serve(stage: &Stage, export: Export) -> Ganesha {
    Ganesha::start(stage, GaneshaConfig::one(export)).unwrap()
}

#[test]
fn what_is_written_is_on_the_servers_disk() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("my films Übung"));
    let disk = server.directory("my films Übung").unwrap().to_owned();
    for url in [server.url("my films Übung"), server.url_with_ports("my films Übung")] {
        let share = open(&url).unwrap();
        let facts = share.facts();
        assert_eq!(facts.protocol, "NFSv3 over TCP");
        assert!(facts.space_bytes.1 > 0 && facts.read_size_bytes >= 65536, "{facts:?}");
        let mut names_below = share.namespace().unwrap();
        names_below.make_directory("run").unwrap();
        // Small and large blocks, copied and handed over, unstable and stable, deep and shallow.
        let cases = [
            (4096, 32, Stability::Unstable),
            (4096, 1, Stability::FileSync),
            (1 << 20, 4, Stability::Unstable),
            (65536, 32, Stability::FileSync),
            (4096, 8, Stability::DataSync),
        ];
        for (i, (block, depth, stability)) in cases.into_iter().enumerate() {
            let path = format!("run/file {i}");
            let file = names_below.create(&path).unwrap();
            let size = u64::from(block) * 200;
            let pieces = spans(file, 3, size, block);
            let mut rig = Rig::new(&share, depth, block);
            assert_eq!(rig.run_all(&writes(&pieces, stability)), size);
            assert_eq!(rig.run_all(&[Op::Flush(file)]), 0);
            assert_on_disk(&disk.join(&path), file, 3, size);
            assert_eq!(rig.run_all(&reads(&pieces)), size);
            names_below.close(file);
            names_below.remove_file(&path).unwrap();
        }
        names_below.remove_directory("run").unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
    }
}

#[test]
fn another_client_reads_what_was_written_and_the_other_way_round() {
    const SIZE: u32 = 3 << 20;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let server = serve(&stage, Export::directory("data"));
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("ours").unwrap();
    let mut rig = Rig::new(&share, 4, 65536);
    rig.run_all(&writes(&spans(file, 0, SIZE.into(), 65536), Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    let url = server.libnfs_url("data", "ours");
    let read = Command::new("nfs-cat").arg(&url).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(read.stdout == whole(file, 0, SIZE), "nfs-cat read something else");

    // The next file that is opened has the next number.
    let theirs = FileId(file.0 + 1);
    let local = Path::new("/run/local");
    std::fs::write(local, whole(theirs, 0, SIZE)).unwrap();
    let url = server.libnfs_url("data", "theirs");
    let copied = Command::new("nfs-cp").arg(local).arg(&url).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(namespace.open("theirs").unwrap(), theirs);
    let mut rig = Rig::new(&share, 4, 65536);
    rig.run_all(&reads(&spans(theirs, 0, SIZE.into(), 65536)));
}

/// Another user of the server puts another directory in the place of a run's.
#[test]
fn a_directory_stays_the_one_that_was_looked_up() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    let precious = |at: &str| {
        std::fs::create_dir(disk.join(at)).unwrap();
        std::fs::write(disk.join(at).join("lease"), "precious").unwrap();
    };
    let swap = |a: &str, b: &str| {
        let (a, b, between) = (disk.join(a), disk.join(b), disk.join("between"));
        std::fs::rename(&a, &between).unwrap();
        std::fs::rename(&b, &a).unwrap();
        std::fs::rename(&between, &b).unwrap();
    };
    precious("films");
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("run").unwrap();
    swap("run", "films");
    // Whatever connection it is done by.
    for mut namespace in [namespace, share.namespace().unwrap()] {
        namespace.write_small("run/lease", b"ours").unwrap();
        assert_eq!(std::fs::read(disk.join("films/lease")).unwrap(), b"ours");
        assert_eq!(namespace.read_small("run/lease", 100).unwrap(), b"ours");
        namespace.remove_file("run/lease").unwrap();
        // By the look before, or by the server, which may not have noticed yet.
        namespace.remove_directory("run").unwrap_err();
        assert_eq!(std::fs::read(disk.join("run/lease")).unwrap(), b"precious");
    }
    swap("run", "films");
    std::fs::hard_link(disk.join("films/lease"), disk.join("run/lease")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let failure = namespace.write_small("run/lease", b"ours").unwrap_err();
    assert!(failure.happened.contains("a second name (hard link)"), "{failure}");
    namespace.remove_file("run/lease").unwrap();
    namespace.remove_directory("run").unwrap();
    assert_eq!(std::fs::read(disk.join("films/lease")).unwrap(), b"precious");
    assert_eq!(names(&mut *namespace, ""), ["films"]);
}

#[test]
fn operations_longer_than_the_transfer_size_are_split() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    let url = format!("{}?rsize=65536&wsize=5000", server.url("data"));
    let share = open(&url).unwrap();
    assert_eq!((share.facts().read_size_bytes, share.facts().write_size_bytes), (65536, 5000));
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let pieces = spans(file, 0, 16 << 20, 1 << 20);
    let mut rig = Rig::new(&share, 3, 1 << 20);
    assert_eq!(rig.run_all(&writes(&pieces, Stability::Unstable)), 16 << 20);
    rig.run_all(&[Op::Flush(file)]);
    assert_on_disk(&disk.join("f"), file, 0, 16 << 20);
    assert_eq!(rig.run_all(&reads(&pieces)), 16 << 20);
    // Beyond the end: as much as there is, and then the truth about it.
    let beyond = Span { file, offset: (16 << 20) - 100, length: 4096, generation: 0 };
    let done = rig.run(&[Op::Read(beyond)]);
    assert_eq!(done[0].result.as_ref().unwrap_err().kind, ErrorKind::Short);
}

/// Looks at a call: `Some` reply is sent in place of the server's, which never sees the call.
type OnCall = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

/// Passes connections on to a server, record by record (RFC 5531, section 11).
fn relay(port: u16, on_call: Arc<OnCall>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (replies, calls) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let back = Arc::new(Mutex::new(client));
            let (answers, on_call, mut to) = (back.clone(), on_call.clone(), server);
            std::thread::spawn(move || records(replies, |record| send(&back, record)));
            std::thread::spawn(move || {
                records(calls, |call| match on_call(call) {
                    Some(reply) => send(&answers, &reply),
                    None => write(&mut to, call),
                })
            });
        }
    });
    own
}

/// Calls `each` with every record, without its mark; servers and clients here send them in one fragment.
fn records(
    mut from: TcpStream,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    loop {
        let mut mark = [0; 4];
        from.read_exact(&mut mark)?;
        let mut record = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        from.read_exact(&mut record)?;
        each(&record)?;
    }
}

fn send(to: &Mutex<TcpStream>, record: &[u8]) -> std::io::Result<()> {
    write(&mut to.lock().unwrap(), record)
}

fn write(to: &mut TcpStream, record: &[u8]) -> std::io::Result<()> {
    to.write_all(&[&(record.len() as u32 | 1 << 31).to_be_bytes(), record].concat())
}

/// A server that is not ready is asked again, and nobody fails for it; how often is reported.
#[test]
fn a_server_that_asks_to_come_back_later_is_asked_again() {
    const JUKEBOX: u32 = 10_008;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    // The first two calls of each of these are answered so: LOOKUP, READ, WRITE, CREATE, COMMIT.
    let left = Mutex::new(BTreeMap::from([3, 6, 7, 8, 21].map(|procedure| (procedure, 2))));
    let refused = Arc::new(AtomicU32::new(0));
    let count = refused.clone();
    let armed = Arc::new(AtomicBool::new(false));
    let is_armed = armed.clone();
    let on_call = move |call: &[u8]| {
        let word = |at: usize| u32::from_be_bytes(call[at..at + 4].try_into().unwrap());
        let (transaction, program, procedure) = (word(0), word(12), word(20));
        let mut left = left.lock().unwrap();
        let left = left.get_mut(&procedure).filter(|left| **left > 0)?;
        if program != 100_003 || !is_armed.load(Ordering::Relaxed) {
            return None;
        }
        *left -= 1;
        count.fetch_add(1, Ordering::Relaxed);
        // Accepted, without a verifier, with success as an RPC.
        let reply = [transaction, 1, 0, 0, 0, 0, JUKEBOX, 0, 0];
        Some(reply.iter().flat_map(|word| word.to_be_bytes()).collect())
    };
    let relayed = format!(":{}/", relay(server.nfs_port(), Arc::new(on_call)));
    let url = server.url_with_ports("data").replace(&format!(":{}/", server.nfs_port()), &relayed);
    let share = open(&url).unwrap();
    share.namespace().unwrap().make_directory("run").unwrap();
    let mut rig = Rig::new(&share, 4, 4096);
    armed.store(true, Ordering::Relaxed);
    let created = rig.run(&[Op::Create(rig.paths.add("run/f"))]).remove(0).result.unwrap();
    let Some(Found::File(file)) = created.map(|found| *found) else { panic!("it is open") };
    let pieces = spans(file, 0, 64 << 10, 4096);
    assert_eq!(rig.run_all(&writes(&pieces, Stability::Unstable)), 64 << 10);
    rig.run_all(&[Op::Flush(file)]);
    assert_eq!(rig.run_all(&reads(&pieces)), 64 << 10);
    let looked = rig.run(&[Op::Lookup(rig.paths.add("run/f"))]).remove(0).result.unwrap();
    assert!(matches!(looked.as_deref(), Some(Found::Attributes(_))), "{looked:?}");
    assert_on_disk(&disk.join("run/f"), file, 0, 64 << 10);
    drop(rig);
    let times = u64::from(refused.load(Ordering::Relaxed));
    assert_eq!(times, 10);
    let waited = Flag::AskedToWait { target: url, times };
    assert!(share.take_flags().contains(&waited), "{waited:?}");
}

/// A client's calls are as large as the server takes when they are made, not when it was found.
#[test]
fn a_server_that_was_started_with_smaller_transfers_is_asked_again() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    let longest = Arc::new(AtomicU32::new(0));
    let kept = longest.clone();
    let keep = move |call: &[u8]| {
        kept.fetch_max(call.len() as u32, Ordering::Relaxed);
        None
    };
    let relayed = format!(":{}/", relay(server.nfs_port(), Arc::new(keep)));
    let url = server.url_with_ports("data").replace(&format!(":{}/", server.nfs_port()), &relayed);
    let share = open(&url).unwrap();
    let before = share.facts();
    let file = share.namespace().unwrap().create("f").unwrap();
    let pieces = spans(file, 0, 4 << 20, 1 << 20);
    let write = || {
        let mut rig = Rig::new(&share, 2, 1 << 20);
        assert_eq!(rig.run_all(&writes(&pieces, Stability::Unstable)), 4 << 20);
        rig.run_all(&[Op::Flush(file)]);
        assert_on_disk(&disk.join("f"), file, 0, 4 << 20);
        longest.swap(0, Ordering::Relaxed)
    };
    assert!(write() > 65536);
    server.restart_with(16384).unwrap();
    share.resume().unwrap();
    let calls = write();
    assert!((16384..16384 + 512).contains(&calls), "{calls}");
    assert_eq!(share.facts(), before, "what a study says of the target stays");
}

#[test]
fn wrong_content_is_told_apart() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let mut rig = Rig::new(&share, 8, 4096);
    let pieces = spans(file, 1, 64 * 4096, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    let newer: Vec<_> = pieces.iter().map(|s| Span { generation: 2, ..*s }).collect();
    for done in rig.run(&reads(&newer)) {
        assert_eq!(done.result.unwrap_err().kind, ErrorKind::StaleContent);
    }
    // The lane goes on.
    assert_eq!(rig.run_all(&reads(&pieces)), 64 * 4096);
    let unknown = Span { file: FileId(99), ..pieces[0] };
    let done = rig.run(&[Op::Read(unknown)]);
    assert_eq!(done[0].result.as_ref().unwrap_err().kind, ErrorKind::Gone);
}

#[test]
fn names_are_made_listed_and_removed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    std::fs::create_dir_all(disk.join("a/b")).unwrap();
    std::os::unix::fs::symlink("/etc", disk.join("link")).unwrap();
    std::os::unix::fs::symlink("a", disk.join("near")).unwrap();
    let share = open(&format!("{}/a", server.url("data"))).unwrap();
    let mut inner = share.namespace().unwrap();
    assert_eq!(names(&mut *inner, ""), ["b"]);

    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let link = namespace.list("").unwrap().into_iter().find(|e| e.name == "link").unwrap();
    assert_eq!(link.kind, EntryKind::Other);
    assert!(namespace.list("near").is_err(), "links are not followed");
    assert!(namespace.write_small("near/x", b"1").is_err());

    namespace.write_small("a/small", b"a longer text").unwrap();
    namespace.write_small("a/small", b"short").unwrap();
    assert_eq!(std::fs::read(disk.join("a/small")).unwrap(), b"short");
    assert_eq!(namespace.read_small("a/small", 100).unwrap(), b"short");
    assert_eq!(namespace.read_small("a/small", 2).unwrap(), b"sh");
    let long = vec![7; 300_000];
    namespace.write_small("a/long", &long).unwrap();
    assert!(namespace.read_small("a/long", usize::MAX).unwrap() == long);
    assert!(namespace.write_small("link", b"x").is_err(), "not through a link");
    assert!(namespace.create("a/small").is_err(), "never over what exists");
    assert!(namespace.make_directory("a").is_err());
    namespace.remove_file("near").unwrap();
    assert!(disk.join("a").is_dir(), "the link went, not what it points to");
    assert!(namespace.remove_directory("a").is_err(), "not empty");

    namespace.make_directory("many").unwrap();
    for i in 0..1500 {
        std::fs::write(disk.join(format!("many/a rather long name of file number {i}")), "")
            .unwrap();
    }
    let listed = namespace.list("many").unwrap();
    assert_eq!(listed.len(), 1500);
    assert!(listed.iter().all(|e| e.kind == EntryKind::File));
    let space = namespace.space().unwrap();
    assert!(0 < space.available && space.available <= space.total);
}

#[test]
fn refusals_say_why_and_what_to_do() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Nftables);
    let exports = [
        Export::directory("data"),
        Export::directory("ro").read_only(),
        Export::directory("squashed").squash(Squash::Root),
        Export::directory("private").privileged_port(),
        Export::directory("tiny").size(1 << 20),
    ];
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();

    let failure = refused("nfs://127.0.0.1/nowhere/at/all");
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(failure.next.contains("/run/export/data"), "{failure}");
    let failure = refused(&format!("{}/missing", server.url("data")));
    assert!(
        failure.cause == Cause::NotPermitted && failure.happened.contains("missing"),
        "{failure}"
    );

    let share = open(&server.url("ro")).unwrap();
    let failure = share.namespace().unwrap().make_directory("d").unwrap_err();
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(failure.next.contains("read-only"), "{failure}");

    std::fs::set_permissions(
        server.directory("squashed").unwrap(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let url = format!("{}?uid=0&gid=0", server.url("squashed"));
    let failure = open(&url).unwrap().namespace().unwrap().make_directory("d").unwrap_err();
    assert_eq!(failure.cause, Cause::NotPermitted);
    for part in ["root_squash", "?uid=", "&gid="] {
        assert!(failure.next.contains(part), "{failure}");
    }

    let url = server.url("private");
    let failure = match open(&format!("{url}?sourceport=any")) {
        Err(failure) => failure,
        Ok(share) => share.namespace().unwrap().make_directory("d").unwrap_err(),
    };
    assert_eq!(failure.cause, Cause::NotPermitted);
    for way in ["CAP_NET_BIND_SERVICE", "insecure"] {
        assert!(failure.next.contains(way), "{failure}");
    }
    open(&url).unwrap().namespace().unwrap().make_directory("d").unwrap();

    let share = open(&server.url("tiny")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let done = Rig::new(&share, 4, 65536)
        .run(&writes(&spans(file, 0, 4 << 20, 65536), Stability::FileSync));
    let full = done.iter().filter_map(|d| d.result.as_ref().err()).collect::<Vec<_>>();
    assert!(!full.is_empty() && full.iter().all(|e| e.kind == ErrorKind::NoSpace), "{full:?}");
    assert!(full[0].detail.contains("NFS3ERR_NOSPC"));

    for (url, cause) in [
        ("nfs://127.0.0.1:9/x", Cause::Unreachable),
        ("nfs://no-such-host.invalid/x", Cause::Unreachable),
    ] {
        let failure = refused(url);
        assert_eq!(failure.cause, cause, "{failure}");
        assert!(failure.next.ends_with('.') && failure.on == url, "{failure}");
    }
    let without_mountport = format!("nfs://127.0.0.1:{}/run/export/data", server.nfs_port());
    let failure = refused(&without_mountport);
    assert!(
        failure.cause == Cause::Unreachable && failure.next.contains("mountport="),
        "{failure}"
    );

    stage.drop_port(server.nfs_port()).unwrap();
    let failure = refused(&server.url("data"));
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.next.contains("firewall"), "{failure}");
    stage.drop_port(111).unwrap();
    let failure = refused(&server.url("data"));
    assert!(failure.next.contains("mountport"), "{failure}");
}

/// By a server that takes root for nobody, where nobody may write.
#[test]
fn a_user_who_is_taken_for_another_is_told_so() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let exports = [Export::directory("plain"), Export::directory("squashed").squash(Squash::Root)];
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    let cases = [
        ("plain", 0, false),
        ("plain", 1234, false),
        ("squashed", 0, true),
        ("squashed", 1234, false),
    ];
    let of_each = |version| cases.map(|case| (version, case));
    for (version, (export, uid, squashed)) in ["3", "4.0", "4.1"].into_iter().flat_map(of_each) {
        let with_ports = server.url_with_ports(export);
        let target: Target =
            format!("{with_ports}&vers={version}&uid={uid}&gid=0").parse().unwrap();
        let url = target.to_string();
        let share = plimsoll_load::open(&target, &OpenOptions::default()).unwrap();
        let mut namespace = share.namespace().unwrap();
        for directory in ["one", "two"] {
            namespace.make_directory(directory).unwrap();
        }
        let flags = share.take_flags();
        let disk = server.directory(export).unwrap().join("one");
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(disk).unwrap());
        assert_eq!(owner != uid, squashed, "{export} as {uid} in version {version}");
        let told = Flag::OtherOwner { target: url, uid: Some(uid), owner: Some(owner) };
        let expected = if squashed { vec![told] } else { Vec::new() };
        assert_eq!(flags, expected);
        for flag in flags {
            assert!(flag.message().contains("nobody") && flag.message().contains("root_squash"));
            assert!(flag.advice().contains("no_root_squash"), "{}", flag.advice());
        }
        for directory in ["one", "two"] {
            namespace.remove_directory(directory).unwrap();
        }
    }
}

#[test]
fn a_server_that_dies_or_falls_silent_ends_the_lane_and_comes_back() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut server = serve(&stage, Export::directory("data"));
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let pieces = spans(file, 0, 64 * 4096, 4096);
    let mut rig = Rig::new(&share, 8, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));

    server.freeze().unwrap();
    rig.lane.submit(Tag(0), &Op::Read(pieces[0]), rig.clock.now()).unwrap();
    let mut out = Vec::new();
    let until = rig.clock.now() + Duration::from_millis(300);
    rig.lane.reap(until, &mut out).unwrap();
    assert!(out.is_empty() && rig.clock.now() >= until, "silence, until the deadline");
    server.thaw().unwrap();
    let until = rig.until();
    rig.lane.reap(until, &mut out).unwrap();
    assert_eq!(out.len(), 1);

    server.kill();
    rig.lane.submit(Tag(0), &Op::Read(pieces[0]), rig.clock.now()).unwrap();
    let until = rig.until();
    let dead = rig.lane.reap(until, &mut out).unwrap_err();
    assert_eq!(dead.kind, ErrorKind::ConnectionLost);
    assert_eq!(namespace.list("").unwrap_err().cause, Cause::Unreachable);
    assert_eq!(namespace.list("").unwrap_err().cause, Cause::Unreachable);

    // Ganesha's write verifier is the second it started in; the new one must have another.
    std::thread::sleep(Duration::from_millis(1100));
    server.restart().unwrap();
    assert_eq!(names(&mut *namespace, ""), ["f"], "the namespace connects again");
    // Written before the restart and never committed: the next flush finds that it may be lost.
    let mut rig = Rig::new(&share, 8, 4096);
    rig.run_all(&[Op::Flush(file)]);
    drop(rig);
    let again = |flag: &Flag| matches!(flag, Flag::WrittenAgain { bytes: 262_144, .. });
    assert!(share.take_flags().iter().any(again));
    let mut rig = Rig::new(&share, 8, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    namespace.remove_file("f").unwrap();
}
