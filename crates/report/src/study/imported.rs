//! Studies that came from another tool: single runs in an unknown order, so ratios stand without
//! intervals and without the words that need one.

use super::{Shown, cpu};
use crate::figure::RATE;
use crate::names;
use crate::text::{counted, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::{Ratio, WorkloadFindings};
use plimsoll_model::units::{seconds, three_digits};
use plimsoll_model::{ImportedRun, LatencySummary, OpKind, OpStats, Outcome, Trial};

/// What the tool said of each run of a workload, beside the table. At most a page of it.
pub(crate) fn runs(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    const MOST: usize = 24;
    let trials = shown
        .study
        .trials
        .iter()
        .filter(|t| t.cell.workload == found.workload && t.result.outcome == Outcome::Complete);
    let told = trials.filter_map(|trial| Some((trial, trial.imported.as_ref()?)));
    let mut said: Vec<String> =
        told.clone().take(MOST).map(|(trial, run)| told_of(shown, trial, run)).collect();
    let more = told.count().saturating_sub(MOST);
    if more > 0 {
        said.push(format!("and {} more.", counted(more as u64, "run")));
    }
    said
}

fn told_of(shown: &Shown<'_>, trial: &Trial, run: &ImportedRun) -> String {
    let name = names::of(&shown.names, trial.cell.target);
    let mut parts = vec![format!("{name}: {}", printable(&run.name))];
    match run.engine.is_empty() {
        true => parts.push(printable(&run.tool)),
        false => parts.push(format!("{} with {}", printable(&run.tool), printable(&run.engine))),
    }
    parts.push(format!("{} long", seconds(run.runtime_seconds)));
    if let Some(cpu) = run.cpu {
        let (user, system) = (cpu.user_percent, cpu.system_percent);
        let of_all = cpu.user_seconds.zip(cpu.system_seconds).map_or(String::new(), |(u, s)| {
            let jobs = run.jobs.map_or(String::new(), |n| counted(n.into(), "job"));
            format!(": {} of {jobs} together", seconds(u + s))
        });
        parts.push(format!(
            "CPU {}% user and {}% system of one job's time{of_all}",
            three_digits(user),
            three_digits(system)
        ));
        parts.push(format!("{} context switches", RATE.value(cpu.context_switches as f64)));
    }
    parts.extend(deviation(trial));
    parts.extend(in_flight(trial, run));
    parts.extend(run.notes.iter().map(|note| printable(note)));
    format!("{}.", parts.join("; "))
}

/// "latency spreads 272 µs (standard deviation)".
fn deviation(trial: &Trial) -> Option<String> {
    let of = |stats: &OpStats| stats.client_latency.standard_deviation_seconds;
    let spreads: Vec<String> = trial
        .result
        .ops
        .iter()
        .filter_map(|(kind, stats)| Some(format!("{} ({kind}s)", seconds(of(stats)?))))
        .collect();
    (!spreads.is_empty()).then(|| format!("standard deviation of latency {}", listed(&spreads)))
}

/// Little's law as a check of the figures: rate times response time is the number in flight, at
/// most jobs times depth.
fn in_flight(trial: &Trial, run: &ImportedRun) -> Option<String> {
    let total = |kind: &OpKind, stats: &OpStats| {
        let latency: &LatencySummary = run.total_latency.get(kind).unwrap_or(&stats.client_latency);
        stats.count as f64 * latency.mean_seconds / run.runtime_seconds
    };
    let by_law: f64 = trial.result.ops.iter().map(|(kind, stats)| total(kind, stats)).sum();
    let asked = f64::from(run.jobs?) * f64::from(trial.cell.workload.depth.get());
    (by_law.is_finite() && by_law > 0.0).then(|| {
        let by_law = three_digits(by_law);
        format!("rate x response time {by_law} of {asked} asked to be in flight")
    })
}

/// B against A: who is faster, always told of the faster one, and from what.
pub(crate) fn faster(a: &str, b: &str, ratio: &Ratio) -> String {
    let runs = match ratio.blocks {
        0..=2 => "single runs".to_owned(),
        n => format!("{n} runs"),
    };
    let (fast, slow, factor) = match ratio.estimate >= 1.0 {
        true => (b, a, ratio.estimate),
        false => (a, b, 1.0 / ratio.estimate),
    };
    if factor < ALIKE {
        return format!("{b} and {a} are equally fast (ratio of {runs}, no interval)");
    }
    format!("{fast} is {} than {slow} (ratio of {runs}, no interval)", by(factor, "faster"))
}

/// "33% faster"; from twice on "3.1 times as fast", with what a following "than" needs.
fn by(factor: f64, word: &str) -> String {
    match factor < 2.0 {
        true => format!("{} {word}", percent(factor - 1.0)),
        false => format!("{}% {word}", three_digits(100.0 * (factor - 1.0))),
    }
}

/// Target `target` against the first, pattern by pattern: throughput, then CPU for the same work.
pub(crate) fn against_first(out: &mut Vec<String>, shown: &Shown<'_>, target: usize) {
    let (a, b) = (&shown.names[0], &shown.names[target]);
    let (mut b_faster, mut a_faster, mut equal) = (Vec::new(), Vec::new(), Vec::new());
    let (mut b_dearer, mut a_dearer) = (Vec::new(), Vec::new());
    for found in &shown.findings.workloads {
        let Some(pair) = found.pairs.iter().find(|pair| pair.b == target) else { continue };
        let name = names::pattern(found.workload.pattern);
        if let Some(claim) = &pair.claim {
            let ratio = claim.ratio.estimate;
            match ratio {
                r if r >= ALIKE => b_faster.push(format!("{name} ({})", by(r, "faster"))),
                r if r <= 1.0 / ALIKE => {
                    a_faster.push(format!("{name} ({})", by(1.0 / r, "faster")));
                }
                _ => equal.push(name.clone()),
            }
        }
        let ratio = cpu::ratio(shown, found, pair).filter(|ratio| ratio.zero == (false, false));
        let Some(ratio) = ratio else { continue };
        let per = if found.workload.pattern.is_sequential() { "per GB" } else { "per operation" };
        match ratio.estimate {
            r if r >= ALIKE => b_dearer.push(format!("{name} ({} {per})", by(r, "more"))),
            r if r <= 1.0 / ALIKE => {
                a_dearer.push(format!("{name} ({} {per})", by(1.0 / r, "more")));
            }
            _ => {}
        }
    }
    for (fast, slow, at) in [(b, a, b_faster), (a, b, a_faster)] {
        if !at.is_empty() {
            out.push(format!("{fast} was faster than {slow} at {}.", listed(&at)));
        }
    }
    if !equal.is_empty() {
        out.push(format!("{b} and {a} were equally fast at {}.", listed(&equal)));
    }
    for (dear, cheap, at) in [(b, a, b_dearer), (a, b, a_dearer)] {
        if !at.is_empty() {
            out.push(format!("{dear} needed more CPU than {cheap} at {}.", listed(&at)));
        }
    }
}

/// Ratios below this are told as equal: they would be told as "0%".
pub(crate) const ALIKE: f64 = 1.0005;

/// How far the figures reach.
pub(crate) const CAUTION: &str = "These are ratios of single runs, so nothing says how much of \
    them is noise: to know, measure with plimsoll check.";

/// How the figures were made, as far as it is known.
pub(crate) fn method(shown: &Shown<'_>) -> Vec<String> {
    let mut said = vec![
        "Figures of another tool, as it told them; several runs of one kind are averaged \
         (geometric mean). Their order and what else went on are unknown: no intervals, no \
         verdicts."
            .to_owned(),
        "Latency is fio's completion latency (clat), which begins when the operation was handed \
         over. CPU is that of fio's own jobs: its percent of one job's time, times the time of \
         all jobs."
            .to_owned(),
    ];
    let mut files: Vec<String> = Vec::new();
    for run in shown.study.trials.iter().filter_map(|trial| trial.imported.as_ref()) {
        let file = printable(&run.file);
        if files.len() < 8 && !files.contains(&file) {
            files.push(file);
        }
    }
    if !files.is_empty() {
        said.push(format!("Read from {}.", listed(&files)));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_told_of_the_faster_one() {
        let said = |estimate, runs| {
            let ratio = Ratio { blocks: runs, estimate, interval: None, zero: (false, false) };
            faster("NFS", "SMB", &ratio)
        };
        // Random reads of jonfk2024: 7334 and 5513 a second. Not "25% slower".
        assert_eq!(
            said(5513.0 / 7334.0, 2),
            "NFS is 33% faster than SMB (ratio of single runs, no interval)"
        );
        assert_eq!(said(3.1, 5), "SMB is 210% faster than NFS (ratio of 5 runs, no interval)");
        assert!(said(1.0001, 2).contains("equally fast"));
    }
}
