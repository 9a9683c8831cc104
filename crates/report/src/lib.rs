//! What the terminal shows of recorded studies: tables, verdicts, sentences. Pure functions of the
//! record, so that an old study can be shown again at any time.
//!
//! Text that came from outside (targets, messages of servers) never reaches the terminal as it is:
//! see [`printable`].
#![forbid(unsafe_code)]

mod compare;
mod date;
mod figure;
mod list;
mod names;
mod page;
mod study;
mod style;
mod table;
mod text;
mod verdict;

pub use compare::compare;
pub use list::list;
pub use study::study;
pub use style::Style;
pub use text::printable;
