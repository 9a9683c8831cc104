//! Versions 2 and 3 of NFS over UDP and TCP: what is written is what the server has, byte for byte, and
//! the version is the one that is asked for or the newest that both sides have.

mod support;

use plimsoll_load::{EntryKind, NfsShare, Op, OpenOptions, Share, TimeLimits};
use plimsoll_model::{Cause, Failure, Flag, NfsTarget, Stability, Target};
use plimsoll_testkit::Need;
use plimsoll_testkit::proxy::{Faults, UdpProxy};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Nfs2Server};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, reads, spans, writes};

fn open(url: &str) -> Result<NfsShare, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    let target: NfsTarget = match url.parse() {
        Ok(Target::Nfs(target)) => target,
        other => panic!("{url}: {other:?}"),
    };
    NfsShare::open(&target, url, &OpenOptions { limits, ..OpenOptions::default() })
}

/// Files and names through a namespace and through lanes; `seen` looks at each file on the server.
fn everything(share: &NfsShare, seen: impl Fn(&str, &dyn Fn(&[u8]))) {
    let mut below = share.namespace().unwrap();
    below.make_directory("run").unwrap();
    for (i, (block, depth, stability)) in [
        (4096, 32, Stability::Unstable),
        (4096, 1, Stability::FileSync),
        (100_000, 4, Stability::Unstable),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("run/file {i}");
        let file = below.create(&path).unwrap();
        let size = u64::from(block) * 40;
        let pieces = spans(file, 3, size, block);
        let mut rig = Rig::new(share, depth, block);
        assert_eq!(rig.run_all(&writes(&pieces, stability)), size);
        assert_eq!(rig.run_all(&[Op::Flush(file)]), 0);
        seen(&path, &|bytes| {
            let copy = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(copy.path(), bytes).unwrap();
            assert_on_disk(copy.path(), file, 3, size);
        });
        assert_eq!(rig.run_all(&reads(&pieces)), size);
        below.close(file);
    }
    below.write_small("run/small", &[7; 20_000]).unwrap();
    below.write_small("run/small", b"shorter").unwrap();
    assert_eq!(below.read_small("run/small", 100).unwrap(), b"shorter");
    let mut listed = below.list("run").unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<_> = listed.iter().map(|entry| (&*entry.name, entry.kind)).collect();
    let expected = ["file 0", "file 1", "file 2", "small"].map(|name| (name, EntryKind::File));
    assert_eq!(names, expected);
    assert!(below.space().unwrap().total > 0);
    for (name, _) in names {
        below.remove_file(&format!("run/{name}")).unwrap();
    }
    below.remove_directory("run").unwrap();
}

#[test]
fn version_3_over_udp_with_ganesha_straight_and_over_a_lossy_way() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("data")).udp();
    let server = Ganesha::start(&stage, config).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    let nfs = SocketAddr::from((Ipv4Addr::LOCALHOST, server.nfs_port()));
    let relay = UdpProxy::before(nfs, Faults { dropped: 10, doubled: 10 }, 5).unwrap();
    let (near, mount) = (relay.address().port(), server.mount_port());
    let export = "/run/export/data";
    for url in [
        format!("{}?proto=udp", server.url("data")),
        format!("{}&proto=udp&vers=3&rsize=49152", server.url_with_ports("data")),
        format!("nfs://127.0.0.1:{near}{export}?mountport={mount}&proto=udp&rsize=8192&wsize=8192"),
    ] {
        let share = open(&url).unwrap();
        let facts = share.facts();
        assert_eq!(facts.protocol, "NFSv3 over UDP".into());
        let expected = if url.contains("49152") { (49152, 32768) } else { (32768, 32768) };
        let sizes = (facts.read_size_bytes, facts.write_size_bytes);
        assert_eq!(sizes, if url.contains("8192") { (8192, 8192) } else { expected });
        everything(&share, |path, check| check(&std::fs::read(disk.join(path)).unwrap()));
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
        let lossy = url.contains(&near.to_string());
        let sent_again = |flag: &Flag| match flag {
            Flag::Retransmitted { target, times, .. } => *target == url && *times > 0,
            _ => false,
        };
        assert!(!lossy || share.take_flags().iter().any(sent_again), "{:?}", relay.counts());
    }
    assert!(relay.counts().dropped > 0);
    // Over TCP the very same export.
    let tcp = open(&server.url("data")).unwrap();
    assert_eq!(tcp.facts().protocol, "NFSv3 over TCP".into());
}

