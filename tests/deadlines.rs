//! Nothing keeps the program waiting: every step ends by `--timeout`, all of them by `--max-time`,
//! and each at the first Ctrl-C, while the server is still silent. And what a server says that is
//! odd, but does not matter, keeps no study from its end.

/// The demonstration's server: it runs on any machine, without root.
#[path = "../crates/plimsoll/src/demo/server/mod.rs"]
mod server;
mod support;

use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use server::BuiltinServer;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::liar::{Call, Liar, Lie, MOUNT, NFS};
use support::{Plimsoll, Ran, ended, listing, run_directories, signal, wait_until};

/// What is printed within a second of a signal; that it is printed while nothing else can go on is what
/// these tests see.
const ANNOUNCEMENT: &str = "cleaning up; press Ctrl-C again to exit at once";
/// Procedures of MOUNT and NFS (RFC 1813).
const MNT: Call = (MOUNT, 1);
const EXPORT: Call = (MOUNT, 5);
const LOOKUP: Call = (NFS, 3);
const READ: Call = (NFS, 6);
const WRITE: Call = (NFS, 7);
const CREATE: Call = (NFS, 8);
const MKDIR: Call = (NFS, 9);
const REMOVE: Call = (NFS, 12);
const READDIRPLUS: Call = (NFS, 17);
const FSSTAT: Call = (NFS, 18);
const FSINFO: Call = (NFS, 19);

/// A study that ends by itself within seconds.
const SMALL: [&str; 6] =
    ["--quiet", "--size=1MiB", "--block=4KiB", "--repeats=1", "--time=200ms", "--baseline=0s"];

