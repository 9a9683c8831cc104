//! Words of a line.

/// The n-th word of a line as a number.
pub(super) fn number(line: &str, n: usize) -> Option<u64> {
    line.split_ascii_whitespace().nth(n)?.parse().ok()
}
