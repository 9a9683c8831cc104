//! Network interfaces, radios and netfilter, as facts by name.

use super::amount::link;
use super::inventory::{each, known, text};
use super::section::{Section, joined};
use crate::text::counted;
use plimsoll_model::device::{Inventory, Netfilter, Nic, Nics, Queue, QueueDiscipline};

/// The loopback interface (ARPHRD_LOOPBACK).
const LOOPBACK: u64 = 772;

/// Offloads that decide about speed, by the kernel's names and the short ones they go by.
const OFFLOADS: [(&str, &str); 13] = [
    ("tx-tcp-segmentation", "TSO"),
    ("tx-udp-segmentation", "USO"),
    ("tx-generic-segmentation", "GSO"),
    ("rx-gro", "GRO"),
    ("rx-gro-hw", "GRO in hardware"),
    ("rx-lro", "LRO"),
    ("rx-checksum", "receive checksums"),
    ("tx-checksum-ip-generic", "transmit checksums"),
    ("tx-checksum-ipv4", "transmit checksums"),
    ("tx-scatter-gather", "scatter-gather"),
    ("hw-tc-offload", "tc in hardware"),
    ("esp-hw-offload", "IPsec"),
    ("tls-hw-tx-offload", "TLS"),
];

pub(super) fn facts(section: &mut Section, inventory: &Inventory) {
    if let Some(network) = &inventory.network {
        // Interfaces of no bus are the kernel's own; those that are down say nothing but their names.
        let is_idle = |nic: &&Nic| nic.state.as_deref() == Some("down") && nic.bus.is_none();
        let all = network.nics.iter().filter(|nic| nic.hardware_type_number != Some(LOOPBACK));
        let (idle, there): (Vec<&Nic>, Vec<&Nic>) = all.partition(is_idle);
        each(
            section,
            &there,
            |nic| Some((format!("interface {}", known(&nic.name)?), interface(nic, network)?)),
            "interfaces",
        );
        let idle: Vec<String> = idle.iter().take(16).filter_map(|nic| known(&nic.name)).collect();
        section.fact("virtual and down", Some(idle.join(", ")));
        for nic in there {
            let name = known(&nic.name).unwrap_or_default();
            section.fact(&format!("addresses of {name}"), listed_up_to(&nic.addresses, 8));
            section.fact(&format!("queues of {name}"), queues(nic));
            section.fact(&format!("interrupts of {name}"), interrupts(nic));
        }
        section.fact("TCP", tcp(network));
    }
    let radios = inventory.radios.iter().take(8).filter_map(|radio| {
        let driver = known(&radio.driver).map(|driver| format!(" ({driver})"));
        Some(format!("{}{}", known(&radio.name)?, driver.unwrap_or_default()))
    });
    section.fact("radios", Some(radios.collect::<Vec<_>>().join(", ")));
    if let Some(netfilter) = &inventory.netfilter {
        section.fact("netfilter", filter(netfilter));
        section.fact("nftables", nftables(netfilter));
        section.fact("iptables", iptables(netfilter));
        section.fact("flow offload", flow_offload(netfilter));
    }
}

fn interface(nic: &Nic, network: &Nics) -> Option<String> {
    let rate = nic.rate_bits_per_second.map(|rate| {
        let duplex = known(&nic.duplex).filter(|duplex| duplex != "unknown");
        format!("{} {}", link(rate), duplex.unwrap_or_default()).trim_end().to_owned()
    });
    let kind = match (nic.wireless, nic.bridge) {
        (Some(true), _) => Some("radio".to_owned()),
        (_, Some(true)) => Some(match ports(nic, network) {
            ports if ports.is_empty() => "bridge".to_owned(),
            ports => format!("bridge of {}", ports.join(" ")),
        }),
        _ => None,
    };
    let vlan = nic.vlan_number.map(|number| match known(&nic.vlan_of) {
        Some(of) => format!("VLAN {number} on {of}"),
        None => format!("VLAN {number}"),
    });
    let queues = nic.receive_queues_count.filter(|n| *n > 1).map(|n| counted(n, "receive queue"));
    joined([
        known(&nic.driver).filter(|driver| driver != "bridge"),
        kind,
        known(&nic.state),
        shaped(nic, rate),
        vlan,
        nic.mtu_bytes.map(|bytes| format!("MTU {bytes}")),
        known(&nic.master).map(|master| format!("part of {master}")),
        queues,
        disciplines(nic),
        offloads(nic),
    ])
}

/// The rate of the link, after that of a shaper where that lets less through.
fn shaped(nic: &Nic, link_rate: Option<String>) -> Option<String> {
    let limit = nic.shaped_rate_bits_per_second;
    let limit = limit.filter(|limit| nic.rate_bits_per_second.is_none_or(|rate| *limit < rate));
    match limit {
        None => link_rate,
        Some(limit) => {
            let own = link_rate.map(|rate| format!(" (the link: {rate})")).unwrap_or_default();
            Some(format!("shaped to {}{own}", link(limit)))
        }
    }
}

/// Disciplines of its queues: "queueing cake 95 Mbit/s, ingress".
pub(crate) fn disciplines(nic: &Nic) -> Option<String> {
    let discipline = |d: &QueueDiscipline| {
        let rate = d.rate_bits_per_second.map(|rate| format!(" {}", link(rate)));
        let at_entrance = d.parent.as_deref() == Some("ingress");
        let place = if at_entrance { " on ingress" } else { "" };
        Some(format!("{}{}{place}", known(&d.kind)?, rate.unwrap_or_default()))
    };
    let mut all: Vec<String> = nic.queue_disciplines.iter().filter_map(discipline).collect();
    all.dedup();
    let all = listed_up_to(&all, 6)?;
    (all != "noqueue").then(|| format!("queue discipline {all}"))
}

