//! Commits of `check --job database` next to those of sqlite3, in directories that the kernel of a lab's machine
//! has mounted: NFS 4.1, SMB, and SMB without byte-range locks (`nobrl`).
//!
//! sqlite3 has the settings that it has by itself: a journal that is removed (`journal_mode=DELETE`),
//! `synchronous=FULL`, pages of 4 KiB. Each transaction is one UPDATE of one row, which fills a page, in a database
//! as large as that of the job. So each changes that page and the first one, as the job does. A transaction of
//! sqlite3 3.40.1 with a known schema makes nine calls of fcntl for locks and four of fdatasync: the journal twice,
//! its directory, and the database. The job makes nine and three. sqlite3 also reads pages that the kernel has
//! dropped, looks for two other files, and sets the owner of the journal where root runs it.
//!
//! sqlite3 locks the same bytes first as shared and then as exclusive. The kernel's SMB client refuses the second
//! lock ("database is locked"), unless it is mounted with `nobrl`. So commits on SMB are compared on that mount alone,
//! and the job has to name this failure on the other one.

use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::own_client::beds;
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use crate::support::unwrapped;
use plimsoll_model::{DatabaseJob, Metric, OpKind, Outcome, Trial};
use plimsoll_stats::interval::ratio_interval;
use plimsoll_stats::order::generator;
use plimsoll_stats::outlier::median;
use plimsoll_testkit::{Need, available};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const SEED: u64 = 39;
const ROUNDS: u64 = 10;
/// How it is mounted, and where.
const WAYS: [(&str, &str); 3] =
    [("NFS 4.1", "/mnt/nfs"), ("SMB", "/mnt/smb"), ("SMB, nobrl", "/mnt/nobrl")];
/// How far the commits a second of plimsoll may be from those of sqlite3, as a share of these.
const CLOSE: f64 = 0.2;
/// Transactions of sqlite3 that are timed, and those before them.
const TIMED: u32 = 60;
const WARM_UP: u32 = 5;
/// Length of a trial of plimsoll: about that of so many transactions.
const TRIAL: &str = "--time=10s";
/// Rows of the database, a page each: 16 MiB, as the job has.
const PAGES: u32 = 4000;
/// Calls a commit that are shown at least.
const SHOWN: f64 = 0.05;

/// As a home's network with a tenth of its speed, as emulated processors have: calls are waited for, not processors.
fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "512MiB")
        .disk("data", "256MiB", "/srv/data")
        .nfsd(8, &["4.1"], "/srv/data", "rw,sync,no_root_squash")
        .samba("data", "/srv/data")
        .machine("client", "512MiB")
        .mount_nfs("/mnt/nfs", "server:/srv/data", "vers=4.1")
        .mount_smb("/mnt/smb", "server:data", "vers=3.1.1")
        .mount_smb("/mnt/nobrl", "server:data", "vers=3.1.1,nobrl")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
        .set("delay", "2ms")
}
const CLIENT: &str = "database/client";

/// What the kernel's clients have counted, a call a line.
const CALLS: &str = r"sed -n 's/^[[:space:]]*\([A-Z_]*\): \([1-9][0-9]*\) .*/call \1 \2/p' /proc/self/mountstats
sed -n 's/^\([A-Z][A-Za-z]*\): \([1-9][0-9]*\) total.*/call \1 \2/p' /proc/fs/cifs/Stats";

/// Settings of sqlite3, which it repeats.
const SETTINGS: &str = "PRAGMA journal_mode = DELETE;
PRAGMA synchronous = FULL;
PRAGMA synchronous;
PRAGMA page_size;
";
const REPEATED: [&str; 3] = ["delete", "2", "4096"];

/// What one of the two did in a round.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Side {
    /// Commits a second; `None` where it failed.
    per_second: Option<f64>,
    /// Calls of the kernel's client for a commit.
    calls: BTreeMap<String, f64>,
    /// Why it failed, or what plimsoll says of the safety of a database there.
    told: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Case {
    seed: u64,
    round: u64,
    way: String,
    plimsoll: Side,
    sqlite: Side,
    load_average: String,
}

/// The same database on each mount, and a program that counts calls.
fn prepare(beds: &Beds) {
    let mounts = WAYS.map(|(_, at)| at).join(" ");
    let line = format!(
        "cat >/run/calls <<'.'\n{CALLS}\n.\n\
         sqlite3 /tmp/pages.db <<'.' || exit 1\n\
         PRAGMA page_size = 4096;\n\
         CREATE TABLE pages (id INTEGER PRIMARY KEY, body BLOB);\n\
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PAGES})\n\
         INSERT INTO pages SELECT i, randomblob(3900) FROM n;\n\
         .\n\
         for at in {mounts}; do cp /tmp/pages.db $at/pages-${{at##*/}}.db || exit 1; done\n\
         rm /tmp/pages.db; sqlite3 -version; grep -E ' (nfs4|cifs) ' /proc/mounts"
    );
    println!("{}", beds.on(CLIENT, &line).trim());
}

