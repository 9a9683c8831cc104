//! Hosts that others can reach: their addresses, and the rules that keep the others out.

use crate::hosts;
use plimsoll_model::factor::{CONNTRACK, RULESET};
use plimsoll_model::{Cause, Factor, FactorLevel, Failure};
use plimsoll_reach::Reach;
use plimsoll_settings::knob;
use std::net::IpAddr;

/// The level of [`RULESET`] without any rule.
const NONE: &str = "none";
/// Its levels that let everybody in.
const OPEN: [&str; 3] = [NONE, "only-nat", "only-tracking"];
/// The level of [`CONNTRACK`] at which rules cannot tell what belongs to a connection.
pub const UNTRACKED: &str = "untracked";

/// Refuses to take the rules, or the connections that they know, off a host that has a public address, unless that is
/// allowed.
///
/// # Errors
/// [`Cause::NotPermitted`] for the first such setting; a host that cannot be reached.
pub fn expect_rules_stay(factors: &[Factor], is_allowed: bool) -> Result<(), Failure> {
    for factor in factors.iter().filter(|factor| !is_allowed && opens(factor)) {
        let host = hosts::open(&factor.host, true)?;
        let keeps_rules = factor.name == CONNTRACK;
        if let Some(why) = is_public(&*host).filter(|_| has_rules(&*host, keeps_rules)) {
            let (tried, happened) = match keeps_rules {
                true => ("turn off the connection tracking", "its rules would see no connection"),
                false => ("remove the rules", "would be open"),
            };
            return Err(Failure::new(Cause::NotPermitted, format!("{tried} of {}", factor.host))
                .on(&factor.name)
                .happened(format!("it {why}, and {happened}"))
                .next("Disconnect it first, or give --allow-open."));
        }
    }
    Ok(())
}

/// Whether a level of a setting lets everybody in. Rules of a file are the user's own.
fn opens(factor: &Factor) -> bool {
    let open: &[&str] = match factor.name.as_str() {
        RULESET => &OPEN,
        CONNTRACK => &[UNTRACKED],
        _ => &[],
    };
    let is_open = |level: &FactorLevel| match level {
        FactorLevel::Set { value } => open.contains(&value.as_str()),
        FactorLevel::AsFound => false,
    };
    factor.levels.iter().any(is_open)
}

/// Whether there are rules that a setting makes useless. Those that cannot be read, such as rules of iptables, cannot be
/// replaced either, but stay where a setting keeps them.
fn has_rules(host: &dyn Reach, keeps_rules: bool) -> bool {
    let found = knob(RULESET).and_then(|knob| knob.read(host));
    found.map_or(keeps_rules, |found| found.level != NONE)
}

/// Why others can reach a host: "has the public address 192.0.2.1"; `None` if they cannot.
pub fn is_public(host: &dyn Reach) -> Option<String> {
    why_public(&own_addresses(host))
}

/// The same of a host with these addresses. Each has that of its loopback interface.
fn why_public(own: &[IpAddr]) -> Option<String> {
    let is_public = |address: &&IpAddr| !is_local(**address) && !address.is_multicast();
    match own.iter().find(is_public) {
        Some(address) => Some(format!("has the public address {address}")),
        None if own.is_empty() => Some("does not list its addresses (ip addr)".to_owned()),
        None => None,
    }
}

/// The addresses of a host.
pub fn own_addresses(host: &dyn Reach) -> Vec<IpAddr> {
    own_in(&hosts::said(host, "ip -o addr show 2>/dev/null"))
}

/// The addresses that a host has itself: "inet 100.64.0.7 peer 203.0.113.1/32" has that of the other end of a session, too.
fn own_in(listed: &str) -> Vec<IpAddr> {
    let words: Vec<&str> = listed.split_whitespace().collect();
    let own = words.windows(2).filter(|pair| ["inet", "inet6"].contains(&pair[0]));
    own.filter_map(|pair| pair[1].split('/').next()?.parse().ok()).collect()
}

