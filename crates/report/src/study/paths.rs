//! Network paths: which studies are of one, and the bottleneck of each load in words.

use super::Shown;
use super::bottleneck::{Notes, range};
use crate::device::amount;
use crate::figure::{BITRATE, CPU_PER_GB, TIME};
use crate::text::{capital, printable};
use crate::verdict::percent;
use plimsoll_explain::{
    CellFindings, PathBottleneck, PathCosts, PathEnd, PathLimits, WorkloadFindings,
};
use plimsoll_model::{Cell, Flag, Measure, Metric, Study, SubjectKind, Workload};

/// Whether every workload is a load on a network path that has streams of its own.
pub(crate) fn is_path(study: &Study) -> bool {
    let workloads = &study.plan.workloads;
    let is_load = |workload: &Workload| {
        workload.subject() == Some(SubjectKind::Path)
            && workload.main().is_some_and(|main| !main.job.has_workers())
    };
    !workloads.is_empty() && workloads.iter().all(is_load)
}

/// Whether both ends of a path are one machine: its CPU time cannot be attributed to an end.
pub(crate) fn ends_share_a_machine(study: &Study) -> bool {
    study.flags.iter().any(|flag| matches!(flag, Flag::SameMachine { .. }))
}

/// " of A".
fn of(end: PathEnd) -> &'static str {
    match end {
        PathEnd::A => " of A",
        PathEnd::B => " of B",
        PathEnd::Both => "",
    }
}

/// The bottleneck of a load as a word and a percentage, for its row; `None` if nothing is known of it.
pub(crate) fn bottleneck(shown: &Shown<'_>, cell: Cell, notes: &mut Notes) -> Option<String> {
    let limits = shown.path_limits.iter().find(|limits| limits.cell == cell)?;
    let busy = |share: &f64| range(&[*share]);
    Some(match &limits.bottleneck {
        PathBottleneck::Link { share, .. } => format!("link{}", busy(share)),
        PathBottleneck::Core { end, share } => format!("core{}{}", of(*end), busy(share)),
        PathBottleneck::Quota { end, share, .. } => {
            format!("CPU quota{}{}", of(*end), busy(share))
        }
        PathBottleneck::ReceiveWindow { share } => format!("receive window{}", busy(share)),
        PathBottleneck::SendBuffer { share } => format!("send buffer{}", busy(share)),
        PathBottleneck::Loss { share } => format!("loss {}", percent(*share)),
        PathBottleneck::Queue { .. } | PathBottleneck::Unknown { knows_link: false, .. } => {
            format!("not monitored{}", notes.mark(&capital(&reason(&limits.bottleneck))))
        }
        PathBottleneck::Unknown { knows_link: true, .. } => {
            format!("none found{}", notes.mark(&capital(&reason(&limits.bottleneck))))
        }
    })
}

/// "TCP out: the link (eth0 of B, 1 Gbit/s) is saturated: 97%."
pub(crate) fn explained(shown: &Shown<'_>) -> Vec<String> {
    let sentence = |limits: &PathLimits| {
        let name = capital(&shown.names.workload(limits.cell.workload));
        let name = match shown.names.setups() {
            0 | 1 => name,
            _ => format!("{name} on {}", shown.names.setup(limits.cell)),
        };
        format!("{name}: {}", reason(&limits.bottleneck))
    };
    shown.path_limits.iter().map(sentence).collect()
}

/// CPU time of a call, a segment and a byte, a line for each end of loads of several sizes.
pub(crate) fn costs(shown: &Shown<'_>) -> Vec<String> {
    let sentence = |found: &PathCosts| {
        let workload = usize::from(found.cell.workload);
        let load = shown.study.plan.workloads.get(workload).and_then(Workload::main);
        let load = load.map(|part| part.job.title()).unwrap_or_default();
        let load = match shown.names.setups() {
            0 | 1 => load,
            _ => format!("{load} on {}", shown.names.setup(found.cell)),
        };
        let of = format!("CPU of the probe{} in {load}, {} sizes", of(found.end), found.sizes);
        let Some(costs) = found.costs else {
            return format!(
                "{of}: it is not a sum of calls and bytes, which is off by up to {}.",
                percent(found.off)
            );
        };
        let segments = match costs.segment {
            Some(segment) => format!(", {} a segment", TIME.value(segment.value)),
            None => String::new(),
        };
        format!(
            "{of}: {} a call{segments}, {} of payload; within {} of each time.",
            TIME.value(costs.call.value),
            CPU_PER_GB.value(costs.byte.value),
            percent(found.off)
        )
    };
    plimsoll_explain::path_costs(shown.study).iter().map(sentence).collect()
}

