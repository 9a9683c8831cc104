//! Real text: one `sendto` over UDP on Debian 6.1 in a virtual machine, without rules and with connection tracking; and
//! perf's samples of a process that sends on Linux 6.18.

use plimsoll_trace::{
    Blocks, Call, Capture, Sampled, corrected, count_samples, folded, parse, parse_samples, shares,
};
use std::collections::BTreeMap;

const ROOT: &str = "__x64_sys_sendto";
const PLAIN: &[u8] = include_bytes!("samples/debian-6.1-sendto.txt");
const SAMPLES: &[u8] = include_bytes!("samples/linux-6.18-sendto-perf.txt");
const CONNTRACK: &[u8] = include_bytes!("samples/debian-6.1-sendto-conntrack.txt");

fn only(text: &[u8], root: &str) -> Call {
    let Capture { mut calls, is_cut, lost_events } = parse(text, root);
    assert_eq!((calls.len(), is_cut, lost_events), (1, false, 0));
    calls.remove(0)
}

fn calls_by_block(call: &Call) -> BTreeMap<String, u64> {
    let shares = shares(call, &Blocks::built_in());
    assert_eq!(shares.unclassified_calls, 0);
    shares.blocks.into_iter().map(|block| (block.name, block.calls)).collect()
}

#[test]
fn every_call_of_the_text_is_in_the_tree() {
    for (text, count, time_ns) in [(PLAIN, 184, 854_040), (CONNTRACK, 201, 889_690)] {
        let call = only(text, ROOT);
        assert_eq!((call.name.as_str(), call.count(), call.time_ns), (ROOT, count, Some(time_ns)));
        assert!(call.all().all(|call| call.time_ns.is_some()));
    }
    let call = only(CONNTRACK, ROOT);
    assert_eq!(call.children[0].name, "__sys_sendto");
    let names: Vec<&str> =
        call.children[0].children.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["sockfd_lookup_light", "move_addr_to_kernel", "__sock_sendmsg"]);
    let confirm = call.all().find(|call| call.name == "nf_confirm").unwrap();
    assert_eq!((confirm.module.as_deref(), confirm.time_ns), (Some("nf_conntrack"), Some(2324)));
}

/// Connection tracking adds 17 calls, all but 2 of them in netfilter: those of the hash table's lock.
#[test]
fn calls_that_connection_tracking_adds() {
    let (plain, conntrack) =
        (calls_by_block(&only(PLAIN, ROOT)), calls_by_block(&only(CONNTRACK, ROOT)));
    let added: Vec<(&str, i64)> = conntrack
        .iter()
        .map(|(name, calls)| {
            let before = plain.get(name).copied().unwrap_or_default();
            (name.as_str(), *calls as i64 - before as i64)
        })
        .filter(|(_, added)| *added != 0)
        .collect();
    assert_eq!(added, [("locks and RCU", 2), ("netfilter", 15)]);
    assert_eq!(plain["netfilter"], 2);
}

/// The claim, for each call and for each function.
#[test]
fn blocks_classify_the_functions_of_all_samples() {
    let blocks = Blocks::built_in();
    let mut functions: BTreeMap<String, bool> = BTreeMap::new();
    for text in [PLAIN, CONNTRACK] {
        let call = only(text, ROOT);
        let found = shares(&call, &blocks);
        assert!(found.unclassified_calls as f64 <= 0.05 * found.calls as f64);
        for call in call.all() {
            functions.insert(call.name.clone(), blocks.block(&call.name).is_some());
        }
    }
    let missing: Vec<&String> = functions.iter().filter(|f| !f.1).map(|f| f.0).collect();
    assert!(functions.len() > 140, "{}", functions.len());
    assert!(missing.len() as f64 <= 0.05 * functions.len() as f64, "{missing:?}");
}

#[test]
fn own_times_and_folded_stacks_add_up_to_the_operation() {
    for text in [PLAIN, CONNTRACK] {
        let call = only(text, ROOT);
        let own = |call: &Call| -> u64 { call.all().map(|call| call.own_ns().unwrap()).sum() };
        assert_eq!(Some(own(&call)), call.time_ns);
        let blocks = shares(&call, &Blocks::built_in()).blocks;
        let by_block: u64 = blocks.iter().map(|block| block.own_ns.unwrap()).sum();
        assert_eq!(Some(by_block), call.time_ns);
        let folded = folded(std::slice::from_ref(&call));
        let weights = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let sum: u64 = weights.map(|weight| weight.parse::<u64>().unwrap()).sum();
        assert_eq!(Some(sum), call.time_ns);
        assert!(folded.starts_with("__x64_sys_sendto "), "{folded}");
        // 183 calls below at 1 µs each.
        let less = corrected(&call, 1000.0).time_ns;
        assert_eq!(less, call.time_ns.map(|time| time - 1000 * (call.count() - 1)));
    }
}

#[test]
fn any_function_may_be_the_traced_one() {
    let hooks = parse(CONNTRACK, "nf_hook_slow");
    let counts: Vec<u64> = hooks.calls.iter().map(Call::count).collect();
    assert_eq!((counts.as_slice(), hooks.is_cut), (&[18, 11][..], false));
    assert_eq!(only(PLAIN, "do_softirq").name, "do_softirq.part.0");
    assert_eq!(parse(PLAIN, "vfs_read"), Capture::default());
    assert_eq!(
        parse(PLAIN, "__rcu_read_lock").calls.len(),
        parse(PLAIN, "__rcu_read_unlock").calls.len()
    );
}

/// Whatever is missing at the end or in the middle, no tree is returned that lacks a call.
#[test]
fn a_cut_text_has_no_tree() {
    let text = std::str::from_utf8(CONNTRACK).unwrap();
    let start = text.find("__x64_sys_sendto").unwrap();
    let end = text.find("889.690 us  |  }").unwrap() + "889.690 us  |  ".len();
    for cut in [start + 20, start + 4000, end - 100, end] {
        let capture = parse(&CONNTRACK[..cut], ROOT);
        assert!(capture.is_cut && capture.calls.is_empty(), "{cut}");
    }
    assert!(!parse(&CONNTRACK[..=end], ROOT).is_cut);
    let lines: Vec<&str> = text.lines().collect();
    let returns = (0..lines.len()).filter(|line| lines[*line].trim_end().ends_with('}'));
    for missing in returns {
        let mut rest = lines.clone();
        rest.remove(missing);
        let capture = parse(rest.join("\n").as_bytes(), ROOT);
        assert!(capture.is_cut && capture.calls.is_empty(), "{}", lines[missing]);
    }
}

#[test]
fn samples_of_perf_are_whole_and_have_a_subsystem() {
    let found = parse_samples(SAMPLES);
    assert_eq!((found.samples.len(), found.is_cut), (11, false));
    let is_send = |sample: &&Sampled| sample.iter().any(|name| name == ROOT);
    let sends: Vec<&Sampled> = found.samples.iter().filter(is_send).collect();
    let is_softirq = |sample: &&&Sampled| sample.iter().any(|name| name.starts_with("do_softirq"));
    assert_eq!((sends.len(), sends.iter().filter(is_softirq).count()), (10, 2));
    let counts = count_samples(sends.into_iter(), &Blocks::built_in());
    assert_eq!((counts.all, counts.blocks.values().sum()), (10, 10_u64), "{counts:?}");
}
