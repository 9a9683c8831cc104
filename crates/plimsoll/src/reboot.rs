//! The reboot of a plan's device: by a command, or of a lab's machine by its power.

use crate::hosts;
use plimsoll_model::{Cause, Deadline, Failure, HostName, Reboot};
use plimsoll_settings::reboot::{self, COMMAND};
use std::time::Duration;

/// After a machine that did not come up.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Reboots it, and returns when it answers again with another boot id.
pub fn reboot(reboot: &Reboot, deadline: &Deadline) -> Result<(), Failure> {
    let Reboot { host, command, .. } = reboot;
    let open = || hosts::open(host, false);
    let device = open()?;
    let rebooted = match (host, command) {
        (HostName::Lab { lab, host }, None) => {
            reboot::reboot(&*device, |_| cut_power(lab, host, deadline), &open, deadline)
        }
        (_, command) => {
            let line = command.as_deref().unwrap_or(COMMAND);
            reboot::reboot(&*device, |device| reboot::by_command(device, line), &open, deadline)
        }
    };
    rebooted.map(drop)
}

/// Beside other work, a machine that is emulated may boot for longer than a lab waits.
fn cut_power(lab: &str, host: &str, deadline: &Deadline) -> Result<(), Failure> {
    loop {
        match plimsoll_lab::reset(lab, host) {
            Err(failure) if failure.cause == Cause::Unreachable => {
                deadline.sleep(TRY_AGAIN).map_err(|_| failure)?;
            }
            done => return done,
        }
    }
}
