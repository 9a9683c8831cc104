//! An SMB target against a real server: what is written is on the server's disk byte for byte,
//! reads are checked, and whatever is refused says why and what to do.

mod support;

use plimsoll_load::{
    EntryKind, FileId, Op, OpenOptions, Passwords, Share, SmbShare, Span, Tag, TimeLimits,
};
use plimsoll_model::{Cause, Clock, ErrorKind, Failure, SmbTarget, Stability, Target};
use plimsoll_testkit::servers::ImpacketServer;
use plimsoll_testkit::servers::samba::{PASSWORD, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, Stage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, names, reads, spans, writes};

fn target(url: &str) -> SmbTarget {
    match url.parse() {
        Ok(Target::Smb(target)) => target,
        other => panic!("{url}: {other:?}"),
    }
}

fn open_with(url: &str, password: &'static str) -> Result<SmbShare, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    let passwords = Passwords::new(move |_| Ok(password.into()));
    let options = OpenOptions { limits, passwords, ..OpenOptions::default() };
    SmbShare::open(&target(url), url, &options)
}

fn with(passwords: Passwords) -> OpenOptions {
    OpenOptions { passwords, ..OpenOptions::default() }
}

fn open(url: &str) -> Result<SmbShare, Failure> {
    open_with(url, PASSWORD)
}

fn refused(url: &str) -> Failure {
    open(url).map(drop).expect_err(url)
}

fn serve(stage: &Stage, share: SambaShare) -> Samba {
    Samba::start(stage, SambaConfig::one(share)).unwrap()
}

#[test]
fn what_is_written_is_on_the_servers_disk() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("my films Übung"));
    let disk = server.directory("my films Übung").unwrap();
    let url = server.url("my films Übung");
    for (options, protocol) in [
        ("", "SMB 3.1.1, signed with AES-128-GMAC"),
        ("?sign=off", "SMB 3.1.1, not signed"),
        ("?sign=on", "SMB 3.1.1, signed with AES-128-GMAC"),
        ("?encrypt=on", "SMB 3.1.1, encrypted with AES-128-GCM"),
        ("?vers=3.0.2&sign=on", "SMB 3.0.2, signed with AES-128-CMAC"),
        ("?vers=3.0&encrypt=on", "SMB 3.0, encrypted with AES-128-CCM"),
        ("?vers=2.1&sign=on", "SMB 2.1, signed with HMAC-SHA256"),
        ("?vers=2.0.2", "SMB 2.0.2, signed with HMAC-SHA256"),
        ("?vers=2.0.2&sign=off", "SMB 2.0.2, not signed"),
    ] {
        let share = open(&format!("{url}{options}")).unwrap();
        let facts = share.facts();
        assert_eq!(facts.protocol, protocol, "{facts:?}");
        assert!(facts.space_bytes.1 > 0 && facts.read_size_bytes >= 65536, "{facts:?}");
        let mut names_below = share.namespace().unwrap();
        names_below.make_directory("run").unwrap();
        // Small and large blocks, unstable and stable, deep and shallow.
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
            let size = u64::from(block) * 40;
            let pieces = spans(file, 3, size, block);
            let mut rig = Rig::new(&share, depth, block);
            assert_eq!(rig.run_all(&writes(&pieces, stability)), size);
            assert_eq!(rig.run_all(&[Op::Flush(file)]), 0);
            assert_on_disk(&disk.join(&path), file, 3, size);
            assert_eq!(rig.run_all(&reads(&pieces)), size);
            names_below.close(file);
            // The lane still has it open.
            names_below.remove_file(&path).unwrap();
        }
        names_below.remove_directory("run").unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
    }
}

#[test]
fn operations_longer_than_the_transfer_size_are_split() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let disk = server.directory("data").unwrap();
    let share = open(&format!("{}?rsize=65536&wsize=5000", server.url("data"))).unwrap();
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
    assert_eq!(done[0].bytes, 100);
}

#[test]
fn wrong_content_is_told_apart() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
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
    let unknown = Span { file: FileId(file.0 + 1), ..pieces[0] };
    let done = rig.run(&[Op::Read(unknown)]);
    assert_eq!(done[0].result.as_ref().unwrap_err().kind, ErrorKind::Gone);
    // A file that is opened later the lane opens with its first use.
    let later = namespace.create("g").unwrap();
    assert_eq!(later, unknown.file);
    let pieces = spans(later, 1, 64 * 4096, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    assert_eq!(rig.run_all(&reads(&pieces)), 64 * 4096);
    assert_on_disk(&server.directory("data").unwrap().join("g"), later, 1, 64 * 4096);
}

