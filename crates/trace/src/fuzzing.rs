//! For the fuzz targets.

use crate::{Blocks, Call, DEPTH, corrected, count_samples, folded, parse, parse_samples, shares};
use std::sync::LazyLock;

static BLOCKS: LazyLock<Blocks> = LazyLock::new(Blocks::built_in);

/// Reads a text, of which the first line may name the traced function, and checks what follows from it.
pub fn text(bytes: &[u8]) {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let root = std::str::from_utf8(first).ok().and_then(|line| line.strip_prefix("# root: "));
    let capture = parse(bytes, root.unwrap_or("__x64_sys_sendto"));
    let calls: u64 = capture.calls.iter().map(Call::count).sum();
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(calls <= lines as u64, "{calls} calls of {lines} lines");
    assert!(capture.lost_events == 0 || capture.is_cut);
    for call in &capture.calls {
        assert!(depth(call) <= DEPTH);
        let shares = shares(call, &BLOCKS);
        let classified: u64 = shares.blocks.iter().map(|block| block.calls).sum();
        assert_eq!(classified + shares.unclassified_calls, shares.calls);
        assert_eq!(corrected(call, 0.0), *call);
        assert_eq!(corrected(call, 1e3).count(), shares.calls);
    }
    for line in folded(&capture.calls).lines() {
        let (_, weight) = line.rsplit_once(' ').expect("a weight");
        assert!(weight.parse::<u64>().is_ok(), "{line}");
    }
}

/// Reads samples, and checks what follows from them.
pub fn samples(bytes: &[u8]) {
    let found = parse_samples(bytes);
    let functions: usize = found.samples.iter().map(Vec::len).sum();
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(functions + found.samples.len() <= lines, "{functions} functions of {lines} lines");
    assert!(found.samples.iter().all(|sample| (1..=DEPTH).contains(&sample.len())));
    let counts = count_samples(found.samples.iter(), &BLOCKS);
    assert_eq!(counts.all, found.samples.len() as u64);
    assert!(counts.blocks.values().sum::<u64>() <= counts.all);
}

fn depth(call: &Call) -> usize {
    1 + call.children.iter().map(depth).max().unwrap_or_default()
}
