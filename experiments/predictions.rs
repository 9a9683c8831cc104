//! Does a change bring what is predicted? Set-ups drawn by seed in the labs of `limits`: each is measured, a change is
//! predicted and really made, and it is measured again. Half of the changes are of what is short, so that they may move
//! the bottleneck. Studies and speeds are kept; predictions are computed from them each time, so that the rules can be
//! changed only before a seed is drawn. A case in which this machine itself was busy is void, and another one is drawn.

use crate::kept::{Kept, Until, load_average, place, setting, until_quiet, words};
use crate::limits::beds::{Bed, Case, drawn};
use crate::limits::{BUSY, busy, candidate, found, named};
use crate::support::beds::Beds;
use plimsoll_explain::whatif::{
    LinkEnd, LinkRate, NewDisk, Next, ProcessorSpeed, Processors, WhatIf, predict, predicted_rows,
};
use plimsoll_model::Study;
use plimsoll_stats::order::generator;
use plimsoll_testkit::available;
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fs;
use std::num::NonZeroU16;
use std::path::PathBuf;

const SEED: u64 = 41;
const CASES: [(Bed, u64); 2] = [(Bed::Namespaces, 20), (Bed::Machines, 20)];
/// Wanted of forty: bottlenecks afterwards named wrong at most, cannot say at most, covered at least.
const WANTED: (u32, u32, u32) = (2, 4, 34);
/// Widest median range as a factor, and largest median error.
const WIDTH: f64 = 1.5;
const ERROR: f64 = 0.15;
/// Level of the interval score (Gneiting and Raftery 2007, Journal of the American Statistical Association 102, 359–378).
const LEVEL: f64 = 0.1;

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: Case,
    /// The candidate that is changed, and how much faster it becomes.
    which: usize,
    factor: f64,
    /// Why it does not count; empty where it does.
    void: String,
    /// Operations per second before, and after.
    speeds: [f64; 2],
    /// The bottleneck afterwards, as `explain` names it.
    afterwards: String,
}

/// What is predicted of a row.
struct Predicted {
    /// Ends of the range that the program keeps of it, as times the speed before; `None` if it says nothing.
    range: Option<[f64; 2]>,
    /// The bottleneck afterwards.
    next: Vec<Next>,
}

/// A lower end that is not known, as times the speed before.
const NO_LOWER_END: f64 = 0.01;

/// A candidate of a case, and a factor. Threads are a setting, not a change that is predicted, and what is not there
/// cannot be faster.
fn change(seed: u64, number: u64, case: &Case) -> (usize, f64) {
    let mut draw = generator(seed, &format!("change {number} {:?}", case.bed));
    let mut uniform = || f64::from(draw.next_u32()) / f64::from(u32::MAX);
    let factor = 1.5 * 4.0_f64.powf(uniform());
    let last = if case.bed == Bed::Namespaces { 3 } else { 2 };
    let there: Vec<usize> = (0..last).filter(|which| case.values[*which] > 0.0).collect();
    let any = there.get((uniform() * there.len() as f64) as usize).copied().unwrap_or(0);
    let tight = there.iter().copied().find(|which| case.is_tight(*which));
    let which = tight.filter(|_| uniform() < 0.5).unwrap_or(any);
    // Delays of machines are whole milliseconds, and cases are kept as they are set.
    (which, factor.round().max(2.0))
}

/// The change in the words of a prediction, by the values that the lab really has.
fn what_if(case: &Case, which: usize, factor: f64, study: &Study) -> WhatIf {
    let (old, new) = (case.values[which], case.faster(which, factor).values[which]);
    let factor = (new / old).max(old / new);
    let processor = |of| WhatIf::Processor { of, speed: ProcessorSpeed::times(factor) };
    match (case.bed, which) {
        (Bed::Namespaces, 0) => WhatIf::Link { end: LinkEnd::Path, to: LinkRate::Times(factor) },
        (Bed::Namespaces, 1) => processor(Processors::Server),
        (Bed::Namespaces, _) => processor(Processors::Client),
        (Bed::Machines, 0) => {
            let facts = study.subjects.first().and_then(|facts| facts.storage());
            let today = facts.and_then(|facts| facts.round_trip_seconds).unwrap_or(0.0);
            // Each way is shorter by so much.
            let shorter = 2e-3 * case.values[0] * (1.0 - 1.0 / factor);
            WhatIf::RoundTrip { seconds: (today - shorter).max(0.0) }
        }
        (Bed::Machines, 1) => WhatIf::Disk(NewDisk::Times(factor)),
        (Bed::Machines, _) => {
            WhatIf::Readers(NonZeroU16::new(case.workers).unwrap_or(NonZeroU16::MIN))
        }
    }
}

