//! One workload: a table of levels, and each further target against the first.

use super::hosts::at_most;
use super::{Shown, cpu, imported, mounts};
use crate::figure::{self, BANDWIDTH, Kind, RATE, TIME, ends};
use crate::names;
use crate::page::Page;
use crate::table::Columns;
use crate::text::{capital, counted, listed};
use crate::verdict::{Longer, Two, sentence};
use plimsoll_explain::{Claim, Level, Pair, TargetFindings, WorkloadFindings};
use plimsoll_model::{Measure, Metric, Pattern, Side};

/// What the table shows, as far as it was measured, except CPU.
const COLUMNS: [(Measure, &str, Kind); 8] = [
    (Measure::IOPS, "IOPS", RATE),
    (Measure::THROUGHPUT, "bandwidth", BANDWIDTH),
    (Measure::FLUSH_TIME, "final\nflush", TIME),
    (Measure::LATENCY_MEAN, "latency\nmean", TIME),
    (Measure::LATENCY_P50, "latency\np50", TIME),
    (Measure::LATENCY_P99, "latency\np99", TIME),
    (Measure::LATENCY_MAX, "latency\nmax", TIME),
    (Measure::RPC_LATENCY_P50, "RPC\np50", TIME),
];

pub(super) fn add(page: &mut Page, shown: &Shown<'_>, found: &WorkloadFindings) {
    let name = capital(&names::pattern(found.workload.pattern));
    page.heading(&name);
    page.paragraph(&names::settings(&found.workload));
    if found.targets.iter().all(|t| t.complete + t.failed + t.stopped == 0) {
        page.paragraph("No trials.");
        return;
    }
    let rows = rows(shown, found);
    if !rows.is_empty() {
        page.lines(&table(shown, found, &rows).fitted(page.style.columns()));
        single_blocks(shown, found).iter().for_each(|said| page.paragraph(said));
        cpu::owners(shown, found).iter().for_each(|owners| page.paragraph(owners));
        mounts::accounts(shown, found).iter().for_each(|account| page.paragraph(account));
        imported::runs(shown, found).iter().for_each(|run| page.item("- ", run));
    }
    if shown.findings.fixed_repeats {
        arithmetic_means(page, shown, found);
    }
    incomplete(shown, found).iter().for_each(|said| page.warning("", said));
    for pair in &found.pairs {
        add_pair(page, shown, found, pair);
    }
}

/// A target, and which half of its operations.
pub(crate) type Line<'a> = (&'a TargetFindings, Side);

pub(crate) fn rows<'a>(shown: &Shown<'_>, found: &'a WorkloadFindings) -> Vec<(String, Line<'a>)> {
    let mut rows = Vec::new();
    for target in found.targets.iter().filter(|t| t.complete > 0) {
        rows.push((names::of(&shown.names, target.target), (target, Side::All)));
        if found.workload.pattern == Pattern::RandomMixed {
            rows.push(("  reads".to_owned(), (target, Side::Read)));
            rows.push(("  writes".to_owned(), (target, Side::Write)));
        }
    }
    rows
}

