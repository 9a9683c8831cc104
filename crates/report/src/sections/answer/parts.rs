//! Parts of a router's path: what each of them costs a packet, and why others are not priced.

use super::super::part_interactions::sentence;
use super::flowtable;
use super::forwarding::label;
use super::rows::NOTHING;
use crate::chart::Table;
use crate::figure::RATE;
use crate::study::{Shown, hosts};
use crate::text::{capital, listed, printable, shortened};
use crate::verdict::percent;
use plimsoll_explain::{Difference, PartCost, PartCosts, PartVerdict, WorkloadFindings};
use plimsoll_model::{Failure, MissingPart, PathPart, Subject};
use plimsoll_stats::interval::Interval;
use std::collections::BTreeSet;

/// Columns of the reason why a part is not priced.
const LONGEST: usize = 200;

/// Whether a study prices the parts of a path.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    shown.study.plan.parts.is_some()
}

/// A part in a sentence, and whether there are several of it.
fn noun(part: PathPart) -> (&'static str, bool) {
    match part {
        PathPart::Flowtable => ("the flowtable", false),
        PathPart::Rules => ("rules", true),
        PathPart::Nat => ("address translation", false),
        PathPart::Conntrack => ("connection tracking", false),
        PathPart::Qdisc => ("the queueing discipline", false),
        PathPart::Offload => ("receive offload", false),
    }
}

/// "Rules cost 2.1 µs a packet [1.9–2.3]; address translation costs 1.2 µs [1.0–1.4] (out 128)."; for each load.
pub(super) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let of_load = |costs: &PartCosts| {
        if costs.passes_by() {
            return None;
        }
        let mut clauses: Vec<String> = Vec::new();
        let mut none: Vec<(&str, bool)> = Vec::new();
        for part in &costs.parts {
            let (noun, is_plural) = noun(part.part);
            let (verb, by) = match (&part.verdict, part.cost.interval) {
                (PartVerdict::Costs, Some(interval)) => ("cost", interval),
                (PartVerdict::Saves, Some(interval)) => ("save", reversed(interval)),
                (PartVerdict::NoDifference, _) => {
                    none.push((noun, is_plural));
                    continue;
                }
                _ => continue,
            };
            let ending = if is_plural { "" } else { "s" };
            let packet = if clauses.is_empty() { " a packet" } else { "" };
            let Interval { low, estimate, high } = by;
            let digits = digits(high - low);
            clauses.push(format!(
                "{noun} {verb}{ending} {} µs{packet} [{}–{}]",
                microseconds(estimate, digits),
                microseconds(low, digits),
                microseconds(high, digits)
            ));
        }
        clauses.extend(no_difference(&none));
        let load = load(shown, costs);
        (!clauses.is_empty()).then(|| format!("{} ({load}).", capital(&clauses.join("; "))))
    };
    let mut sentences: Vec<String> = shown.part_costs.iter().filter_map(of_load).collect();
    for costs in shown.part_costs.iter().filter(|costs| !costs.passes_by()) {
        let load = load(shown, costs);
        sentences.extend(costs.interactions.iter().filter_map(|one| sentence(one, &load)));
    }
    sentences
}

/// "rules and address translation show no difference", of parts and whether there are several of each.
fn no_difference(parts: &[(&str, bool)]) -> Option<String> {
    let show = match parts {
        [] => return None,
        [(_, false)] => "shows",
        _ => "show",
    };
    let names: Vec<String> = parts.iter().map(|(name, _)| (*name).to_owned()).collect();
    Some(format!("{} {show} no difference", listed(&names)))
}

/// A part in a sentence.
pub(crate) fn named(part: PathPart) -> &'static str {
    noun(part).0
}

fn reversed(interval: Interval) -> Interval {
    Interval { low: -interval.high, estimate: -interval.estimate, high: -interval.low }
}

/// Decimal places of microseconds in which an interval of so many seconds has two digits.
pub(crate) fn digits(width: f64) -> usize {
    let width = 1e6 * width;
    if width >= 20.0 {
        0
    } else if width >= 0.5 {
        1
    } else {
        2
    }
}

