//! What combinations of parts cost at a fixed rate, predicted from the costs of the parts alone. `--parts` switches the parts
//! of a router off one after the other, so three routers show all combinations of rules, address translation and a shaper.
//! A round is one block of each.

use super::costs::{Path, print_costs};
use super::{Bench, CLOSE, NAT, microseconds, rules};
use crate::kept::setting;
use plimsoll_explain::part_costs;
use plimsoll_model::{FactorLevel, Measure, Metric, Outcome, PathPart, Study, Trial, factor};
use plimsoll_stats::fieller::{self, Quotient};
use plimsoll_stats::interval::{Interval, mean, t_interval};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds, each of 16 trials in about 140 s.
const ROUNDS: u64 = 10;
const ONE_BLOCK: &str = "--repeats=1";
/// Frames a second: with all parts, an emulated router is busy for 70% of the time.
const RATE: &str = "--rate=6800";

/// Parts of a router, each a bit of a combination.
const RULES: u8 = 1;
const TRANSLATION: u8 = 2;
const SHAPER: u8 = 4;
/// What address translation needs, and what is left without it.
const TRACKING: u8 = 8;
const NAMES: [(u8, &str); 4] = [
    (RULES, "200 rules"),
    (TRANSLATION, "NAT"),
    (SHAPER, "CAKE at 200 Mbit/s"),
    (TRACKING, "connection tracking"),
];
/// Combinations that are predicted.
const COMBINATIONS: [u8; 4] =
    [RULES | TRANSLATION, RULES | SHAPER, TRANSLATION | SHAPER, RULES | TRANSLATION | SHAPER];

/// A study of each router, one after the other.
type Round = [Study; 3];
/// CPU seconds a packet by the parts that a router has.
type Costs = BTreeMap<u8, f64>;

