//! Work that goes on while films play: backups, and the jobs of `check`.

use clap::ValueEnum;
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, CopyJob, DataClass, DatabaseJob, Failure, GeneratedData, Job, JobFacts, LogJob, Method,
    Part, Pattern, PatternJob, ScanJob, Transfer,
};
use std::num::NonZeroU16;

/// What is backed up: so many files, of this mean size in bytes. One in a hundred has changed.
const FILES: u64 = 400;
const MEAN_BYTES: f64 = 250_000.0;
/// Operations in flight of a backup.
const IN_FLIGHT: NonZeroU16 = NonZeroU16::new(4).unwrap();
/// Workers of a log and of patterns, as `check` has them.
const WORKERS: NonZeroU16 = NonZeroU16::new(4).unwrap();
/// Records of a log, and the size of its files, as `check` has them.
const RECORD: Bytes = Bytes(4 * KIB);
const LOG_SIZE: Bytes = Bytes(64 * MIB);

/// Work that goes on while films play, again and again until their trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OtherWork {
    /// A backup after one file in a hundred has changed
    Backup,
    /// A backup of all files
    #[value(name = "backup:full")]
    BackupFull,
    /// A walk over a directory tree
    Scan,
    /// A database that commits transactions
    Database,
    /// A log whose records are made stable one by one
    Log,
    /// Reads of 1 MiB in order
    #[value(hide = true)]
    SequentialRead,
    /// Writes of 1 MiB in order
    #[value(hide = true)]
    SequentialWrite,
    /// Reads of 4 KiB at random places
    #[value(hide = true)]
    RandomRead,
    /// Writes of 4 KiB at random places
    #[value(hide = true)]
    RandomWrite,
    /// Reads and writes of 4 KiB at random places
    #[value(hide = true)]
    RandomMixed,
    /// Reads and writes of 1 MiB in order
    #[value(hide = true)]
    SequentialMixed,
}

impl OtherWork {
    /// The work as a part of a workload, next to films with test files of this size. A failure where the size is too
    /// small for it.
    pub(super) fn part(self, seed: u64, size: Bytes) -> Result<Part, Failure> {
        Ok(match self {
            OtherWork::Backup => backup(Transfer::Update, seed),
            OtherWork::BackupFull => backup(Transfer::Up, seed),
            OtherWork::Scan => Part::closed(ScanJob::default().into(), NonZeroU16::MIN, IN_FLIGHT),
            OtherWork::Database => {
                Part::closed(DatabaseJob::default().into(), NonZeroU16::MIN, NonZeroU16::MIN)
            }
            OtherWork::Log => {
                let job = LogJob { block: RECORD, size: LOG_SIZE };
                Part::closed(job.into(), WORKERS, NonZeroU16::MIN)
            }
            OtherWork::SequentialRead => pattern(Pattern::SequentialRead, size)?,
            OtherWork::SequentialWrite => pattern(Pattern::SequentialWrite, size)?,
            OtherWork::RandomRead => pattern(Pattern::RandomRead, size)?,
            OtherWork::RandomWrite => pattern(Pattern::RandomWrite, size)?,
            OtherWork::RandomMixed => pattern(Pattern::RandomMixed, size)?,
            OtherWork::SequentialMixed => pattern(Pattern::SequentialMixed, size)?,
        })
    }
}

fn backup(transfer: Transfer, seed: u64) -> Part {
    let data = GeneratedData {
        class: DataClass::Pictures,
        count: FILES,
        mean_bytes: MEAN_BYTES,
        scale: 1.0,
        seed,
    };
    let (dataset, method) = (data.dataset(), Method::Rsync);
    let copy = CopyJob { dataset, transfer, method, block: Bytes(MIB), verify: false };
    Part::closed(Job::from(copy), NonZeroU16::MIN, IN_FLIGHT)
}

/// A pattern in its usual blocks. What it reads is what films are read from.
fn pattern(pattern: Pattern, size: Bytes) -> Result<Part, Failure> {
    let block = pattern.default_block();
    let mut job = PatternJob::new(pattern, block, size);
    if job.fit(WORKERS.get(), size.0) {
        return Ok(Part::closed(job.into(), WORKERS, NonZeroU16::MIN));
    }
    let happened = format!("it is too small for {WORKERS} workers with a block size of {block}");
    Err(Failure::new(Cause::Usage, format!("plan {pattern} while films play"))
        .on(format!("--size {}", size.to_string().replace(' ', "")))
        .happened(happened)
        .next("Give a larger --size."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_of_check_goes_on_while_films_play() {
        let all: Vec<Part> = OtherWork::value_variants()
            .iter()
            .map(|work| work.part(7, Bytes(64 * MIB)).unwrap())
            .collect();
        let kinds: Vec<&str> = all.iter().map(|part| part.job.kind()).collect();
        for job in crate::jobs::JOBS.iter().map(|job| job.name).filter(|name| *name != "pattern") {
            assert!(kinds.contains(&job), "{job}");
        }
        for pattern in Pattern::ALL {
            let work = OtherWork::from_str(pattern.name(), false).unwrap();
            assert_eq!(work.part(7, Bytes(64 * MIB)).unwrap().job.kind(), pattern.name());
        }
    }

    #[test]
    fn a_pattern_needs_a_block_for_each_worker() {
        let too_small = OtherWork::SequentialWrite.part(7, Bytes(2 * MIB)).unwrap_err();
        assert!(too_small.happened.contains("4 workers"), "{too_small}");
        assert!(OtherWork::RandomWrite.part(7, Bytes(2 * MIB)).is_ok());
    }
}
