//! The server inside the program: what clients see is what lies in the directory, and nothing
//! beside it.

mod client;
mod property;

use super::server::{BuiltinServer, EXPORT};
use client::Client;
use nfs3_server::nfs3_types::nfs3::{
    Nfs3Option, createhow3, createverf3, ftype3, nfs_fh3, nfsstat3, sattr3, stable_how,
};
use plimsoll_process::child;
use plimsoll_testkit::clients::{nfs_cat, nfs_cp, pattern, tool};
use plimsoll_testkit::{Need, available, enter_or_skip};
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn serve() -> (TempDir, BuiltinServer, Client, nfs_fh3) {
    let directory = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(directory.path()).unwrap();
    let mut client = Client::connect(server.port());
    let root = client.mount(EXPORT).unwrap();
    (directory, server, client, root)
}

/// The URL of a file for the tools of libnfs, which take paths without escapes.
fn libnfs_url(server: &BuiltinServer, file: &str) -> String {
    format!("nfs://127.0.0.1{EXPORT}/{file}?nfsport={0}&mountport={0}&version=3", server.port())
}

fn size(bytes: u64) -> sattr3 {
    sattr3 { size: Nfs3Option::Some(bytes), ..sattr3::default() }
}

const UNCHECKED: fn() -> createhow3 = || createhow3::UNCHECKED(sattr3::default());

#[test]
fn bytes_pass_both_ways_through_libnfs() {
    if !available(Need::Libnfs) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(directory.path()).unwrap();
    let content = pattern(5_000_001);
    fs::create_dir(directory.path().join("Bilder für Ärzte")).unwrap();
    let there = directory.path().join("Bilder für Ärzte/there");
    fs::write(&there, &content).unwrap();
    assert_eq!(nfs_cat(&libnfs_url(&server, "Bilder für Ärzte/there")).unwrap(), content);
    let source = elsewhere.path().join("source");
    fs::write(&source, &content).unwrap();
    nfs_cp(source.to_str().unwrap(), &libnfs_url(&server, "copied")).unwrap();
    assert_eq!(fs::read(directory.path().join("copied")).unwrap(), content);
    let listed = tool(child::command("nfs-ls").arg(libnfs_url(&server, ""))).unwrap();
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains("copied") && listed.contains("Bilder für Ärzte"), "{listed}");
    assert!(listed.contains("5000001"), "{listed}");
}

