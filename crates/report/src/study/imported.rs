//! Studies that came from another tool: single runs in an unknown order, so ratios stand without
//! intervals and without the words that need one.

use super::{Shown, cpu};
use crate::compared::Compared;
use crate::figure::RATE;
use crate::measure::is_of_paths;
use crate::text::{counted, listed, printable};
use crate::verdict::{Two, percent};
use plimsoll_explain::{Pair, Ratio, WorkloadFindings};
use plimsoll_model::units::{seconds, three_digits};
use plimsoll_model::{ImportedRun, LatencySummary, OpKind, OpStats, Outcome, Study, Trial};

/// What the tool reported of each run of a workload, beside the table. At most a page of it.
pub(crate) fn runs(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    const MOST: usize = 24;
    let complete =
        |t: &&Trial| t.cell.workload == found.number && t.result.outcome == Outcome::Complete;
    let trials = shown.study.trials.iter().filter(complete);
    let runs = trials.filter_map(|trial| Some((trial, trial.imported.as_ref()?)));
    let mut reported: Vec<String> =
        runs.clone().take(MOST).map(|(trial, imported)| run(shown, trial, imported)).collect();
    let more = runs.count().saturating_sub(MOST);
    if more > 0 {
        reported.push(format!("and {} more.", counted(more as u64, "run")));
    }
    reported
}

fn run(shown: &Shown<'_>, trial: &Trial, run: &ImportedRun) -> String {
    let name = shown.names.setup(trial.cell);
    let mut parts = vec![format!("{name}: {}", printable(&run.name))];
    match run.engine.is_empty() {
        true => parts.push(printable(&run.tool)),
        false => parts.push(format!("{} with {}", printable(&run.tool), printable(&run.engine))),
    }
    if run.runtime_seconds > 0.0 {
        parts.push(format!("{} long", seconds(run.runtime_seconds)));
    }
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
    parts.extend(in_flight(shown, trial, run));
    parts.extend(run.notes.iter().map(|note| printable(note)));
    format!("{}.", parts.join("; "))
}

/// "latency spreads 272 µs (standard deviation)".
fn deviation(trial: &Trial) -> Option<String> {
    let spread = |stats: &OpStats| stats.client_latency.standard_deviation_seconds;
    let spreads: Vec<String> = trial
        .result
        .main()?
        .ops
        .iter()
        .filter_map(|(kind, stats)| Some(format!("{} ({kind}s)", seconds(spread(stats)?))))
        .collect();
    (!spreads.is_empty()).then(|| format!("standard deviation of latency {}", listed(&spreads)))
}

/// Little's law as a check of the figures: rate times response time is the number in flight, at
/// most jobs times depth.
fn in_flight(shown: &Shown<'_>, trial: &Trial, run: &ImportedRun) -> Option<String> {
    let total = |kind: &OpKind, stats: &OpStats| {
        let latency: &LatencySummary = run.total_latency.get(kind).unwrap_or(&stats.client_latency);
        stats.count as f64 * latency.mean_seconds / run.runtime_seconds
    };
    let by_law: f64 = trial.result.main()?.ops.iter().map(|(kind, stats)| total(kind, stats)).sum();
    let depth = shown.study.plan.workload(trial.cell)?.main()?.depth();
    let asked = f64::from(run.jobs?) * f64::from(depth.get());
    (by_law.is_finite() && by_law > 0.0).then(|| {
        let by_law = three_digits(by_law);
        format!("rate × response time {by_law}, {asked} requested in flight")
    })
}

/// B against A: who is faster, always of the faster one, and from what.
pub(crate) fn faster(Two { a, b, by: what }: Two<'_>, ratio: &Ratio) -> String {
    let runs = match ratio.blocks {
        0..=2 => "single runs".to_owned(),
        n => format!("{n} runs"),
    };
    let estimate = lead_of_b(ratio, what);
    let (ahead, behind, factor) = match estimate >= 1.0 {
        true => (b, a, estimate),
        false => (a, b, 1.0 / estimate),
    };
    if factor < ALIKE {
        let alike = if what == Compared::Amount { "alike" } else { "equally fast" };
        return format!("{b} and {a} are {alike} (ratio of {runs}, no interval)");
    }
    let by = by(factor, what.more());
    format!("{ahead} is {by} than {behind} (ratio of {runs}, no interval)")
}

/// The same in the width of a column: "smb 33%".
pub(crate) fn brief(two: Two<'_>, ratio: &Ratio) -> String {
    let estimate = lead_of_b(ratio, two.by);
    let (ahead, factor) = if estimate >= 1.0 { (two.b, estimate) } else { (two.a, 1.0 / estimate) };
    match factor < ALIKE {
        true => "equal".to_owned(),
        false => format!("{ahead} {}", by(factor, two.by.more())),
    }
}

/// The ratio so that more than 1 means that B is ahead.
pub(crate) fn lead_of_b(ratio: &Ratio, by: Compared) -> f64 {
    if by == Compared::Time { 1.0 / ratio.estimate } else { ratio.estimate }
}

/// "33% faster"; from twice on "3.1 times as fast", with what a following "than" needs.
fn by(factor: f64, word: &str) -> String {
    match factor < 2.0 {
        true => format!("{} {word}", percent(factor - 1.0)),
        false => format!("{}% {word}", three_digits(100.0 * (factor - 1.0))),
    }
}

