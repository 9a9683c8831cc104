//! This client and the SMB server in `testkit`, which has the server's side of the same crate's signatures and
//! nothing else of it: names, data, compounds, and who is turned away.

mod support;

use plimsoll_smb::{
    Access, CreateHow, Credentials, Dialect, Error, NtStatus, Options, Request, Session,
    SigningAlgorithm, Tree,
};
use plimsoll_testkit::responder::Costs;
use plimsoll_testkit::responder::smb::{PASSWORD, SHARE, SmbResponder, USER};
use std::time::{Duration, SystemTime};
use support::flight::{Ended, User, finish, pipeline};
use support::{connect, pattern};

const ALGORITHMS: [SigningAlgorithm; 2] = [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac];

fn server(signing: SigningAlgorithm) -> SmbResponder {
    SmbResponder::start(signing, Costs::FREE).unwrap()
}

fn open(server: &SmbResponder, password: &str) -> Result<Session, Error> {
    let user = Credentials { user: USER.into(), domain: "PLACE".into(), password: password.into() };
    Session::open(connect(server.address().port()), "127.0.0.1", &user, &Options::default())
}

fn tree(server: &SmbResponder) -> Tree {
    open(server, PASSWORD).unwrap().tree(SHARE).map_err(|(_, error)| error).unwrap()
}

#[test]
fn files_are_made_read_listed_renamed_and_removed() {
    for signing in ALGORITHMS {
        let server = server(signing);
        let mut tree = tree(&server);
        assert_eq!(tree.facts().dialect, Dialect::Smb3_1_1);
        assert_eq!(tree.facts().signing, Some(signing));
        assert!(!tree.facts().guest && !tree.tree_facts().read_only);
        tree.echo().unwrap();
        assert!(tree.space().unwrap().available > 1 << 30);

        tree.make_directory("Bücher").unwrap();
        let again = tree.make_directory("Bücher").unwrap_err();
        assert_eq!(again.status(), Some(NtStatus::OBJECT_NAME_COLLISION));
        let (file, info) = tree.create("Bücher/eins", CreateHow::New, Access::ReadWrite).unwrap();
        assert_eq!(info.size, 0);
        let content = pattern(200_000);
        assert_eq!(tree.write(file, 0, &content).unwrap(), content.len());
        tree.flush(file).unwrap();
        let mut back = vec![0; content.len()];
        assert_eq!(tree.read(file, 0, &mut back).unwrap(), content.len());
        assert_eq!(back, content);
        assert_eq!(tree.read(file, 200_000, &mut back).unwrap(), 0, "the end");
        tree.set_size(file, 7).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        tree.set_times(file, time).unwrap();
        tree.close(file).unwrap();
        assert_eq!(tree.close(file).unwrap_err().status(), Some(NtStatus::FILE_CLOSED));

        let (file, info) = tree.create("Bücher/eins", CreateHow::Open, Access::Read).unwrap();
        assert_eq!((info.size, info.written), (7, Some(time)));
        tree.close(file).unwrap();
        tree.rename("Bücher/eins", "Bücher/zwei").unwrap();
        let listed = tree.list("Bücher", 10).unwrap();
        assert_eq!(listed.iter().map(|entry| &*entry.name).collect::<Vec<_>>(), ["zwei"]);
        assert_eq!(server.names(), ["Bücher", "Bücher/zwei"]);
        let full = tree.remove_directory("Bücher").unwrap_err();
        assert_eq!(full.status(), Some(NtStatus(0xc000_0101)));
        tree.remove_file("Bücher/zwei").unwrap();
        tree.remove_directory("Bücher").unwrap();
        assert_eq!(server.names(), [""; 0]);
        tree.disconnect();
    }
}

/// More names than one page has.
#[test]
fn a_large_directory_is_listed_whole() {
    let server = server(SigningAlgorithm::AesGmac);
    let mut tree = tree(&server);
    for number in 0..900 {
        let name = format!("a name that is not short at all {number:04}");
        let (file, _) = tree.create(&name, CreateHow::New, Access::ReadWrite).unwrap();
        tree.close(file).unwrap();
    }
    let names: Vec<String> =
        tree.list("", 1000).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, server.names());
}

#[test]
fn many_calls_are_in_flight_alone_and_in_compounds() {
    for (signing, compounds) in
        [(ALGORITHMS[0], false), (ALGORITHMS[0], true), (ALGORITHMS[1], true)]
    {
        let server = server(signing);
        let mut pipeline = pipeline(tree(&server), 16, 1 << 20);
        pipeline.protocol_mut().use_compounds(compounds);
        let mut user = User::new();
        let path = |number: u32| format!("small {number:02}");
        let content = |number: u32| pattern(1000 * (number as usize + 1));
        for number in 0..16 {
            user.payloads.insert(number, content(number));
            let count = 1000 * (number + 1);
            let (path, how, through) = (path(number), CreateHow::New, number % 2 == 0);
            pipeline.submit(number, Request::Put { path: &path, how, count, through }).unwrap();
        }
        finish(&mut pipeline, &mut user);
        for number in 0..16 {
            assert_eq!(user.ok(number), Ended::Count(1000 * (number + 1)));
            pipeline.submit(number, Request::Get { path: &path(number), most: 1 << 20 }).unwrap();
        }
        finish(&mut pipeline, &mut user);
        assert_eq!(server.names(), (0..16).map(path).collect::<Vec<_>>());
        for number in 0..16 {
            assert_eq!(user.ok(number), Ended::Data(content(number)));
            pipeline.submit(number, Request::Remove { path: &path(number) }).unwrap();
        }
        finish(&mut pipeline, &mut user);
        (0..16).for_each(|number| assert_eq!(user.ok(number), Ended::Done));
        assert_eq!(server.names(), [""; 0]);
        // What is not there is refused, in a compound as alone.
        pipeline.submit(0, Request::Get { path: "nothing", most: 1 }).unwrap();
        finish(&mut pipeline, &mut user);
        let error = user.ended.remove(&0).unwrap().unwrap_err();
        assert_eq!(error.status(), Some(NtStatus::OBJECT_NAME_NOT_FOUND));
    }
}

#[test]
fn who_does_not_know_the_password_or_the_share_is_turned_away() {
    let server = server(SigningAlgorithm::AesGmac);
    let refused = open(&server, "pass word").map(drop).unwrap_err();
    assert_eq!(refused.status(), Some(NtStatus::LOGON_FAILURE));
    let session = open(&server, PASSWORD).unwrap();
    let Err((session, error)) = session.tree("other") else { panic!("there is one share") };
    assert_eq!(error.status(), Some(NtStatus::BAD_NETWORK_NAME));
    session.disconnect();
    let old = Options { dialects: vec![Dialect::Smb3_0], ..Options::default() };
    let user = Credentials { user: USER.into(), domain: String::new(), password: PASSWORD.into() };
    let socket = connect(server.address().port());
    let error = Session::open(socket, "127.0.0.1", &user, &old).map(drop).unwrap_err();
    assert!(matches!(error, Error::DialectRefused { .. }), "{error}");
}

#[test]
fn the_end_of_a_session_is_told_apart_from_a_reply_that_somebody_has_changed() {
    for signing in ALGORITHMS {
        let server = server(signing);
        let mut tree = tree(&server);
        server.end_sessions();
        assert_eq!(tree.echo(), Err(Error::SessionEnded));
    }
}
