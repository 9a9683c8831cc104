//! What a study says: figures with their intervals, ratios between targets and verdicts on them,
//! reckoned from recorded values alone, so that an old study can be read again at any time. The
//! stop rule and the reports use the same reckoning.
//!
//! Only complete trials count, each as one value per metric. Ratios are taken within a block and
//! reckoned with on the log scale; a block counts for a pair where both of its trials are complete.
#![forbid(unsafe_code)]

mod across;
mod findings;
mod gather;
mod hosts;
mod level;
mod needed;
mod pair;

pub use across::{Across, Counterpart, across};
pub use findings::{Findings, TargetFindings, WorkloadFindings, findings};
pub use hosts::{HostFindings, HostWork};
pub use level::{Level, Scale};
pub use needed::{Needed, blocks_needed};
pub use pair::{Claim, Pair, Ratio};
