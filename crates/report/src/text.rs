//! Text: wrapping it, and joining words.

pub(crate) use plimsoll_model::printable;

/// At most `limit` letters, the middle left out where there are more: both ends of a path tell it
/// from others.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(2);
    let head = kept / 2;
    let tail = kept - head;
    let mut short: String = letters[..head].iter().collect();
    short.push_str("..");
    short.extend(&letters[letters.len() - tail..]);
    short
}

/// Wraps at spaces to `width` columns, the first line after `first` and the others after as many
/// spaces. Words that are longer than a line are not broken, so that they can be copied.
pub(crate) fn wrapped(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let mut out = first.to_owned();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// "1 block", "2 blocks".
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// A duration for people: "8 s", "3 min", "2 h".
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() || s < 0.0 => "an unknown time".to_owned(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_wrapped_under_their_beginning() {
        assert_eq!(wrapped("- ", "aa bb  cc dd", 7), "- aa bb\n  cc dd\n");
        assert_eq!(wrapped("", "/a/very/long/path b", 6), "/a/very/long/path\nb\n");
        assert_eq!(wrapped("- ", "", 10), "- \n");
    }

    #[test]
    fn words() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&items), "a, b and c");
        assert_eq!(listed(&items[..2]), "a and b");
        assert_eq!(shortened("/a/long/path/to/it", 10), "/a/l..o/it");
        assert_eq!(capital("über"), "Über");
        assert_eq!([duration(8.0), duration(200.0), duration(9e4)], ["8 s", "3 min", "25 h"]);
        assert_eq!(duration(f64::NAN), "an unknown time");
    }

    proptest! {
        #[test]
        fn shortened_text_is_short(text in "\\PC{0,40}", limit in 2usize..30) {
            prop_assert!(shortened(&text, limit).chars().count() <= limit);
        }
    }
}
