//! What recorded studies say: a [`Document`] of one study, of two side by side, or of several as a
//! trend, written for the terminal, as HTML, Markdown, CSV, its charts as SVG. Pure functions of the
//! record, so that an old study can be shown again at any time.
//!
//! Text that came from outside (targets, messages of servers) never gets out as it is: names go
//! through [`plimsoll_model::printable`] where they are put into a line, and whole pages once more at their
//! end ([`for_terminal`] and what [`Document`] writes).
#![forbid(unsafe_code)]

pub mod chart;
mod columns;
mod compared;
mod date;
mod device;
mod document;
mod exchange;
mod figure;
mod list;
mod measure;
mod names;
mod picture;
mod published;
mod redact;
mod render;
mod sections;
mod steps;
mod study;
mod style;
mod text;
mod verdict;
mod whatif;

pub use date::utc;
pub use document::Document;
pub use exchange::{bmf, folded, junit, openmetrics};
pub use list::list;
pub use picture::picture;
pub use redact::redact;
pub use sections::{history_bottlenecks, rates_compared};
pub use study::byte_costs::RecordedDevice;
pub use style::{Style, for_terminal};
pub use text::{counted, duration, wrapped};
pub use whatif::WhatIfReport;
