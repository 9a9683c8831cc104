//! A second server, written by others and in another language: impacket's. It speaks dialect 2.0.2
//! alone, insists on nothing, and signs all its replies. In compounds it does so before it writes
//! where the next part lies, so those signatures are wrong, and a signed session does without
//! compounds but for whole small files in flight. It knows no encryption. All else must work.

mod support;

use plimsoll_smb::{
    Access, Completion, CreateHow, Credentials, Dialect, Error, Exchange, NtStatus, Options,
    PipelineOptions, Protection, Request, Session, Smb2,
};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::ImpacketServer;
use std::fs;
use std::num::NonZeroU16;
use std::time::Duration;
use support::flight::{Ended, User, finish};
use support::{connect, open, pattern, smbclient, tree};

const PORT: u16 = 20447;

#[test]
fn the_basic_round() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Impacket, Need::Smbclient);
    let server = ImpacketServer::start(&stage, "DATA", PORT).unwrap();
    let disk = server.directory();
    let options = Options { call_timeout: Duration::from_secs(5), ..Options::default() };
    let mut tree = tree(PORT, "DATA", &options);
    assert_eq!(tree.facts().dialect, Dialect::Smb2_0_2);
    let content = pattern(200_001);
    let (file, _) = tree.create("Datei", CreateHow::New, Access::ReadWrite).unwrap();
    let most = tree.facts().write_most.min(tree.facts().read_most) as usize;
    for (i, part) in content.chunks(most).enumerate() {
        assert_eq!(tree.write(file, (i * most) as u64, part).unwrap(), part.len());
    }
    tree.flush(file).unwrap();
    tree.close(file).unwrap();
    assert!(fs::read(disk.join("Datei")).unwrap() == content);
    let (file, facts) = tree.create("Datei", CreateHow::Open, Access::Read).unwrap();
    assert_eq!(facts.size, content.len() as u64);
    let mut back = vec![0; content.len()];
    let mut at = 0;
    while at < back.len() {
        let end = (at + most).min(back.len());
        at += tree.read(file, at as u64, &mut back[at..end]).unwrap();
    }
    assert!(back == content);
    tree.close(file).unwrap();
    let mut client = server.smbclient().unwrap();
    smbclient(&mut client, "get Datei /run/back");
    assert!(fs::read("/run/back").unwrap() == content);
    tree.make_directory("Ordner").unwrap();
    let mut names: Vec<_> = tree.list("", 100).unwrap().into_iter().map(|e| e.name).collect();
    names.sort();
    assert_eq!(names, ["Datei", "Ordner"]);
    tree.put_small("klein", CreateHow::New, b"klein", false).unwrap();
    assert_eq!(tree.get_small("klein", 100).unwrap(), b"klein");
    tree.rename("klein", "Ordner/umbenannt").unwrap();
    tree.remove_file("Ordner/umbenannt").unwrap();
    tree.remove_directory("Ordner").unwrap();
    tree.remove_file("Datei").unwrap();
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    assert!(tree.space().unwrap().total > 0);
    tree.disconnect();
}

#[test]
fn what_it_refuses() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Impacket);
    let _server = ImpacketServer::start(&stage, "DATA", PORT).unwrap();
    let options = Options { call_timeout: Duration::from_secs(5), ..Options::default() };
    let wrong = Credentials { password: "wrong".into(), ..support::user() };
    let error = Session::open(connect(PORT), "127.0.0.1", &wrong, &options).map(drop).unwrap_err();
    assert_eq!(error.status(), Some(NtStatus::LOGON_FAILURE), "{error:?}");
    let session = open(PORT, &options).unwrap();
    let (mut session, error) = session.tree("NONE").err().unwrap();
    assert!(error.status().is_some(), "{error:?}");
    let shares = session.shares().unwrap();
    assert!(shares.iter().any(|share| share.name.eq_ignore_ascii_case("DATA")), "{shares:?}");
    let encrypted = Options { encrypt: Protection::On, ..options.clone() };
    let error = open(PORT, &encrypted).map(drop).unwrap_err();
    assert!(matches!(error, Error::EncryptionRefused(_)), "{error:?}");
    let newer = Options { dialects: vec![Dialect::Smb3_1_1], ..options };
    // It answers with the dialect that it speaks, offered or not.
    let error = open(PORT, &newer).map(drop).unwrap_err();
    assert!(matches!(error, Error::Malformed(_) | Error::DialectRefused { .. }), "{error:?}");
}

#[test]
fn single_requests_can_be_signed_and_its_compounds_are_not_believed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Impacket);
    let _server = ImpacketServer::start(&stage, "DATA", PORT).unwrap();
    let options = Options {
        sign: Protection::On,
        call_timeout: Duration::from_secs(5),
        ..Options::default()
    };
    let mut tree = tree(PORT, "DATA", &options);
    assert!(tree.facts().signing.is_some());
    let (file, _) = tree.create("Datei", CreateHow::New, Access::ReadWrite).unwrap();
    assert_eq!(tree.write(file, 0, b"signed").unwrap(), 6);
    let mut buffer = [0; 10];
    assert_eq!(tree.read(file, 0, &mut buffer).unwrap(), 6);
    assert_eq!(&buffer[..6], b"signed");
    tree.close(file).unwrap();
    // One by one these can be signed too.
    assert_eq!(tree.get_small("Datei", 10).unwrap(), b"signed");
    tree.put_small("klein", CreateHow::New, b"klein", true).unwrap();
    tree.rename("klein", "umbenannt").unwrap();
    tree.remove_file("umbenannt").unwrap();
    assert!(tree.space().unwrap().total > 0);
    let size = PipelineOptions {
        depth: NonZeroU16::MIN,
        read_most: 4096,
        write_most: 4096,
        unread: false,
    };
    let mut pipeline = tree.into_pipeline(size);
    let get = Request::Get { path: "Datei", most: 10 };
    let mut user = User::new();
    pipeline.submit(0, get).unwrap();
    finish(&mut pipeline, &mut user);
    assert_eq!(user.ok(0), Ended::Data(b"signed".to_vec()));
    pipeline.protocol_mut().use_compounds(true);
    pipeline.submit(0, get).unwrap();
    assert_eq!(pipeline.reap(u64::MAX, &mut Nothing), Err(Error::BadSignature));
}

/// A user of a pipeline to whom nothing is completed.
struct Nothing;

impl Exchange<Smb2> for Nothing {
    fn now(&mut self) -> u64 {
        0
    }

    fn payload(&mut self, _: u32) -> &[u8] {
        &[]
    }

    fn complete(&mut self, completion: Completion<'_>) {
        panic!("it was believed: {completion:?}");
    }
}