fn check<'a>(url: &'a str, with: &[&'a str]) -> Vec<&'a str> {
    [&["check", url, "--details"][..], &SMALL, with].concat()
}

/// A lying server before an honest one that serves a directory.
fn lying(
    server: &BuiltinServer,
    lie: impl Fn(Call, Vec<u8>) -> Lie + Send + Sync + 'static,
) -> (Liar, String) {
    let liar = Liar::before(server.port(), lie);
    let url = server.url().replace(&server.port().to_string(), &liar.port().to_string());
    (liar, url)
}

/// Reads what a child says until it says this; fails where it ends before.
fn read_until(said: &mut BufReader<ChildStderr>, words: &str) -> String {
    let mut all = String::new();
    while !all.contains(words) {
        let count = said.read_line(&mut all).expect("standard error is read");
        assert_ne!(count, 0, "it ended without '{words}':\n{all}");
    }
    all
}

/// The end of a program that is waited for no longer than a test may hang.
fn end_of(mut child: Child, mut said: BufReader<ChildStderr>) -> Ran {
    wait_until("the program ends", || child.try_wait().unwrap().is_some());
    let mut err = String::new();
    said.read_to_string(&mut err).unwrap();
    let mut ran = ended(child);
    ran.err = err;
    ran
}

/// Ctrl-C once, after which the program ends by itself.
fn interrupt(mut child: Child) -> Ran {
    let said = BufReader::new(child.stderr.take().unwrap());
    signal(&child, "-INT");
    end_of(child, said)
}

#[test]
fn the_first_ctrl_c_ends_set_up_and_clean_up_wherever_the_server_falls_silent() {
    let silences: [(&str, Call); 10] = [
        ("the list of exports", EXPORT),
        ("the handle of the export", MNT),
        ("the limits", FSINFO),
        ("the space", FSSTAT),
        ("a listing", READDIRPLUS),
        ("a lookup", LOOKUP),
        ("a directory", MKDIR),
        ("a file", CREATE),
        ("the layout", WRITE),
        ("the clean up", REMOVE),
    ];
    std::thread::scope(|scope| {
        for (what, silent) in silences {
            scope.spawn(move || {
                let there = tempfile::tempdir().unwrap();
                let server = BuiltinServer::start(there.path()).unwrap();
                let (liar, url) = lying(&server, move |call, answer| match call {
                    call if call == silent => Lie::Silence,
                    _ => Lie::Tell(answer),
                });
                let program = Plimsoll::new();
                let child = program.start(&check(&url, &["--timeout=1000s", "--max-time=1000s"]));
                wait_until(what, || liar.lies() > 0);
                let ran = interrupt(child).expect(130);
                // What could not be removed through a server that says nothing is named.
                for left in run_directories(there.path()) {
                    let name = left.file_name().unwrap().to_str().unwrap();
                    let said = ran.out.clone() + &ran.err;
                    assert!(
                        said.contains(name) && said.contains("plimsoll clean"),
                        "{what}: {ran:?}"
                    );
                }
                program.run(&["clean", &server.url()]).expect(0);
                assert_eq!(listing(there.path()), vec![], "{what}");
            });
        }
    });
}

#[test]
fn clean_is_ended_by_ctrl_c_by_its_timeout_and_by_its_time_for_all() {
    let there = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(there.path()).unwrap();
    let (liar, url) = lying(&server, |call, answer| match call {
        READDIRPLUS => Lie::Silence,
        _ => Lie::Tell(answer),
    });
    let program = Plimsoll::new();
    let child = program.start(&["clean", &url, "--timeout=1000s"]);
    wait_until("the listing is asked for", || liar.lies() > 0);
    interrupt(child).expect(130);
    let ran = program.run(&["clean", &url, "--timeout=1s"]).expect(3);
    assert!(ran.err.contains("within 1 s"), "{}", ran.err);
    let ran = program.run(&["clean", &url, "--timeout=1000s", "--max-time=1s"]).expect(1);
    assert!(ran.err.contains("the time limit was reached"), "{}", ran.err);
}

/// A frozen server answers nothing on any connection, and still takes what it is sent.
#[test]
fn a_frozen_server_is_left_by_ctrl_c_while_it_is_frozen() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let exported = server.directory("films").unwrap().to_owned();
    let url = server.url_with_ports("films");
    let long = [
        "--quiet",
        "--size=64MiB",
        "--repeats=1000",
        "--time=200ms",
        "--baseline=0s",
        "--timeout=1000s",
    ];
    let phases = ["before it is reached", "while files are laid out", "under load"];
    for phase in phases {
        let program = Plimsoll::new();
        let reached = || match phase {
            "under load" => support::rows::trials(&program) > 0,
            "while files are laid out" => {
                listing(&exported).iter().any(|(_, bytes)| bytes.is_some_and(|b| b >= 1 << 20))
            }
            _ => true,
        };
        if phase.starts_with("before") {
            server.freeze().unwrap();
        }
        let mut child = program.start(&[&["check", &url][..], &long].concat());
        wait_until(phase, reached);
        if !phase.starts_with("before") {
            server.freeze().unwrap();
        }
        // Until then a signal would end the program as any other.
        std::thread::sleep(Duration::from_secs(1));
        let mut said = BufReader::new(child.stderr.take().unwrap());
        signal(&child, "-INT");
        if phase.starts_with("before") {
            end_of(child, said).expect(130);
        } else {
            read_until(&mut said, ANNOUNCEMENT);
            assert!(child.try_wait().unwrap().is_none(), "{phase}: it tries to clean up first");
            let ran = end_of(child, said).expect(130);
            let printed = ran.out.clone() + &ran.err;
            let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(printed.contains("plimsoll clean 'nfs://"), "{phase}: {printed}");
        }
        // It has ended, and the server is frozen still.
        server.thaw().unwrap();
        program.run(&["clean", &url]).expect(0);
        assert_eq!(listing(&exported), vec![], "{phase}");
    }
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    let there = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(there.path()).unwrap();
    let (liar, url) = lying(&server, |call, answer| match call {
        WRITE | REMOVE => Lie::Silence,
        _ => Lie::Tell(answer),
    });
    let program = Plimsoll::new();
    let mut child = program.start(&check(&url, &["--timeout=1000s"]));
    wait_until("a file is laid out", || liar.lies() > 0);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    signal(&child, "-INT");
    read_until(&mut said, ANNOUNCEMENT);
    signal(&child, "-INT");
    let ran = end_of(child, said).expect(130);
    assert!(!ran.err.contains("could not"), "{}", ran.err);
    assert_eq!(run_directories(there.path()).len(), 1, "it did not wait for its clean up");
    program.run(&["clean", &server.url()]).expect(0);
    assert_eq!(listing(there.path()), vec![]);
}

#[test]
fn a_server_that_trickles_is_given_up_by_the_timeout_and_by_the_time_for_all() {
    let there = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(there.path()).unwrap();
    let (_liar, url) = lying(&server, |call, answer| match call {
        READDIRPLUS => Lie::Trickle(answer),
        _ => Lie::Tell(answer),
    });
    let program = Plimsoll::new();
    let ran = program.run(&check(&url, &["--timeout=2s"])).expect(3);
    assert!(
        ran.err.contains("list the directory") && ran.err.contains("within 2 s"),
        "{}",
        ran.err
    );
    let ran = program.run(&check(&url, &["--timeout=1000s", "--max-time=2s"])).expect(1);
    assert!(ran.err.contains("the time limit was reached"), "{}", ran.err);
    assert_eq!(listing(there.path()), vec![]);
    let (liar, url) = lying(&server, |call, answer| match call {
        LOOKUP | WRITE => Lie::After(Duration::from_secs(1), answer),
        _ => Lie::Tell(answer),
    });
    let slow = ["--size=512MiB", "--timeout=1000s", "--max-time=5s"];
    let ran = program.run(&[&["check", &url, "--quiet"][..], &slow].concat()).expect(1);
    assert!(ran.err.contains("the time limit was reached"), "{}", ran.err);
    assert!(liar.lies() < 512, "it went on after its time: {}", liar.lies());
    assert_eq!(listing(there.path()), vec![], "its files are removed all the same");
}

