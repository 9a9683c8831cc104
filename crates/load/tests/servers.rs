//! A target on a real server, by NFS and by SMB: what is written is on the server's disk byte for byte, reads
//! are checked, names are made and removed, and a server that dies is found again.

mod support;

use plimsoll_load::{EntryKind, FileId, Op, OpenOptions, Passwords, Share, Span, Tag, TimeLimits};
use plimsoll_model::{Cause, Clock, ErrorKind, Flag, Stability};
use plimsoll_testkit::servers::Peer;
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::{Stage, test_each_peer};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, names, reads, spans, writes};

test_each_peer!(
    what_is_written_is_on_the_servers_disk,
    operations_longer_than_the_transfer_size_are_split,
    wrong_content_is_told_apart,
    names_are_made_listed_and_removed,
    a_server_that_dies_or_falls_silent_ends_the_lane_and_comes_back,
);

fn open(url: &str) -> Arc<dyn Share> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { limits, passwords, ..OpenOptions::default() };
    plimsoll_load::open(&url.parse().unwrap(), &options).unwrap()
}

/// Options of a URL, and the protocol that comes of them.
fn protocols(peer: Peer) -> &'static [(&'static str, &'static str)] {
    match peer {
        Peer::Nfs => &[
            ("vers=3", "NFSv3 over TCP"),
            ("vers=4.0", "NFSv4.0 over TCP"),
            ("vers=4.1", "NFSv4.1 over TCP"),
            ("vers=4.2", "NFSv4.2 over TCP"),
        ],
        Peer::Smb => &[
            ("sign=off", "SMB 3.1.1, not signed"),
            ("sign=on", "SMB 3.1.1, signed with AES-128-GMAC"),
            ("encrypt=on", "SMB 3.1.1, encrypted with AES-128-GCM"),
            ("vers=3.0.2&sign=on", "SMB 3.0.2, signed with AES-128-CMAC"),
            ("vers=3.0&encrypt=on", "SMB 3.0, encrypted with AES-128-CCM"),
            ("vers=2.1&sign=on", "SMB 2.1, signed with HMAC-SHA256"),
            ("vers=2.0.2", "SMB 2.0.2, signed with HMAC-SHA256"),
            ("vers=2.0.2&sign=off", "SMB 2.0.2, not signed"),
        ],
    }
}

fn what_is_written_is_on_the_servers_disk(stage: &Stage, peer: Peer) {
    let server = peer.start(stage, "my films Übung").unwrap();
    let disk = server.directory();
    let defaults = match peer {
        Peer::Nfs => "NFSv3 over TCP",
        Peer::Smb => "SMB 3.1.1, signed with AES-128-GMAC",
    };
    let options = protocols(peer).iter().map(|(options, is)| (server.url_with(options), *is));
    for (url, protocol) in [(server.url(), defaults)].into_iter().chain(options) {
        let share = open(&url);
        let facts = share.facts();
        assert_eq!(facts.protocol, protocol.into(), "{facts:?}");
        assert!(facts.space_bytes.1 > 0 && facts.read_size_bytes >= 65536, "{facts:?}");
        let mut names_below = share.namespace().unwrap();
        names_below.make_directory("run").unwrap();
        // Small and large blocks, copied and handed over, unstable and stable, deep and shallow.
        let cases = [
            (4096, 32, Stability::Unstable),
            (4096, 1, Stability::FileSync),
            (3 << 20, 4, Stability::Unstable),
            (65536, 32, Stability::FileSync),
            (4096, 8, Stability::DataSync),
        ];
        for (i, (block, depth, stability)) in cases.into_iter().enumerate() {
            let path = format!("run/file {i}");
            let file = names_below.create(&path).unwrap();
            let size = u64::from(block) * 41;
            let pieces = spans(file, 3, size, block);
            let mut rig = Rig::new(&*share, depth, block);
            assert_eq!(rig.run_all(&writes(&pieces, stability)), size);
            assert_eq!(rig.run_all(&[Op::Flush(file)]), 0);
            assert_on_disk(&disk.join(&path), file, 3, size);
            assert_eq!(rig.run_all(&reads(&pieces)), size);
            names_below.close(file);
            // The lane still has it open.
            names_below.remove_file(&path).unwrap();
        }
        names_below.write_small("run/small", &[7; 150_000]).unwrap();
        names_below.write_small("run/small", b"shorter").unwrap();
        assert_eq!(std::fs::read(disk.join("run/small")).unwrap(), b"shorter");
        assert_eq!(names_below.read_small("run/small", 100).unwrap(), b"shorter");
        names_below.remove_file("run/small").unwrap();
        names_below.remove_directory("run").unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
        let flags = share.take_flags();
        assert!(flags.is_empty(), "{flags:?}");
    }
}

