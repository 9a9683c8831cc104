//! `--set ROUTER/wireguard=…` or `--set ROUTER/pppoe=…`: one factor of a plan that sets the router and its ends.

use crate::hosts;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, Failure, PathSubject, Plan};
use plimsoll_net::{Addresses, Side, Wanted};
use plimsoll_reach::Reach;
use plimsoll_settings::{Factor, TunnelHost, is_tunnel, largest_tunnel_packet, tunnel_knobs};
use std::net::{IpAddr, Ipv4Addr};

/// Largest packet through the tunnel that a plan varies; `None` if it varies none.
pub fn largest_packet(plan: &Plan) -> Option<Bytes> {
    let largest = plan.factors.iter().filter_map(|factor| largest_tunnel_packet(&factor.name));
    largest.min().map(Bytes)
}

/// The settings of the router and of the ends that are one factor.
///
/// # Errors
/// [`Cause::Usage`] unless it is the only tunnel, of the router of a path with addresses of IPv4, and the hosts' own.
pub fn settings(plan: &Plan, factor: &plimsoll_model::Factor) -> Result<Vec<Factor>, Failure> {
    let refused = |happened: &str, next: &str| {
        let on = format!("{} on {}", factor.name, factor.host);
        Failure::new(Cause::Usage, "set up a tunnel").on(on).happened(happened).next(next)
    };
    let path = plan.subjects.iter().find_map(|subject| subject.path());
    let path = path.filter(|path| path.via.as_ref() == Some(&factor.host)).ok_or_else(|| {
        refused(
            "a tunnel needs two hosts and a router between them",
            "Give it to plimsoll net A B --via ROUTER --set ROUTER/NAME=VALUE,VALUE.",
        )
    })?;
    if plan.factors.iter().filter(|other| is_tunnel(&other.name)).count() > 1 {
        return Err(refused(
            "the data takes one tunnel at a time",
            "Compare one tunnel in each study.",
        ));
    }
    let (at_a, at_b) = (hosts::open(&path.from.host, false)?, hosts::open(&path.to.host, false)?);
    let found = addresses(path, &*at_a, &*at_b)?;
    let [a, b] = of_ipv4(found).ok_or_else(|| {
        let happened =
            format!("the tunnel is for IPv4, and the path leads from {} to {}", found.a, found.b);
        let next = "Name addresses of IPv4: --address ADDRESS for B, --address-a ADDRESS for A. If \
            the hosts have none, give them some, for example of 198.18.0.0/15.";
        refused(&happened, next)
    })?;
    let at_router = hosts::open(&factor.host, false)?;
    // In the order in which they take a level: A verifies that the tunnel carries packets.
    let of_host = |(at, knob)| {
        let (name, host) = match at {
            TunnelHost::A => (&path.from.host, &at_a),
            TunnelHost::B => (&path.to.host, &at_b),
            TunnelHost::Router => (&factor.host, &at_router),
        };
        Factor { knob, name: name.clone(), host: host.clone(), levels: factor.levels.clone() }
    };
    Ok(tunnel_knobs(&factor.name, a, b).into_iter().map(of_host).collect())
}

/// The addresses of A and B.
fn addresses(path: &PathSubject, a: &dyn Reach, b: &dyn Reach) -> Result<Addresses, Failure> {
    let b_named = match path.to.address {
        Some(address) => Some(address),
        None => hosts::address_in_lab(&path.to.host, &path.from.host)?,
    };
    let wanted = Wanted { a: path.from.address, b: b_named };
    Addresses::find(a, b, Side::B, wanted)
}

/// Addresses of IPv4; `None` of IPv6.
fn of_ipv4(found: Addresses) -> Option<[Ipv4Addr; 2]> {
    match (found.a.ip.to_canonical(), found.b.ip.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some([a, b]),
        _ => None,
    }
}
