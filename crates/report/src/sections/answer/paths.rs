//! A network path: a row for each kind of load, with goodput, CPU of both ends, latency and bottleneck.

use super::figures::incomplete;
use super::rows::NOTHING;
use crate::chart::Table;
use crate::figure::{BITRATE, CPU_PER_GB, RATE, SHARE, TIME};
use crate::measure::is_of_paths;
use crate::study::bottleneck::Notes;
use crate::study::{Shown, hosts, paths, stalls};
use crate::text::{capital, listed};
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, Levels, WorkloadFindings};
use plimsoll_model::{
    Cell, HostName, Limit, Measure, Metric, Outcome, Steps, StreamJob, Subject, Trial,
};
use plimsoll_stats::verdict::Verdict;

/// Headings, in the order of [`Line::cells`].
const HEADINGS: [&str; 8] = [
    "load",
    "goodput",
    "per\nsecond",
    "lost",
    "CPU s/GB\nA / B",
    "latency\np50",
    "\np99",
    "bottleneck",
];

/// Whether the study is of one path, whose loads are compared with nothing.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    is_of_paths(shown.study)
        && shown.names.setups() == 1
        && shown.study.plan.contrasts.is_empty()
        && !shown.findings.imported
}

/// A row of the table.
struct Line {
    cells: [String; 8],
}

/// Which CPU time the table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CpuOf {
    /// All of each host, less its idle baseline.
    Hosts,
    /// The processes of the probe at each end.
    Processes,
}

/// The table, without columns that have no figure.
pub(super) fn table(shown: &Shown<'_>, notes: &mut Notes) -> Table {
    let cpu_of = cpu_of(shown);
    let mut lines: Vec<Line> = Vec::new();
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            lines.extend(lines_of(shown, found, cell, cpu_of, notes));
        }
    }
    let last = HEADINGS.len() - 1;
    let shown_columns: Vec<usize> = (0..HEADINGS.len())
        .filter(|column| {
            *column == 0
                || *column == last
                || lines.iter().any(|line| line.cells[*column] != NOTHING)
        })
        .collect();
    let header = shown_columns.iter().map(|column| HEADINGS[*column].to_owned());
    let mut table = Table::new(header.collect());
    table.rows.extend(
        lines.iter().map(|line| shown_columns.iter().map(|c| line.cells[*c].clone()).collect()),
    );
    table
}

fn lines_of(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    cell: &CellFindings,
    cpu_of: CpuOf,
    notes: &mut Notes,
) -> Vec<Line> {
    let name = shown.names.workload(found.number);
    let bottleneck = paths::bottleneck(shown, cell.cell, notes);
    let bottleneck = bottleneck.unwrap_or_else(|| NOTHING.to_owned());
    let nothing = || NOTHING.to_owned();
    if cell.complete == 0 {
        let mut cells = std::array::from_fn(|_| nothing());
        cells[0] = name.replacen(" during ", " during\n", 1);
        cells[1] = incomplete(cell).unwrap_or("stopped").to_owned();
        return vec![Line { cells }];
    }
    let own = &cell.levels;
    let bitrate = |levels: &Levels, measure: Measure| {
        let level = levels.get(&Metric::all(measure));
        level.map_or_else(nothing, |level| BITRATE.within(level.estimate, level.interval))
    };
    // The rate over all time has a line of its own.
    let goodput = |measure: Measure| {
        let over_all = stalls::over_all_time(shown, cell, measure);
        bitrate(own, measure) + &over_all.replacen(' ', "\n", 1)
    };
    let latency = |measure: Measure| {
        let level = own.get(&Metric::all(measure));
        level.map_or_else(nothing, |level| TIME.value(level.estimate))
    };
    let per_second = own.get(&Metric::all(Measure::PACKETS));
    let per_second = per_second.map_or_else(nothing, |level| RATE.value(level.estimate));
    let lost = own.get(&Metric::all(StreamJob::LOSS));
    let lost = lost.map_or_else(nothing, |level| SHARE.value(level.arithmetic_mean));
    let line = |name: String, goodput: String, cpu: String, bottleneck: String| Line {
        cells: [
            name.replacen(" during ", " during\n", 1),
            goodput,
            per_second.clone(),
            lost.clone(),
            cpu,
            latency(Measure::LATENCY_P50),
            latency(Measure::LATENCY_P99),
            bottleneck,
        ],
    };
    let cpu = cpu(own, cpu_of);
    if own.contains_key(&Metric::all(Measure::GOODPUT_OUT)) {
        // One row for each direction.
        return vec![
            line(format!("{name}: out"), goodput(Measure::GOODPUT_OUT), cpu, bottleneck),
            line(format!("{name}: in"), goodput(Measure::GOODPUT_IN), nothing(), nothing()),
        ];
    }
    // Of requests under load, the goodput of the load.
    let loaded = cell.parts.get(1).map(|load| bitrate(load, Measure::THROUGHPUT));
    let goodput = loaded.unwrap_or_else(|| goodput(Measure::THROUGHPUT));
    vec![line(name, goodput, cpu, bottleneck)]
}

