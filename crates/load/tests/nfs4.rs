//! An NFS target of version 4 against a real server: another client reads what is written, and a restart of the server
//! in between loses nothing. What holds of other versions and of SMB too is in `servers.rs`.

mod support;

use plimsoll_load::{FileId, Found, Op, OpenOptions, Share, TimeLimits, Whole};
use plimsoll_model::{Cause, Failure, Stability};
use plimsoll_testkit::Need;
use plimsoll_testkit::capture::{Capture, decode};
use plimsoll_testkit::proxy::TcpProxy;
use plimsoll_testkit::servers::Nfs2Server;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, reads, spans, whole, writes};

const VERSIONS: [&str; 3] = ["4.0", "4.1", "4.2"];

fn open(server: &Ganesha, below: &str, version: &str) -> Result<Arc<dyn Share>, Failure> {
    let url = server.url_with_ports("data").replacen('?', &format!("{below}?"), 1);
    open_at(&format!("{url}&vers={version}"))
}

fn open_at(url: &str) -> Result<Arc<dyn Share>, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    plimsoll_load::open(&url.parse().unwrap(), &OpenOptions { limits, ..OpenOptions::default() })
}

/// As a mount of Linux does, unless something in the target is of versions 2 and 3 alone.
#[test]
fn the_newest_version_that_both_sides_have_is_spoken() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let protocol = |url: &str| open_at(url).unwrap().facts().protocol.to_string();
    for (minor_versions, newest) in [("0, 1, 2", "4.2"), ("0, 1", "4.1"), ("0", "4.0")] {
        let config = GaneshaConfig::one(Export::directory("data"));
        let server = Ganesha::start(&stage, GaneshaConfig { minor_versions, ..config }).unwrap();
        let port = server.nfs_port();
        let url = format!("nfs://127.0.0.1:{port}/run/export/data");
        assert_eq!(protocol(&url), format!("NFSv{newest} over TCP"));
        assert_eq!(protocol(&server.url_with_ports("data")), "NFSv3 over TCP", "mountport=");
        assert_eq!(protocol(&format!("{url}?nconnect=3")), format!("NFSv{newest} over TCP"));
        // MOUNT is not at this port: what version 4 says of the path counts.
        let failure = open_at(&format!("{url}/none")).map(drop).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted);
        assert!(failure.happened.contains("'none' does not exist (NFS4ERR_NOENT)"), "{failure}");
    }
    let old = Nfs2Server::start().unwrap();
    let share = open_at(&format!("nfs://127.0.0.1:{}/export", old.address().port())).unwrap();
    assert_eq!(share.facts().protocol, "NFSv2 over TCP".into());
    let why = share.facts().notes.iter().any(|note| note.starts_with("not by version 4: "));
    assert!(why, "{:?}", share.facts().notes);
    // Nobody is there.
    let failure = open_at("nfs://127.0.0.1:9/data").map(drop).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.happened.contains("refused"), "{failure}");
}

/// Each as safe as it is asked for: `--stability datasync` once went as UNSTABLE.
#[test]
fn writes_say_how_stable_they_are_to_be() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Tshark);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let port = server.nfs_port();
    let share = open(&server, "", "4.1").unwrap();
    let file = share.namespace().unwrap().create("file").unwrap();
    let capture = Capture::start(&format!("tcp port {port}"), "/run/stability.pcapng");
    let pieces = spans(file, 0, 3 * 4096, 4096);
    let mut rig = Rig::new(&*share, 1, 4096);
    for stability in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
        assert_eq!(rig.run_all(&writes(&pieces, stability)), 3 * 4096);
    }
    let way = format!("tcp.port=={port},rpc");
    let calls = "rpc.msgtyp == 0 && nfs.opcode == 38";
    let rows = decode(&capture.stop(), &["-d", &way], calls, &["nfs.stable_how4"]);
    let stable: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
    // UNSTABLE4, DATA_SYNC4, FILE_SYNC4 (RFC 8881, section 18.32).
    assert_eq!(stable, ["0", "0", "0", "1", "1", "1", "2", "2", "2"]);
}

#[test]
fn another_client_reads_what_was_written() {
    const SIZE: u32 = 3 << 20;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for version in VERSIONS {
        let share = open(&server, "", version).unwrap();
        let file = share.namespace().unwrap().create(version).unwrap();
        let mut rig = Rig::new(&*share, 4, 65536);
        rig.run_all(&writes(&spans(file, 0, SIZE.into(), 65536), Stability::Unstable));
        rig.run_all(&[Op::Flush(file), Op::Close(file)]);
        let read =
            Command::new("nfs-cat").arg(server.libnfs_url("data", version)).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        assert!(read.stdout == whole(file, 0, SIZE), "{version}: nfs-cat read something else");
    }
}

