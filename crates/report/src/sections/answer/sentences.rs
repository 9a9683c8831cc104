//! The two or three sentences that matter.

use super::names::Brief;
use super::rows::Explained;
use super::shape::has_columns;
use crate::compared::Compared;
use crate::study::{Shown, copies, imported, limits, stored, workload};
use crate::text::{capital, counted, duration, listed, printable};
use crate::verdict::{Two, lead, percent, says_nothing, showed};
use plimsoll_explain::{Claim, Pair};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Contrast, Flag, Rule};
use plimsoll_stats::verdict::{Side, Verdict};
use std::collections::HashMap;

/// Pairs of names up to which each has sentences of its own.
const TOLD_OF_MANY: usize = 5;
/// Blocks below which a claim without a verdict lacks blocks.
const FEW: usize = 6;
/// Results of a shorter study are preliminary.
const SHORT_SECONDS: f64 = 120.0;

/// What the table does not say; the bottlenecks and where the bytes were only where it has no columns of them.
pub(super) fn sentences(shown: &Shown<'_>, brief: &Brief, explained: Explained) -> Vec<String> {
    let mut sentences = Vec::new();
    let compared = compared(shown, brief);
    if shown.findings.imported {
        if !compared.is_empty() {
            sentences.push(imported::caution(shown.study));
        }
        return sentences;
    }
    if has_columns(shown) {
        sentences.extend(resolved(shown, compared));
    }
    let name = |cell| brief.setup(shown, cell);
    sentences.extend(stored::sentence(shown, &name).filter(|_| !explained.stored));
    sentences.extend(copies::amounts(shown, &name));
    let workloads = shown.findings.workloads.iter();
    let disturbed: Vec<String> =
        workloads.flat_map(|found| workload::disturbed(shown, found, &name)).collect();
    // A warning tells of more.
    sentences.extend(disturbed.into_iter().filter(|_| shown.findings.workloads.len() == 1));
    if !shown.limits.is_empty() && !explained.limited {
        sentences.extend(limits::sentences(shown, &name));
    }
    sentences
}

/// The costs of files, for which not every screen has room.
pub(super) fn costs_of_files(shown: &Shown<'_>, brief: &Brief) -> Vec<String> {
    if shown.findings.imported {
        return Vec::new();
    }
    let name = |cell| brief.setup(shown, cell);
    let per_file = copies::per_file(shown, &name).map(|cost| {
        let texts = [Some(cost), shown.counts_every_block("Costs of files")];
        texts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    per_file.into_iter().chain(copies::without_model(shown, &name)).collect()
}

/// What going on would settle, by name, and how long that takes; `None` where there is nothing to settle.
pub(super) fn open(shown: &Shown<'_>) -> Option<Open> {
    let open = plimsoll_explain::unresolved(shown.study)?;
    let mut works: Vec<String> = Vec::new();
    let contrasts = open.contrasts.iter().map(|contrast| shown.matter(contrast));
    let levels = open.workloads.iter().map(|workload| shown.names.workload(*workload));
    let named = match open.contrasts.is_empty() {
        true => levels.collect::<Vec<_>>(),
        false => contrasts.collect(),
    };
    named.into_iter().for_each(|name| {
        if !works.contains(&name) {
            works.push(name);
        }
    });
    let about = |seconds: Option<f64>| {
        seconds.map_or("not within a day".to_owned(), |s| format!("about {}", duration(s)))
    };
    let (own, all) = (about(open.seconds), about(open.all_seconds));
    let time = if own == all { own } else { format!("{own}; all rows: {all}") };
    Some(Open { works, time, seconds: open.seconds })
}

/// Work whose figures more blocks would decide.
pub(super) struct Open {
    /// By name.
    pub(super) works: Vec<String>,
    /// How long that takes, in words.
    pub(super) time: String,
    /// The same in seconds; `None`: not within a day.
    pub(super) seconds: Option<f64>,
}

/// A claim, and what it is about.
pub(super) struct Matter<'a> {
    /// Of what: "random read".
    pub(super) name: String,
    pub(super) claim: &'a Claim,
    pub(super) by: Compared,
}

/// Two that are compared, by name, and what is claimed.
pub(super) struct Against<'a> {
    pub(super) two: (String, String),
    /// The first contrast of them.
    contrast: Contrast,
    pub(super) claims: Vec<Matter<'a>>,
}

