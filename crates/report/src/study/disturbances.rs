//! What others did to hosts during trials: a warning for each host, with the effect on the figures first, and
//! each of its resources with its own trials.

use super::warnings::in_brief;
use super::{Shown, speed};
use crate::compared::Compared;
use crate::date::utc;
use crate::document::Warning;
use crate::figure::{BANDWIDTH, BITRATE};
use crate::measure::is_of_paths;
use crate::text::{counted, listed};
use crate::verdict::percent;
use plimsoll_explain::{Claim, Pair};
use plimsoll_model::{Cell, Flag, HostName, HostResource, Metric, Outcome, Severity, Study, Trial};
use plimsoll_stats::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// A trial that is slower by less is not called slower.
const WORTH_SAYING: f64 = 0.05;

/// What others did to a host, by resource.
struct Disturbed<'a> {
    host: &'a HostName,
    /// The trials, and the most that was used per second.
    resources: BTreeMap<HostResource, (Vec<&'a Trial>, f64)>,
}

/// A warning for each host that others used during trials, the host with the most trials first. One without any effect on
/// the figures is a note.
pub(crate) fn warnings(shown: &Shown<'_>) -> Vec<(Severity, Warning)> {
    hosts(shown).iter().map(|host| host.warning(shown)).collect()
}

/// Busy share of a host in an idle window from which its figures are hardly its own.
pub(super) const BUSY: f64 = 0.3;
/// Share of trials that others slowed down from which the study is theirs as well.
const MANY: f64 = 0.1;

/// The other work that matters for the whole study, as a clause, and where it was: "this machine was 96% busy with other
/// work". `None` of what slowed few trials down.
pub(crate) fn heavy(shown: &Shown<'_>) -> Option<(String, String)> {
    let flags = &shown.study.flags;
    let traffic = other_traffic(shown);
    // It is the link that a path is measured for.
    if is_of_paths(shown.study) && traffic.is_some() {
        return traffic;
    }
    let busiest = flags.iter().filter_map(|flag| match flag {
        Flag::BusyBaseline { host, busy, .. }
            if *busy >= BUSY && idle_windows_matter(shown, host) =>
        {
            Some((host, *busy))
        }
        _ => None,
    });
    // Of equals the first, which the warnings name as well.
    if let Some((host, busy)) = busiest.reduce(|a, b| if b.1 > a.1 { b } else { a }) {
        let busy = percent((100.0 * busy).round() / 100.0);
        return Some((format!("{} was {busy} busy with other work", place(host)), place(host)));
    }
    let all = shown.study.trials.len();
    let slowed = hosts(shown)
        .into_iter()
        .find(|host| host.trials().len() as f64 > MANY * all as f64 && host.slows(shown));
    if let Some(host) = slowed {
        let trials = host.trials().len();
        let clause =
            format!("other work used {} during {trials} of {all} trials", place(host.host));
        return Some((clause, place(host.host)));
    }
    let busy_raid = || {
        let host = flags.iter().find_map(|flag| match flag {
            Flag::BusyRaid { host, .. } => Some(host),
            _ => None,
        })?;
        Some((format!("other work used {}", place(host)), place(host)))
    };
    traffic.or_else(busy_raid)
}

/// The most other traffic of a host in its idle windows, and where: "other network traffic took 276 Mbit/s on this
/// machine".
fn other_traffic(shown: &Shown<'_>) -> Option<(String, String)> {
    let seen = shown.study.flags.iter().filter_map(|flag| match flag {
        Flag::OtherTraffic { host, bytes_per_second, .. } => Some((host, *bytes_per_second)),
        _ => None,
    });
    let (host, most) = seen.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    // In the unit of the figures.
    let unit = if is_of_paths(shown.study) { BITRATE } else { BANDWIDTH };
    let (rate, host_name) = (unit.value(most), super::hosts::name(host));
    let clause = format!("other network traffic took {rate} on {host_name}");
    Some((clause, place(host)))
}

/// Whether the other work that idle windows of a host showed matters for an answer: it moved the figure of a row by the
/// margin, no trial is without it, or nothing could be decided. `false` of a host without such work.
pub(super) fn idle_windows_matter(shown: &Shown<'_>, host: &HostName) -> bool {
    if !is_busy_anyway(shown.study, host) {
        return false;
    }
    let claims = shown.findings.workloads.iter().flat_map(|found| &found.pairs);
    let mut claims = claims.filter_map(|pair| pair.claim.as_ref()).peekable();
    let is_open = |claim: &Claim| matches!(claim.verdict, None | Some(Verdict::NotResolved(_)));
    let none_decided = claims.peek().is_some() && claims.all(is_open);
    let busy = |trial: &Trial| idle_share(trial, host).is_none_or(|busy| busy >= BUSY);
    none_decided || moves_figures(shown, &busy)
}

