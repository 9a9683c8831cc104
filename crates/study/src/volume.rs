//! What work moves and writes: of jobs by their footprint, of work for a time by an assumed rate.

use plimsoll_model::{Footprint, Length, Workload};

/// The rate that is assumed before a subject was seen: a link of 1 Gbit/s.
pub(crate) const BYTES_PER_SECOND: f64 = 110e6;

/// Bytes that one trial moves and writes, and its files.
#[derive(Default)]
pub(crate) struct Volume {
    pub moved: f64,
    pub written: f64,
    pub files: f64,
}

impl Volume {
    /// Of a trial of this workload.
    pub(crate) fn new(workload: &Workload) -> Volume {
        let mut volume = Volume::default();
        let points = workload.points() as f64;
        let Some(main) = workload.main().map(|part| part.job.footprint()) else { return volume };
        let moved = moved(main) as f64;
        for part in &workload.parts {
            let writes = written(part.job.footprint()) > 0;
            match workload.length {
                // Parts share the assumed rate: until the first one ends, each of the others moves as much.
                Length::UntilDone { .. } => {
                    volume.moved += points * moved;
                    volume.written += if writes { points * moved } else { 0.0 };
                    volume.files += points * main.names as f64;
                }
                Length::For { .. } if writes => {
                    volume.written += workload.trial_seconds() * BYTES_PER_SECOND;
                }
                Length::For { .. } => {}
            }
        }
        volume
    }
}

/// Bytes that a job writes.
fn written(footprint: Footprint) -> u64 {
    footprint.written.saturating_add(footprint.transient)
}

/// Bytes that a job moves until it is done. What is brought up to date lies there, and is not moved again.
pub(crate) fn moved(footprint: Footprint) -> u64 {
    Some(written(footprint)).filter(|written| *written > 0).unwrap_or(footprint.read)
}