pub(crate) fn microseconds(seconds: f64, digits: usize) -> String {
    let value = 1e6 * seconds;
    let text = format!("{value:.digits$}");
    // No zero has a sign.
    let is_zero = text.chars().all(|c| "-0.".contains(c));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

fn load(shown: &Shown<'_>, costs: &PartCosts) -> String {
    let found = shown.findings.workloads.iter().find(|found| found.number == costs.workload);
    found.map_or_else(String::new, |found| label(shown, found))
}

pub(super) fn table(shown: &Shown<'_>) -> Table {
    let is_only = shown.part_costs.len() == 1;
    let header = ["part", "with", "without", "cost,\nµs a packet", "verdict"];
    let mut header = header.map(str::to_owned).to_vec();
    if !is_only {
        header.insert(0, "load,\nbytes".to_owned());
    }
    let mut table = Table::new(header);
    for costs in &shown.part_costs {
        let load = load(shown, costs);
        let parts = costs.parts.iter().map(|part| {
            let values = [part.with, part.without];
            row(part.part.to_string(), values, &part.cost, verdict(part))
        });
        let control = match costs.control.interval {
            Some(interval) if !interval.contains(0.0) => "not steady",
            Some(_) => "no difference",
            None => "too few blocks",
        };
        let of_control = row(
            "A/A control".to_owned(),
            // Its cost is the first of both less the second, as in the other rows.
            [costs.whole.zip(costs.control.seconds).map(|(whole, off)| whole + off), costs.whole],
            &costs.control,
            control.to_owned(),
        );
        for row in parts.chain([of_control]) {
            let mut whole = if is_only { Vec::new() } else { vec![load.clone()] };
            whole.extend(row);
            table.rows.push(whole);
        }
    }
    table
}

fn row(
    name: String,
    [with, without]: [Option<f64>; 2],
    cost: &Difference,
    verdict: String,
) -> Vec<String> {
    let places = cost.interval.map_or(1, |interval| digits(interval.high - interval.low));
    let value = |seconds: Option<f64>| {
        seconds.map_or_else(|| NOTHING.to_owned(), |seconds| microseconds(seconds, places))
    };
    vec![name, value(with), value(without), value_of(cost), verdict]
}

/// "2.0 [1.8–2.2]", in microseconds.
pub(crate) fn value_of(cost: &Difference) -> String {
    cost.seconds.map_or_else(|| NOTHING.to_owned(), |seconds| interval_of(seconds, cost.interval))
}

/// The same of a value.
pub(crate) fn interval_of(seconds: f64, interval: Option<Interval>) -> String {
    let Some(Interval { low, high, .. }) = interval else { return microseconds(seconds, 1) };
    let places = digits(high - low);
    format!(
        "{} [{}–{}]",
        microseconds(seconds, places),
        microseconds(low, places),
        microseconds(high, places)
    )
}

fn verdict(part: &PartCost) -> String {
    match &part.verdict {
        PartVerdict::Costs => "costs".to_owned(),
        PartVerdict::Saves => "saves".to_owned(),
        PartVerdict::NoDifference => "no difference shown".to_owned(),
        PartVerdict::TooFewBlocks => "too few blocks".to_owned(),
        PartVerdict::Lost { share } => format!("{} lost", percent(*share)),
        PartVerdict::Failed { .. } => "failed".to_owned(),
    }
}

/// What the figures are, and why parts are missing.
pub(super) fn legend(shown: &Shown<'_>) -> Vec<String> {
    let mut legend = Vec::new();
    let study = shown.study;
    let path = study.plan.subjects.first().and_then(Subject::path);
    let via = path.and_then(|path| path.via.as_ref());
    let rates: Vec<String> = study
        .plan
        .workloads
        .iter()
        .filter_map(|workload| {
            let parameters = workload.main()?.job.parameters();
            let (_, rate) = parameters.iter().find(|(name, _)| *name == "rate_per_second")?;
            Some(RATE.value(rate.parse().ok()?))
        })
        .collect();
    let facts = study.hosts.iter().find(|host| Some(&host.name) == via);
    let is_shared = facts.is_some_and(|host| host.is_this_machine);
    let time = match is_shared {
        true => "of the machine in interrupts and soft interrupts",
        false => "of R's kernel",
    };
    legend.push(format!(
        "The table has the CPU time {time} for a packet, at {} frames a second. R: {}. Each part is switched off after the \
         parts above it. A/A control: the same setting twice, so its difference is noise.",
        listed(&rates),
        via.map_or_else(|| "not named".to_owned(), hosts::name)
    ));
    if is_shared {
        legend.push(
            "R is a namespace: the time of both ends is in \"with\" and \"without\".".to_owned(),
        );
    }
    if shown.part_costs.iter().any(PartCosts::passes_by) {
        legend.push(
            "The interfaces of R did not count the frames: these are offloaded, or do not go through R."
                .to_owned(),
        );
    }
    legend.extend(flowtable::sentences(shown, &|cells| {
        let numbers: BTreeSet<u16> = cells.iter().map(|cell| cell.workload).collect();
        let own = |found: &&WorkloadFindings| numbers.contains(&found.number);
        let found = shown.findings.workloads.iter().filter(own);
        listed(&found.map(|found| label(shown, found)).collect::<Vec<String>>())
    }));
    let missing = study.plan.parts.iter().flat_map(|parts| &parts.missing);
    let missing = by_reason(missing.map(|MissingPart { part, reason }| (*part, &**reason)));
    legend.extend(
        missing.into_iter().map(|(parts, why)| format!("{parts}: not measured, because {why}.")),
    );
    let failed = shown.part_costs.iter().flat_map(|costs| &costs.parts).filter_map(failed);
    let failed = by_reason(failed.map(|(part, failure)| (part, &*failure.happened)));
    let without =
        |(parts, why): (String, String)| format!("Without {parts} no trial was complete: {why}.");
    legend.extend(failed.into_iter().map(without));
    legend
}

/// Each reason once, as it is printed, with the names of the parts that it holds for before it.
fn by_reason<'a>(all: impl Iterator<Item = (PathPart, &'a str)>) -> Vec<(String, String)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (part, reason) in all {
        let name = part.to_string();
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((reason, vec![name])),
        }
    }
    let printed = |reason: &str| shortened(&printable(reason), LONGEST);
    groups.into_iter().map(|(reason, names)| (listed(&names), printed(reason))).collect()
}

