//! Tables of what can be wrong outside, and what must be said about it.

use super::{Plimsoll, Ran};
use plimsoll_model::Outcome;
use std::time::{Duration, Instant};

const SHORT: [&str; 5] = ["--size=8MiB", "--repeats=1", "--time=200ms", "--baseline=0s", "--quiet"];

/// A short check of one target.
pub fn check(program: &Plimsoll, target: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["check", target];
    arguments.extend(SHORT);
    arguments.extend(more);
    program.run(&arguments)
}

/// One row of the table: a target, its exit code, and words that the message must have.
pub struct Row {
    /// What is wrong.
    pub what: &'static str,
    /// As given to `check`.
    pub target: String,
    /// Exit code.
    pub code: i32,
    /// What must be said.
    pub words: &'static [&'static str],
}

/// Runs every row and sees that nothing was measured.
pub fn assert_rows(program: &Plimsoll, rows: Vec<Row>) {
    for Row { what, target, code, words } in rows {
        let begin = Instant::now();
        let ran = check(program, &target, &[]);
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}: took {:?}", begin.elapsed());
        assert_eq!(ran.code, Some(code), "{what}: {}\n{}", ran.out, ran.err);
        // The order of its options may be another one.
        let without_options = target.split('?').next().unwrap_or_default().to_lowercase();
        let names_it = ran.err.to_lowercase().contains(&without_options);
        assert!(names_it, "{what}: '{without_options}' is missing in:\n{}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{what}: '{word}' is missing in:\n{}", ran.err);
        }
        assert!(ran.err.contains("next:"), "{what}: what to do next? {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{what}: {}", ran.err);
    }
    assert!(program.run(&["list"]).expect(0).out.lines().count() < 3, "nothing was measured");
}

/// Trials kept so far.
pub fn trials(program: &Plimsoll) -> usize {
    let ran = program.run(&["export", "latest"]);
    serde_json::from_str::<plimsoll_model::Study>(&ran.out).map_or(0, |s| s.trials.len())
}

/// Whether a trial has failed.
pub fn failed(program: &Plimsoll) -> bool {
    let ran = program.run(&["export", "latest"]);
    serde_json::from_str::<plimsoll_model::Study>(&ran.out)
        .is_ok_and(|s| s.trials.iter().any(|t| matches!(t.result.outcome, Outcome::Failed { .. })))
}
