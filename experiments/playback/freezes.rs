//! Servers that stop once in some minutes, for longer than the buffer of the player lasts: a short study has to say that
//! it has seen no such pause, how often there can be one, and how to watch for longer. The same films are then watched
//! for minutes, in which the server stops.

use super::beds::{Limits, Place, Up, between};
use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use crate::stalls::stopped;
use plimsoll_stats::order::generator;
use plimsoll_testkit::available;
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

const CASES: u64 = 4;
/// Enough for one film.
const LIMITS: Limits = Limits { link: 100, cpu: 80, disk: 0 };
/// Bytes per second of the film, and a buffer that lasts for less than each stop: at most 2 s.
const RATE: [f64; 2] = [1e6, 3e6];
const BUFFER: &str = "--buffer=2MiB";
/// Seconds of each stop, and from one stop to the next: a short study ends before the first one.
const STOP: [f64; 2] = [4.0, 8.0];
const EVERY: [f64; 2] = [220.0, 270.0];
/// Longer than that.
const SOAK: &str = "--soak=5min";
/// What a short study says.
const SAID: [&str; 3] = ["No pause emptied it in", "fewer than", "Give --soak"];

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    rate: f64,
    stop_seconds: f64,
    every_seconds: f64,
    /// What the short study says of pauses.
    said: String,
    /// Longest pause of the short study and of the long one, and how long the buffer lasts.
    short: f64,
    long: f64,
    buffer: f64,
    /// Stops a second at most, by the short study.
    at_most: f64,
    load_average: String,
}

/// The sentences about pauses.
fn of_pauses(said: &str) -> String {
    let begin = ["The longest pause", "A request took"].iter().filter_map(|begin| said.find(begin));
    let text = begin.min().map_or("", |begin| &said[begin..]);
    text.split(" More:").next().unwrap_or_default().to_owned()
}

fn case(up: &Up, draw: &mut impl Rng) -> Case {
    let load_average = load_average();
    let rate = between(RATE[0], RATE[1], draw);
    let (stop, every) = (between(STOP[0], STOP[1], draw), between(EVERY[0], EVERY[1], draw));
    let signal = |stop: bool| {
        let signal = if stop { "STOP" } else { "CONT" };
        up.beds.on("films/server", &format!("pkill -{signal} -f '^ganesha.nfsd '"));
    };
    let films = |words: &[&str]| up.play(rate, &[&["--streams=1", BUFFER], words].concat());
    let milliseconds = |seconds: f64| (1e3 * seconds) as u64;
    let [short, long] = stopped(milliseconds(every), milliseconds(stop), &signal, || {
        [films(&["--max-time=10min"]), films(&["--max-time=30min", SOAK])]
    });
    let pauses = |of: &Option<plimsoll_explain::Playback>| of.as_ref().and_then(|of| of.pauses);
    let (first, second) = (pauses(&short.0), pauses(&long.0));
    Case {
        rate,
        stop_seconds: stop,
        every_seconds: every,
        said: of_pauses(&short.1),
        short: first.map_or(f64::INFINITY, |pauses| pauses.longest_seconds),
        long: second.map_or(0.0, |pauses| pauses.longest_seconds),
        buffer: first.map_or(0.0, |pauses| pauses.buffer_seconds),
        at_most: first.map_or(0.0, |pauses| 3.0 / pauses.measured_seconds),
        load_average,
    }
}

impl Case {
    /// Whether the short study has seen no stop, and promises no more than that.
    fn is_right(&self) -> bool {
        let is_said = SAID.iter().all(|words| self.said.contains(words));
        self.short < self.buffer && is_said && self.at_most > 1.0 / self.every_seconds
    }

    /// Whether the long study has seen a stop.
    fn is_noticed(&self) -> bool {
        self.long >= self.buffer
    }
}

#[test]
#[ignore = "takes an hour: make measure-playback"]
fn measure_playback_from_servers_that_rarely_stop() {
    if !Place::Namespaces.needs().iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("playback-freezes-{seed}.jsonl"));
    let (mut up, until) = (None, Until::now());
    for number in kept.cases.len() as u64..CASES {
        if until.is_over() {
            break;
        }
        let up = up.get_or_insert_with(|| {
            let up = Up::new(Place::Namespaces);
            up.set(LIMITS);
            up
        });
        until_quiet();
        let case = case(up, &mut generator(seed, &format!("freeze {number}")));
        println!("{case:?}");
        kept.add(case);
    }
    let all = kept.cases.len() as u32;
    let count = |is: fn(&Case) -> bool| kept.cases.iter().filter(|case| is(case)).count() as u32;
    println!("no stop seen, and that is said: {} (wanted all)", words(count(Case::is_right), all));
    println!("seen by a long study: {}", words(count(Case::is_noticed), all));
    println!("load average at the end: {}", load_average());
}
