//! By which way packets go: what stands in the routing table of each host, and which hosts cannot
//! reach each other.

use super::{Link, Plan};
use plimsoll_config::{Problem, nearest};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;

/// An IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: Ipv4Addr,
    bits: u8,
}

impl Network {
    const ALL: Network = Network { address: Ipv4Addr::UNSPECIFIED, bits: 0 };

    fn mask(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0)
    }

    fn has(self, address: Ipv4Addr) -> bool {
        (address.to_bits() ^ self.address.to_bits()) & self.mask() == 0
    }

    /// As `192.168.0.0/16`, with nothing behind the prefix.
    fn parse(text: &str) -> Option<Network> {
        let (address, bits) = text.split_once('/')?;
        let bits = bits.parse().ok().filter(|bits| *bits <= 32)?;
        let network = Network { address: address.parse().ok()?, bits };
        (network.address.to_bits() & !network.mask() == 0).then_some(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// A line of a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where to.
    pub to: Network,
    /// The address of the next host.
    pub via: Ipv4Addr,
}

impl Plan {
    /// The network of a link.
    fn network_of(&self, link: &str) -> Option<Network> {
        let (number, ..) = self.numbered_links().find(|(_, name, _)| *name == link)?;
        Some(Network { address: Ipv4Addr::new(10, 77, number, 0), bits: super::PREFIX_BITS })
    }

    /// The routes of a host beside its own links: those that its file gives it; then the shortest way
    /// to each link that neither those nor its gateway lead to; then its gateway.
    pub fn routes(&self, name: &str) -> Vec<Route> {
        let Some(host) = self.hosts.get(name) else { return Vec::new() };
        let via = |to, next: &str| Some(Route { to, via: self.address_of(next, name)? });
        let network = |to: &str| self.network_of(to).or_else(|| Network::parse(to));
        let given = host.routes.iter().filter_map(|(to, next)| via(network(to)?, next));
        let mut routes: Vec<Route> = given.collect();
        let by_gateway = host.gateway.as_ref().map(|gateway| self.first_hops(gateway, Some(name)));
        for (link, hop) in self.first_hops(name, None) {
            let (Some(hop), Some(to)) = (hop, self.network_of(link)) else { continue };
            let given =
                routes.iter().any(|route| route.to.has(to.address) && route.to.bits <= to.bits);
            if !given && !by_gateway.as_ref().is_some_and(|links| links.contains_key(link)) {
                routes.extend(via(to, hop));
            }
        }
        routes.extend(host.gateway.as_ref().and_then(|gateway| via(Network::ALL, gateway)));
        routes
    }

    /// The links that a host can reach over hosts that forward, with the first of those, on the way
    /// over the fewest; `None` for its own links. No way leads over the host `without`.
    fn first_hops<'a>(
        &'a self,
        from: &'a str,
        without: Option<&'a str>,
    ) -> BTreeMap<&'a str, Option<&'a str>> {
        let mut reached: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let mut seen: BTreeSet<&str> = without.into_iter().chain([from]).collect();
        let mut next = VecDeque::from([(from, None)]);
        while let Some((at, hop)) = next.pop_front() {
            for (link, Link { between, .. }) in &self.links {
                if !between.iter().any(|host| host == at) || reached.contains_key(link.as_str()) {
                    continue;
                }
                reached.insert(link.as_str(), hop);
                for host in between {
                    if self.forwards(host) && seen.insert(host) {
                        next.push_back((host, hop.or(Some(host.as_str()))));
                    }
                }
            }
        }
        reached
    }

    fn forwards(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|host| host.forward)
    }

    /// The hosts that cannot reach each other, whatever their rules let through: for a host, those
    /// after it in order of names. Each pair is named once.
    pub fn unreachable(&self) -> BTreeMap<&str, Vec<&str>> {
        let ways = Ways::new(self);
        let names: Vec<&str> = self.hosts.keys().map(String::as_str).collect();
        let apart = |a: &str, b: &str| !ways.connect(a, b) && !ways.connect(b, a);
        let apart_from = |(i, a): (usize, &&'_ str)| {
            names[i + 1..].iter().filter(|b| apart(a, b)).copied().collect::<Vec<_>>()
        };
        let all = names.iter().enumerate().map(|(i, a)| (*a, apart_from((i, a))));
        all.filter(|(_, apart)| !apart.is_empty()).collect()
    }

    pub(super) fn check_routes(&self, name: &str) -> Result<(), Problem> {
        let Some(host) = self.hosts.get(name) else { return Ok(()) };
        for (to, via) in &host.routes {
            let at = ["host", name, "route", to];
            if self.network_of(to).is_none() && Network::parse(to).is_none() {
                let links: Vec<&String> = self.links.keys().collect();
                let happened = format!(
                    "`{to}` is neither a link nor a network such as \
                192.168.0.0/16"
                );
                return Err(Problem::new(&at, happened, nearest(to, &links)));
            }
            self.check_next_hop(&at, name, via)?;
        }
        Ok(())
    }

    /// Whether a host can send what is for others to this one.
    pub(super) fn check_next_hop(
        &self,
        at: &[&str],
        name: &str,
        next: &str,
    ) -> Result<(), Problem> {
        let router = self.known(at, next)?;
        let linked = self.links.values().any(|link| {
            let has = |host: &str| link.between.iter().any(|other| other == host);
            has(name) && has(next)
        });
        if !linked || next == name {
            let happened = format!("`{name}` has no link to `{next}`");
            return Err(Problem::new(at, happened, "Name a host that a link connects with it."));
        }
        if !router.forward {
            let happened = format!("`{next}` does not forward packets");
            let next = format!("Set forward = true in [host.{next}].");
            return Err(Problem::new(at, happened, next));
        }
        Ok(())
    }
}

