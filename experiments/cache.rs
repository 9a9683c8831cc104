//! Is what is said about memory and disk true? Cases of all kinds, each with what kernels counted
//! meanwhile: bytes that went over the link, and bytes that the disk was asked for. `PLIMSOLL_ONLY` takes
//! those whose place has this word in it, `PLIMSOLL_SEED` draws others, `PLIMSOLL_SCREENS` shows what a
//! user sees.

mod cases;
mod places;

use crate::kept::{Kept, Until, load_average, setting};
use crate::support::trial::target;
use cases::{Case, Place};
use places::{Counters, Places, Ready};
use plimsoll_model::{Flag, OpKind, PartResult, StoredOn, Study, Trial};
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};

/// What is asked of `check`: the cache test while it prepares, and trials as they come, in which the
/// kernels count.
const CHECK: [&str; 6] = [
    "--pattern=random-read",
    "--repeats=2",
    "--time=2s",
    "--baseline=0s",
    "--max-time=3m",
    "--quiet",
];
const SEED: u64 = 20;
const CASES: u64 = 40;
/// Wanted of forty: right at least, wrong at most.
const WANTED: (usize, usize) = (30, 2);

/// Where bytes came from: what was counted, or what was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    ClientMemory,
    ServerMemory,
    Disk,
    /// Counted: some from memory and some from the disk. Reported: not known.
    Unclear,
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: String,
    /// Share of the bytes read that the disk was asked for, and of a watched server that it sent.
    from_disk: f64,
    over_link: Option<f64>,
    truth: Source,
    /// Whether the disk has no latency of its own: that it is not known is right enough then.
    fast_disk: bool,
    answer: Source,
    /// The warning that a user sees; empty: none.
    warning: String,
}

#[test]
#[ignore = "takes half an hour, and a quiet machine: make measure-cache"]
fn measure_cache() {
    let needs = [Need::Namespaces, Need::Ganesha, Need::Samba, Need::Machines];
    if !needs.into_iter().all(available) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", SEED);
    let only = std::env::var("PLIMSOLL_ONLY").unwrap_or_default();
    let mut cases = cases::drawn(seed, setting("PLIMSOLL_CASES", CASES));
    cases.sort_by(|a, b| a.place.cmp(&b.place));
    let (mut kept, until) = (Kept::<Row>::open("cache.jsonl"), Until::now());
    let mut places = Places::new();
    println!("load average at the beginning: {}", load_average());
    let mut seen = Vec::new();
    for case in cases.iter().filter(|case| format!("{:?}", case.place).contains(&only)) {
        let is_it = |row: &Row| row.seed == seed && row.number == case.number;
        if !kept.cases.iter().any(is_it) {
            if until.is_over() {
                break;
            }
            kept.add(measured(&mut places, case, seed));
        }
        let row = kept.cases.iter().find(|row| is_it(row)).expect("it is kept");
        println!(
            "{:2} {}: {:?}, reported {:?}: {} ({:.3} from the disk, {:?} over the link) {}",
            row.number,
            row.case,
            row.truth,
            row.answer,
            row.judgement(),
            row.from_disk,
            row.over_link,
            row.warning
        );
        seen.push(row.judgement());
    }
    let count = |word: &str| seen.iter().filter(|judgement| judgement.starts_with(word)).count();
    println!(
        "{} cases: {} right ({} of them unknown, on a fast disk), {} wrong, {} unknown, of the wrong \
         ones {} a disk for memory; wanted of {CASES}: at least {} right, at most {} wrong, no disk for \
         memory; load average at the end: {}",
        seen.len(),
        count("right"),
        count("right (a fast disk)"),
        count("WRONG"),
        count("unknown"),
        count("WRONG: disk for memory"),
        WANTED.0,
        WANTED.1,
        load_average()
    );
}

impl Row {
    fn judgement(&self) -> &'static str {
        match (self.truth, self.answer) {
            (truth, answer) if truth == answer => "right",
            (Source::Disk, Source::Unclear) if self.fast_disk => "right (a fast disk)",
            (_, Source::Unclear) => "unknown",
            (Source::ClientMemory | Source::ServerMemory, Source::Disk) => "WRONG: disk for memory",
            _ => "WRONG",
        }
    }
}

