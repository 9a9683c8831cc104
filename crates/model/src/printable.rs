//! Output of text from outside. Servers, file systems and files can put any character into a name.
//! Characters that control a terminal, or reorder or hide letters, are escaped (`\u{1b}`). All
//! output for people or other programs passes one of these functions; a second pass changes
//! nothing.

/// Whether a character does something else than to stand for itself: controls (C0, DEL, C1),
/// bidirectional and other format characters, separators of lines, letters without width. Marks that
/// combine with the letter before them are letters: decomposed names, as macOS writes them, have many.
pub(crate) fn steers(c: char) -> bool {
    let reorders = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    // `str::escape_debug` leaves marks alone that do not begin the text.
    let mut pair = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut pair[1..]).len();
    let pair = std::str::from_utf8(&pair[..length]).unwrap_or_default();
    reorders || c.is_control() || (!c.is_ascii() && pair.escape_debug().count() > 2)
}

/// Text within a line: line breaks in it are escaped, too.
pub fn printable(text: &str) -> String {
    escaped(text, |safe, c| safe.extend(c.escape_unicode()))
}

/// Lines of text: their breaks (LF) alone pass.
pub fn printable_lines(text: &str) -> String {
    escaped(text, |safe, c| match c {
        '\n' => safe.push(c),
        _ => safe.extend(c.escape_unicode()),
    })
}

/// Escapes JSON text without a change of meaning (RFC 8259, section 7): existing escapes and the
/// line breaks of its layout stay.
pub fn printable_json(text: &str) -> String {
    escaped(text, |safe, c| match c {
        '\n' => safe.push(c),
        _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| *safe += &format!("\\u{unit:04x}")),
    })
}

fn escaped(text: &str, mut escape: impl FnMut(&mut String, char)) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { escape(&mut safe, c) } else { safe.push(c) }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Characters that must always be escaped.
    const STEERING: [std::ops::RangeInclusive<char>; 11] = [
        '\0'..='\u{1f}',
        '\u{7f}'..='\u{9f}',
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0000}'..='\u{e007f}',
    ];

    #[test]
    fn what_steers_a_terminal_is_shown_and_not_sent() {
        assert_eq!(printable("\u{1b}[2Jx\r\n\u{9b}31m"), "\\u{1b}[2Jx\\u{d}\\u{a}\\u{9b}31m");
        assert_eq!(printable("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        assert_eq!(printable("/srv/Übung '\"\\ 日本"), "/srv/Übung '\"\\ 日本");
        assert_eq!(printable("U\u{308}bung ❤\u{fe0f}"), "U\u{308}bung ❤\u{fe0f}");
        assert_eq!(printable_lines("a\r\n\u{7}b\n"), "a\\u{d}\n\\u{7}b\n");
        for c in STEERING.into_iter().flatten() {
            let text = String::from(c);
            assert!(printable(&text).is_ascii() && printable(&text).len() > 4, "{c:?}");
            assert_eq!(printable_lines(&text) == text, c == '\n', "{c:?}");
            assert_eq!(printable_json(&text) == text, c == '\n', "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn twice_is_as_good_as_once(text in prop::collection::vec(any::<char>(), 0..40)) {
            let text = String::from_iter(text);
            for safe in [printable, printable_lines, printable_json] {
                prop_assert_eq!(safe(&safe(&text)), safe(&text));
                prop_assert!(!safe(&text).chars().any(|c| c != '\n' && steers(c)));
            }
        }

        #[test]
        fn json_means_the_same(text in prop::collection::vec(any::<char>(), 0..40)) {
            let text = String::from_iter(text);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&printable_json(&json)).unwrap(), text);
        }
    }
}
