//! File sizes for slow targets: laying out must leave time for measuring.

use model::units::{Bytes, MIB};
use model::{Flag, Plan};

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