#[test]
fn names_are_made_listed_and_removed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let disk = server.directory("data").unwrap();
    std::fs::create_dir_all(disk.join("a/b")).unwrap();
    std::fs::set_permissions(disk.join("a"), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    std::os::unix::fs::symlink("/etc", disk.join("link")).unwrap();
    let share = open(&format!("{}/a", server.url("data"))).unwrap();
    let mut inner = share.namespace().unwrap();
    assert_eq!(names(&mut *inner, ""), ["b"]);
    inner.make_directory("c").unwrap();
    inner.remove_directory("c").unwrap();

    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    assert!(namespace.list("link").is_err(), "a link out of the share is not followed");

    namespace.write_small("a/small", b"a longer text").unwrap();
    namespace.write_small("a/small", b"short").unwrap();
    assert_eq!(std::fs::read(disk.join("a/small")).unwrap(), b"short");
    assert_eq!(namespace.read_small("a/small", 100).unwrap(), b"short");
    assert_eq!(namespace.read_small("a/small", 2).unwrap(), b"sh");
    let long = vec![7; 3_000_000];
    namespace.write_small("a/long", &long).unwrap();
    assert!(namespace.read_small("a/long", usize::MAX).unwrap() == long);
    assert!(namespace.create("a/small").is_err(), "never over what exists");
    assert!(namespace.make_directory("a").is_err());
    assert!(namespace.remove_directory("a").is_err(), "not empty");
    assert!(disk.join("a/small").exists());
    assert!(namespace.remove_file("a/none").is_err());
    assert!(namespace.open("a/b").is_err(), "a directory is no file");

    std::fs::create_dir(disk.join("many")).unwrap();
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
fn a_file_may_be_removed_while_others_have_it_open() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("d").unwrap();
    let file = namespace.create("d/f").unwrap();
    let mut rig = Rig::new(&share, 1, 4096);
    let pieces = spans(file, 0, 4096, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    namespace.remove_file("d/f").unwrap();
    namespace.remove_file("d/f").unwrap();
    let failure = namespace.remove_directory("d").unwrap_err();
    assert!(failure.happened.contains("DIRECTORY_NOT_EMPTY"), "{failure}");
    // The server hears of the lane's end a moment later.
    drop(rig);
    namespace.remove_directory("d").unwrap();
    namespace.make_directory("d").unwrap();
    namespace.create("d/f").unwrap();
}

#[test]
fn a_wrong_password_is_tried_once_and_a_right_one_asked_for_once() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let url = server.url("data");
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let passwords = Passwords::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(PASSWORD.into())
    });
    let share = SmbShare::open(&target(&url), &url, &with(passwords)).unwrap();
    for _ in 0..3 {
        share.namespace().unwrap().list("").unwrap();
        Rig::new(&share, 1, 4096);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    let failure = open_with(&url, "wrong").map(drop).unwrap_err();
    assert_eq!(failure.cause, Cause::Authentication);
    assert!(failure.happened.contains("STATUS_LOGON_FAILURE"), "{failure}");
    assert!(failure.next.contains("PLIMSOLL_PASSWORD"), "{failure}");
    // Nobody is asked for the password of a server that is not there.
    let never = with(Passwords::new(|_| panic!("asked")));
    for url in ["smb://me@127.0.0.1:9/x", "smb://me@no-such-host.invalid/x"] {
        let opened = SmbShare::open(&target(url), url, &never);
        let failure = opened.map(drop).unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable);
        assert!(failure.next.ends_with('.') && failure.on == url, "{failure}");
    }
    let failure = refused(&server.url("date"));
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(failure.next.contains("data"), "{failure}");
}

#[test]
fn a_server_that_dies_or_falls_silent_ends_the_lane_and_comes_back() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let mut server = serve(&stage, SambaShare::new("data"));
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
    assert!(share.namespace().is_err());

    server.restart().unwrap();
    assert_eq!(names(&mut *namespace, ""), ["f"], "the namespace connects again");
    let mut rig = Rig::new(&share, 8, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    namespace.remove_file("f").unwrap();
}

/// Samba says that the name is not found, impacket that there is no such file; both mean that it is not there,
/// as copies ask before they send a file as rsync does.
#[test]
fn a_name_that_is_not_there_is_none_whatever_the_server_calls_it() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Impacket);
    let samba = serve(&stage, SambaShare::new("data"));
    let impacket = ImpacketServer::start(&stage, "DATA", 20_446).unwrap();
    for url in [samba.url("data"), impacket.url()] {
        let share = open(&url).unwrap();
        let mut names_below = share.namespace().unwrap();
        names_below.make_directory("run").unwrap();
        names_below.write_small("run/there", b"12345").unwrap();
        let mut rig = Rig::new(&share, 2, 4096);
        let [there, gone, above] =
            ["run/there", "run/none", "none/none"].map(|path| rig.paths.add(path.to_owned()));
        for (path, expected) in [(there, true), (gone, false), (above, false)] {
            let done = rig.run(&[Op::LookupIfThere(path)]).remove(0);
            let found = done.result.unwrap_or_else(|error| panic!("{url}: {error:?}"));
            assert_eq!(found.is_some(), expected, "{url}");
        }
        drop(rig);
        // A file to be read where it is.
        let passwords = Passwords::new(move |_| Ok(PASSWORD.into()));
        let options = OpenOptions { file: Some("run/none".into()), ..with(passwords) };
        let failure = SmbShare::open(&target(&url), &url, &options).map(drop).unwrap_err();
        assert!(failure.next.contains("Check its name"), "{failure}");
        names_below.remove_file("run/there").unwrap();
        names_below.remove_directory("run").unwrap();
    }
}