/// What is compared with what at the same work, in the order of the contrasts. Of different work the table
/// says all.
pub(super) fn compared<'a>(shown: &'a Shown<'_>, brief: &Brief) -> Vec<Against<'a>> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut compared: Vec<Against<'a>> = Vec::new();
    let same = |pair: &&Pair| pair.contrast.of.cell.workload == pair.contrast.against.cell.workload;
    for pair in shown.findings.workloads.iter().flat_map(|w| &w.pairs).filter(same) {
        let two = two(shown, brief, pair);
        let place = *places.entry(two.clone()).or_insert(compared.len());
        if place == compared.len() {
            compared.push(Against { two, contrast: pair.contrast, claims: Vec::new() });
        }
        let by = shown.shape(pair.contrast.of.metric.measure).compared;
        let name = shown.matter(&pair.contrast);
        let matter = pair.claim.as_ref().map(|claim| Matter { name, claim, by });
        compared[place].claims.extend(matter);
    }
    compared
}

fn two(shown: &Shown<'_>, brief: &Brief, pair: &Pair) -> (String, String) {
    let (a, b) = shown.two(&pair.contrast);
    let short = |name: String, cell| match name == shown.names.setup(cell) {
        true => brief.setup(shown, cell),
        false => name,
    };
    (short(a, pair.contrast.against.cell), short(b, pair.contrast.of.cell))
}

/// Of many that are compared, the verdicts on the first that differ in one thing, the blocks of what has no
/// verdict, and how much is not resolved.
fn resolved(shown: &Shown<'_>, compared: Vec<Against<'_>>) -> Vec<String> {
    let is_open = |claim: &Claim| {
        claim.verdict.is_none_or(|verdict| matches!(verdict, Verdict::NotResolved(_)))
    };
    let claims: usize = compared.iter().map(|against| against.claims.len()).sum();
    let (mut sentences, mut of_few) = (Vec::new(), Vec::new());
    let (mut open, mut unsaid) = (0, 0);
    let mut few: Option<usize> = Some(0);
    for Against { two, contrast, claims } in compared {
        let (own, unresolved): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|matter| !is_open(matter.claim));
        open += unresolved.len();
        for Matter { claim, by, .. } in &unresolved {
            let is_few = claim.ratio.blocks < FEW && says_nothing(claim, *by);
            few = few.filter(|_| is_few).map(|few| few.max(claim.ratio.blocks));
        }
        let Contrast { of, against: first, .. } = contrast;
        match sentences.len() < TOLD_OF_MANY && shown.differences(of.cell, first.cell) == 1 {
            true => {
                let led = |matter: &Matter<'_>| {
                    !matches!(matter.claim.verdict, Some(Verdict::NoPracticalDifference(_)))
                };
                let names = match own.iter().any(led) {
                    true => String::new(),
                    false => format!("{} against {}: ", two.1, two.0),
                };
                sentences.extend(against(shown, &two, &own).map(|said| names + &said));
                of_few.extend(of_blocks(&two, &unresolved));
            }
            false => unsaid += own.len(),
        }
    }
    sentences.extend(of_few.into_iter().take(TOLD_OF_MANY));
    if unsaid > 0 {
        sentences.push(format!("{}: see --details.", counted(unsaid as u64, "more verdict")));
    }
    if open > 0 {
        let all = counted(claims as u64, "claim");
        sentences.push(match few.filter(|few| *few > 0) {
            Some(few) => {
                format!("{open} of {all} have no verdict after {}.", counted(few as u64, "block"))
            }
            None => format!("{open} of {all} are inconclusive."),
        });
    }
    sentences
}

/// The blocks of claims without a verdict: "At scan async was 9.90 to 14.5 times as fast as sync, in 2 of 2
/// blocks." `None` where none is far off, or all have one.
fn of_blocks((a, b): &(String, String), claims: &[Matter<'_>]) -> Option<String> {
    let ratios = |Matter { name, claim, by }: &Matter<'_>| {
        let words = showed(claim, Two { a, b, by: *by })?;
        let words = words.split_once("; ").map_or(words.as_str(), |(words, _)| words);
        Some(format!("at {name} {words}"))
    };
    let all: Vec<String> = claims.iter().filter_map(ratios).collect();
    (!all.is_empty()).then(|| format!("{}.", capital(&all.join("; "))))
}

