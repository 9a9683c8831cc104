//! Whole sessions with a server that lies: what Samba answered in one, repeated and changed. No
//! lie makes the client panic, hang or allocate, and none of those about order, number and time
//! makes it take anything for an answer but the true one.

#[path = "support/session.rs"]
mod session;

use nix::sys::resource::{Resource, setrlimit};
use plimsoll_smb::{Dialect, Options};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::liar::{Chance, Liar, RAW, Recorder, Transcript, Wire};
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use session::{Account, BLOCK, FIRST_READ, SHARE, content, run};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Enough on any machine for what is not withheld.
const LONG: Duration = Duration::from_secs(60);
/// The dialects of which a session is kept.
const DIALECTS: [(Dialect, &str); 2] =
    [(Dialect::Smb2_1, "samba-2.1"), (Dialect::Smb3_1_1, "samba-3.1.1")];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/smb_session").join(name)
}

fn recorded(name: &str) -> Transcript {
    Transcript::from_bytes(&std::fs::read(file(name)).unwrap())
}

fn options(limit: Duration) -> Options {
    Options { call_timeout: limit, ..Options::default() }
}

/// What the client makes of a transcript.
fn replayed(transcript: Transcript, limit: Duration, patience: Option<Duration>) -> Account {
    let liar = Liar::start(Wire::Smb, transcript, patience).unwrap();
    let begun = Instant::now();
    let account = run(liar.address(), &options(limit));
    assert!(begun.elapsed() < 20 * limit + LONG, "it hangs");
    account
}

/// No session takes more memory than an honest one by far: a length that is believed would.
fn bound_memory() {
    setrlimit(Resource::RLIMIT_DATA, 512 << 20, 512 << 20).unwrap();
}

/// What came of the session in truth: nothing failed, and what was read is what was written.
#[track_caller]
fn truth(transcript: Transcript) -> Account {
    let account = replayed(transcript, LONG, Some(LONG));
    assert_eq!(account.failed(), [""; 0]);
    for (tag, bytes) in (FIRST_READ..).zip(content().chunks(BLOCK)) {
        let read = account.0[&format!("pipeline {tag}")].clone().unwrap();
        assert!(read.contains(&format!("{bytes:?}")), "{tag}: {read}");
    }
    account
}

#[test]
fn a_session_with_samba_is_written_down_and_repeated() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let share = SambaShare::new(SHARE).guest_ok();
    let server = Samba::start(&stage, SambaConfig::one(share).guests()).unwrap();
    for (dialect, name) in DIALECTS {
        let mut recorder = Recorder::new(Wire::Smb);
        let samba = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
        let way = recorder.before(samba).unwrap();
        let account = run(way, &Options { dialects: vec![dialect], ..options(LONG) });
        assert_eq!(account.failed(), [""; 0], "{name}");
        let transcript = recorder.transcript();
        assert_eq!(truth(transcript.clone()).differing(&account), [""; 0], "{name}");
        if std::env::var_os("PLIMSOLL_BLESS").is_some() {
            std::fs::create_dir_all(file(name).parent().unwrap()).unwrap();
            std::fs::write(file(name), transcript.to_bytes()).unwrap();
        }
        // The one that is kept is of this very session.
        assert!(truth(recorded(name)).0.keys().eq(account.0.keys()), "{name}");
    }
}

#[test]
fn replies_that_come_late_twice_in_pieces_or_never_are_answers_to_their_calls_or_none() {
    bound_memory();
    let (mut failures, mut successes) = (0, 0);
    for (_, name) in DIALECTS {
        let truth = truth(recorded(name));
        for seed in 0..60 {
            let mut chance = Chance::new(seed);
            let mut transcript = recorded(name);
            for _ in 0..1 + chance.below(6) {
                transcript.disturb(&mut chance);
            }
            let account = replayed(transcript, LONG, Some(Duration::from_millis(15)));
            assert_eq!(account.differing(&truth), [""; 0], "{name} {seed}");
            failures += account.failed().len();
            successes += account.0.len();
        }
    }
    assert!(failures > 50 && successes > 1000, "{failures} failures, {successes} successes");
}

#[test]
fn no_changed_reply_makes_the_client_panic_hang_or_allocate() {
    bound_memory();
    for seed in 0..400 {
        let mut chance = Chance::new(seed);
        let mut transcript = recorded(DIALECTS[seed as usize % 2].1);
        for _ in 0..1 + chance.below(8) {
            match chance.below(4) {
                0 => transcript.disturb(&mut chance),
                _ => transcript.distort(&mut chance),
            }
        }
        replayed(transcript, LONG, Some(Duration::from_millis(15)));
    }
}

#[test]
fn a_server_that_falls_silent_anywhere_is_left_in_time() {
    let name = DIALECTS[0].1;
    let mut failures = 0;
    let calls = recorded(name).0.len();
    for at in (0..calls).step_by(7) {
        let mut transcript = recorded(name);
        // A length that never comes true, at every other place.
        let step = &mut transcript.0[at];
        step.flags |= RAW;
        step.frame = if at.is_multiple_of(2) { vec![] } else { vec![0, 0, 0, 90, 0xfe, b'S'] };
        let account = replayed(transcript, Duration::from_millis(300), None);
        failures += usize::from(!account.failed().is_empty());
    }
    // What is asked when leaving, and not waited for, may fail unseen.
    assert!(failures > calls / 14, "{failures}");
}
