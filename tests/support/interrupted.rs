//! A check that a signal ends.

use super::rows::trials;
use super::{Plimsoll, ended, listing, signal, wait_until};
use plimsoll_model::{Ended, Outcome};
use std::path::Path;

/// Interrupts a check on a target with each signal: it ends with the signal's exit code, its trials are kept, and
/// nothing is left below the directory of the target.
#[track_caller]
pub fn assert_keeps_trials(program: fn() -> Plimsoll, target: &str, disk: &Path) {
    for (word, code) in [("-INT", 130), ("-TERM", 143)] {
        let program = program();
        let words = ["check", target, "--size=8MiB", "--repeats=1000", "--time=300ms"];
        let child = program.start(&[&words[..], &["--baseline=0s", "--quiet"]].concat());
        wait_until("three trials are kept", || trials(&program) >= 3);
        signal(&child, word);
        let ran = ended(child).expect(code);
        assert!(ran.out.contains("interrupted"), "{}", ran.out);
        let study = program.latest();
        assert_eq!(study.ended, Ended::Interrupted);
        let complete = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete);
        assert!(complete.count() >= 3);
        assert_eq!(listing(disk), vec![], "nothing is left");
    }
}
