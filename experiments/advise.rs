//! Is the first advice of `plimsoll advise` the best of the changes that can be made? Set-ups drawn by seed in the
//! labs of `limits`, namespaces for the most part. Each is measured, and again with each of up to four changes
//! really made:
//!
//! - in namespaces: the next rate of Ethernet that is at least twice that of the link, twice the CPU quota of the
//!   server, twice that of the client, and twice the workers;
//! - in machines: half the delay and a disk twice as fast, where there is one to shorten, eight times the threads
//!   of the kernel's NFS server, and twice the workers.
//!
//! These are the changes that the rules of `advise` propose, but for the delay, which no user can buy: cases are
//! also judged without it. The study of each set-up and the speeds with its changes are kept; advice is computed
//! from the study each time, by the function of the command, so that later rules are judged by the same
//! measurements.
//!
//! The first advice is the change that the answer names first, that of the largest predicted gain. It is right if
//! its speed is at least 95% of the best, that of no change included. No advice is right if no change brings more
//! than that. Where the lab did not make the change that is named first, the next one that it made counts; advice
//! of which it made no change counts as none. Judged apart is the first row of the table, in which free changes
//! precede cables and boxes. A case in which this machine itself was busy, or a change left no complete trial, is
//! void, and another one is drawn.

use crate::kept::{Kept, Until, load_average, place, setting, until_quiet, words};
use crate::limits::beds::{Bed, Case, drawn};
use crate::limits::{BUSY, busy, found};
use crate::support::beds::Beds;
use plimsoll_explain::whatif::{
    Advice, LinkEnd, LinkRate, NewDisk, ProcessorSpeed, Processors, Proposal, Suggestion, WhatIf,
    advise,
};
use plimsoll_model::Study;
use plimsoll_testkit::available;
use serde::{Deserialize, Serialize};
use std::fs;
use std::num::NonZeroU16;
use std::path::PathBuf;

const SEED: u64 = 41;
const CASES: [(Bed, u64); 2] = [(Bed::Namespaces, 9), (Bed::Machines, 3)];
/// Wanted of twelve: right at least.
const WANTED: u32 = 10;
/// How much slower than the best the first advice may be, as a share.
const CLOSE: f64 = 0.05;
/// Rates of Ethernet in Mbit/s, and how much faster a new one is at least (`whatif::advise`).
const ETHERNET: [f64; 6] = [100.0, 1e3, 2.5e3, 1e4, 2.5e4, 1e5];
const TWICE: f64 = 2.0;
/// Threads that are tried, as times those of today (`whatif::advise`).
const MORE_THREADS: f64 = 8.0;

/// A change that a lab makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    Link,
    Server,
    Client,
    Delay,
    Disk,
    Threads,
    Workers,
}

impl Change {
    /// Those of a case.
    fn all(case: &Case) -> Vec<Change> {
        let [first, second, _] = case.values;
        match case.bed {
            Bed::Namespaces => {
                vec![Change::Link, Change::Server, Change::Client, Change::Workers]
            }
            Bed::Machines => {
                let throttled = [(Change::Delay, first), (Change::Disk, second)];
                let throttled = throttled.into_iter().filter(|(_, value)| *value > 0.0);
                let more = [Change::Threads, Change::Workers];
                throttled.map(|(change, _)| change).chain(more).collect()
            }
        }
    }

    /// The case with the change.
    fn made(self, case: &Case) -> Case {
        let mut after = *case;
        match self {
            Change::Link => {
                let least = TWICE * case.values[0];
                let rate = ETHERNET.into_iter().find(|rate| *rate >= least);
                after.values[0] = rate.unwrap_or(least);
            }
            Change::Server => after = case.faster(1, TWICE),
            Change::Client => after = case.faster(2, TWICE),
            Change::Delay => after = case.faster(0, TWICE),
            Change::Disk => after = case.faster(1, TWICE),
            Change::Threads => after = case.faster(2, MORE_THREADS),
            Change::Workers => after.workers = case.workers.saturating_mul(2),
        }
        after
    }

