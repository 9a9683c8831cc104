//! Network paths: which studies are of one, and the bottleneck of each load in words.

use super::Shown;
use super::bottleneck::{Notes, range};
use crate::device::amount;
use crate::figure::TIME;
use crate::text::{capital, printable};
use crate::verdict::percent;
use plimsoll_explain::{PathBottleneck, PathEnd, PathLimits};
use plimsoll_model::{Cell, Flag, Study, SubjectKind, Workload};

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
