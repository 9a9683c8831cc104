//! The stage by itself.

use plimsoll_testkit::{Need, Stage};
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn network() -> String {
    fs::read_link("/proc/thread-self/ns/net").unwrap().to_string_lossy().into_owned()
}

fn mounts() -> String {
    fs::read_link("/proc/thread-self/ns/mnt").unwrap().to_string_lossy().into_owned()
}

#[test]
fn the_thread_comes_back_where_it_was() {
    let before = (network(), mounts(), std::env::current_dir().unwrap());
    let stage = plimsoll_testkit::enter_or_skip!();
    assert_ne!(network(), before.0);
    assert_ne!(mounts(), before.1);
    assert_eq!(std::env::current_dir().unwrap(), before.2, "the directory stays in sight");
    fs::write("/run/plimsoll-stage-test", b"").unwrap();
    drop(stage);
    assert_eq!((network(), mounts(), std::env::current_dir().unwrap()), before);
    assert!(!Path::new("/run/plimsoll-stage-test").exists());
}

#[test]
fn threads_and_programs_started_from_it_are_on_it_and_others_are_not() {
    let outside = network();
    let stage = plimsoll_testkit::enter_or_skip!();
    let inside = network();
    assert_eq!(std::thread::spawn(network).join().unwrap(), inside);
    let link = Command::new("readlink").arg("/proc/self/ns/net").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&link.stdout).trim(), inside);
    let process = fs::read_link("/proc/self/ns/net").unwrap();
    assert_eq!(process.to_string_lossy(), outside, "the process as a whole has not moved");
    drop(stage);
}

/// Four stages at once, each with its own portmapper on the same port and its own files.
#[test]
fn stages_do_not_disturb_each_other() {
    if !plimsoll_testkit::available(Need::Namespaces) {
        return;
    }
    let together = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for number in 0..4_u8 {
            let together = &together;
            scope.spawn(move || {
                let stage = Stage::enter().unwrap();
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 2049)).unwrap();
                fs::write("/run/number", [number]).unwrap();
                together.wait();
                assert_eq!(fs::read("/run/number").unwrap(), [number]);
                TcpStream::connect((Ipv4Addr::LOCALHOST, 111)).unwrap();
                together.wait();
                drop((listener, stage));
            });
        }
    });
}

#[test]
fn a_dropped_port_is_silent_until_opened_again() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Nftables);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = |to: &SocketAddr| TcpStream::connect_timeout(to, Duration::from_millis(300));
    connect(&address).unwrap();
    stage.drop_port(address.port()).unwrap();
    assert_eq!(connect(&address).unwrap_err().kind(), ErrorKind::TimedOut);
    let closed = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    assert_eq!(connect(&closed).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    stage.open_ports().unwrap();
    connect(&address).unwrap();
}

#[test]
fn a_tmpfs_is_full_at_its_size_and_gone_when_dropped() {
    let stage = plimsoll_testkit::enter_or_skip!();
    let directory = tempfile::tempdir().unwrap();
    let mounted = stage.tmpfs(directory.path(), 1 << 20).unwrap();
    let file = mounted.path().join("file");
    fs::write(&file, vec![1; 512 << 10]).unwrap();
    let error = fs::write(mounted.path().join("more"), vec![1; 1 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    drop(mounted);
    assert!(!file.exists());
    directory.close().unwrap();
    let refused = stage.tmpfs("/proc/nowhere", 4096).unwrap_err().to_string();
    assert!(refused.contains("/proc/nowhere"), "{refused}");
}

#[test]
fn the_portmapper_ends_with_its_stage() {
    let stage = plimsoll_testkit::enter_or_skip!();
    let inside = network();
    let in_this_network = || {
        fs::read_dir("/proc").unwrap().flatten().filter(|process| {
            let link = fs::read_link(process.path().join("ns/net"));
            link.is_ok_and(|link| link.to_string_lossy() == inside)
        })
    };
    assert!(in_this_network().count() >= 2, "the portmapper and its guard");
    drop(stage);
    // A killed process is seen until its parent has waited for it.
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        in_this_network().count() == 0
    });
    assert!(gone);
}
