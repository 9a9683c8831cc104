//! The cache test: do reads of the whole file come from the same store as reads of a part that
//! is surely in the server's memory?

use plimsoll_load::{Files, LaidOut, Means, RunSpec, Share};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{Failure, Layout, OpKind, PatternJob, StoredOn};
use plimsoll_stats::two_size::{Answer, decide};
use std::num::NonZeroU16;
use std::time::Duration;

/// The part that is surely in memory once it was read: small for any server's memory.
const SMALL: u64 = 16 * MIB;
/// The whole must be this many times larger, or the two sizes tell nothing.
const FACTOR: u64 = 4;
const RUN: Duration = Duration::from_millis(200);
const PAIRS: u64 = 3;
const BLOCK: Bytes = Bytes(4 * KIB);

/// Random reads of 4 KiB, one at a time, alternating between a small part and the whole of `size`
/// bytes. Of both each run begins with another file.
pub(crate) fn reads_from(
    share: &dyn Share,
    means: &Means,
    files: &[LaidOut],
    size: u64,
) -> Result<StoredOn, Failure> {
    let small = SMALL.min(size / FACTOR);
    if files.is_empty() || small < BLOCK.0 * files.len() as u64 {
        return Ok(StoredOn::Unknown);
    }
    let log_rate = |size: u64, seed: u64| -> Result<f64, Failure> {
        let mut read = files.to_vec();
        read.rotate_left(seed as usize % files.len());
        let spec = RunSpec {
            job: PatternJob {
                layout: Layout::Shared,
                ..PatternJob::random_reads(BLOCK, Bytes(size))
            },
            workers: NonZeroU16::MIN,
            depth: NonZeroU16::MIN,
            files: Files { read, write: Vec::new() },
            means: means.clone(),
            duration: RUN,
            window: RUN,
            seed,
        };
        let measured = plimsoll_load::run(share, &spec, None)?.0.measured(RUN / 10);
        let reads = measured.kinds.get(&OpKind::READ).map_or(0, |k| k.operations);
        Ok((reads as f64 / measured.length.as_secs_f64().max(1e-9)).ln())
    };
    // Reading the small part brings it into memory, if it is to be had there at all.
    log_rate(small, 0)?;
    let (mut small_rates, mut large_rates) = (Vec::new(), Vec::new());
    for pair in 1..=PAIRS {
        small_rates.push(log_rate(small, pair)?);
        large_rates.push(log_rate(size, PAIRS + pair)?);
    }
    Ok(match decide(&small_rates, &large_rates).map(|d| d.answer) {
        Some(Answer::SameStore) => StoredOn::ServerMemory,
        Some(Answer::Slower) => StoredOn::Disk,
        Some(Answer::Unclear) | None => StoredOn::Unknown,
    })
}