/// `--max-time 15s` took 38.7 s with replies of 100 bytes at a time and 29.7 s with a drip: each phase had the time
/// for itself. What is slow are reads, from when the files are read first or from the first trials on, or everything.
/// After the end of its time the program goes on only to remove its files.
#[test]
fn slow_replies_carry_no_run_beyond_its_time() {
    type Slowly = fn(Vec<u8>) -> Lie;
    /// The time for all, in seconds.
    const TIME: f64 = 20.0;
    /// It, a quarter of it, a trial, and what a busy machine takes: half of what a phase adds that has the time for
    /// itself.
    const MOST: f64 = 1.25 * TIME + 1.0 + 10.0;
    /// Time for removing files through a server whose replies are all slow.
    const CLEAN_UP: f64 = 20.0;
    if !thorough::has_time(30) {
        return;
    }
    let cases = [
        ("a drip from the first read on", Lie::Trickle as Slowly, Some(0), MOST),
        ("100 bytes at a time from the first read on", Lie::InPieces, Some(0), MOST),
        ("a drip later", Lie::Trickle, Some(400), MOST),
        ("100 bytes at a time later", Lie::InPieces, Some(400), MOST),
        ("100 bytes at a time of everything", Lie::InPieces, None, MOST + CLEAN_UP),
    ];
    // They wait for most of the time.
    std::thread::scope(|scope| {
        for (what, slowly, honest, most) in cases {
            scope.spawn(move || {
                let there = tempfile::tempdir().unwrap();
                let server = BuiltinServer::start(there.path()).unwrap();
                let reads = AtomicUsize::new(0);
                let (liar, url) = lying(&server, move |call, answer| {
                    let is_later =
                        |honest| call == READ && reads.fetch_add(1, Ordering::Relaxed) >= honest;
                    match honest.is_none_or(is_later) {
                        true => slowly(answer),
                        false => Lie::Tell(answer),
                    }
                });
                let program = Plimsoll::new();
                let begun = Instant::now();
                let words = ["--pattern=sequential-read", "--size=1MiB", "--block=64KiB"];
                let time = format!("--max-time={TIME}s");
                let more = ["--timeout=1000s", &time, "--baseline=0s", "--quiet"];
                let ran = program.run(&[&["check", &url][..], &words, &more].concat());
                let seconds = begun.elapsed().as_secs_f64();
                println!("{what}: {seconds:.1} s, exit code {:?}", ran.code);
                assert!(liar.lies() > 0, "{what}: {ran:?}");
                assert!(seconds < most, "{what}: {seconds:.1} s, {ran:?}");
                assert!([Some(0), Some(1)].contains(&ran.code), "{what}: {ran:?}");
                assert_eq!(listing(there.path()), vec![], "{what}");
            });
        }
    });
}

/// The names behind a page that comes again cannot be had: what `clean` was given is not all.
#[test]
fn a_listing_that_repeats_its_cookie_is_not_taken_for_the_whole() {
    let there = tempfile::tempdir().unwrap();
    support::leftover(there.path(), 1);
    let before = listing(there.path());
    let server = BuiltinServer::start(there.path()).unwrap();
    let first: Mutex<Option<Vec<u8>>> = Mutex::default();
    let (liar, url) = lying(&server, move |call, mut answer| {
        if call == READDIRPLUS {
            // Always the first page, with names to come after it.
            let end = answer.len() - 1;
            answer[end] = 0;
            let page = first.lock().unwrap().get_or_insert_with(|| answer.clone())[4..].to_vec();
            answer.truncate(4);
            answer.extend(page);
        }
        Lie::Tell(answer)
    });
    let program = Plimsoll::new();
    let ran = program.run(&["clean", &url]).expect(1);
    assert!(!ran.out.contains("nothing to remove"), "{ran:?}");
    assert!(ran.err.contains("repeats a page of the directory listing"), "{ran:?}");
    assert_eq!(listing(there.path()), before);
    drop(liar);
    program.run(&["clean", &server.url()]).expect(0);
    assert_eq!(listing(there.path()), vec![]);
}

