//! Where the CPU time of each watched host went: operation by class, and what an operation cost.

use super::{Shown, speed};
use crate::columns::Columns;
use crate::device::amount;
use crate::figure::{CPU_PER_100K, CPU_PER_GB, Kind};
use crate::text::{capital, printable};
use crate::verdict::percent;
use plimsoll_explain::{HostFindings, HostWork, SlowerInterface};
use plimsoll_model::units::three_digits;
use plimsoll_model::{CpuTimes, HostFacts, HostName, Measure, Outcome, Study, WatchedBy};
use plimsoll_stats::interval::Interval;

/// "CPU of this machine", "CPU of ssh://root@nas".
pub(crate) fn heading(host: &HostFindings) -> String {
    format!("CPU of {}", name(&host.host))
}

/// A host in words.
pub(crate) fn name(host: &HostName) -> String {
    match host {
        HostName::Local => "this machine".to_owned(),
        other => printable(&other.to_string()),
    }
}

/// Whether any host was monitored.
pub(crate) fn are_monitored(study: &Study) -> bool {
    study.trials.iter().any(|trial| {
        !trial.loads.is_empty() || trial.points.iter().any(|point| !point.loads.is_empty())
    })
}

type Class = fn(&CpuTimes) -> f64;

/// The classes as top(1) and the published table call them.
const CLASSES: [(&str, Class); 8] = [
    ("usr", |cpu| cpu.user),
    ("sys", |cpu| cpu.system),
    ("nic", |cpu| cpu.nice),
    ("idle", |cpu| cpu.idle),
    ("io", |cpu| cpu.iowait),
    ("irq", |cpu| cpu.irq),
    ("sirq", |cpu| cpu.softirq),
    ("steal", |cpu| cpu.steal),
];
/// Time taken by a hypervisor that is worth a column, as a share.
const STEAL: f64 = 0.0005;
/// A class that is worth a word, as a share.
const WORTH_SAYING: f64 = 0.01;
/// Classes that a cost is split into.
const MOST_CLASSES: usize = 3;
/// What "<" means in a column of costs.
pub(super) const LESS_THAN: &str =
    "\"<\": not distinguishable from idle; upper end of the interval.";
/// A cell with nothing to say.
const NOTHING: &str = "–";

/// What work cost the host, and the interval of that.
type Cost = fn(&HostWork) -> (Option<CpuTimes>, Option<Interval>);

/// In place of a cost that may as well be none.
const AS_IDLE: &str = "not distinguishable from idle";

/// A row for each workload and target.
fn rows(shown: &Shown<'_>, host: &HostFindings) -> Vec<String> {
    let row = |work: &HostWork| {
        let name = capital(&shown.names.workload(work.cell.workload));
        match shown.names.setups() {
            1 => name,
            _ => format!("{name}, {}", shown.names.setup(work.cell)),
        }
    };
    host.work.iter().map(row).collect()
}

/// A column for each class in percent of all cores, as in the published table.
pub(crate) fn classes(shown: &Shown<'_>, host: &HostFindings) -> Columns {
    let percent = |share: &dyn Fn(&HostWork) -> f64| -> Vec<String> {
        host.work.iter().map(|work| format!("{:.1}", 100.0 * share(work))).collect()
    };
    let stolen = host.work.iter().any(|work| work.shares.steal > STEAL);
    let shown_here = CLASSES.iter().filter(|(heading, _)| stolen || *heading != "steal");
    let mut columns: Vec<(String, Vec<String>)> = shown_here
        .map(|(heading, class)| ((*heading).to_owned(), percent(&|work| class(&work.shares))))
        .collect();
    columns.push(("busiest\ncore".to_owned(), percent(&|work| work.busiest_core)));
    if host.work.iter().any(|work| work.link.is_some()) {
        let share = |work: &HostWork| work.link.as_ref().map(|link| 100.0 * link.share);
        let cell = |work| share(work).map_or(NOTHING.to_owned(), |share| format!("{share:.1}"));
        columns.push(("busiest\nlink".to_owned(), host.work.iter().map(cell).collect()));
    }
    Columns { rows: rows(shown, host), columns }
}

