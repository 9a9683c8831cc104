//! The study in plain sentences.

use super::{Shown, cpu, head, hosts, imported};
use crate::measure::Compared;
use crate::page::Page;
use crate::text::{counted, duration, listed};
use crate::verdict::{by_how_much, lead, percent};
use plimsoll_explain::{CellFindings, Claim, Pair, WorkloadFindings};
use plimsoll_model::{Flag, Metric, Rule, StoredOn, SubjectFacts};
use plimsoll_stats::verdict::{Side, Verdict};
use std::collections::HashMap;

pub(super) fn add(page: &mut Page, shown: &Shown<'_>) {
    page.heading("Summary");
    match sentences(shown) {
        none if none.is_empty() => page.paragraph(NOTHING),
        some => some.iter().for_each(|sentence| page.item("- ", sentence)),
    }
}

/// What there is to say of a study without a complete trial.
pub(crate) const NOTHING: &str = "No trial ran to its end, so there is nothing to report.";

/// The study in sentences, what matters most first: what contrasts say, then CPU, subject by subject;
/// then where reads came from. None where no trial ran to its end.
pub(crate) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let workloads = &shown.findings.workloads;
    let complete: usize = workloads.iter().flat_map(|w| &w.cells).map(|c| c.complete).sum();
    if complete == 0 {
        return sentences;
    }
    if shown.names.setups() == 1 {
        levels(&mut sentences, shown);
    }
    let compared = compared(shown);
    if shown.findings.imported && !compared.is_empty() {
        for ((a, b), pairs) in &compared {
            imported::against(&mut sentences, shown, (a, b), pairs);
        }
        sentences.push(imported::CAUTION.to_owned());
        return sentences;
    }
    for ((a, b), pairs) in &compared {
        for by in [Compared::Rate, Compared::Amount] {
            against(&mut sentences, shown, (a, b), pairs, by);
        }
        cpu::summary(&mut sentences, shown, (a, b), pairs);
    }
    sentences.extend(short(shown));
    hosts::busiest(&mut sentences, shown);
    reads(&mut sentences, shown);
    sentences
}

/// Less than this is about a minute of the day, and what is claimed from it too.
const SHORT_SECONDS: f64 = 120.0;

/// What verdicts are about that were soon at hand.
fn short(shown: &Shown<'_>) -> Option<String> {
    let claims = shown.findings.workloads.iter().flat_map(|w| &w.pairs).filter_map(|p| p.claim);
    let claimed = claims.filter(|claim| claim.verdict.is_some()).count() > 0;
    let seconds = shown.findings.seconds_per_trial * shown.study.trials.len() as f64;
    let looked = matches!(shown.study.plan.design.rule, Rule::Sequential { .. });
    (claimed && looked && seconds < SHORT_SECONDS).then(|| {
        format!(
            "These verdicts are about {} of measuring: another minute may be different.",
            duration(seconds)
        )
    })
}

/// Two that are compared, by name, and how, workload by workload.
type Two<'a> = ((String, String), Vec<&'a Pair>);

/// What is compared with what, in the order of the contrasts.
fn compared<'a>(shown: &'a Shown<'_>) -> Vec<Two<'a>> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut compared: Vec<Two<'a>> = Vec::new();
    for pair in shown.findings.workloads.iter().flat_map(|w| &w.pairs) {
        let two = shown.two(&pair.contrast);
        let place = *places.entry(two.clone()).or_insert(compared.len());
        match compared.get_mut(place) {
            Some((_, pairs)) => pairs.push(pair),
            None => compared.push((two, vec![pair])),
        }
    }
    compared
}

/// One subject: what it carries.
fn levels(out: &mut Vec<String>, shown: &Shown<'_>) {
    let carried = |w: &WorkloadFindings| {
        let cell: &CellFindings = w.cells.first()?;
        let measure = super::speed(&w.workload);
        let figure = shown.shape(measure).level(cell.levels.get(&Metric::all(measure))?);
        Some(format!("{} {figure}", shown.names.workload(w.number)))
    };
    let carried: Vec<String> = shown.findings.workloads.iter().filter_map(carried).collect();
    let Some(setup) = shown.names.every_setup().next().filter(|_| !carried.is_empty()) else {
        return;
    };
    let is_host =
        matches!(shown.study.subjects.get(usize::from(setup.subject)), Some(SubjectFacts::Host(_)));
    let verb = if is_host { "does" } else { "carries" };
    out.push(format!("{} {verb} {}.", shown.names.setup(setup), listed(&carried)));
}