#[test]
fn creating_keeps_truncates_or_refuses_what_is_there() {
    let (directory, _server, mut client, root) = serve();
    let path = directory.path().join("f");
    let file = client.create(&root, "f", createhow3::GUARDED(sattr3::default())).unwrap();
    client.write(&file, 0, b"content", stable_how::UNSTABLE).unwrap();
    let guarded = client.create(&root, "f", createhow3::GUARDED(size(0)));
    assert_eq!(guarded, Err(nfsstat3::NFS3ERR_EXIST));
    let exclusive = client.create(&root, "f", createhow3::EXCLUSIVE(createverf3([1; 8])));
    assert_eq!(exclusive, Err(nfsstat3::NFS3ERR_EXIST));
    assert_eq!(client.create(&root, "f", UNCHECKED()), Ok(file.clone()));
    assert_eq!(fs::read(&path).unwrap(), b"content");
    assert_eq!(client.create(&root, "f", createhow3::UNCHECKED(size(0))), Ok(file));
    assert_eq!(fs::read(&path).unwrap(), b"");
    fs::create_dir(directory.path().join("d")).unwrap();
    assert_eq!(client.create(&root, "d", UNCHECKED()), Err(nfsstat3::NFS3ERR_EXIST));
    let private = sattr3 { mode: Nfs3Option::Some(0o600), ..sattr3::default() };
    client.create(&root, "private", createhow3::UNCHECKED(private)).unwrap();
    let mode = fs::metadata(directory.path().join("private")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

/// A client that got no answer asks again with the same verifier, and must not be refused.
#[test]
fn an_exclusive_create_may_be_repeated_by_its_owner_alone() {
    let (_directory, _server, mut client, root) = serve();
    let mut create =
        |verifier| client.create(&root, "f", createhow3::EXCLUSIVE(createverf3([verifier; 8])));
    let file = create(1).unwrap();
    assert_eq!(create(1), Ok(file));
    assert_eq!(create(2), Err(nfsstat3::NFS3ERR_EXIST));
}

#[test]
fn a_write_beyond_the_end_leaves_a_hole_of_zeros() {
    let (directory, _server, mut client, root) = serve();
    let file = client.create(&root, "f", UNCHECKED()).unwrap();
    for stable in [stable_how::UNSTABLE, stable_how::DATA_SYNC, stable_how::FILE_SYNC] {
        assert_eq!(client.write(&file, 100_000, b"end", stable), Ok(stable));
    }
    client.commit(&file).unwrap();
    let expected = [vec![0; 100_000], b"end".to_vec()].concat();
    assert_eq!(fs::read(directory.path().join("f")).unwrap(), expected);
    assert_eq!(client.read(&file, 99_999, 100), Ok((b"\0end".to_vec(), true)));
    assert_eq!(client.read(&file, 0, 10), Ok((vec![0; 10], false)));
    assert_eq!(client.read(&file, u64::MAX, 10), Ok((vec![], true)));
    let beyond = client.write(&file, u64::MAX - 1, b"end", stable_how::UNSTABLE);
    assert_eq!(beyond, Err(nfsstat3::NFS3ERR_FBIG));
    // Asked for more than the server gives in one answer.
    client.set(&file, size(3 << 20)).unwrap();
    let (bytes, end) = client.read(&file, 0, u32::MAX).unwrap();
    assert_eq!((bytes.len(), end), (1 << 20, false));
}

#[test]
fn no_name_leads_out_of_the_directory() {
    let (directory, _server, mut client, root) = serve();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    symlink(outside.path(), directory.path().join("door")).unwrap();
    symlink(outside.path().join("secret"), directory.path().join("window")).unwrap();
    for name in ["..", ".", "", "/etc", "../x", "door/secret", "a\0b"] {
        let refused = Err(nfsstat3::NFS3ERR_ACCES);
        assert_eq!(client.lookup(&root, name), refused, "{name:?}");
        assert_eq!(client.create(&root, name, UNCHECKED()), refused, "{name:?}");
        assert_eq!(client.make_directory(&root, name), refused, "{name:?}");
        assert_eq!(client.remove(&root, name), refused.clone().map(drop), "{name:?}");
        assert_eq!(client.rename((&root, "door"), (&root, name)), refused.map(drop), "{name:?}");
    }
    let long = "x".repeat(256);
    assert_eq!(client.lookup(&root, &long), Err(nfsstat3::NFS3ERR_NAMETOOLONG));
    for link in ["door", "window"] {
        let handle = client.lookup(&root, link).unwrap();
        assert!(matches!(client.attributes(&handle).unwrap().type_, ftype3::NF3LNK));
        assert!(client.read(&handle, 0, 100).is_err());
        assert!(client.write(&handle, 0, b"x", stable_how::UNSTABLE).is_err());
        assert!(client.set(&handle, size(0)).is_err());
        assert!(client.lookup(&handle, "secret").is_err());
        assert!(client.list(&handle).is_err());
        assert!(client.create(&root, link, UNCHECKED()).is_err());
        assert!(client.mount(&format!("{EXPORT}/{link}/secret")).is_err());
    }
    assert!(client.mount("/etc").is_err());
    assert!(client.mount(&format!("{EXPORT}/../etc")).is_err());
    client.remove(&root, "window").unwrap();
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_handle_is_stale_once_its_file_is_gone() {
    let (directory, _server, mut client, root) = serve();
    let old = client.create(&root, "f", UNCHECKED()).unwrap();
    client.remove(&root, "f").unwrap();
    client.create(&root, "f", UNCHECKED()).unwrap();
    assert_eq!(client.read(&old, 0, 1), Err(nfsstat3::NFS3ERR_STALE));
    let parent = client.make_directory(&root, "d").unwrap();
    fs::remove_dir(directory.path().join("d")).unwrap();
    let gone = client.create(&parent, "f", UNCHECKED());
    assert_eq!(gone, Err(nfsstat3::NFS3ERR_STALE));
    assert_eq!(client.lookup(&root, "d"), Err(nfsstat3::NFS3ERR_NOENT));
}

#[test]
fn directories_are_made_renamed_and_removed() {
    let (directory, _server, mut client, root) = serve();
    let d = client.make_directory(&root, "d").unwrap();
    assert_eq!(client.make_directory(&root, "d"), Err(nfsstat3::NFS3ERR_EXIST));
    let file = client.create(&d, "f", UNCHECKED()).unwrap();
    assert_eq!(client.remove_directory(&root, "d"), Err(nfsstat3::NFS3ERR_NOTEMPTY));
    client.rename((&root, "d"), (&root, "e")).unwrap();
    client.write(&file, 0, b"moved", stable_how::UNSTABLE).unwrap();
    assert_eq!(fs::read(directory.path().join("e/f")).unwrap(), b"moved");
    client.remove(&d, "f").unwrap();
    client.remove_directory(&root, "e").unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(client.set(&root, size(0)), Err(nfsstat3::NFS3ERR_ISDIR));
}

/// As `rm -r` does: a page is read, its files removed, the next page read.
#[test]
fn a_long_directory_is_read_page_by_page_while_it_shrinks() {
    let (directory, _server, mut client, root) = serve();
    for number in 0..500 {
        fs::write(directory.path().join(format!("file {number}")), b"").unwrap();
    }
    assert_eq!(client.list(&root).unwrap().len(), 500);
    let (mut cookie, mut pages, mut removed) = (0, 0, 0);
    loop {
        let (entries, last) = client.page(&root, cookie).unwrap();
        for (entry, name) in entries {
            client.remove(&root, &name).unwrap();
            (cookie, removed) = (entry, removed + 1);
        }
        pages += 1;
        if last {
            break;
        }
    }
    assert_eq!(removed, 500);
    assert!(pages > 10, "{pages}");
}

#[test]
fn a_full_disk_is_reported() {
    let stage = enter_or_skip!();
    let mounted = stage.tmpfs("/run/small", 1 << 20).unwrap();
    let server = BuiltinServer::start(mounted.path()).unwrap();
    let mut client = Client::connect(server.port());
    let root = client.mount(EXPORT).unwrap();
    let file = client.create(&root, "f", UNCHECKED()).unwrap();
    let block = pattern(512 << 10);
    client.write(&file, 0, &block, stable_how::UNSTABLE).unwrap();
    let full = client.write(&file, 1 << 20, &[&block[..], &block].concat(), stable_how::UNSTABLE);
    assert_eq!(full, Err(nfsstat3::NFS3ERR_NOSPC));
    assert_eq!(client.read(&file, 0, 512 << 10).unwrap().0, block);
}

#[test]
fn dropping_it_closes_the_port_and_every_connection() {
    let (directory, server, mut client, root) = serve();
    client.list(&root).unwrap();
    let port = server.port();
    let mut idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    drop(server);
    let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let rest = std::io::Read::read(&mut idle, &mut [0; 1]);
    assert!(matches!(rest, Ok(0) | Err(_)), "{rest:?}");
    let missing = directory.path().join("missing");
    let error = BuiltinServer::start(&missing).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
}
