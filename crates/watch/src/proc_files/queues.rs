//! What a router's packets meet inside it: its connection tracking, and its queueing disciplines.

use super::cpu::MAX_CORES;
use super::disks::MAX_NAME;
use plimsoll_model::{ConntrackLoad, QueueLoad};

/// Most interfaces whose disciplines are believed.
const MAX_QUEUES: usize = 256;
/// Where disciplines of received packets hang, for policers.
const OF_RECEIVED: &str = "ffff:fff1";

/// /proc/net/stat/nf_conntrack: a line of names, then a line for each core, of numbers in hexadecimal. Each has the
/// number of connections of the whole table.
pub fn parse_conntrack(text: &str) -> Option<ConntrackLoad> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let place = |wanted: &str| names.iter().position(|name| *name == wanted);
    let columns =
        [place("entries")?, place("insert_failed")?, place("drop")?, place("early_drop")?];
    let core = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| u64::from_str_radix(words.get(at)?, 16).ok();
        let [entries, insert_failed, dropped, early_dropped] = columns.map(number);
        Some(ConntrackLoad {
            entries: entries?,
            insert_failed: insert_failed?,
            dropped: dropped?,
            early_dropped: early_dropped?,
            ..ConntrackLoad::default()
        })
    };
    lines.take(MAX_CORES).map(core).reduce(|all, core| Some(all? + core?))?
}

/// The two addresses with most offloaded connections: "64 192.0.2.1 10.0.0.2 HW_". The number of these, and whether the
/// hardware forwards them; 0 without a line.
pub fn parse_offloaded(text: &str) -> (u64, bool) {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words.as_slice() {
        [count, _, _, mark @ ..] => (count.parse().unwrap_or_default(), mark == ["HW_"]),
        _ => (0, false),
    }
}

/// `tc -s qdisc show`: the discipline at the root of each interface and the one of what it receives. What their classes
/// drop, the root counts too; marks are counted where they are set.
pub fn parse_queues(text: &str) -> Vec<QueueLoad> {
    let mut all: Vec<QueueLoad> = Vec::new();
    // The discipline that the lines belong to, and whether it is a root.
    let mut own: Option<(usize, bool)> = None;
    for line in text.lines() {
        let words: Vec<&str> =
            line.split(|c: char| c.is_ascii_whitespace() || "(),".contains(c)).collect();
        if let ["qdisc", discipline, rest @ ..] = words.as_slice() {
            own = place(&mut all, discipline, rest);
            continue;
        }
        let Some((at, is_root)) = own else { continue };
        let queue = &mut all[at];
        if is_root {
            let counted = |name: &str| after(&words, name).next().unwrap_or_default();
            queue.dropped = queue.dropped.saturating_add(counted("dropped"));
            queue.overlimits = queue.overlimits.saturating_add(counted("overlimits"));
        }
        // One number of codel, fq and red; one for each of cake's tins.
        let single = ["ecn_mark", "ce_mark", "marked"];
        let marks = single.into_iter().filter_map(|name| after(&words, name).next());
        queue.marked = marks.chain(after(&words, "marks")).fold(queue.marked, u64::saturating_add);
    }
    all
}

/// The place of a discipline: its own if it is a root, else that of its interface's root.
fn place(all: &mut Vec<QueueLoad>, discipline: &str, rest: &[&str]) -> Option<(usize, bool)> {
    let interface = *rest.iter().skip_while(|word| **word != "dev").nth(1)?;
    let is_root = rest.contains(&"root") || rest.contains(&OF_RECEIVED);
    if !is_root {
        return Some((all.iter().rposition(|queue| queue.interface == interface)?, false));
    }
    if interface.len() > MAX_NAME || discipline.len() > MAX_NAME || all.len() >= MAX_QUEUES {
        return None;
    }
    let (interface, discipline) = (interface.to_owned(), discipline.to_owned());
    all.push(QueueLoad { interface, discipline, ..QueueLoad::default() });
    Some((all.len() - 1, true))
}

