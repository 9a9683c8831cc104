//! How long until every comparison has its verdict, beside another build of the program: two links of
//! known rates, one of them slower by a known difference. `PLIMSOLL_PEER` names the other build.

use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{Findings, findings};
use plimsoll_model::{Ended, Length, Measure, Metric, OpKind, Study};
use plimsoll_stats::verdict::{Side, Verdict};
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What the fast link carries, and the slow one for each difference in percent.
const FAST_KBITS: u64 = 60_000;
const DIFFERENCES: [u64; 3] = [30, 10, 0];
const STUDIES: u64 = 3;
const CAP_SECONDS: f64 = 300.0;
/// Wanted of the time that the other build takes: of a whole check, and of `--quick` at 30%.
const WANTED: (f64, f64) = (0.45, 0.2);

fn lab(slow_kbits: u64) -> LabFile {
    LabFile::new()
        .namespace("fast")
        .ganesha("512MiB")
        .namespace("slow")
        .ganesha("512MiB")
        .namespace("client")
        .link("fast", ["fast", "client"])
        .set("rate", format_args!("{FAST_KBITS}kbit/s"))
        .link("slow", ["slow", "client"])
        .set("rate", format_args!("{slow_kbits}kbit/s"))
}

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Build {
    This,
    Quick,
    Peer,
}

/// One study.
#[derive(Serialize, Deserialize)]
struct Case {
    build: Build,
    difference_percent: u64,
    number: u64,
    /// From start to end of the program.
    seconds: f64,
    capped: bool,
    comparisons: Vec<Comparison>,
    load_average: String,
}

/// One pattern of a study.
#[derive(Serialize, Deserialize)]
struct Comparison {
    title: String,
    verdict: String,
    /// Of the fast link's rate over the slow one's: low, estimate, high.
    ratio: Option<(f64, f64, f64)>,
    /// Standard deviation of the logarithms of the blocks' ratios.
    spread: Option<f64>,
    blocks: usize,
    trial_seconds: f64,
    /// Payload in the fuller direction, as a share of the link's rate: the fast one, the slow one.
    link_shares: Vec<f64>,
    right: bool,
}

impl Case {
    /// What counts: where a verdict is missing, the whole cap.
    fn counted(&self) -> f64 {
        let open =
            self.comparisons.iter().any(|c| c.verdict == "none" || c.verdict == "not resolved");
        if self.capped || open { self.seconds.max(CAP_SECONDS) } else { self.seconds }
    }
}

fn verdict(verdict: Option<Verdict>, difference: u64) -> (String, bool) {
    let fast = |faster| faster == Side::A;
    match verdict {
        Some(Verdict::Faster(lead)) => {
            let true_ = difference as f64 / 100.0;
            let near = lead.by.low <= 1.1 * true_;
            ("faster".to_owned(), difference > 0 && fast(lead.faster) && near)
        }
        Some(Verdict::PerhapsTooLittle(lead)) => {
            ("perhaps too little".to_owned(), difference > 0 && fast(lead.faster))
        }
        Some(Verdict::NoPracticalDifference(_)) => {
            ("no practical difference".to_owned(), difference == 0)
        }
        Some(Verdict::NotResolved(_)) => ("not resolved".to_owned(), true),
        None => ("none".to_owned(), true),
    }
}

fn comparisons(
    study: &Study,
    found: &Findings,
    kbits: [u64; 2],
    difference: u64,
) -> Vec<Comparison> {
    let comparison = |workload: usize| {
        let title = study.plan.workloads[workload].main().expect("a part").job.title();
        let length = study.plan.workloads[workload].length;
        let pair = found.workloads[workload].pairs.first();
        let claim = pair.and_then(|pair| pair.claim);
        let (verdict, right) = verdict(claim.and_then(|claim| claim.verdict), difference);
        let rates = [0, 1].map(|subject| fuller(study, workload, subject));
        Comparison {
            title,
            verdict,
            ratio: claim.and_then(|claim| {
                let ratio = claim.ratio.interval?;
                Some((1.0 / ratio.high, 1.0 / ratio.estimate, 1.0 / ratio.low))
            }),
            spread: spread(study, workload),
            blocks: pair.map_or(0, |pair| pair.blocks),
            trial_seconds: match length {
                Length::For { seconds, .. } => seconds,
                Length::UntilDone { .. } => f64::NAN,
            },
            link_shares: rates.iter().zip(kbits).map(|(r, k)| r * 8.0 / (k as f64 * 1e3)).collect(),
            right,
        }
    };
    (0..study.plan.workloads.len()).map(comparison).collect()
}

fn values(study: &Study, workload: usize, subject: u16, metric: Metric) -> Vec<f64> {
    let mine = |cell: &plimsoll_model::Cell| {
        usize::from(cell.workload) == workload && cell.subject == subject
    };
    let part = study.plan.workloads[workload].headline_part();
    let trials = study.trials.iter().filter(|trial| mine(&trial.cell));
    trials.filter_map(|trial| trial.result.value(part, metric)).collect()
}

/// Bytes per second of reads, or of writes where they are more, the mean of the trials.
fn fuller(study: &Study, workload: usize, subject: u16) -> f64 {
    // What has one kind alone has its rate in all.
    let kinds = [Some(OpKind::READ), Some(OpKind::WRITE), None];
    let mut rates = kinds.iter().filter_map(|kind| {
        let metric = Metric { measure: Measure::THROUGHPUT, kind: *kind };
        let values = values(study, workload, subject, metric);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    });
    match (rates.next(), rates.next(), rates.next()) {
        (Some(reads), Some(writes), Some(_)) => reads.max(writes),
        (one, ..) => one.unwrap_or(f64::NAN),
    }
}