/// "smb is faster than nfs at A and B; nfs at C. No practical difference: D. Not resolved: E."
fn against(shown: &Shown<'_>, (a, b): &(String, String), claims: &[Matter<'_>]) -> Option<String> {
    let picked = |is: &dyn Fn(&Verdict, Compared) -> bool| -> Option<String> {
        let name_if_picked = |Matter { name, claim, by }: &Matter<'_>| {
            claim.verdict.filter(|verdict| is(verdict, *by)).map(|_| name.clone())
        };
        let items: Vec<String> = claims.iter().filter_map(name_if_picked).collect();
        (!items.is_empty()).then(|| listed(&items))
    };
    let margin = percent(shown.study.plan.design.margin);
    let mut parts = Vec::new();
    for of in [Compared::Rate, Compared::Amount] {
        for (side, ahead, behind) in [(Side::B, b, a), (Side::A, a, b)] {
            let led = |verdict: &Verdict, by: Compared| {
                by.more() == of.more() && lead(verdict, by).faster == side
            };
            let more = of.more();
            if let Some(at) = picked(&|v, by| matches!(v, Verdict::Faster(_)) && led(v, by)) {
                parts.push(format!("{ahead} is {more} than {behind} at {at}."));
            }
            let little = |v: &Verdict, by| matches!(v, Verdict::PerhapsTooLittle(_)) && led(v, by);
            if let Some(at) = picked(&little) {
                parts.push(format!(
                    "{ahead} is {more} than {behind}, perhaps by less than {margin}, at {at}."
                ));
            }
        }
    }
    if let Some(same) = picked(&|v, _| matches!(v, Verdict::NoPracticalDifference(_))) {
        parts.push(format!("They are practically equal (within {margin}) at {same}."));
    }
    if let Some(open) = picked(&|v, _| matches!(v, Verdict::NotResolved(_))) {
        parts.push(format!("Inconclusive: {open}."));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The kinds of work that a quick look had no time for, with and without what to do about it. No warning, for the same
/// reason.
pub(super) fn left_out(shown: &Shown<'_>) -> Option<[String; 2]> {
    let names = shown.study.flags.iter().find_map(|flag| match flag {
        Flag::LeftOut { workloads } => Some(workloads),
        _ => None,
    })?;
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    let command = shown.study.plan.command.split_whitespace().nth(1).unwrap_or_default();
    let pattern = if command == "check" { " or name them with --pattern" } else { "" };
    let were = if names.len() == 1 { "was" } else { "were" };
    let named = capital(&format!("{} {were} not measured for lack of time.", listed(&names)));
    Some([format!("{named} Raise --max-time{pattern}."), named])
}

/// Whether one of two is faster though their ratio is smaller than this.
fn decides_below(shown: &Shown<'_>, ratio: f64) -> bool {
    let pairs = shown.findings.workloads.iter().flat_map(|found| &found.pairs);
    let mut decided = pairs.filter_map(|pair| {
        let claim = pair.claim.as_ref()?;
        let is_faster = matches!(claim.verdict?, Verdict::Faster(_) | Verdict::PerhapsTooLittle(_));
        is_faster.then_some(claim.ratio.estimate)
    });
    decided.any(|found| found.max(1.0 / found) < ratio)
}

/// How preliminary a short study is, and one that its time ended. A sentence and no warning, so that it is on the screen
/// of every such study.
pub(super) fn preliminary(shown: &Shown<'_>) -> Option<String> {
    let seconds = shown.findings.seconds_per_trial * shown.study.trials.len() as f64;
    let measured = duration(seconds);
    let quick = shown.study.flags.iter().find_map(|flag| match flag {
        Flag::Quick { resolvable } => Some(*resolvable),
        _ => None,
    });
    let capped = shown.study.flags.iter().find_map(|flag| match flag {
        Flag::CapReached { blocks, .. } => Some(*blocks),
        _ => None,
    });
    let looked = matches!(shown.study.plan.design.rule, Rule::Sequential { .. });
    match quick {
        // A row that is decided at less has shown that it can be.
        Some(Some(ratio)) if !decides_below(shown, ratio) => {
            let difference = match ratio {
                many if many >= 2.0 => format!("{}x", three_digits(many)),
                few => format!("{:.0}%", (few - 1.0) * 100.0),
            };
            Some(format!(
                "A quick look of {measured} is preliminary: it may not decide differences below {difference}."
            ))
        }
        Some(_) => Some(format!("A quick look of {measured} is preliminary.")),
        None if capped.is_some() => capped.map(|blocks| {
            let effect = if blocks == 1 { "nothing has an interval" } else { "intervals are wide" };
            let blocks = counted(blocks.into(), "block");
            format!("The time limit ended the study after {blocks}, so {effect}.")
        }),
        None if looked && seconds < SHORT_SECONDS => {
            Some(format!("Figures of {measured} of measurement are preliminary."))
        }
        None => None,
    }
}
