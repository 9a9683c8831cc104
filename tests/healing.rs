//! A server that restarts or falls silent for some seconds in mid-run: the run goes on, every byte is as
//! written, and what happened is reported. What ends a run is in `bad_input.rs`.

mod support;

use plimsoll_model::{Flag, Study};
use plimsoll_testkit::responder::{Handles, Responder};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::time::Duration;
use support::rows::trials;
use support::sound::assert_complete;
use support::{Plimsoll, ended, listing, wait_until};

/// Every block is read back after each trial, and a trial is longer than its server is away.
const CHECK: [&str; 8] = [
    "--size=8MiB",
    // As long as the pause before the second trial.
    "--baseline=1s",
    "--pattern=random-write",
    "--repeats=2",
    "--time=6s",
    "--timeout=60s",
    "--quiet",
    "--verify",
];
/// How long after the first trial the second one is well under way, and how long the server is away.
const UNDER_WAY: Duration = Duration::from_secs(2);
const AWAY: Duration = Duration::from_millis(1500);

fn flags(study: &Study) -> Vec<&Flag> {
    assert_complete(study);
    let of_trials = study.trials.iter().flat_map(|trial| &trial.result.flags);
    of_trials.chain(&study.flags).collect()
}

fn gap(flag: &&Flag) -> Option<f64> {
    match flag {
        Flag::Reconnected { seconds, .. } | Flag::LongGap { seconds } => Some(*seconds),
        _ => None,
    }
}

#[test]
fn a_run_goes_on_when_its_server_restarts_or_stands_still_for_a_while() {
    goes_on("", None);
}

/// The restarted server gives back what was open, and lets nobody do anything else meanwhile.
#[test]
fn a_run_goes_on_in_version_4_1_through_the_grace_period() {
    goes_on("&vers=4.1", Some(2));
}

#[test]
fn a_run_goes_on_in_version_4_0_through_the_grace_period() {
    goes_on("&vers=4.0", Some(2));
}

fn goes_on(options: &str, grace_seconds: Option<u32>) {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("films"));
    let mut server = Ganesha::start(&stage, GaneshaConfig { grace_seconds, ..config }).unwrap();
    let exported = server.directory("films").unwrap().to_owned();
    let url = format!("{}{options}", server.url_with_ports("films"));

    let program = Plimsoll::new();
    let child = program.start(&[&["check", &url][..], &CHECK].concat());
    wait_until("a trial is kept", || trials(&program) >= 1);
    std::thread::sleep(UNDER_WAY);
    server.kill();
    std::thread::sleep(AWAY);
    server.restart().unwrap();
    let ran = ended(child).expect(0);
    assert!(ran.out.contains("restored them"), "the gap is reported:\n{}", ran.out);
    let study = program.latest();
    let found = flags(&study);
    let reconnected = |flag: &&&Flag| matches!(flag, Flag::Reconnected { .. });
    let longest = found.iter().filter(reconnected).filter_map(gap).fold(0.0, f64::max);
    assert!(longest > 1.0, "{found:?}");
    assert_eq!(listing(&exported), vec![]);

    let program = Plimsoll::new();
    let child = program.start(&[&["check", &url][..], &CHECK].concat());
    wait_until("a trial is kept", || trials(&program) >= 1);
    std::thread::sleep(UNDER_WAY);
    server.freeze().unwrap();
    std::thread::sleep(AWAY);
    server.thaw().unwrap();
    ended(child).expect(0);
    let study = program.latest();
    let longest = flags(&study).iter().filter_map(gap).fold(0.0, f64::max);
    assert!(longest > 1.0, "{:?}", flags(&study));
    assert_eq!(listing(&exported), vec![]);
}

/// Whole files of the user's, by COMMIT and by one stable WRITE each, by both methods: compared when they
/// come back.
#[test]
fn copies_are_whole_although_the_server_loses_what_is_not_stable() {
    let data = tempfile::tempdir().unwrap();
    let bytes = |length: usize, seed: usize| -> Vec<u8> {
        (0..length).map(|i| (i * 31 + i / 251 + seed) as u8).collect()
    };
    std::fs::write(data.path().join("film"), bytes(12 << 20, 1)).unwrap();
    for small in 0..50 {
        std::fs::write(data.path().join(format!("photo {small}")), bytes(9000, small)).unwrap();
    }
    let given = format!("--data={}", data.path().display());
    let server = Responder::start().unwrap();
    let program = Plimsoll::new();
    let words = ["copy", &server.url(), &given, "--only=up,down", "--verify", "--block=64KiB"];
    let short = ["--repeats=2", "--baseline=0s", "--quiet", "--timeout=60s"];
    let mut child = program.start(&[&words[..], &short].concat());
    // It restarts again and again, each time after some further writes: the first time amid the film. Its 192 writes
    // fit between any later two: a flush gives up after five losses, and how many writes pass until the next restart
    // is set depends on the machine.
    let (mut seen, mut has_ended) = (0, false);
    while !has_ended {
        server.restart_after(if seen == 0 { 100 } else { 250 }, Handles::Kept);
        wait_until("it restarts, or the copy ends", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || server.counts().restarts > seen
        });
        seen = server.counts().restarts;
    }
    ended(child).expect(0);
    let counts = server.counts();
    assert!(counts.restarts > 2 && counts.lost_bytes > 0, "{counts:?}");
    let study = program.latest();
    let found = flags(&study);
    let again = |flag: &&&Flag| matches!(flag, Flag::WrittenAgain { bytes, .. } if *bytes > 0);
    assert!(found.iter().any(|flag| again(&flag)), "{found:?}");
}
