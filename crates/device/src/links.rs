//! How interfaces are set up: shapers, addresses, VLANs, queues and interrupts, and how many rules
//! packets pass. The host's shell reads it, next to the probe and without it, so that both know the same.

use super::clean::{Odd, clean};
use super::shell::Files;
use super::tool::{SMALL, in_english};
use plimsoll_model::device::{Netfilter, Nic, Nics};
use plimsoll_reach::Reach;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const LINKS: &str = include_str!("links.sh");
const RULES: &str = include_str!("rules.sh");

/// Most of a kind that are kept of one interface.
const MOST: usize = 64;

/// The sections of it, as far as the host tells.
pub(super) fn sections(reach: &dyn Reach, odd: &mut Odd) -> Vec<Value> {
    let mut run = |script: &str, what: &str, read: fn(&str) -> Option<Value>| {
        let ran = reach.run(&in_english(script), &[], SMALL).ok()?;
        if ran.cut {
            odd.add(format!("{what}: the output of the host is too long and was truncated"));
        }
        read(&String::from_utf8_lossy(&ran.output))
    };
    let links = run(LINKS, "settings of interfaces", from_output);
    let rules = run(RULES, "packet filter rules", rules_from_output);
    links.into_iter().chain(rules).collect()
}

/// How one interface is set up, without its addresses; `None` if the host does not tell.
pub fn interface(reach: &dyn Reach, name: &str) -> Option<Nic> {
    let ran = reach.run(&in_english(LINKS), &[], SMALL).ok()?;
    let section = from_output(&String::from_utf8_lossy(&ran.output))?;
    let section = clean(section, &mut Odd::default());
    let nics: Nics = serde_json::from_value(Value::Object(section)).ok()?;
    let nic = nics.nics.into_iter().find(|nic| nic.name.as_deref() == Some(name))?;
    Some(Nic { addresses: Vec::new(), ..nic })
}

/// How many rules packets pass, as a section; `None` if the host does not tell.
pub(super) fn rules(reach: &dyn Reach) -> Option<Value> {
    let ran = reach.run(&in_english(RULES), &[], SMALL).ok()?;
    rules_from_output(&String::from_utf8_lossy(&ran.output))
}

/// Takes into the inventory's interfaces what a section of links has of those of the same name.
pub(super) fn merge(nics: &mut [Nic], links: Vec<Nic>) {
    for link in links {
        let Some(nic) = nics.iter_mut().find(|nic| nic.name.is_some() && nic.name == link.name)
        else {
            continue;
        };
        nic.addresses = link.addresses;
        nic.vlan_number = link.vlan_number;
        nic.vlan_of = link.vlan_of;
        nic.queue_disciplines = link.queue_disciplines;
        nic.shaped_rate_bits_per_second = link.shaped_rate_bits_per_second;
        nic.queues = link.queues;
        nic.interrupts = link.interrupts;
    }
}

/// The same for the rules that packets pass.
pub(super) fn merge_rules(netfilter: &mut Netfilter, rules: Netfilter) {
    *netfilter = Netfilter {
        nft_tables_count: rules.nft_tables_count,
        nft_chains_count: rules.nft_chains_count,
        nft_rules_count: rules.nft_rules_count,
        nft_flow_tables_count: rules.nft_flow_tables_count,
        iptables_tables_count: rules.iptables_tables_count,
        iptables_rules_count: rules.iptables_rules_count,
        ip6tables_tables_count: rules.ip6tables_tables_count,
        ip6tables_rules_count: rules.ip6tables_rules_count,
        ..std::mem::take(netfilter)
    };
}

/// One interface, while it is put together.
#[derive(Default)]
struct Link {
    addresses: Vec<String>,
    vlan: Option<(u64, String)>,
    disciplines: Vec<Discipline>,
    /// What root classes of a discipline let through, by its handle.
    queues: Vec<Value>,
    interrupts: Vec<Value>,
}

struct Discipline {
    kind: String,
    handle: String,
    parent: String,
    bits_per_second: Option<u64>,
}

