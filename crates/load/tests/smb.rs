//! An SMB target against a real server: passwords, open files that are removed, and names that are not there. What
//! holds of NFS too is in `servers.rs`.

mod support;

use plimsoll_load::{Op, OpenOptions, Passwords, Share, SmbShare, TimeLimits};
use plimsoll_model::{Cause, Failure, SmbTarget, Stability, Target};
use plimsoll_testkit::servers::ImpacketServer;
use plimsoll_testkit::servers::samba::{PASSWORD, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, Stage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use support::{LIMIT, Rig, spans, writes};

fn target(url: &str) -> SmbTarget {
    match url.parse() {
        Ok(Target::Smb(target)) => target,
        other => panic!("{url}: {other:?}"),
    }
}

fn open_with(url: &str, password: &'static str) -> Result<SmbShare, Failure> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: LIMIT };
    let passwords = Passwords::new(move |_| Ok(password.into()));
    let options = OpenOptions { limits, passwords, ..OpenOptions::default() };
    SmbShare::open(&target(url), url, &options)
}

fn with(passwords: Passwords) -> OpenOptions {
    OpenOptions { passwords, ..OpenOptions::default() }
}

fn open(url: &str) -> Result<SmbShare, Failure> {
    open_with(url, PASSWORD)
}

fn refused(url: &str) -> Failure {
    open(url).map(drop).expect_err(url)
}

fn serve(stage: &Stage, share: SambaShare) -> Samba {
    Samba::start(stage, SambaConfig::one(share)).unwrap()
}

#[test]
fn a_file_may_be_removed_while_others_have_it_open() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let share = open(&server.url("data")).unwrap();
    let mut namespace = share.namespace().unwrap();
    namespace.make_directory("d").unwrap();
    let file = namespace.create("d/f").unwrap();
    let mut rig = Rig::new(&share, 1, 4096);
    let pieces = spans(file, 0, 4096, 4096);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    namespace.remove_file("d/f").unwrap();
    namespace.remove_file("d/f").unwrap();
    let failure = namespace.remove_directory("d").unwrap_err();
    assert!(failure.happened.contains("DIRECTORY_NOT_EMPTY"), "{failure}");
    // The server hears of the lane's end a moment later.
    drop(rig);
    namespace.remove_directory("d").unwrap();
    namespace.make_directory("d").unwrap();
    namespace.create("d/f").unwrap();
}

#[test]
fn a_wrong_password_is_tried_once_and_a_right_one_asked_for_once() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("data"));
    let url = server.url("data");
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let passwords = Passwords::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(PASSWORD.into())
    });
    let share = SmbShare::open(&target(&url), &url, &with(passwords)).unwrap();
    for _ in 0..3 {
        share.namespace().unwrap().list("").unwrap();
        Rig::new(&share, 1, 4096);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    let failure = open_with(&url, "wrong").map(drop).unwrap_err();
    assert_eq!(failure.cause, Cause::Authentication);
    assert!(failure.happened.contains("STATUS_LOGON_FAILURE"), "{failure}");
    assert!(failure.next.contains("PLIMSOLL_PASSWORD"), "{failure}");
    // Nobody is asked for the password of a server that is not there.
    let never = with(Passwords::new(|_| panic!("asked")));
    for url in ["smb://me@127.0.0.1:9/x", "smb://me@no-such-host.invalid/x"] {
        let opened = SmbShare::open(&target(url), url, &never);
        let failure = opened.map(drop).unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable);
        assert!(failure.next.ends_with('.') && failure.on == url, "{failure}");
    }
    let failure = refused(&server.url("date"));
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(failure.next.contains("data"), "{failure}");
}

/// Samba says that the name is not found, impacket that there is no such file; both mean that it is not there,
/// as copies ask before they send a file as rsync does.
#[test]
fn a_name_that_is_not_there_is_none_whatever_the_server_calls_it() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Impacket);
    let samba = serve(&stage, SambaShare::new("data"));
    let impacket = ImpacketServer::start(&stage, "DATA", 20_446).unwrap();
    for url in [samba.url("data"), impacket.url()] {
        let share = open(&url).unwrap();
        let mut names_below = share.namespace().unwrap();
        names_below.make_directory("run").unwrap();
        names_below.write_small("run/there", b"12345").unwrap();
        let mut rig = Rig::new(&share, 2, 4096);
        let [there, gone, above] =
            ["run/there", "run/none", "none/none"].map(|path| rig.paths.add(path.to_owned()));
        for (path, expected) in [(there, true), (gone, false), (above, false)] {
            let done = rig.run(&[Op::LookupIfThere(path)]).remove(0);
            let found = done.result.unwrap_or_else(|error| panic!("{url}: {error:?}"));
            assert_eq!(found.is_some(), expected, "{url}");
        }
        drop(rig);
        // A file to be read where it is.
        let passwords = Passwords::new(move |_| Ok(PASSWORD.into()));
        let options = OpenOptions { file: Some("run/none".into()), ..with(passwords) };
        let failure = SmbShare::open(&target(&url), &url, &options).map(drop).unwrap_err();
        assert!(failure.next.contains("Check its name"), "{failure}");
        names_below.remove_file("run/there").unwrap();
        names_below.remove_directory("run").unwrap();
    }
}
