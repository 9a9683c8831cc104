//! What `--method rsync` does beside rsync itself (`--via rsync`), on a mount by the kernel between two
//! machines of a lab: the ratio of their times, and whether rsync finds a difference between what both
//! have copied.

use super::{copy_of, figure, median};
use crate::kept::{Kept, Until, load_average, place, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_model::{Measure, Method, Study, Transfer};
use plimsoll_record::{Store, StudyStore};
use plimsoll_stats::sequential::Sequential;
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Emulated processors are some ten times slower than real ones, and links have a tenth of their rate. So
/// the delay is ten times that of a home's network, too, and the rate that of a fast disk behind it: what is
/// sent decides, and not the processor.
fn lab() -> LabFile {
    LabFile::new()
        .machine("client", "512MiB")
        .mount_nfs("/mnt/nfs", "server:/srv/data", "vers=3")
        .machine("server", "512MiB")
        .disk("data", "1GiB", "/srv/data")
        .nfsd(8, &["3"], "/srv/data", "rw,sync,no_root_squash")
        .link("cable", ["client", "server"])
        .set("rate", "400Mbit/s")
        .set("delay", "1ms")
}
const CLIENT: &str = "mount/client";

#[derive(Clone, Copy)]
struct Dataset {
    name: &'static str,
    scale: &'static str,
}

/// How much of each dataset takes some ten seconds to copy: rsync needs half a second to start there.
const DATASETS: [Dataset; 4] = [
    Dataset { name: "movies", scale: "0.05" },
    Dataset { name: "music", scale: "0.1" },
    Dataset { name: "pictures", scale: "0.3" },
    Dataset { name: "source", scale: "0.006" },
];
const WAYS: [Transfer; 2] = [Transfer::Up, Transfer::Down];
const PAIRS: u64 = 40;
/// Blocks of one study: between two of them the files are others.
const BLOCKS: usize = 4;
/// Where the sequence of intervals of the ratio is to lie, and how sure it is.
const RULE: Sequential =
    Sequential { first: 5, half_width: 0.0, margin: Some(0.15), confidence: 0.9 };

/// One copy by each, of the same block.
#[derive(Serialize, Deserialize)]
struct Pair {
    dataset: String,
    way: Transfer,
    /// Seconds of plimsoll's copy, and of rsync's.
    ours: f64,
    rsync: f64,
    load_average: String,
}

/// What rsync found of the copies of a dataset.
#[derive(Serialize, Deserialize)]
struct Compared {
    dataset: String,
    /// What was compared with the originals: a tree and its files, a line each.
    same: Vec<String>,
}

/// The logarithms of the ratios of one dataset and way.
fn log_ratios(pairs: &[Pair], dataset: &str, way: Transfer) -> Vec<f64> {
    let of_it = pairs.iter().filter(|pair| (&*pair.dataset, pair.way) == (dataset, way));
    of_it.map(|pair| (pair.ours / pair.rsync).ln()).collect()
}

fn is_open(pairs: &[Pair], dataset: &str, way: Transfer) -> bool {
    let logs = log_ratios(pairs, dataset, way);
    logs.len() < setting("PLIMSOLL_CASES", PAIRS) as usize && !RULE.is_decided(&logs)
}

/// The pairs of a study, in the order of its blocks.
fn pairs(study: &Study, dataset: &str, load_average: &str) -> Vec<Pair> {
    let seconds = |block, way, method| {
        let of_it = |trial: &&plimsoll_model::Trial| {
            let job = copy_of(study, trial);
            (trial.block, job.transfer, job.method) == (Some(block), way, method)
        };
        figure(study.trials.iter().find(of_it)?, Measure::ELAPSED)
    };
    let pair = |(block, way)| {
        Some(Pair {
            dataset: dataset.to_owned(),
            way,
            ours: seconds(block, way, Method::Rsync)?,
            rsync: seconds(block, way, Method::ByRsync)?,
            load_average: load_average.to_owned(),
        })
    };
    let blocks = 0..BLOCKS as u32;
    blocks.flat_map(|block| WAYS.map(|way| (block, way))).filter_map(pair).collect()
}

/// One study of these ways.
fn study(beds: &Beds, dataset: Dataset, ways: &str, seed: usize) -> Vec<Pair> {
    let Dataset { name: dataset, scale } = dataset;
    until_quiet();
    let load_average = load_average();
    let (on, kept) = (format!("--on=lab://{CLIENT}"), place("copies-mount.db"));
    let ran = beds.program.run(&[
        "copy",
        "/mnt/nfs",
        &on,
        &format!("--dataset={dataset}"),
        &format!("--scale={scale}"),
        &format!("--only={ways}"),
        "--method=rsync",
        "--via=rsync",
        &format!("--repeats={BLOCKS}"),
        "--baseline=0s",
        "--max-time=1h",
        "--drop-caches",
        "--quiet",
        &format!("--seed={seed}"),
        &format!("--db={}", kept.display()),
    ]);
    // A trial that failed has no pair.
    if !matches!(ran.code, Some(0 | 1)) {
        println!("{dataset}: {}{}", ran.out, ran.err);
        return Vec::new();
    }
    let study = Store::open(&kept).unwrap().load("latest").unwrap();
    pairs(&study, dataset, &load_average)
}

/// What runs on the client where another level is set, when the copy before it still lies there: each tree
/// beside the originals, but that of plimsoll's way back, which needs no times; then what rsync has copied
/// back. A line for each: its name, rsync's exit code, files, and lines of differences.
const COMPARE: &str = r#"
cd /tmp
for from in plimsoll-copy-*/from; do
    [ -n "$(ls -A "$from" 2>/dev/null)" ] || continue
    for tree in /mnt/nfs/.plimsoll-*/copy-* plimsoll-copy-*/back; do
        [ -n "$(ls -A "$tree" 2>/dev/null)" ] || continue
        case "$tree" in */copy-2-*) continue ;; esac
        found=$(rsync -anci --delete "$from/" "$tree/" 2>&1); code=$?
        echo "${tree##*/} $code $(find "$tree" -type f | wc -l) $(printf %s "$found" | grep -c .)"
    done
