//! Network paths: the bottleneck of each load in words.

use super::bottleneck::{Notes, range};
use super::{Shown, hosts};
use crate::chart::Table;
use crate::device::{amount, network};
use crate::figure::{BITRATE, CPU_PER_GB, TIME};
use crate::text::{capital, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::{
    CellFindings, IdealGoodput, LinkLayer, PathBottleneck, PathCosts, PathEnd, PathLimits,
    PathResource, WorkloadFindings,
};
use plimsoll_model::device::Nic;
use plimsoll_model::{
    Cell, Flag, HostLoad, HostName, Measure, Metric, Outcome, PathInterface, RouterFacts, Steps,
    Study, Subject, SubjectFacts, Workload,
};
use std::collections::BTreeSet;

/// Whether both ends of a path are one machine: its CPU time cannot be attributed to an end.
pub(crate) fn ends_share_a_machine(study: &Study) -> bool {
    study.flags.iter().any(|flag| matches!(flag, Flag::SameMachine { .. }))
}

/// " of A", " of the router".
fn end_suffix(end: PathEnd) -> &'static str {
    match end {
        PathEnd::A => " of A",
        PathEnd::B => " of B",
        PathEnd::Router => " of the router",
        PathEnd::Both => "",
    }
}

/// The bottleneck of a load as a word and a percentage, for its row; `None` if nothing is known of it.
pub(crate) fn bottleneck(shown: &Shown<'_>, cell: Cell, notes: &mut Notes) -> Option<String> {
    let limits = shown.path_limits.iter().find(|limits| limits.cell == cell)?;
    Some(match &limits.bottleneck {
        PathBottleneck::Link { share, .. }
        | PathBottleneck::Core { share, .. }
        | PathBottleneck::Process { share, .. }
        | PathBottleneck::Quota { share, .. }
        | PathBottleneck::ReceiveWindow { share }
        | PathBottleneck::SendBuffer { share } => named(shown, cell)? + &range(&[*share]),
        PathBottleneck::Loss { share } => format!("loss {}", percent(*share)),
        PathBottleneck::Queue { .. } | PathBottleneck::Unknown { knows_link: false, .. } => {
            format!("not monitored{}", notes.mark(&capital(&reason(&limits.bottleneck))))
        }
        PathBottleneck::Unknown { knows_link: true, .. } => {
            format!("none found{}", notes.mark(&capital(&reason(&limits.bottleneck))))
        }
    })
}

/// The bottleneck of a load without its article: "link", "core of A"; `None` if none is known.
pub(crate) fn named(shown: &Shown<'_>, cell: Cell) -> Option<String> {
    let limits = shown.path_limits.iter().find(|limits| limits.cell == cell)?;
    Some(match &limits.bottleneck {
        PathBottleneck::Link { .. } => "link".to_owned(),
        PathBottleneck::Core { end: PathEnd::Both, .. } => "shared core".to_owned(),
        PathBottleneck::Core { end, .. } => format!("core{}", end_suffix(*end)),
        PathBottleneck::Process { end, .. } => format!("process{}", end_suffix(*end)),
        PathBottleneck::Quota { end, .. } => format!("CPU quota{}", end_suffix(*end)),
        PathBottleneck::ReceiveWindow { .. } => "receive window".to_owned(),
        PathBottleneck::SendBuffer { .. } => "send buffer".to_owned(),
        PathBottleneck::Loss { .. } => "loss of packets on the path".to_owned(),
        PathBottleneck::Queue { .. } | PathBottleneck::Unknown { .. } => return None,
    })
}

/// "TCP out: the link (eth0 of B, 1 Gbit/s) is saturated: it is 97% busy."
pub(crate) fn explained(shown: &Shown<'_>) -> Vec<String> {
    let sentence = |limits: &PathLimits| {
        let layers = layers(limits).map(|words| format!(" {words}")).unwrap_or_default();
        format!("{}: {}{layers}", load(shown, limits.cell), reason(&limits.bottleneck))
    };
    shown.path_limits.iter().map(sentence).collect()
}

/// "TCP out", "TCP out on a to b, …".
fn load(shown: &Shown<'_>, cell: Cell) -> String {
    let name = capital(&shown.names.workload(cell.workload));
    match shown.names.setups() {
        0 | 1 => name,
        _ => format!("{name} on {}", shown.names.setup(cell)),
    }
}