#[test]
fn a_server_without_udp_or_without_the_version_is_reported() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for (url, words) in [
        (
            format!("{}?proto=udp", server.url("data")),
            "no port for program 100003 version 3 over UDP",
        ),
        (format!("{}?vers=2", server.url("data")), "versions 3 to 4"),
        (format!("{}&vers=2", server.url_with_ports("data")), "versions 3 to 4"),
        (format!("{}&proto=udp", server.url_with_ports("data")), "connection refused"),
    ] {
        let failure = open(&url).map(drop).expect_err(&url);
        assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

#[test]
fn version_2_over_both() {
    let server = Nfs2Server::start().unwrap();
    let port = server.address().port();
    let url = |options: &str| format!("nfs://127.0.0.1:{port}/export{options}");
    for (options, protocol) in [
        ("?vers=2&proto=udp", "NFSv2 over UDP"),
        ("?vers=2", "NFSv2 over TCP"),
        ("?proto=udp&rsize=65536", "NFSv2 over UDP"),
        ("?nconnect=3", "NFSv2 over TCP"),
        ("", "NFSv2 over TCP"),
    ] {
        let share = open(&url(options)).unwrap();
        let facts = share.facts();
        assert_eq!(facts.protocol, protocol.into(), "{options}");
        assert_eq!((facts.read_size_bytes, facts.write_size_bytes), (8192, 8192));
        assert_eq!(facts.stability, "stable with each WRITE");
        let notes = facts.notes.join("\n");
        let has = |note: &str| notes.contains(note);
        assert_eq!(has("does not support NFS version 3"), !options.contains("vers=2"), "{notes}");
        assert_eq!(
            has("rsize=65536 exceeds the limit of NFS version 2"),
            options.contains("rsize")
        );
        everything(&share, |path, check| check(&server.content(path).unwrap()));
        assert_eq!(server.count(), 0);
    }
    // What is larger than 32 bits can say fails in words, and nothing of it is sent.
    let share = open(&url("?vers=2")).unwrap();
    let mut below = share.namespace().unwrap();
    let file = below.create("file").unwrap();
    let mut far = spans(file, 3, 4096, 4096);
    far[0].offset = 1 << 32;
    let before = server.calls(8);
    let done = Rig::new(&share, 1, 4096).run(&writes(&far, Stability::Unstable)).remove(0);
    let error = done.result.unwrap_err();
    assert!(error.detail.contains("4 GiB") && error.detail.contains("vers=3"), "{error:?}");
    assert_eq!(server.calls(8), before);
    let failure = open(&url("?vers=3")).map(drop).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.to_string().contains("versions 2 to 2"), "{failure}");
    assert!(failure.next.contains("vers="), "{failure}");
}

/// Each connection has its turn, and all of them are waited for.
#[test]
fn calls_are_spread_over_connections() {
    let server = Nfs2Server::start().unwrap();
    let port = server.address().port();
    let share = open(&format!("nfs://127.0.0.1:{port}/export?vers=2&nconnect=4")).unwrap();
    assert!(share.facts().notes.iter().any(|note| note.contains("4 connections in turn")));
    let mut below = share.namespace().unwrap();
    let file = below.create("file").unwrap();
    let pieces = spans(file, 3, 4096 * 200, 4096);
    for depth in [1, 7, 32] {
        let before = server.callers();
        let mut rig = Rig::new(&share, depth, 4096);
        assert_eq!(rig.run_all(&writes(&pieces, Stability::Unstable)), 4096 * 200);
        assert_eq!(rig.run_all(&reads(&pieces)), 4096 * 200);
        let mut callers = server.callers();
        callers.retain(|caller, _| !before.contains_key(caller));
        assert_eq!(callers.into_values().collect::<Vec<_>>(), [100; 4]);
    }
}