/// Longer than one call takes, and of a length that is not expected.
#[test]
fn small_files_of_every_length() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut config = GaneshaConfig::one(Export::directory("data"));
    config.largest_transfer = Some(65536);
    let server = Ganesha::start(&stage, config).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for version in VERSIONS {
        let share = open(&server, "", version).unwrap();
        share.namespace().unwrap().make_directory("run").unwrap();
        let mut rig = Rig::new(&*share, 4, 400_000);
        let paths = rig.paths.clone();
        for (n, length) in [0, 1, 4095, 65536, 65537, 400_000].into_iter().enumerate() {
            let name = format!("run/{n}");
            let (path, content) = (paths.add(name.as_str()), FileId(n as u32));
            let file = Whole { path, length, content, generation: 1 };
            assert_eq!(rig.run_all(&[Op::Put(file, Stability::FileSync)]), u64::from(length));
            let bytes = std::fs::read(disk.join(&name)).unwrap();
            assert!(bytes == whole(content, 1, length), "{version}: {length}");
            assert_eq!(rig.run_all(&[Op::Get(file)]), u64::from(length), "{version}: {length}");
            for wrong in [length + 1, length.saturating_sub(1)].into_iter().filter(|n| *n != length)
            {
                let done = rig.run(&[Op::Get(Whole { length: wrong, ..file })]);
                assert!(done[0].result.is_err(), "{version}: {wrong} asked for, {length} there");
            }
            rig.run_all(&[Op::Remove(path)]);
        }
        share.namespace().unwrap().remove_directory("run").unwrap();
    }
}

#[test]
fn a_restart_of_the_server_loses_nothing() {
    const SIZE: u64 = 8 << 20;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let mut server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for version in VERSIONS {
        let share = open(&server, "", version).unwrap();
        let mut below = share.namespace().unwrap();
        below.make_directory("run").unwrap();
        let file = below.create("run/f").unwrap();
        let pieces = spans(file, 3, SIZE, 65536);
        let mut rig = Rig::new(&*share, 8, 65536);
        let (first, second) = pieces.split_at(pieces.len() / 2);
        rig.run_all(&writes(first, Stability::Unstable));
        server.restart().unwrap();
        // On a new connection, in a new session of a new registration, of a file that is open again; in 4.0
        // of one that is nobody's open file, as this server has no grace period.
        rig.run_all(&writes(second, Stability::Unstable));
        rig.run_all(&[Op::Flush(file)]);
        assert_on_disk(&disk.join("run/f"), file, 3, SIZE);
        assert_eq!(rig.run_all(&reads(&pieces)), SIZE);
        drop(rig);
        below.close(file);
        below.remove_file("run/f").unwrap();
        below.remove_directory("run").unwrap();
        let flags = format!("{:?}", share.take_flags());
        assert!(flags.contains("onnect"), "the gap is reported: {flags}");
    }
}

/// In the grace period of a server that knows its clients, and of one that has forgotten them.
#[test]
fn what_was_open_is_had_back_in_the_grace_period() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Tshark);
    let mut config = GaneshaConfig::one(Export::directory("data"));
    config.grace_seconds = Some(3);
    let mut server = Ganesha::start(&stage, config).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for (version, known) in [("4.0", true), ("4.1", true), ("4.0", false), ("4.1", false)] {
        let share = open(&server, "", version).unwrap();
        let mut below = share.namespace().unwrap();
        let file = below.create("f").unwrap();
        let pieces = spans(file, 3, 64 << 10, 4096);
        let (first, second) = pieces.split_at(8);
        let mut rig = Rig::new(&*share, 4, 4096);
        rig.run_all(&writes(first, Stability::Unstable));
        let path = format!("/run/grace-{version}-{known}.pcapng");
        let capture = Capture::start(&format!("tcp port {}", server.nfs_port()), &path);
        if known { server.restart() } else { server.restart_without_clients() }.unwrap();
        rig.run_all(&writes(second, Stability::Unstable));
        rig.run_all(&[Op::Flush(file)]);
        assert_on_disk(&disk.join("f"), file, 3, 64 << 10);
        let way = format!("tcp.port=={},rpc", server.nfs_port());
        // What each reply to an OPEN comes to (RFC 8881, section 18.16).
        let replies = "rpc.msgtyp == 1 && nfs.opcode == 18";
        let rows = decode(&capture.stop(), &["-d", &way], replies, &["nfs.nfsstat4"]);
        let opened = |row: &Vec<String>| row[0].split(',').all(|status| status == "0");
        let reclaimed = rows.first().is_some_and(opened);
        assert_eq!(reclaimed, known, "{version}: {rows:?}");
        let reopened = rows.iter().any(opened);
        assert_eq!(reopened, known || version == "4.1", "{version}: {rows:?}");
        drop(rig);
        below.close(file);
        below.remove_file("f").unwrap();
    }
}

