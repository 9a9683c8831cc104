//! Whole sessions with a server that lies, of version 3 and of version 4: what Ganesha answered in one,
//! repeated and changed. No lie makes the client panic, hang or allocate, and none of those about order,
//! number and time makes it take anything for an answer but the true one.

#[path = "support/session.rs"]
mod session;
#[path = "support/session4.rs"]
mod session4;

use nix::sys::resource::{Resource, setrlimit};
use plimsoll_nfs::nfs4::Minor;
use plimsoll_testkit::servers::liar::{Chance, Liar, RAW, Recorder, Transcript, Wire};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, thorough};
use session::{Account, Server, content};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Enough on any machine for what is not withheld.
const LONG: Duration = Duration::from_secs(60);
const EXPORT: &str = "/run/export/data";

/// The sessions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Three,
    Four,
}

const VERSIONS: [Version; 2] = [Version::Three, Version::Four];

impl Version {
    fn file(self) -> PathBuf {
        let name = match self {
            Version::Three => "nfs_session",
            Version::Four => "nfs4_session",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name).join("ganesha")
    }

    fn recorded(self) -> Transcript {
        Transcript::from_bytes(&std::fs::read(self.file()).unwrap())
    }

    fn run(self, address: SocketAddr, limit: Duration) -> Account {
        match self {
            Version::Three => session::run(Server::at(address), EXPORT, limit),
            Version::Four => session4::run(address, EXPORT, limit),
        }
    }

    /// A session with a real server, written down.
    fn record(self, server: &Ganesha, recorder: &mut Recorder) -> Account {
        let mut before =
            |port| recorder.before(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
        match self {
            Version::Three => {
                let way = Server {
                    portmapper: before(plimsoll_nfs::portmap::PORT),
                    mount: before(server.mount_port()),
                    nfs: before(server.nfs_port()),
                };
                session::run(way, EXPORT, LONG)
            }
            Version::Four => session4::run(before(server.nfs_port()), EXPORT, LONG),
        }
    }

    /// What the client makes of a transcript.
    fn replayed(
        self,
        transcript: Transcript,
        limit: Duration,
        patience: Option<Duration>,
    ) -> Account {
        let liar = Liar::start(Wire::Rpc, transcript, patience).unwrap();
        let begun = Instant::now();
        let account = self.run(liar.address(), limit);
        assert!(begun.elapsed() < 20 * limit + LONG, "it hangs");
        account
    }

    /// What came of the session in truth: nothing failed, and what was read is what was written.
    #[track_caller]
    fn truth(self, transcript: Transcript) -> Account {
        let account = self.replayed(transcript, LONG, Some(LONG));
        assert_eq!(account.failed(), [""; 0]);
        let holds = |call: String, bytes: &[u8]| {
            let read = account.0[&call].clone().unwrap();
            assert!(read.contains(&format!("{bytes:?}")), "{call}: {read}");
        };
        match self {
            Version::Three => {
                for (block, bytes) in content().chunks(500).enumerate() {
                    holds(format!("pipeline {}", 7 + block), bytes);
                }
            }
            Version::Four => {
                for minor in [Minor::V0, Minor::V1, Minor::V2] {
                    for block in 0..6 {
                        let bytes = session4::content(block);
                        holds(session4::read_of(minor, block), &bytes);
                        holds(format!("{minor}: in flight {}", 6 + block), &bytes);
                    }
                }
            }
        }
        account
    }
}

/// No session takes more memory than an honest one by far: a length that is believed would.
fn bound_memory() {
    setrlimit(Resource::RLIMIT_DATA, 512 << 20, 512 << 20).unwrap();
}

#[test]
fn sessions_with_ganesha_are_written_down_and_repeated() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    for version in VERSIONS {
        let mut recorder = Recorder::new(Wire::Rpc);
        let account = version.record(&server, &mut recorder);
        assert_eq!(account.failed(), [""; 0]);
        let transcript = recorder.transcript();
        assert_eq!(version.truth(transcript.clone()).differing(&account), [""; 0]);
        if std::env::var_os("PLIMSOLL_BLESS").is_some() {
            std::fs::create_dir_all(version.file().parent().unwrap()).unwrap();
            std::fs::write(version.file(), transcript.to_bytes()).unwrap();
        }
        // The one that is kept is of this very session.
        let kept = version.truth(version.recorded());
        assert!(kept.0.keys().eq(account.0.keys()));
    }
}

#[test]
fn replies_that_come_late_twice_in_pieces_or_never_are_answers_to_their_calls_or_none() {
    bound_memory();
    let sessions = thorough::some_of(30, 150, "sessions");
    for version in VERSIONS {
        let truth = version.truth(version.recorded());
        let (mut failures, mut successes) = (0, 0);
        for seed in 0..sessions as u64 {
            let mut chance = Chance::new(seed);
            let mut transcript = version.recorded();
            for _ in 0..1 + chance.below(6) {
                transcript.disturb(&mut chance);
            }
            let account = version.replayed(transcript, LONG, Some(Duration::from_millis(15)));
            assert_eq!(account.differing(&truth), [""; 0], "{version:?}, seed {seed}");
            failures += account.failed().len();
            successes += account.0.len();
        }
        // In three sessions more than a failure and 20 successes.
        let enough = 3 * failures > sessions && 3 * successes > 20 * sessions;
        assert!(enough, "{failures} failures, {successes} successes");
    }
}

#[test]
fn no_changed_reply_makes_the_client_panic_hang_or_allocate() {
    bound_memory();
    let sessions = thorough::some_of(100, 400, "sessions");
    for version in VERSIONS {
        for seed in 0..sessions as u64 {
            let mut chance = Chance::new(seed);
            let mut transcript = version.recorded();
            for _ in 0..1 + chance.below(8) {
                match chance.below(4) {
                    0 => transcript.disturb(&mut chance),
                    _ => transcript.distort(&mut chance),
                }
            }
            version.replayed(transcript, LONG, Some(Duration::from_millis(15)));
        }
    }
}

#[test]
fn a_server_that_falls_silent_anywhere_is_left_in_time() {
    // An odd step: both kinds of silence take their turns.
    let step = 5 * thorough::one_in(3, "places");
    for version in VERSIONS {
        let all = version.truth(version.recorded()).0.len();
        for at in (0..version.recorded().0.len()).step_by(step) {
            let mut transcript = version.recorded();
            // A length that never comes true, at every other place.
            let step = &mut transcript.0[at];
            step.flags |= RAW;
            step.frame = if at.is_multiple_of(2) { vec![] } else { vec![0x80, 0, 0, 60, 1, 2, 3] };
            let limit = Duration::from_millis(300);
            let account = version.replayed(transcript, limit, None);
            assert!(account.0.len() - account.failed().len() < all, "{version:?}: {at}");
        }
    }
}