fn spread(study: &Study, workload: usize) -> Option<f64> {
    let metric = study.plan.workloads[workload].main()?.job.headline();
    let (fast, slow) = (values(study, workload, 0, metric), values(study, workload, 1, metric));
    let logs: Vec<f64> = fast.iter().zip(&slow).map(|(fast, slow)| (fast / slow).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (logs.len() > 1).then(|| (squares / (logs.len() - 1) as f64).sqrt())
}

/// One study by one build, in the lab that is up.
fn measure(beds: &Beds, build: Build, peer: Option<&Path>, difference: u64, number: u64) -> Case {
    let program = match build {
        Build::Peer => peer.expect("it is there").to_str().expect("letters").to_owned(),
        Build::This | Build::Quick => env!("CARGO_BIN_EXE_plimsoll").to_owned(),
    };
    let store = tempfile::tempdir().expect("a place");
    let db = store.path().join("studies.db");
    let (db, seed) = (format!("--db={}", db.display()), format!("--seed={number}"));
    let cap = format!("--max-time={CAP_SECONDS}s");
    let mut words = vec!["lab", "exec", "lab/client", "--", &program, "check"];
    words.extend(["nfs://fast/srv/data", "nfs://slow/srv/data", "--quiet", &db, &seed]);
    words.push(if build == Build::Quick { "--quick" } else { &cap });
    let mut command: Command = beds.program.command(&words);
    until_quiet();
    let load_average = load_average();
    let begun = Instant::now();
    let output = command.output().expect("the program starts");
    let seconds = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let exported = beds.program.run(&["export", "latest", "--json", &db]).expect(0).out;
    let study: Study = serde_json::from_str(&exported).expect("a study");
    let comparisons =
        comparisons(&study, &findings(&study), [FAST_KBITS, slow(difference)], difference);
    let capped = study.ended != Ended::Done;
    Case {
        build,
        difference_percent: difference,
        number,
        seconds,
        capped,
        comparisons,
        load_average,
    }
}

fn slow(difference: u64) -> u64 {
    FAST_KBITS * 100 / (100 + difference)
}

fn print(case: &Case) {
    let Case { build, difference_percent, number, .. } = case;
    println!(
        "{difference_percent}% study {number}, {build:?}: {:.0} s{}, counts as {:.0} s; load average {}",
        case.seconds,
        if case.capped { " (cap)" } else { "" },
        case.counted(),
        case.load_average
    );
    for one in &case.comparisons {
        let ratio = one.ratio.map_or("-".to_owned(), |(low, estimate, high)| {
            format!("{estimate:.3} [{low:.3}-{high:.3}]")
        });
        println!(
            "    {:17} {:24}{} {ratio}; {} blocks of {:.2} s trials, spread {:.1}%, link {:.0}% and {:.0}%",
            one.title,
            one.verdict,
            if one.right { "" } else { " WRONG" },
            one.blocks,
            one.trial_seconds,
            100.0 * one.spread.unwrap_or(f64::NAN),
            100.0 * one.link_shares[0],
            100.0 * one.link_shares[1],
        );
    }
}

#[test]
#[ignore = "takes two hours and a quiet machine: make measure-verdicts"]
fn measure_verdicts() {
    if !available(Need::Namespaces) || !available(Need::Ganesha) {
        return;
    }
    let peer = std::env::var_os("PLIMSOLL_PEER").map(std::path::PathBuf::from);
    let mut kept = Kept::<Case>::open("verdicts.jsonl");
    let until = Until::now();
    let builds = [Build::Peer, Build::This, Build::Quick];
    'all: for number in 1..=setting("PLIMSOLL_CASES", STUDIES) {
        for difference in DIFFERENCES {
            let missing = |build: Build| {
                let is_case = |case: &Case| {
                    (case.build, case.difference_percent, case.number)
                        == (build, difference, number)
                };
                let needed = build != Build::Peer || peer.is_some();
                (needed && !kept.cases.iter().any(is_case)).then_some(build)
            };
            let mut missing: Vec<Build> = builds.into_iter().filter_map(missing).collect();
            // Who comes first changes from study to study.
            if number % 2 == 0 {
                missing.reverse();
            }
            if missing.is_empty() {
                continue;
            }
            let beds = Beds::new();
            beds.up("lab", &lab(slow(difference)));
            for build in missing {
                if until.is_over() {
                    break 'all;
                }
                let case = measure(&beds, build, peer.as_deref(), difference, number);
                print(&case);
                kept.add(case);
            }
        }
    }
    println!("\nall studies:");
    kept.cases.iter().for_each(print);
    for difference in DIFFERENCES {
        let mean = |build: Build| {
            let is_own =
                |case: &&Case| case.build == build && case.difference_percent == difference;
            let seconds: Vec<f64> = kept.cases.iter().filter(is_own).map(Case::counted).collect();
            (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
        };
        let Some(peer) = mean(Build::Peer) else {
            println!("{difference}%: not compared: PLIMSOLL_PEER names no other build");
            continue;
        };
        let share = |build: Build| mean(build).map_or(f64::NAN, |seconds| seconds / peer);
        println!(
            "{difference}%: {:.2} of the other build's {peer:.0} s, --quick {:.2}; wanted: at most {}, {}",
            share(Build::This),
            share(Build::Quick),
            WANTED.0,
            if difference == 30 { WANTED.1.to_string() } else { "-".to_owned() },
        );
    }
    let wrong =
        kept.cases.iter().flat_map(|case| &case.comparisons).filter(|one| !one.right).count();
    println!("wrong verdicts: {wrong}");
}
