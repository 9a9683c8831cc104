//! Whose CPU time is compared, and who needs less of it.

use super::{Shown, speed};
use crate::figure::{CPU_PER_100K, CPU_PER_GB, Kind};
use crate::measure::is_of_paths;
use crate::text::listed;
use crate::verdict::{percent, percents};
use plimsoll_explain::{CellFindings, HostWork, Levels, Pair, Ratio, WorkloadFindings};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, HostName, Measure, Metric, Target, Workload};
use plimsoll_stats::interval::Interval;

/// CPU per byte where bytes are what is moved, per operation where operations are.
pub(super) fn unit(workload: &Workload) -> Kind {
    match speed(workload) {
        Measure::THROUGHPUT => CPU_PER_GB,
        _ => CPU_PER_100K,
    }
}

/// plimsoll's own client is all that an NFS or SMB target costs here beyond the kernel's TCP; what
/// a mounted file system costs is nobody's process and only seen machine-wide (method, section 5).
pub(super) fn measure(shown: &Shown<'_>, cell: Cell) -> Measure {
    let bytes = shown.study.plan.workload(cell).is_none_or(|w| speed(w) == Measure::THROUGHPUT);
    // What fio says of itself is the CPU of its own processes; netperf says that of both machines.
    let is_tool = shown.findings.imported && !is_of_paths(shown.study);
    match (is_tool || is_own_client(shown, cell), bytes) {
        (true, true) => Measure::CLIENT_CPU_PER_BYTE,
        (true, false) => Measure::CLIENT_CPU_PER_OP,
        (false, true) => Measure::MACHINE_CPU_PER_BYTE,
        (false, false) => Measure::MACHINE_CPU_PER_OP,
    }
}

/// The same of the subject's own hosts, where they were watched.
pub(super) fn server_measure(workload: &Workload) -> Measure {
    match speed(workload) {
        Measure::THROUGHPUT => Measure::SERVER_CPU_PER_BYTE,
        _ => Measure::SERVER_CPU_PER_OP,
    }
}

/// Whether a host's CPU for this work, busy minus idle, may as well be none. plimsoll's own client
/// is measured by itself: it is never.
pub(super) fn is_as_idle(shown: &Shown<'_>, cell: Cell, levels: &Levels, metric: Metric) -> bool {
    let of_server = match metric.measure {
        Measure::MACHINE_CPU_PER_BYTE | Measure::MACHINE_CPU_PER_OP => false,
        Measure::SERVER_CPU_PER_BYTE | Measure::SERVER_CPU_PER_OP => true,
        _ => return false,
    };
    let Some(level) = levels.get(&metric) else { return false };
    if level.estimate <= 0.0 || level.interval.is_some_and(|interval| interval.low <= 0.0) {
        return true;
    }
    let work = work_of(shown, cell, of_server);
    // One trial has no interval: its host's baseline tells. Of several hosts one is enough.
    level.interval.is_none() && !work.is_empty() && work.iter().all(|work| !work.above_idle)
}

/// Whether other work kept a host so busy that its CPU for this work, busy minus idle, says nothing.
pub(super) fn is_busy_anyway(shown: &Shown<'_>, cell: Cell, metric: Metric) -> bool {
    let of_server = match metric.measure {
        Measure::MACHINE_CPU_PER_BYTE | Measure::MACHINE_CPU_PER_OP => false,
        Measure::SERVER_CPU_PER_BYTE | Measure::SERVER_CPU_PER_OP => true,
        _ => return false,
    };
    work_of(shown, cell, of_server).iter().any(|work| work.busy_anyway)
}

/// This work on the hosts of its server, or on the client.
fn work_of<'a>(shown: &'a Shown<'_>, cell: Cell, of_server: bool) -> Vec<&'a HostWork> {
    let client = shown.study.plan.client();
    let concerns = |host: &HostName| match of_server {
        false => host == client,
        true => {
            let mut far_ends = shown.study.plan.far_ends(usize::from(cell.subject));
            far_ends.any(|far| far.host == *host)
        }
    };
    let hosts = shown.findings.hosts.iter().filter(|host| concerns(&host.host));
    hosts.flat_map(|host| &host.work).filter(|work| work.cell == cell).collect()
}

