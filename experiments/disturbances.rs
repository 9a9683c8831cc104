//! A run beside which, at moments drawn by seed, somebody else uses the server: is each such disturbance
//! reported within one trial, and nothing without one? Does the program's memory stay what it is?

use crate::kept::{place, setting, words};
use crate::support::beds::Beds;
use crate::support::ended;
use crate::support::lab_file::LabFile;
use plimsoll_model::{Flag, Outcome, Study, Trial};
use plimsoll_testkit::{Need, available};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const SEED: u64 = 3003;
const MINUTES: u64 = 30;
/// Blocks that are known before anything can be told from what is usual.
const FIRST: u32 = 7;
/// How exactly the moments of trials and of disturbances are known to each other, in seconds.
const EXACT: f64 = 1.0;

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .set("cpu", "100%")
        .disk("films", "256MiB", "/srv/films")
        .nfsd(4, &["3"], "/srv/films", "rw,sync,no_root_squash,insecure")
        .machine("client", "256MiB")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
}

const PLAN: &str = r#"about = "a server that others use too"
on = ["lab://others/client"]
watch = ["lab://others/server"]
[[target]]
name = "films"
url = "nfs://server/srv/films?uid=0&gid=0"
[[job]]
kind = "scan"
directories = 4
files = 10
workers = 1
[[job]]
kind = "pattern"
pattern = ["random-read", "sequential-read"]
size = "8MiB"
workers = 1
[rule]
repeats = 10000
time = "1s"
baseline = "0s"
"#;

/// What others do, each as a line of shell on a host for so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The server's disk is read from end to end.
    Scrub,
    /// A process that goes before all others has the server's processor.
    Busy,
    /// A quota takes nine tenths of the server's processor away.
    Quota,
    /// Datagrams from the client's host to the server's.
    Traffic,
}

const KINDS: [Kind; 4] = [Kind::Scrub, Kind::Busy, Kind::Quota, Kind::Traffic];

