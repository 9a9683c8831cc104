//! `--set ROUTER/wireguard=…`: one factor of a plan that sets the router and both ends.

use crate::hosts;
use plimsoll_model::{Cause, Failure, HostName, PathSubject, Plan};
use plimsoll_net::{Addresses, Side, Wanted};
use plimsoll_reach::Reach;
use plimsoll_settings::{Factor, Tunnel, is_tunnel};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Whether a plan varies a tunnel.
pub fn is_varied(plan: &Plan) -> bool {
    plan.factors.iter().any(|factor| is_tunnel(&factor.name))
}

/// The settings of the router, of B and of A that are one factor.
///
/// # Errors
/// [`Cause::Usage`] unless it is a factor of the router of a path with addresses of IPv4, and the hosts' own.
pub fn settings(plan: &Plan, factor: &plimsoll_model::Factor) -> Result<[Factor; 3], Failure> {
    let refused = |happened: &str, next: &str| {
        let on = format!("{} on {}", factor.name, factor.host);
        Failure::new(Cause::Usage, "set up a tunnel").on(on).happened(happened).next(next)
    };
    let path = plan.subjects.iter().find_map(|subject| subject.path());
    let path = path.filter(|path| path.via.as_ref() == Some(&factor.host)).ok_or_else(|| {
        refused(
            "a tunnel needs two hosts and a router between them",
            "Give it to plimsoll net A B --via ROUTER --set ROUTER/wireguard=off,to-router.",
        )
    })?;
    let (at_a, at_b) = (hosts::open(&path.from.host, false)?, hosts::open(&path.to.host, false)?);
    let [a, b] = addresses(path, &*at_a, &*at_b)?.ok_or_else(|| {
        refused(
            "the tunnel is for IPv4, and the path has addresses of IPv6",
            "Name addresses of IPv4: --address ADDRESS for B, --address-a ADDRESS for A.",
        )
    })?;
    let [router, far, near] = Arc::new(Tunnel::new(a, b)).knobs();
    let factor_of = |knob, name: &HostName, host| Factor {
        knob,
        name: name.clone(),
        host,
        levels: factor.levels.clone(),
    };
    let at_router = hosts::open(&factor.host, false)?;
    // In the order in which they take a level: A verifies that the tunnel carries packets.
    Ok([
        factor_of(router, &factor.host, at_router),
        factor_of(far, &path.to.host, at_b),
        factor_of(near, &path.from.host, at_a),
    ])
}

/// The addresses of A and B; `None` of IPv6.
fn addresses(
    path: &PathSubject,
    a: &dyn Reach,
    b: &dyn Reach,
) -> Result<Option<[Ipv4Addr; 2]>, Failure> {
    let b_named = match path.to.address {
        Some(address) => Some(address),
        None => hosts::address_in_lab(&path.to.host, &path.from.host)?,
    };
    let wanted = Wanted { a: path.from.address, b: b_named };
    let found = Addresses::find(a, b, Side::B, wanted)?;
    Ok(match (found.a.ip.to_canonical(), found.b.ip.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some([a, b]),
        _ => None,
    })
}