/// Share of the time of a host's cores that other work took in the idle window before a trial.
fn idle_share(trial: &Trial, host: &HostName) -> Option<f64> {
    let load = trial.loads.iter().find(|load| load.host == *host)?;
    let cores = load.cores.len().max(load.cores_busy.len());
    (cores > 0).then(|| load.idle_baseline / cores as f64)
}

/// Whether the figure of a row differs by the margin without these trials, or has no other trials.
fn moves_figures(shown: &Shown<'_>, disturbed: &dyn Fn(&Trial) -> bool) -> bool {
    let margin = shown.study.plan.design.margin.ln_1p();
    let mut rows: BTreeMap<Cell, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for trial in &shown.study.trials {
        let Some(pace) = pace(shown, trial) else { continue };
        let (all, quiet) = rows.entry(trial.cell).or_default();
        all.push(pace.ln());
        quiet.extend(Some(pace.ln()).filter(|_| !disturbed(trial)));
    }
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    rows.values().any(|(all, quiet)| quiet.is_empty() || mean(quiet) - mean(all) >= margin)
}

/// Whether a host was found busy before or between the blocks, which explains what was seen in trials.
pub(super) fn is_busy_anyway(study: &Study, host: &HostName) -> bool {
    let same = |flag: &Flag| matches!(flag, Flag::BusyBaseline { host: own, .. } if own == host);
    study.flags.iter().any(same)
}

/// The hosts that others slowed down.
pub(crate) fn slowed<'a>(shown: &Shown<'a>) -> Vec<&'a HostName> {
    let hosts = hosts(shown).into_iter().filter(|host| !is_busy_anyway(shown.study, host.host));
    hosts.filter(|host| host.slows(shown)).map(|host| host.host).collect()
}

fn hosts<'a>(shown: &Shown<'a>) -> Vec<Disturbed<'a>> {
    let mut hosts: Vec<Disturbed<'_>> = Vec::new();
    for trial in &shown.study.trials {
        for flag in &trial.result.flags {
            let Flag::OtherLoad { host, resource, per_second } = flag else { continue };
            let place = hosts.iter().position(|known| known.host == host).unwrap_or_else(|| {
                hosts.push(Disturbed { host, resources: BTreeMap::new() });
                hosts.len() - 1
            });
            let (trials, most) = hosts[place].resources.entry(*resource).or_default();
            trials.push(trial);
            *most = most.max(*per_second);
        }
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(host.trials().len()));
    hosts
}

/// Whether others used a host during a trial, or something held it up.
fn is_disturbed(trial: &Trial) -> bool {
    let disturbs = |flag: &Flag| matches!(flag, Flag::OtherLoad { .. } | Flag::FarSlower { .. });
    trial.result.flags.iter().any(disturbs)
}

