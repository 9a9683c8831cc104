//! Flow offload of what a router forwards: off as found, or by a flowtable of plimsoll's own between all interfaces that
//! have an address. Packets of a known connection then pass the rules by, in software or in the network card. Cards take
//! the flows of their own ports: those below bridges, VLANs and PPPoE sessions then. In software, an interface of a
//! session takes its own packets.

use super::own_table::OwnTable;
use super::{Knob, command, interface};
use plimsoll_model::{Cause, Failure, factor};
use plimsoll_reach::Reach;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What stands for it.
pub(super) const KIND: &str = factor::FLOWTABLE;

const HARDWARE: &str = "hardware";
const TRIED: &str = "list the interfaces";
/// Prints bridges and VLANs, each with an interface below it, in the directory in which [`interface::LIST_SESSIONS`] ends.
const LIST_BELOW: &str = "for i in */lower_*; do
        above=${i%%/*}
        if [ -d \"$above/bridge\" ] || grep -q '^DEVTYPE=vlan' \"$above/uevent\" 2>/dev/null; then
            echo \"$above ${i#*/lower_}\"
        fi
    done";

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    let table = OwnTable {
        kind: KIND,
        table: "plimsoll_flows",
        absent: "off",
        levels: &[("software", "flow add @flows"), (HARDWARE, "flags offload")],
        content,
        expect_free,
    };
    table.make(rest)
}

/// Fails where rules of the host have a flowtable: a second one would not take its flows.
fn expect_free(host: &dyn Reach) -> Result<(), Failure> {
    const TRIED: &str = "read the flowtables";
    let listed = command(host, TRIED, "nft list flowtables", b"")?;
    if !listed.lines().any(|line| line.trim_start().starts_with("flowtable ")) {
        return Ok(());
    }
    let happened = "the rules of the host already have a flowtable";
    let next =
        "Compare with these rules without it: --set HOST/nft-ruleset=as-found,without-flowtable.";
    Err(Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(happened).next(next))
}

fn content(host: &dyn Reach, level: &str) -> Result<String, Failure> {
    let listed = command(host, TRIED, "ip -o addr show up 2>/dev/null", b"")?;
    let interfaces = interfaces(&listed);
    if interfaces.len() < 2 {
        let happened = "fewer than two interfaces that are up have an address";
        let next = "Check that the host is a router: ip addr.";
        return Err(Failure::new(Cause::NotPermitted, TRIED)
            .on(host.name())
            .happened(happened)
            .next(next));
    }
    match level == HARDWARE {
        true => Ok(rules(&in_hardware(host, &interfaces)?, true)),
        false => Ok(rules(&interfaces, false)),
    }
}

/// The ports of these interfaces whose drivers take flows.
///
/// # Errors
/// Fewer than two do.
fn in_hardware(
    host: &dyn Reach,
    interfaces: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Failure> {
    let list = [interface::LIST_SESSIONS, LIST_BELOW].concat();
    let listed = command(host, TRIED, &list, b"")?;
    let ports = ports(interfaces, &listed);
    // nft checks a table without loading it; only the kernel knows what a driver takes. It has a name of its own: one that
    // is there cannot change to hardware.
    let script = ports.iter().fold(String::new(), |mut script, port| {
        let one = BTreeSet::from([port.clone()]);
        let table = format!("table inet plimsoll_try {{\n{}}}", rules(&one, true));
        let _ =
            writeln!(script, "nft -c -f - >/dev/null 2>&1 <<'END' && echo {port}\n{table}\nEND");
        script
    });
    let taken = command(host, TRIED, &format!("{script}true"), b"")?;
    let taken: BTreeSet<String> = taken.lines().map(str::to_owned).collect();
    let taken: BTreeSet<String> = ports.intersection(&taken).cloned().collect();
    if taken.len() > 1 {
        return Ok(taken);
    }
    let all: Vec<&str> = ports.iter().map(String::as_str).collect();
    let happened = format!("fewer than two drivers of {} take flows", all.join(", "));
    let next = "Compare with software alone: flowtable=off,software.";
    Err(Failure::new(Cause::NotPermitted, "offload flows to the hardware")
        .on(host.name())
        .happened(happened)
        .next(next))
}

/// The ports below bridges, VLANs and sessions, and interfaces that are none of them. A line of `listed` has one of the
/// former and an interface below it.
fn ports(interfaces: &BTreeSet<String>, listed: &str) -> BTreeSet<String> {
    let pairs: Vec<(&str, &str)> =
        listed.lines().filter_map(|line| line.trim().split_once(' ')).collect();
    interface::lowest_interfaces(interfaces, &pairs)
}

/// Interfaces with an address, of lines of `ip -o addr`; not the loopback interface.
fn interfaces(listed: &str) -> BTreeSet<String> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().nth(1));
    let names = names.map(|name| name.split('@').next().unwrap_or(name).trim_end_matches(':'));
    let known = names.filter(|name| *name != "lo" && interface::check(name).is_ok());
    known.map(str::to_owned).collect()
}

