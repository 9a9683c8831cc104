//! Whether films that play by a short study play for ten minutes, and whether those that stall by it stall in that time.

use super::beds::{Place, Up, in_namespaces};
use super::{MOST, clear_rate, verdict};
use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use plimsoll_explain::Playback;
use plimsoll_stats::order::generator;
use plimsoll_testkit::available;
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

/// Seeds outside "marginal".
const CASES: usize = 5;
const SOAK: &str = "--soak=10min";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    number: u64,
    link: u64,
    cpu: u64,
    rate: f64,
    films: u16,
    /// What a short study says of N and of N + 1 films.
    verdicts: [String; 2],
    /// Stalls of N and of N + 1 films in ten minutes; `None` where they were not played.
    stalls: [Option<u64>; 2],
    load_average: String,
}

fn stalls(found: Option<&Playback>, films: u16) -> Option<u64> {
    let played = &found?.alone.played;
    played.iter().find(|row| row.streams == films).map(|row| row.stalls)
}

fn case(up: &Up, number: u64, draw: &mut impl Rng) -> Case {
    let load_average = load_average();
    let limits = in_namespaces(number, draw);
    up.set(limits);
    let films = 1 + (draw.next_u64() % u64::from(MOST)) as u16;
    let rate = clear_rate(films, [films, films + 1].map(|readers| up.capacity(readers)));
    let streams = format!("--streams={films},{}", films + 1);
    let (short, _) = up.play(rate, &[&streams, "--max-time=20min"]);
    let alone = short.map(|found| found.alone).unwrap_or_default();
    let verdicts = [films, films + 1].map(|films| verdict(&alone, films));
    let mut case = Case {
        number,
        link: limits.link,
        cpu: limits.cpu,
        rate,
        films,
        verdicts,
        stalls: [None; 2],
        load_average,
    };
    if case.is_clear() {
        let (long, _) = up.play(rate, &[&streams, SOAK, "--max-time=60min"]);
        case.stalls = [films, films + 1].map(|films| stalls(long.as_ref(), films));
    }
    case
}

impl Case {
    /// Whether the short study says "plays" or "stalls" of both numbers.
    fn is_clear(&self) -> bool {
        self.verdicts.iter().all(|verdict| matches!(&**verdict, "plays" | "stalls"))
    }

    /// Whether ten minutes contradict what the short study says.
    fn is_contradicted(&self) -> bool {
        let both = self.verdicts.iter().zip(self.stalls);
        both.into_iter().any(|(verdict, stalls)| match (&**verdict, stalls) {
            ("plays", Some(stalls)) => stalls > 0,
            ("stalls", Some(stalls)) => stalls == 0,
            _ => false,
        })
    }
}

#[test]
#[ignore = "takes two hours: make measure-long-playback"]
fn measure_long_playback_next_to_short_verdicts() {
    if !Place::Namespaces.needs().iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("playback-long-{seed}.jsonl"));
    let (mut up, until) = (None, Until::now());
    let clear = |kept: &Kept<Case>| kept.cases.iter().filter(|case| case.is_clear()).count();
    while clear(&kept) < setting("PLIMSOLL_CASES", CASES as u64) as usize && !until.is_over() {
        let up = up.get_or_insert_with(|| Up::new(Place::Namespaces));
        until_quiet();
        let number = kept.cases.len() as u64;
        let case = case(up, number, &mut generator(seed, &format!("long film {number}")));
        println!("{case:?}");
        kept.add(case);
    }
    let all = clear(&kept) as u32;
    let contradicted = kept.cases.iter().filter(|case| case.is_contradicted()).count() as u32;
    let both = kept.cases.iter().filter(|case| case.stalls.iter().all(Option::is_some)).count();
    println!("played for ten minutes at both numbers: {}", words(both as u32, all));
    println!("contradicted: {} (wanted none)", words(contradicted, all));
    println!("load average at the end: {}", load_average());
}