/// The interfaces of a bridge.
fn ports(nic: &Nic, network: &Nics) -> Vec<String> {
    let belongs = |other: &&Nic| other.master.is_some() && other.master == nic.name;
    let ports = network.nics.iter().filter(belongs);
    ports.take(16).filter_map(|port| known(&port.name)).collect()
}

/// Its queues with the cores that work for them: "rx-0 cores 3, tx-0 cores 1". One queue without
/// steering is what every interface has.
pub(crate) fn queues(nic: &Nic) -> Option<String> {
    let set = |queue: &Queue| {
        let mask = queue.steering_cores_mask.as_deref()?;
        mask.bytes().any(|b| !matches!(b, b'0' | b',')).then(|| text(mask))
    };
    let several = nic.queues.len() > 2 || nic.queues.iter().any(|queue| set(queue).is_some());
    let shown = nic.queues.iter().filter(|_| several).filter_map(|queue| {
        let name = known(&queue.name)?;
        let kind = if name.starts_with("rx") { "RPS" } else { "XPS" };
        Some(match set(queue) {
            Some(mask) => format!("{name} {kind} mask {mask}"),
            None => format!("{name} no {kind}"),
        })
    });
    listed_up_to(&shown.collect::<Vec<_>>(), 32)
}

/// The interrupts of its device with the cores that may serve them.
pub(crate) fn interrupts(nic: &Nic) -> Option<String> {
    let shown = nic.interrupts.iter().filter_map(|irq| {
        let mask = known(&irq.cores_mask).map(|mask| format!(" mask {mask}"));
        let name = known(&irq.name).map(|name| format!(" {name}"));
        let (name, mask) = (name.unwrap_or_default(), mask.unwrap_or_default());
        Some(format!("IRQ {}{name}{mask}", irq.interrupt_number?))
    });
    listed_up_to(&shown.collect::<Vec<_>>(), 32)
}

/// The first of several, and how many more there are.
fn listed_up_to(all: &[String], most: usize) -> Option<String> {
    let shown: Vec<String> = all.iter().take(most).map(|item| text(item)).collect();
    let more = all.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("and {more} more"));
    joined(shown.into_iter().map(Some).chain([more]))
}

fn nftables(netfilter: &Netfilter) -> Option<String> {
    let count = |of: Option<u64>, noun: &str| of.map(|n| counted(n, noun));
    joined([
        count(netfilter.nft_rules_count, "rule"),
        count(netfilter.nft_chains_count, "chain"),
        count(netfilter.nft_tables_count, "table"),
        count(netfilter.nft_flow_tables_count, "flow table"),
    ])
}

/// The rules that are not in nftables; nothing where there are none, as on most hosts.
fn iptables(netfilter: &Netfilter) -> Option<String> {
    let rules_in_tables = |rules: Option<u64>, tables: Option<u64>, version: &str| {
        let (rules, tables) = (rules?, tables.filter(|tables| *tables > 0)?);
        Some(format!("{} in {} ({version})", counted(rules, "rule"), counted(tables, "table")))
    };
    joined([
        rules_in_tables(netfilter.iptables_rules_count, netfilter.iptables_tables_count, "IPv4"),
        rules_in_tables(netfilter.ip6tables_rules_count, netfilter.ip6tables_tables_count, "IPv6"),
    ])
}

fn offloads(nic: &Nic) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for (kernel, name) in OFFLOADS {
        if nic.offloads.iter().any(|on| on == kernel) && !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("offloads {}", names.join(", ")))
}

fn tcp(network: &Nics) -> Option<String> {
    // Least, default and most, with tabs between them.
    let buffer = |name: &str, of: &Option<String>| {
        let digits = |c: char| !c.is_ascii_digit();
        let most = of.as_deref()?.rsplit(digits).next()?.parse::<u64>().ok()?;
        Some(format!("{name} buffer up to {}", super::amount::binary(most)))
    };
    joined([
        known(&network.congestion_control),
        known(&network.default_queue_discipline).map(|q| format!("queues {q}")),
        buffer("receive", &network.tcp_receive_memory_bytes),
        buffer("send", &network.tcp_send_memory_bytes),
    ])
}

fn filter(netfilter: &Netfilter) -> Option<String> {
    let tracked = netfilter.conntrack.map(|tracked| match tracked {
        false => "connections are not tracked".to_owned(),
        true => match (netfilter.conntrack_entries_count, netfilter.most_conntrack_entries_count) {
            (Some(now), Some(most)) => format!("{now} of at most {most} connections tracked"),
            _ => "connections are tracked".to_owned(),
        },
    });
    let tables: Vec<String> = netfilter.iptables_tables.iter().take(8).map(|t| text(t)).collect();
    let tables = (!tables.is_empty()).then(|| format!("iptables tables {}", tables.join(" ")));
    // What is built into the kernel is no module: false says nothing.
    let nf_tables = (netfilter.nf_tables == Some(true)).then(|| "nf_tables loaded".to_owned());
    let modules = netfilter.modules.len() as u64;
    let modules = (modules > 0).then(|| counted(modules, "module"));
    let forwards = netfilter.ipv4_forwarding.as_deref() == Some("1");
    joined([tracked, nf_tables, tables, modules, forwards.then(|| "forwards IPv4".to_owned())])
}

/// Tables of flows that pass netfilter by, and OpenWrt's switches for them.
fn flow_offload(netfilter: &Netfilter) -> Option<String> {
    let mut said: Vec<String> =
        netfilter.flow_offload_settings.iter().take(4).map(|line| text(line)).collect();
    if netfilter.flow_table == Some(true) {
        said.push("flow tables loaded".to_owned());
    }
    (!said.is_empty()).then(|| said.join(", "))
}