/// What the script printed, as a section.
pub(super) fn from_output(output: &str) -> Option<Value> {
    let files = Files::parse(output);
    let mut links: BTreeMap<String, Link> = BTreeMap::new();
    for line in files.lines("qdisc") {
        if let Some((name, discipline)) = discipline(line) {
            let known = &mut links.entry(name.to_owned()).or_default().disciplines;
            known.push(discipline);
            known.truncate(MOST);
        }
    }
    for (name, classes) in files.beginning("class ") {
        let Some((name, handle)) = name.split_once(' ') else { continue };
        let disciplines = links.get_mut(name).into_iter().flat_map(|link| &mut link.disciplines);
        if let Some(discipline) =
            disciplines.into_iter().find(|discipline| discipline.handle == handle)
        {
            discipline.bits_per_second = classes_let_through(classes, handle);
        }
    }
    for line in files.lines("addresses") {
        let mut words = line.split_whitespace().skip(1);
        if let (Some(name), Some("inet" | "inet6"), Some(address)) =
            (words.next(), words.next(), words.next())
        {
            let addresses = &mut links.entry(name.to_owned()).or_default().addresses;
            addresses.push(address.to_owned());
            addresses.truncate(MOST);
        }
    }
    // "eth0.5         | 5  | eth0", below two lines of headings.
    for line in files.lines("vlans") {
        let mut words = line.split('|').map(str::trim);
        if let (Some(name), Some(Ok(number)), Some(of)) =
            (words.next(), words.next().map(str::parse), words.next())
        {
            links.entry(name.to_owned()).or_default().vlan = Some((number, of.to_owned()));
        }
    }
    for (place, mask) in files.beginning("queue ") {
        let Some((name, queue)) = place.split_once('/') else { continue };
        let queues = &mut links.entry(name.to_owned()).or_default().queues;
        queues.push(json!({"name": queue, "steering_cores_mask": mask.trim()}));
        queues.truncate(MOST);
    }
    for (place, said) in files.beginning("irq ") {
        let Some((name, number)) = place.split_once('/') else { continue };
        let (mask, handler) = said.trim().split_once(' ').unwrap_or(("", said.trim()));
        let interrupts = &mut links.entry(name.to_owned()).or_default().interrupts;
        interrupts.push(json!({
            "interrupt_number": number.parse::<u64>().ok(), "name": handler, "cores_mask": mask,
        }));
        interrupts.truncate(MOST);
    }
    let nics: Vec<Value> = links.into_iter().map(|(name, link)| link.section(&name)).collect();
    (!nics.is_empty()).then(|| json!({"section": "links", "nics": nics}))
}

impl Link {
    fn section(self, name: &str) -> Value {
        let (vlan_number, vlan_of) = self.vlan.unzip();
        // What is shaped at the root goes for all that the interface sends.
        let at_root = self.disciplines.iter().filter(|discipline| discipline.parent == "root");
        let shaped = at_root.filter_map(|discipline| discipline.bits_per_second).min();
        let disciplines: Vec<Value> = self
            .disciplines
            .iter()
            .map(|discipline| {
                json!({
                    "kind": discipline.kind,
                    "parent": discipline.parent,
                    "rate_bits_per_second": discipline.bits_per_second,
                })
            })
            .collect();
        json!({
            "name": name,
            "addresses": self.addresses,
            "vlan_number": vlan_number,
            "vlan_of": vlan_of,
            "queue_disciplines": disciplines,
            "shaped_rate_bits_per_second": shaped,
            "queues": self.queues,
            "interrupts": self.interrupts,
        })
    }
}

/// "qdisc tbf 8001: dev eth0 root refcnt 2 rate 1Gbit burst 15337b lat 4.2ms".
fn discipline(line: &str) -> Option<(&str, Discipline)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["qdisc", kind, handle, "dev", name, rest @ ..] = &words[..] else { return None };
    let parent = match (*kind, rest) {
        ("ingress" | "clsact", _) => "ingress",
        (_, ["root", ..]) => "root",
        (_, ["parent", parent, ..]) => parent,
        _ => return None,
    };
    // The rate of fq is that of one flow, and has a name of its own.
    let rate = after(rest, "rate").or(after(rest, "bandwidth"));
    let discipline = Discipline {
        kind: (*kind).to_owned(),
        handle: (*handle).to_owned(),
        parent: parent.to_owned(),
        bits_per_second: rate.and_then(bits_per_second),
    };
    Some((name, discipline))
}