/// All tables of a plan.
struct Ways<'a> {
    plan: &'a Plan,
    tables: BTreeMap<&'a str, Vec<Route>>,
    owners: BTreeMap<Ipv4Addr, &'a str>,
}

impl<'a> Ways<'a> {
    fn new(plan: &'a Plan) -> Ways<'a> {
        let hosts = plan.hosts.keys().map(String::as_str);
        let tables = hosts.clone().map(|host| (host, plan.routes(host))).collect();
        let own = |host| plan.nics(host).into_iter().map(move |nic| (nic.address, host));
        Ways { plan, tables, owners: hosts.flat_map(own).collect() }
    }

    /// Whether packets of a connection come from one host to the other and back.
    fn connect(&self, a: &str, b: &str) -> bool {
        let Some(there) = self.plan.address_of(b, a) else { return false };
        self.way(a, there).is_some_and(|source| self.way(b, source).is_some())
    }

    /// Follows the tables from a host to an address: the sender's own address, if that comes there.
    fn way(&self, from: &str, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let (mut at, mut source) = (from, None);
        // More hops than hosts are a loop.
        for _ in 0..=self.tables.len() {
            if self.owners.get(&to).is_some_and(|owner| *owner == at) {
                return source;
            }
            if at != from && !self.plan.forwards(at) {
                return None;
            }
            let next = self.next(at, to)?;
            source = source.or_else(|| self.plan.address_of(at, self.owners.get(&next)?));
            at = self.owners.get(&next)?;
        }
        None
    }

    /// The address that a host sends on to: the longest prefix wins.
    fn next(&self, at: &str, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let network = |address| Network { address, bits: super::PREFIX_BITS };
        if self.plan.nics(at).iter().any(|nic| network(nic.address).has(to)) {
            return Some(to);
        }
        let fitting = self.tables.get(at)?.iter().filter(|route| route.to.has(to));
        fitting.max_by_key(|route| route.to.bits).map(|route| route.via)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a – one – r1 – two – r2 – three – b, and r1 – side – r3 – far – c.
    fn plan(of_a: &str, of_r1: &str, of_b: &str) -> Plan {
        let host = |name: &str, more: &str| format!("[host.{name}]\nkind = \"netns\"\n{more}\n");
        let link = |name: &str, ends: [&str; 2]| format!("[link.{name}]\nbetween = {ends:?}\n");
        let text = [
            host("a", of_a),
            host("b", of_b),
            host("c", ""),
            host("r1", &format!("forward = true\n{of_r1}")),
            host("r2", "forward = true"),
            host("r3", "forward = true"),
            link("one", ["a", "r1"]),
            link("two", ["r1", "r2"]),
            link("three", ["r2", "b"]),
            link("side", ["r1", "r3"]),
            link("far", ["r3", "c"]),
        ];
        Plan::read(&text.concat(), "lab.toml").unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// far is 1, one 2, side 3, three 4, two 5.
    fn table(plan: &Plan, host: &str) -> Vec<String> {
        plan.routes(host).iter().map(|route| format!("{} {}", route.to, route.via)).collect()
    }

    #[test]
    fn the_shortest_way_leads_over_several_routers() {
        let plan = plan("", "", "");
        let all = ["10.77.1.0/24", "10.77.3.0/24", "10.77.4.0/24", "10.77.5.0/24"];
        assert_eq!(table(&plan, "a"), all.map(|to| format!("{to} 10.77.2.2")));
        assert_eq!(table(&plan, "r1"), ["10.77.1.0/24 10.77.3.2", "10.77.4.0/24 10.77.5.2"]);
        assert!(plan.unreachable().is_empty(), "{:?}", plan.unreachable());
    }

    #[test]
    fn a_gateway_is_the_way_wherever_it_leads() {
        let by_r1 = plan("gateway = \"r1\"", "", "");
        assert_eq!(table(&by_r1, "a"), ["0.0.0.0/0 10.77.2.2"]);
        assert!(by_r1.unreachable().is_empty());
        // r3's side is not behind r2.
        let upstream = plan("", "gateway = \"r2\"", "");
        assert_eq!(table(&upstream, "r1"), ["10.77.1.0/24 10.77.3.2", "0.0.0.0/0 10.77.5.2"]);
        assert!(upstream.unreachable().is_empty());
    }

    #[test]
    fn a_given_route_comes_first_and_a_wrong_one_is_seen() {
        let wrong = plan("", "route = { three = \"r3\" }", "");
        assert_eq!(table(&wrong, "r1"), ["10.77.4.0/24 10.77.3.2", "10.77.1.0/24 10.77.3.2"]);
        // r1 sends it to r3, which sends it back.
        assert_eq!(wrong.unreachable()["a"], ["b"]);
        let wide = plan("", "route = { \"10.77.0.0/16\" = \"r3\" }", "");
        assert_eq!(table(&wide, "r1"), ["10.77.0.0/16 10.77.3.2"]);
        for (bad, happened) in [
            ("route = { tree = \"r2\" }", "`tree` is neither"),
            ("route = { \"10.77.4.1/24\" = \"r2\" }", "is neither"),
            ("route = { \"10.0.0.0/33\" = \"r2\" }", "is neither"),
            ("route = { three = \"b\" }", "has no link to `b`"),
            ("route = { three = \"a\" }", "`a` does not forward"),
            ("route = { three = \"r9\" }", "no host `r9`"),
        ] {
            let text = format!(
                "[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n[host.r2]\nkind = \"netns\"\n\
                 forward = true\n[host.r1]\nkind = \"netns\"\n{bad}\n\
                 [link.one]\nbetween = [\"a\", \"r1\"]\n[link.two]\nbetween = [\"r1\", \"r2\"]\n\
                 [link.three]\nbetween = [\"r2\", \"b\"]\n"
            );
            let failure = Plan::read(&text, "lab.toml").unwrap_err();
            assert_eq!(failure.on, "lab.toml:10", "{failure}");
            assert!(failure.happened.contains(happened), "{failure}");
        }
    }

    #[test]
    fn hosts_without_a_way_are_named() {
        let text = "[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n[host.c]\nkind = \"netns\"\n\
                    [link.one]\nbetween = [\"a\", \"b\"]\n[link.two]\nbetween = [\"b\", \"c\"]\n";
        let plan = Plan::read(text, "lab.toml").unwrap();
        assert_eq!(plan.unreachable(), BTreeMap::from([("a", vec!["c"])]), "b does not forward");
        let plan = Plan::read("[host.a]\nkind = \"netns\"\n", "lab.toml").unwrap();
        assert!(plan.unreachable().is_empty());
    }
}
