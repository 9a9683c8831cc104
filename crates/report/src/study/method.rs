//! How it was measured, and how to repeat it.

use super::{Shown, imported};
use crate::page::Page;
use crate::text::{counted, duration, printable};
use crate::verdict::percent;
use plimsoll_model::Rule;
use plimsoll_model::units::three_digits;
use std::collections::BTreeSet;

pub(super) fn add(page: &mut Page, shown: &Shown<'_>) {
    page.heading("Method");
    sentences(shown).iter().for_each(|sentence| page.item("- ", sentence));
    // Not wrapped, so that it can be copied.
    page.lines(&format!("- Repeat: {}\n", printable(&shown.study.plan.command)));
}

/// How it was measured and reckoned.
pub(crate) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    if shown.findings.imported {
        return imported::method(shown);
    }
    let study = shown.study;
    let plan = &study.plan;
    let mut said = Vec::new();
    let blocks: BTreeSet<u32> = study.trials.iter().filter_map(|trial| trial.block).collect();
    said.push(format!(
        "Seed {}; {} in random order; trials of {} s, the first {} s of them warm-up at most; \
             idle baseline {} s.",
        plan.design.seed,
        counted(blocks.len() as u64, "block"),
        three_digits(plan.trial_seconds),
        three_digits(plan.warm_up_seconds),
        three_digits(plan.design.baseline_seconds),
    ));
    let rule = match plan.design.rule {
        Rule::Stein { pilot, half_width } => format!(
            "Stein's two-stage rule: a pilot of {}, half-width {} wanted, at most {}",
            counted(pilot.into(), "block"),
            percent(half_width.exp_m1()),
            duration(plan.design.cap_seconds)
        ),
        Rule::Fixed { blocks } => format!("{} fixed beforehand", counted(blocks.into(), "block")),
    };
    let family = match shown.names.len() {
        0 | 1 => "",
        _ => {
            " Verdicts are on bandwidth and hold together (Bonferroni); latency and CPU have \
              intervals and no verdict."
        }
    };
    said.push(format!(
        "{rule}. Geometric means of the blocks with {} intervals by Student's t; margin {}.\
             {family}",
        percent(plan.design.confidence),
        percent(plan.design.margin)
    ));
    let client = super::hosts::name(&plan.client().to_string());
    for (i, (facts, name)) in study.targets.iter().zip(&shown.names).enumerate() {
        let known = |text: &str| match text.is_empty() {
            true => "unknown".to_owned(),
            false => printable(text),
        };
        let mounted = super::mounts::options(shown, i)
            .map_or_else(String::new, |options| format!("; mounted with {}", printable(options)));
        said.push(format!(
            "{name}: cache on {client}: {}; writes: {}{mounted}.",
            known(&facts.client_cache),
            known(&facts.stability)
        ));
    }
    said
}