/// B against A, workload by workload: what their contrasts are about.
pub(crate) fn speeds(
    out: &mut Vec<String>,
    shown: &Shown<'_>,
    (a, b): (&str, &str),
    pairs: &[&Pair],
) {
    for by_what in [Compared::Rate, Compared::Amount] {
        let (mut b_ahead, mut a_ahead, mut equal) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            let what = shown.shape(pair.contrast.of.metric.measure).compared;
            if what.more() != by_what.more() {
                continue;
            }
            let Some(claim) = &pair.claim else { continue };
            let name = shown.matter(&pair.contrast);
            match lead_of_b(&claim.ratio, what) {
                r if r >= ALIKE => b_ahead.push(format!("{name} ({})", by(r, what.more()))),
                r if r <= 1.0 / ALIKE => {
                    a_ahead.push(format!("{name} ({})", by(1.0 / r, what.more())));
                }
                _ => equal.push(name),
            }
        }
        for (ahead, behind, at) in [(b, a, b_ahead), (a, b, a_ahead)] {
            if !at.is_empty() {
                let more = by_what.more();
                out.push(format!("{ahead} was {more} than {behind} at {}.", listed(&at)));
            }
        }
        if !equal.is_empty() {
            let alike = if by_what == Compared::Amount { "alike" } else { "equally fast" };
            out.push(format!("{b} and {a} were {alike} at {}.", listed(&equal)));
        }
    }
}

/// B against A, workload by workload: CPU for the same work.
pub(crate) fn cpu_summary(
    out: &mut Vec<String>,
    shown: &Shown<'_>,
    (a, b): (&str, &str),
    pairs: &[&Pair],
) {
    let (mut b_dearer, mut a_dearer) = (Vec::new(), Vec::new());
    for pair in pairs {
        let ratio = cpu::ratio(shown, pair).filter(|ratio| ratio.zero == (false, false));
        let Some(ratio) = ratio else { continue };
        let name = shown.names.workload(pair.contrast.of.cell.workload);
        let per = cpu::per(shown, pair);
        match ratio.estimate {
            r if r >= ALIKE => b_dearer.push(format!("{name} ({} {per})", by(r, "more"))),
            r if r <= 1.0 / ALIKE => {
                a_dearer.push(format!("{name} ({} {per})", by(1.0 / r, "more")));
            }
            _ => {}
        }
    }
    for (dear, cheap, at) in [(b, a, b_dearer), (a, b, a_dearer)] {
        if !at.is_empty() {
            out.push(format!("{dear} needed more CPU than {cheap} at {}.", listed(&at)));
        }
    }
}

/// Ratios below this are equal in words: they would be "0%".
pub(crate) const ALIKE: f64 = 1.0005;

/// How far the figures reach.
pub(crate) fn caution(study: &Study) -> String {
    // Exports of other versions may have no subjects in their plan.
    let command = study.plan.measured_by().unwrap_or("plimsoll check");
    format!(
        "These are ratios of single runs, so their noise is unknown. To estimate it, measure with {command}."
    )
}

/// How the figures were made, as far as it is known.
pub(crate) fn method(shown: &Shown<'_>) -> Vec<String> {
    let mut sentences = vec![
        "Figures of another tool, as it reported them; several runs of one kind are averaged (geometric \
         mean). Their order and other load are unknown, so they have no intervals and no verdicts."
            .to_owned(),
    ];
    if !is_of_paths(shown.study) {
        sentences.push(
            "Latency is fio's completion latency (clat), which begins when the operation is submitted. CPU is \
             the CPU time of fio's jobs: its percentage of one job's time, times the time of all jobs."
                .to_owned(),
        );
    }
    let mut files: Vec<String> = Vec::new();
    for run in shown.study.trials.iter().filter_map(|trial| trial.imported.as_ref()) {
        let file = printable(&run.file);
        if files.len() < 8 && !files.contains(&file) {
            files.push(file);
        }
    }
    if !files.is_empty() {
        sentences.push(format!("Read from {}.", listed(&files)));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_faster_one() {
        let sentence = |by, estimate, runs| {
            let zero = (false, false);
            let ratio = Ratio { blocks: runs, estimate, interval: None, zero, seen: None };
            faster(Two { a: "NFS", b: "SMB", by }, &ratio)
        };
        let words = |estimate, runs| sentence(Compared::Rate, estimate, runs);
        // Random reads of jonfk2024: 7334 and 5513 a second. Not "25% slower".
        assert_eq!(
            words(5513.0 / 7334.0, 2),
            "NFS is 33% faster than SMB (ratio of single runs, no interval)"
        );
        assert_eq!(words(3.1, 5), "SMB is 210% faster than NFS (ratio of 5 runs, no interval)");
        assert!(words(1.0001, 2).contains("equally fast"));
        // Less of a time is faster.
        assert!(sentence(Compared::Time, 0.75, 2).starts_with("SMB is 33% faster than NFS"));
        assert!(sentence(Compared::Amount, 0.75, 2).starts_with("NFS is 33% higher than SMB"));
    }
}
