//! Reports as the tests look at them: with all details.

use plimsoll_model::Study;
use plimsoll_report::{Document, Style};

/// A study with all details.
pub fn study(study: &Study, style: &Style) -> String {
    Document::of_study(study).text(style)
}

/// Two studies side by side with all details.
pub fn compare(a: &Study, b: &Study, style: &Style) -> String {
    Document::of_two(a, b).text(style)
}