    /// The change in the words of a prediction; `None` of those that are not predicted.
    fn what_if(self, case: &Case) -> Option<WhatIf> {
        let after = self.made(case);
        let processor = |of| WhatIf::Processor { of, speed: ProcessorSpeed::times(TWICE) };
        match self {
            Change::Link => {
                let to = LinkRate::BitsPerSecond((1e6 * after.values[0]) as u64);
                Some(WhatIf::Link { end: LinkEnd::Path, to })
            }
            Change::Server => Some(processor(Processors::Server)),
            Change::Client => Some(processor(Processors::Client)),
            Change::Disk => Some(WhatIf::Disk(NewDisk::Times(TWICE))),
            Change::Workers => NonZeroU16::new(after.workers).map(WhatIf::Readers),
            Change::Delay | Change::Threads => None,
        }
    }

    /// Whether it is what is proposed.
    fn is(self, case: &Case, proposal: &Proposal) -> bool {
        match proposal {
            Proposal::Change(change) => self.what_if(case).as_ref() == Some(change),
            Proposal::Setting { setting, values, .. } => {
                let threads = self.made(case).values[2];
                self == Change::Threads
                    && setting == "nfsd-threads"
                    && *values == format!("as-found,{threads}")
            }
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: Case,
    /// Why it does not count; empty where it does.
    void: String,
    /// Operations per second before.
    speed: f64,
    /// With each change, as times that.
    gains: Vec<(Change, f64)>,
}

fn measured(beds: &Beds, seed: u64, number: u64, bed: Bed) -> Row {
    let case = drawn(seed, number, bed, false).with_larger_quotas();
    let mut row = Row { seed, number, case, void: String::new(), speed: 0.0, gains: Vec::new() };
    let study = case.measure(beds, true);
    fs::write(row.place(), serde_json::to_string(&study).expect("JSON")).expect("it is kept");
    let Some(before) = found(&study) else {
        return Row { void: "no complete trial".to_owned(), ..row };
    };
    row.speed = before.per_second;
    let mut most_busy = busy(&study);
    for change in Change::all(&case) {
        if most_busy > BUSY {
            break;
        }
        let study = change.made(&case).measure(beds, false);
        let Some(after) = found(&study) else {
            return Row { void: format!("no complete trial with {change:?}"), ..row };
        };
        most_busy = most_busy.max(busy(&study));
        row.gains.push((change, after.per_second / row.speed));
    }
    if most_busy > BUSY {
        row.void = format!("this machine was {:.0}% busy", 100.0 * most_busy);
    }
    row
}

/// The first advice of a row that its lab has made, if there is any.
struct First {
    change: Option<Change>,
    /// Advice before it, which the lab has not made.
    skipped: usize,
}

impl Row {
    /// Where its study is kept.
    fn place(&self) -> PathBuf {
        place(&format!("advise-{}-{:?}-{}.json", self.seed, self.case.bed, self.number))
    }

    /// The advice of today's rules.
    fn advice(&self) -> Advice {
        let text = fs::read_to_string(self.place()).expect("the study was kept");
        let study: Study = serde_json::from_str(&text).expect("a study");
        advise(&study, None)
    }

    fn first<'a>(&self, advice: impl IntoIterator<Item = &'a Suggestion>) -> First {
        let mut skipped = 0;
        for suggestion in advice {
            let is_it = |change: &Change| change.is(&self.case, &suggestion.proposal);
            match self.gains.iter().map(|(change, _)| *change).find(is_it) {
                Some(change) => return First { change: Some(change), skipped },
                None => skipped += 1,
            }
        }
        First { change: None, skipped }
    }

    /// Whether an advice is the best, or close to it, of these changes and none.
    fn is_best(&self, first: &First, among: impl Fn(Change) -> bool) -> bool {
        let own = self.gains.iter().find(|(change, _)| Some(*change) == first.change);
        let own = own.map_or(1.0, |(_, gain)| *gain);
        let others = self.gains.iter().filter(|(change, _)| among(*change));
        let best = others.map(|(_, gain)| *gain).fold(1.0, f64::max);
        own >= (1.0 - CLOSE) * best
    }

    fn show(&self, first: &First, of_table: &First, is_right: bool) {
        let gains = self.gains.iter().map(|(change, gain)| format!("{change:?} {gain:.2}"));
        let told = |first: &First| {
            let change = first.change.map_or("none".to_owned(), |change| format!("{change:?}"));
            match first.skipped {
                0 => change,
                skipped => format!("{change} after {skipped} that were not made"),
            }
        };
        println!(
            "{:2} {}: {:.0}/s; really {}; named first {}, first of the table {}: {}",
            self.number,
            self.case,
            self.speed,
            gains.collect::<Vec<_>>().join(", "),
            told(first),
            told(of_table),
            if is_right { "right" } else { "WRONG" }
        );
    }
}

/// Rows by how they are judged.
#[derive(Default)]
struct Judged {
    counted: u32,
    right: u32,
    without_delay: u32,
    first_of_table: u32,
    /// Those whose first advice was not made.
    not_made: u32,
    none: u32,
}

impl Judged {
    fn add(&mut self, row: &Row) {
        let advice = row.advice();
        let mut by_gain: Vec<&Suggestion> = advice.help.iter().collect();
        by_gain.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        // The function of the answer decides between equal ones.
        by_gain.retain(|one| Some(*one) != advice.best());
        let first = row.first(advice.best().into_iter().chain(by_gain));
        let of_table = row.first(&advice.help);
        let is_right = row.is_best(&first, |_| true);
        self.counted += 1;
        self.right += u32::from(is_right);
        self.without_delay += u32::from(row.is_best(&first, |change| change != Change::Delay));
        self.first_of_table += u32::from(row.is_best(&of_table, |_| true));
        self.not_made += u32::from(first.skipped > 0 && first.change.is_some());
        self.none += u32::from(first.change.is_none());
        row.show(&first, &of_table, is_right);
    }

