//! Names of hosts, resolved by all name services of this system.

use plimsoll_process::child;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::process::Stdio;

/// Most addresses of a name that are taken.
const MOST: usize = 16;

/// The addresses of a name. A static program has the name services of its C library, the hosts file and
/// DNS; others, such as mDNS, are libraries that it must not load, as they are of the system's C
/// library. `getent` asks them all; not every system has it.
///
/// # Errors
/// Those of the C library.
pub fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    if cfg!(target_feature = "crt-static")
        && let Some(found) = child::find("getent").and_then(|getent| by_getent(&getent, name))
    {
        return Ok(found);
    }
    let mut all: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|found| found.ip()).collect();
    all.dedup();
    Ok(all)
}

/// What `getent` finds; `None` where it does not start.
fn by_getent(getent: &Path, name: &str) -> Option<Vec<IpAddr>> {
    let mut command = child::command(getent);
    command.args(["ahosts", name]).stdin(Stdio::null()).stderr(Stdio::null());
    Some(printed_addresses(&command.output().ok()?.stdout))
}

/// The addresses that `getent ahosts` printed: the first word of each line.
pub fn printed_addresses(printed: &[u8]) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    let text = String::from_utf8_lossy(printed);
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
        let printed =
            b"192.0.2.7       STREAM nas\n192.0.2.7       DGRAM\n2001:db8::7 STREAM\nx y\n";
        let found = printed_addresses(printed);
        assert_eq!(found, ["192.0.2.7".parse::<IpAddr>().unwrap(), "2001:db8::7".parse().unwrap()]);
        assert_eq!(printed_addresses(&b"192.0.2.1\n".repeat(3)).len(), 1);
        assert!(printed_addresses(b"\xff").is_empty());
    }

    #[test]
    fn getent_is_asked_where_there_is_one() {
        assert_eq!(by_getent(Path::new("/no-such-getent"), "localhost"), None);
        let Some(getent) = child::find("getent") else { return };
        let found = by_getent(&getent, "localhost").unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
        assert_eq!(by_getent(&getent, "no-such-host.invalid"), Some(vec![]));
    }

    #[test]
    fn this_machine_knows_itself() {
        assert!(resolve("localhost").unwrap().iter().all(IpAddr::is_loopback));
    }
}