/// Whether an address belongs to a local network: private, of one link or site, or for benchmarks. Sources: RFC 1918,
/// RFC 2544, RFC 3879, RFC 3927, RFC 4193, RFC 5180, RFC 6598.
pub fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [a, b, ..] = four.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            let is_benchmark = a == 198 && (18..20).contains(&b);
            four.is_private()
                || four.is_loopback()
                || four.is_link_local()
                || is_shared
                || is_benchmark
        }
        IpAddr::V6(six) => {
            let segments = six.segments();
            let is_benchmark = segments[..3] == [0x2001, 2, 0];
            let is_of_site = segments[0] & 0xffc0 == 0xfec0;
            six.is_loopback()
                || is_benchmark
                || is_of_site
                || six.is_unique_local()
                || six.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{HostName, Switch};

    #[test]
    fn networks_of_a_home_and_of_benchmarks_are_local() {
        for local in [
            "10.77.1.2",
            "192.168.1.1",
            "172.31.0.1",
            "198.18.0.1",
            "198.19.255.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.3.4",
            "fd00::1",
            "fe80::1",
            "fec0::5054:ff:fe12:3456",
            "2001:2::1",
            "::1",
        ] {
            assert!(is_local(local.parse().unwrap()), "{local}");
        }
        for public in
            ["8.8.8.8", "172.32.0.1", "198.20.0.1", "100.128.0.1", "2001:db8::1", "2001:2:1::1"]
        {
            assert!(!is_local(public.parse().unwrap()), "{public}");
        }
    }

    /// A router with PPPoE behind the translation of its provider was "public" by the address of the provider, and was
    /// "the router and an end" where that was B.
    #[test]
    fn the_other_end_of_a_session_is_no_own_address() {
        let listed = "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n\
            4: br-lan    inet 192.168.1.1/24 brd 192.168.1.255 scope global br-lan\n\
            4: br-lan    inet6 fd00::1/64 scope global\n\
            9: pppoe-wan    inet 100.64.0.7 peer 203.0.113.1/32 scope global pppoe-wan\n";
        let own: Vec<String> = own_in(listed).iter().map(ToString::to_string).collect();
        assert_eq!(own, ["127.0.0.1", "192.168.1.1", "fd00::1", "100.64.0.7"]);
        assert_eq!(why_public(&own_in(listed)), None);
        assert!(own_in("").is_empty() && own_in("inet").is_empty());
    }

    #[test]
    fn a_host_whose_addresses_are_not_known_may_be_public() {
        let why = |own: &[&str]| {
            let own: Vec<IpAddr> = own.iter().map(|address| address.parse().unwrap()).collect();
            why_public(&own)
        };
        assert_eq!(why(&["127.0.0.1", "192.168.1.1", "ff02::1"]), None);
        let public = why(&["127.0.0.1", "2001:db8::1", "8.8.8.8"]);
        assert_eq!(public.as_deref(), Some("has the public address 2001:db8::1"));
        assert!(why(&[]).is_some_and(|why| why.contains("ip addr")));
    }

    #[test]
    fn only_levels_without_the_filter_of_the_rules_open_a_host() {
        let factor = |name: &str, value: &str| Factor {
            name: name.to_owned(),
            host: HostName::Local,
            levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: value.to_owned() }],
            switch: Switch::Live,
        };
        for open in OPEN {
            assert!(opens(&factor(RULESET, open)), "{open}");
        }
        for shut in ["without-flowtable", "rules.nft"] {
            assert!(!opens(&factor(RULESET, shut)), "{shut}");
        }
        // Rules by the state of a connection let nothing or everything through.
        assert!(opens(&factor(CONNTRACK, UNTRACKED)) && !opens(&factor(CONNTRACK, "tracked")));
        assert!(knob(CONNTRACK).unwrap().check(UNTRACKED).is_ok());
        assert!(!opens(&factor("offload:eth0:gro", NONE)));
    }
}