fn measured(beds: &Beds, seed: u64, number: u64, bed: Bed) -> Row {
    let case = drawn(seed, number, bed, false).with_larger_quotas();
    let (which, factor) = change(seed, number, &case);
    let row = Row {
        seed,
        number,
        case,
        which,
        factor,
        void: String::new(),
        speeds: [0.0; 2],
        afterwards: String::new(),
    };
    let study = case.measure(beds, true);
    fs::write(row.place(), serde_json::to_string(&study).expect("JSON")).expect("it is kept");
    let after = case.faster(which, factor).measure(beds, true);
    let (Some(before), Some(found)) = (found(&study), found(&after)) else {
        return Row { void: "no complete trial".to_owned(), ..row };
    };
    let busy = busy(&study).max(busy(&after));
    let void = match busy > BUSY {
        true => format!("this machine was {:.0}% busy", 100.0 * busy),
        false => String::new(),
    };
    Row {
        void,
        speeds: [before.per_second, found.per_second],
        afterwards: named(&found).what,
        ..row
    }
}

impl Row {
    /// Where its study is kept.
    fn place(&self) -> PathBuf {
        place(&format!("predictions-{}-{:?}-{}.json", self.seed, self.case.bed, self.number))
    }

    /// The study before the change.
    fn study(&self) -> Study {
        let text = fs::read_to_string(self.place()).expect("the study was kept");
        serde_json::from_str(&text).expect("a study")
    }

    /// Whether `explain` names another bottleneck afterwards than before; `None` if it names none of the two.
    fn is_moved(&self) -> Option<bool> {
        let before = named(&found(&self.study())?).what;
        let names = self.case.bed.candidates();
        let is_known = |name: &str| names.contains(&name);
        (is_known(&before) && is_known(&self.afterwards)).then(|| before != self.afterwards)
    }

    /// The prediction of today's rules.
    fn prediction(&self) -> Predicted {
        let study = self.study();
        let change = what_if(&self.case, self.which, self.factor, &study);
        let predictions = predict(&study, &[change]);
        let range = predicted_rows(&study, &predictions)
            .first()
            .map(|row| [row.low / row.today, row.high / row.today])
            .map(|[low, high]| [low.max(NO_LOWER_END), high]);
        Predicted { range, next: predictions.into_iter().next().expect("a row").next }
    }

    /// Whether the bottleneck afterwards is one of those predicted; `None` if `explain` names none.
    fn is_named(&self, found: &Predicted) -> Option<bool> {
        let names = self.case.bed.candidates();
        let known = names.contains(&self.afterwards.as_str());
        let is_right = |next: &Next| match next {
            Next::Resource(one) => candidate(one) == self.afterwards,
            Next::OfPath(_) | Next::Waiting => false,
        };
        known.then(|| found.next.iter().any(is_right))
    }
}

