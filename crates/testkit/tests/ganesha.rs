//! The real server on its stage, seen through other people's clients.

use plimsoll_testkit::Need;
use plimsoll_testkit::clients::{nfs_cat, nfs_cp, pattern, tool};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Squash};
use std::fs;
use std::process::Command;

fn exported() -> String {
    let output = Command::new("showmount").args(["-e", "127.0.0.1"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn exports_are_listed_and_bytes_pass_both_ways() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Showmount, Need::Libnfs);
    let names = ["data", "Musik für Ärzte"];
    let exports = names.map(Export::directory).into_iter().chain([Export::memory("memory")]);
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    let listed = exported();
    for name in names.into_iter().chain(["memory"]) {
        assert!(listed.contains(&format!("/run/export/{name}")), "{name} in {listed}");
    }
    let content = pattern(3_000_001);
    for name in names {
        let directory = server.directory(name).unwrap();
        fs::write(directory.join("there"), &content).unwrap();
        assert_eq!(nfs_cat(&server.libnfs_url(name, "there")).unwrap(), content);
        nfs_cp("/run/export/data/there", &server.libnfs_url(name, "back")).unwrap();
        assert_eq!(fs::read(directory.join("back")).unwrap(), content);
    }
    assert_eq!(server.directory("memory"), None);
    let content = &content[..1_000_000];
    fs::write("/run/small", content).unwrap();
    nfs_cp("/run/small", &server.libnfs_url("memory", "small")).unwrap();
    assert_eq!(nfs_cat(&server.libnfs_url("memory", "small")).unwrap(), content);
}

#[test]
fn urls_are_escaped_and_carry_ports_where_asked() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::new([Export::directory("a"), Export::directory("Ä b")]);
    let server = Ganesha::start(&stage, config).unwrap();
    assert_eq!(server.url("a"), "nfs://127.0.0.1/run/export/a");
    assert_eq!(
        server.url_with_ports("Ä b"),
        "nfs://127.0.0.1:20049/run/export/%C3%84%20b?mountport=20048"
    );
    assert_eq!(server.url("none"), "nfs://127.0.0.1/run/export/none");
}

#[test]
fn access_of_an_export_is_kept() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let exports = [
        Export::directory("open"),
        Export::directory("read only").read_only(),
        Export::directory("squashed").squash(Squash::Root),
        Export::directory("full").size(1 << 20),
    ];
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    fs::write("/run/file", pattern(10_000)).unwrap();
    nfs_cp("/run/file", &server.libnfs_url("open", "file")).unwrap();
    let refused = nfs_cp("/run/file", &server.libnfs_url("read only", "file")).unwrap_err();
    assert!(refused.contains("ROFS"), "{refused}");
    nfs_cp("/run/file", &server.libnfs_url("squashed", "file")).unwrap();
    assert_eq!(owner("/run/export/open/file"), owner("/run/file"));
    assert_ne!(owner("/run/export/squashed/file"), owner("/run/file"));
    fs::write("/run/big", pattern(2 << 20)).unwrap();
    nfs_cp("/run/big", &server.libnfs_url("full", "big")).unwrap_err();
    nfs_cp("/run/big", &server.libnfs_url("open", "big")).unwrap();
}

fn owner(path: &str) -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().uid()
}

#[test]
fn a_privileged_port_is_asked_for() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let exports = [Export::directory("open"), Export::directory("guarded").privileged_port()];
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    let list = |export| {
        // As an ordinary user, who has no port below 1024 to come from.
        let url = server.libnfs_url(export, "");
        tool(Command::new("setpriv").args(["--reuid=65534", "--clear-groups", "nfs-ls", &url]))
    };
    list("open").unwrap();
    list("guarded").unwrap_err();
    tool(Command::new("nfs-ls").arg(server.libnfs_url("guarded", ""))).unwrap();
}

#[test]
fn files_outlive_a_crash_and_an_orderly_stop() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let config = GaneshaConfig::one(Export::directory("data"));
    let mut server = Ganesha::start(&stage, config).unwrap();
    let url = server.libnfs_url("data", "file");
    fs::write("/run/export/data/file", b"kept").unwrap();
    let first = server.id().unwrap();
    server.restart().unwrap();
    assert_ne!(server.id().unwrap(), first);
    assert_eq!(nfs_cat(&url).unwrap(), b"kept");
    server.stop().unwrap();
    assert_eq!(server.id(), None);
    nfs_cat(&url).unwrap_err();
    assert!(server.freeze().is_err(), "there is nothing to freeze");
    server.restart().unwrap();
    assert_eq!(nfs_cat(&url).unwrap(), b"kept");
}

#[test]
fn a_frozen_server_answers_once_thawed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    fs::write("/run/export/data/file", b"late").unwrap();
    server.freeze().unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", server.id().unwrap())).unwrap();
    assert!(state.contains(") T "), "stopped: {state}");
    let url = server.libnfs_url("data", "file");
    let reader = std::thread::spawn(move || nfs_cat(&url));
    server.thaw().unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), b"late");
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let taken = std::net::TcpListener::bind(("127.0.0.1", 20049)).unwrap();
    let error = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("a"))).unwrap_err();
    assert!(error.to_string().contains("Cannot bind"), "{error}");
    drop(taken);
}
