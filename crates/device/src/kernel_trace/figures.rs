//! From traced and untraced calls to figures.

use plimsoll_model::kernel_trace::{KernelFunction, TraceJob, block_kind};
use plimsoll_model::{Metric, PartResult};
use plimsoll_trace::{Blocks, Call, Shares, corrected, mode, shares};
use std::collections::BTreeMap;

/// Share of the untraced time by which the corrected time may differ from it.
const CLOSE: f64 = 0.2;

/// Times of the calls, in nanoseconds: of the operation, and of the null call after each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub operation: Vec<u64>,
    pub null: Vec<u64>,
}

/// Calls of the operation and of the null call, the warm-up left out.
pub(super) struct Traced {
    pub operations: Vec<Call>,
    pub nulls: Vec<Call>,
    pub times: Times,
}

/// Beginnings of functions with which the kernel enters interrupts and soft interrupts. They do other work in the time
/// of a call, such as that of the packet before.
pub(super) const INTERRUPTS: [&str; 7] = [
    "do_softirq",
    "__do_softirq",
    "handle_softirqs",
    "irq_enter",
    "irq_exit",
    "__irq_exit",
    "idle_cpu",
];

/// The call without the interrupts in it and their time.
pub(super) fn undisturbed(call: &Call) -> Call {
    without_interrupts(call).0
}

/// The call without interrupts, and their time.
fn without_interrupts(call: &Call) -> (Call, u64) {
    let mut left_out = 0_u64;
    let mut children = Vec::with_capacity(call.children.len());
    for child in &call.children {
        if INTERRUPTS.iter().any(|begin| child.name.starts_with(begin)) {
            left_out = left_out.saturating_add(child.time_ns.unwrap_or(0));
            continue;
        }
        let (child, below) = without_interrupts(child);
        left_out = left_out.saturating_add(below);
        children.push(child);
    }
    let time_ns = call.time_ns.map(|time| time.saturating_sub(left_out));
    let (name, module) = (call.name.clone(), call.module.clone());
    (Call { name, module, time_ns, children }, left_out)
}

/// The figures of one point; `None` without a traced call.
pub(super) fn result(traced: &Traced, untraced: &Times, blocks: &Blocks) -> Option<PartResult> {
    let own: Vec<Shares> = traced.operations.iter().map(|call| shares(call, blocks)).collect();
    let counts: Vec<u64> = own.iter().map(|shares| shares.calls).collect();
    let (functions, same) = mode(&counts)?;
    let typical: Vec<&Call> = traced
        .operations
        .iter()
        .zip(&counts)
        .filter_map(|(call, count)| (*count == functions).then_some(call))
        .collect();
    let first = typical.first()?;
    let mut result = PartResult::default();
    let mut put = |metric: Metric, value: f64| {
        if value.is_finite() && value > 0.0 {
            result.quantities.insert(metric, value);
        }
    };
    put(Metric::all(TraceJob::FUNCTIONS), functions as f64);
    put(Metric::all(TraceJob::SAME), same);
    let shared = shares(first, blocks);
    let unclassified = shared.unclassified_calls as f64 / functions.max(1) as f64;
    put(Metric::all(TraceJob::UNCLASSIFIED), unclassified);
    let by_block: Vec<BTreeMap<String, u64>> = own.iter().map(functions_by_block).collect();
    for (name, calls) in functions_by_block(&shared) {
        if let Some(kind) = block_kind(&name) {
            put(Metric::for_kind(kind, TraceJob::FUNCTIONS), calls as f64);
            let same = by_block.iter().filter(|own| own.get(&name) == Some(&calls)).count();
            put(Metric::for_kind(kind, TraceJob::SAME), same as f64 / by_block.len().max(1) as f64);
        }
    }
    let seconds = |nanoseconds: &[u64]| median(nanoseconds).map(|ns| ns / 1e9);
    for (measure, times) in
        [(TraceJob::UNTRACED, &untraced.operation), (TraceJob::TRACED, &traced.times.operation)]
    {
        seconds(times).into_iter().for_each(|time| put(Metric::all(measure), time));
    }
    if let Some(times) = corrected_times(&typical, traced, untraced, blocks) {
        put(Metric::all(TraceJob::CORRECTED), times.total_ns / 1e9);
        for (name, ns) in times.by_block {
            if let Some(kind) = block_kind(&name) {
                put(Metric::for_kind(kind, TraceJob::CORRECTED), ns / 1e9);
            }
        }
    }
    result.functions = tree(first, blocks);
    Some(result)
}

