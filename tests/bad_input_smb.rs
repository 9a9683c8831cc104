//! Whatever is wrong with an SMB target: the exit code, and what, where, why and what next in the
//! message; and what was there before is there after.

mod support;

use plimsoll_testkit::servers::samba::{Dialect, Encryption, PASSWORD, Signing, USER};
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use std::io::{Read, Write};
use std::net::TcpListener;
use support::rows::{Row, assert_rows, check, failed, trials};
use support::{Plimsoll, ended, listing, wait_until};

/// What is said of a share that the server lists and does not open.
const NOT_OPENED: [&str; 3] = ["lists the share but cannot open it", "vfs objects", "log"];

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD)
}

fn row(what: &'static str, target: String, code: i32, words: &'static [&'static str]) -> Row {
    Row { what, target, code, words }
}

#[test]
fn targets_that_cannot_be_opened() {
    let stage = enter_or_skip!(Need::Samba, Need::Nftables);
    let shares = [
        SambaShare::new("films"),
        SambaShare::new("frozen").read_only(),
        SambaShare::new("sealed").encryption(Encryption::Required),
        SambaShare::new("others").line("valid users = nobody"),
        SambaShare::new("tiny").size(4 << 20),
        SambaShare::new("broken").line("vfs objects = no_such_module"),
        SambaShare::existing("lost", "/run/no/such/directory"),
    ];
    let server = Samba::start(&stage, SambaConfig::new(shares)).unwrap();
    let lists: Vec<_> = ["films", "frozen", "sealed", "others", "tiny"]
        .map(|share| (share, listing(&server.directory(share).unwrap())))
        .into();
    stage.drop_port(2999).unwrap();
    let url = |share: &str, options: &str| format!("{}{options}", server.url(share));
    let stranger = server.url("films").replace(USER, "stranger");
    assert_rows(
        &program(),
        vec![
            row("unknown host", "smb://me@no-such-host.invalid/x".into(), 3, &["no-such-host"]),
            row("closed port", "smb://me@127.0.0.1:9/x".into(), 3, &["refused", ":PORT"]),
            row("filtered port", "smb://me@127.0.0.1:2999/x".into(), 3, &["no answer", "firewall"]),
            row("wrong share", url("film", ""), 5, &["no such share", "films", "frozen"]),
            row("no share", url("", "").trim_end_matches('/').into(), 2, &["/films,", "/frozen"]),
            row("a module that does not load", url("broken", ""), 5, &NOT_OPENED),
            row("the directory of the share is missing", url("lost", ""), 5, &NOT_OPENED),
            row("unknown user", stranger, 4, &["LOGON_FAILURE", "'stranger'"]),
            row(
                "guest refused",
                server.guest_url("films"),
                4,
                &["does not allow guests", "smb://USER@"],
            ),
            row("not let in", url("others", ""), 5, &["ACCESS_DENIED", USER]),
            row("missing directory", url("films", "/new"), 5, &["NOT_FOUND", "exists"]),
            row(
                "encryption off",
                url("sealed", "?encrypt=off"),
                5,
                &["requires encryption", "encrypt=off"],
            ),
            row("too old to encrypt", url("sealed", "?vers=2.1"), 5, &["encryption", "vers="]),
            row("read-only", url("frozen", ""), 5, &["read-only"]),
            row("no space before", url("tiny", ""), 6, &["--size"]),
            row("a name SMB refuses", url("films", "/why:not"), 2, &["':'"]),
            row("another such name", url("films", "/dot./x"), 2, &["dot."]),
            row("unknown option", url("films", "?rsze=4096"), 2, &["rsze", "rsize="]),
            row("unknown dialect", url("films", "?vers=1.0"), 2, &["vers=2.0.2|2.1"]),
        ],
    );
    for (share, before) in lists {
        assert_eq!(listing(&server.directory(share).unwrap()), before, "{share} is as it was");
    }
}

#[test]
fn dialects_signing_and_encryption_that_one_side_refuses() {
    let stage = enter_or_skip!(Need::Samba);
    let films = || SambaShare::new("films").guest_ok();
    let new = SambaConfig::one(films())
        .dialects(Dialect::V3_0..=Dialect::V3_1_1)
        .signing(Signing::Mandatory);
    let server = Samba::start(&stage, new).unwrap();
    let url = |options: &str| format!("{}{options}", server.url("films"));
    assert_rows(
        &program(),
        vec![
            row("too old a dialect", url("?vers=2.1"), 3, &["2.1", "vers="]),
            row("signing ruled out", url("?sign=off"), 5, &["requires signing", "sign=off"]),
        ],
    );
    drop(server);
    let old = SambaConfig::one(films()).dialects(Dialect::V2_0_2..=Dialect::V2_1).guests();
    let server = Samba::start(&stage, old).unwrap();
    let url = |options: &str| format!("{}{options}", server.url("films"));
    let guest = format!("{}?sign=on", server.guest_url("films"));
    let stranger = server.guest_url("films").replace("smb://", "smb://stranger@");
    assert_rows(
        &program(),
        vec![
            row("too new a dialect", url("?vers=3.1.1"), 3, &["3.1.1", "vers="]),
            row("no encryption to be had", url("?encrypt=on"), 5, &["encrypt=on", "vers="]),
            row("guests cannot sign", guest, 4, &["guest", "USER"]),
            row("a password not looked at", stranger, 4, &["as a guest", "guest=allow"]),
        ],
    );
    assert_eq!(listing(&server.directory("films").unwrap()), vec![]);
}

/// One try: no account is locked.
#[test]
fn a_wrong_password_is_tried_exactly_once() {
    let stage = enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("films")).line("log level = 1 auth_audit:3");
    let server = Samba::start(&stage, config).unwrap();
    let log = server.configuration().with_file_name("smbd.log");
    let attempts = || {
        let text = std::fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().filter(|l| l.contains("NT_STATUS_WRONG_PASSWORD")).count()
    };
    let wrong = Plimsoll::new().with("PLIMSOLL_PASSWORD", "close sesame");
    let ran = check(&wrong, &server.url("films"), &[]).expect(4);
    for word in ["LOGON_FAILURE", USER, "tried once", "next:"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert!(!ran.err.contains("sesame"), "{}", ran.err);
    wait_until("the server has written its log", || attempts() > 0);
    assert_eq!(attempts(), 1);
    // Two targets of one user: the first refusal ends it.
    let again = server.url("films");
    check(&wrong, &again, &[&again]).expect(4);
    wait_until("the server has written its log", || attempts() > 1);
    assert_eq!(attempts(), 2);
}

#[test]
fn something_else_on_the_port() {
    let answers: [&'static [u8]; 3] =
        [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2p1\r\n", b""];
    for answer in answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(mut connection) = connection else { continue };
                let _ = connection.read(&mut [0; 1024]);
                let _ = connection.write_all(answer);
            }
        });
        let target = format!("smb://me@127.0.0.1:{port}/films");
        let ran = check(&program(), &target, &[]).expect(3);
        for word in [&*target, "may not be an SMB server", &port.to_string()] {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
    }
    // One that says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("smb://me@{}/films", listener.local_addr().unwrap());
    let ran = check(&program(), &target, &["--timeout=1s"]).expect(3);
    assert!(ran.err.contains("no answer") && ran.err.contains("next:"), "{}", ran.err);
}