/// One trial of plimsoll.
fn plimsoll(beds: &Beds, at: &str) -> Side {
    let ran = beds.program.run(&[
        "check",
        at,
        "--on=lab://database/client",
        "--job=database",
        "--workers=1",
        "--repeats=1",
        TRIAL,
        "--baseline=0s",
        "--max-time=1h",
        "--quiet",
    ]);
    let said = unwrapped(&format!("{} {}", ran.out, ran.err));
    if !matches!(ran.code, Some(0 | 1)) {
        return Side { told: said, ..Side::default() };
    }
    let study = beds.program.latest();
    let trial = study.trials.iter().find(|trial| trial.result.outcome == Outcome::Complete);
    let Some(trial) = trial else { return Side { told: said, ..Side::default() } };
    let safety = said
        .split(". ")
        .find(|sentence| sentence.contains("for a database") || sentence.contains("SQLite"));
    Side {
        per_second: trial.result.value(0, Metric::all(DatabaseJob::COMMITS)),
        calls: calls_of_commit(trial).unwrap_or_default(),
        told: safety.unwrap_or_default().to_owned(),
    }
}

/// Calls of the kernel's client for a commit. Its counts are of the warm-up too.
fn calls_of_commit(trial: &Trial) -> Option<BTreeMap<String, f64>> {
    let operations = &trial.result.main()?.ops;
    let counted: u64 = operations.values().map(|of| of.count).sum();
    // Every commit removes its journal.
    let measured = operations.get(&OpKind::REMOVE)?.count;
    let with_warm_up = trial.result.moved().operations as f64 / counted as f64;
    let commits = measured as f64 * with_warm_up;
    let calls = trial.mount.as_ref()?.operations.iter();
    Some(calls.map(|(name, of)| (name.clone(), of.count as f64 / commits)).collect())
}

/// Transactions of sqlite3, of rows that are drawn.
fn sqlite(beds: &Beds, at: &str, seed: u64, round: u64) -> Side {
    let mut draw = generator(seed, &format!("rows {round} {at}"));
    let mut updates = |count: u32| {
        let rows = (0..count).map(|_| 1 + draw.next_u32() % PAGES);
        let update =
            |row: u32| format!("UPDATE pages SET body = randomblob(3900) WHERE id = {row};\n");
        rows.map(update).collect::<String>()
    };
    let (first, timed) = (updates(WARM_UP), updates(TIMED));
    let file = at.rsplit('/').next().unwrap_or_default();
    let said = beds.on(
        CLIENT,
        &format!(
            "sqlite3 -bail {at}/pages-{file}.db 2>&1 <<'.'\n{SETTINGS}{first}\
             .shell sh /run/calls\n.shell cat /proc/uptime\n{timed}\
             .shell cat /proc/uptime\n.shell sh /run/calls\n.\ntrue"
        ),
    );
    of_sqlite(&said)
}

/// Its times, and calls before the first and after the second.
fn of_sqlite(said: &str) -> Side {
    let mut times: Vec<f64> = Vec::new();
    let mut counts: [BTreeMap<&str, f64>; 2] = Default::default();
    for line in said.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["call", name, count] => {
                let counted = counts[usize::from(!times.is_empty())].entry(name).or_default();
                *counted += count.parse::<f64>().unwrap_or(0.0);
            }
            [up, idle] if idle.parse::<f64>().is_ok() => times.extend(up.parse::<f64>()),
            _ => {}
        }
    }
    let [begin, end] = times[..] else {
        let error = said.lines().find(|line| line.contains("rror"));
        return Side { told: error.unwrap_or(said).trim().to_owned(), ..Side::default() };
    };
    for setting in REPEATED {
        assert!(said.lines().any(|line| line == setting), "{setting} in {said}");
    }
    let [before, after] = counts;
    let commits = f64::from(TIMED);
    let calls = after.into_iter().map(|(name, count)| {
        let of_it = count - before.get(name).copied().unwrap_or(0.0);
        (name.to_owned(), of_it / commits)
    });
    let calls = calls.filter(|(_, count)| *count > 0.0).collect();
    Side { per_second: Some(commits / (end - begin)), calls, told: String::new() }
}

/// Both one after the other, in an order that is drawn.
fn measured(beds: &Beds, seed: u64, round: u64, way: &str, at: &str) -> Case {
    let load_average = load_average();
    let is_last = generator(seed, &format!("order {round} {way}")).next_u32() % 2 == 1;
    let before = (!is_last).then(|| plimsoll(beds, at));
    let sqlite = sqlite(beds, at, seed, round);
    let plimsoll = before.unwrap_or_else(|| plimsoll(beds, at));
    Case { seed, round, way: way.to_owned(), plimsoll, sqlite, load_average }
}

