//! What a study must be, whatever was measured.

use super::trial;
use plimsoll_model::{Cell, Ended, Measure, Metric, OpKind, Outcome, Study};
use plimsoll_testkit::thorough;
use std::collections::{BTreeSet, HashSet};

/// Arguments of a study that takes seconds and has all that a long one has.
pub const SHORT: [&str; 7] = [
    "--size=16MiB",
    "--repeats=3",
    "--time=500ms",
    "--baseline=200ms",
    "--workers=2",
    "--seed=7",
    "--quiet",
];

/// The same, but for one of these arguments where a part of what takes long is done: [`thorough`].
pub fn shorter(short: &'static str, usual: &'static str) -> [&'static str; 7] {
    assert!(SHORT.contains(&usual), "{usual}");
    let word = thorough::shorter(short, usual);
    SHORT.map(|own| if own == usual { word } else { own })
}

/// Both, one after the other.
pub fn with(first: &[&str], rest: &[&str]) -> Vec<String> {
    first.iter().chain(rest).map(|s| (*s).to_owned()).collect()
}

/// Something was measured, and nothing failed.
#[track_caller]
pub fn assert_complete(study: &Study) {
    assert!(!study.trials.is_empty(), "nothing was measured: {:?}", study.ended);
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "trial {}", trial.number);
    }
}

/// The blocks and cells of the trials that have figures.
pub fn complete(study: &Study) -> Vec<(Option<u32>, Cell)> {
    let whole = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete);
    whole.map(|trial| (trial.block, trial.cell)).collect()
}

/// Every cell was measured once in each of so many blocks.
#[track_caller]
pub fn assert_whole(study: &Study, blocks: u32) {
    assert_eq!(study.ended, Ended::Done);
    let found = complete(study);
    let once: BTreeSet<_> = found.iter().copied().collect();
    let cells = study.plan.cells();
    let all = (0..blocks).flat_map(|block| cells.iter().map(move |cell| (Some(block), *cell)));
    assert_eq!(once, all.collect());
    assert_eq!(found.len(), once.len(), "none twice");
}

/// Every figure of a complete trial hangs together with every other.
#[track_caller]
pub fn assert_sound(study: &Study) {
    assert_complete(study);
    for trial in &study.trials {
        let job = trial::job(study, trial);
        // Each client's, and that of all together.
        let parts = &trial.result.parts;
        let each = parts.iter().map(|result| (result, 1));
        let together = trial.result.together.iter().map(|result| (result, parts.len()));
        for (result, clients) in each.chain(together) {
            let get = |measure| result.quantities.get(&Metric::all(measure)).copied();
            let iops = get(Measure::IOPS).expect("a rate");
            let throughput = get(Measure::THROUGHPUT).expect("a throughput");
            assert!(iops > 0.0);
            assert!((throughput / (iops * job.block.0 as f64) - 1.0).abs() < 1e-6);
            for (kind, expected) in
                [(OpKind::READ, job.pattern.reads()), (OpKind::WRITE, job.pattern.writes())]
            {
                let stats = result.ops.get(&kind);
                let some = stats.is_some_and(|s| s.count > 0);
                assert_eq!(some, expected, "{kind} in {}", job.pattern);
                let Some(stats) = stats.filter(|s| s.count > 0) else { continue };
                assert_eq!(stats.bytes, stats.count * job.block.0);
                assert!(stats.errors.is_empty());
                let histogram = stats.client_latency.histogram.as_ref().expect("a histogram");
                // Counts are of operations that end in the measured part, histograms of those that begin.
                let in_flight = study.plan.workload(trial.cell).expect("planned").in_flight();
                let crossing = histogram.count().abs_diff(stats.count) as f64;
                let most = in_flight * clients as f64;
                assert!(crossing <= most, "{crossing} operations more or less than {most}");
                assert!(stats.client_latency.min_seconds <= stats.client_latency.mean_seconds);
                assert!(stats.client_latency.mean_seconds <= stats.client_latency.max_seconds);
            }
            assert!(result.series.len() >= 3, "300 ms make three windows");
        }
        assert!(!trial.loads.is_empty());
    }
}

/// No page twice, and every byte value about equally often: nothing to deduplicate or compress.
pub fn assert_incompressible(bytes: &[u8]) {
    let pages: HashSet<&[u8]> = bytes.chunks(4096).collect();
    assert_eq!(pages.len(), bytes.len() / 4096, "unique pages");
    let mut counts = [0u64; 256];
    bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let entropy: f64 = counts
        .iter()
        .filter(|c| **c > 0)
        .map(|c| *c as f64 / bytes.len() as f64)
        .map(|p| -p * p.log2())
        .sum();
    assert!(entropy > 7.9, "{entropy} bits a byte");
}