done >>/run/compared
true"#;

/// With it every copy is followed by another level at least once.
const SEED: &str = "--seed=3";

/// Every copy of a dataset, both ways by both methods, compared by rsync in content, time and mode; and what
/// plimsoll copies back, which it does not keep, by itself.
fn compare(beds: &Beds, dataset: Dataset) -> Compared {
    let Dataset { name: dataset, scale } = dataset;
    let plan = format!(
        "about = \"Are the copies equal?\"\non = [\"lab://{CLIENT}\"]\n\
         [[target]]\nname = \"nfs\"\nurl = \"/mnt/nfs\"\n\
         [[job]]\nkind = \"copy\"\ndataset = [\"{dataset}\"]\nscale = {scale}\n\
         only = [\"up\", \"down\"]\nmethod = [\"rsync\"]\nvia = \"rsync\"\nverify = true\n\
         [command.compare]\nread = \"echo none\"\napply = \"true\"\nundo = \"true\"\n\
         verify = '''{COMPARE}'''\n\
         [[factor]]\nsetting = \"command:compare\"\nlevels = [\"1\", \"2\", \"3\"]\n\
         [rule]\nrepeats = 1\nbaseline = \"0s\"\n"
    );
    beds.on(CLIENT, "rm -f /run/compared");
    beds.program.run(&["run", &beds.file("compare", &plan), SEED, "--quiet"]).expect(0);
    let study = beds.program.latest();
    let files = copy_of(&study, &study.trials[0]).dataset.files;
    let complete = study.trials.iter().all(|trial| figure(trial, Measure::ELAPSED).is_some());
    assert!(complete && study.trials.len() == 12, "{:?}", study.trials);
    let text = beds.on(CLIENT, "cat /run/compared");
    let lines: BTreeSet<&str> = text.lines().collect();
    for line in &lines {
        assert!(line.ends_with(&format!(" 0 {files} 0")), "{dataset}: {line} in\n{text}");
    }
    // Up by each method, the tree that rsync copies back, and what came back.
    for tree in ["copy-0-", "copy-1-", "copy-3-", "back "] {
        assert!(lines.iter().any(|line| line.starts_with(tree)), "{dataset}: {tree} in\n{text}");
    }
    let same = lines.into_iter().map(str::to_owned).collect();
    Compared { dataset: dataset.to_owned(), same }
}