fn operations_longer_than_the_transfer_size_are_split(stage: &Stage, peer: Peer) {
    let server = peer.start(stage, "data").unwrap();
    let share = open(&server.url_with("rsize=65536&wsize=5000"));
    assert_eq!((share.facts().read_size_bytes, share.facts().write_size_bytes), (65536, 5000));
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let pieces = spans(file, 0, 16 << 20, 1 << 20);
    let mut rig = Rig::new(&*share, 3, 1 << 20);
    assert_eq!(rig.run_all(&writes(&pieces, Stability::Unstable)), 16 << 20);
    rig.run_all(&[Op::Flush(file)]);
    assert_on_disk(&server.directory().join("f"), file, 0, 16 << 20);
    assert_eq!(rig.run_all(&reads(&pieces)), 16 << 20);
    // Beyond the end: as much as there is, and then the truth about it.
    let beyond = Span { file, offset: (16 << 20) - 100, length: 4096, generation: 0 };
    let done = rig.run(&[Op::Read(beyond)]);
    assert_eq!(done[0].result.as_ref().unwrap_err().kind, ErrorKind::Short);
    let counted = if peer == Peer::Smb { 100 } else { 0 };
    assert_eq!(done[0].bytes, counted);
}

fn wrong_content_is_told_apart(stage: &Stage, peer: Peer) {
    let server = peer.start(stage, "data").unwrap();
    let share = open(&server.url());
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let mut rig = Rig::new(&*share, 8, 4096);
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
    rig.run_all(&[Op::Flush(later)]);
    assert_on_disk(&server.directory().join("g"), later, 1, 64 * 4096);
}

fn names_are_made_listed_and_removed(stage: &Stage, peer: Peer) {
    let server = peer.start(stage, "data").unwrap();
    let disk = server.directory();
    std::fs::create_dir_all(disk.join("a/b")).unwrap();
    std::fs::set_permissions(disk.join("a"), PermissionsExt::from_mode(0o777)).unwrap();
    std::os::unix::fs::symlink("/etc", disk.join("link")).unwrap();
    let share = open(&server.url().replacen("data", "data/a", 1));
    let mut inner = share.namespace().unwrap();
    assert_eq!(names(&mut *inner, ""), ["b"]);
    inner.make_directory("c").unwrap();
    inner.remove_directory("c").unwrap();

    let share = open(&server.url());
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

fn a_server_that_dies_or_falls_silent_ends_the_lane_and_comes_back(stage: &Stage, peer: Peer) {
    let mut server = peer.start(stage, "data").unwrap();
    let share = open(&server.url());
    let mut namespace = share.namespace().unwrap();
    let file = namespace.create("f").unwrap();
    let pieces = spans(file, 0, 64 * 4096, 4096);
    let mut rig = Rig::new(&*share, 8, 4096);
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

    // Ganesha's write verifier is the second it started in; the new one must have another.
    if peer == Peer::Nfs {
        std::thread::sleep(Duration::from_millis(1100));
    }
    server.restart().unwrap();
    assert_eq!(names(&mut *namespace, ""), ["f"], "the namespace connects again");
    // Written before the restart and never committed: the next flush by NFS finds that it may be lost.
    if peer == Peer::Nfs {
        Rig::new(&*share, 8, 4096).run_all(&[Op::Flush(file)]);
        let again = |flag: &Flag| matches!(flag, Flag::WrittenAgain { bytes: 262_144, .. });
        assert!(share.take_flags().iter().any(again));
    }
    let mut rig = Rig::new(&*share, 8, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    namespace.remove_file("f").unwrap();
}
