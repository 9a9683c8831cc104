//! Is what is said about memory and disk true? Cases of all kinds, each with what the kernels of both
//! sides counted meanwhile: bytes that came over the link, and bytes that the disk was asked for.

#[path = "cache/cases.rs"]
mod cases;
#[path = "cache/places.rs"]
mod places;

use crate::kept::{Kept, Until, load_average, setting};
use crate::support::trial::target;
use cases::Case;
use places::{Counters, Places, Ready};
use plimsoll_model::{Flag, OpKind, StoredOn, Study};
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};
use std::process::Command;

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
    /// Share of the bytes read that the disk was asked for, and that came over the client's link.
    from_disk: f64,
    over_link: f64,
    truth: Source,
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
            "{:2} {}: {:?}, reported {:?}: {} ({:.3} from the disk, {:.2} over the link) {}",
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
        "{} cases: {} right, {} wrong, {} unknown, of the wrong ones {} a disk for memory; wanted of \
         {CASES}: at least {} right, at most {} wrong, no disk for memory; load average at the end: {}",
        seen.len(),
        count("right"),
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
    let before = counted(places, &ready);
    let ran = places.beds.program.run(&words).expect(0);
    let after = counted(places, &ready);
    if std::env::var_os("PLIMSOLL_SCREENS").is_some() {
        println!("{}", ran.out);
    }
    let study = places.beds.program.latest();
    let (disk, link) = (after.0 - before.0, after.1 - before.1);
    // The cache test reads too, and warm-ups: over a link all that came is known.
    let read = bytes_read(&study) as f64;
    let over_link = link as f64 / read;
    let local = ready.hosts.as_ref().is_none_or(|(server, client)| server == client);
    let from_disk = disk as f64 / if local || over_link < 0.5 { read } else { link as f64 };
    let truth = match from_disk {
        share if share > 0.5 => Source::Disk,
        share if share > 0.05 => Source::Unclear,
        _ if local || over_link < 0.1 => Source::ClientMemory,
        _ => Source::ServerMemory,
    };
    let (answer, warning) = reported(&study);
    ready.over(&places.beds);
    let case_text = format!("{:?}, {} MiB", case.place, case.size);
    Row { seed, number: case.number, case: case_text, from_disk, over_link, truth, answer, warning }
}

/// Bytes read from the disk, and received over the client's links.
fn counted(places: &Places, ready: &Ready) -> (u64, u64) {
    let on = |host: Option<&str>, file: &str| match host {
        Some(host) => places.beds.on(host, &format!("cat {file}")),
        None => std::fs::read_to_string(file).expect(file),
    };
    let links = on(ready.hosts.as_ref().map(|hosts| &*hosts.1), "/proc/net/dev");
    let read = match &ready.counters {
        Counters::Memory => 0,
        Counters::Loop(device) => {
            let device = device.trim_start_matches("/dev/");
            sectors(&on(None, "/proc/diskstats"), |name| name == device)
        }
        // What lies on its disks would count them once more.
        Counters::Machine(host) => {
            sectors(&on(Some(host), "/proc/diskstats"), |name| name.starts_with("vd"))
        }
    };
    (read * 512, received(&links))
}

/// Sectors read from devices, by the kernel's Documentation/admin-guide/iostats.rst.
fn sectors(diskstats: &str, of: impl Fn(&str) -> bool) -> u64 {
    let lines = diskstats.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let disks = lines.filter(|words| words.get(2).is_some_and(|name| of(name)));
    disks.filter_map(|words| words.get(5)?.parse::<u64>().ok()).sum()
}

fn received(dev: &str) -> u64 {
    let links = dev.lines().filter_map(|line| line.split_once(':'));
    let links = links.filter(|(name, _)| name.trim() != "lo");
    links.filter_map(|(_, rest)| rest.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

fn bytes_read(study: &Study) -> u64 {
    let parts = study.trials.iter().flat_map(|trial| &trial.result.parts);
    parts.filter_map(|part| part.ops.get(&OpKind::READ)).map(|ops| ops.bytes).sum()
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