/// CPU time per byte, at A and at B.
fn measures(cpu_of: CpuOf) -> [Measure; 2] {
    match cpu_of {
        CpuOf::Hosts => [Measure::MACHINE_CPU_PER_BYTE, Measure::SERVER_CPU_PER_BYTE],
        CpuOf::Processes => [Measure::NEAR_CPU_PER_BYTE, Measure::FAR_CPU_PER_BYTE],
    }
}

/// Ends that need more CPU time under one of two settings with the same goodput: "TCP out is equally fast, but host A
/// needs 0.480 s/GB of CPU with X and 0.00100 s/GB with Y."
pub(super) fn equally_fast(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let mut all = Vec::new();
    if !is_of_paths(shown.study) || shown.findings.imported {
        return all;
    }
    let within = 1.0 + shown.study.plan.design.margin;
    for found in &shown.findings.workloads {
        for pair in &found.pairs {
            let verdict = pair.claim.and_then(|claim| claim.verdict);
            let is_equal = matches!(verdict, Some(Verdict::NoPracticalDifference(_)));
            if !is_equal || pair.contrast.of.metric.measure != Measure::THROUGHPUT {
                continue;
            }
            for (end, measure) in ["A", "B"].into_iter().zip(measures(cpu_of(shown))) {
                let metric = Metric::all(measure);
                let interval = pair.ratios.get(&metric).and_then(|ratio| ratio.interval);
                let differs = interval.is_some_and(|i| i.low > within || i.high < 1.0 / within);
                let needs = |cell: Cell| {
                    let own = found.cells.iter().find(|own| own.cell == cell)?;
                    let level = own.levels.get(&metric)?;
                    Some(CPU_PER_GB.value(level.estimate.max(0.0)))
                };
                let (first, second) = (pair.contrast.against.cell, pair.contrast.of.cell);
                let both = needs(first).zip(needs(second)).filter(|_| differs);
                all.extend(both.map(|(a, b)| {
                    format!(
                        "{} is equally fast, but host {end} needs {a} of CPU with {} and {b} with {}.",
                        capital(&shown.names.workload(found.number)),
                        name(first),
                        name(second)
                    )
                }));
            }
        }
    }
    all
}

/// "0.51 / 1.20".
fn cpu(levels: &Levels, cpu_of: CpuOf) -> String {
    let bare = |measure: &Measure| {
        let level = levels.get(&Metric::all(*measure))?;
        let value = CPU_PER_GB.value(level.estimate.max(0.0));
        Some(value.trim_end_matches(" s/GB").to_owned())
    };
    let ends: Vec<Option<String>> = measures(cpu_of).iter().map(bare).collect();
    match ends.iter().any(Option::is_some) {
        true => {
            let ends = ends.into_iter().map(|end| end.unwrap_or_else(|| NOTHING.to_owned()));
            ends.collect::<Vec<_>>().join(" / ")
        }
        false => NOTHING.to_owned(),
    }
}

/// CPU of the hosts if each end has its own, and both were monitored; else that of the processes.
fn cpu_of(shown: &Shown<'_>) -> CpuOf {
    let mut cells = shown.findings.workloads.iter().flat_map(|found| &found.cells);
    let known = |measure| {
        let metric = Metric::all(measure);
        move |cell: &CellFindings| cell.levels.contains_key(&metric)
    };
    let at_a = known(Measure::MACHINE_CPU_PER_BYTE);
    let at_b = known(Measure::SERVER_CPU_PER_BYTE);
    let both = cells.any(|cell| at_a(cell) && at_b(cell));
    match both && !paths::ends_share_a_machine(shown.study) {
        true => CpuOf::Hosts,
        false => CpuOf::Processes,
    }
}

/// Whether the far end is an iperf3 server.
fn is_to_iperf3(shown: &Shown<'_>) -> bool {
    let end = shown.study.plan.subjects.first();
    end.and_then(Subject::path).is_some_and(|path| matches!(path.to.host, HostName::Iperf3 { .. }))
}