fn measured(places: &mut Places, case: &Case, seed: u64) -> Row {
    let ready = places.ready(case);
    let size = format!("--size={}MiB", case.size);
    let mut words = vec!["check", &size];
    words.extend(ready.words.iter().map(String::as_str));
    words.extend(CHECK);
    let before = counted(&ready);
    let ran = places.beds.program.run(&words).expect(0);
    let after = counted(&ready);
    if std::env::var_os("PLIMSOLL_SCREENS").is_some() {
        println!("{}", ran.out);
    }
    let study = places.beds.program.latest();
    let read = sum(&study, |trial| trial.result.parts.iter().map(of_reads).sum());
    let (disk, link) = match (before.zip(after), &ready.counters) {
        // The cache test's are among them, so that it may be more than what trials read.
        (Some((before, after)), _) => (after - before, None),
        (None, Counters::Watched) => (sum(&study, from_disks), Some(sum(&study, over_links))),
        (None, _) => (0, None),
    };
    let share = |bytes: u64| bytes as f64 / read.max(1) as f64;
    let (from_disk, over_link) = (share(disk), link.map(share));
    let truth = match from_disk {
        share if share > 0.5 => Source::Disk,
        share if share > 0.1 => Source::Unclear,
        _ if ready.own || over_link.is_some_and(|share| share < 0.1) => Source::ClientMemory,
        _ => Source::ServerMemory,
    };
    let (answer, warning) = reported(&study);
    ready.over(&places.beds);
    let what = format!("{:?}, {} MiB", case.place, case.size);
    let fast_disk = matches!(case.place, Place::Small { latency: None, .. });
    let number = case.number;
    Row { seed, number, case: what, from_disk, over_link, truth, fast_disk, answer, warning }
}

/// Bytes read from a disk of this machine until now, by the kernel's
/// Documentation/admin-guide/iostats.rst.
fn counted(ready: &Ready) -> Option<u64> {
    let Counters::Loop(device) = &ready.counters else { return None };
    let text = std::fs::read_to_string("/proc/diskstats").expect("the kernel's counters");
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.get(2) == device.strip_prefix("/dev/").as_ref())?;
    Some(512 * line.get(5)?.parse::<u64>().ok()?)
}

fn sum(study: &Study, of: impl Fn(&Trial) -> u64) -> u64 {
    study.trials.iter().map(of).sum()
}

fn of_reads(part: &PartResult) -> u64 {
    part.ops.get(&OpKind::READ).map_or(0, |ops| ops.bytes)
}

/// Bytes that the disks of the watched machine were asked for in a trial. What lies on them, such as
/// dm-delay, would count them once more.
fn from_disks(trial: &Trial) -> u64 {
    let disks = trial.loads.iter().flat_map(|load| &load.disks);
    disks.filter(|disk| disk.name.starts_with("vd")).map(|disk| disk.read_bytes).sum()
}

/// Bytes that the watched machine sent in a trial.
fn over_links(trial: &Trial) -> u64 {
    let links = trial.loads.iter().flat_map(|load| &load.interfaces);
    links.filter(|link| link.name != "lo").map(|link| link.sent_bytes).sum()
}

/// What a user is told: the fact, which heads the screen, and the warning. Where neither is there, what
/// a directory reads is its disk.
fn reported(study: &Study) -> (Source, String) {
    let mut warning = String::new();
    let mut of_memory = false;
    for flag in &study.flags {
        if matches!(flag, Flag::WorkingSet { .. } | Flag::ClientMemory { .. }) {
            warning = flag.message();
            of_memory = true;
        }
    }
    let answer = match target(study, 0).reads_from {
        Some(StoredOn::ClientMemory) => Source::ClientMemory,
        Some(StoredOn::ServerMemory) => Source::ServerMemory,
        Some(StoredOn::Disk) => Source::Disk,
        Some(StoredOn::Unknown) => Source::Unclear,
        None => Source::Disk,
    };
    assert_eq!(of_memory, answer != Source::Disk, "{warning}: the warning and the fact agree");
    (answer, warning)
}
