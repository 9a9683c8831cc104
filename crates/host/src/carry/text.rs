//! Words from over there, made fit to be shown.

/// Most letters of a host's words in a message to the user.
const MOST_LETTERS: usize = 300;

/// Text of a host without control characters, which could pass for output of plimsoll.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The last line of what a command said that is worth a place in a message; empty where it said
/// nothing.
pub(crate) fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    printable(&line.chars().take(MOST_LETTERS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_short_and_harmless() {
        assert_eq!(last_line(b"sh: one\nsh: \x1b[2Jtwo\n \n"), "sh: \u{fffd}[2Jtwo");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[b'x'; 1000]).len(), MOST_LETTERS);
    }
}
