//! Is the limit that is named the one whose doubling helps most? Cases drawn by seed in two labs: over the rate of a
//! link and the CPU quotas of a server and a client, and over the round trip, the disk and the threads of the
//! kernel's NFS server. Each is also measured with each of its three candidates doubled: that is the truth. Six more
//! have their limit where it is not seen. A case in which this machine itself was busy is void, and another
//! one is drawn in its place. Speeds and studies are kept; what is named is computed from them each time.

pub mod beds;
mod counters;

use crate::kept::{Kept, Until, load_average, place, setting, until_quiet, words};
use crate::support::beds::Beds;
use beds::{Bed, Case, drawn};
use plimsoll_explain::{Ladder, Limit, Limits, Resource, Role, Use, limits};
use plimsoll_model::Study;
use plimsoll_testkit::available;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

const SEED: u64 = 20;
/// Cases of each lab, and whether their limit is hidden.
const CASES: [(Bed, bool, u64); 3] =
    [(Bed::Namespaces, false, 15), (Bed::Namespaces, true, 6), (Bed::Machines, false, 15)];
/// Wanted of thirty: right at least, wrong at most; of six hidden ones named at most.
const WANTED: (u32, u32, u32) = (24, 2, 1);
/// Busy share of this machine from which a case is void.
pub const BUSY: f64 = 0.7;
/// Candidates whose doubling helps within this factor of each other are alike.
const ALIKE: f64 = 1.3;
/// Doubling that helps less is no help.
const HELPS: f64 = 0.1;
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: Case,
    /// Why it does not count; empty where it does.
    void: String,
    /// What it carried, and with each candidate doubled over that, less one.
    speed: f64,
    gains: [f64; 3],
}

/// What is named for a case.
pub struct Named {
    /// One of the candidates, "cannot tell", or something else that it is not.
    pub what: String,
    /// Whether U = U₀ + X·D held of it, where that was tried.
    constant: Option<bool>,
}

pub fn found(study: &Study) -> Option<Limits> {
    limits(study).into_iter().next()
}

/// The candidate that a resource is.
pub fn candidate(one: &Use) -> &'static str {
    match (&one.resource, one.role) {
        (Resource::Link { .. }, _) => "link",
        (Resource::RoundTrip, _) => "round trips",
        (Resource::Disk { .. }, _) => "disk",
        (Resource::Threads { .. }, _) => "threads",
        (_, Role::Server) => "server",
        (_, Role::Client) => "client",
        (_, Role::Both) => "another",
    }
}

/// What is named, in one word, and whether its demand held at all depths.
pub fn named(limits: &Limits) -> Named {
    let one = |place: usize| {
        let ladder: Option<&Ladder> = limits.ladder.as_ref();
        let constant = ladder.and_then(|ladder| ladder.is_constant(&limits.uses[place]));
        (candidate(&limits.uses[place]), constant)
    };
    let (what, constant) = match &limits.verdict {
        Limit::Resource { binding, .. } => one(*binding),
        // Not the bottleneck, but what takes most of the time.
        Limit::Unsaturated(uses) if uses.len() == 1 => one(uses[0]),
        Limit::Contradiction(_) => ("contradiction", None),
        Limit::Several { .. } | Limit::Unsaturated(_) | Limit::Waiting | Limit::Hidden => {
            ("cannot tell", None)
        }
    };
    Named { what: what.to_owned(), constant }
}

fn measured(beds: &Beds, seed: u64, number: u64, bed: Bed, hidden: bool) -> Row {
    let case = drawn(seed, number, bed, hidden);
    let mut row = Row { seed, number, case, void: String::new(), speed: 0.0, gains: [0.0; 3] };
    let study = case.measure(beds, !hidden);
    fs::write(row.place(), serde_json::to_string(&study).expect("JSON")).expect("it is kept");
    let Some(limits) = found(&study) else {
        return Row { void: "no complete trial".to_owned(), ..row };
    };
    row.speed = limits.per_second;
    let busy = busy(&study);
    if busy > BUSY {
        row.void = format!("this machine was {:.0}% busy", 100.0 * busy);
    } else if !hidden {
        for (which, gain) in row.gains.iter_mut().enumerate() {
            let more = found(&case.doubled(which).measure(beds, false));
            *gain = more.map_or(f64::NAN, |more| more.per_second / row.speed - 1.0);
        }
    }
    row
}

/// How busy this machine was in the trials, of all its cores.
pub fn busy(study: &Study) -> f64 {
    let loads = study.trials.iter().filter_map(|trial| trial.loads.first());
    let (busy, all) = loads
        .fold((0.0, 0.0), |(busy, all), load| (busy + load.cpu.busy().0, all + load.cpu.total()));
    busy / all
}

