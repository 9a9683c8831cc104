//! The kinds of tunnels, by the names of their settings.

use super::Knob;
use super::pppoe::Pppoe;
use super::tunnel::{self, Tunnel, TunnelHost};
use super::wireguard::WireGuard;
use std::net::Ipv4Addr;

/// A setting of a tunnel, and where it is set.
pub type TunnelKnob = (TunnelHost, Box<dyn Knob>);

const KINDS: [Kind; 2] = [Kind::of::<WireGuard>(), Kind::of::<Pppoe>()];

struct Kind {
    settings: &'static [tunnel::Part],
    largest_packet: u64,
    knobs: fn(Ipv4Addr, Ipv4Addr) -> Vec<TunnelKnob>,
}

impl Kind {
    const fn of<T: Tunnel>() -> Kind {
        Kind { settings: T::SETTINGS, largest_packet: T::LARGEST_PACKET, knobs: tunnel::knobs::<T> }
    }

    fn named(name: &str) -> Option<Kind> {
        KINDS.into_iter().find(|kind| kind.settings.first().is_some_and(|own| own.name == name))
    }
}

/// Whether a setting is a tunnel's of a router, which sets other hosts, too.
pub fn is_tunnel(name: &str) -> bool {
    Kind::named(name).is_some()
}

/// Largest packet through a tunnel on links of 1500 bytes, in bytes; `None` if the setting is no tunnel.
pub fn largest_tunnel_packet(name: &str) -> Option<u64> {
    Kind::named(name).map(|kind| kind.largest_packet)
}

/// The settings of a tunnel for the data between these addresses, in the order in which they take their levels; none if
/// the setting of that name is no tunnel.
pub fn tunnel_knobs(name: &str, a: Ipv4Addr, b: Ipv4Addr) -> Vec<TunnelKnob> {
    Kind::named(name).map_or_else(Vec::new, |kind| (kind.knobs)(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_is_the_settings_of_its_hosts_in_their_order() {
        use TunnelHost::{A, B, Router};
        let knobs = |name: &str| {
            let knobs = tunnel_knobs(name, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
            knobs.into_iter().map(|(host, knob)| (host, knob.name())).collect::<Vec<_>>()
        };
        let named = |host, name: &str| (host, name.to_owned());
        let wireguard =
            [named(Router, "wireguard"), named(B, "wireguard-end"), named(A, "wireguard-end")];
        assert_eq!(knobs("wireguard"), wireguard);
        let pppoe = [named(Router, "pppoe"), named(A, "pppoe-end"), named(Router, "pppoe-return")];
        assert_eq!(knobs("pppoe"), pppoe);
        assert_eq!(["wireguard", "pppoe"].map(largest_tunnel_packet), [Some(1420), Some(1492)]);
        for other in ["", "mtu:eth0", "wireguard-end", "pppoe-return"] {
            assert!(!is_tunnel(other) && knobs(other).is_empty(), "{other}");
        }
    }
}