/// The table, with what was wanted.
fn show(pairs: &[Pair], compared: &[Compared]) {
    println!("\nplimsoll's copies as rsync copies, beside rsync itself: times, and their ratio");
    for Dataset { name: dataset, .. } in DATASETS {
        for way in WAYS {
            let logs = log_ratios(pairs, dataset, way);
            let of_it = || pairs.iter().filter(|p| (&*p.dataset, p.way) == (dataset, way));
            let ours: Vec<f64> = of_it().map(|pair| pair.ours).collect();
            let rsync: Vec<f64> = of_it().map(|pair| pair.rsync).collect();
            let (ratio, inside) = RULE.interval(&logs).map_or(("no interval".into(), false), |i| {
                let [low, at, high] = [i.low, i.estimate, i.high].map(f64::exp);
                let inside = high <= 1.15 && low >= 1.0 / 1.15;
                (format!("{at:.3} [{low:.3}–{high:.3}]"), inside)
            });
            println!(
                "{dataset:9}{:5}{:3} pairs, medians {:.2} s and {:.2} s, ratio {ratio}: {}",
                format!("{way:?}").to_lowercase(),
                logs.len(),
                median(&ours),
                median(&rsync),
                if inside { "inside 15%" } else { "NOT inside 15%" },
            );
        }
        match compared.iter().find(|of| of.dataset == dataset) {
            Some(of) => println!("{dataset:9}no difference in {} copies", of.same.len()),
            None => println!("{dataset:9}NOT compared"),
        }
    }
    println!("wanted: the 90% sequence inside ±15% after at most {PAIRS} pairs, and no difference");
}

#[test]
#[ignore = "takes an hour or two, and a quiet machine: make measure-copies"]
fn measure_copies_on_a_mount() {
    if !available(Need::Machines) {
        return;
    }
    let until = Until::share(0.85);
    let mut compared = Kept::<Compared>::open("copies-compared.jsonl");
    let mut kept = Kept::<Pair>::open("copies-mount.jsonl");
    let beds = Beds::new();
    beds.up("mount", &lab());
    for dataset in DATASETS {
        if !compared.cases.iter().any(|of| of.dataset == dataset.name) && !until.is_over() {
            compared.add(compare(&beds, dataset));
        }
    }
    // Round the datasets, so that all have some where the time ends.
    while !until.is_over() {
        let open = |dataset: &Dataset| {
            let ways = WAYS.into_iter().filter(|way| is_open(&kept.cases, dataset.name, *way));
            let ways: Vec<String> = ways.map(|way| format!("{way:?}").to_lowercase()).collect();
            (!ways.is_empty()).then(|| (*dataset, ways.join(",")))
        };
        let open: Vec<_> = DATASETS.iter().filter_map(open).collect();
        if open.is_empty() {
            break;
        }
        for (dataset, ways) in open {
            if until.is_over() {
                break;
            }
            for pair in study(&beds, dataset, &ways, kept.cases.len() + 1) {
                println!(
                    "{} {:?}: {:.2} s, {:.2} s",
                    pair.dataset, pair.way, pair.ours, pair.rsync
                );
                kept.add(pair);
            }
        }
    }
    show(&kept.cases, &compared.cases);
    println!("load average at the end: {}", load_average());
}
