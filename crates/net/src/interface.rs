//! The interfaces that the data goes through at the ends of a path.

use crate::address::{Addresses, asked};
use crate::ends::Side;
use plimsoll_host::device;
use plimsoll_host::reach::{Reach, quote};
use plimsoll_model::PathInterface;

/// Longest name of an interface (IFNAMSIZ of the kernel, less its end).
const MOST_LETTERS: usize = 15;

/// The interface at each end whose host tells, A first.
pub fn interfaces(a: &dyn Reach, b: &dyn Reach, addresses: Addresses) -> Vec<PathInterface> {
    let at = |reach: &dyn Reach, side: Side| {
        let peer = quote(&addresses.of(side.other()).to_string());
        let route = asked(reach, &format!("ip route get {peer} 2>/dev/null")).ok()?;
        // The loopback interface has no queue, nor is it a link.
        let name = route_device(&route).filter(|name| name != "lo")?;
        let device = device::interface(reach, &name).unwrap_or_default();
        let wireless = device::wireless(reach, &name);
        let device = plimsoll_model::device::Nic { name: Some(name), ..device };
        Some(PathInterface { end: side.to_string(), device, wireless })
    };
    [at(a, Side::A), at(b, Side::B)].into_iter().flatten().collect()
}

/// The interface of a route: "192.168.1.2 dev eth0 src 192.168.1.5 uid 0".
fn route_device(text: &str) -> Option<String> {
    let name = text.split_whitespace().skip_while(|word| *word != "dev").nth(1)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    let is_name =
        name.len() <= MOST_LETTERS && name.chars().all(plain) && !name.starts_with(['-', '.']);
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_of_a_route_is_a_name() {
        let route = "10.77.1.2 dev lan src 10.77.1.1 uid 0 \n    cache \n";
        assert_eq!(route_device(route).as_deref(), Some("lan"));
        for none in
            ["", "10.0.0.1 dev", "x dev ../../etc src y", "x dev a$b", "x dev averyverylongname"]
        {
            assert_eq!(route_device(none), None, "{none}");
        }
    }
}