/// Loads of paths without a router that nothing limits, a line each: a rate that arrived, and what is done one after the
/// other.
pub(crate) fn unlimited(shown: &Shown<'_>) -> Vec<String> {
    let plan = &shown.study.plan;
    let sentence = |found: &WorkloadFindings, cell: &CellFindings| {
        let path = plan.subjects.get(usize::from(cell.cell.subject)).and_then(Subject::path)?;
        let is_named = shown.path_limits.iter().any(|limits| limits.cell == cell.cell);
        let is_searched = matches!(found.workload.steps, Some(Steps::Kept { .. }));
        if path.via.is_some() || is_named || is_searched || cell.complete == 0 {
            return None;
        }
        let moves = found.workload.parts.iter().any(|part| part.job.moves_payload());
        let why = match moves {
            true => "the rate that was asked for arrived",
            false => "each one waits for the one before",
        };
        Some(format!("{}: {why}, so no resource had to be saturated.", load(shown, cell.cell)))
    };
    let all = shown.findings.workloads.iter().filter(|_| !shown.findings.imported);
    all.flat_map(|found| found.cells.iter().filter_map(move |cell| sentence(found, cell))).collect()
}

/// Every resource of paths that was monitored, with its utilisation under each load.
pub(crate) fn uses(shown: &Shown<'_>) -> Table {
    let mut table = Table::new(["load", "resource", "busy"].map(str::to_owned).into());
    for limits in &shown.path_limits {
        let mut name = load(shown, limits.cell);
        for one in &limits.uses {
            let resource = match &one.resource {
                PathResource::Link { end, bits_per_second } => {
                    format!("link{} ({})", end_suffix(*end), amount::link(*bits_per_second))
                }
                PathResource::Core(end) => format!("busiest core{}", end_suffix(*end)),
                PathResource::Quota(end) => format!("CPU quota{}", end_suffix(*end)),
            };
            table.rows.push(vec![std::mem::take(&mut name), resource, percent(one.share)]);
        }
    }
    table
}

/// The layer whose rate a saturated link is compared with, and the rates of the layers above it.
fn layers(limits: &PathLimits) -> Option<String> {
    let PathBottleneck::Link { rate, .. } = &limits.bottleneck else { return None };
    // The packets are known of TCP alone, and the slowest link may be that of the other end.
    let ideal = limits.ideal.as_ref().filter(|ideal| ideal.rate == *rate);
    let upper = |ideal: &IdealGoodput| {
        let frames = match rate.layer {
            LinkLayer::Wire => {
                format!("{} of frames (L2) and ", BITRATE.value(ideal.frame_bytes_per_second()))
            }
            LinkLayer::Frames => String::new(),
        };
        let (bytes, payload) = (ideal.packet_bytes.round(), BITRATE.value(ideal.bytes_per_second));
        format!(" In packets of {bytes} B, it carries at most {frames}{payload} of TCP payload.")
    };
    let counted = match rate.layer {
        LinkLayer::Wire => "Its rate is that of the wire (L1), preambles and gaps included.",
        LinkLayer::Frames => "Its rate is that of a shaper, which counts frames (L2).",
    };
    Some(format!("{counted}{}", ideal.map(upper).unwrap_or_default()))
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
        let subject =
            format!("CPU of the probe{} in {load}, {} sizes", end_suffix(found.end), found.sizes);
        let Some(costs) = found.costs else {
            return format!(
                "{subject}: it is not a sum of calls and bytes, which is off by up to {}.",
                percent(found.off)
            );
        };
        let segments = match costs.segment {
            Some(segment) => format!(", {} a segment", TIME.value(segment.value)),
            None => String::new(),
        };
        format!(
            "{subject}: {} a call{segments}, {} of payload; within {} of each time.",
            TIME.value(costs.call.value),
            CPU_PER_GB.value(costs.byte.value),
            percent(found.off)
        )
    };
    plimsoll_explain::path_costs(shown.study).iter().map(sentence).collect()
}

