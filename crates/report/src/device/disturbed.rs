//! Figures that tell as much of what ran beside them as of the device.

use super::Host;
use crate::text::counted;
use plimsoll_model::HostName;
use plimsoll_model::device::{Part, disturbance};

/// What disturbed the figures of a part in any block, and what to do about it.
pub(super) fn warnings(host: &Host<'_>, part: Part) -> Option<String> {
    let disturbed = host.disturbed(part)?;
    // A kernel may leave ciphers to hardware, and waits for it meanwhile.
    let of_kernel = |by: &str| ["cryptsetup", "kernel"].contains(&by);
    let by_kernel = disturbed.figures.iter().any(|figure| of_kernel(&figure.by));
    let hardware = if by_kernel { ", or hardware beside it did the kernel's work" } else { "" };
    // A host of a lab may have been given a part of a core on purpose.
    let (reason, next) = match host.name() {
        Some(HostName::Lab { .. }) => (
            "The lab's own quota (`cpu`) or other work on this machine kept the processor away",
            "They are figures of the host as the lab limits it, if that is what limited it",
        ),
        _ => (
            "Something else had the processor, or a quota kept it away",
            "Stop other work on it and measure again",
        ),
    };
    Some(format!(
        "{} of {} were disturbed: {}. {reason}{hardware}: the device is better than they say. {next}.",
        disturbed.figures.len(),
        counted(disturbed.of.into(), "figure"),
        disturbance(&disturbed.figures),
    ))
}