fn rules(interfaces: &BTreeSet<String>, in_hardware: bool) -> String {
    let devices: Vec<String> = interfaces.iter().map(|name| format!("\"{name}\"")).collect();
    let flags = if in_hardware { "        flags offload;\n" } else { "" };
    format!(
        "    flowtable flows {{
        hook ingress priority filter; devices = {{ {} }};
{flags}    }}
    chain forwarded {{
        type filter hook forward priority filter - 1; policy accept;
        meta l4proto {{ tcp, udp }} flow add @flows
    }}
",
        devices.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;
    use std::fs;

    #[test]
    fn interfaces_that_have_an_address_share_a_table() {
        let listed = "1: lo    inet 127.0.0.1/8 scope host lo\n\
                      2: eth0    inet 192.0.2.1/24 scope global eth0\n\
                      2: eth0    inet6 fe80::1/64 scope link\n\
                      7: lan@eth1    inet 10.0.0.1/24 scope global lan\n\
                      9: a\"b    inet 10.0.0.2/24 scope global x\n";
        let found = interfaces(listed);
        assert_eq!(Vec::from_iter(&found), ["eth0", "lan"]);
        let software = rules(&found, false);
        assert!(software.contains("devices = { \"eth0\", \"lan\" };"), "{software}");
        assert!(!software.contains("offload"), "{software}");
        assert!(rules(&found, true).contains("        flags offload;\n    }\n"));
    }

    /// The usual home by DSL or fibre: a session over a VLAN of the port. Its card knows nothing of `pppoe-wan`.
    #[test]
    fn hardware_has_the_port_below_a_pppoe_session() {
        let place = tempfile::tempdir().unwrap();
        let [net, sessions] = ["net", "pppoe"].map(|name| place.path().join(name));
        let add = |name: &str, kind: &str, uevent: &str| {
            let own = net.join(name);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("type"), format!("{kind}\n")).unwrap();
            fs::write(own.join("uevent"), format!("{uevent}INTERFACE={name}\n")).unwrap();
        };
        for (name, kind) in [("lan1", "1"), ("lo", "772"), ("wan", "1"), ("pppoe-wan", "512")] {
            add(name, kind, "");
        }
        add("wan.7", "1", "DEVTYPE=vlan\n");
        fs::write(net.join("wan.7/lower_wan"), "").unwrap();
        let script = [interface::LIST_SESSIONS, LIST_BELOW]
            .concat()
            .replace("/sys/class/net", net.to_str().unwrap())
            .replace("/proc/net/pppoe", sessions.to_str().unwrap());
        let listed = || command(&Local, TRIED, &script, b"").unwrap();
        assert_eq!(listed(), "wan.7 wan\n", "PPP over a modem has no interface below it");
        let heading = "Id       Address              Device\n";
        fs::write(&sessions, format!("{heading}0000C63D 52:54:00:00:00:0a    wan.7\n")).unwrap();
        assert_eq!(listed(), "pppoe-wan wan.7\nwan.7 wan\n");
        let names = BTreeSet::from(["lan1".to_owned(), "pppoe-wan".to_owned()]);
        assert_eq!(Vec::from_iter(ports(&names, &listed())), ["lan1", "wan"]);
    }

    #[test]
    fn hardware_has_the_ports_of_bridges_and_vlans() {
        let listed = "br-lan lan1\nbr-lan lan2\nbr-lan phy0-ap0\nbr-lan a;b\nwan.7 wan\nbr-iot lan1.3\nlan1.3 lan1\n";
        let of = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            ports(&names, listed).into_iter().collect::<Vec<String>>().join(" ")
        };
        assert_eq!(of(&["br-lan", "wan.7"]), "lan1 lan2 phy0-ap0 wan");
        assert_eq!(of(&["br-iot", "tun0"]), "lan1 tun0");
        // What is above itself has an end, too.
        assert_eq!(ports(&BTreeSet::from(["a".to_owned()]), "a b\nb a\n").len(), 1);
    }
}
