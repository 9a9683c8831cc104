//! Stability of writes.

use serde::{Deserialize, Serialize};

/// When written data must be on stable storage.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// At the final flush (NFS: UNSTABLE and COMMIT; directory: fdatasync), whose time counts.
    #[default]
    Unstable,
    /// When each write completes, but for what reading it back does not need, its times above all (NFS:
    /// DATA_SYNC; directory: O_DSYNC).
    DataSync,
    /// When each write completes (NFS: FILE_SYNC; directory: O_DSYNC).
    FileSync,
}
