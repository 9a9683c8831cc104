//! Output of other hosts: single words of it, and what is shown of it, which is short and has letters alone, for what is
//! no letter could pass for output of plimsoll.

/// Bytes of an output that are looked at, the last ones, and letters of a line that are shown.
const MOST_BYTES: usize = 16 << 10;
const MOST_LETTERS: usize = 240;

/// What stands for everything that is not to be shown.
const HIDDEN: char = '\u{fffd}';

/// Text without control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { HIDDEN } else { c }).collect()
}

/// The last line that was printed; `None` where nothing was. Below a message, nft(8) prints a line of its input and one
/// that marks a place in it: then it is the message.
pub fn last_line(output: &[u8]) -> Option<String> {
    let is_mark = |line: &String| line.chars().all(|c| matches!(c, '^' | '~' | '-' | ' '));
    let mut lines = lines(output);
    while lines.len() > 2 && lines.last().is_some_and(is_mark) {
        lines.truncate(lines.len() - 2);
    }
    lines.pop()
}

/// The word after another one in a line, as ip(8) prints names and values: "via 192.0.2.1 dev eth0".
pub fn word_after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_whitespace().skip_while(|own| *own != word).nth(1)
}

/// The last lines that were printed, without empty ones.
pub(crate) fn lines(output: &[u8]) -> Vec<String> {
    let hidden = |c: char| c.is_control() || (!c.is_ascii() && c.escape_debug().len() > 1);
    String::from_utf8_lossy(&output[output.len().saturating_sub(MOST_BYTES)..])
        .split(['\n', '\r'])
        .map(|line| {
            let letters = line.trim().chars().take(MOST_LETTERS);
            letters.map(|c| if hidden(c) { HIDDEN } else { c }).collect::<String>()
        })
        .filter(|line| !line.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_short_and_harmless() {
        let output = format!("\x1b[2J\u{202e}gone\u{7}{}\n\n \r\n", "x".repeat(1000));
        let line = last_line(output.as_bytes()).unwrap();
        assert!(line.starts_with("\u{fffd}[2J\u{fffd}gone\u{fffd}xx"), "{line}");
        assert_eq!(line.chars().count(), MOST_LETTERS);
        assert_eq!(last_line(b"sh: one\nsh: two\n \n").as_deref(), Some("sh: two"));
        assert_eq!(last_line(b"\n\r\n"), None);
        let marked = b"stdin:2:3-3: Error: syntax error\n} }\n  ^\nstdin:3:1-1: Error: end of file\n} }\n^^\n";
        assert_eq!(last_line(marked).as_deref(), Some("stdin:3:1-1: Error: end of file"));
        assert_eq!(last_line(b"^\n").as_deref(), Some("^"));
        assert_eq!(printable("a\x1b[2J"), "a\u{fffd}[2J");
    }

    #[test]
    fn a_word_is_named_by_the_one_before_it() {
        let route = "192.0.2.7 via 192.0.2.1 dev eth0 src";
        assert_eq!(word_after(route, "via"), Some("192.0.2.1"));
        assert_eq!(word_after(route, "dev"), Some("eth0"));
        assert_eq!(word_after(route, "src"), None, "nothing follows");
        assert_eq!(word_after(route, "mtu"), None);
    }
}
