//! Only equal work is compared, whatever setting differs; each difference is named with both values.

mod support;

use plimsoll_explain::{across, apart};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use std::num::{NonZeroU16, NonZeroU32};
use support::{add_blocks, empty, job, storage};

const TARGET: [&str; 1] = ["nfs://nas/volume1"];

fn study() -> Study {
    let mut study = empty(&TARGET, &[Pattern::SequentialWrite]);
    add_blocks(&mut study, 6, 0.01, |_, _| 1e8);
    study
}

fn part(study: &mut Study) -> &mut Part {
    &mut study.plan.workloads[0].parts[0]
}

fn number(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// What is changed, and what has to be said of it.
type Case = (fn(&mut Study), &'static str, &'static str, &'static str);

#[test]
fn every_setting_of_the_work_makes_it_other_work() {
    let cases: [Case; 15] = [
        (
            |s| job(&mut s.plan.workloads[0]).size = Bytes(32 << 20),
            "working set",
            "1 GiB",
            "32 MiB",
        ),
        (|s| job(&mut s.plan.workloads[0]).block = Bytes(4096), "block size", "1 MiB", "4 KiB"),
        (|s| part(s).arrival = Arrival::Closed { depth: number(8) }, "depth", "1", "8"),
        (|s| part(s).workers = number(2), "workers", "4", "2"),
        (
            |s| job(&mut s.plan.workloads[0]).stability = Stability::FileSync,
            "stability",
            "flushed at the end",
            "every write stable",
        ),
        (|s| job(&mut s.plan.workloads[0]).verify = true, "--verify", "off", "on"),
        (
            |s| job(&mut s.plan.workloads[0]).layout = Layout::Shared,
            "ranges of the workers",
            "disjoint",
            "shared",
        ),
        (
            |s| {
                let per_second = NonZeroU32::new(500).unwrap();
                part(s).arrival = Arrival::Paced { depth: NonZeroU16::MIN, per_second };
            },
            "rate",
            "none",
            "500",
        ),
        (
            |s| part(s).arrival = Arrival::Rounds { depth: NonZeroU16::MIN },
            "arrival",
            "closed",
            "rounds",
        ),
        (
            |s| part(s).techniques = vec![Technique::ReadAhead { window: number(4) }],
            "techniques",
            "none",
            "4 read ahead",
        ),
        (|s| s.plan.storage.drop_caches = true, "caches dropped before each trial", "off", "on"),
        (
            |s| storage(&mut s.subjects[0]).client_cache = "page cache".into(),
            "client's cache",
            "none",
            "page cache",
        ),
        (
            |s| storage(&mut s.subjects[0]).commits_each_write = true,
            "stability of writes",
            "UNSTABLE, then COMMIT",
            "UNSTABLE, then COMMIT, each write committed",
        ),
        (
            |s| storage(&mut s.subjects[0]).stability = "FILE_SYNC".into(),
            "stability of writes",
            "UNSTABLE, then COMMIT",
            "FILE_SYNC",
        ),
        (
            |s| {
                let at = InPlace { file: "film.mkv".into(), size: Bytes(5 << 30) };
                storage(&mut s.subjects[0]).in_place = Some(at);
            },
            "file that is read",
            "none",
            "film.mkv (5 GiB)",
        ),
    ];
    let a = study();
    for (change, what, before, after) in cases {
        let mut b = study();
        change(&mut b);
        let both = across(&a, &b);
        assert_eq!(both.counterparts, [], "{what}");
        let differences = &both.unequal[0].differences;
        let found = differences.iter().find(|found| found.what == what);
        let found = found.unwrap_or_else(|| panic!("{what} in {differences:?}"));
        assert_eq!((&*found.before, &*found.after), (before, after), "{what}");
        // The other way round, too; and each once.
        let back = across(&b, &a);
        assert!(back.counterparts.is_empty());
        assert_eq!(differences.iter().filter(|found| found.what == what).count(), 1);
        assert!(both.only_a.is_empty() && both.only_b.is_empty(), "it is in both: {what}");
    }
}

/// How long trials last, the order of blocks and what is watched are nothing of the work.
#[test]
fn equal_work_is_compared_however_long_it_was_measured() {
    let a = study();
    let mut b = study();
    b.plan.workloads[0].length = Length::For { seconds: 1.0, warm_up_seconds: 0.2 };
    b.plan.design.seed = 7;
    b.plan.design.rule = Rule::Fixed { blocks: 6 };
    b.plan.storage.operation_timeout_seconds = 60.0;
    b.plan.storage.adapt_size = true;
    b.plan.command = "plimsoll check nfs://nas/volume1 --time 1s".into();
    let both = across(&a, &b);
    assert_eq!((both.counterparts.len(), both.unequal.len()), (1, 0));
    assert!(both.counterparts[0].claim.unwrap().verdict.is_some());
    assert_eq!(both.counterparts[0].conditions, []);
    // Nor is the cache test's result, nor O_DIRECT where there is no cache otherwise.
    storage(&mut b.subjects[0]).client_cache = "O_DIRECT".into();
    storage(&mut b.subjects[0]).reads_from = None;
    // --cache has no effect on a URL; on a directory its facts say so.
    b.plan.storage.cache = PageCache::Page;
    assert_eq!(across(&a, &b).counterparts.len(), 1);
}

/// A workload as it is read from JSON that has its fields in another order, a default, and a number that equals
/// another one.
fn written_otherwise(workload: &Workload) -> Workload {
    let mut json = serde_json::to_value(workload).unwrap();
    let part = &mut json["parts"][0];
    part["client"] = 0.into();
    part["techniques"][0]["lifetime_seconds"] = (-0.0).into();
    serde_json::from_str(&json.to_string()).unwrap()
}

/// There are two workloads of the kind, so neither is the only one.
#[test]
fn equal_work_corresponds_however_it_was_written() {
    let mut a = study();
    part(&mut a).techniques = vec![Technique::AttributeCache { lifetime_seconds: 0.0 }];
    let mut other = a.plan.workloads[0].clone();
    job(&mut other).block = Bytes(4096);
    a.plan.workloads.push(other);
    let mut b = a.clone();
    b.plan.workloads = a.plan.workloads.iter().map(written_otherwise).collect();
    let both = across(&a, &b);
    assert_eq!(both.unequal, []);
    let pairs: Vec<(Cell, Cell)> = both.counterparts.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(pairs, [(a.trials[0].cell, a.trials[0].cell)]);
}

/// Another protocol and another client are the matter of some comparisons, but never points of one trend.
#[test]
fn protocol_and_client_are_named() {
    let a = study();
    let mut b = study();
    storage(&mut b.subjects[0]).protocol = "NFSv4.1 over TCP".into();
    b.plan.drive_on(["ssh://root@laptop".parse().unwrap()]);
    let both = across(&a, &b);
    let found = &both.counterparts[0].conditions;
    let words: Vec<String> =
        found.iter().map(|c| format!("{}: {}, then {}", c.what, c.before, c.after)).collect();
    assert_eq!(
        words,
        [
            "protocol: NFSv3 over TCP, then NFSv4.1 over TCP",
            "client: this machine, then ssh://root@laptop"
        ]
    );
    let cell = a.trials[0].cell;
    assert_eq!(apart(&a, cell, &b, cell), *found);
    assert_eq!(apart(&a, cell, &a, cell), []);
}
