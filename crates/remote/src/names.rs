//! Names of servers, resolved before the program on the host needs them.

use plimsoll_reach::names::printed_addresses;
use plimsoll_reach::{Reach, quote};
use plimsoll_runner::OpenOptions;
use std::net::IpAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// Addresses of a server: those that the host itself knows, for it is what connects; else those known
/// here. None: the host will ask for it, and report what is wrong.
pub(super) fn addresses(reach: &dyn Reach, host: &str, options: &OpenOptions) -> Vec<IpAddr> {
    if host.parse::<IpAddr>().is_ok() {
        return Vec::new();
    }
    let command = format!("getent ahosts {} 2>/dev/null", quote(host));
    let found = reach.run(&command, b"", PATIENCE);
    let found = found.map_or_else(|_| Vec::new(), |output| printed_addresses(&output.output));
    if found.is_empty() {
        return options
            .names
            .find(host, options.limits.connect, &options.deadline)
            .unwrap_or_default();
    }
    found
}
