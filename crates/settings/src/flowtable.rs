//! Flow offload of what a router forwards: off as found, or by a flowtable of plimsoll's own between all interfaces that
//! have an address. Packets of a known connection then pass the rules by, in software or in the network card.

use super::own_table::OwnTable;
use super::{Knob, command, interface};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::collections::BTreeSet;

/// What stands for it.
pub(super) const KIND: &str = "flowtable";

const HARDWARE: &str = "hardware";

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
    const TRIED: &str = "list the interfaces";
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
    Ok(rules(&interfaces, level == HARDWARE))
}

/// Interfaces with an address, of lines of `ip -o addr`; not the loopback interface.
fn interfaces(listed: &str) -> BTreeSet<&str> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().nth(1));
    let names = names.map(|name| name.split('@').next().unwrap_or(name).trim_end_matches(':'));
    names.filter(|name| *name != "lo" && interface::check(name).is_ok()).collect()
}

fn rules(interfaces: &BTreeSet<&str>, in_hardware: bool) -> String {
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

    #[test]
    fn interfaces_that_have_an_address_share_a_table() {
        let listed = "1: lo    inet 127.0.0.1/8 scope host lo\n\
                      2: eth0    inet 192.0.2.1/24 scope global eth0\n\
                      2: eth0    inet6 fe80::1/64 scope link\n\
                      7: lan@eth1    inet 10.0.0.1/24 scope global lan\n\
                      9: a\"b    inet 10.0.0.2/24 scope global x\n";
        let found = interfaces(listed);
        assert_eq!(Vec::from_iter(&found), [&"eth0", &"lan"]);
        let software = rules(&found, false);
        assert!(software.contains("devices = { \"eth0\", \"lan\" };"), "{software}");
        assert!(!software.contains("offload"), "{software}");
        assert!(rules(&found, true).contains("        flags offload;\n    }\n"));
    }
}
