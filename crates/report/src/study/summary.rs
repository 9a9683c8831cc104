//! The study in plain sentences.

use super::{Shown, cpu, head, hosts, imported, workload};
use crate::names;
use crate::page::Page;
use crate::text::{counted, duration, listed};
use crate::verdict::{by_how_much, percent};
use plimsoll_explain::{Claim, TargetFindings, WorkloadFindings};
use plimsoll_model::{Flag, Measure, Metric, StoredOn};
use plimsoll_stats::verdict::{Side, Verdict};

pub(super) fn add(page: &mut Page, shown: &Shown<'_>) {
    page.heading("Summary");
    match sentences(shown) {
        said if said.is_empty() => page.paragraph(NOTHING),
        said => said.iter().for_each(|sentence| page.item("- ", sentence)),
    }
}

/// What there is to say of a study without a complete trial.
pub(crate) const NOTHING: &str = "No trial ran to its end, so there is nothing to report.";

/// The study in sentences, what matters most first: throughput, then CPU, target by target; then
/// where reads came from. None where no trial ran to its end.
pub(crate) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let mut said = Vec::new();
    let workloads = &shown.findings.workloads;
    let complete: usize = workloads.iter().flat_map(|w| &w.targets).map(|t| t.complete).sum();
    if complete == 0 {
        return said;
    }
    if shown.names.len() == 1 {
        levels(&mut said, shown);
    }
    if shown.findings.imported && shown.names.len() > 1 {
        (1..shown.names.len()).for_each(|target| imported::against_first(&mut said, shown, target));
        said.push(imported::CAUTION.to_owned());
        return said;
    }
    for target in 1..shown.names.len() {
        against_first(&mut said, shown, target);
        cpu::summary(&mut said, shown, target);
    }
    hosts::busiest(&mut said, shown);
    reads(&mut said, shown);
    said
}

/// One target: what it carries.
fn levels(out: &mut Vec<String>, shown: &Shown<'_>) {
    let carried = |w: &WorkloadFindings| {
        let target: &TargetFindings = w.targets.first()?;
        let level = |measure| target.levels.get(&Metric::all(measure));
        let figure = match w.workload.pattern.is_sequential() {
            true => workload::bandwidth(level(Measure::THROUGHPUT)?),
            false => workload::rate(level(Measure::IOPS)?),
        };
        Some(format!("{} {figure}", names::pattern(w.workload.pattern)))
    };
    let carried: Vec<String> = shown.findings.workloads.iter().filter_map(carried).collect();
    if !carried.is_empty() {
        out.push(format!("{} carries {}.", shown.names[0], listed(&carried)));
    }
}

/// One target against the first: what may be claimed, kind by kind.
fn against_first(out: &mut Vec<String>, shown: &Shown<'_>, target: usize) {
    let (a, b) = (&shown.names[0], &shown.names[target]);
    let claims: Vec<(String, Claim)> = shown
        .findings
        .workloads
        .iter()
        .filter_map(|w| {
            let pair = w.pairs.iter().find(|pair| pair.b == target)?;
            Some((names::pattern(w.workload.pattern), pair.claim?))
        })
        .collect();
    let said = |pick: &dyn Fn(&str, &Claim) -> Option<String>| -> Option<String> {
        let items: Vec<String> = claims.iter().filter_map(|(name, c)| pick(name, c)).collect();
        (!items.is_empty()).then(|| listed(&items))
    };
    for (side, faster, slower) in [(Side::B, b, a), (Side::A, a, b)] {
        let ahead = said(&|name, claim| match claim.verdict? {
            Verdict::Faster(lead) if lead.faster == side => {
                Some(format!("{name} ({})", by_how_much(&lead)))
            }
            _ => None,
        });
        if let Some(ahead) = ahead {
            out.push(format!("{faster} is faster than {slower} at {ahead}."));
        }
        let little = said(&|name, claim| match claim.verdict? {
            Verdict::PerhapsTooLittle(lead) if lead.faster == side => {
                Some(format!("{name} ({})", by_how_much(&lead)))
            }
            _ => None,
        });
        if let Some(little) = little {
            out.push(format!(
                "{faster} is faster than {slower}, perhaps too little to matter, at {little}."
            ));
        }
    }
    let same = said(&|name, claim| {
        matches!(claim.verdict?, Verdict::NoPracticalDifference(_)).then(|| name.to_owned())
    });
    if let Some(same) = same {
        let margin = percent(shown.study.plan.design.margin);
        out.push(format!("{b} and {a}: no practical difference (margin {margin}) at {same}."));
    }
    unresolved(out, shown, a, b, &claims, &said);
    let single = said(&|name, claim| claim.verdict.is_none().then(|| name.to_owned()));
    if let Some(single) = single {
        out.push(format!("{b} and {a}: too few blocks for a verdict at {single}."));
    }
}

type Said<'a> = dyn Fn(&dyn Fn(&str, &Claim) -> Option<String>) -> Option<String> + 'a;

fn unresolved(
    out: &mut Vec<String>,
    shown: &Shown<'_>,
    a: &str,
    b: &str,
    claims: &[(String, Claim)],
    said: &Said<'_>,
) {
    let open = said(&|name, claim| {
        matches!(claim.verdict?, Verdict::NotResolved(_)).then(|| name.to_owned())
    });
    let Some(open) = open else { return };
    let mut text = format!("{b} and {a}: not resolved at {open}.");
    let more = claims.iter().filter_map(|(_, claim)| claim.more_blocks);
    if let Some(most) = more.clone().max() {
        let seconds = shown.seconds_per_block() * more.map(|m| m as f64).sum::<f64>();
        text.push_str(&format!(
            " With the spread seen, up to {} more would resolve it: about {} longer.",
            counted(most, "block"),
            duration(seconds)
        ));
    }
    out.push(text);
}

/// Where reads came from, and which size would settle it.
fn reads(out: &mut Vec<String>, shown: &Shown<'_>) {
    if !shown.study.plan.workloads.iter().any(|w| w.pattern.reads()) {
        return;
    }
    for (facts, name) in shown.study.targets.iter().zip(&shown.names) {
        let Some(from) = facts.reads_from else { continue };
        // A warning of the study gives the size, where it can be told.
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
