//! Figures that tell as much of what ran beside them as of the device.

use super::Host;
use super::section::heading;
use crate::text::counted;
use plimsoll_model::HostName;
use plimsoll_model::device::{Part, disturbance};

/// What disturbed the figures of a part in any block, and what to do about it.
pub(super) fn warnings(host: &Host<'_>, part: Part) -> Option<String> {
    let disturbed = host.disturbed(part)?;
    // A kernel may leave ciphers to hardware, and waits for it meanwhile.
    let of_kernel = |by: &str| ["cryptsetup", "kernel"].contains(&by);
    let by_kernel = disturbed.figures.iter().any(|figure| of_kernel(&figure.by));
    let hardware = if by_kernel { ", or other hardware did the kernel's work" } else { "" };
    // A host of a lab may have been given a part of a core on purpose.
    let (reason, next) = match host.name() {
        Some(HostName::Lab { .. }) => (
            "The lab's quota (`cpu`) or other work on this machine took CPU time",
            "If it was the quota, the figures are right for a host with this quota",
        ),
        _ => ("Other work or a quota took CPU time", "Stop other work on it and measure again"),
    };
    Some(format!(
        "{}: {} of {} {} disturbed: {}. {reason}{hardware}, so the device is faster than these figures. \
         {next}.",
        heading(part),
        disturbed.figures.len(),
        counted(disturbed.of.into(), "figure"),
        if disturbed.figures.len() == 1 { "was" } else { "were" },
        disturbance(&disturbed.figures),
    ))
}