impl Case {
    fn show(&self) {
        let rate = |side: &Side| match side.per_second {
            Some(rate) => format!("{rate:.2} commits a second"),
            None => format!("failed: {}", side.told),
        };
        println!(
            "{} {}: plimsoll {}, sqlite3 {}; load average {}",
            self.round,
            self.way,
            rate(&self.plimsoll),
            rate(&self.sqlite),
            self.load_average
        );
    }

    /// Commits a second of both.
    fn rates(&self) -> Option<[f64; 2]> {
        Some([self.plimsoll.per_second?, self.sqlite.per_second?])
    }
}

/// Calls of both for a commit, means of the rounds.
fn show_calls(cases: &[&Case]) {
    let sides = || cases.iter().flat_map(|case| [&case.plimsoll, &case.sqlite]);
    let names: BTreeSet<&String> = sides().flat_map(|side| side.calls.keys()).collect();
    let mean = |name: &String, of: fn(&Case) -> &Side| {
        let all = cases.iter().map(|case| of(case).calls.get(name).copied().unwrap_or(0.0));
        all.sum::<f64>() / cases.len() as f64
    };
    for name in names {
        let [ours, theirs] = [mean(name, |case| &case.plimsoll), mean(name, |case| &case.sqlite)];
        if ours.max(theirs) >= SHOWN {
            println!("    {name}: {ours:.2} and {theirs:.2} for a commit");
        }
    }
}

fn show(kept: &[Case], seed: u64) {
    for (way, _) in WAYS {
        let cases: Vec<&Case> =
            kept.iter().filter(|case| case.seed == seed && case.way == way).collect();
        if let Some(case) = cases.iter().find(|case| !case.plimsoll.told.is_empty()) {
            println!("{way}: plimsoll says: {}", case.plimsoll.told);
        }
        if let Some(case) = cases.iter().find(|case| case.sqlite.per_second.is_none()) {
            println!("{way}: sqlite3 failed: {}", case.sqlite.told);
        }
        let both: Vec<&Case> = cases.into_iter().filter(|case| case.rates().is_some()).collect();
        let rates: Vec<[f64; 2]> = both.iter().filter_map(|case| case.rates()).collect();
        let logs: Vec<f64> = rates.iter().map(|[ours, theirs]| (ours / theirs).ln()).collect();
        let Some(ratio) = ratio_interval(&logs, 0.95) else {
            println!("{way}: {} rounds with both, no ratio", logs.len());
            continue;
        };
        let middle = |side: usize| {
            let values: Vec<f64> = rates.iter().map(|rates| rates[side]).collect();
            median(&values).unwrap_or(f64::NAN)
        };
        let [ours, theirs] = [middle(0), middle(1)];
        println!(
            "{way}: medians {ours:.2} and {theirs:.2} commits a second, their ratio {:.3}; of {} rounds {:.3} \
             [{:.3}–{:.3}]: {}",
            ours / theirs,
            logs.len(),
            ratio.estimate,
            ratio.low,
            ratio.high,
            match (ratio.high <= 1.0 + CLOSE, ratio.low >= 1.0 - CLOSE) {
                (true, true) => "within 20%",
                _ if (ours / theirs - 1.0).abs() <= CLOSE => "within 20%, its interval not",
                _ => "NOT within 20%",
            }
        );
        show_calls(&both);
    }
}

#[test]
#[ignore = "machines take minutes: make measure-database"]
fn measure_database_beside_sqlite3_on_mounts() {
    if !available(Need::Machines) {
        return;
    }
    let (seed, until) = (setting("PLIMSOLL_SEED", SEED), Until::now());
    let mut kept = Kept::<Case>::open("database.jsonl");
    let mut up = None;
    'rounds: for round in 0..setting("PLIMSOLL_CASES", ROUNDS) {
        for (way, at) in WAYS {
            let is_done = |case: &Case| {
                let is_it = case.round == round || case.sqlite.told.contains("locked");
                case.seed == seed && case.way == way && is_it
            };
            if kept.cases.iter().any(is_done) {
                continue;
            }
            if until.is_over() {
                break 'rounds;
            }
            let beds = up.get_or_insert_with(|| {
                let beds = beds();
                beds.up("database", &lab());
                prepare(&beds);
                beds
            });
            until_quiet();
            let case = measured(beds, seed, round, way, at);
            case.show();
            kept.add(case);
        }
    }
    show(&kept.cases, seed);
    println!("load average at the end: {}", load_average());
}
