//! mpv on a mount by the kernel, at settings around the edge, next to `play --player mpv` on the same mount: whether the
//! film stalls, and the time to its first frame.

use super::beds::{between, rate_option};
use super::mpv::{self, Observed, TOOLS};
use super::verdict;
use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{Playback, playback};
use plimsoll_stats::order::generator;
use plimsoll_testkit::{Need, available};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

const SETTINGS: u64 = 12;
/// Wanted: the same on stalls at least so often, and first frames so near, in seconds.
const WANTED: u32 = 10;
const NEAR: f64 = 0.5;
/// Supply over the rate of the film: too little in half of the settings, and enough in the others.
const LITTLE: [f64; 2] = [0.75, 0.95];
const ENOUGH: [f64; 2] = [1.05, 1.3];
/// Mbit/s of the link. Emulated machines have a tenth of it.
const LINK: [f64; 2] = [80.0, 200.0];
/// Seconds of mpv, as `play` has at the rate of the film.
const SECONDS: f64 = 30.0;
/// A film is longer than that by so much.
const LONGER: f64 = 1.5;
const CLIENT: &str = "players/client";
const SERVER: &str = "players/server";
const AT: &str = "/mnt/films";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    link: f64,
    /// Bytes per second of one stream without a pace, and of the film.
    supply: f64,
    rate: f64,
    mpv: Observed,
    /// What `play` says of one film, and what it has seen of it at its rate.
    verdict: String,
    stalls: Option<u64>,
    first_frame: Option<f64>,
    load_average: String,
}

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "512MiB")
        .disk("data", "2GiB", "/srv/data")
        .nfsd(8, &["3"], "/srv/data", "rw,async,no_root_squash")
        .machine("client", "512MiB")
        .disk("tools", "768MiB", TOOLS)
        .mount_nfs(AT, "server:/srv/data", "vers=3")
        .link("cable", ["server", "client"])
        .set("rate", "100Mbit/s")
}

/// What `play` finds of one film on the mount, read through the cache of the client as mpv reads it.
fn play(beds: &Beds, rate: f64, supply: f64, more: &[&str]) -> Option<Playback> {
    // No part of a file is read twice in a trial: the client would have it in its memory.
    let size = (supply * SECONDS * LONGER) as u64 / (1 << 20);
    let (rate, size) = (rate_option(rate), format!("--size={}MiB", size.max(64)));
    let on = format!("--on=lab://{CLIENT}");
    let fixed = ["play", AT, &on, &rate, &size, "--cache=page", "--player=mpv", "--streams=1"];
    let rest = ["--baseline=0s", "--max-time=30min", "--quiet"];
    let ran = beds.program.run(&[&fixed, more, &rest].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
    playback(&beds.program.latest()).into_iter().next()
}

/// Bytes per second of one stream without a pace.
fn supply(beds: &Beds, link: f64) -> f64 {
    // A link is no faster.
    let most = link * 1e6 / 8.0;
    let found = play(beds, most, most / SECONDS, &["--quick"]).expect("a study of films");
    let row = found.alone.uncapped.first().expect("one stream");
    row.together.expect("a rate")
}

fn case(beds: &Beds, number: u64, draw: &mut impl Rng) -> Case {
    let load_average = load_average();
    let link = between(LINK[0], LINK[1], draw).round();
    let [low, high] = if number.is_multiple_of(2) { LITTLE } else { ENOUGH };
    beds.lab(&["set", "players", "cable", &format!("rate={link}Mbit/s")]).expect(0);
    let supply = supply(beds, link);
    let rate = supply / between(low, high, draw);
    // Zeros without blocks cost the server no disk, and as much of the link as others.
    let length = (rate * SECONDS * LONGER * 2.0) as u64;
    let film = format!("film-{number}");
    beds.on(SERVER, &format!("truncate -s {length} /srv/data/{film}"));
    let mpv = mpv::play(beds, CLIENT, &format!("{AT}/{film}"), rate, SECONDS);
    beds.on(SERVER, &format!("rm /srv/data/{film}"));
    let found = play(beds, rate, supply, &[]);
    let one =
        found.as_ref().and_then(|found| found.alone.played.iter().find(|row| row.streams == 1));
    Case {
        link,
        supply,
        rate,
        mpv,
        verdict: found.as_ref().map_or_else(String::new, |found| verdict(&found.alone, 1)),
        stalls: one.map(|row| row.stalls),
        first_frame: one.and_then(|row| row.first_frame_seconds),
        load_average,
    }
}

impl Case {
    /// Whether both stall at the rate of the film, or none.
    fn agrees(&self) -> bool {
        let both = self.mpv.stalls.zip(self.stalls);
        both.is_some_and(|(theirs, ours)| (theirs > 0) == (ours > 0))
    }

    /// Whether mpv contradicts the verdict.
    fn is_contradicted(&self) -> bool {
        match (&*self.verdict, self.mpv.stalls) {
            ("plays", Some(stalls)) => stalls > 0,
            ("stalls", Some(stalls)) => stalls == 0,
            _ => false,
        }
    }

    /// Whether the first frames are near each other.
    fn is_near(&self) -> bool {
        let both = self.mpv.first_frame.zip(self.first_frame);
        both.is_some_and(|(theirs, ours)| (theirs - ours).abs() <= NEAR)
    }
}

#[test]
#[ignore = "machines take an hour or two: make measure-players"]
fn measure_players_next_to_play_on_a_mount() {
    if !available(Need::Machines) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("players-{seed}.jsonl"));
    let (mut up, until) = (None, Until::now());
    for number in kept.cases.len() as u64..setting("PLIMSOLL_CASES", SETTINGS) {
        if until.is_over() {
            break;
        }
        let beds = up.get_or_insert_with(|| {
            let beds = Beds::with_runner();
            beds.up("players", &lab());
            mpv::install(&beds, CLIENT);
            beds
        });
        until_quiet();
        let case = case(beds, number, &mut generator(seed, &format!("player {number}")));
        println!("{case:?}");
        kept.add(case);
    }
    let all = kept.cases.len() as u32;
    let count = |is: fn(&Case) -> bool| kept.cases.iter().filter(|case| is(case)).count() as u32;
    let agree = words(count(Case::agrees), all);
    println!("mpv and play agree on stalls: {agree} (wanted {WANTED} of {SETTINGS})");
    println!("verdicts that mpv contradicts: {}", words(count(Case::is_contradicted), all));
    println!("first frames within {NEAR} s: {} (wanted all)", words(count(Case::is_near), all));
    println!("load average at the end: {}", load_average());
}
