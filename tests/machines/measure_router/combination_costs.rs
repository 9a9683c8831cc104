//! What combinations of parts cost at a fixed rate, predicted from the costs of the parts alone. `--parts` switches the parts
//! of a router off one after the other, so three routers show all combinations of rules, address translation and a shaper.
//! A round is one block of each. The predictions here are those of two simple rules; `own_predictions` has the program's.

use super::costs::{Path, print_costs};
use super::{Bench, CLOSE, NAT, microseconds, rules};
use crate::kept::setting;
use plimsoll_model::{FactorLevel, Measure, Metric, Outcome, Study, Trial, factor};
use plimsoll_stats::fieller::{self, Quotient};
use plimsoll_stats::interval::{Interval, mean, t_interval};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds, each of 16 trials in about 140 s.
pub(super) const ROUNDS: u64 = 10;
const ONE_BLOCK: &str = "--repeats=1";
/// Frames a second: with all parts, an emulated router is busy for 70% of the time.
pub(super) const RATE: u32 = 6800;
/// Rounds that had been seen when the rule of shares was chosen.
const SEEN: u64 = 10;

/// Parts of a router, each a bit of a combination.
const RULES: u8 = 1;
pub(super) const TRANSLATION: u8 = 2;
const SHAPER: u8 = 4;
/// What address translation needs, and what is left without it.
pub(super) const TRACKING: u8 = 8;
const NAMES: [(u8, &str); 4] =
    [(RULES, "rules"), (TRANSLATION, "NAT"), (SHAPER, "CAKE"), (TRACKING, "connection tracking")];
/// Combinations that are predicted.
const COMBINATIONS: [u8; 4] =
    [RULES | TRANSLATION, RULES | SHAPER, TRANSLATION | SHAPER, RULES | TRANSLATION | SHAPER];

/// A study of each router, one after the other.
type Round = [Study; 3];
/// CPU seconds a packet by the parts that a router has.
type Costs = BTreeMap<u8, f64>;
/// The cost of a combination, from the cost without any part and those with each of its parts alone.
type Rule = fn(f64, &[f64]) -> f64;

/// The routers, with the parts of each.
pub(super) fn routers() -> [(u8, Path<'static>); 3] {
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

/// "rules and NAT".
pub(super) fn name(parts: u8) -> String {
    let has = |(part, _): &&(u8, &str)| parts & part != 0;
    let names: Vec<&str> = NAMES.iter().filter(has).map(|(_, name)| *name).collect();
    if names.is_empty() { "no part".to_owned() } else { names.join(" and ") }
}

/// The studies of a round, at so many frames a second: forwards and backwards in turn, so that drift cancels.
pub(super) fn round<const ROUTERS: usize>(
    bench: &mut Bench,
    paths: [&Path<'_>; ROUTERS],
    rate: u32,
    number: u64,
) -> Option<[Study; ROUTERS]> {
    let rate = format!("--rate={rate}");
    let mut studies = [const { None::<Study> }; ROUTERS];
    let mut order: Vec<usize> = (0..ROUTERS).collect();
    if !number.is_multiple_of(2) {
        order.reverse();
    }
    for place in order {
        let path = paths[place];
        let name = format!("{}, round {number}", path.name);
        studies[place] = bench.study_at_once(&name, |beds| path.price(beds, &[ONE_BLOCK, &rate]));
    }
    let all: Option<Vec<Study>> = studies.into_iter().collect();
    all?.try_into().ok()
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
pub(super) fn of_study(study: &Study, parts: u8) -> Vec<(u8, f64)> {
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

/// Each part adds what it adds alone.
fn sum(none: f64, alone: &[f64]) -> f64 {
    none + alone.iter().map(|cost| cost - none).sum::<f64>()
}

/// Each part takes the share that it takes alone of the time that is left for a packet: the busier the router, the less a
/// part adds, and all together never need more than there is. The rule has no figure that is fitted, but it was chosen
/// after `SEEN` rounds had been seen, so that only later ones judge it.
fn shares(none: f64, alone: &[f64]) -> f64 {
    let whole = 1.0 / f64::from(RATE);
    let left = whole - none;
    whole - alone.iter().fold(left, |rest, cost| rest * (whole - cost) / left)
}

/// A combination by a rule.
fn predicted(costs: &Costs, combination: u8, rule: Rule) -> Option<f64> {
    let parts = [RULES, TRANSLATION, SHAPER].into_iter().filter(|part| combination & part != 0);
    let alone: Option<Vec<f64>> = parts.map(|part| costs.get(&part).copied()).collect();
    Some(rule(*costs.get(&0)?, &alone?))
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
pub(super) fn merged(studies: &[&Study]) -> Option<Study> {
    let mut all = Study::clone(studies.first()?);
    all.trials.clear();
    for (block, study) in (0_u32..).zip(studies) {
        let trials = study.trials.iter().cloned();
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

pub(super) fn is_close(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= CLOSE
}

/// "1.02 [0.93 to 1.11]".
pub(super) fn in_words(ratio: Option<Interval>) -> String {
    ratio.map_or_else(
        || "no interval".to_owned(),
        |Interval { low, estimate, high }| format!("{estimate:.2} [{low:.2} to {high:.2}]"),
    )
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

/// What a rule predicts, over what was measured.
fn print_predictions(name_of_rule: &str, rule: Rule, rounds: &[Costs]) {
    let (mut close, mut surely) = (0, 0);
    for combination in COMBINATIONS {
        let pair =
            |own: &Costs| Some([predicted(own, combination, rule)?, *own.get(&combination)?]);
        let pairs: Vec<[f64; 2]> = rounds.iter().filter_map(pair).collect();
        let ratio = ratio(&pairs);
        let is_within = ratio.is_some_and(|own| is_close(own.estimate));
        let is_surely = ratio.is_some_and(|own| is_close(own.low) && is_close(own.high));
        close += u32::from(is_within);
        surely += u32::from(is_surely);
        eprintln!(
            "combination costs: {} by {name_of_rule}: predicted over measured {} in {} rounds, within 15%: {is_within}, \
             with its interval: {is_surely}",
            name(combination),
            in_words(ratio),
            pairs.len()
        );
    }
    eprintln!(
        "combination costs: by {name_of_rule}, {close} of {} within 15%, {surely} with the interval",
        COMBINATIONS.len()
    );
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_combination_costs() {
    let Some(mut bench) = Bench::new() else { return };
    let wanted = setting("PLIMSOLL_CASES", ROUNDS);
    let routers = routers();
    let paths = routers.each_ref().map(|(_, path)| path);
    let measured =
        (0..wanted).filter_map(|number| Some((number, round(&mut bench, paths, RATE, number)?)));
    let (numbers, rounds): (Vec<u64>, Vec<Round>) = measured.unzip();
    for (number, path) in paths.into_iter().enumerate() {
        let studies: Vec<&Study> = rounds.iter().map(|round| &round[number]).collect();
        if let Some(study) = merged(&studies) {
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
    print_controls(&rounds);
    print_predictions("sum", sum, &costs);
    print_predictions("shares", shares, &costs);
    let is_new = |(number, _): &(&u64, &Costs)| **number >= SEEN;
    let new: Vec<Costs> =
        numbers.iter().zip(&costs).filter(is_new).map(|(_, own)| own.clone()).collect();
    if !new.is_empty() {
        print_predictions("shares, of rounds not seen before", shares, &new);
    }
    assert!(rounds.len() > 1, "fewer than two rounds have all studies: nothing has an interval");
}