pub(crate) fn table(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    rows: &[(String, Line<'_>)],
) -> Columns {
    let mut columns =
        Columns { rows: rows.iter().map(|(name, _)| name.clone()).collect(), columns: Vec::new() };
    let mut add = |heading: String, kind: Kind, metric: &dyn Fn(&Line<'_>) -> Metric| {
        let levels: Vec<_> =
            rows.iter().map(|(_, line)| line.0.levels.get(&metric(line))).collect();
        if levels.iter().any(Option::is_some) {
            let cells = rows.iter().zip(&levels).map(|((_, line), level)| match level {
                Some(level) if cpu::is_as_idle(shown, found, line.0, metric(line)) => {
                    at_most(kind, level.interval)
                }
                level => cell(kind, *level),
            });
            columns.columns.push((heading, cells.collect()));
        }
    };
    for (measure, heading, kind) in COLUMNS {
        add(heading.to_owned(), kind, &|line| Metric::of(line.1, measure));
        if measure == Measure::THROUGHPUT {
            add("CPU".to_owned(), cpu::unit(found), &|line| {
                Metric::of(line.1, cpu::measure(shown, found, line.0.target))
            });
            let server = Metric::all(cpu::server_measure(found));
            add("server\nCPU".to_owned(), cpu::unit(found), &|line| match line.1 {
                Side::All => server,
                // Which half cost what cannot be told.
                half => Metric::of(half, server.measure),
            });
        }
    }
    columns
}

/// The figure, and its interval below it.
fn cell(kind: Kind, level: Option<&Level>) -> String {
    let Some(level) = level else { return "–".to_owned() };
    let value = kind.value(level.estimate);
    match level.interval {
        Some(interval) => format!("{value}\n{}", kind.ends(level.estimate, interval)),
        None => value,
    }
}

pub(crate) fn single_blocks(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<String> {
    let single: Vec<String> = found
        .targets
        .iter()
        .filter(|t| t.complete == 1)
        .map(|t| names::of(&shown.names, t.target))
        .collect();
    let said = !single.is_empty() && !shown.findings.imported;
    said.then(|| format!("{}: one block: no interval.", listed(&single)))
}

/// What published designs with a fixed number of repeats report.
fn arithmetic_means(page: &mut Page, shown: &Shown<'_>, found: &WorkloadFindings) {
    for target in found.targets.iter().filter(|t| t.complete > 1) {
        let mean = |measure, kind: Kind, unit: &str| {
            let level = target.levels.get(&Metric::all(measure))?;
            Some(format!("{}{unit}", kind.value(level.arithmetic_mean)))
        };
        let parts: Vec<String> = [
            mean(Measure::IOPS, RATE, " IOPS"),
            mean(Measure::THROUGHPUT, BANDWIDTH, ""),
            mean(Measure::LATENCY_MEAN, TIME, " mean latency"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let name = names::of(&shown.names, target.target);
        let repeats = counted(target.complete as u64, "repeat");
        page.paragraph(&format!("Arithmetic means of {repeats}, {name}: {}.", parts.join(", ")));
    }
}

/// "nas: 2 of 6 trials failed."
pub(crate) fn incomplete(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    let mut said = Vec::new();
    for target in &found.targets {
        let all = target.complete + target.failed + target.stopped;
        let name = names::of(&shown.names, target.target);
        if target.failed > 0 {
            said.push(format!("{name}: {} of {all} trials failed.", target.failed));
        }
        if target.stopped > 0 {
            said.push(format!("{name}: {} of {all} trials were stopped.", target.stopped));
        }
    }
    said
}

fn add_pair(page: &mut Page, shown: &Shown<'_>, found: &WorkloadFindings, pair: &Pair) {
    let claims = claims(shown, found, pair);
    for (i, claim) in claims.iter().enumerate() {
        page.item(if i == 0 { "> " } else { "  " }, claim);
    }
    doubt(shown, pair).iter().for_each(|doubt| page.warning("  ", doubt));
}

/// The verdict on a pair, and the ratios behind it.
pub(crate) fn claims(shown: &Shown<'_>, found: &WorkloadFindings, pair: &Pair) -> Vec<String> {
    let (a, b) = (names::of(&shown.names, pair.a), names::of(&shown.names, pair.b));
    let Some(claim) = &pair.claim else {
        let both = if shown.findings.imported {
            "there are not runs of both"
        } else {
            "no block has both"
        };
        return vec![format!("{b} against {a}: {both}, so nothing is compared.")];
    };
    if shown.findings.imported {
        let said = imported::faster(&a, &b, &claim.ratio);
        return vec![format!("{said}."), ratios(shown, found, pair, claim)];
    }
    let longer = Some(Longer { seconds_per_block: shown.seconds_per_block() });
    let verdict = format!("{}.", sentence(claim, Two { a: &a, b: &b }, longer));
    vec![verdict, ratios(shown, found, pair, claim)]
}

/// "Ratios, b to a: bandwidth 1.33 [1.30–1.36], ..".
fn ratios(shown: &Shown<'_>, found: &WorkloadFindings, pair: &Pair, claim: &Claim) -> String {
    let (a, b) = (names::of(&shown.names, pair.a), names::of(&shown.names, pair.b));
    let ratio = |name: &str, found: &plimsoll_explain::Ratio| ratio(name, found, (&a, &b));
    let mut ratios = vec![ratio("bandwidth", &claim.ratio)];
    let named = [
        (Measure::LATENCY_MEAN, "mean latency"),
        (Measure::LATENCY_P50, "p50"),
        (Measure::LATENCY_P99, "p99"),
    ];
    for (measure, name) in named {
        ratios.extend(pair.ratios.get(&Metric::all(measure)).map(|r| ratio(name, r)));
    }
    ratios.extend(cpu::ratio(shown, found, pair).map(|r| ratio("CPU", r)));
    let server = pair.ratios.get(&Metric::all(cpu::server_measure(found)));
    ratios.extend(server.map(|r| ratio("server CPU", r)));
    if found.workload.pattern == Pattern::RandomMixed {
        for (side, name) in [(Side::Read, "reads' bandwidth"), (Side::Write, "writes' bandwidth")] {
            let metric = Metric::of(side, Measure::THROUGHPUT);
            ratios.extend(pair.ratios.get(&metric).map(|r| ratio(name, r)));
        }
    }
    format!("Ratios, {b} to {a}: {}.", ratios.join(", "))
}

/// Says so where the cross-check does not agree with a claim.
pub(crate) fn doubt(shown: &Shown<'_>, pair: &Pair) -> Option<String> {
    let claim = pair.claim.as_ref()?;
    let (p, confidence) = (claim.sign_flip_p?, shown.study.plan.design.confidence);
    let doubtful = claim.verdict?.faster().is_some()
        && p > 1.0 - confidence
        && could_confirm(claim.ratio.blocks, confidence);
    doubtful.then(|| format!("A sign-flip test by itself does not confirm it (p = {p:.2})."))
}

/// Whether so few blocks could confirm anything: the test's smallest p-value is 2/2^blocks.
fn could_confirm(blocks: usize, confidence: f64) -> bool {
    2f64.powi(1 - blocks.min(1000) as i32) <= 1.0 - confidence
}

/// "p99 0.75 [0.70–0.81]", "CPU of nas not distinguishable from zero".
fn ratio(name: &str, ratio: &plimsoll_explain::Ratio, names: (&str, &str)) -> String {
    if let Some(who) = cpu::near_zero(ratio, names) {
        return format!("{name} of {who} not distinguishable from zero");
    }
    let value = plimsoll_model::units::three_digits(ratio.estimate);
    match ratio.interval {
        Some(interval) => format!("{name} {value} {}", ends(interval.low, interval.high)),
        None => format!("{name} {value}"),
    }
}

/// Bandwidth of a level in words, for the summary.
pub(super) fn bandwidth(level: &Level) -> String {
    figure::BANDWIDTH.with_ends(level.estimate, level.interval)
}

/// Operations per second of a level in words, for the summary.
pub(super) fn rate(level: &Level) -> String {
    format!("{} IOPS", figure::RATE.with_ends(level.estimate, level.interval))
}
