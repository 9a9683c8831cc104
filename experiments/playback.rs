//! How many films play over a link, and from a server whose processor is limited: the number that `play` finds next to the
//! number that the capacity allows. The capacity is that of the same path for sequential reads; the rate of the film
//! follows from it, so that N films need at most 85% of it, and N + 1 at least 105%.

use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::playback;
use plimsoll_model::{Measure, Metric, Study};
use plimsoll_stats::order::generator;
use plimsoll_testkit::{Need, available};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

const CASES: u64 = 24;
/// Shares of the capacity that N films need at most, and N + 1 at least.
const PLAY: f64 = 0.85;
const STALL: f64 = 1.05;
const MOST: u16 = 4;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Case {
    /// Mbit/s of the link, and hundredths of a core of the server.
    link: u64,
    cpu: u64,
    capacity: f64,
    rate: f64,
    films: u16,
    found: Option<u16>,
    bounded: bool,
}

fn lab() -> LabFile {
    let server = LabFile::new().namespace("server").set("cpu", "50%").ganesha("256MiB");
    let client = server.namespace("client").set("cpu", "100%");
    client.link("cable", ["server", "client"]).set("rate", "100Mbit/s")
}

/// The study that a command keeps.
fn measured(beds: &Beds, words: &[&str]) -> Study {
    let target = "nfs://server/srv/data?uid=0&gid=0";
    let more = ["--on=lab://films/client", "--baseline=0s", "--size=64MiB", "--quiet"];
    let arguments = [&words[..1], &[target], &words[1..], &more].concat();
    beds.program.run(&arguments).expect(0);
    beds.program.latest()
}

/// Bytes per second of four sequential readers.
fn capacity(beds: &Beds) -> f64 {
    let words =
        ["check", "--pattern=sequential-read", "--block=128KiB", "--repeats=3", "--time=3s"];
    let study = measured(beds, &words);
    let metric = Metric::all(Measure::THROUGHPUT);
    let rates: Vec<f64> =
        study.trials.iter().filter_map(|trial| trial.result.value(0, metric)).collect();
    rates.iter().sum::<f64>() / rates.len() as f64
}

fn case(beds: &Beds, number: u64, draw: &mut impl Rng) -> Case {
    let set = |what: &str, value: String| beds.lab(&["set", "films", what, &value]).expect(0);
    // Half of the cases by the link, half by the processor.
    let (link, cpu) = match number % 2 {
        0 => (20 + draw.next_u64() % 60, 80),
        _ => (900, 4 + draw.next_u64() % 8),
    };
    set("cable", format!("rate={link}Mbit/s"));
    set("server", format!("cpu={cpu}%"));
    let capacity = capacity(beds);
    let films = 1 + (draw.next_u64() % u64::from(MOST)) as u16;
    let (least, most) = (STALL / f64::from(films + 1), PLAY / f64::from(films));
    let rate = capacity * (least + most) / 2.0;
    let rate_words = format!("--rate={:.0}kbit/s", rate * 8.0 / 1e3);
    let study = measured(beds, &["play", &rate_words, "--max-time=20min"]);
    let found = playback(&study).into_iter().next();
    let (found, bounded) =
        found.map_or((None, false), |of| (of.alone.most(), of.alone.is_bounded()));
    Case { link, cpu, capacity, rate, films, found, bounded }
}

#[test]
#[ignore = "labs take hours: make measure-playback"]
fn measure_playback_of_films_over_links_and_processors_of_known_capacity() {
    if ![Need::Namespaces, Need::Ganesha].into_iter().all(available) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("playback-{seed}.jsonl"));
    let beds = Beds::with_runner();
    beds.up("films", &lab());
    // Streams that share a link by another congestion control may share it unevenly: another question.
    beds.on("films/server", "echo cubic >/proc/sys/net/ipv4/tcp_congestion_control");
    until_quiet();
    println!("load average {}", load_average());
    let until = Until::now();
    for number in kept.cases.len() as u64..setting("PLIMSOLL_CASES", CASES) {
        if until.is_over() {
            break;
        }
        let mut draw = generator(seed, &format!("film {number}"));
        let case = case(&beds, number, &mut draw);
        println!("{case:?}");
        kept.add(case);
    }
    let right = |case: &&Case| case.found == Some(case.films) && case.bounded;
    let wrong = |case: &&Case| case.found.is_some_and(|found| found > case.films);
    let all = kept.cases.len() as u32;
    println!("right: {}", words(kept.cases.iter().filter(right).count() as u32, all));
    println!("too many: {}", words(kept.cases.iter().filter(wrong).count() as u32, all));
}
