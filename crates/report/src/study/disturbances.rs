//! What others did to hosts during trials: a warning for each host, with the effect on the figures first, and
//! each of its resources with its own trials.

use super::warnings::in_brief;
use super::{Shown, speed};
use crate::date::utc;
use crate::document::Warning;
use crate::figure::BANDWIDTH;
use crate::measure::Compared;
use crate::text::{counted, listed, printable};
use crate::verdict::percent;
use plimsoll_model::{Cell, Flag, HostResource, Metric, Outcome, Severity, Study, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// A trial that is slower by less is not called slower.
const WORTH_SAYING: f64 = 0.05;

/// What others did to a host, by resource.
struct Disturbed<'a> {
    host: &'a str,
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
    let busiest = flags.iter().filter_map(|flag| match flag {
        Flag::BusyBaseline { host, busy, .. } if *busy >= BUSY => Some((host, *busy)),
        _ => None,
    });
    // Of equals the first, which the warnings name as well.
    if let Some((host, busy)) = busiest.reduce(|a, b| if b.1 > a.1 { b } else { a }) {
        let busy = percent((100.0 * busy).round() / 100.0);
        return Some((format!("{} was {busy} busy with other work", place(host)), place(host)));
    }
    let all = shown.study.trials.len();
    let slowed = hosts(shown).into_iter().find(|host| {
        host.trials().len() as f64 > MANY * all as f64 && effect(shown, &host.trials()).1
    });
    if let Some(host) = slowed {
        let trials = host.trials().len();
        let clause = format!("others used {} during {trials} of {all} trials", place(host.host));
        return Some((clause, place(host.host)));
    }
    let other = flags.iter().find_map(|flag| match flag {
        Flag::OtherTraffic { host, .. } | Flag::BusyRaid { host, .. } => Some(host),
        _ => None,
    })?;
    Some((format!("others used {}", place(other)), place(other)))
}

/// Whether a host was found busy before or between the blocks, which explains what was seen in trials.
fn is_busy_anyway(study: &Study, host: &str) -> bool {
    let same = |flag: &Flag| matches!(flag, Flag::BusyBaseline { host: own, .. } if own == host);
    study.flags.iter().any(same)
}

/// The hosts that others slowed down.
pub(crate) fn slowed<'a>(shown: &Shown<'a>) -> Vec<&'a str> {
    let slower = |host: &Disturbed<'_>| effect(shown, &host.trials()).1;
    let hosts = hosts(shown).into_iter().filter(|host| !is_busy_anyway(shown.study, host.host));
    hosts.filter(slower).map(|host| host.host).collect()
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

    fn warning(&self, shown: &Shown<'_>) -> (Severity, Warning) {
        let trials = self.trials();
        let all = counted(shown.study.trials.len() as u64, "trial");
        let place = place(self.host);
        let mut resources: Vec<_> = self.resources.iter().collect();
        resources.sort_by_key(|(_, (trials, _))| std::cmp::Reverse(trials.len()));
        let words = |(resource, (own, most)): &(&HostResource, &(Vec<&Trial>, f64))| {
            let most = match resource {
                HostResource::Cpu => format!("{most:.2} cores"),
                HostResource::Disk | HostResource::Network => BANDWIDTH.value(*most),
            };
            let name = name(**resource);
            match own.len() == trials.len() {
                true => format!("its {name} by up to {most}"),
                false => format!("its {name} by up to {most} in {}", own.len()),
            }
        };
        let used: Vec<String> = resources.iter().map(words).collect();
        let (effect, slower) = effect(shown, &trials);
        let what_else = match resources.first() {
            Some((HostResource::Network, _)) => "which clients and transfers used it",
            Some((HostResource::Disk, _)) => "whether a scrub, a backup or another client used it",
            _ => "which programs and clients used it",
        };
        let names: Vec<String> = resources.iter().map(|(of, _)| name(**of).to_owned()).collect();
        let effect = format!("{} of {all}{} {effect}", trials.len(), works(shown, &trials));
        let brief = format!("{effect}: others used {place} ({})", listed(&names));
        let warning = Warning {
            brief: in_brief(&brief, slower.then_some("Stop that, then run again.")),
            text: format!(
                "{effect}: others used {place} {} ({})",
                times(shown.study, &trials),
                listed(&used)
            ),
            advice: Some(format!("See {what_else} then, and measure again without.")),
            // Without an effect on the figures it is no warning.
            quiet: !slower || is_busy_anyway(shown.study, self.host),
            ..Warning::default()
        };
        (if slower { Severity::Disturbance } else { Severity::Note }, warning)
    }
}

/// A host of a lab is a part of this machine, whose disks and cores others use.
pub(crate) fn place(host: &str) -> String {
    match host {
        "local" => "this machine".to_owned(),
        host if host.starts_with("lab://") => format!("the machine of {}", printable(host)),
        host => printable(host),
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

/// What it did to the figures of these trials, and whether that is worth a place on any screen: "were 22–61%
/// slower than the same work at other times".
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
        let words = format!(
            "{were} not slower than the same work at other times (by {} at most)",
            percent(WORTH_SAYING)
        );
        return (words, false);
    }
    let [low, high] = [least, most].map(|share| (100.0 * share).round());
    let range = match least >= WORTH_SAYING && low < high {
        true => format!("{low:.0}–{high:.0}%"),
        false if low < high => format!("up to {high:.0}%"),
        false => format!("{high:.0}%"),
    };
    (format!("{were} {range} slower than the same work at other times"), true)
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