impl Row {
    /// Where its study is kept.
    fn place(&self) -> PathBuf {
        let hidden = if self.case.hidden { "-hidden" } else { "" };
        place(&format!("limits-{}-{:?}{hidden}-{}.json", self.seed, self.case.bed, self.number))
    }

    /// What is named today.
    fn named(&self) -> Named {
        let nothing = Named { what: String::new(), constant: None };
        let text = fs::read_to_string(self.place()).expect("the study was kept");
        let study: Study = serde_json::from_str(&text).expect("a study");
        found(&study).map_or(nothing, |limits| named(&limits))
    }

    fn show(&self, named: &Named) {
        let gains = self.gains.map(|gain| format!("{:+.0}%", 100.0 * gain)).join(" ");
        println!(
            "{:2} {}: {:.0}/s, doubled {gains}; named {}: {} {}",
            self.number,
            self.case,
            self.speed,
            named.what,
            self.judgement(named),
            self.void
        );
    }

    fn judgement(&self, named: &Named) -> &'static str {
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| self.gains[*b].total_cmp(&self.gains[*a]));
        let [first, second, _] = order.map(|n| (self.case.bed.candidates()[n], self.gains[n]));
        let alike = first.1 < ALIKE * second.1 || first.1 < HELPS;
        match named.what.as_str() {
            _ if !self.void.is_empty() => "void",
            "cannot tell" if self.case.hidden => "right",
            "cannot tell" => "cannot tell",
            _ if self.case.hidden => "WRONG",
            name if name == first.0 && first.1 >= HELPS => "right",
            name if alike && name == second.0 && second.1 >= HELPS => "right",
            _ => "WRONG",
        }
    }
}

#[test]
#[ignore = "takes an hour and a half, and a quiet machine: make measure-limits"]
fn measure_limits() {
    let needs = [Bed::Namespaces, Bed::Machines].into_iter().flat_map(|bed| bed.needs());
    if !needs.into_iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", SEED);
    let (mut kept, until) = (Kept::<Row>::open("limits.jsonl"), Until::now());
    println!("load average at the beginning: {}", load_average());
    let (mut all, mut hidden_ones) = (Judged::default(), Judged::default());
    for (bed, hidden, wanted) in CASES {
        let wanted = setting("PLIMSOLL_CASES", wanted);
        let beds = Beds::with_runner();
        let (mut judged, mut number, mut is_up) = (Judged::default(), 0, false);
        while judged.counted < wanted && !until.is_over() {
            let is_it = |row: &Row| {
                (row.seed, row.number) == (seed, number)
                    && (row.case.bed, row.case.hidden) == (bed, hidden)
            };
            if !kept.cases.iter().any(is_it) {
                if !is_up {
                    beds.up("bed", &bed.lab());
                    is_up = true;
                }
                until_quiet();
                kept.add(measured(&beds, seed, number, bed, hidden));
            }
            let row = kept.cases.iter().find(|row| is_it(row)).expect("it is kept");
            let named = row.named();
            judged.add(row, &named);
            row.show(&named);
            number += 1;
        }
        println!("{bed:?}{}: {judged}", if hidden { ", hidden" } else { "" });
        if hidden { &mut hidden_ones } else { &mut all }.join(&judged);
    }
    println!("all: {all}; wanted of 30: {} right at least, {} wrong at most", WANTED.0, WANTED.1);
    println!(
        "hidden: {} named; {} at most",
        words(hidden_ones.wrong, hidden_ones.counted as u32),
        WANTED.2
    );
    println!("load average at the end: {}", load_average());
}

/// How many of the cases were judged how.
#[derive(Default)]
struct Judged {
    counted: u64,
    right: u32,
    wrong: u32,
    /// Those named of which U = U₀ + X·D was tried, and held.
    tried: u32,
    held: u32,
}

impl Judged {
    fn add(&mut self, row: &Row, named: &Named) {
        let judgement = row.judgement(named);
        if judgement == "void" {
            return;
        }
        self.counted += 1;
        self.right += u32::from(judgement == "right");
        self.wrong += u32::from(judgement == "WRONG");
        self.tried += u32::from(named.constant.is_some());
        self.held += u32::from(named.constant == Some(true));
    }

    fn join(&mut self, other: &Judged) {
        self.counted += other.counted;
        self.right += other.right;
        self.wrong += other.wrong;
        self.tried += other.tried;
        self.held += other.held;
    }
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted = self.counted as u32;
        write!(f, "right {}, wrong {}", words(self.right, counted), words(self.wrong, counted))?;
        write!(f, "; U = U₀ + X·D held in {} of those named", words(self.held, self.tried))
    }
}
