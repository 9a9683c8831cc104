//! How a router is set up, as far as packets that it forwards meet it: its interfaces, and its rules.

use super::clean::{Odd, clean};
use super::links;
use super::tool::{SMALL, in_english};
use super::wireless::wireless;
use plimsoll_model::RouterFacts;
use plimsoll_model::device::{MOST_ENTRIES, Nic};
use plimsoll_reach::{Reach, quote};
use serde_json::Value;

/// Letters of a digest that are kept.
const LETTERS: usize = 16;
/// A digest of all rules, without their counters and comments. Rules of iptables are listed only where there are some:
/// else listing them may load a module.
const DIGEST: &str = r"{
    nft -s -t list ruleset || nft -s list ruleset || nft list ruleset
    [ ! -s /proc/net/ip_tables_names ] || iptables-save
    [ ! -s /proc/net/ip6_tables_names ] || ip6tables-save
} 2>/dev/null | sed -e '/^#/d' -e 's/\[[0-9]*:[0-9]*\]//' -e 's/packets [0-9]* bytes [0-9]*//' | sha256sum";

/// How a router is set up, with these interfaces. What it does not tell is absent.
pub fn router(reach: &dyn Reach, interfaces: &[String]) -> RouterFacts {
    let nic = |name: &String| {
        let nic = links::interface(reach, name).unwrap_or_default();
        let listed = said(reach, &format!("ethtool -k {} 2>/dev/null", quote(name)));
        let offloads = offloads(&listed.unwrap_or_default());
        let is_radio = wireless(reach, name).map(|_| true);
        Nic { name: Some(name.clone()), offloads, wireless: is_radio, ..nic }
    };
    RouterFacts {
        interfaces: interfaces.iter().map(nic).collect(),
        filter: links::rules(reach).and_then(|section| {
            let section = clean(section, &mut Odd::default());
            serde_json::from_value(Value::Object(section)).ok()
        }),
        rules_digest: said(reach, DIGEST).and_then(|text| digest(&text)),
    }
}

fn said(reach: &dyn Reach, script: &str) -> Option<String> {
    let ran = reach.run(&in_english(script), &[], SMALL).ok()?;
    (!ran.cut).then(|| String::from_utf8_lossy(&ran.output).into_owned())
}

/// The offloads that are on: "generic-receive-offload: on".
fn offloads(listed: &str) -> Vec<String> {
    let on = |line: &str| {
        let (name, state) = line.trim().split_once(": ")?;
        (state.split_whitespace().next() == Some("on")).then(|| name.to_owned())
    };
    listed.lines().filter_map(on).take(MOST_ENTRIES).collect()
}

fn digest(text: &str) -> Option<String> {
    let digest = text.get(..LETTERS)?;
    digest.chars().all(|letter| letter.is_ascii_hexdigit()).then(|| digest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offloads_that_are_on_and_digests() {
        let listed = "Features for eth0:\nrx-checksumming: on\ntx-checksumming: off\n\
            \ttx-checksum-ipv4: on [fixed]\ngeneric-receive-offload: off [requested on]\nx\n";
        assert_eq!(offloads(listed), ["rx-checksumming", "tx-checksum-ipv4"]);
        assert!(offloads("").is_empty());
        assert_eq!(digest("0123456789abcdef0123  -\n").as_deref(), Some("0123456789abcdef"));
        for none in ["", "0123", "sh: sha256sum: not found", "0123456789abcdeü"] {
            assert_eq!(digest(none), None, "{none}");
        }
    }
}