/// B against A: what may be claimed, kind by kind.
fn against(
    out: &mut Vec<String>,
    shown: &Shown<'_>,
    (a, b): (&str, &str),
    pairs: &[&Pair],
    by: Compared,
) {
    let claim = |pair: &&Pair| {
        let what = shown.shape(pair.contrast.of.metric.measure).compared;
        let claim = pair.claim.filter(|_| what.more() == by.more())?;
        Some((shown.matter(&pair.contrast), claim, what))
    };
    let claims: Vec<Matter> = pairs.iter().filter_map(claim).collect();
    let picked = |pick: &dyn Fn(&Matter) -> Option<String>| -> Option<String> {
        let items: Vec<String> = claims.iter().filter_map(pick).collect();
        (!items.is_empty()).then(|| listed(&items))
    };
    let more = by.more();
    for (side, ahead, behind) in [(Side::B, b, a), (Side::A, a, b)] {
        let led = |(name, claim, what): &Matter, is: fn(&Verdict) -> bool| {
            let verdict = claim.verdict.filter(is)?;
            let lead = lead(&verdict, *what);
            (lead.faster == side).then(|| format!("{name} ({})", by_how_much(&lead, *what)))
        };
        if let Some(at) = picked(&|claim| led(claim, |v| matches!(v, Verdict::Faster(_)))) {
            out.push(format!("{ahead} is {more} than {behind} at {at}."));
        }
        let little = picked(&|claim| led(claim, |v| matches!(v, Verdict::PerhapsTooLittle(_))));
        if let Some(at) = little {
            out.push(format!(
                "{ahead} is {more} than {behind}, perhaps too little to matter, at {at}."
            ));
        }
    }
    let same = picked(&|(name, claim, _)| {
        matches!(claim.verdict?, Verdict::NoPracticalDifference(_)).then(|| name.clone())
    });
    if let Some(same) = same {
        let margin = percent(shown.study.plan.design.margin);
        out.push(format!("{b} and {a}: no practical difference (margin {margin}) at {same}."));
    }
    let open = picked(&|(name, claim, _)| {
        matches!(claim.verdict?, Verdict::NotResolved(_)).then(|| name.clone())
    });
    out.extend(open.map(|open| unresolved(shown, (a, b), &claims, &open)));
    let single = picked(&|(name, claim, _)| claim.verdict.is_none().then(|| name.clone()));
    if let Some(single) = single {
        out.push(format!("{b} and {a}: too few blocks for a verdict at {single}."));
    }
}

/// What a claim is about in words, the claim, and what its ratio means.
type Matter = (String, Claim, Compared);

fn unresolved(shown: &Shown<'_>, (a, b): (&str, &str), claims: &[Matter], open: &str) -> String {
    let mut text = format!("{b} and {a}: not resolved at {open}.");
    let more = claims.iter().filter_map(|(_, claim, _)| claim.more_blocks);
    if let Some(most) = more.clone().max() {
        let seconds = shown.seconds_per_block() * more.map(|m| m as f64).sum::<f64>();
        text.push_str(&format!(
            " With the spread seen, up to {} more would resolve it: about {} longer.",
            counted(most, "block"),
            duration(seconds)
        ));
    }
    text
}

/// Where reads came from, and which size would settle it.
fn reads(out: &mut Vec<String>, shown: &Shown<'_>) {
    let mut parts = shown.study.plan.workloads.iter().flat_map(|w| &w.parts);
    if !parts.any(|part| part.job.footprint().read > 0) {
        return;
    }
    for (facts, name) in shown.study.subjects.iter().zip(&shown.names.subjects) {
        let Some(facts) = facts.storage() else { continue };
        let Some(from) = facts.reads_from else { continue };
        // A warning of the study gives the size, where it is known.
        let warned =
            shown.study.flags.iter().any(
                |flag| matches!(flag, Flag::WorkingSet { target, .. } if *target == facts.given),
            );
        let settle = match from {
            StoredOn::Disk => "",
            _ if warned => "; see the warnings for the size that would settle it",
            _ => "; a --size of twice the server's memory would show the disk",
        };
        out.push(format!("{name}: {}{settle}.", head::reads_from(from)));
    }
}
