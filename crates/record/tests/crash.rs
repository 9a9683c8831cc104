//! A program that is killed at any moment loses at most the trial it was recording.

mod support;

use plimsoll_model::{Study, StudyId};
use plimsoll_record::{Store, StudyStore};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const STORE: &str = "PLIMSOLL_CRASH_STORE";
const SEED: u64 = 0x7069_6c6f_7420_3530;
const KILLS: u32 = 50;

/// The child: records trials until it is killed, and says each number once it is recorded. Without
/// the variable it is a test of nothing and ends at once.
#[test]
fn record_until_killed() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let store = Store::open(path).unwrap();
    let id = StudyId("aa".into());
    let first = store.load("aa").unwrap().trials.len() as u32;
    for number in first.. {
        store.add_trial(&id, &support::trial(number)).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "recorded {number}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn kill_9_loses_at_most_the_trial_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("studies.db");
    let study = Study { id: StudyId("aa".into()), trials: Vec::new(), ..support::full() };
    Store::open(&path).unwrap().begin(&study).unwrap();
    let mut state = SEED;
    let mut kept = 0;
    for kill in 0..KILLS {
        // Numerical Recipes' generator: any fixed one will do.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let trials = (state >> 60) as usize % 4;
        let delay = Duration::from_micros((state >> 40) % 5_000);
        let acknowledged = run_and_kill(&path, trials, delay).map_or(kept, |last| last + 1);
        let trials = Store::open(&path).unwrap().load("aa").unwrap().trials;
        let found = trials.len() as u32;
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "kill {kill} of seed {SEED:#x}: {acknowledged} acknowledged, {found} found"
        );
        assert!(trials.iter().enumerate().all(|(i, t)| *t == support::trial(i as u32)));
        kept = found;
    }
    assert!(kept > KILLS, "1.5 trials a kill on average, whatever the machine's speed: {kept}");
}

/// Lets a child record, waits for its first `trials` words and for `delay` more, and kills it. The
/// last trial that it acknowledged.
fn run_and_kill(path: &Path, trials: usize, delay: Duration) -> Option<u32> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "record_until_killed", "--nocapture"])
        .env(STORE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // "test record_until_killed ... " may stand before the first, without a newline.
    let mut numbers = lines.filter_map(|line| line.rsplit_once("recorded ")?.1.parse::<u32>().ok());
    let first = numbers.by_ref().take(trials).last();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    numbers.last().or(first)
}