/// Times of a typical call without the cost of the tracer.
struct Corrected {
    total_ns: f64,
    by_block: BTreeMap<String, f64>,
}

/// The corrected times; `None` where they do not come close to the untraced time, so that they say nothing.
fn corrected_times(
    typical: &[&Call],
    traced: &Traced,
    untraced: &Times,
    blocks: &Blocks,
) -> Option<Corrected> {
    // Both clocks are read in user space, so what else they count is in both.
    let cost = median(&traced.times.null)? - median(&untraced.null)?;
    let counts: Vec<u64> = traced.nulls.iter().map(Call::count).collect();
    let (functions, _) = mode(&counts)?;
    let per_call_ns = cost / functions.max(1) as f64;
    if per_call_ns <= 0.0 {
        return None;
    }
    let calls: Vec<Call> = typical.iter().map(|call| corrected(call, per_call_ns)).collect();
    let totals: Option<Vec<u64>> = calls.iter().map(|call| call.time_ns).collect();
    let (total_ns, wanted) = (median(&totals?)?, median(&untraced.operation)?);
    if (total_ns / wanted - 1.0).abs() > CLOSE {
        return None;
    }
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for call in &calls {
        let shared = shares(call, blocks);
        let own = shared.blocks.iter().filter_map(|block| Some((&*block.name, block.own_ns?)));
        for (name, ns) in by_name(own) {
            all.entry(name).or_default().push(ns);
        }
    }
    let by_block = all.into_iter().filter_map(|(name, times)| Some((name, median(&times)?)));
    Some(Corrected { total_ns, by_block: by_block.collect() })
}

fn functions_by_block(shared: &Shares) -> BTreeMap<String, u64> {
    by_name(shared.blocks.iter().map(|block| (&*block.name, block.calls)))
}

/// The sum of each block, under the name that its figures have.
fn by_name<'a>(blocks: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, value) in blocks {
        let name = block_kind(name).map_or_else(|| name.to_owned(), |kind| kind.name().to_owned());
        *sums.entry(name).or_default() += value;
    }
    sums
}

/// The middle value, or the mean of the two.
pub(super) fn median(values: &[u64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)? as f64;
    match sorted.len() % 2 {
        0 => Some((sorted[middle - 1] as f64 + upper) / 2.0),
        _ => Some(upper),
    }
}

