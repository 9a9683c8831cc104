//! The feed: what a run publishes of itself for other processes of the same user to look at.
//!
//! A feed is a file of JSON lines in the user's runtime directory: a [`Header`](crate::Header),
//! then a [`Notice`](crate::Notice) a line. The run holds an exclusive lock (flock(2)) on it, which the
//! kernel drops when the process dies, however it dies: a file whose lock can be had is stale. A
//! feed that has grown long is replaced by a shorter one under the same name, without the windows
//! and loads of the past.

mod directory;
mod follow;
mod publish;

pub use directory::runtime_directory;
pub use follow::Follower;
pub(crate) use follow::of_bytes;
pub use publish::Feed;

/// How a feed's file name begins and ends; the study's id stands between.
const PREFIX: &str = "run-";
const SUFFIX: &str = ".jsonl";
/// Longest line that is believed.
const LONGEST_LINE: usize = 1 << 20;