impl<'a> Disturbed<'a> {
    /// Every trial once, in its order.
    fn trials(&self) -> Vec<&'a Trial> {
        let mut all: Vec<&Trial> =
            self.resources.values().flat_map(|(trials, _)| trials.iter().copied()).collect();
        all.sort_by_key(|trial| trial.number);
        all.dedup_by_key(|trial| trial.number);
        all
    }

    /// Whether it is a namespace of a lab.
    fn is_namespace(&self, shown: &Shown<'_>) -> bool {
        let facts = shown.study.hosts.iter().find(|facts| facts.name == *self.host);
        facts
            .and_then(|facts| facts.lab.as_ref())
            .is_some_and(|lab| lab.is_namespace(self.host.name()))
    }

    /// Whether others slowed these trials down by so much that a figure differs without them.
    fn slows(&self, shown: &Shown<'_>) -> bool {
        let trials = self.trials();
        let is_own = |trial: &Trial| trials.iter().any(|own| own.number == trial.number);
        effect(shown, &trials).1 && moves_figures(shown, &is_own)
    }

    /// What others used of a resource: "its CPU by up to 0.92 cores", "both of its cores".
    fn used(&self, shown: &Shown<'_>, resource: HostResource, most: f64) -> String {
        let facts = shown.study.hosts.iter().find(|facts| facts.name == *self.host);
        let cores = facts.map_or(0, |facts| facts.cpus);
        match (resource, cores) {
            // Threads that wait for a core count as well.
            (HostResource::Cpu, 1..) if most >= f64::from(cores) => match cores {
                1 => "its only core".to_owned(),
                2 => "both of its cores".to_owned(),
                all => format!("all {all} of its cores"),
            },
            (HostResource::Cpu, _) => format!("its CPU by up to {most:.2} cores"),
            (HostResource::Disk | HostResource::Network, _) => {
                format!("its {} by up to {}", name(resource), BANDWIDTH.value(most))
            }
        }
    }

    fn warning(&self, shown: &Shown<'_>) -> (Severity, Warning) {
        let trials = self.trials();
        let all = counted(shown.study.trials.len() as u64, "trial");
        let place = place(self.host);
        let mut resources: Vec<_> = self.resources.iter().collect();
        resources.sort_by_key(|(_, (trials, _))| std::cmp::Reverse(trials.len()));
        let words = |(resource, (own, most)): &(&HostResource, &(Vec<&Trial>, f64))| {
            let used = self.used(shown, **resource, *most);
            match own.len() == trials.len() {
                true => used,
                false => format!("{used} in {}", own.len()),
            }
        };
        let used: Vec<String> = resources.iter().map(words).collect();
        let (effect, _) = effect(shown, &trials);
        let slower = self.slows(shown);
        let what_else = match resources.first() {
            Some((HostResource::Network, _)) => "which clients and transfers used it",
            // The disk of a namespace is that of this machine, and has no part in the study.
            Some((HostResource::Disk, _)) if !self.is_namespace(shown) => {
                "whether a scrub, a backup or another client used it"
            }
            _ => "which programs and clients used it",
        };
        let names: Vec<String> = resources.iter().map(|(of, _)| name(**of).to_owned()).collect();
        let subject = format!("{} of {all}{}", trials.len(), works(shown, &trials));
        let [mut brief, mut text] =
            [&listed(&names), &listed(&used)].map(|used| format!(" ({used})"));
        let mut short = effect.as_str();
        if let Some((which, count)) = only_in_verdicts(shown, &trials) {
            short = short.strip_suffix(THAN).unwrap_or(short);
            brief += &format!(". Figures leave {which} out, verdicts do not");
            text += &format!(
                ". The figures leave {which} out. Verdicts compare whole blocks and count {count}: \
                 a target that slows down its own host would look faster without its slow trials"
            );
        }
        let brief = format!("{subject} {short}: other work used {place}{brief}");
        let warning = Warning {
            brief: in_brief(&brief, slower.then_some("Stop other work and run again.")),
            text: format!(
                "{subject} {effect}: other work used {place} {}{text}",
                times(shown.study, &trials)
            ),
            advice: Some(format!(
                "Check {what_else} at that time, and measure again without this load."
            )),
            // Without an effect on the figures it is no warning.
            quiet: !slower || is_busy_anyway(shown.study, self.host),
            ..Warning::default()
        };
        (if slower { Severity::Disturbance } else { Severity::Note }, warning)
    }
}

/// Which of these trials the figures leave out although verdicts count them, as words after "leave" and after "count";
/// `None` without any.
fn only_in_verdicts(shown: &Shown<'_>, trials: &[&Trial]) -> Option<(String, &'static str)> {
    let is_left_out = |cell: Cell| {
        shown.findings.workloads.iter().any(|found| {
            let is_apart = found.cells.iter().any(|of| {
                of.cell == cell && of.disturbed.as_ref().is_some_and(|disturbed| disturbed.apart)
            });
            is_apart && found.pairs.iter().any(|pair| counts_more(pair, cell))
        })
    };
    match (trials.iter().filter(|trial| is_left_out(trial.cell)).count(), trials.len()) {
        (0, _) => None,
        (1, 1) => Some(("it".to_owned(), "it")),
        (left_out, all) if left_out == all => Some(("them".to_owned(), "them")),
        (left_out, _) => Some((format!("{left_out} of them"), "all of them")),
    }
}

/// Whether the verdict of a pair counts trials of this cell that its figures leave out.
fn counts_more(pair: &Pair, cell: Cell) -> bool {
    let Pair { contrast, left_out_of_figures, claim, .. } = pair;
    let is_judged = claim.is_some_and(|claim| claim.verdict.is_some());
    is_judged
        && *left_out_of_figures > 0
        && [contrast.of.cell, contrast.against.cell].contains(&cell)
}

/// A host of a lab is a part of this machine, whose disks and cores others use.
pub(crate) fn place(host: &HostName) -> String {
    match host {
        HostName::Lab { .. } => format!("the machine of {}", super::hosts::name(host)),
        host => super::hosts::name(host),
    }
}

/// Kinds of work that are named as disturbed.
const NAMED: usize = 2;

