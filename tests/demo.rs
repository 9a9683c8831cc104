//! `plimsoll demo`: the whole way without a server and without root.

mod support;

use plimsoll_model::{Ended, Outcome, Study};
use support::trial::target;
use support::{Plimsoll, listing};

#[test]
fn the_demonstration_measures_both_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let output = program
        .command(&["demo", "--quiet", "--json=-"])
        .env("TMPDIR", scratch.path())
        .output()
        .unwrap();
    let ran = support::Ran::from(output).expect(0);
    let study: Study = serde_json::from_str(&ran.out).unwrap();
    // Whole blocks: three, or as many as a busy machine has time for.
    assert!((1..=3).contains(&(study.trials.len() / 10)) && study.trials.len().is_multiple_of(10));
    assert_eq!(study.trials.len() == 30, study.ended == Ended::Done, "{:?}", study.ended);
    assert!(study.trials.iter().all(|t| t.result.outcome == Outcome::Complete));
    assert!(target(&study, 0).protocol.starts_with("NFSv3"));
    assert!(target(&study, 1).protocol.starts_with("directory"));
    assert_eq!(listing(scratch.path()), vec![]);
    let shown = program.run(&["show"]).expect(0).out;
    let verdicts = ["faster", "times as fast", "no practical difference", "not resolved"];
    assert!(verdicts.iter().any(|v| shown.contains(v)), "{shown}");
}