/// The figures of RFC 6349 for TCP, a line for each load: "TCP out: 94.1 of an ideal 94.9 Mbit/s …".
pub(crate) fn rfc_6349(shown: &Shown<'_>) -> Vec<String> {
    let line = |found: &WorkloadFindings, cell: &CellFindings| {
        let levels = cell.parts.get(1).unwrap_or(&cell.levels);
        let mean = |measure| Some(levels.get(&Metric::all(measure))?.arithmetic_mean);
        let efficiency = mean(Measure::TCP_EFFICIENCY)?;
        let delay =
            mean(Measure::BUFFER_DELAY).map(|delay| format!("buffer delay {}", percent(delay)));
        let marked =
            mean(Measure::ECN_MARKED).map(|share| format!("marked by ECN {}", percent(share)));
        let limits = shown.path_limits.iter().find(|limits| limits.cell == cell.cell);
        let ideal = limits.and_then(|limits| limits.ideal).zip(mean(Measure::THROUGHPUT));
        let is_both = levels.contains_key(&Metric::all(Measure::GOODPUT_OUT));
        let ideal = ideal.map(|(ideal, both)| {
            let own = if is_both { both / 2.0 } else { both };
            let counted = match ideal.rate.layer {
                LinkLayer::Wire => "Ethernet",
                LinkLayer::Frames => "frames",
            };
            format!(
                "{} of an ideal {} ({} of {counted}, segments of {} B), transfer time ratio {:.2}",
                BITRATE.value(own),
                BITRATE.value(ideal.bytes_per_second),
                amount::link(ideal.rate.bits_per_second),
                ideal.segment_bytes.round(),
                ideal.bytes_per_second / own
            )
        });
        let efficiency = format!("TCP efficiency {:.2}%", 100.0 * efficiency);
        let all: Vec<String> =
            ideal.into_iter().chain([efficiency]).chain(delay).chain(marked).collect();
        let name = capital(&shown.names.workload(found.number));
        Some(format!("RFC 6349, {name}: {}.", all.join("; ")))
    };
    let all = shown.findings.workloads.iter();
    all.flat_map(|found| found.cells.iter().filter_map(move |cell| line(found, cell))).collect()
}

/// What root would add at ends without it, a line each.
pub(crate) fn root_adds(shown: &Shown<'_>) -> Vec<String> {
    let facts = shown.study.subjects.iter().filter_map(|facts| match facts {
        SubjectFacts::Path(path) => Some(&path.root_adds),
        _ => None,
    });
    let mut lines: Vec<String> = facts.flatten().map(|text| printable(text) + ".").collect();
    lines.dedup();
    lines
}

/// Interfaces of the data, those of a router too, and the soft interrupts of each host, a line each.
pub(crate) fn interfaces(shown: &Shown<'_>) -> Vec<String> {
    let line = |end: &str, nic: &Nic| {
        let name = printable(nic.name.as_deref().unwrap_or_default());
        let all = [network::queues(nic), network::interrupts(nic), network::disciplines(nic)];
        let all: Vec<String> = all.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        let end = printable(end);
        (!all.is_empty()).then(|| format!("Interface {name} of {end}: {}.", all.join("; ")))
    };
    let mut lines: Vec<String> = Vec::new();
    for facts in &shown.study.subjects {
        let SubjectFacts::Path(path) = facts else { continue };
        lines.extend(path.interfaces.iter().filter_map(|one| line(&one.end, &one.device)));
        let router = path.router.iter().flat_map(|router| &router.interfaces);
        lines.extend(router.filter_map(|nic| line("R", nic)));
    }
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            lines.extend(soft_interrupts(shown, found, cell.cell));
        }
    }
    lines
}

/// "Soft interrupts of a in TCP out: core 0 34%, core 1 2%; 12 runs squeezed, 0 packets dropped (softnet_stat)."
fn soft_interrupts(shown: &Shown<'_>, found: &WorkloadFindings, cell: Cell) -> Vec<String> {
    let complete = shown
        .study
        .trials
        .iter()
        .filter(|trial| trial.cell == cell && trial.result.outcome == Outcome::Complete);
    let loads: Vec<&HostLoad> = complete.flat_map(|trial| &trial.loads).collect();
    let names: BTreeSet<&HostName> = loads.iter().map(|load| &load.host).collect();
    let of_host = |host: &HostName| {
        let own = || loads.iter().filter(move |load| load.host == *host);
        let seconds: f64 = own().map(|load| load.seconds).sum();
        let cores = own().map(|load| load.cores.len()).max().unwrap_or(0);
        let busy = |core: usize| {
            let softirq = own().filter_map(|load| Some(load.cores.get(core)?.softirq));
            softirq.sum::<f64>() / seconds
        };
        let busy: Vec<String> = (0..cores)
            .map(|core| (core, busy(core)))
            .filter(|(_, share)| share.is_finite() && *share >= LEAST_SOFT_INTERRUPTS)
            .take(MOST_CORES)
            .map(|(core, share)| format!("core {core} {}", percent(share)))
            .collect();
        let softnet = own().filter_map(|load| load.softnet).reduce(|all, one| all + one);
        let softnet = softnet.map(|all| {
            format!(
                "{} runs squeezed and {} packets dropped (softnet_stat)",
                all.squeezed, all.dropped
            )
        });
        let busy = (!busy.is_empty()).then(|| listed(&busy));
        let all: Vec<String> = busy.into_iter().chain(softnet).collect();
        (!all.is_empty()).then(|| {
            let load = shown.names.workload(found.number);
            format!("Soft interrupts of {} in {load}: {}.", hosts::name(host), all.join("; "))
        })
    };
    names.into_iter().filter_map(of_host).collect()
}

