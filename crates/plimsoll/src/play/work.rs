//! Work that goes on while films play.

use clap::ValueEnum;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    CopyJob, DataClass, DatabaseJob, GeneratedData, Job, Method, Part, ScanJob, Transfer,
};
use std::num::NonZeroU16;

/// What is backed up: so many files, of this mean size in bytes. One in a hundred has changed.
const FILES: u64 = 400;
const MEAN_BYTES: f64 = 250_000.0;
/// Operations in flight of a backup.
const IN_FLIGHT: NonZeroU16 = NonZeroU16::new(4).unwrap();

/// Work that goes on while films play, again and again until their trial ends.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
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
}

impl OtherWork {
    pub(super) fn part(self, seed: u64) -> Part {
        let transfer = match self {
            OtherWork::Backup => Transfer::Update,
            OtherWork::BackupFull => Transfer::Up,
            OtherWork::Scan => {
                return Part::closed(ScanJob::default().into(), NonZeroU16::MIN, IN_FLIGHT);
            }
            OtherWork::Database => {
                let job = DatabaseJob::default().into();
                return Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
            }
        };
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
}