fn is_own_client(shown: &Shown<'_>, cell: Cell) -> bool {
    let target = shown.study.plan.target(usize::from(cell.subject));
    !matches!(target, None | Some(Target::Directory(_)))
}

/// Whose CPU time the column holds, and for how much work.
pub(crate) fn owners(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<String> {
    let measured = |c: &&CellFindings| c.levels.contains_key(&Metric::all(measure(shown, c.cell)));
    if shown.findings.imported {
        let any = found.cells.iter().any(|cell| measured(&cell));
        let owners = match is_of_paths(shown.study) {
            true => "CPU: the whole machine of the client and of the server, other work included.",
            false => "CPU: jobs of fio, user and system.",
        };
        return any.then(|| owners.to_owned());
    }
    let with_cpu = |own: bool| -> Vec<String> {
        let of_owner = |c: &&CellFindings| is_own_client(shown, c.cell) == own;
        let cells = found.cells.iter().filter(of_owner).filter(measured);
        cells.map(|c| shown.names.setup(c.cell)).collect()
    };
    let (own, machine) = (with_cpu(true), with_cpu(false));
    let mut parts = Vec::new();
    if !own.is_empty() {
        parts.push(format!("plimsoll's client ({})", listed(&own)));
    }
    if !machine.is_empty() {
        let client = super::hosts::name(shown.study.plan.client());
        parts.push(format!("{client}, busy minus idle ({})", listed(&machine)));
    }
    let server = Metric::all(server_measure(&found.workload));
    if found.cells.iter().any(|c| c.levels.contains_key(&server)) {
        parts.push("server CPU: monitored hosts of each target, busy minus idle".to_owned());
    }
    let as_idle = |c: &CellFindings| {
        c.levels.keys().any(|metric| is_as_idle(shown, c.cell, &c.levels, *metric))
    };
    let note = match found.cells.iter().any(as_idle) {
        true => format!(" {}", super::hosts::LESS_THAN),
        false => String::new(),
    };
    let per = match speed(&found.workload) {
        Measure::THROUGHPUT => "GB",
        _ => "100,000 operations",
    };
    (!parts.is_empty()).then(|| format!("CPU time per {per}: {}.{note}", parts.join("; ")))
}

/// CPU time of the machines for all parts that run at once, of each setup: "CPU for all parts together, nas: this
/// machine 0.155 s/GB [0.150–0.160], server below 0.020 s/GB (busy minus idle)."
pub(crate) fn of_all_parts(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    let plan = &shown.study.plan;
    let client = match plan.clients().count() {
        0 | 1 => super::hosts::name(plan.client()),
        _ => "clients".to_owned(),
    };
    let machine = match speed(&found.workload) {
        Measure::THROUGHPUT => Measure::MACHINE_CPU_PER_BYTE,
        _ => Measure::MACHINE_CPU_PER_OP,
    };
    let kind = unit(&found.workload);
    let of_cell = |cell: &CellFindings| {
        let figure = |whose: &str, measure: Measure| {
            let metric = Metric::all(measure);
            let level = cell.whole.get(&metric)?;
            if is_busy_anyway(shown, cell.cell, metric) {
                return None;
            }
            if is_as_idle(shown, cell.cell, &cell.whole, metric) {
                let most =
                    level.interval.map(|interval| interval.high).filter(|most| *most > 0.0)?;
                return Some(format!("{whose} below {}", kind.value(most)));
            }
            Some(format!("{whose} {}", kind.with_ends(level.estimate, level.interval)))
        };
        let figures = [figure(&client, machine), figure("server", server_measure(&found.workload))];
        let figures: Vec<String> = figures.into_iter().flatten().collect();
        let setup = shown.names.setup(cell.cell);
        (!figures.is_empty()).then(|| {
            format!(
                "CPU for all parts together, {setup}: {} (busy minus idle).",
                figures.join(", ")
            )
        })
    };
    found.cells.iter().filter_map(of_cell).collect()
}

/// The ratio B/A of the CPU that the same work needs, where it is the same kind of CPU:
/// plimsoll's client against a whole machine would compare two different things.
pub(super) fn ratio<'a>(shown: &Shown<'_>, pair: &'a Pair) -> Option<&'a Ratio> {
    let of_b = measure(shown, pair.contrast.of.cell);
    let same = of_b == measure(shown, pair.contrast.against.cell);
    same.then(|| pair.ratios.get(&Metric::all(of_b)))?
}

/// B against A: who needs more CPU for the same work, by the interval of each workload by itself. No
/// verdict: verdicts are on what the contrasts say (method, section 5).
pub(crate) fn summary(
    out: &mut Vec<String>,
    shown: &Shown<'_>,
    (a, b): (&str, &str),
    pairs: &[&Pair],
) {
    let (mut more_b, mut more_a, mut open) = (Vec::new(), Vec::new(), Vec::new());
    let mut zero: Vec<(String, Vec<String>)> = Vec::new();
    for pair in pairs {
        let Some(ratio) = ratio(shown, pair) else { continue };
        let name = shown.names.workload(pair.contrast.of.cell.workload);
        if let Some(who) = near_zero(ratio, (a, b)) {
            match zero.iter_mut().find(|(known, _)| *known == who) {
                Some((_, at)) => at.push(name),
                None => zero.push((who, vec![name])),
            }
            continue;
        }
        let Some(interval) = ratio.interval else { continue };
        let more = |ratio: Interval| format!("{name} ({} {})", more(ratio), per(shown, pair));
        if interval.low > 1.0 {
            more_b.push(more(interval));
        } else if interval.high < 1.0 {
            more_a.push(more(inverse(interval)));
        } else {
            open.push(name);
        }
    }
    for (dear, cheap, at) in [(b, a, more_b), (a, b, more_a)] {
        if !at.is_empty() {
            let at = listed(&at);
            out.push(format!("{dear} needs more CPU here than {cheap} at {at}."));
        }
    }
    if !open.is_empty() {
        let open = listed(&open);
        out.push(format!("CPU of {b} and {a} does not differ measurably at {open}."));
    }
    for (who, at) in zero {
        let at = listed(&at);
        out.push(format!("CPU of {who} is not distinguishable from zero at {at}."));
    }
}

/// What CPU is compared by: "per GB", "per operation".
pub(super) fn per(shown: &Shown<'_>, pair: &Pair) -> &'static str {
    match measure(shown, pair.contrast.of.cell) {
        Measure::CLIENT_CPU_PER_BYTE | Measure::MACHINE_CPU_PER_BYTE => "per GB",
        _ => "per operation",
    }
}

/// Whose CPU time cannot be distinguished from zero, if anybody's.
pub(super) fn near_zero(ratio: &Ratio, (a, b): (&str, &str)) -> Option<String> {
    match ratio.zero {
        (false, false) => None,
        (true, false) => Some(a.to_owned()),
        (false, true) => Some(b.to_owned()),
        (true, true) => Some(format!("{a} and {b}")),
    }
}

fn inverse(ratio: Interval) -> Interval {
    Interval { low: 1.0 / ratio.high, estimate: 1.0 / ratio.estimate, high: 1.0 / ratio.low }
}

/// "33% more [25%–42%]", "3.10 times as much [2.80–3.40]".
fn more(ratio: Interval) -> String {
    let Interval { low, estimate, high } = ratio;
    if estimate >= 2.0 {
        let ends = crate::figure::ends(low, high);
        format!("{} times as much {ends}", three_digits(estimate))
    } else {
        let by = Interval { low: low - 1.0, estimate: estimate - 1.0, high: high - 1.0 };
        format!("{} more {}", percent(by.estimate), percents(by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_always_of_the_dearer_one() {
        let ratio = Interval { low: 1.25, estimate: 4.0 / 3.0, high: 1.42 };
        assert_eq!(more(ratio), "33% more [25%–42%]");
        assert_eq!(more(inverse(inverse(ratio))), "33% more [25%–42%]");
        let ratio = Interval { low: 2.8, estimate: 3.1, high: 3.4 };
        assert_eq!(more(ratio), "3.10 times as much [2.80–3.40]");
    }
}
