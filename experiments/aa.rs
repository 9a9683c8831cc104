//! A/A studies on a real server: how often is one of two equal directories called faster?
//!
//! Client and server are two hosts of one machine. `PLIMSOLL_RATE` gives the link between them a rate, such
//! as 1Gbit/s. Without one, much of what is compared is how the machine's own processors waken each other:
//! two virtual ones were seen to take twice as long for it, for seconds at a time, with nothing else running.

use crate::kept::{Until, load_average, place, setting, until_quiet, words};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_model::Ended;
use plimsoll_record::{Store, StudyStore};
use plimsoll_stats::verdict::Verdict;
use plimsoll_testkit::{Need, available};

fn lab() -> LabFile {
    let server = LabFile::new().namespace("server").ganesha("512MiB");
    server.namespace("client").link("cable", ["server", "client"])
}

/// A whole study of the two, its cap a minute; anything else than the defaults is what a minute has time
/// for.
const STUDY: [&str; 8] = [
    "check",
    "nfs://server/srv/data/a",
    "nfs://server/srv/data/b",
    "--pattern=random-read,sequential-write",
    "--size=64MiB",
    "--max-time=60s",
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
    if !available(Need::Namespaces) || !available(Need::Ganesha) {
        return;
    }
    let rate = std::env::var("PLIMSOLL_RATE").ok();
    let (file, kept) = match &rate {
        Some(rate) => (lab().set("rate", rate), "aa-rate.db"),
        None => (lab(), "aa.db"),
    };
    let beds = Beds::new();
    beds.up("lab", &file);
    beds.on("lab/server", "mkdir /srv/data/a /srv/data/b");
    let kept = place(kept);
    let db = format!("--db={}", kept.display());
    let until = Until::now();
    let mut count = Count::default();
    println!("load average at the beginning: {}", load_average());
    for seed in 1..=setting("PLIMSOLL_CASES", 100) {
        let store = Store::open(&kept).unwrap();
        let known = store.list().unwrap().into_iter().filter(|s| s.ended != Ended::Open);
        let known = known.map(|summary| store.load(&summary.id.0).unwrap());
        let mut done = known.into_iter().filter(|study| study.plan.design.seed == seed);
        let study = match done.next() {
            Some(study) => study,
            None if until.is_over() => break,
            None => {
                let seed = format!("--seed={seed}");
                let inside = ["lab", "exec", "lab/client", "--", env!("CARGO_BIN_EXE_plimsoll")];
                until_quiet();
                let words: Vec<&str> = [&inside[..], &STUDY, &[&seed, &db]].concat();
                beds.program.run(&words).expect(0);
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
