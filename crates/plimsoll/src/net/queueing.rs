//! The interfaces of a router that queue what it sends. Bridges, VLANs and ports of a switch have no queue: what they
//! send waits below them.

use crate::hosts;
use plimsoll_reach::Reach;
use plimsoll_settings::lowest_interfaces;

/// Prints the queueing disciplines, and each interface with one below it: "br-lan below lan1".
const LIST: &str = "PATH=$PATH:/usr/sbin:/sbin; tc qdisc show 2>/dev/null
    cd /sys/class/net 2>/dev/null || exit 0
    for i in */lower_*; do echo \"${i%%/*} below ${i#*/lower_}\"; done";

/// The interfaces that queue what these send, each once.
pub(super) fn interfaces(router: &dyn Reach, sending: &[String]) -> Vec<String> {
    queueing(sending, &hosts::said(router, LIST))
}

fn queueing(sending: &[String], listed: &str) -> Vec<String> {
    let pairs = listed.lines().filter_map(|line| line.split_once(" below "));
    let pairs: Vec<(&str, &str)> = pairs.filter(|(above, _)| !has_queue(above, listed)).collect();
    lowest_interfaces(&sending.iter().cloned().collect(), &pairs).into_iter().collect()
}

/// False where the kernel says that it has none: "qdisc noqueue 0: dev br-lan root refcnt 2".
fn has_queue(interface: &str, listed: &str) -> bool {
    !listed.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().take(6).collect();
        matches!(words[..], ["qdisc", "noqueue", _, "dev", name, "root"] if name == interface)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on a home router whose ports are those of a switch.
    #[test]
    fn what_has_no_queue_sends_by_what_is_below_it() {
        let listed = "qdisc mq 0: dev eth0 root \n\
            qdisc fq_codel 0: dev eth0 parent :1 limit 10240p\n\
            qdisc noqueue 0: dev lan1 root refcnt 2 \n\
            qdisc noqueue 0: dev lan2 root refcnt 2 \n\
            qdisc noqueue 0: dev wan root refcnt 2 \n\
            qdisc noqueue 0: dev br-lan root refcnt 2 \n\
            qdisc noqueue 0: dev ap0 root refcnt 2 \n\
            qdisc tbf 8001: dev wan.7 root refcnt 2 rate 8Mbit\n\
            br-lan below lan1\nbr-lan below lan2\nbr-lan below ap0\nlan1 below eth0\n\
            lan2 below eth0\nwan below eth0\nwan.7 below wan\n";
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            queueing(&names, listed).join(" ")
        };
        assert_eq!(of(&["wan"]), "eth0");
        assert_eq!(of(&["br-lan", "wan"]), "ap0 eth0", "each once");
        assert_eq!(of(&["wan.7"]), "wan.7", "it has a shaper of its own");
        assert_eq!(of(&["ap0", "ppp0"]), "ap0 ppp0");
        assert_eq!(queueing(&["a".to_owned()], "a below b\n"), ["a"], "without tc");
        let circle =
            "qdisc noqueue 0: dev a root\nqdisc noqueue 0: dev b root\na below b\nb below a\n";
        assert_eq!(queueing(&["a".to_owned()], circle).len(), 1);
    }
}
