//! What the program itself costs: 4 KiB random reads through the runner that `check` uses,
//! `Box<dyn Lane>`, the driver and its accounting, on a share that completes everything at once. Prints
//! nanoseconds of CPU time an operation; fails if an operation is missing in the histogram.

#[path = "support/trials.rs"]
mod trials;

use plimsoll_load::{NullShare, SystemClock};
use plimsoll_model::units::{Bytes, GIB, KIB};
use plimsoll_model::{Clock, Measure, Metric, OpKind, PartResult, Pattern};
use std::error::Error;
use std::num::NonZeroU16;
use std::sync::Arc;
use trials::{Trials, WARM_UP, workload};

/// What an operation may cost, in nanoseconds of CPU time.
const BUDGET: f64 = 100.0;

const TRIALS: usize = 9;
const SECONDS: f64 = 0.5;

fn main() -> Result<(), Box<dyn Error>> {
    println!("null lane, 4 KiB random reads, one worker, {TRIALS} trials of {SECONDS} s:");
    for depth in [1, 4, 32] {
        let depth_of = NonZeroU16::MIN.saturating_add(depth - 1);
        let (block, size) = (Bytes(4 * KIB), Bytes(GIB));
        let workload = workload(Pattern::RandomRead, block, size, NonZeroU16::MIN, depth_of);
        let mut trials = Trials::open(Arc::new(NullShare::new()), std::slice::from_ref(&workload))?;
        let mut costs = Vec::new();
        for _ in 0..TRIALS {
            let result = trials.run(&workload, SECONDS)?;
            check_counts(&result, depth)?;
            costs.push(result.quantities[&Metric::all(Measure::CLIENT_CPU_PER_OP)] * 1e9);
        }
        costs.sort_by(f64::total_cmp);
        let (least, median) = (costs[0], costs[TRIALS / 2]);
        let words = match median - BUDGET {
            over if over > 0.0 => format!("{over:.1} ns over the {BUDGET} ns it may cost"),
            under => format!("{:.1} ns below the {BUDGET} ns it may cost", -under),
        };
        println!(
            "  depth {depth:>2}: median {median:.1}, least {least:.1} ns of CPU an operation: {words}"
        );
    }
    println!("  every operation is in the histogram");
    println!("  one reading of the clock takes at least {:.1} ns here and now", clock_read());
    Ok(())
}

/// What one reading of the clock takes, in nanoseconds: the least of several stretches. Operations
/// one at a time need a few each, so the figures above move with it.
fn clock_read() -> f64 {
    const READS: u32 = 100_000;
    let clock = SystemClock::new();
    let stretch = || {
        let begun = clock.now();
        (0..READS).for_each(|_| {
            std::hint::black_box(clock.now());
        });
        clock.now().since(begun).as_nanos() as f64 / f64::from(READS)
    };
    (0..20).map(|_| stretch()).fold(f64::INFINITY, f64::min)
}

/// Operations counted, operations in the histogram, and the rate times the time are one number, but for those
/// in flight at either end of the counted time.
fn check_counts(result: &PartResult, depth: u16) -> Result<(), String> {
    let reads = &result.ops[&OpKind::READ];
    let in_histogram = reads.client_latency.histogram.as_ref().map_or(0, |h| h.count());
    let by_rate = result.quantities[&Metric::all(Measure::IOPS)] * SECONDS * (1.0 - WARM_UP);
    let at_the_ends = 2 * u64::from(depth);
    if reads.count == 0
        || in_histogram.abs_diff(reads.count) > at_the_ends
        || (by_rate - reads.count as f64).abs() > at_the_ends as f64 + 1.0
    {
        return Err(format!(
            "{} operations, {in_histogram} in the histogram, {by_rate:.0} by the rate",
            reads.count
        ));
    }
    Ok(())
}