/// The interval score of a range in logarithms: its width, and what it misses by, weighted by the level.
fn score([low, high]: [f64; 2], really: f64) -> f64 {
    let (low, high, really) = (low.ln(), high.ln(), really.ln());
    high - low + 2.0 / LEVEL * ((low - really).max(0.0) + (really - high).max(0.0))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
#[ignore = "takes two hours, and a quiet machine: make measure-predictions"]
fn measure_predictions() {
    let needs = [Bed::Namespaces, Bed::Machines].into_iter().flat_map(|bed| bed.needs());
    if !needs.into_iter().all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", SEED);
    let (mut kept, until) = (Kept::<Row>::open("predictions.jsonl"), Until::now());
    println!("load average at the beginning: {}", load_average());
    let mut counted: Vec<(Row, Predicted)> = Vec::new();
    for (bed, wanted) in CASES {
        let wanted = setting("PLIMSOLL_CASES", wanted);
        let beds = Beds::with_runner();
        let (mut own, mut number, mut is_up) = (0, 0, false);
        while own < wanted {
            let is_it = |row: &Row| (row.seed, row.number, row.case.bed) == (seed, number, bed);
            if !kept.cases.iter().any(is_it) {
                if until.is_over() {
                    break;
                }
                if !is_up {
                    beds.up("bed", &bed.lab());
                    is_up = true;
                }
                until_quiet();
                kept.add(measured(&beds, seed, number, bed));
            }
            let place = kept.cases.iter().position(is_it).expect("it is kept");
            let row = &kept.cases[place];
            number += 1;
            if row.void.is_empty() {
                own += 1;
                let found = row.prediction();
                let row = kept.cases.swap_remove(place);
                show(&row, &found);
                counted.push((row, found));
            } else {
                println!("{:2} {}: void, {}", row.number, row.case, row.void);
            }
        }
    }
    println!("all:");
    judge(&counted.iter().collect::<Vec<_>>());
    for (title, moved) in [
        ("bottleneck moved", Some(true)),
        ("bottleneck as before", Some(false)),
        ("bottleneck not named before or afterwards", None),
    ] {
        println!("{title}:");
        let rows: Vec<Counted> =
            counted.iter().filter(|(row, _)| row.is_moved() == moved).collect();
        judge(&rows);
    }
    println!("load average at the end: {}", load_average());
}

fn show(row: &Row, found: &Predicted) {
    let really = row.speeds[1] / row.speeds[0];
    let range = found.range.map_or("cannot say".to_owned(), |[low, high]| {
        let is_inside = (low..=high).contains(&really);
        format!("{low:.2} to {high:.2}: {}", if is_inside { "inside" } else { "OUTSIDE" })
    });
    println!(
        "{:2} {}, {} {:.1} times as fast: really {really:.2}, predicted {range}; afterwards {}, predicted {:?}",
        row.number,
        row.case,
        row.case.bed.candidates()[row.which],
        row.factor,
        row.afterwards,
        row.is_named(found),
    );
}

type Counted<'a> = &'a (Row, Predicted);

/// Prints each figure of these cases next to the goal for all forty.
fn judge(counted: &[Counted]) {
    let all = counted.len() as u32;
    let silent = counted.iter().filter(|(_, found)| found.range.is_none()).count() as u32;
    let wrong = counted.iter().filter(|(row, found)| row.is_named(found) == Some(false)).count();
    println!("cannot say {}; {} at most", words(silent, all), WANTED.1);
    println!("bottleneck named wrong {}; {} at most", words(wrong as u32, all), WANTED.0);
    let ranges: Vec<([f64; 2], f64, f64)> = counted
        .iter()
        .filter_map(|(row, found)| Some((found.range?, row.speeds[1] / row.speeds[0], row.factor)))
        .collect();
    let is_inside =
        |([low, high], really, _): &&([f64; 2], f64, f64)| (low..=high).contains(&really);
    let covered = ranges.iter().filter(is_inside).count() as u32;
    println!("covered {}; {} at least", words(covered, all), WANTED.2);
    let width = median(ranges.iter().map(|([low, high], ..)| high / low).collect());
    println!("median width {width:.2}; {WIDTH} at most");
    let error = |([low, high], really, _): &([f64; 2], f64, f64)| {
        ((low * high).sqrt() / really - 1.0).abs()
    };
    println!("median error {:.3}; {ERROR} at most", median(ranges.iter().map(error).collect()));
    let own: Vec<f64> = ranges.iter().map(|(range, really, _)| score(*range, *really)).collect();
    // Two naive guesses: no change, and with the factor of the change.
    let naive: Vec<f64> =
        ranges.iter().map(|(_, really, factor)| score([1.0, *factor], *really)).collect();
    println!(
        "mean interval score {:.3}, that of the naive guesses {:.3}",
        mean(&own),
        mean(&naive)
    );
}
