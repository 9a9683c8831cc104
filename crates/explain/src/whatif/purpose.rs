//! Purposes of storage, and the work of a study that stands for each.

use plimsoll_model::{DataClass, Job};

/// What storage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Films are read from their beginning to their end.
    Films,
    /// Backups are written.
    Backup,
    /// Pictures are copied in both directions and read one by one.
    Photos,
    /// Many small operations in both directions.
    Office,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 4] =
        [Purpose::Films, Purpose::Backup, Purpose::Photos, Purpose::Office];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Films => "films",
            Purpose::Backup => "backup",
            Purpose::Photos => "photos",
            Purpose::Office => "office",
        }
    }

    /// Kinds of job that are like it; copies apart.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Purpose::Films => &["sequential-read"],
            Purpose::Backup => &["sequential-write"],
            Purpose::Photos => &["sequential-read", "random-read"],
            Purpose::Office => &["random-read", "random-write", "random-mixed", "scan", "log"],
        }
    }

    /// Whether a job is like it.
    pub fn has(self, job: &Job) -> bool {
        let Some(files) = job.file_work() else { return self.kinds().contains(&job.kind()) };
        let is_down = files.way == "down";
        match self {
            Purpose::Films => files.class == Some(DataClass::Movies) && is_down,
            Purpose::Backup => !is_down,
            Purpose::Photos => files.class == Some(DataClass::Pictures),
            Purpose::Office => files.class == Some(DataClass::Source),
        }
    }
}