/// What classes directly below the root of a discipline let through together; `None` where one of them
/// has no limit.
fn classes_let_through(classes: &str, handle: &str) -> Option<u64> {
    let mut sum = 0u64;
    for line in classes.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let limit = match &words[..] {
            // "class htb 1:10 root rate 100Mbit ceil 1Gbit burst 1600b cburst 1375b"
            ["class", "htb", _, "root", rest @ ..] => after(rest, "ceil").or(after(rest, "rate")),
            // "class hfsc 1:1 parent 1: sc m1 0bit d 0us m2 10Mbit ul m1 0bit d 0us m2 20Mbit"
            ["class", "hfsc", _, "parent", parent, rest @ ..] if *parent == handle => {
                let upper = rest.iter().position(|word| *word == "ul");
                Some(upper.and_then(|at| after(&rest[at..], "m2"))?)
            }
            _ => continue,
        };
        sum = sum.checked_add(limit.and_then(bits_per_second)?)?;
    }
    (sum > 0).then_some(sum)
}

fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

/// A rate as tc prints it: "1Gbit", "9500Kbit", "1.5Mbit".
fn bits_per_second(text: &str) -> Option<u64> {
    let number = text.strip_suffix("bit")?;
    let (number, factor) = match number.char_indices().last()? {
        (at, 'K') => (&number[..at], 1e3),
        (at, 'M') => (&number[..at], 1e6),
        (at, 'G') => (&number[..at], 1e9),
        (at, 'T') => (&number[..at], 1e12),
        _ => (number, 1.0),
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let bits = number.parse::<f64>().ok().filter(|_| plain)? * factor;
    (1.0..1e14).contains(&bits).then_some(bits.round() as u64)
}

/// What is counted of the rules of each tool.
const COUNTED: [(&str, &[&str]); 3] = [
    ("nft", &["tables", "chains", "rules", "flow_tables"]),
    ("iptables", &["tables", "rules"]),
    ("ip6tables", &["tables", "rules"]),
];

/// Counts of what is in the rules of nftables and iptables, as a section; of those alone that could be listed.
pub(super) fn rules_from_output(output: &str) -> Option<Value> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut whole: Vec<&str> = Vec::new();
    for line in output.lines() {
        match &line.split_whitespace().collect::<Vec<_>>()[..] {
            [tool, "end"] => whole.push(tool),
            [count, tool, kind] => {
                counts.insert((tool, kind), count.parse().ok()?);
            }
            _ => {}
        }
    }
    let mut section: Map<String, Value> = Map::new();
    section.insert("section".to_owned(), Value::from("rules"));
    for (tool, kinds) in COUNTED.into_iter().filter(|(tool, _)| whole.contains(tool)) {
        for kind in kinds {
            let count = counts.get(&(tool, kind)).copied().unwrap_or(0);
            section.insert(format!("{tool}_{kind}_count"), Value::from(count));
        }
    }
    (section.len() > 1).then_some(Value::Object(section))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Reading;
    use plimsoll_model::device::{Inventory, ReadBy};

    const OUTPUT: &str = "a greeting\n\
        @@plimsoll qdisc\n\
        qdisc tbf 8001: dev eth0 root refcnt 2 rate 1Gbit burst 102375b lat 5ms\n\
        qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------\n\
        qdisc htb 1: dev eth1 root refcnt 2 r2q 10 default 0x10 direct_qlen 1000\n\
        qdisc cake 8003: dev ifb4eth1 root refcnt 2 bandwidth 95500Kbit besteffort\n\
        qdisc mq 0: dev eth2 root\n\
        @@plimsoll class eth1 1:\n\
        class htb 1:11 parent 1:10 prio 0 rate 100Mbit ceil 100Mbit burst 1600b\n\
        class htb 1:10 root rate 100Mbit ceil 300Mbit burst 1600b cburst 1375b\n\
        class htb 1:20 root rate 50Mbit ceil 50Mbit burst 1600b cburst 1375b\n\
        @@plimsoll addresses\n\
        1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n\
        2: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0\\       valid_lft\n\
        2: eth0    inet6 fe80::fc:ff:fe00:1/64 scope link \\       valid_lft forever\n\
        @@plimsoll vlans\n\
        VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n\
        eth0.5         | 5  | eth0\n\
        @@plimsoll queue eth0/rx-0\n3\n@@plimsoll queue eth0/tx-0\n1\n\
        @@plimsoll irq eth0/25\n2 virtio0-input.0\n@@plimsoll end\n";

    fn inventory(sections: impl IntoIterator<Item = Value>) -> Inventory {
        let mut odd = Odd::default();
        let mut reading = Reading::by(ReadBy::Probe);
        let nics = ["lo", "eth0", "eth0.5", "eth1", "eth2", "ifb4eth1"];
        let nics: Vec<Value> = nics.iter().map(|name| json!({"name": name})).collect();
        reading.take(json!({"section": "nics", "nics": nics}), &mut odd);
        sections.into_iter().for_each(|section| reading.take(section, &mut odd));
        assert!(odd.into_remarks().is_empty());
        reading.finish()
    }

    #[test]
    fn a_shaper_is_the_rate_of_its_interface_and_what_is_set_up_is_known() {
        let inventory = inventory(from_output(OUTPUT));
        let nics = inventory.network.unwrap().nics;
        let nic = |name: &str| nics.iter().find(|nic| nic.name.as_deref() == Some(name)).unwrap();
        let shaped = |name| nic(name).shaped_rate_bits_per_second;
        assert_eq!(shaped("eth0"), Some(1_000_000_000));
        assert_eq!(shaped("eth1"), Some(350_000_000), "root classes together");
        assert_eq!(shaped("ifb4eth1"), Some(95_500_000));
        assert_eq!(shaped("eth2"), None);
        let kinds = |name| {
            let all = nic(name).queue_disciplines.iter();
            all.filter_map(|d| d.kind.as_deref()).collect::<Vec<_>>()
        };
        assert_eq!(kinds("eth0"), ["tbf", "ingress"]);
        assert_eq!(kinds("eth2"), ["mq"]);
        assert_eq!(nic("eth0").addresses, ["192.0.2.2/24", "fe80::fc:ff:fe00:1/64"]);
        let vlan = nic("eth0.5");
        assert_eq!((vlan.vlan_number, vlan.vlan_of.as_deref()), (Some(5), Some("eth0")));
        let queues: Vec<_> =
            nic("eth0").queues.iter().map(|q| q.name.as_deref().unwrap()).collect();
        assert_eq!(queues, ["rx-0", "tx-0"]);
        assert_eq!(nic("eth0").queues[0].steering_cores_mask.as_deref(), Some("3"));
        let irq = &nic("eth0").interrupts[0];
        assert_eq!((irq.interrupt_number, irq.cores_mask.as_deref()), (Some(25), Some("2")));
        assert_eq!(irq.name.as_deref(), Some("virtio0-input.0"));
    }

    #[test]
    fn rules_are_counted_or_unknown() {
        let said = "      2 nft chains\n   3100 nft rules\n      1 nft tables\nnft end\n";
        let netfilter = inventory(rules_from_output(said)).netfilter.unwrap();
        assert_eq!(netfilter.nft_rules_count, Some(3100));
        assert_eq!(netfilter.nft_flow_tables_count, Some(0));
        // Without rights, or cut off, the number is not known: not none.
        assert_eq!(rules_from_output(""), None);
        assert_eq!(rules_from_output("      1 nft tables\n"), None);
    }

    /// A router with the older tables counted as one without rules.
    #[test]
    fn rules_of_iptables_are_counted_next_to_those_of_nftables() {
        let said = "      2 iptables tables\n    250 iptables rules\niptables end\n\
            ip6tables end\n      1 nft tables\n";
        let netfilter = inventory(rules_from_output(said)).netfilter.unwrap();
        let of_4 = (netfilter.iptables_rules_count, netfilter.iptables_tables_count);
        let of_6 = (netfilter.ip6tables_rules_count, netfilter.ip6tables_tables_count);
        assert_eq!((of_4, of_6), ((Some(250), Some(2)), (Some(0), Some(0))));
        assert_eq!(netfilter.nft_tables_count, None, "they could not be listed");
    }

    #[test]
    fn rates_of_tc() {
        for (text, expected) in [
            ("1Gbit", Some(1_000_000_000)),
            ("95500Kbit", Some(95_500_000)),
            ("1.5Mbit", Some(1_500_000)),
            ("800bit", Some(800)),
            ("0bit", None),
            ("nanGbit", None),
            ("1e9bit", None),
            ("99999999999Tbit", None),
            ("bit", None),
            ("unlimited", None),
        ] {
            assert_eq!(bits_per_second(text), expected, "{text}");
        }
    }

    /// The scripts as they are, in a network of their own, against the system's tc and nft.
    #[test]
    fn the_scripts_read_what_tc_and_nft_were_told() {
        let setup = "ip link add up0 type dummy && ip link set up0 up && \
            ip addr add 192.0.2.7/24 dev up0 && \
            tc qdisc add dev up0 root tbf rate 1gbit burst 100k latency 5ms && \
            nft add table inet t && nft 'add chain inet t c { type filter hook input priority 0; }' && \
            nft add rule inet t c tcp dport 1 accept && nft add rule inet t c udp dport 1 accept";
        let script = format!(
            "{setup} >/dev/null 2>&1 || exit 9\n\
             mount -t sysfs none /sys 2>/dev/null\n({LINKS})\necho 'next part'\n({RULES})"
        );
        let ran = std::process::Command::new("unshare").args(["-mn", "sh", "-c", &script]).output();
        let Ok(ran) = ran else { return };
        if !ran.status.success() {
            eprintln!("not tried: no namespaces, tc or nft here");
            return;
        }
        let output = String::from_utf8(ran.stdout).unwrap();
        let (links, rules) = output.split_once("next part\n").unwrap();
        let links = from_output(links).unwrap();
        let up0 =
            links["nics"].as_array().unwrap().iter().find(|nic| nic["name"] == "up0").unwrap();
        assert_eq!(up0["shaped_rate_bits_per_second"], 1_000_000_000, "{links}");
        assert_eq!(up0["addresses"][0], "192.0.2.7/24");
        assert_eq!(up0["queues"][0]["name"], "rx-0");
        let rules = rules_from_output(rules).unwrap();
        let counts = ["tables", "chains", "rules"].map(|kind| &rules[format!("nft_{kind}_count")]);
        assert_eq!(counts, [1, 1, 2]);
    }
    /// The same of iptables: of both versions of IP, and without what it writes to nftables.
    #[test]
    fn the_script_counts_the_older_tables_alone() {
        let setup = "iptables-legacy -A INPUT -p tcp --dport 1 -j ACCEPT && \
            iptables-legacy -t nat -A POSTROUTING -j RETURN && \
            ip6tables-legacy -A INPUT -p tcp --dport 1 -j ACCEPT && \
            iptables-nft -A INPUT -p tcp --dport 2 -j ACCEPT";
        let script = format!("{{ {setup}; }} >/dev/null 2>&1 || exit 9\n{RULES}");
        let ran = std::process::Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
        let Ok(ran) = ran else { return };
        if !ran.status.success() {
            eprintln!("not tried: no namespaces or no iptables here");
            return;
        }
        let rules = rules_from_output(&String::from_utf8(ran.stdout).unwrap()).unwrap();
        let counts = |tool: &str| {
            ["tables", "rules"].map(|kind| rules[format!("{tool}_{kind}_count")].as_u64())
        };
        assert_eq!(counts("iptables"), [Some(2), Some(2)], "{rules}");
        assert_eq!(counts("ip6tables"), [Some(1), Some(1)], "{rules}");
    }
}