/// A server that grants too few credits for a megabyte.
#[test]
fn credits_that_do_not_suffice() {
    let stage = enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("films")).line("smb2 max credits = 8");
    let server = Samba::start(&stage, config).unwrap();
    let ran = check(&program(), &server.url("films"), &["--pattern=sequential-read"]).expect(1);
    assert!(ran.err.contains("credits"), "{}\n{}", ran.out, ran.err);
    let small = format!("{}?rsize=65536&wsize=65536", server.url("films"));
    check(&program(), &small, &["--pattern=sequential-read"]).expect(0);
    assert_eq!(listing(&server.directory("films").unwrap()), vec![]);
}

const LONG: [&str; 6] =
    ["--size=8MiB", "--repeats=20", "--time=200ms", "--baseline=0s", "--timeout=2s", "--quiet"];

#[test]
fn a_server_that_restarts_at_once() {
    let stage = enter_or_skip!(Need::Samba);
    let mut server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let folder = server.directory("films").unwrap();
    let program = program();
    let url = server.url("films");
    let child = program.start(&support::sound::with(&["check", &url], &LONG));
    wait_until("three trials are kept", || trials(&program) >= 3);
    server.restart().unwrap();
    let ran = ended(child).expect(1);
    assert!(failed(&program), "{}", ran.out);
    program.run(&["clean", &url]).expect(0);
    assert_eq!(listing(&folder), vec![]);
}
