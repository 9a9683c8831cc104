//! A target that is not an export: the failure names the server's exports as URLs, and each of them works.

mod support;

use plimsoll_load::{OpenOptions, Share, TimeLimits};
use plimsoll_model::{Cause, Failure, printable};
use plimsoll_testkit::Need;
use plimsoll_testkit::responder::null::{self, maze};
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::servers::{GoNfs, Nfs2Server};
use std::sync::Arc;
use std::time::Duration;
use support::LIMIT;

fn open_file(url: &str, file: Option<&str>) -> Result<Arc<dyn Share>, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    let file = file.map(str::to_owned);
    let options = OpenOptions { limits, file, ..OpenOptions::default() };
    plimsoll_load::open(&url.parse().unwrap(), &options)
}

/// Makes a directory, as every run does first.
fn write(url: &str) -> Result<(), Failure> {
    let mut names = open_file(url, None)?.namespace()?;
    names.make_directory("run")?;
    names.remove_directory("run")
}

/// The URLs in a message.
fn urls(next: &str) -> Vec<&str> {
    let is_url = |word: &'_ str| word.starts_with("nfs://");
    next.split(' ')
        .filter(|word| is_url(word))
        .map(|word| word.trim_end_matches([',', '.']))
        .collect()
}

#[test]
fn directories_above_the_exports_name_the_exports() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let exports = ["data", "films \u{dc}bung"].map(Export::directory);
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    let port = server.nfs_port();
    let data = "/run/export/data";
    // From the root, and from a directory between it and the exports.
    for above in ["", "/", "/run", "/run/export/"] {
        let failure =
            write(&format!("nfs://127.0.0.1:{port}{above}?rsize=4096&uid=0")).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted);
        assert!(!failure.next.contains("read-only"), "{failure}");
        let found = urls(&failure.next);
        let named = format!("nfs://127.0.0.1:{port}{data}?uid=0&rsize=4096");
        assert!(found.len() == 2 && found.contains(&&*named), "{failure}");
        found.iter().for_each(|url| write(url).unwrap());
    }
    // An export that cannot be written is what it was.
    let read_only = GaneshaConfig::one(Export::directory("data").read_only());
    drop(server);
    let server = Ganesha::start(&stage, read_only).unwrap();
    let failure = write(&format!("nfs://127.0.0.1:{}{data}", server.nfs_port())).unwrap_err();
    assert!(failure.next.contains("The export is read-only"), "{failure}");
    assert!(failure.next.contains("'plimsoll check TARGET --file NAME'"), "{failure}");
}

#[test]
fn a_path_that_no_version_has_names_the_exports_of_both() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let data = "/run/export/data";
    // Of MOUNT, with the port of it, which version 4 does not have.
    let ports = server.url_with_ports("data").replacen(data, "/", 1);
    for url in [ports.clone(), ports.replacen("/?", "/none?", 1)] {
        let failure = write(&url).unwrap_err();
        assert!(failure.happened.contains("no such export"), "{failure}");
        assert_eq!(urls(&failure.next), [server.url_with_ports("data")], "{failure}");
        write(urls(&failure.next)[0]).unwrap();
    }
    // Of both, by the portmapper.
    drop(server);
    let config = GaneshaConfig::one(Export::directory("data"));
    let _usual = Ganesha::start(&stage, GaneshaConfig { nfs_port: 2049, ..config }).unwrap();
    let failure = write("nfs://127.0.0.1/none?rsize=8192").unwrap_err();
    assert!(failure.happened.contains("'none' does not exist (NFS4ERR_NOENT)"), "{failure}");
    let found = urls(&failure.next);
    let url = format!("nfs://127.0.0.1{data}?rsize=8192");
    let named = [url.clone(), url.replace('?', "?vers=3&")];
    assert_eq!(found, named, "{failure}");
    found.iter().for_each(|url| write(url).unwrap());
    // A directory that is missing in an export, in all versions and in version 4 alone: first what to do about it.
    for version in ["", "?vers=4.2"] {
        let failure = write(&format!("nfs://127.0.0.1{data}/film{version}")).unwrap_err();
        assert!(failure.happened.contains("'film' does not exist"), "{failure}");
        let advice = "Create the directory on the server, or name an existing one. Name one of ";
        assert!(failure.next.starts_with(advice), "{failure}");
        assert_eq!(urls(&failure.next), [format!("nfs://127.0.0.1{data}{version}")], "{failure}");
    }
}

#[test]
fn a_missing_file_is_a_missing_file_and_no_reason_for_an_older_version() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("data"));
    let server = Ganesha::start(&stage, GaneshaConfig { nfs_port: 2049, ..config }).unwrap();
    for url in [server.url("data"), format!("{}?vers=3", server.url("data"))] {
        let failure = open_file(&url, Some("none.bin")).map(drop).unwrap_err();
        let version = if url.ends_with("vers=3") { "NFS3ERR_NOENT" } else { "NFS4ERR_NOENT" };
        assert!(failure.happened.contains(version), "{failure}");
        assert!(failure.next.contains("Check its name"), "{failure}");
        let text = failure.to_string();
        assert!(text.contains("'none.bin'") && !text.contains("no such export"), "{failure}");
    }
}

/// It has neither version 4 nor a list of exports.
#[test]
fn a_server_that_lists_nothing_is_said_to() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::GoNfs);
    let server = GoNfs::start(&stage, 20_490).unwrap();
    write(&server.url()).unwrap();
    let root = server.url().replace("/mount", "");
    match write(&root) {
        // It may take every path for its one export.
        Ok(()) => {}
        Err(failure) => assert!(failure.next.contains("lists no exports"), "{failure}"),
    }
}

#[test]
fn exports_of_version_2_are_asked_for_in_version_2() {
    let server = Nfs2Server::start().unwrap();
    let failure = write(&format!("nfs://127.0.0.1:{}", server.address().port())).unwrap_err();
    let found = urls(&failure.next);
    assert_eq!(found, [format!("nfs://127.0.0.1:{}/export?vers=2", server.address().port())]);
    assert!(
        !failure.happened.contains("NFS3ERR") && !failure.happened.contains("MNT3"),
        "{failure}"
    );
    write(found[0]).unwrap();
}

/// Directories without end, and export names that steer the terminal or look like other servers.
#[test]
fn a_server_that_lies_about_its_exports_harms_nobody() {
    let address = null::serve(maze, Default::default()).unwrap();
    for path in ["", "/again/and again"] {
        let failure = write(&format!("nfs://{address}{path}?vers=4.1")).unwrap_err();
        let text = failure.to_string();
        assert_eq!(printable(&failure.next), failure.next, "{text}");
        assert!(failure.next.contains("in all), such as nfs://"), "{text}");
        let found = urls(&failure.next);
        assert!((2..=20).contains(&found.len()) && failure.next.len() < 8000, "{text}");
        for url in found {
            assert!(url.starts_with(&format!("nfs://{address}/")) && url.contains("%1B"), "{text}");
        }
    }
}