/// Cores that are listed, from this share of their time on.
const MOST_CORES: usize = 16;
const LEAST_SOFT_INTERRUPTS: f64 = 0.01;

/// "A: wlan0 is wireless: sends at 390 Mbit/s, receives at 433 Mbit/s, signal -61 dBm, 4.8% retries."
pub(crate) fn wireless(shown: &Shown<'_>) -> Vec<String> {
    let all = shown.study.subjects.iter().filter_map(|facts| match facts {
        SubjectFacts::Path(path) => Some(&path.interfaces),
        _ => None,
    });
    let line = |interface: &PathInterface| {
        let link = interface.wireless?;
        let rate =
            |words: &str, rate: Option<u64>| Some(format!("{words} {}", amount::link(rate?)));
        let retries = link.retried_packets.zip(link.sent_packets.filter(|sent| *sent > 0));
        let retries =
            retries.map(|(again, sent)| format!("{} retries", percent(again as f64 / sent as f64)));
        let known: Vec<String> = [
            rate("sends at", link.send_bits_per_second),
            rate("receives at", link.receive_bits_per_second),
            link.signal_dbm.map(|dbm| format!("signal {dbm} dBm")),
            retries,
        ]
        .into_iter()
        .flatten()
        .collect();
        let name = printable(interface.device.name.as_deref().unwrap_or_default());
        let known = match known.is_empty() {
            true => "install iw there for its rate and signal".to_owned(),
            false => known.join(", "),
        };
        Some(format!("{}: {name} is wireless: {known}.", printable(&interface.end)))
    };
    all.flatten().filter_map(line).collect()
}

/// Whether a path of the study leads over a radio link that its ends or its router know of.
pub(crate) fn has_radio(study: &Study, subject: u16) -> bool {
    let Some(SubjectFacts::Path(path)) = study.subjects.get(usize::from(subject)) else {
        return false;
    };
    let is_radio = |nic: &Nic| nic.wireless == Some(true);
    let at_router = |router: &RouterFacts| router.interfaces.iter().any(is_radio);
    path.interfaces.iter().any(|one| one.wireless.is_some())
        || path.router.as_ref().is_some_and(at_router)
}

/// A sentence without its subject.
fn reason(bottleneck: &PathBottleneck) -> String {
    let whole = |share: &f64| percent((100.0 * share).round() / 100.0);
    match bottleneck {
        PathBottleneck::Link { end, interface, rate, share } => format!(
            "the link ({}{}, {}) is saturated: it is {} busy.",
            printable(interface),
            end_suffix(*end),
            amount::link(rate.bits_per_second),
            whole(share)
        ),
        PathBottleneck::Core { end: PathEnd::Both, share } => {
            format!(
                "a core of the machine that A and B share is saturated: it is {} busy.",
                whole(share)
            )
        }
        PathBottleneck::Core { end, share } => {
            format!("a core{} is saturated: it is {} busy.", end_suffix(*end), whole(share))
        }
        PathBottleneck::Process { end, share } => {
            format!("the process{} used {} of a core.", end_suffix(*end), whole(share))
        }
        PathBottleneck::Quota { end, cores, share } => format!(
            "the CPU quota{} ({} of a core) is used up: {} of it is taken.",
            end_suffix(*end),
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
            "a queue grows on the path: its round trip is {} under load and {} without. A link or device that is \
             not monitored is saturated.",
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
