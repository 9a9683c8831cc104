//! Conducting a study: a plan goes in, a record comes out. Order, repeats and the end follow
//! randomised blocks and the stop rule of the plan; every trial is kept the moment it ends.
//!
//! Time, chance, hosts and the store are passed in, so that a whole study runs exactly and in
//! milliseconds on scripted shares.
#![forbid(unsafe_code)]

mod baseline;
mod check;
mod conduct;
mod costs;
mod dispatch;
mod disturbed;
mod estimate;
mod hindsight;
mod hosts;
mod kept_trials;
mod observers;
mod progress;
mod remaining_time;
mod resume;
mod scale;
mod schedule;
mod settings;
mod size;
mod stability;
mod steps;
mod volume;

pub use conduct::{Conduct, Follow, FollowUp, conduct, conduct_with, resume};
pub use dispatch::{Dispatcher, RunnerOfKind};
pub use estimate::{Estimate, estimate};
pub use hindsight::hindsight;
pub use progress::Progress;
pub use resume::{can_be_continued, left_of_cap};
pub use settings::{NoSettings, Settings};
