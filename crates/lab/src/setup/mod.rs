//! Configuring a host once it can be reached: addresses, shaping, rules, disks. Shell through
//! [`Reach`], the same for every kind of host.

mod disks;
mod network;
mod rules;
mod shape;

pub(super) use disks::tmpfs;
pub(super) use network::{carrier, network};
pub(super) use rules::rules;
pub(super) use shape::shape;

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::time::Duration;

/// Settings take milliseconds; a machine that is emulated on a busy one takes more.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a script that either does all of it or says why not; what it wrote.
pub(super) fn script(
    reach: &dyn Reach,
    tried: &str,
    script: &str,
    input: &[u8],
) -> Result<String, Failure> {
    let output = reach.run(&format!("set -e\n{script}"), input, LIMIT)?;
    if output.status == Some(0) {
        return Ok(String::from_utf8_lossy(&output.output).into_owned());
    }
    let said = String::from_utf8_lossy(&output.errors).trim().to_owned();
    let happened = match (said.is_empty(), output.status) {
        (false, _) => said,
        (true, Some(code)) => format!("exit code {code}"),
        (true, None) => "it was killed".to_owned(),
    };
    Err(Failure::new(Cause::Trial, tried).on(reach.name()).happened(happened))
}
