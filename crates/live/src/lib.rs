//! Looking on while a study runs: the progress line, the terminal dashboard, the feed for other
//! processes, and the local page that shows it in a browser. Observers only look on: whatever is
//! sent to them goes through bounded queues that drop what does not fit, so that nothing here makes
//! the measurement wait.
#![forbid(unsafe_code)]

mod dashboard;
mod describe;
pub mod feed;
#[doc(hidden)]
pub mod fuzzing;
mod line;
mod news;
mod observers;
mod outlet;
mod run;
pub mod serve;
#[cfg(test)]
mod support;
mod text;

pub use line::Paced;
pub use news::{FORMAT, Header, News, Notice, TrialEnd};
pub use observers::{Observers, Show};
pub use run::{CellNow, Doing, HostNow, LoadNow, Point, Run, TrialNow};
