//! The interfaces of a router that frames pass above each other: a PPPoE session over a VLAN over a port of a switch over a
//! card, or a bridge over its ports. Some of them queue what they send, and some merge what they receive.

use crate::hosts;
use plimsoll_reach::Reach;
use plimsoll_settings::{LIST_SESSIONS, lowest_interfaces, with_interfaces_below};
use std::collections::BTreeSet;

const LIST_QUEUES: &str = "PATH=$PATH:/usr/sbin:/sbin; tc qdisc show 2>/dev/null
    ";
/// Prints each interface with one below it, "br-lan lan1", the ports of switches, "lan1 is dsa", and radio: "ap0 is radio".
const LIST_BELOW: &str = "for i in */lower_*; do echo \"${i%%/*} ${i#*/lower_}\"; done
    for i in */uevent; do grep -q '^DEVTYPE=dsa' \"$i\" && echo \"${i%%/*} is dsa\"; done
    for i in */phy80211 */wireless; do [ -e \"$i\" ] && echo \"${i%%/*} is radio\"; done";

/// The interfaces whose queues frames pass that these send, each once.
pub(super) fn that_queue(router: &dyn Reach, sending: &[String]) -> Vec<String> {
    let list = [LIST_QUEUES, LIST_SESSIONS, LIST_BELOW].concat();
    queueing(sending, &hosts::said(router, &list))
}

/// The interfaces that merge the frames that these receive, each once.
pub(super) fn that_merge(router: &dyn Reach, receiving: &[String]) -> Vec<String> {
    let list = [LIST_SESSIONS, LIST_BELOW].concat();
    merging(receiving, &hosts::said(router, &list))
}

/// The cards below these interfaces, which have the receive steering and the offloads of what passes. Of a bridge, the
/// port that frames take is not known: those of radio are left out.
pub(super) fn cards(router: &dyn Reach, above: &[String]) -> Vec<String> {
    let list = [LIST_SESSIONS, LIST_BELOW].concat();
    wired_cards(above, &hosts::said(router, &list))
}

/// Interfaces, each with one below it.
fn pairs(listed: &str) -> Vec<(&str, &str)> {
    let pairs = listed.lines().filter_map(|line| <[&str; 2]>::try_from(words(line)).ok());
    pairs.map(|[above, below]| (above, below)).collect()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn queueing(sending: &[String], listed: &str) -> Vec<String> {
    let (sending, pairs) = (BTreeSet::from_iter(sending.iter().cloned()), pairs(listed));
    let passed = with_interfaces_below(&sending, &pairs);
    let queues: Vec<String> = passed.into_iter().filter(|name| has_queue(name, listed)).collect();
    match queues.is_empty() {
        true => lowest_interfaces(&sending, &pairs).into_iter().collect(),
        false => queues,
    }
}

/// False where the kernel says that it has none: "qdisc noqueue 0: dev br-lan root refcnt 2".
fn has_queue(interface: &str, listed: &str) -> bool {
    !listed.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().take(6).collect();
        matches!(words[..], ["qdisc", "noqueue", _, "dev", name, "root"] if name == interface)
    })
}

/// Cards merge frames, and so does a port of a switch once it has taken the tag of the switch off them. A bridge, a VLAN
/// or a PPPoE session has the same setting and merges none.
fn merging(receiving: &[String], listed: &str) -> Vec<String> {
    let pairs = pairs(listed);
    let passed = with_interfaces_below(&BTreeSet::from_iter(receiving.iter().cloned()), &pairs);
    let is_lowest = |name: &str| !pairs.iter().any(|(above, _)| *above == name);
    passed.into_iter().filter(|name| is_lowest(name) || is_listed(name, "dsa", listed)).collect()
}

/// Whether an interface was listed as one of a kind.
fn is_listed(name: &str, kind: &str, listed: &str) -> bool {
    listed.lines().any(|line| words(line) == [name, "is", kind])
}

fn wired_cards(above: &[String], listed: &str) -> Vec<String> {
    let set = BTreeSet::from_iter(above.iter().cloned());
    let lowest = lowest_interfaces(&set, &pairs(listed));
    lowest
        .into_iter()
        .filter(|name| !set.contains(name) && !is_listed(name, "radio", listed))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(found: fn(&[String], &str) -> Vec<String>, names: &[&str], listed: &str) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        found(&names, listed).join(" ")
    }

    /// As on a home router whose ports are those of a switch, with a session of PPPoE.
    const LISTED: &str = "qdisc mq 0: dev eth0 root \n\
        qdisc fq_codel 0: dev eth0 parent :1 limit 10240p\n\
        qdisc noqueue 0: dev lan1 root refcnt 2 \n\
        qdisc noqueue 0: dev lan2 root refcnt 2 \n\
        qdisc noqueue 0: dev wan root refcnt 2 \n\
        qdisc noqueue 0: dev br-lan root refcnt 2 \n\
        qdisc noqueue 0: dev ap0 root refcnt 2 \n\
        qdisc tbf 8001: dev wan.7 root refcnt 2 rate 8Mbit\n\
        qdisc fq_codel 0: dev pppoe-wan root refcnt 2 limit 10240p\n\
        pppoe-wan wan.7\nbr-lan lan1\nbr-lan lan2\nbr-lan ap0\nlan1 eth0\nlan2 eth0\nwan eth0\nwan.7 wan\n\
        lan1 is dsa\nlan2 is dsa\nwan is dsa\nap0 is radio\n";

    #[test]
    fn frames_pass_each_queue_down_to_the_card() {
        let of = |names: &[&str]| of(queueing, names, LISTED);
        assert_eq!(of(&["wan"]), "eth0");
        assert_eq!(of(&["br-lan", "wan"]), "eth0", "each once");
        assert_eq!(of(&["wan.7"]), "eth0 wan.7", "it has a shaper of its own");
        assert_eq!(of(&["pppoe-wan"]), "eth0 pppoe-wan wan.7");
        assert_eq!(of(&["ap0", "ppp0"]), "ppp0");
        assert_eq!(of(&["ap0"]), "ap0", "it says that there is no queue");
    }

    #[test]
    fn without_tc_each_may_have_a_queue_and_circles_end() {
        assert_eq!(of(queueing, &["a"], "a b\n"), "a b");
        let circle = "qdisc noqueue 0: dev a root\nqdisc noqueue 0: dev b root\na b\nb a\n";
        assert_eq!(of(queueing, &["a"], circle).len(), 1);
        assert_eq!(of(merging, &["a"], circle), "");
    }

    /// Switched off on `br-lan` or `pppoe-wan`, frames were merged as before: the part had no price.
    #[test]
    fn cards_and_ports_of_a_switch_merge_what_is_received() {
        let of = |names: &[&str]| of(merging, names, LISTED);
        assert_eq!(of(&["br-lan"]), "ap0 eth0 lan1 lan2");
        assert_eq!(of(&["pppoe-wan"]), "eth0 wan");
        assert_eq!(of(&["eth0"]), "eth0");
        assert_eq!(of(&["wg0"]), "wg0");
    }

    /// What a firmware changes of the steering of `eth0` was not named: nothing was known of it.
    #[test]
    fn the_cards_below_are_known_apart_from_radio() {
        let of = |names: &[&str]| of(wired_cards, names, LISTED);
        assert_eq!(of(&["br-lan", "pppoe-wan"]), "eth0");
        assert_eq!(of(&["eth0", "wg0"]), "", "they are known already");
    }
}