/// The figures of RFC 6349 for TCP, a line for each load: "TCP out: 94.1 of an ideal 94.9 Mbit/s …".
pub(crate) fn rfc_6349(shown: &Shown<'_>) -> Vec<String> {
    let of = |found: &WorkloadFindings, cell: &CellFindings| {
        let levels = cell.parts.get(1).unwrap_or(&cell.levels);
        let mean = |measure| Some(levels.get(&Metric::all(measure))?.arithmetic_mean);
        let efficiency = mean(Measure::TCP_EFFICIENCY)?;
        let delay = mean(Measure::BUFFER_DELAY)
            .map(|delay| format!("buffer delay {}", percent(delay)));
        let marked =
            mean(Measure::ECN_MARKED).map(|share| format!("marked by ECN {}", percent(share)));
        let limits = shown.path_limits.iter().find(|limits| limits.cell == cell.cell);
        let ideal = limits.and_then(|limits| limits.ideal).zip(mean(Measure::THROUGHPUT));
        let is_both = levels.contains_key(&Metric::all(Measure::GOODPUT_OUT));
        let ideal = ideal.map(|(ideal, both)| {
            let own = if is_both { both / 2.0 } else { both };
            format!(
                "{} of an ideal {} ({} of Ethernet, segments of {} B), transfer time ratio {:.2}",
                BITRATE.value(own),
                BITRATE.value(ideal.bytes_per_second),
                amount::link(ideal.bits_per_second),
                ideal.segment_bytes.round(),
                ideal.bytes_per_second / own
            )
        });
        let efficiency = format!("TCP efficiency {}", percent(efficiency));
        let all: Vec<String> =
            ideal.into_iter().chain([efficiency]).chain(delay).chain(marked).collect();
        let name = capital(&shown.names.workload(found.number));
        Some(format!("RFC 6349, {name}: {}.", all.join("; ")))
    };
    let all = shown.findings.workloads.iter();
    all.flat_map(|found| found.cells.iter().filter_map(move |cell| of(found, cell))).collect()
}

/// A sentence without its subject.
fn reason(bottleneck: &PathBottleneck) -> String {
    let whole = |share: &f64| percent((100.0 * share).round() / 100.0);
    match bottleneck {
        PathBottleneck::Link { end, interface, bits_per_second, share } => format!(
            "the link ({}{}, {}) is saturated: {}.",
            printable(interface),
            of(*end),
            amount::link(*bits_per_second),
            whole(share)
        ),
        PathBottleneck::Core { end: PathEnd::Both, share } => {
            format!("a core of the machine that A and B share is saturated: {}.", whole(share))
        }
        PathBottleneck::Core { end, share } => {
            format!("a core{} is saturated: {}.", of(*end), whole(share))
        }
        PathBottleneck::Quota { end, cores, share } => format!(
            "the CPU quota{} ({} of a core) is used up: {}.",
            of(*end),
            percent(*cores),
            whole(share)
        ),
        PathBottleneck::ReceiveWindow { share } => format!(
            "the receive window stopped the sender for {} of the time. Larger receive buffers help.",
            whole(share)
        ),
        PathBottleneck::SendBuffer { share } => format!(
            "the send buffer was full of unacknowledged data for {} of the time. Larger send buffers help.",
            whole(share)
        ),
        PathBottleneck::Loss { share } => {
            format!("packets are lost: {} of the payload was sent again.", percent(*share))
        }
        PathBottleneck::Queue { loaded_seconds, least_seconds } => format!(
            "a queue grows on the path: its round trip is {} under load and {} without. A link or device is \
             saturated that is not monitored.",
            TIME.value(*loaded_seconds),
            TIME.value(*least_seconds)
        ),
        PathBottleneck::Unknown { knows_link, busiest_core } => {
            let core = busiest_core
                .map_or(String::new(), |share| format!(" (busiest core: {})", whole(&share)));
            let link = if *knows_link { "" } else { " The rate of the links is not known." };
            format!("no monitored resource is saturated{core}.{link}")
        }
    }
}
