//! The program's own predictions of combinations: `--parts` switches the shaper of a router off with all other parts and
//! without any, and predicts what the router costs without the shaper and some of the others. A second router, which has
//! no rules and no shaper, shows that. A round is one block of both.
//!
//! The first pair of routers is also that of `combination_costs`. Its first ten rounds had been seen when the program's
//! rule was chosen; the second pair had not been measured. Its rules cost more than all else, so that the shaper costs
//! without them about what it costs on a router without any part.

use super::combination_costs::{
    RATE, ROUNDS, TRACKING, TRANSLATION, in_words, is_close, merged, name, of_study, round, routers,
};
use super::costs::{Path, print_costs};
use super::{Bench, NAT, microseconds, rules};
use crate::kept::setting;
use plimsoll_explain::{Predicted, part_costs};
use plimsoll_model::{PathPart, Study};
use plimsoll_stats::interval::{Interval, mean, t_interval};

/// Frames a second of the second pair: an emulated router with 1000 rules keeps twice as many.
const LOW_RATE: u32 = 3400;
/// Combinations that the program predicts of a router with all parts.
const PREDICTED: [u8; 2] = [TRANSLATION, TRACKING];

/// A study of a router with all parts, and one of that with address translation alone.
type Round = [Study; 2];

/// The pairs of routers, each with its frames a second.
fn pairs() -> [([Path<'static>; 2], u32); 2] {
    let [(_, all), _, (_, of_nat)] = routers();
    let many_rules = Path {
        name: "costs of 1000 rules and NAT under CAKE",
        rules: rules(1000) + NAT,
        discipline: Some("cake bandwidth 200mbit"),
        parts: "--parts=rules,conntrack,nat,qdisc",
    };
    let of_nat_at_low_rate = Path {
        name: "costs of NAT at 3400 frames a second",
        rules: NAT.to_owned(),
        discipline: Some("pfifo"),
        parts: "--parts=conntrack,nat",
    };
    [([all, of_nat], RATE), ([many_rules, of_nat_at_low_rate], LOW_RATE)]
}

/// What the program predicts of a combination.
fn prediction(rounds: &[&Round], combination: u8) -> Option<Predicted> {
    let studies: Vec<&Study> = rounds.iter().map(|[all, _]| all).collect();
    let is_it = |one: &Predicted| {
        let is_without_nat = one.off.contains(&PathPart::Nat);
        combination == if is_without_nat { TRACKING } else { TRANSLATION }
    };
    let all = part_costs(&merged(&studies)?);
    all.into_iter().flat_map(|costs| costs.interactions).flat_map(|own| own.predicted).find(is_it)
}

/// What the second router cost with this combination: a mean of each round.
fn measured(rounds: &[&Round], combination: u8) -> Vec<f64> {
    let of_round = |[_, of_nat]: &&Round| {
        let costs = of_study(of_nat, TRANSLATION).into_iter();
        let own = costs.filter(|(left, _)| *left == combination).map(|(_, cost)| cost);
        mean(&own.collect::<Vec<f64>>())
    };
    rounds.iter().filter_map(of_round).collect()
}

/// Predicted over measured cost.
fn ratio(rounds: &[&Round], combination: u8) -> Option<f64> {
    let predicted = prediction(rounds, combination)?.seconds?;
    Some(predicted / mean(&measured(rounds, combination))?)
}

/// The same with its interval, by the jackknife: what each round changes.
fn with_interval(rounds: &[&Round], combination: u8) -> Option<Interval> {
    let (whole, count) = (ratio(rounds, combination)?, rounds.len() as f64);
    let without = |place: usize| {
        let rest = [&rounds[..place], &rounds[place + 1..]].concat();
        Some(count * whole - (count - 1.0) * ratio(&rest, combination)?)
    };
    let values: Option<Vec<f64>> = (0..rounds.len()).map(without).collect();
    t_interval(&values?, 0.95)
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_own_predictions() {
    let Some(mut bench) = Bench::new() else { return };
    let wanted = setting("PLIMSOLL_CASES", ROUNDS);
    let pairs = pairs();
    let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
    for number in 0..wanted {
        for ((paths, rate), rounds) in pairs.iter().zip(&mut rounds) {
            rounds.extend(round(&mut bench, paths.each_ref(), *rate, number));
        }
    }
    let (mut close, mut surely, mut of_all) = (0, 0, 0);
    for (([all, _], rate), rounds) in pairs.iter().zip(&rounds) {
        assert!(rounds.len() > 1, "{}: fewer than two rounds have both studies", all.name);
        let rounds: Vec<&Round> = rounds.iter().collect();
        let studies: Vec<&Study> = rounds.iter().map(|[all, _]| all).collect();
        if let Some(study) = merged(&studies) {
            print_costs(all.name, &study);
        }
        for combination in PREDICTED {
            let predicted = prediction(&rounds, combination).and_then(|one| one.interval);
            let found = t_interval(&measured(&rounds, combination), 0.95);
            let is_inside = predicted.zip(found).map(|(own, found)| own.contains(found.estimate));
            let over = ratio(&rounds, combination);
            let interval = with_interval(&rounds, combination);
            let is_within = over.is_some_and(is_close);
            let is_surely = interval.is_some_and(|own| is_close(own.low) && is_close(own.high));
            close += u32::from(is_within);
            surely += u32::from(is_surely);
            of_all += 1;
            eprintln!(
                "own predictions: {} at {rate} frames/s, from {}: predicted {}, measured {} in {} rounds: {:.2}, by the \
                 jackknife {}; within 15%: {is_within}, with its interval: {is_surely}; the measured cost is in the \
                 predicted interval: {is_inside:?}",
                name(combination),
                all.name,
                microseconds(predicted),
                microseconds(found),
                rounds.len(),
                over.unwrap_or(f64::NAN),
                in_words(interval)
            );
        }
    }
    eprintln!("own predictions: {close} of {of_all} within 15%, {surely} with the interval");
}
