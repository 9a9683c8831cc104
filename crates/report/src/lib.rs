//! What recorded studies say, for the terminal ([`study()`], [`compare()`], [`list()`]) and on paper
//! ([`Paper`]: HTML, Markdown, charts as SVG): tables, verdicts, sentences, pictures. Pure functions
//! of the record, so that an old study can be shown again at any time.
//!
//! Text that came from outside (targets, messages of servers) never gets out as it is: names go
//! through [`plimsoll_model::printable`] where they are put into a line, and whole pages once more at their
//! end ([`for_terminal`] and what [`Paper`] writes).
#![forbid(unsafe_code)]

pub mod chart;
mod compare;
mod content;
mod date;
mod device;
mod figure;
mod html;
mod labs;
mod list;
mod markdown;
mod measure;
mod names;
mod page;
mod paper;
mod picture;
mod redact;
mod study;
mod style;
mod table;
mod text;
mod verdict;

pub use compare::compare;
pub use date::utc;
pub use list::list;
pub use paper::Paper;
pub use picture::picture;
pub use redact::redact;
pub use study::study;
pub use style::{Style, for_terminal};
