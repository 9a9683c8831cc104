//! Which versions of fio are understood.

use super::malformed::{Malformed, Parsed};

/// Passes fio 2 and 3, written as "fio-3.33" or "fio-2.1.3-12-g0123".
pub(super) fn check(version: &str, line: usize) -> Parsed<()> {
    match major(version) {
        Some(2 | 3) => Ok(()),
        _ => Err(Malformed::new(
            line,
            format!("version '{}' is not known: expected fio 2 or 3", version.escape_debug()),
            "Use output of fio-2.x or fio-3.x, or a newer plimsoll.",
        )),
    }
}

/// The same for a version that may be unknown.
pub(super) fn check_if_known(version: &str, line: usize) -> Parsed<()> {
    if version.is_empty() { Ok(()) } else { check(version, line) }
}

/// "fio-3.33" to 3.
fn major(version: &str) -> Option<u32> {
    let digits = version.strip_prefix("fio-")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
