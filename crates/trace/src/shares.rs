//! Calls and time by subsystem.

use crate::blocks::Blocks;
use crate::call::Call;
use std::collections::BTreeMap;

/// Parts of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Blocks with calls: the most calls first, then by name.
    pub blocks: Vec<BlockShare>,
    /// Calls of functions without a block.
    pub unclassified_calls: u64,
    /// All calls, the traced function's included.
    pub calls: u64,
}

/// A block's part of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockShare {
    /// Name of the block.
    pub name: String,
    /// Calls of its functions.
    pub calls: u64,
    /// Time in its functions outside the functions that they called, in nanoseconds; `None` if a time is missing.
    pub own_ns: Option<u64>,
}

/// The calls of an operation by subsystem.
pub fn shares(call: &Call, blocks: &Blocks) -> Shares {
    let mut found: BTreeMap<&str, (u64, Option<u64>)> = BTreeMap::new();
    let mut shares = Shares::default();
    for call in call.all() {
        shares.calls += 1;
        let Some(name) = blocks.block(&call.name) else {
            shares.unclassified_calls += 1;
            continue;
        };
        let (calls, own_ns) = found.entry(name).or_insert((0, Some(0)));
        *calls += 1;
        *own_ns = own_ns.zip(call.own_ns()).map(|(sum, own)| sum.saturating_add(own));
    }
    let share = |(name, (calls, own_ns)): (&str, (u64, Option<u64>))| BlockShare {
        name: name.to_owned(),
        calls,
        own_ns,
    };
    shares.blocks = found.into_iter().map(share).collect();
    // The sort is stable: blocks with as many calls stay in the order of their names.
    shares.blocks.sort_by_key(|block| std::cmp::Reverse(block.calls));
    shares
}

/// The most frequent count, and the share (0..1) of the counts that equal it; the smallest of equally frequent ones.
pub fn mode(counts: &[u64]) -> Option<(u64, f64)> {
    let mut times: BTreeMap<u64, usize> = BTreeMap::new();
    for count in counts {
        *times.entry(*count).or_default() += 1;
    }
    // The last maximum is returned, so the smallest count has to be last.
    let (count, times) = times.into_iter().rev().max_by_key(|(_, times)| *times)?;
    Some((count, times as f64 / counts.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(name: &str, time_ns: Option<u64>, children: Vec<Call>) -> Call {
        Call { name: name.to_owned(), module: None, time_ns, children }
    }

    fn share(name: &str, calls: u64, own_ns: Option<u64>) -> BlockShare {
        BlockShare { name: name.to_owned(), calls, own_ns }
    }

    #[test]
    fn own_times_add_up_by_block() {
        let tree = |time| {
            let free = vec![call("kfree", Some(40), vec![])];
            let calls = vec![call("qqq", Some(30), vec![]), call("ip_output", time, free)];
            call("udp_sendmsg", Some(1000), calls)
        };
        let wanted = [("IP", 1, Some(160)), ("UDP", 1, Some(770)), ("memory", 1, Some(40))];
        let wanted = wanted.map(|(name, calls, own)| share(name, calls, own));
        let found = shares(&tree(Some(200)), &Blocks::built_in());
        assert_eq!(found, Shares { blocks: wanted.to_vec(), unclassified_calls: 1, calls: 4 });
        let found = shares(&tree(None), &Blocks::built_in());
        let own: Vec<Option<u64>> = found.blocks.iter().map(|block| block.own_ns).collect();
        assert_eq!(own, [None, None, Some(40)]);
    }

    #[test]
    fn the_most_frequent_count() {
        assert_eq!(mode(&[]), None);
        assert_eq!(mode(&[185, 187, 185, 185]), Some((185, 0.75)));
        assert_eq!(mode(&[9, 7, 9, 7, 8]), Some((7, 0.4)));
    }

    proptest! {
        #[test]
        fn no_count_is_more_frequent(counts in prop::collection::vec(0..6_u64, 1..40)) {
            let (count, share) = mode(&counts).unwrap();
            let times = |wanted: u64| counts.iter().filter(|count| **count == wanted).count();
            prop_assert!((share - times(count) as f64 / counts.len() as f64).abs() < 1e-12);
            prop_assert!(counts.iter().all(|other| times(*other) < times(count)
                || (times(*other) == times(count) && *other >= count)));
        }
    }
}
