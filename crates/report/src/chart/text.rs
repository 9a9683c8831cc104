//! How wide a text will be, without a font: estimates on the wide side for common sans-serif fonts.

/// Size of labels and of tick labels, in user units.
pub(super) const LABEL: f64 = 13.0;
pub(super) const TICK: f64 = 12.0;

/// Width of a text at this font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| size * share(c)).sum()
}

/// Share of the font size that a character is wide.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' | '['
        | ']' | 'I' => 0.37,
        'f' | 't' | 'r' | '-' | '/' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' => 0.75,
        c if c.is_ascii() => 0.63,
        c if c < '\u{2e80}' => 0.75,
        // Scripts with square letters.
        _ => 1.05,
    }
}

/// The text, its middle left out where it is wider than `space`.
pub(super) fn fitted(text: &str, size: f64, space: f64) -> String {
    if width(text, size) <= space {
        return text.to_owned();
    }
    let mut letters = text.chars().count();
    loop {
        let short = crate::text::shortened(text, letters);
        if letters <= 3 || width(&short, size) <= space {
            return short;
        }
        letters -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_in_the_middle() {
        assert_eq!(fitted("short", TICK, 100.0), "short");
        let cut = fitted("/srv/a/very/long/path/to/data", TICK, 90.0);
        assert!(cut.starts_with("/srv") && cut.ends_with("data") && cut.contains(".."), "{cut}");
        assert!(width(&cut, TICK) <= 90.0);
        assert_eq!(fitted("abcdef", TICK, 0.0).chars().count(), 3);
    }
}