/// The server has done what it was asked, and nobody was told.
#[test]
fn a_reply_that_is_lost_does_not_make_an_operation_fail() {
    const LENGTH: u32 = 3000;
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    let address = (Ipv4Addr::LOCALHOST, server.nfs_port()).into();
    for version in VERSIONS {
        let proxy = TcpProxy::before(address, Duration::from_millis(1)).unwrap();
        let port = proxy.address().port();
        let share = open_at(&format!("nfs://127.0.0.1:{port}/run/export/data?vers={version}"));
        let share = share.unwrap();
        let mut below = share.namespace().unwrap();
        // All of these are done once more.
        proxy.lose_reply();
        below.make_directory("run").unwrap();
        proxy.lose_reply();
        let empty = below.create("run/empty").unwrap();
        below.close(empty);
        let mut rig = Rig::new(&*share, 4, 4096);
        let path = |path: &str| rig.paths.add(path);
        let (made, renamed) = (path("run/made"), path("run/renamed"));
        let (small, large, directory) = (path("run/small"), path("run/large"), path("run/d"));
        let whole_file = |path, length| Whole { path, length, content: FileId(9), generation: 2 };
        let (small, large) = (whole_file(small, LENGTH), whole_file(large, 3 << 20));
        for op in [
            Op::Create(made),
            Op::Rename(made, renamed),
            Op::Put(small, Stability::FileSync),
            Op::Put(large, Stability::FileSync),
            Op::MakeDirectory(directory),
            Op::RemoveDirectory(directory),
            Op::Remove(renamed),
        ] {
            let before = proxy.connections();
            proxy.lose_reply();
            let done = rig.run(&[op]).remove(0);
            let found = done.result.unwrap_or_else(|error| panic!("{version}, {op:?}: {error:?}"));
            let opened = matches!(found.as_deref(), Some(Found::File(_)));
            assert_eq!(opened, matches!(op, Op::Create(_)), "{version}, {op:?}: {found:?}");
            assert!(proxy.connections() > before, "{version}, {op:?}: no reply was lost");
        }
        assert!(std::fs::read(disk.join("run/small")).unwrap() == whole(FileId(9), 2, LENGTH));
        assert!(std::fs::read(disk.join("run/large")).unwrap() == whole(FileId(9), 2, 3 << 20));
        // Without a lost reply the same is an error.
        let done = rig.run(&[Op::Put(small, Stability::FileSync), Op::Remove(renamed)]);
        assert!(done.iter().all(|done| done.result.is_err()), "{version}: {done:?}");
        std::fs::remove_dir_all(disk.join("run")).unwrap();
    }
}

#[test]
fn refusals_say_what_to_do() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server =
        Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data").read_only())).unwrap();
    std::fs::write(server.directory("data").unwrap().join("file"), "x").unwrap();
    for version in VERSIONS {
        let refused = |below: &str| open(&server, below, version).map(drop).expect_err(below);
        let missing = refused("/missing");
        assert_eq!(missing.cause, Cause::NotPermitted);
        assert!(missing.happened.contains("'missing' does not exist"), "{missing}");
        assert!(missing.next.contains("Name one of the server's exports"), "{missing}");
        assert!(missing.next.contains("/data?vers="), "{missing}");
        let file = refused("/file");
        assert!(file.happened.contains("'file' is not a directory"), "{file}");
        let share = open(&server, "", version).unwrap();
        let failure = share.namespace().unwrap().make_directory("run").unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
        assert!(failure.happened.contains("NFS4ERR_ROFS"), "{failure}");
    }
}

#[test]
fn the_newest_version_that_both_sides_have() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    for (minors, newest) in [("0, 1, 2", "4.2"), ("0, 1", "4.1"), ("0", "4.0")] {
        let mut config = GaneshaConfig::one(Export::directory("data"));
        config.minor_versions = minors;
        let server = Ganesha::start(&stage, config).unwrap();
        let facts = open(&server, "", "4").unwrap().facts();
        assert_eq!(facts.protocol, format!("NFSv{newest} over TCP").into());
        for version in VERSIONS.into_iter().filter(|version| *version > newest) {
            let failure = open(&server, "", version).map(drop).unwrap_err();
            assert!(failure.next.contains("vers="), "{version} of {minors}: {failure}");
            assert_eq!(failure.cause, Cause::Unreachable);
        }
    }
}
