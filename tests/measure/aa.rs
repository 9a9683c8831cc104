//! A/A studies on a real server: how often is one of two equal directories called faster?

use crate::kept::{Until, load_average, place, setting, words};
use crate::support::Plimsoll;
use plimsoll_model::Ended;
use plimsoll_stats::verdict::Verdict;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;

/// A whole study of the two, its cap a minute; anything else than the defaults is what a minute has time
/// for.
const STUDY: [&str; 6] = [
    "--pattern=random-read,sequential-write",
    "--size=64MiB",
    "--max-time=60s",
    "--time=500ms",
    "--baseline=1s",
    "--quiet",
];
/// Wanted of a hundred studies: at most so many false "faster", and at least so many without a
/// practical difference.
const WANTED: (u32, u32) = (5, 90);

/// What came of the studies so far.
#[derive(Default)]
struct Count {
    studies: u32,
    faster: u32,
    same: u32,
    blocks: u32,
    capped: u32,
}

impl Count {
    fn add(&mut self, study: &plimsoll_model::Study) {
        let findings = plimsoll_explain::findings(study);
        let pairs = findings.workloads.iter().flat_map(|workload| &workload.pairs);
        let verdicts: Vec<Verdict> = pairs.filter_map(|pair| pair.claim?.verdict).collect();
        let faster = |v: &Verdict| matches!(v, Verdict::Faster(_));
        let same = |v: &Verdict| matches!(v, Verdict::NoPracticalDifference(_));
        self.studies += 1;
        self.faster += u32::from(verdicts.iter().any(faster));
        self.same += u32::from(verdicts.len() == 2 && verdicts.iter().all(same));
        self.capped += u32::from(study.ended == Ended::CapReached);
        self.blocks += study.trials.iter().filter_map(|t| t.block).max().map_or(0, |last| last + 1);
    }
}

#[test]
#[ignore = "takes up to two and a half hours, and a quiet machine: make measure-aa"]
fn measure_aa() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    for name in ["a", "b"] {
        fs::create_dir(server.directory("films").unwrap().join(name)).unwrap();
    }
    let url = |name: &str| match server.url("films").split_once('?') {
        Some((before, options)) => format!("{before}/{name}?{options}"),
        None => format!("{}/{name}", server.url("films")),
    };
    let kept = place("aa.db");
    let db = format!("--db={}", kept.display());
    let (until, program) = (Until::now(), Plimsoll::new());
    let mut count = Count::default();
    println!("load average at the beginning: {}", load_average());
    for seed in 1..=setting("PLIMSOLL_CASES", 100) {
        let store = plimsoll_record::Store::open(&kept).unwrap();
        let known = store.list().unwrap().into_iter().filter(|s| s.ended != Ended::Open);
        let known = known.map(|summary| store.load(&summary.id.0).unwrap());
        let mut done = known.into_iter().filter(|study| study.plan.design.seed == seed);
        let study = match done.next() {
            Some(study) => study,
            None if until.is_over() => break,
            None => {
                let seed = format!("--seed={seed}");
                let targets = ["check", &url("a"), &url("b"), &seed, &db];
                program.run(&[&targets[..], &STUDY].concat()).expect(0);
                store.load("latest").unwrap()
            }
        };
        count.add(&study);
        let Count { studies, faster, same, .. } = count;
        println!("study {seed}: \"faster\" {faster}, no practical difference {same}, of {studies}");
    }
    let Count { studies, faster, same, blocks, capped } = count;
    println!(
        "{studies} A/A studies: false \"faster\" {}, no practical difference {}; {:.1} blocks on \
         average, {capped} ended by their cap; wanted of 100: at most {}, at least {}; load average at \
         the end: {}",
        words(faster, studies),
        words(same, studies),
        f64::from(blocks) / f64::from(studies.max(1)),
        WANTED.0,
        WANTED.1,
        load_average()
    );
}