/// What an operation and a gigabyte cost, and in which classes.
pub(crate) fn costs(shown: &Shown<'_>, host: &HostFindings) -> Columns {
    let mut columns = Vec::new();
    let costs: [(&str, Kind, Cost); 2] = [
        ("CPU per\noperation", CPU_PER_100K, |work| (work.per_operation, work.operation_interval)),
        ("CPU\nper GB", CPU_PER_GB, |work| (work.per_byte, work.byte_interval)),
    ];
    for (heading, kind, of) in costs {
        let cells = host.work.iter().map(|work| match (of(work), work.above_idle) {
            ((Some(cost), _), true) => kind.value(cost.busy().0),
            ((Some(_), interval), false) => at_most(kind, interval),
            ((None, _), _) => NOTHING.to_owned(),
        });
        columns.push((heading.to_owned(), cells.collect()));
    }
    columns.push((
        "by class".to_owned(),
        host.work.iter().map(|work| by_class(shown, work)).collect(),
    ));
    columns.retain(|(_, cells): &(String, Vec<String>)| cells.iter().any(|cell| cell != NOTHING));
    Columns { rows: rows(shown, host), columns }
}

/// "< 3.21 s/GB", the upper end of an interval that reaches down to nothing.
pub(super) fn at_most(kind: Kind, interval: Option<Interval>) -> String {
    match interval.filter(|interval| interval.high > 0.0) {
        Some(interval) => format!("< {}", kind.value(interval.high)),
        None => NOTHING.to_owned(),
    }
}

/// What the cost is made of, in the unit of the workload's speed: "sys 3.27, usr 1.31".
fn by_class(shown: &Shown<'_>, work: &HostWork) -> String {
    let bytes =
        shown.study.plan.workload(work.cell).is_none_or(|w| speed(w) == Measure::THROUGHPUT);
    let (cost, kind) = match bytes {
        true => (work.per_byte, CPU_PER_GB),
        false => (work.per_operation, CPU_PER_100K),
    };
    let Some(cost) = cost else { return NOTHING.to_owned() };
    if !work.above_idle {
        return AS_IDLE.to_owned();
    }
    let (unit, _) = kind.unit(1.0);
    let all = cost.busy().0;
    let mut classes: Vec<(&str, f64)> =
        CLASSES.iter().map(|(name, class)| (*name, class(&cost))).collect();
    // A class below its baseline shows by how much the baseline is off, and that others may be too.
    let noise = classes.iter().map(|(_, seconds)| -seconds).fold(WORTH_SAYING * all, f64::max);
    classes.retain(|(_, seconds)| *seconds > noise);
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let classes: Vec<String> = classes
        .iter()
        .take(MOST_CLASSES)
        .map(|(name, seconds)| format!("{name} {}", three_digits(seconds / unit)))
        .collect();
    if classes.is_empty() { NOTHING.to_owned() } else { classes.join(", ") }
}

/// What processors are busy with, by shares of their time, the largest first: "sys 59%".
pub(crate) fn busy_classes(shares: &CpuTimes) -> Vec<String> {
    let mut classes: Vec<(&str, f64)> = CLASSES
        .iter()
        .filter(|(name, _)| !["idle", "io", "steal"].contains(name))
        .map(|(name, class)| (*name, class(shares)))
        .filter(|(_, share)| *share >= WORTH_SAYING)
        .collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    classes.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect()
}

/// At which work each host but the clients was busiest, and with what.
pub(crate) fn busiest(out: &mut Vec<String>, shown: &Shown<'_>) {
    let is_other =
        |host: &&HostFindings| shown.study.plan.others().any(|other| other.host == host.host);
    for host in shown.findings.hosts.iter().filter(is_other) {
        let busy = |work: &HostWork| work.shares.busy().0;
        let Some(work) = host.work.iter().max_by(|a, b| busy(a).total_cmp(&busy(b))) else {
            continue;
        };
        let on = match shown.names.setups() {
            1 => String::new(),
            _ => format!(" on {}", shown.names.setup(work.cell)),
        };
        let classes = busy_classes(&work.shares);
        let of_them = match classes.is_empty() {
            true => String::new(),
            false => format!(" ({})", classes.join(", ")),
        };
        out.push(format!(
            "{} was busiest at {}{on}: {} of all its cores{of_them}, its busiest core {}.",
            if host.host == HostName::Local {
                capital(&name(&host.host))
            } else {
                name(&host.host)
            },
            shown.names.workload(work.cell.workload),
            percent(busy(work)),
            percent(work.busiest_core),
        ));
    }
}

