//! Interfaces, netfilter and servers: from files to sections with the keys of the probe.

use super::files::Fact::{Link, Text, Times, Truth};
use super::files::{Files, facts, list};
use serde_json::{Map, Value, json};

pub(super) fn nics(files: &Files) -> Map<String, Value> {
    let nics = list(
        files,
        "/sys/class/net",
        |name| files.text(&format!("/sys/class/net/{name}/ifindex")).is_some(),
        &[
            ("rate_bits_per_second", Times("speed", 1_000_000)),
            ("duplex", Text("duplex")),
            ("mtu_bytes", Times("mtu", 1)),
            ("state", Text("operstate")),
            ("hardware_type_number", Times("type", 1)),
            ("transmit_queue_packets", Times("tx_queue_len", 1)),
            ("device_driver", Link("device/driver")),
            ("bus", Link("device/subsystem")),
            ("master", Link("master")),
            ("wireless", Truth("radio")),
            ("bridge", Truth("bridge")),
        ],
    );
    let mut all = facts(
        files,
        "/proc/sys/net",
        &[
            ("congestion_control", Text("ipv4/tcp_congestion_control")),
            ("default_queue_discipline", Text("core/default_qdisc")),
            ("tcp_receive_memory_bytes", Text("ipv4/tcp_rmem")),
            ("tcp_send_memory_bytes", Text("ipv4/tcp_wmem")),
        ],
    );
    all.insert("nics".to_owned(), Value::from(nics));
    all
}

/// Modules of netfilter, and those that carry packets past it; the probe's list, shortened to the
/// beginnings that say so.
const NETFILTER: [&str; 20] = [
    "nf_",
    "nft_",
    "xt_",
    "ip_tables",
    "ip6_tables",
    "iptable_",
    "ip6table_",
    "ipt_",
    "x_tables",
    "nfnetlink",
    "ebt",
    "br_netfilter",
    "ip_set",
    "sch_",
    "act_",
    "shortcut_fe",
    "hw_nat",
    "mtk_ppe",
    "qca_nss",
    "wireguard",
];

pub(super) fn netfilter(files: &Files) -> Map<String, Value> {
    const CONNTRACK: &str = "/proc/sys/net/netfilter";
    let modules: Vec<&str> =
        files.lines("/proc/modules").filter_map(|line| line.split(' ').next()).collect();
    let telling = |name: &&&str| NETFILTER.iter().any(|start| name.starts_with(start));
    let mut all = facts(
        files,
        CONNTRACK,
        &[
            ("conntrack_entries_count", Times("nf_conntrack_count", 1)),
            ("most_conntrack_entries_count", Times("nf_conntrack_max", 1)),
            ("conntrack_buckets_count", Times("nf_conntrack_buckets", 1)),
        ],
    );
    all.extend(facts(
        files,
        "/proc/sys/net",
        &[
            ("ipv4_forwarding", Text("ipv4/ip_forward")),
            ("bridge_calls_iptables", Text("bridge/bridge-nf-call-iptables")),
        ],
    ));
    let mut add = |key: &str, value: Value| {
        all.insert(key.to_owned(), value);
    };
    if !modules.is_empty() {
        add("modules", json!(modules.iter().filter(telling).collect::<Vec<_>>()));
        add("all_modules_count", json!(modules.len()));
    }
    add("nf_tables", json!(files.text("/sys/module/nf_tables").is_some()));
    add("flow_table", json!(files.text("/sys/module/nf_flow_table").is_some()));
    add("conntrack", json!(files.text(&format!("{CONNTRACK}/nf_conntrack_count")).is_some()));
    for (key, file) in [
        ("iptables_tables", "/proc/net/ip_tables_names"),
        ("ip6tables_tables", "/proc/net/ip6_tables_names"),
        ("flow_offload_settings", "flow_offloading"),
    ] {
        add(key, json!(files.lines(file).collect::<Vec<_>>()));
    }
    all
}

fn processes<'a>(files: &'a Files, names: &[&str]) -> Vec<&'a str> {
    let all = files.beginning("process ").map(|(_, name)| name.trim());
    all.filter(|name| names.contains(name)).collect()
}

pub(super) fn nfs_server(files: &Files) -> Map<String, Value> {
    const NFSD: &str = "/proc/fs/nfsd";
    let mut server = facts(
        files,
        NFSD,
        &[
            ("versions", Text("versions")),
            ("threads_count", Times("threads", 1)),
            ("pool_threads_count", Text("pool_threads")),
            ("max_block_size_bytes", Times("max_block_size", 1)),
            ("lease_seconds", Times("nfsv4leasetime", 1)),
        ],
    );
    let more = files.entries("/etc/exports.d/").into_iter();
    let more = more.map(|name| format!("/etc/exports.d/{name}"));
    let configured: Vec<String> = std::iter::once("/etc/exports".to_owned()).chain(more).collect();
    let configured: Vec<&str> = configured.iter().flat_map(|file| files.lines(file)).collect();
    server.insert("exports_configured".to_owned(), json!(configured));
    for (key, file) in [
        ("ports", "/proc/fs/nfsd/portlist"),
        ("exports_in_force", "/proc/fs/nfsd/exports"),
        ("exports_table", "/var/lib/nfs/etab"),
        ("nfs_conf", "/etc/nfs.conf"),
    ] {
        server.insert(key.to_owned(), json!(files.lines(file).collect::<Vec<_>>()));
    }
    let names = ["ganesha.nfsd", "unfsd", "rpc.mountd", "rpcbind"];
    server.insert("processes".to_owned(), json!(processes(files, &names)));
    server
}

pub(super) fn smb_server(files: &Files) -> Value {
    let lines = |name: &str| files.lines(&format!("smb {name}")).collect::<Vec<_>>();
    let configurations =
        files.beginning("smb ").map(|(name, _)| (name.to_owned(), json!(lines(name))));
    json!({
        "section": "smb_server",
        "ksmbd_module": files.text("/sys/module/ksmbd").is_some(),
        "configurations": configurations.collect::<Map<_, _>>(),
        "processes": processes(files, &["smbd", "ksmbd.mountd", "ksmbd", "wsdd2", "wsdd"]),
    })
}
