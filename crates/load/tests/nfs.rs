//! An NFS target against a real server: what other clients, the server and its users do, and whatever is refused
//! says why and what to do. What holds of SMB too is in `servers.rs`.

mod support;

use plimsoll_load::{EntryKind, FileId, Found, NfsShare, Op, OpenOptions, Share, TimeLimits};
use plimsoll_model::{Cause, ErrorKind, Failure, Flag, NfsTarget, Stability, Target};
use plimsoll_testkit::responder::Responder;
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

/// Those for the notes of a run, too; this server refuses longer ones.
#[test]
fn single_calls_are_no_longer_than_the_server_takes() {
    let server = Responder::start().unwrap();
    server.take_at_most(4096);
    let share = open(&server.url()).unwrap();
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("run").unwrap();
    let bytes: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8).collect();
    namespace.write_small("run/f", &bytes).unwrap();
    assert!(namespace.read_part("run/f", 0, 20_000).unwrap() == bytes);
    let counts = server.counts();
    assert_eq!((counts.writes, counts.reads), (3, 3));
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
fn links_are_not_followed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = serve(&stage, Export::directory("data"));
    let disk = server.directory("data").unwrap().to_owned();
    std::fs::create_dir(disk.join("a")).unwrap();
    std::os::unix::fs::symlink("/etc", disk.join("link")).unwrap();
    std::os::unix::fs::symlink("a", disk.join("near")).unwrap();
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    let link = namespace.list("").unwrap().into_iter().find(|e| e.name == "link").unwrap();
    assert_eq!(link.kind, EntryKind::Other);
    assert!(namespace.list("near").is_err());
    assert!(namespace.write_small("near/x", b"1").is_err());
    assert!(namespace.write_small("link", b"x").is_err());
    namespace.remove_file("near").unwrap();
    assert!(disk.join("a").is_dir(), "the link went, not what it points to");
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