    fn show(&self) {
        let share = |count: u32| words(count, self.counted);
        println!("first advice right {}; {WANTED} of 12 at least", share(self.right));
        println!("among changes of rules, without the delay, right {}", share(self.without_delay));
        println!(
            "first of the table, free ones before others, right {}",
            share(self.first_of_table)
        );
        println!("first advice not made {}, none made {}", share(self.not_made), share(self.none));
    }
}

#[test]
#[ignore = "takes an hour, and a quiet machine: make measure-advise"]
fn measure_advise() {
    let needs = [Bed::Namespaces, Bed::Machines].into_iter().flat_map(|bed| bed.needs());
    if !needs.into_iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", SEED);
    let (mut kept, until) = (Kept::<Row>::open("advise.jsonl"), Until::now());
    println!("load average at the beginning: {}", load_average());
    let mut judged = Judged::default();
    for (bed, wanted) in CASES {
        let wanted = setting("PLIMSOLL_CASES", wanted);
        let (mut own, mut number, mut up) = (0, 0, None);
        while own < wanted && !until.is_over() {
            let is_it = |row: &Row| (row.seed, row.number, row.case.bed) == (seed, number, bed);
            if !kept.cases.iter().any(is_it) {
                let beds = up.get_or_insert_with(|| {
                    let beds = Beds::with_runner();
                    beds.up("bed", &bed.lab());
                    beds
                });
                until_quiet();
                kept.add(measured(beds, seed, number, bed));
            }
            let row = kept.cases.iter().find(|row| is_it(row)).expect("it is kept");
            if row.void.is_empty() {
                own += 1;
                judged.add(row);
            } else {
                println!("{:2} {}: void, {}", row.number, row.case, row.void);
            }
            number += 1;
        }
    }
    judged.show();
    println!("load average at the end: {}", load_average());
}