/// The functions of a call in their order.
fn tree(call: &Call, blocks: &Blocks) -> Vec<KernelFunction> {
    let mut functions = Vec::new();
    let mut next = vec![(call, 0_u16)];
    while let Some((call, depth)) = next.pop() {
        if functions.len() == PartResult::MOST_FUNCTIONS {
            break;
        }
        functions.push(KernelFunction {
            depth,
            name: call.name.clone(),
            block: blocks.block(&call.name).map(str::to_owned),
            traced_nanoseconds: call.time_ns,
        });
        let below = depth.saturating_add(1);
        next.extend(call.children.iter().rev().map(|child| (child, below)));
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, time_ns: u64, children: Vec<Call>) -> Call {
        Call { name: name.to_owned(), module: None, time_ns: Some(time_ns), children }
    }

    /// A send of `rules` rules that takes 1 µs and 100 ns a rule; the tracer adds 500 ns a call.
    fn send(rules: u64) -> Call {
        let rule = || call("nft_meta_get_eval", 100, vec![]);
        let chain = call("nft_do_chain", 600 * rules, (0..rules).map(|_| rule()).collect());
        let ip = call("ip_output", 600 + 600 * rules + 500, vec![chain]);
        call("udp_sendmsg", 1500 + 600 * rules + 500, vec![ip])
    }

    fn null() -> Call {
        call("vfs_read", 700, vec![call("rw_verify_area", 100, vec![])])
    }

    fn figures(counts: &[u64], untraced_ns: u64) -> PartResult {
        let blocks = Blocks::with_lines("nft_ netfilter\n").unwrap();
        let operations: Vec<Call> = counts.iter().map(|rules| send(*rules)).collect();
        let times = Times { operation: vec![9000; counts.len()], null: vec![1200; counts.len()] };
        let nulls = vec![null(); counts.len()];
        let untraced = Times { operation: vec![untraced_ns], null: vec![200] };
        result(&Traced { operations, nulls, times }, &untraced, &blocks).unwrap()
    }

    #[test]
    fn the_number_that_most_calls_have_counts() {
        let result = figures(&[2, 2, 5, 2], 5000);
        let figure = |measure| result.quantities[&Metric::all(measure)];
        let block_figure = |block: &str, measure| {
            result.quantities.get(&Metric::for_kind(block_kind(block).unwrap(), measure)).copied()
        };
        // udp_sendmsg, ip_output, nft_do_chain and two rules.
        assert_eq!((figure(TraceJob::FUNCTIONS), figure(TraceJob::SAME)), (5.0, 0.75));
        assert_eq!(block_figure("netfilter", TraceJob::FUNCTIONS), Some(3.0));
        assert_eq!(block_figure("netfilter", TraceJob::SAME), Some(0.75));
        assert_eq!(figure(TraceJob::UNTRACED), 5e-6);
        assert_eq!(figure(TraceJob::TRACED), 9e-6);
        let tree: Vec<(u16, &str)> =
            result.functions.iter().map(|f| (f.depth, f.name.as_str())).collect();
        let rule = (3, "nft_meta_get_eval");
        assert_eq!(tree, [(0, "udp_sendmsg"), (1, "ip_output"), (2, "nft_do_chain"), rule, rule]);
        // 1200 ns for four calls below the first are far from 5000 ns.
        assert_eq!(block_figure("netfilter", TraceJob::CORRECTED), None);
        assert!(!result.quantities.contains_key(&Metric::all(TraceJob::CORRECTED)));
    }

    #[test]
    fn corrected_times_are_given_where_they_agree_with_the_untraced_call() {
        // Traced: 3200 ns; four calls below the first cost 500 ns each.
        let result = figures(&[2], 1300);
        let figure = |metric| result.quantities.get(&metric).copied().unwrap_or_default();
        assert!((figure(Metric::all(TraceJob::CORRECTED)) - 1.2e-6).abs() < 1e-12);
        // nft_do_chain: 1200 less two rules of 500 and their own 200.
        let netfilter = Metric::for_kind(block_kind("netfilter").unwrap(), TraceJob::CORRECTED);
        assert!((figure(netfilter) - 0.2e-6).abs() < 1e-12, "{result:?}");
        for far in [900, 1600] {
            let result = figures(&[2], far);
            assert!(!result.quantities.contains_key(&netfilter), "{far}");
        }
    }

    #[test]
    fn interrupts_within_a_call_are_left_out() {
        let softirq = call("__do_softirq", 400, vec![call("net_rx_action", 300, vec![])]);
        let enable = call("__local_bh_enable_ip", 500, vec![softirq, call("idle_cpu", 10, vec![])]);
        let late = call("handle_softirqs", 60, vec![call("rcu_core_si", 50, vec![])]);
        let send = call("ip_output", 960, vec![enable, late, call("dev_queue_xmit", 100, vec![])]);
        let found = undisturbed(&send);
        let parts: Vec<(&str, u64)> =
            found.all().map(|call| (call.name.as_str(), call.time_ns.unwrap())).collect();
        let wanted = [("ip_output", 490), ("__local_bh_enable_ip", 90), ("dev_queue_xmit", 100)];
        assert_eq!(parts, wanted);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3, 1, 2]), Some(2.0));
        assert_eq!(median(&[4, 1, 2, 3]), Some(2.5));
    }

    #[test]
    fn nothing_is_claimed_without_a_call() {
        let nothing = Traced { operations: vec![], nulls: vec![], times: Times::default() };
        assert_eq!(result(&nothing, &Times::default(), &Blocks::built_in()), None);
        // A tree without end is cut.
        let wide = call("a", 1, (0..5000).map(|_| call("b", 1, vec![])).collect());
        assert_eq!(tree(&wide, &Blocks::built_in()).len(), PartResult::MOST_FUNCTIONS);
    }
}
