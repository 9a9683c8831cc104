//! The interfaces that the data goes through at the ends of a path.

use crate::address::{Addresses, output_of, route_to};
use crate::ends::Side;
use plimsoll_model::{PathInterface, Zone};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::word_after;
use std::net::IpAddr;

/// The interface at each end whose host tells, A first.
pub fn interfaces(a: &dyn Reach, b: &dyn Reach, addresses: Addresses) -> Vec<PathInterface> {
    let at = |reach: &dyn Reach, side: Side| {
        let route = output_of(reach, &route_to(addresses.end(side.other()))).ok()?;
        // The loopback interface has no queue, nor is it a link.
        let name = route_device(&route).filter(|name| name != "lo")?;
        let device = plimsoll_device::interface(reach, &name).unwrap_or_default();
        let wireless = plimsoll_device::wireless(reach, &name);
        let device = plimsoll_model::device::Nic { name: Some(name), ..device };
        Some(PathInterface { end: side.to_string(), device, wireless })
    };
    [at(a, Side::A), at(b, Side::B)].into_iter().flatten().collect()
}

/// The ends that are the router of the other one: over which it reaches other networks.
pub fn routers(a: &dyn Reach, b: &dyn Reach, addresses: Addresses) -> Vec<Side> {
    let is_router = |side: Side, other: &dyn Reach| {
        let address = addresses.end(side).ip;
        let family = if address.is_ipv6() { "-6" } else { "-4" };
        let routes = output_of(other, &format!("ip {family} route 2>/dev/null"));
        routes.is_ok_and(|routes| next_hops(&routes).any(|hop| hop == address))
    };
    let ends = [(Side::A, b), (Side::B, a)].into_iter();
    ends.filter(|(side, other)| is_router(*side, *other)).map(|(side, _)| side).collect()
}

/// The next hops of default routes: "default via 192.168.1.1 dev eth0".
fn next_hops(routes: &str) -> impl Iterator<Item = IpAddr> {
    let hop =
        |line: &str| line.strip_prefix("default via ")?.split_whitespace().next()?.parse().ok();
    routes.lines().filter_map(hop)
}

/// The interface of a route: "192.168.1.2 dev eth0 src 192.168.1.5 uid 0".
fn route_device(text: &str) -> Option<String> {
    let name = word_after(text, "dev")?;
    name.parse::<Zone>().ok().map(|name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_are_the_next_hops_of_default_routes() {
        let routes = "default via 192.168.1.1 dev eth0 proto dhcp metric 100\n\
            default via fd00::1 dev eth1\ndefault dev wg0 scope link\n\
            10.9.0.0/16 via 192.168.1.7 dev eth0\n192.168.1.0/24 dev eth0 scope link\n";
        let hops: Vec<String> = next_hops(routes).map(|hop| hop.to_string()).collect();
        assert_eq!(hops, ["192.168.1.1", "fd00::1"]);
        assert_eq!(next_hops("default via\ndefault via x dev y").count(), 0);
    }

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