fn failed(part: &PartCost) -> Option<(PathPart, &Failure)> {
    match &part.verdict {
        PartVerdict::Failed { failure } => Some((part.part, failure)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_two_digits_and_zeros_no_sign() {
        for (width, expected) in [(0.1e-6, 2), (0.4e-6, 2), (0.7e-6, 1), (5e-6, 1), (30e-6, 0)] {
            assert_eq!(digits(width), expected, "{width}");
        }
        assert_eq!(microseconds(2.149e-6, 1), "2.1");
        assert_eq!(microseconds(-0.004e-6, 2), "0.00");
        assert_eq!(microseconds(-1.5e-6, 1), "-1.5");
    }

    /// A router with a public address had its reason on the screen four times, two lines each.
    #[test]
    fn parts_with_one_reason_share_a_line() {
        let all = [
            (PathPart::Rules, "R is public"),
            (PathPart::Offload, "it is off on eth0"),
            (PathPart::Nat, "R is public"),
            (PathPart::Rules, "R is public"),
        ];
        let expected = [("rules and nat", "R is public"), ("offload", "it is off on eth0")];
        let expected = expected.map(|(parts, why)| (parts.to_owned(), why.to_owned()));
        assert_eq!(by_reason(all.into_iter()), expected);
    }

    #[test]
    fn parts_without_a_difference_agree_with_their_verb() {
        let (rules, nat) = (noun(PathPart::Rules), noun(PathPart::Nat));
        assert_eq!(no_difference(&[]), None);
        for (parts, expected) in [
            (&[nat][..], "address translation shows no difference"),
            (&[rules][..], "rules show no difference"),
            (&[rules, nat][..], "rules and address translation show no difference"),
        ] {
            assert_eq!(no_difference(parts).as_deref(), Some(expected));
        }
    }
}
