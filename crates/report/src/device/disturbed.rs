//! Figures that tell as much of what ran beside them as of the device.

use crate::text::counted;
use crate::verdict::percent;
use plimsoll_model::device::{Measured, Part};
use plimsoll_model::{Device, HostName};

/// What disturbed the figures of a part, and what to do about it.
pub(super) fn warnings(device: &Device, part: Part) -> Vec<String> {
    let mut all: Vec<Measured> = device.measured().into_iter().filter(|m| m.part == part).collect();
    if part == Part::Cpu {
        all.extend(device.cpu.iter().flat_map(|cpu| cpu.other_cores()));
    }
    let disturbed: Vec<&Measured> = all.iter().filter(|m| m.is_disturbed()).collect();
    let least = |of: fn(&Measured) -> Option<f64>| {
        let known = disturbed.iter().filter_map(|m| Some((of(m)?, *m)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share < 1.0)
    };
    if disturbed.is_empty() {
        return Vec::new();
    }
    let mut why = Vec::new();
    if let Some((share, figure)) = least(|m| m.cpu_share) {
        why.push(format!("as little as {} of a core ({})", percent(share), figure.figure));
    }
    if let Some((share, figure)) = least(|m| m.slowest_share) {
        why.push(format!(
            "repetitions as low as {} of the fastest ({})",
            percent(share),
            figure.figure
        ));
    }
    // A kernel may leave ciphers to hardware, and waits for it meanwhile.
    let by_kernel = disturbed.iter().any(|m| ["cryptsetup", "kernel"].contains(&m.by));
    let hardware = if by_kernel { ", or hardware beside it did the kernel's work" } else { "" };
    // A host of a lab may have been given a part of a core on purpose.
    let (reason, next) = match device.host {
        HostName::Lab { .. } => (
            "The lab's own quota (`cpu`) or other work on this machine kept the processor away",
            "They are figures of the host as the lab limits it, if that is what limited it",
        ),
        _ => (
            "Something else had the processor, or a quota kept it away",
            "Stop other work on it and measure again",
        ),
    };
    vec![format!(
        "{} of {} were disturbed: {}. {reason}{hardware}: the device is better than they say. {next}.",
        disturbed.len(),
        counted(all.len() as u64, "figure"),
        why.join("; "),
    )]
}

/// Whether this figure is one of them.
pub(super) fn is_disturbed(device: &Device, part: Part, figure: &str) -> bool {
    let mut measured = device.measured().into_iter();
    measured.any(|m| m.part == part && m.figure == figure && m.is_disturbed())
}