/// At which work the link of each host was fullest, and how full.
pub(crate) fn fullest_links(out: &mut Vec<String>, shown: &Shown<'_>) {
    for host in &shown.findings.hosts {
        let links = host.work.iter().filter_map(|work| Some((work, work.link.as_ref()?)));
        let fullest = links.max_by(|a, b| a.1.share.total_cmp(&b.1.share));
        let Some((work, link)) = fullest.filter(|(_, link)| link.share >= WORTH_SAYING) else {
            continue;
        };
        let on = match shown.names.setups() {
            1 => String::new(),
            _ => format!(" on {}", shown.names.setup(work.cell)),
        };
        out.push(format!(
            "The link of {} ({}, {}) was at most {} busy, at {}{on}.",
            name(&host.host),
            printable(&link.interface),
            amount::link(link.bits_per_second),
            percent(link.share),
            shown.names.workload(work.cell.workload),
        ));
    }
}

/// "The traffic of this machine went over eth0 (100 Mbit/s, 95% full); eth1 (1 Gbit/s) was idle."
pub(crate) fn slower_interfaces(shown: &Shown<'_>) -> Vec<String> {
    let sentence = |found: &SlowerInterface| {
        let (used, rate, share) = &found.used;
        let (idle, faster) = &found.idle;
        let end = if found.is_path { "other end" } else { "server" };
        let then = match found.leads_to_other_end {
            true => format!("Use the {end}'s address on the faster link, or add a route over it."),
            false => format!(
                "If both lead to the {end}, use its address on the faster link, or add a route over it."
            ),
        };
        format!(
            "The traffic of {} went over {} ({}, up to {} busy), while {} ({}) was idle. {then}",
            name(&found.host),
            printable(used),
            amount::link(*rate),
            percent(*share),
            printable(idle),
            amount::link(*faster)
        )
    };
    plimsoll_explain::slower_interfaces(shown.study).iter().map(sentence).collect()
}

/// How to read the table, what watching cost, and what the kernel's accounting cannot see.
pub(crate) fn remarks(shown: &Shown<'_>, host: &HostFindings) -> Vec<String> {
    let mut remarks = vec![
        "Classes are percentages of all cores. CPU per operation and per GB: busy minus idle, all classes, \
         including warm-up and final flush."
            .to_owned(),
    ];
    if host.work.iter().any(|work| !work.above_idle) {
        remarks.push(LESS_THAN.to_owned());
    }
    let facts = shown.study.hosts.iter().find(|facts| facts.name == host.host);
    let Some(facts) = facts else { return remarks };
    if let (Some(watching), Some(by)) = (host.watching, facts.watched_by) {
        let how = match by {
            WatchedBy::Proc => "Monitoring from /proc",
            WatchedBy::Shell => "Monitoring by a shell on the host",
            WatchedBy::Probe => "Monitoring by the probe on the host",
        };
        remarks.push(format!("{how} took {} of a core.", share(watching)));
    }
    remarks.extend(accounting(facts, host));
    remarks
}

/// Why the probe did not monitor a host; a reason that trials failed for is above.
pub(crate) fn without_probe(shown: &Shown<'_>, host: &HostFindings) -> Option<String> {
    let facts = shown.study.hosts.iter().find(|facts| facts.name == host.host)?;
    let why = facts.without_probe.as_deref()?;
    let is_said = shown.study.trials.iter().any(|trial| match &trial.result.outcome {
        Outcome::Failed { failure, .. } => failure.happened.starts_with(why),
        _ => false,
    });
    let why = if is_said { "see the warnings at the top".to_owned() } else { printable(why) };
    Some(format!("The probe, which takes less CPU, could not be used: {why}."))
}

/// What tick accounting cannot see, and whether the scheduler's own clock says so.
fn accounting(facts: &HostFacts, host: &HostFindings) -> Option<String> {
    let counted = match facts.cpu_accounting.as_str() {
        "precise" | "" => return None,
        "unknown" => {
            "Its method of CPU accounting could not be read. Most kernels count by ticks, and miss work \
             that sleeps at each tick."
        }
        _ => "Its kernel counts CPU time by ticks, and misses work that sleeps at each tick.",
    };
    let check = match host.seen_and_ran {
        Some((seen, ran)) => format!(
            "by the clock of its scheduler, tasks ran on {} cores on average; the ticks counted {} busy",
            three_digits(ran),
            three_digits(seen)
        ),
        None => "its scheduler has no readable clock to check this".to_owned(),
    };
    Some(format!("{counted} {}.", capital(&check)))
}

/// "0.2%", which [`percent`] would round away.
fn share(share: f64) -> String {
    match share {
        small if small < 0.1 => format!("{}%", three_digits(100.0 * small.max(0.0))),
        large => percent(large),
    }
}