/// The routers, with the parts of each.
fn routers() -> [(u8, Path<'static>); 3] {
    let all = Path {
        name: "costs of rules and NAT under CAKE",
        rules: rules(200) + NAT,
        discipline: Some("cake bandwidth 200mbit"),
        parts: "--parts=rules,conntrack,nat,qdisc",
    };
    let of_rules = Path {
        name: "costs of rules under CAKE",
        rules: rules(200),
        discipline: Some("cake bandwidth 200mbit"),
        parts: "--parts=rules,qdisc",
    };
    // The same discipline that the others have instead of CAKE.
    let of_nat = Path {
        name: "costs of NAT",
        rules: NAT.to_owned(),
        discipline: Some("pfifo"),
        parts: "--parts=conntrack,nat",
    };
    [(RULES | TRANSLATION | SHAPER, all), (RULES | SHAPER, of_rules), (TRANSLATION, of_nat)]
}

/// "200 rules and NAT".
fn name(parts: u8) -> String {
    let has = |(part, _): &&(u8, &str)| parts & part != 0;
    let names: Vec<&str> = NAMES.iter().filter(has).map(|(_, name)| *name).collect();
    if names.is_empty() { "no part".to_owned() } else { names.join(" and ") }
}

/// The studies of a round: forwards and backwards in turn, so that drift cancels.
fn round(bench: &mut Bench, number: u64) -> Option<Round> {
    let routers = routers();
    let mut studies = [None, None, None];
    let order = if number.is_multiple_of(2) { [0, 1, 2] } else { [2, 1, 0] };
    for place in order {
        let (_, path) = &routers[place];
        let name = format!("{}, round {number}", path.name);
        studies[place] = bench.study_at_once(&name, |beds| path.price(beds, &[ONE_BLOCK, RATE]));
    }
    let [all, of_rules, of_nat] = studies;
    Some([all?, of_rules?, of_nat?])
}

/// CPU seconds a packet under each setting of a study of one block.
fn by_setting(study: &Study) -> BTreeMap<u16, f64> {
    let complete = study.trials.iter().filter(|trial| trial.result.outcome == Outcome::Complete);
    let cost = |trial: &Trial| {
        let cost = trial.result.value(0, Metric::all(Measure::ROUTER_CPU_PER_PACKET))?;
        Some((trial.cell.setting, cost))
    };
    complete.filter_map(cost).collect()
}

/// The parts that a router with these parts has under a setting of a study.
fn left(study: &Study, parts: u8, setting: u16) -> Option<u8> {
    let factors = &study.plan.factors;
    let mut left = parts;
    for (factor, level) in factors.iter().zip(factor::levels(factors, setting)) {
        let FactorLevel::Set { value } = factor.levels.get(level)? else { continue };
        left = match value.as_str() {
            "only-nat" => left & !RULES,
            "only-tracking" => (left & SHAPER) | TRACKING,
            "none" => left & SHAPER,
            "pfifo" => left & !SHAPER,
            _ => return None,
        };
    }
    Some(left)
}

/// The costs of a study of a router with these parts, by the parts that it has left.
fn of_study(study: &Study, parts: u8) -> Vec<(u8, f64)> {
    let own = |(setting, cost): (u16, f64)| Some((left(study, parts, setting)?, cost));
    by_setting(study).into_iter().filter_map(own).collect()
}

/// The costs of a round: means, where several of its studies have a combination.
fn of_round(round: &Round) -> Costs {
    let mut all: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    for ((parts, _), study) in routers().iter().zip(round) {
        for (left, cost) in of_study(study, *parts) {
            all.entry(left).or_default().push(cost);
        }
    }
    all.into_iter().filter_map(|(parts, costs)| Some((parts, mean(&costs)?))).collect()
}

/// The cost without any part, and what each part of a combination alone adds to it.
fn predicted(costs: &Costs, combination: u8) -> Option<f64> {
    let none = costs.get(&0)?;
    let mut sum = *none;
    for part in [RULES, TRANSLATION, SHAPER] {
        if combination & part != 0 {
            sum += costs.get(&part)? - none;
        }
    }
    Some(sum)
}

/// The costs of routers as found, and of the same setting again.
fn twice(round: &Round) -> Option<[f64; 2]> {
    let mut sums = [0.0; 2];
    for study in round {
        let (parts, costs) = (study.plan.parts.as_ref()?, by_setting(study));
        for (sum, setting) in sums.iter_mut().zip([parts.whole, parts.control]) {
            *sum += costs.get(&setting)?;
        }
    }
    Some(sums)
}

/// The mean cost without any part in a study of a round.
fn without_parts(round: &Round, router: usize) -> Option<f64> {
    let costs = of_study(&round[router], routers()[router].0).into_iter();
    let bare = costs.filter(|(left, _)| *left == 0).map(|(_, cost)| cost);
    mean(&bare.collect::<Vec<f64>>())
}

/// The studies of one router as one, whose blocks are the rounds.
fn merged(rounds: &[Round], router: usize) -> Option<Study> {
    let mut all = rounds.first()?[router].clone();
    all.trials.clear();
    for (block, round) in (0_u32..).zip(rounds) {
        let trials = round[router].trials.iter().cloned();
        all.trials.extend(trials.map(|trial| Trial { block: Some(block), ..trial }));
    }
    Some(all)
}

/// The costs of a combination, of the rounds that have it.
fn costs_of(rounds: &[Costs], parts: u8) -> Vec<f64> {
    rounds.iter().filter_map(|costs| costs.get(&parts).copied()).collect()
}

/// A ratio of means, from pairs of one value of each.
fn ratio(pairs: &[[f64; 2]]) -> Option<Interval> {
    let [of, over] =
        [0_usize, 1].map(|side| pairs.iter().map(|pair| pair[side]).collect::<Vec<f64>>());
    match fieller::paired(&over, &of, 0.95)? {
        Quotient::Bounded(ratio) => Some(ratio),
        Quotient::Unbounded => None,
    }
}

fn is_close(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= CLOSE
}

/// "1.02 [0.93 to 1.11]".
fn in_words(ratio: Option<Interval>) -> String {
    ratio.map_or_else(
        || "no interval".to_owned(),
        |Interval { low, estimate, high }| format!("{estimate:.2} [{low:.2} to {high:.2}]"),
    )
}

/// The program's own predictions of combinations: from the first router, which does not show them. The last one does.
fn print_own_predictions(of_all: &Study, rounds: &[Costs]) {
    let all = part_costs(of_all);
    let interactions = all.iter().flat_map(|costs| &costs.interactions);
    for one in interactions.flat_map(|own| &own.predicted) {
        let parts = if one.off.contains(&PathPart::Nat) { TRACKING } else { TRANSLATION };
        let found = t_interval(&costs_of(rounds, parts), 0.95);
        let (predicted, measured) = (microseconds(one.interval), microseconds(found));
        let ratio = one.seconds.zip(found).map(|(seconds, found)| seconds / found.estimate);
        let is_inside = one.interval.zip(found).map(|(own, found)| own.contains(found.estimate));
        eprintln!(
            "combination costs: {} by the program: predicted {predicted}, measured {measured}: {:.2}; the measured \
             cost is in the predicted interval: {is_inside:?}",
            name(parts),
            ratio.unwrap_or(f64::NAN)
        );
    }
}

/// The A/A controls: each router as found, twice in a block, and all routers without their parts.
fn print_controls(rounds: &[Round]) {
    let pairs: Vec<[f64; 2]> = rounds.iter().filter_map(twice).collect();
    eprintln!("combination costs: A/A control, as found twice: {}", in_words(ratio(&pairs)));
    for (number, (_, path)) in routers().iter().enumerate().skip(1) {
        let bare = |round: &Round| Some([without_parts(round, number)?, without_parts(round, 0)?]);
        let pairs: Vec<[f64; 2]> = rounds.iter().filter_map(bare).collect();
        let ratio = in_words(ratio(&pairs));
        eprintln!("combination costs: no part, in {} over the first router: {ratio}", path.name);
    }
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_combination_costs() {
    let Some(mut bench) = Bench::new() else { return };
    let wanted = setting("PLIMSOLL_CASES", ROUNDS);
    let rounds: Vec<Round> = (0..wanted).filter_map(|number| round(&mut bench, number)).collect();
    for (number, (_, path)) in routers().iter().enumerate() {
        if let Some(study) = merged(&rounds, number) {
            print_costs(path.name, &study);
        }
    }
    let costs: Vec<Costs> = rounds.iter().map(of_round).collect();
    let measured: BTreeSet<u8> = costs.iter().flat_map(|own| own.keys().copied()).collect();
    for parts in measured {
        let all = costs_of(&costs, parts);
        let interval = microseconds(t_interval(&all, 0.95));
        eprintln!("combination costs: {}: {interval} in {} rounds", name(parts), all.len());
    }
    if let Some(of_all) = merged(&rounds, 0) {
        print_own_predictions(&of_all, &costs);
    }
    print_controls(&rounds);
    let (mut close, mut surely) = (0, 0);
    for combination in COMBINATIONS {
        let pair = |own: &Costs| Some([predicted(own, combination)?, *own.get(&combination)?]);
        let pairs: Vec<[f64; 2]> = costs.iter().filter_map(pair).collect();
        let ratio = ratio(&pairs);
        let is_within = ratio.is_some_and(|own| is_close(own.estimate));
        let is_surely = ratio.is_some_and(|own| is_close(own.low) && is_close(own.high));
        close += u32::from(is_within);
        surely += u32::from(is_surely);
        eprintln!(
            "combination costs: {}: predicted over measured {} in {} rounds, within 15%: {is_within}, with its interval: \
             {is_surely}",
            name(combination),
            in_words(ratio),
            pairs.len()
        );
    }
    eprintln!(
        "combination costs: {close} of {} within 15%, {surely} with the interval",
        COMBINATIONS.len()
    );
    assert!(rounds.len() > 1, "fewer than two rounds have all studies: nothing has an interval");
}
