//! How it was measured, and how to repeat it.

use super::{Shown, imported};
use crate::text::{counted, duration, listed, printable};
use crate::verdict::percent;
use plimsoll_model::units::three_digits;
use plimsoll_model::{Ended, Factor, Flag, Length, Plan, Rule, Switch};
use std::collections::BTreeSet;

/// How it was measured and computed.
pub(crate) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    if shown.findings.imported {
        return imported::method(shown);
    }
    let study = shown.study;
    let design = &study.plan.design;
    let mut sentences = Vec::new();
    let blocks: BTreeSet<u32> = study.trials.iter().filter_map(|trial| trial.block).collect();
    sentences.push(format!(
        "Seed {}; {} in random order; {}; idle baseline {} s.",
        design.seed,
        counted(blocks.len() as u64, "block"),
        lengths(&study.plan),
        three_digits(design.baseline_seconds),
    ));
    let rule = match design.rule {
        Rule::Sequential { first, half_width, at_least_seconds } => format!(
            "Checked after every block from block {first} on, after at least {} and at most {} of \
             measurement: a comparison ends when its interval lies outside or inside the margin, or has a \
             half width of at most {}",
            duration(at_least_seconds),
            duration(design.cap_seconds),
            percent(half_width.exp_m1()),
        ),
        Rule::Fixed { blocks } => {
            format!("{}, a number fixed in advance", counted(blocks.into(), "block"))
        }
    };
    sentences.push(format!(
        "{rule}. Geometric means of the blocks with {} intervals by {}; margin {}.{}",
        percent(design.confidence),
        match design.rule {
            Rule::Sequential { .. } => "a confidence sequence, widened for correlated blocks",
            Rule::Fixed { .. } => "Student's t",
        },
        percent(design.margin),
        family(shown),
    ));
    if !shown.routed.is_empty() {
        sentences.push("Rates through R: arithmetic means of the blocks, as published.".to_owned());
    }
    sentences.extend(study.plan.factors.iter().map(|factor| changed(shown, factor)));
    let client = super::hosts::name(study.plan.client());
    for (i, (facts, name)) in study.subjects.iter().zip(&shown.names.subjects).enumerate() {
        let Some(facts) = facts.storage() else { continue };
        let known = |text: &str| match text.is_empty() {
            true => "unknown".to_owned(),
            false => printable(text),
        };
        let mounted = super::mounts::options(shown, i)
            .map_or_else(String::new, |options| format!("; mounted with {}", printable(options)));
        sentences.push(format!(
            "{name}: cache on {client}: {}; writes: {}{mounted}.",
            known(&facts.client_cache),
            known(&facts.stability)
        ));
    }
    sentences
}

/// "trials of 5 s, the first 1 s of them warm-up at most", each length once.
fn lengths(plan: &Plan) -> String {
    let mut lengths: Vec<String> = Vec::new();
    for workload in &plan.workloads {
        let length = match workload.length {
            Length::For { seconds, warm_up_seconds } => format!(
                "trials of {} s, including at most {} s of warm-up",
                three_digits(seconds),
                three_digits(warm_up_seconds)
            ),
            Length::UntilDone { at_most_seconds } => {
                format!("trials until the work is done, at most {}", duration(at_most_seconds))
            }
        };
        if !lengths.contains(&length) {
            lengths.push(length);
        }
    }
    match lengths.is_empty() {
        true => "no trials planned".to_owned(),
        false => lengths.join(" or "),
    }
}

/// What verdicts are about, where there are any.
fn family(shown: &Shown<'_>) -> String {
    let mut about: Vec<String> = Vec::new();
    for contrast in shown.study.plan.contrasts.iter().filter(|contrast| contrast.claim) {
        let name = shown.shape(contrast.of.metric.measure).name;
        if !about.contains(&name) {
            about.push(name);
        }
    }
    // Names with commas would run together in a list of commas.
    let names = match about.iter().any(|name| name.contains(',')) {
        true => about.join("; "),
        false => listed(&about),
    };
    match about.is_empty() {
        true => String::new(),
        false => format!(
            " Verdicts are on {}, and the confidence holds for all of them together (Bonferroni). Latency \
             and CPU have intervals but no verdicts.",
            names
        ),
    }
}

/// What a factor changed, and that it was put back.
fn changed(shown: &Shown<'_>, factor: &Factor) -> String {
    let levels: Vec<String> =
        factor.levels.iter().map(|level| printable(&level.to_string())).collect();
    let order = match factor.switch {
        Switch::Live => "changed between trials, in random order within each block",
        Switch::Restart if shown.study.plan.reboot.is_some() => {
            "changed a few times in each block, after a reboot each time"
        }
        Switch::Restart => {
            "changed a few times in each block, because each change restarts something"
        }
    };
    let not_restored = |flag: &Flag| match flag {
        Flag::SettingNotRestored { host: on, setting, .. } => {
            *on == factor.host && *setting == factor.name
        }
        _ => false,
    };
    let after = match shown.study.ended {
        _ if shown.study.flags.iter().any(not_restored) => {
            "It could not be restored; see the warnings."
        }
        Ended::Open => "It is restored at the end, or later by plimsoll restore.",
        _ => "It was restored at the end.",
    };
    format!(
        "Changed on {}: {} ({}), {order}. {after}",
        super::hosts::name(&factor.host),
        printable(&factor.name),
        listed(&levels)
    )
}
