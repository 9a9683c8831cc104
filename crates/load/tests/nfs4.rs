//! An NFS target of version 4 against a real server: what is written is on the server's disk byte for
//! byte, read back by another client too, and a restart of the server in between loses nothing.

mod support;

use plimsoll_load::{FileId, Op, OpenOptions, Share, TimeLimits, Whole};
use plimsoll_model::{Cause, Failure, Stability};
use plimsoll_testkit::Need;
use plimsoll_testkit::capture::{Capture, decode};
use plimsoll_testkit::servers::Nfs2Server;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, reads, spans, whole, writes};

const VERSIONS: [&str; 3] = ["4.0", "4.1", "4.2"];

fn open(server: &Ganesha, below: &str, version: &str) -> Result<Arc<dyn Share>, Failure> {
    let url = server.url_with_ports("data").replacen('?', &format!("{below}?"), 1);
    let url = format!("{url}&vers={version}");
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    plimsoll_load::open(&url.parse().unwrap(), &OpenOptions { limits, ..OpenOptions::default() })
}

/// As a mount of Linux does, unless something in the target is of versions 2 and 3 alone.
#[test]
fn the_newest_version_that_both_sides_have_is_spoken() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let open = |url: &str| {
        let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
        let options = OpenOptions { limits, ..OpenOptions::default() };
        plimsoll_load::open(&url.parse().unwrap(), &options)
    };
    let protocol = |url: &str| open(url).unwrap().facts().protocol;
    for (minor_versions, newest) in [("0, 1, 2", "4.2"), ("0, 1", "4.1"), ("0", "4.0")] {
        let config = GaneshaConfig::one(Export::directory("data"));
        let server = Ganesha::start(&stage, GaneshaConfig { minor_versions, ..config }).unwrap();
        let port = server.nfs_port();
        let url = format!("nfs://127.0.0.1:{port}/run/export/data");
        assert_eq!(protocol(&url), format!("NFSv{newest} over TCP"));
        assert_eq!(protocol(&server.url_with_ports("data")), "NFSv3 over TCP", "mountport=");
        assert_eq!(protocol(&format!("{url}?nconnect=3")), format!("NFSv{newest} over TCP"));
        // MOUNT is not at this port: what version 4 says of the path counts.
        let failure = open(&format!("{url}/none")).map(drop).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted);
        assert!(failure.happened.contains("there is no 'none'"), "{failure}");
    }
    let old = Nfs2Server::start().unwrap();
    let share = open(&format!("nfs://127.0.0.1:{}/export", old.address().port())).unwrap();
    assert_eq!(share.facts().protocol, "NFSv2 over TCP");
    let why = share.facts().notes.iter().any(|note| note.starts_with("not by version 4: "));
    assert!(why, "{:?}", share.facts().notes);
    // Nobody is there.
    let failure = open("nfs://127.0.0.1:9/data").map(drop).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.happened.contains("refused"), "{failure}");
}

#[test]
fn what_is_written_is_on_the_servers_disk() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    for version in VERSIONS {
        let share = open(&server, "", version).unwrap();
        let facts = share.facts();
        assert_eq!(facts.protocol, format!("NFSv{version} over TCP"));
        assert!(facts.space_bytes.1 > 0 && facts.read_size_bytes >= 65536, "{facts:?}");
        let mut below = share.namespace().unwrap();
        below.make_directory("run").unwrap();
        let cases = [
            (4096, 32, Stability::Unstable),
            (4096, 1, Stability::FileSync),
            (3 << 20, 4, Stability::Unstable),
            (65536, 32, Stability::FileSync),
        ];
        for (i, (block, depth, stability)) in cases.into_iter().enumerate() {
            let path = format!("run/file {i}");
            let file = below.create(&path).unwrap();
            let size = u64::from(block) * 41;
            let pieces = spans(file, 3, size, block);
            let mut rig = Rig::new(&*share, depth, block);
            assert_eq!(rig.run_all(&writes(&pieces, stability)), size);
            assert_eq!(rig.run_all(&[Op::Flush(file)]), 0);
            assert_on_disk(&disk.join(&path), file, 3, size);
            assert_eq!(rig.run_all(&reads(&pieces)), size);
            below.close(file);
            below.remove_file(&path).unwrap();
        }
        below.write_small("run/small", &[7; 150_000]).unwrap();
        below.write_small("run/small", b"shorter").unwrap();
        assert_eq!(std::fs::read(disk.join("run/small")).unwrap(), b"shorter");
        assert_eq!(below.read_small("run/small", 100).unwrap(), b"shorter");
        below.remove_file("run/small").unwrap();
        below.remove_directory("run").unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
        assert!(share.take_flags().is_empty());
    }
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
    for version in ["4.1", "4.2"] {
        let share = open(&server, "", version).unwrap();
        let mut below = share.namespace().unwrap();
        below.make_directory("run").unwrap();
        let file = below.create("run/f").unwrap();
        let pieces = spans(file, 3, SIZE, 65536);
        let mut rig = Rig::new(&*share, 8, 65536);
        let (first, second) = pieces.split_at(pieces.len() / 2);
        rig.run_all(&writes(first, Stability::Unstable));
        server.restart().unwrap();
        // On a new connection, in a new session of a new registration, of a file that is open again.
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
        assert!(missing.happened.contains("'missing'"), "{missing}");
        assert!(missing.next.contains("root"), "{missing}");
        let file = refused("/file");
        assert!(file.happened.contains("no directory"), "{file}");
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
        assert_eq!(facts.protocol, format!("NFSv{newest} over TCP"));
        for version in VERSIONS.into_iter().filter(|version| *version > newest) {
            let failure = open(&server, "", version).map(drop).unwrap_err();
            assert!(failure.next.contains("vers="), "{version} of {minors}: {failure}");
            assert_eq!(failure.cause, Cause::Unreachable);
        }
    }
}
