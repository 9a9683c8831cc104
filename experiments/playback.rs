//! How many films play over a link, from a server whose processor is limited, and from a slow disk: the number that
//! `play` finds next to the number that the capacity allows. The capacity is that of the same path for sequential reads;
//! the rate of the film follows from it, so that N films need at most 85% of it, and N + 1 at least 105%. Where N films
//! need nearly all of it, they are marginal.
//!
//! `freezes` has servers that rarely stop, `players` has mpv on a mount, `long` has runs of ten minutes, and `backup` a
//! film during a backup.

mod backup;
mod beds;
mod freezes;
mod long;
mod mpv;
mod players;
mod readers;

use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use beds::{Limits, Place, Up, between, in_machines, in_namespaces};
use plimsoll_explain::Films;
use plimsoll_stats::order::generator;
use plimsoll_stats::playback::Verdict;
use plimsoll_testkit::available;
use rand_pcg::rand_core::Rng;
use readers::Readers;
use serde::{Deserialize, Serialize};

const CASES: u64 = 30;
/// The first numbers are links and processors in turn, then come disks; the rest is marginal.
const IN_NAMESPACES: u64 = 16;
const BOUNDED: u64 = 24;
/// Wanted of those that are not marginal: the number right at least.
const WANTED: u32 = 20;
/// Shares of the capacity that N films need at most, and N + 1 at least.
const PLAY: f64 = 0.85;
const STALL: f64 = 1.05;
/// Share of the capacity that marginal films need. With less than 97%, "plays" would be right.
const MARGINAL: [f64; 2] = [0.975, 0.995];
const MOST: u16 = 4;
/// Readers get at least so much of a disk that is the bottleneck.
const OF_DISK: f64 = 0.8;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    /// Mbit/s of the link, hundredths of a core of the server, and MB/s of its disk; 0 where there is none.
    link: u64,
    cpu: u64,
    #[serde(default)]
    disk: u64,
    /// Bytes per second of N and of N + 1 readers without a pace; 0 where N + 1 were not measured.
    capacity: f64,
    #[serde(default)]
    capacity_of_more: f64,
    rate: f64,
    films: u16,
    found: Option<u16>,
    bounded: bool,
    /// Whether so many films are marginal, and are measured alone.
    #[serde(default)]
    marginal: bool,
    /// What is said of so many films, and of one more.
    #[serde(default)]
    verdicts: [String; 2],
    /// What readers of N and N + 1 films show; none where they are marginal.
    #[serde(default)]
    readers: Option<[Readers; 2]>,
    #[serde(default)]
    load_average: String,
}

fn place(number: u64) -> Place {
    match (IN_NAMESPACES..BOUNDED).contains(&number) {
        true => Place::Machines,
        false => Place::Namespaces,
    }
}

/// What is said of so many films: "plays", "marginal", "stalls"; empty where they were not measured.
fn verdict(found: &Films, films: u16) -> String {
    let row = found.uncapped.iter().find(|row| row.streams == films);
    let word = row.and_then(|row| row.verdict).map(|verdict| match verdict {
        Verdict::Plays => "plays",
        Verdict::Marginal => "marginal",
        Verdict::Stalls => "stalls",
    });
    word.unwrap_or_default().to_owned()
}

/// A rate at which N films play and N + 1 stall, from the capacity of N and of N + 1 readers: an operation costs the
/// server more the more of them there are.
fn clear_rate(films: u16, [capacity, capacity_of_more]: [f64; 2]) -> f64 {
    f64::midpoint(
        PLAY * capacity / f64::from(films),
        STALL * capacity_of_more / f64::from(films + 1),
    )
}

fn case(up: &Up, number: u64, draw: &mut impl Rng) -> Case {
    let load_average = load_average();
    let limits = match up.place {
        Place::Namespaces => in_namespaces(number, draw),
        Place::Machines => in_machines(draw),
    };
    up.set(limits);
    let marginal = number >= BOUNDED;
    let films = 1 + (draw.next_u64() % u64::from(MOST)) as u16;
    let capacity = up.capacity(films);
    let capacity_of_more = if marginal { 0.0 } else { up.capacity(films + 1) };
    let rate = match marginal {
        true => between(MARGINAL[0], MARGINAL[1], draw) * capacity / f64::from(films),
        false => clear_rate(films, [capacity, capacity_of_more]),
    };
    let streams = format!("--streams={films}");
    let words = ["--max-time=30min", &streams];
    let (found, _) = up.play(rate, if marginal { &words[..] } else { &words[..1] });
    let alone = found.map(|found| found.alone).unwrap_or_default();
    let readers = (!marginal).then(|| readers::both(up, films, rate));
    let Limits { link, cpu, disk } = limits;
    Case {
        link,
        cpu,
        disk,
        capacity,
        capacity_of_more,
        rate,
        films,
        found: alone.most(),
        bounded: alone.is_bounded(),
        marginal,
        verdicts: [films, films + 1].map(|films| verdict(&alone, films)),
        readers,
        load_average,
    }
}