/// The numbers that follow a word.
fn after<'a>(words: &'a [&'a str], name: &str) -> impl Iterator<Item = u64> + use<'a> {
    let at = words.iter().position(|word| *word == name).map_or(words.len(), |at| at + 1);
    let numbers = words[at..].iter().filter(|word| !word.is_empty());
    numbers.map_while(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_core() {
        let text = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop \
            icmp_error  expect_new expect_create expect_delete search_restart\n\
            0000ffff  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000010 00000002 \
            00000000  00000000 00000000 00000000 00000000\n\
            0000ffff  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000003 \
            00000000  00000000 00000000 00000000 00000000\n";
        let expected = ConntrackLoad {
            entries: 65_535,
            insert_failed: 1,
            dropped: 17,
            early_dropped: 5,
            ..ConntrackLoad::default()
        };
        assert_eq!(parse_conntrack(text), Some(expected));
        assert_eq!(parse_conntrack("entries drop\n00000001 00000000\n"), None);
        assert_eq!(parse_conntrack(""), None);
    }

    #[test]
    fn offloaded_connections_have_a_number_and_a_mark() {
        for (text, expected) in [
            ("     64 192.0.2.1 10.0.0.2 \n", (64, false)),
            ("  64 fd00::1 fd00::2 HW_\n", (64, true)),
            ("\n", (0, false)),
            ("64 192.0.2.1", (0, false)),
            ("x 192.0.2.1 10.0.0.2 HW_", (0, true)),
        ] {
            assert_eq!(parse_offloaded(text), expected, "{text}");
        }
    }

    /// As tc of iproute2 6.1 prints them.
    #[test]
    fn disciplines_are_counted_by_interface() {
        let text = "qdisc tbf 8001: dev outer root refcnt 3 rate 8Mbit burst 6000b lat 10ms \n \
            Sent 9120 bytes 12 pkt (dropped 7, overlimits 40 requeues 0) \n backlog 0b 0p requeues 0\n\
            qdisc htb 1: dev eth0 root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000\n \
            Sent 0 bytes 0 pkt (dropped 3, overlimits 9 requeues 0) \n backlog 0b 0p requeues 0\n\
            qdisc fq_codel 8002: dev eth0 parent 1:1 limit 10240p flows 1024 quantum 1514 target 5ms ecn \n \
            Sent 0 bytes 0 pkt (dropped 3, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n  \
            maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 4\n  new_flows_len 0 old_flows_len 0\n\
            qdisc clsact ffff: dev eth0 parent ffff:fff1 \n \
            Sent 0 bytes 0 pkt (dropped 5, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n\
            qdisc cake 8003: dev eth1 root refcnt 2 bandwidth 8Mbit diffserv3 \n \
            Sent 0 bytes 0 pkt (dropped 1, overlimits 2 requeues 0) \n                   Bulk  Best Effort\n  \
            pkts                0           0\n  marks               2           3\n";
        let queue = |interface: &str, discipline: &str, [dropped, overlimits, marked]: [u64; 3]| {
            let (interface, discipline) = (interface.to_owned(), discipline.to_owned());
            QueueLoad { interface, discipline, dropped, overlimits, marked }
        };
        let expected = [
            queue("outer", "tbf", [7, 40, 0]),
            queue("eth0", "htb", [3, 9, 4]),
            queue("eth0", "clsact", [5, 0, 0]),
            queue("eth1", "cake", [1, 2, 5]),
        ];
        assert_eq!(parse_queues(text), expected);
        for text in [
            "",
            "qdisc",
            "qdisc tbf 1: root",
            " Sent 1 (dropped 1)\n",
            "qdisc x 1: dev a parent 1:",
        ] {
            assert!(parse_queues(text).is_empty(), "{text}");
        }
    }
}
