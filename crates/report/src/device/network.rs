//! Network interfaces, radios and netfilter, as facts by name.

use super::amount::link;
use super::inventory::{each, known, text};
use super::section::{Section, joined};
use crate::text::counted;
use plimsoll_model::device::{Inventory, Netfilter, Nic, Nics};

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
            |nic| Some((format!("interface {}", known(&nic.name)?), interface(nic)?)),
            "interfaces",
        );
        let idle: Vec<String> = idle.iter().take(16).filter_map(|nic| known(&nic.name)).collect();
        section.fact("virtual and down", Some(idle.join(", ")));
        section.fact("TCP", tcp(network));
    }
    let radios = inventory.radios.iter().take(8).filter_map(|radio| {
        let driver = known(&radio.driver).map(|driver| format!(" ({driver})"));
        Some(format!("{}{}", known(&radio.name)?, driver.unwrap_or_default()))
    });
    section.fact("radios", Some(radios.collect::<Vec<_>>().join(", ")));
    if let Some(netfilter) = &inventory.netfilter {
        section.fact("netfilter", filter(netfilter));
        section.fact("flow offload", flow_offload(netfilter));
    }
}

fn interface(nic: &Nic) -> Option<String> {
    let rate = nic.rate_bits_per_second.map(|rate| {
        let duplex = known(&nic.duplex).filter(|duplex| duplex != "unknown");
        format!("{} {}", link(rate), duplex.unwrap_or_default()).trim_end().to_owned()
    });
    let kind = match (nic.wireless, nic.bridge) {
        (Some(true), _) => Some("radio".to_owned()),
        (_, Some(true)) => Some("bridge".to_owned()),
        _ => None,
    };
    let queues = nic.receive_queues_count.filter(|n| *n > 1).map(|n| counted(n, "receive queue"));
    joined([
        known(&nic.driver),
        kind,
        known(&nic.state),
        rate,
        nic.mtu_bytes.map(|bytes| format!("MTU {bytes}")),
        known(&nic.master).map(|master| format!("part of {master}")),
        queues,
        offloads(nic),
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