/// Without a limit of its own, each read of 1 MiB would be a million calls.
#[test]
fn a_server_that_takes_single_bytes_at_most_is_not_believed() {
    let there = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(there.path()).unwrap();
    let (liar, url) = lying(&server, |call, mut answer| {
        if call == FSINFO {
            // Header and status, no attributes or those: then what READ and WRITE take.
            let limits = if answer[31] == 0 { 32 } else { 32 + 84 };
            for at in [0, 4, 12, 16] {
                answer[limits + at..limits + at + 4].copy_from_slice(&1u32.to_be_bytes());
            }
            return Lie::After(Duration::ZERO, answer);
        }
        Lie::Tell(answer)
    });
    let program = Plimsoll::new();
    program.run(&check(&url, &[])).expect(0);
    assert!(liar.lies() > 0);
    let study = program.latest();
    let target = support::trial::target(&study, 0);
    assert_eq!((target.read_size_bytes, target.write_size_bytes), (8192, 8192));
    assert_eq!(listing(there.path()), vec![]);
}

/// willscott/go-nfs sends FSSTAT with four bytes too many.
#[test]
fn bytes_beyond_the_end_of_replies_are_said_once_and_spoil_nothing() {
    let there = tempfile::tempdir().unwrap();
    let server = BuiltinServer::start(there.path()).unwrap();
    let (_liar, url) = lying(&server, |call, mut answer| {
        if [FSSTAT, WRITE].contains(&call) {
            answer.extend([7; 4]);
        }
        Lie::Tell(answer)
    });
    let program = Plimsoll::new();
    let ran = program.run(&check(&url, &[])).expect(0);
    for call in ["FSSTAT", "WRITE"] {
        let words = format!("sent 4 bytes beyond the end of its {call} reply");
        let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches(&words).count(), 1, "{text}");
    }
    assert_eq!(program.latest().trials.len(), 5);
    assert_eq!(listing(there.path()), vec![]);
}

#[test]
fn calls_that_can_be_done_without_may_fail() {
    for (call, words) in [
        (FSSTAT, "could not query the free space (FSSTAT)"),
        (FSINFO, "could not query the limits (FSINFO)"),
        (READDIRPLUS, "could not search for other runs and their files"),
    ] {
        let there = tempfile::tempdir().unwrap();
        let server = BuiltinServer::start(there.path()).unwrap();
        let (_liar, url) = lying(&server, move |asked, mut answer| {
            if asked == call {
                // NFS3ERR_SERVERFAULT, without attributes.
                answer.truncate(24);
                answer.extend([10_006u32, 0].map(u32::to_be_bytes).concat());
            }
            Lie::Tell(answer)
        });
        let program = Plimsoll::new();
        let ran = program.run(&check(&url, &[])).expect(0);
        let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words) && text.contains("SERVERFAULT"), "{text}");
        assert_eq!(program.latest().trials.len(), 5);
        assert_eq!(listing(there.path()), vec![], "{words}");
    }
}

#[test]
fn an_smb_server_that_freezes_or_trickles_is_left_by_ctrl_c() {
    let stage = enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let folder = server.directory("films").unwrap();
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    // From the first answer on; in the middle of set-up; while files are laid out.
    for honest in [0, 3, 6, 9, 12, 40] {
        let answers = AtomicUsize::new(0);
        let liar = Liar::before(server.port(), move |_, answer| {
            match answers.fetch_add(1, Ordering::Relaxed) < honest {
                true => Lie::Tell(answer),
                false => Lie::Trickle(answer),
            }
        });
        let url = server.url("films");
        let url = url.replace(&server.port().to_string(), &liar.port().to_string());
        let child = program.start(&check(&url, &["--timeout=1000s", "--max-time=1000s"]));
        wait_until("it trickles", || liar.lies() > 0);
        interrupt(child).expect(130);
        program.run(&["clean", &server.url("films")]).expect(0);
    }
    let url = server.url("films");
    let child = program.start(&["check", &url, "--quiet", "--size=64MiB", "--timeout=1000s"]);
    wait_until("files are laid out", || !listing(&folder).is_empty());
    server.freeze().unwrap();
    let ran = interrupt(child).expect(130);
    assert!(ran.err.contains(ANNOUNCEMENT), "{}", ran.err);
    server.thaw().unwrap();
    program.run(&["clean", &url]).expect(0);
    assert_eq!(listing(&folder), vec![]);
}

/// A host that takes the connection and says nothing, to each command that logs in.
#[test]
fn a_silent_host_is_left_by_ctrl_c() {
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let host = format!("ssh://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    for command in [
        check(directory, &["--on", &host]),
        check(directory, &["--host", &host]),
        vec!["clean", directory, "--on", &host],
        vec!["device", &host, "--quiet"],
    ] {
        let program = Plimsoll::new();
        let child = program.start(&command);
        silent.accept().map(std::mem::forget).unwrap();
        interrupt(child).expect(130);
        assert_eq!(listing(there.path()), vec![], "{command:?}");
    }
}