/// " (random read)": the kinds of work of these trials, where they are few.
fn works(shown: &Shown<'_>, trials: &[&Trial]) -> String {
    let mut works: Vec<u16> = trials.iter().map(|trial| trial.cell.workload).collect();
    works.sort_unstable();
    works.dedup();
    let all = shown.study.plan.workloads.len();
    if works.len() > NAMED || works.len() == all {
        return String::new();
    }
    let names: Vec<String> = works.into_iter().map(|work| shown.names.workload(work)).collect();
    format!(" ({})", listed(&names))
}

fn name(resource: HostResource) -> &'static str {
    match resource {
        HostResource::Cpu => "CPU",
        HostResource::Disk => "disk",
        HostResource::Network => "network",
    }
}

/// What trials of the same work are compared with; goes without saying where room is short.
const THAN: &str = " than at other times";

/// What it did to the figures of these trials, and whether that is worth a place on any screen: "were 22–61%
/// slower than at other times".
fn effect(shown: &Shown<'_>, trials: &[&Trial]) -> (String, bool) {
    let usual: BTreeMap<Cell, f64> = trials
        .iter()
        .map(|trial| trial.cell)
        .collect::<BTreeSet<Cell>>()
        .into_iter()
        .filter_map(|cell| {
            let same = shown.study.trials.iter().filter(|trial| trial.cell == cell);
            let quiet = same.filter(|trial| !is_disturbed(trial));
            let logs: Vec<f64> =
                quiet.filter_map(|trial| pace(shown, trial)).map(f64::ln).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            (!logs.is_empty()).then(|| (cell, mean.exp()))
        })
        .collect();
    let less = |trial: &&Trial| Some(1.0 - pace(shown, trial)? / usual.get(&trial.cell)?);
    let mut less: Vec<f64> =
        trials.iter().filter_map(less).filter(|less| less.is_finite()).collect();
    less.sort_by(f64::total_cmp);
    let were = if trials.len() == 1 { "was" } else { "were" };
    let (Some(least), Some(most)) = (less.first().copied(), less.last().copied()) else {
        return ("may be slower, no other trial of the same work was undisturbed".to_owned(), true);
    };
    if most < WORTH_SAYING {
        let words =
            format!("{were} not slower than at other times (by {} at most)", percent(WORTH_SAYING));
        return (words, false);
    }
    let [low, high] = [least, most].map(|share| (100.0 * share).round());
    let range = match least >= WORTH_SAYING && low < high {
        true => format!("{low:.0}–{high:.0}%"),
        false if low < high => format!("up to {high:.0}%"),
        false => format!("{high:.0}%"),
    };
    (format!("{were} {range} slower{THAN}"), true)
}

/// How fast a complete trial went, as its work is reported: more is faster.
fn pace(shown: &Shown<'_>, trial: &Trial) -> Option<f64> {
    if trial.result.outcome != Outcome::Complete {
        return None;
    }
    let workload = shown.study.plan.workload(trial.cell)?;
    let measure = speed(workload);
    let part = trial.result.together.as_ref().or(trial.result.parts.first())?;
    let value = *part.quantities.get(&Metric::all(measure))?;
    let pace = match shown.shape(measure).compared {
        Compared::Time => 1.0 / value,
        _ => value,
    };
    (pace.is_finite() && pace > 0.0).then_some(pace)
}

/// When the first of these trials began and the last: "at 2025-10-09 08:53 UTC", "from … to … UTC".
fn times(study: &Study, trials: &[&Trial]) -> String {
    let (Some(first), Some(last)) = (trials.first(), trials.last()) else { return String::new() };
    let [first, last] = [first, last].map(|trial| utc(began(study, trial)));
    let day = |time: &str| time.split(' ').next().unwrap_or_default().to_owned();
    match (first == last, day(&first) == day(&last)) {
        (true, _) => format!("at {first}"),
        (_, true) => {
            let clock = last.split_once(' ').map_or(last.clone(), |(_, clock)| clock.to_owned());
            format!("from {} to {clock}", first.trim_end_matches(" UTC"))
        }
        _ => format!("from {} to {last}", first.trim_end_matches(" UTC")),
    }
}

/// When a trial began, in seconds since 1970. The time that a study was not running is not part of its seconds.
fn began(study: &Study, trial: &Trial) -> u64 {
    let continued = study.flags.iter().rev().find_map(|flag| match flag {
        Flag::Continued { unix_seconds, block } if trial.block >= Some(*block) => {
            let first = study.trials.iter().find(|trial| trial.block >= Some(*block))?;
            Some((*unix_seconds, first.started_seconds))
        }
        _ => None,
    });
    let (origin, from) = continued.unwrap_or((study.started_unix_seconds, 0.0));
    origin.saturating_add((trial.started_seconds - from).max(0.0) as u64)
}