fn disturb(beds: &Beds, kind: Kind, seconds: u64) {
    let shell = |host: &str, line: String| {
        beds.lab(&["exec", &format!("others/{host}"), "--", "bash", "-c", &line]);
    };
    let looped = |what: &str| format!("timeout {seconds} bash -c 'while :; do {what}; done'; true");
    match kind {
        Kind::Scrub => {
            let disk = "$(findmnt -no SOURCE /srv/films)";
            shell(
                "server",
                looped(&format!("dd if={disk} of=/dev/null bs=1M iflag=direct 2>/dev/null")),
            );
        }
        Kind::Busy => shell(
            "server",
            format!("timeout {seconds} nice -n -20 sh -c 'while :; do :; done'; true"),
        ),
        // Begun anew only where the server says that nobody listens.
        Kind::Traffic => {
            shell("client", looped("dd if=/dev/zero bs=8k >/dev/udp/server/9 2>/dev/null"))
        }
        Kind::Quota => {
            beds.lab(&["set", "others", "server", "cpu=10%"]).expect(0);
            std::thread::sleep(Duration::from_secs(seconds));
            beds.lab(&["set", "others", "server", "cpu=100%"]).expect(0);
        }
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

/// The memory of a process in KiB, as long as it runs.
fn memory(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Whether it is said of a trial that others used a host, that it was held up, or got nothing done, or that
/// a host did not answer.
fn is_reported(trial: &Trial) -> bool {
    let reports = |flag: &Flag| {
        matches!(flag, Flag::OtherLoad { .. } | Flag::FarSlower { .. } | Flag::HostLost { .. })
    };
    matches!(trial.result.outcome, Outcome::Failed { .. }) || trial.result.flags.iter().any(reports)
}

/// When a trial began and ended, in seconds since 1970.
fn times(study: &Study, trial: &Trial) -> (f64, f64) {
    // The study's own begin is known to the second.
    let begun = study.started_unix_seconds as f64 + 0.5 + trial.started_seconds;
    let seconds = trial.loads.iter().map(|load| load.seconds).fold(0.0, f64::max);
    (begun, begun + seconds)
}

#[test]
#[ignore = "takes half an hour: make measure-run"]
fn measure_run_disturbed() {
    if !available(Need::Machines) {
        return;
    }
    let beds = Beds::with_runner();
    beds.up("others", &lab());
    let seconds = 60 * setting("PLIMSOLL_MINUTES", MINUTES);
    let (plan, seed) = (beds.file("plan", PLAN), setting("PLIMSOLL_SEED", SEED));
    let words_of =
        ["run", &plan, "--quiet", &format!("--max-time={seconds}s"), &format!("--seed={seed}")];
    let mut child = beds.program.start(&words_of);
    let mut random = Pcg64::seed_from_u64(seed);
    let (mut memories, mut done): (Vec<u64>, Vec<(Kind, f64, f64)>) = Default::default();
    let mut next: Option<Instant> = None;
    while child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_secs(1));
        memories.extend(memory(child.id()));
        let Some(at) = next else {
            let known = || {
                beds.program
                    .exported("latest")
                    .is_some_and(|study| study.trials.len() as u32 >= 3 * FIRST)
            };
            next = known().then(Instant::now);
            continue;
        };
        if Instant::now() >= at {
            // As many of each, in an order drawn for each round.
            let kinds: Vec<Kind> = KINDS
                .into_iter()
                .filter(|kind| {
                    let times =
                        |kind: &Kind| done.iter().filter(|(other, ..)| other == kind).count();
                    times(kind) == KINDS.iter().map(times).min().unwrap_or(0)
                })
                .collect();
            let kind = kinds[random.random_range(0..kinds.len())];
            let begun = now();
            disturb(&beds, kind, random.random_range(8..16));
            done.push((kind, begun, now()));
            next = Some(Instant::now() + Duration::from_secs(random.random_range(10..30)));
        }
    }
    let ran = ended(child);
    assert!(!done.is_empty(), "it ended before anybody used the server: {}", ran.err);
    let study = beds.program.latest();
    let text = plimsoll_record::to_json(&study).expect("JSON");
    fs::write(place("run-disturbed.json"), text).expect("it is kept");
    judge(&study, &done, &memories);
}

/// Prints what was reported of what, and fails where something was not.
fn judge(study: &Study, done: &[(Kind, f64, f64)], memories: &[u64]) {
    let mut missed = 0;
    let end = study.trials.last().map_or(0.0, |trial| times(study, trial).0);
    for kind in KINDS {
        let own: Vec<_> = done.iter().filter(|(of, _, to)| *of == kind && *to < end).collect();
        let in_time = |(_, from, to): &&&(Kind, f64, f64)| {
            let overlaps = |trial: &Trial| {
                let (begun, ended) = times(study, trial);
                ended > from + EXACT && begun < to - EXACT
            };
            // The first trial that it is surely beside, and the one after that.
            let first = study.trials.iter().position(overlaps);
            first.is_some_and(|first| study.trials[first..].iter().take(2).any(is_reported))
        };
        for (_, from, to) in own.iter().filter(|one| !in_time(one)) {
            println!("{kind:?} from {from:.1} to {to:.1} s: not reported within a trial");
        }
        let reported = own.iter().filter(in_time).count();
        missed += own.len() - reported;
        println!("{kind:?}: reported within a trial {}", words(reported as u32, own.len() as u32));
    }
    let is_apart = |trial: &&Trial| {
        let (begun, ended) = times(study, trial);
        done.iter().all(|(_, from, to)| ended < from - EXACT || begun > to + EXACT)
    };
    let alone: Vec<&Trial> = study.trials.iter().filter(is_apart).collect();
    let without: Vec<&&Trial> = alone.iter().filter(|trial| is_reported(trial)).collect();
    for trial in &without {
        println!(
            "without one: trial {} of {:?}: {:?}",
            trial.number, trial.cell, trial.result.flags
        );
    }
    let quarter = memories.len() / 4;
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    let (early, late) = (mean(&memories[quarter..2 * quarter]), mean(&memories[3 * quarter..]));
    println!(
        "{} trials, {} disturbances, {missed} not reported in time; of trials without one reported {}; memory \
         {early:.0} KiB in the second quarter, {late:.0} in the last",
        study.trials.len(),
        done.len(),
        words(without.len() as u32, alone.len() as u32),
    );
    assert!(!done.is_empty() && missed == 0, "{missed} of {} were not reported", done.len());
}
