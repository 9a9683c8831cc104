//! File sizes for slow targets: laying out must leave time for measuring.

use model::units::{Bytes, MIB};
use model::{Cause, Failure, Flag, Layout, Plan, TargetFacts};

/// Share of the time cap that laying out files may take.
const SHARE: f64 = 0.25;
/// No file is made smaller than this.
const SMALLEST: u64 = 64 * MIB;

/// Bytes that are laid out to find the rate.
pub const SAMPLE: u64 = 32 * MIB;

/// Lowers the sizes of the plan's workloads to what a target that is laid out at
/// `bytes_per_second` can have in a share of the time cap: each target's read file once and its
/// written file once a block, as planned at least. Sizes stay powers of two times 64 MiB.
pub fn adapt(plan: &mut Plan, bytes_per_second: f64) -> Option<Flag> {
    let wanted = plan.workloads.iter().map(|w| w.size.0).max()?;
    let writes = plan.workloads.iter().any(|w| w.pattern.writes());
    let layouts = plan.targets.len() as f64
        * (1.0 + if writes { f64::from(plan.first_blocks()) } else { 0.0 });
    let affordable = bytes_per_second * plan.cap_seconds * SHARE / layouts;
    let mut used = wanted;
    while used > SMALLEST && used as f64 > affordable {
        used = (used / 2).max(SMALLEST);
    }
    if used == wanted {
        return None;
    }
    for workload in &mut plan.workloads {
        workload.size = Bytes(workload.size.0.min(used));
    }
    Some(Flag::SizeLowered { wanted: Bytes(wanted), used: Bytes(used), bytes_per_second })
}

/// Fits the sizes of the plan's workloads to files that are read in place: to the smallest of them,
/// in whole blocks for every worker.
///
/// # Errors
/// [`Cause::Usage`] where a file has not a block for every worker.
pub fn fit(plan: &mut Plan, targets: &[TargetFacts]) -> Result<(), Failure> {
    let files = targets.iter().filter_map(|target| Some((target, target.in_place.as_ref()?)));
    let Some((target, smallest)) = files.min_by_key(|(_, file)| file.size) else { return Ok(()) };
    for workload in &mut plan.workloads {
        let ranges = match workload.layout {
            Layout::Disjoint => u64::from(workload.workers.get()),
            Layout::Shared => 1,
        };
        let unit = workload.block.0 * ranges;
        workload.size = Bytes(workload.size.0.min(smallest.size.0) / unit * unit);
        if workload.size.0 == 0 {
            let on = format!("{} of {}", smallest.file, target.given);
            let (size, unit) = (smallest.size, Bytes(unit));
            let happened = format!("it has {size}, and {} needs {unit}", workload.pattern);
            let next = "Name a larger file, or give a smaller --block or fewer --workers.";
            return Err(Failure::new(Cause::Usage, "read the file in place", on, happened, next));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::GIB;
    use model::{DirectoryTarget, Pattern, Rule, Stability, Target, Workload};
    use std::num::NonZeroU16;

    fn plan(size: u64) -> Plan {
        let workload = |pattern| Workload {
            pattern,
            block: Bytes(4096),
            size: Bytes(size),
            workers: NonZeroU16::MIN,
            depth: NonZeroU16::MIN,
            layout: Layout::Disjoint,
            stability: Stability::Unstable,
            verify: false,
        };
        Plan {
            targets: vec![Target::Directory(DirectoryTarget { path: "x".into() })],
            workloads: vec![workload(Pattern::RandomRead), workload(Pattern::RandomWrite)],
            trial_seconds: 5.0,
            warm_up_seconds: 0.5,
            rule: Rule::Stein { pilot: 6, half_width: 0.02 },
            cap_seconds: 600.0,
            baseline_seconds: 5.0,
            margin: 0.05,
            confidence: 0.95,
            operation_timeout_seconds: 30.0,
            seed: 1,
            on: None,
            server_memory: None,
            hosts: Vec::new(),
            engine: None,
            adapt_size: true,
            command: String::new(),
        }
    }

    #[test]
    fn a_fast_target_keeps_its_size() {
        let mut plan = plan(GIB);
        assert_eq!(adapt(&mut plan, 112e6), None);
        assert_eq!(plan.workloads[0].size.0, GIB);
    }

    #[test]
    fn a_slow_target_gets_what_a_quarter_of_the_cap_allows() {
        // 6 MB/s for 150 s make 900 MB, for seven layouts: 128 MB each, so 64 MiB.
        let mut plan = plan(GIB);
        let flag = adapt(&mut plan, 6e6).unwrap();
        assert!(plan.workloads.iter().all(|w| w.size.0 == 64 * MIB));
        assert!(matches!(flag, Flag::SizeLowered { wanted: Bytes(GIB), used: Bytes(n), .. }
            if n == 64 * MIB));
    }

    #[test]
    fn nothing_goes_below_the_smallest_and_small_files_stay() {
        let mut slow = plan(GIB);
        adapt(&mut slow, 1.0);
        assert_eq!(slow.workloads[0].size.0, SMALLEST);
        let mut small = plan(8 * MIB);
        assert_eq!(adapt(&mut small, 1.0), None);
        assert_eq!(small.workloads[0].size.0, 8 * MIB);
    }
}