impl Case {
    fn is_right(&self) -> bool {
        match self.marginal {
            true => self.verdicts[0] == "marginal",
            false => self.found == Some(self.films) && self.bounded,
        }
    }

    /// Whether a verdict is false: too many films play, or some stall that do not.
    fn is_wrong(&self) -> bool {
        let too_many = self.found.is_some_and(|found| found > self.films);
        let stalls = self.verdicts[0] == "stalls";
        match self.marginal {
            true => stalls || self.verdicts[0] == "plays",
            false => too_many || stalls,
        }
    }

    /// Whether nothing follows: the disk was not short, but something else of the lab, such as the processor of this
    /// machine; or N films and N + 1 are too near to each other.
    fn is_void(&self) -> bool {
        let all = self.capacity.max(self.capacity_of_more);
        let [films, more] = [self.films, self.films + 1].map(f64::from);
        let has_plenty = self.disk > 0 && all < OF_DISK * 1e6 * self.disk as f64;
        let is_near = self.rate * films > PLAY * self.capacity
            || self.rate * more < STALL * self.capacity_of_more;
        has_plenty || (is_near && !self.marginal)
    }

    /// What is short.
    fn limit(&self) -> &'static str {
        match (self.disk, self.link) {
            (1.., _) => "disk",
            (0, 900) => "processor",
            (0, _) => "link",
        }
    }
}

fn show(cases: &[Case]) {
    let judge = |title: &str, cases: &[&Case]| {
        let all = cases.len() as u32;
        let count = |is: fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count() as u32;
        let (right, wrong) = (words(count(Case::is_right), all), words(count(Case::is_wrong), all));
        println!("{title}: right {right}; verdicts that are false {wrong}");
    };
    let bounded: Vec<&Case> =
        cases.iter().filter(|case| !case.marginal && !case.is_void()).collect();
    for limit in ["link", "processor", "disk"] {
        let of_it: Vec<&Case> =
            bounded.iter().copied().filter(|case| case.limit() == limit).collect();
        judge(limit, &of_it);
    }
    judge(&format!("numbers of films (wanted {WANTED} of {BOUNDED}, none false)"), &bounded);
    let void = cases.iter().filter(|case| case.is_void()).count();
    println!("void, as the lab was short of something else, or N and N + 1 were too near: {void}");
    let marginal: Vec<&Case> = cases.iter().filter(|case| case.marginal).collect();
    judge("marginal (wanted all)", &marginal);
    let readers: Vec<&[Readers; 2]> =
        bounded.iter().filter_map(|case| case.readers.as_ref()).collect();
    let all = readers.len() as u32;
    let clean = readers.iter().filter(|[most, _]| most.is_clean()).count() as u32;
    let stalls = readers.iter().filter(|[_, more]| !more.is_clean()).count() as u32;
    let (clean, stalls) = (words(clean, all), words(stalls, all));
    println!("paced readers: N clean {clean}; N + 1 with stalls {stalls}");
}

#[test]
#[ignore = "labs take hours: make measure-playback"]
fn measure_playback_of_films_over_links_processors_and_disks_of_known_capacity() {
    let needs = [Place::Namespaces, Place::Machines].into_iter().flat_map(Place::needs);
    if !needs.into_iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("playback-{seed}.jsonl"));
    let mut up: Option<Up> = None;
    let until = Until::now();
    for number in kept.cases.len() as u64..setting("PLIMSOLL_CASES", CASES) {
        if until.is_over() {
            break;
        }
        let place = place(number);
        let lab = up.take().filter(|up| up.place == place).unwrap_or_else(|| Up::new(place));
        until_quiet();
        let mut draw = generator(seed, &format!("film {number}"));
        let case = case(&lab, number, &mut draw);
        println!("{number} {}: {case:?}", case.limit());
        kept.add(case);
        up = Some(lab);
    }
    show(&kept.cases);
    println!("load average at the end: {}", load_average());
}