/// What the columns mean, and the round trips within the streams.
pub(super) fn legend(shown: &Shown<'_>) -> Vec<String> {
    let mut legend = Vec::new();
    let path = shown.study.plan.subjects.first().and_then(Subject::path);
    let ends = path.map(|path| [&path.from.host, &path.to.host].map(hosts::name));
    if let Some([a, b]) = ends {
        let cpu = match cpu_of(shown) {
            CpuOf::Hosts => "CPU: busy time of each host above idle",
            CpuOf::Processes if is_to_iperf3(shown) => {
                "CPU: the probe's processes at A, iperf3's at B"
            }
            CpuOf::Processes => "CPU: the probe's own processes",
        };
        legend.push(format!("A: {a}. B: {b}. Out: from A to B. {cpu}."));
    }
    legend.extend(paths::wireless(shown));
    legend.extend(searches(shown));
    legend.extend(responsiveness(shown));
    let mut trips: Vec<String> = Vec::new();
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            let levels = cell.parts.get(1).unwrap_or(&cell.levels);
            let trip = |measure| Some(levels.get(&Metric::all(measure))?.estimate);
            if let Some(p50) = trip(Measure::FLOW_RTT_P50).filter(|_| cell.parts.len() < 2) {
                let name = shown.names.workload(found.number);
                trips.push(format!("{} in {name}", TIME.value(p50)));
            }
        }
    }
    let least = least_trip(shown);
    if let (false, Some(least)) = (trips.is_empty(), least) {
        trips.truncate(MOST_TRIPS);
        legend.push(format!(
            "Round trips within the streams (p50): {}; the shortest took {}.",
            listed(&trips),
            TIME.value(least)
        ));
    }
    legend
}

/// "Responsiveness: 317 RPM during TCP both (…).", after draft-ietf-ippm-responsiveness-09.
fn responsiveness(shown: &Shown<'_>) -> Option<String> {
    let under_load = |found: &WorkloadFindings| {
        let levels = &found.cells.first()?.levels;
        let per_second = levels.get(&Metric::all(Measure::RESPONSIVENESS))?.estimate;
        let name = shown.names.workload(found.number);
        let load = name.split_once(" during ").map_or(name.as_str(), |(_, load)| load);
        Some(format!("{:.0} RPM during {load}", 60.0 * per_second))
    };
    let all: Vec<String> = shown.findings.workloads.iter().filter_map(under_load).collect();
    (!all.is_empty())
        .then(|| format!("Responsiveness: {} (RPM: round trips per minute).", listed(&all)))
}

/// "UDP: the highest rate that loses at most 0.5%, found within 1%." And which loads only the sender limits.
fn searches(shown: &Shown<'_>) -> Vec<String> {
    let (mut bounds, mut unlimited): (Vec<String>, Vec<String>) = Default::default();
    for found in &shown.findings.workloads {
        let Some(Steps::Search { resolution, accept, .. }) = &found.workload.steps else {
            continue;
        };
        let complete = shown.study.trials.iter().filter(|trial| {
            trial.cell.workload == found.number && trial.result.outcome == Outcome::Complete
        });
        let rejects = |trial: &Trial| trial.points.iter().any(|p| p.accepted == Some(false));
        let limited: Vec<bool> = complete.map(rejects).collect();
        if limited.is_empty() {
            continue;
        }
        for bound in accept {
            let Limit::AtMost(most) = bound.limit else { continue };
            let (most, within) = (percent(most), percent(*resolution));
            bounds.push(format!(
                "UDP: the highest rate that loses at most {most}, found within {within}."
            ));
        }
        if !limited.contains(&true) {
            unlimited.push(shown.names.workload(found.number));
        }
    }
    bounds.dedup();
    if !unlimited.is_empty() {
        let loads = capital(&listed(&unlimited));
        bounds.push(format!("{loads}: no rate lost more: the sender or its link is the limit."));
    }
    bounds
}

/// Loads whose round trips are listed.
const MOST_TRIPS: usize = 4;

/// The shortest round trip that TCP measured on any connection.
fn least_trip(shown: &Shown<'_>) -> Option<f64> {
    let cells = shown.findings.workloads.iter().flat_map(|found| &found.cells);
    let all = cells.flat_map(|cell| std::iter::once(&cell.levels).chain(&cell.parts));
    let metric = Metric::all(Measure::FLOW_RTT_LEAST);
    all.filter_map(|levels| Some(levels.get(&metric)?.estimate)).reduce(f64::min)
}
