//! The scan that `ops` predicts beside `find -ls` on a mount by the kernel, in a lab: 5,000 names, by a client
//! that knows none of them, over NFS and SMB.

use crate::kept::{Kept, Until, load_average, place, setting, until_quiet};
use crate::own_client::{beds, lab};
use crate::support::beds::Beds;
use plimsoll_explain::{Scan, scans};
use plimsoll_record::{Store, StudyStore};
use plimsoll_stats::interval::t_interval;
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};

/// How it is mounted, and the same by its URL.
const WAYS: [(&str, &str, &str); 3] = [
    (
        "NFS 3",
        "-t nfs -o vers=3,nolock server:/srv/data",
        "nfs://server/srv/data?vers=3&uid=0&gid=0",
    ),
    (
        "NFS 4.1",
        "-t nfs -o vers=4.1 server:/srv/data",
        "nfs://server/srv/data?vers=4.1&uid=0&gid=0",
    ),
    (
        "SMB",
        "-t cifs -o vers=3.1.1,username=plimsoll,password=plimsoll //server/data",
        "smb://plimsoll@server/data?sign=off",
    ),
];
/// As a library of films or music has them, and through 10 ms: what is waited for are calls, not the processor of
/// an emulated machine, of which a name takes some 0.4 ms in `find` and below it.
const DIRECTORIES: u32 = 500;
const ENTRIES: u32 = 10;
/// Names as long as those that the program lists.
const MAKE: &str = "mkdir -p /srv/data/tree && cd /srv/data/tree && for d in $(seq 100 599); do
    mkdir -p d000$d; for f in 0 1 2 3 4 5 6 7 8 9; do :>d000$d/f00000$f; done
done; chmod -R a+rwX /srv/data/tree; find . -type f | wc -l";
const ROUNDS: u64 = 6;
/// How far the prediction may be off, as a share of what is measured.
const CLOSE: f64 = 0.15;

/// A scan as it was, and as it was predicted.
#[derive(Serialize, Deserialize)]
struct Case {
    round: u64,
    way: String,
    /// Seconds that `find -ls` took, on a mount that was made for it.
    find: f64,
    /// Seconds predicted.
    predicted: f64,
    /// What the kernel's client asked for meanwhile.
    calls: String,
    load_average: String,
}

/// One walk on a new mount: its seconds, and the kernel's account of it in short.
fn find(beds: &Beds, mount: &str) -> (f64, String) {
    let line = format!(
        "mkdir -p /mnt/scan; umount /mnt/scan 2>/dev/null; mount {mount} /mnt/scan && cd / &&
        begin=$(cut -d' ' -f1 /proc/uptime) && names=$(find /mnt/scan/tree -ls | wc -l) &&
        end=$(cut -d' ' -f1 /proc/uptime) && echo $begin $end $names &&
        sed -n '/ mounted on .mnt.scan /,$p' /proc/self/mountstats |
            sed -n 's/^[[:space:]]*\\([A-Z_]*\\): \\([1-9][0-9]*\\) .*/\\1 \\2/p' | tr '\\n' ' ';
        sed -n 's/^\\([A-Z][A-Za-z]*\\): \\([1-9][0-9]*\\) total.*/\\1 \\2/p' /proc/fs/cifs/Stats | tr '\\n' ' ';
        umount /mnt/scan"
    );
    let said = beds.on("own/client", &line);
    let (first, calls) = said.split_once('\n').expect("two lines");
    let figures: Vec<f64> = first.split(' ').map(|word| word.parse().expect("a figure")).collect();
    // The root of the tree and its directories are listed too.
    assert_eq!(figures[2] as u32, DIRECTORIES * (ENTRIES + 1) + 1, "{said}");
    (figures[1] - figures[0], calls.trim().to_owned())
}

/// What is predicted of each way, from one study of all.
fn predicted(beds: &Beds) -> Vec<Scan> {
    let kept = place("scan.db");
    let mut words = vec!["ops".to_owned(), "--on=lab://own/client".to_owned()];
    words.extend(WAYS.iter().map(|(_, _, url)| (*url).to_owned()));
    words.extend([format!("--entries={ENTRIES}"), format!("--db={}", kept.display())]);
    let fixed = ["--only=kinds", "--repeats=2", "--time=2s", "--size=1MiB", "--baseline=0s"];
    words.extend(fixed.iter().chain(&["--quiet"]).map(|word| (*word).to_owned()));
    let ran = beds.program.run(&words).expect(0);
    println!("{}", ran.out);
    let study = Store::open(&kept).unwrap().load("latest").unwrap();
    scans(&study)
}

fn show(cases: &[Case]) {
    for (way, ..) in WAYS {
        let of_way: Vec<&Case> = cases.iter().filter(|case| case.way == way).collect();
        let logs: Vec<f64> = of_way.iter().map(|case| (case.predicted / case.find).ln()).collect();
        let Some(found) = t_interval(&logs, 0.95) else { continue };
        let [low, at, high] = [found.low, found.estimate, found.high].map(f64::exp);
        let mean = |of: fn(&Case) -> f64| {
            of_way.iter().map(|case| of(case)).sum::<f64>() / of_way.len() as f64
        };
        println!(
            "{way}: find -ls {:.2} s, predicted {:.2} s, ratio {at:.3} [{low:.3}–{high:.3}] in {} rounds: {}",
            mean(|case| case.find),
            mean(|case| case.predicted),
            logs.len(),
            match high <= 1.0 + CLOSE && low >= 1.0 / (1.0 + CLOSE) {
                true => "within 15%",
                false if (at - 1.0).abs() <= CLOSE => "within 15%, its interval not",
                false => "NOT within 15%",
            }
        );
        println!("    {}", of_way.last().map_or("", |case| &case.calls));
    }
}

#[test]
#[ignore = "machines take minutes: make measure-scan"]
fn measure_scan_beside_find_on_mounts() {
    if !available(Need::Machines) {
        return;
    }
    let until = Until::now();
    let mut kept = Kept::<Case>::open("scan.jsonl");
    let beds = beds();
    beds.up("own", &lab("5ms"));
    beds.on("own/client", "umount /mnt/nfs3 /mnt/nfs4 /mnt/smb");
    assert_eq!(beds.on("own/server", MAKE).trim(), (DIRECTORIES * ENTRIES).to_string());
    let first = kept.cases.iter().map(|case| case.round + 1).max().unwrap_or(0);
    for round in first..setting("PLIMSOLL_CASES", ROUNDS) {
        if until.is_over() {
            break;
        }
        until_quiet();
        let scans = predicted(&beds);
        assert_eq!(scans.len(), WAYS.len(), "{scans:?}");
        for ((way, mount, _), scan) in WAYS.iter().zip(scans) {
            let (find, calls) = find(&beds, mount);
            let load_average = load_average();
            let (way, predicted) = ((*way).to_owned(), scan.mounted.expect("NFS or SMB"));
            println!("{way}: find {find:.2} s, predicted {predicted:.2} s; {calls}");
            kept.add(Case { round, way, find, predicted, calls, load_average });
        }
    }
    show(&kept.cases);
}
