//! Whether the traffic of a client, or of an end of a network path, went over the slower of its network interfaces, while a
//! faster one was idle.

use crate::thresholds::{FASTER_INTERFACE, IDLE_INTERFACE, SLOWER_INTERFACE_BUSY};
use plimsoll_model::{HostFacts, HostLoad, HostName, HostRole, Study};
use std::collections::BTreeMap;

/// Interfaces that are no way to another machine, or a way through another interface.
const VIRTUAL: [&str; 14] = [
    "lo", "docker", "br-", "virbr", "veth", "tap", "tun", "vnet", "wg", "cni", "cali", "flannel",
    "lxc", "ifb",
];

/// Interfaces of a client or of an end of a path: the one that carried the traffic, and a faster one that did not.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowerInterface {
    /// The host.
    pub host: HostName,
    /// The interface that carried the traffic, its rate in bits per second, and how full it was at most (0..1).
    pub used: (String, u64, f64),
    /// The fastest interface that was idle, and its rate.
    pub idle: (String, u64),
    /// Whether both are known to lead to the other end: in a lab, whose links are known.
    pub leads_to_other_end: bool,
    /// Whether the other end is that of a path, else a server.
    pub is_path: bool,
}

/// Every client, and every end of a path, whose traffic went over a slower interface that was at least half full.
pub fn slower_interfaces(study: &Study) -> Vec<SlowerInterface> {
    let plan = &study.plan;
    let named = |has_role: fn(HostRole) -> bool| -> Vec<&HostName> {
        let hosts = plan.watched.iter().filter(|one| has_role(one.role));
        hosts.map(|one| &one.host).collect()
    };
    let clients = named(|role| role == HostRole::Client);
    let peers = named(|role| role == HostRole::Peer);
    let far_ends = named(HostRole::is_far_end);
    let is_path = plan.subjects.first().is_some_and(|subject| subject.path().is_some());
    let slower_of = |facts: &HostFacts| match clients.contains(&&facts.name) {
        true => of_host(study, facts, &far_ends),
        // Of a server the way to its clients is its own affair.
        false if peers.contains(&&facts.name) => of_host(study, facts, &clients),
        false => None,
    };
    let found = study.hosts.iter().filter_map(slower_of);
    found.map(|found| SlowerInterface { is_path, ..found }).collect()
}

fn of_host(study: &Study, facts: &HostFacts, others: &[&HostName]) -> Option<SlowerInterface> {
    let loads: Vec<&HostLoad> = study
        .trials
        .iter()
        .flat_map(|trial| trial.loads.iter().filter(|load| load.host == facts.name))
        .collect();
    // Bytes of both directions together, and the fullest second of the fuller direction.
    let mut carried: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for load in loads.iter().filter(|load| load.seconds > 0.0) {
        for interface in load.interfaces.iter().filter(|interface| is_real(facts, &interface.name))
        {
            let [received, sent] =
                [interface.received_bytes, interface.sent_bytes].map(|bytes| bytes as f64);
            let sums = carried.entry(&interface.name).or_default();
            sums.0 += received + sent;
            sums.1 = sums.1.max(received.max(sent) / load.seconds);
        }
    }
    let (used, (bytes, most)) = carried.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let rate = facts.link_rate(used)?;
    let share = 8.0 * most / rate as f64;
    let names = facts.interfaces().into_iter().filter(|name| is_real(facts, name));
    let idle = names
        .filter(|name| name != used)
        .filter(|name| carried.get(name).is_none_or(|(own, _)| *own < IDLE_INTERFACE * bytes))
        .filter_map(|name| Some((name, facts.link_rate(name)?)))
        .filter(|(_, other)| *other as f64 >= FASTER_INTERFACE * rate as f64)
        .max_by_key(|(_, rate)| *rate)?;
    (share >= SLOWER_INTERFACE_BUSY).then(|| SlowerInterface {
        host: facts.name.clone(),
        used: ((*used).to_owned(), rate, share.min(1.0)),
        idle: (idle.0.to_owned(), idle.1),
        leads_to_other_end: study.hosts.iter().filter(|host| others.contains(&&host.name)).any(
            |host| {
                // Links of a lab have one name at both of their ends.
                facts.lab.is_some() && host.lab == facts.lab && host.interfaces().contains(idle.0)
            },
        ),
        is_path: false,
    })
}

/// Whether an interface may lead to another machine by itself. A lab's are called as its links are.
fn is_real(facts: &HostFacts, name: &str) -> bool {
    facts.lab.is_some() && name != "lo" || !VIRTUAL.iter().any(|begin| name.starts_with(begin))
}
