//! Names of servers, resolved before the program on the host needs them: it is static, and knows
//! no name services but the plain ones.

use plimsoll_host::reach::{Reach, quote};
use plimsoll_runner::OpenOptions;
use std::net::IpAddr;
use std::time::Duration;

/// Most addresses of a name that are taken.
const MOST: usize = 16;
const PATIENCE: Duration = Duration::from_secs(20);

/// Addresses of a server: those that the host itself knows, for it is what connects; else those known
/// here. None: the host will ask for it, and report what is wrong.
pub(super) fn addresses(reach: &dyn Reach, host: &str, options: &OpenOptions) -> Vec<IpAddr> {
    if host.parse::<IpAddr>().is_ok() {
        return Vec::new();
    }
    let command = format!("getent ahosts {} 2>/dev/null", quote(host));
    let found = reach.run(&command, b"", PATIENCE);
    let found = found.map_or_else(|_| Vec::new(), |output| parse(&output.output));
    if found.is_empty() {
        return options
            .names
            .find(host, options.limits.connect, &options.deadline)
            .unwrap_or_default();
    }
    found
}

/// The first word of each line is an address.
fn parse(said: &[u8]) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    let text = String::from_utf8_lossy(said);
    let all = text.lines().filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok());
    for address in all {
        if !found.contains(&address) && found.len() < MOST {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_once_each() {
        let said = b"192.0.2.7       STREAM nas\n192.0.2.7       DGRAM\n2001:db8::7 STREAM\nx y\n";
        let found = parse(said);
        assert_eq!(found, ["192.0.2.7".parse::<IpAddr>().unwrap(), "2001:db8::7".parse().unwrap()]);
        assert!(parse(&b"192.0.2.1\n".repeat(3)).len() == 1 && parse(b"\xff").is_empty());
    }
}
