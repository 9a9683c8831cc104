//! `plimsoll demo`: the whole way without a server and without root.

mod support;

use plimsoll_model::{Ended, Measure, Metric, NfsVersion, Study, Trial};
use plimsoll_testkit::thorough;
use support::sound::assert_complete;
use support::trial::target;
use support::{Plimsoll, listing};

#[test]
fn the_demonstration_measures_both_and_leaves_nothing() {
    if !thorough::has_time(35) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let output = program
        .command(&["demo", "--quiet", "--json=-"])
        .env("TMPDIR", scratch.path())
        .output()
        .unwrap();
    let ran = support::Ran::from(output).expect(0);
    let study: Study = serde_json::from_str(&ran.out).unwrap();
    assert!(matches!(study.ended, Ended::Done | Ended::CapReached), "{:?}", study.ended);
    assert_complete(&study);
    assert!((0..2).all(|n| target(&study, n).protocol.nfs_version() == Some(NfsVersion::V3)));
    assert!(study.trials.len() >= 10, "a block at least, whatever else the machine does");
    // A round trip more for each operation: what waits longer for one takes a millisecond at least.
    let reads = |subject: u16| {
        let is_read = |t: &&Trial| (t.cell.subject, t.cell.workload) == (subject, 2);
        let latency = Metric::all(Measure::LATENCY_MEAN);
        study
            .trials
            .iter()
            .filter(is_read)
            .map(|t| t.result.value(0, latency).unwrap())
            .fold(9e9, f64::min)
    };
    assert!(reads(1) >= 1e-3 && reads(1) > reads(0), "{} and {}", reads(0), reads(1));
    assert_eq!(listing(scratch.path()), vec![]);
    // Client, server and the way between them are on this machine, which is monitored: there is nothing to add.
    assert_eq!(study.plan.others().count(), 1);
    let screen = program.run(&["show"]).expect(0).out;
    assert!(screen.contains("bottleneck"), "{screen}");
    for noise in ["Add --host", "link rate", "share one machine"] {
        assert!(!screen.contains(noise), "{noise} in: {screen}");
    }
    let shown = program.run(&["show", "--details"]).expect(0).out;
    let verdicts = ["faster", "times as fast", "practically equal", "inconclusive"];
    assert!(verdicts.iter().any(|v| shown.contains(v)), "{shown}");
}
