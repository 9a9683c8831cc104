//! Text: wrapping it, and joining words.

pub(crate) use plimsoll_model::printable;
pub use plimsoll_model::units::duration;
use plimsoll_model::with_letters;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal that the text takes: two for letters of some scripts, none for marks on top of
/// others.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// A target, or a name made of one, as people read it.
pub(crate) fn target(text: &str) -> String {
    printable(&with_letters(text))
}

/// At most `limit` columns, the middle left out where there are more: both ends of a path tell it
/// from others.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(2);
    let fitting = |letters: &mut dyn Iterator<Item = char>, most: usize| -> String {
        let mut used = 0;
        letters
            .take_while(|c| {
                used += c.width().unwrap_or(0);
                used <= most
            })
            .collect()
    };
    let head = fitting(&mut text.chars(), kept / 2);
    let tail = fitting(&mut text.chars().rev(), kept - kept / 2);
    format!("{head}..{}", tail.chars().rev().collect::<String>())
}

/// The same of two names with a word between them, which stays whole: the middle of the longer name is left out, of
/// both where both are long.
pub(crate) fn shortened_pair(text: &str, between: &str, limit: usize) -> String {
    let Some((a, b)) = text.split_once(between).filter(|_| width(text) > limit) else {
        return shortened(text, limit);
    };
    let room = limit.saturating_sub(width(between));
    let of_a = width(a).min((room / 2).max(room.saturating_sub(width(b))));
    let (a, b) = (shortened(a, of_a), shortened(b, room.saturating_sub(of_a)));
    format!("{a}{between}{b}")
}

/// Units that stand after a number, alone or before a slash.
const UNITS: [&str; 28] = [
    "ns", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB",
    "bit", "kbit", "Mbit", "Gbit", "Gbps", "k", "M", "Hz", "kHz", "MHz", "GHz", "IOPS", "%",
];

/// What a number and its unit are joined by while lines are made.
const NO_BREAK: &str = "\u{a0}";

/// Whether a line that ends so has a number whose unit begins the next one.
pub(crate) fn parts_figure(begin: &str, end: &str) -> bool {
    let unit = end.split(' ').next().unwrap_or_default();
    let unit = unit.split(|c: char| c != '%' && !c.is_alphabetic()).next();
    begin.ends_with(|c: char| c.is_ascii_digit()) && unit.is_some_and(|unit| UNITS.contains(&unit))
}

/// The text with another space between each number and its unit.
pub(crate) fn bind_units(text: &str, space: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        match letter == ' ' && parts_figure(&text[..at], &text[at + 1..]) {
            true => bound.push_str(space),
            false => bound.push(letter),
        }
    }
    bound
}

/// Wraps at spaces to `columns`, the first line after `first` and the others after as many
/// spaces. Words that are longer than a line are not broken, so that they can be copied. A number and its unit
/// stay in one line.
pub fn wrapped(first: &str, text: &str, columns: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return format!("{first}\n");
    }
    let indent = " ".repeat(width(first));
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(&bind_units(&text, NO_BREAK), options).replace(NO_BREAK, " ") + "\n"
}

/// "a", "a and b", "a, b and c"; items with commas of their own are set apart: "a, b; c, d".
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        several if several.iter().any(|item| item.contains(", ")) => several.join("; "),
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// "1 block", "2 blocks", "3 studies".
pub fn counted(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix("dy")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}dies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nouns_have_plurals() {
        let all = [(0, "block"), (1, "study"), (2, "study")];
        let words = all.map(|(count, noun)| counted(count, noun));
        assert_eq!(words, ["0 blocks", "1 study", "2 studies"]);
    }

    #[test]
    fn lines_are_wrapped_under_their_beginning() {
        assert_eq!(wrapped("- ", "aa bb  cc dd", 7), "- aa bb\n  cc dd\n");
        assert_eq!(wrapped("", "/a/very/long/path b", 6), "/a/very/long/path\nb\n");
        assert_eq!(wrapped("- ", "", 10), "- \n");
        // By columns, not letters.
        assert_eq!(wrapped("", "数据盘 数据盘", 8), "数据盘\n数据盘\n");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrapped("", "read at 2.00 ms", 13), "read at\n2.00 ms\n");
        assert_eq!(wrapped("  ", "at 480 Mbit/s, at 5 %", 13), "  at\n  480 Mbit/s,\n  at 5 %\n");
        assert_eq!(wrapped("", "read of 4 workers", 10), "read of 4\nworkers\n");
        assert_eq!(bind_units("  112 MB/s, 4 of  5 ms", "~"), "  112~MB/s, 4 of  5~ms");
        for (begin, end, parts) in [
            ("p99 of 2.00", "ms", true),
            ("at 480", "Mbit/s, scheduler none", true),
            ("[1.00–2.00", "s]", true),
            ("random read of 4", "workers", false),
            ("read", "ms", false),
        ] {
            assert_eq!(parts_figure(begin, end), parts, "{begin} {end}");
        }
    }

    #[test]
    fn words() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&items), "a, b and c");
        assert_eq!(listed(&items[..2]), "a and b");
        let with_commas = ["movies up, as rsync", "music up, as rsync"].map(str::to_owned);
        assert_eq!(listed(&with_commas), "movies up, as rsync; music up, as rsync");
        assert_eq!(shortened("/a/long/path/to/it", 10), "/a/l..o/it");
        for (text, limit, expected) in [
            ("this machine to 127.0.0.1", 25, "this machine to 127.0.0.1"),
            ("this machine to server.example.com", 30, "this machine to server..le.com"),
            ("server.example.com to nas", 20, "serve..le.com to nas"),
            ("server.example.com to laptop.example.com", 24, "serv...com to lapt...com"),
            ("laptop.example.com", 10, "lapt...com"),
        ] {
            assert_eq!(shortened_pair(text, " to ", limit), expected);
        }
        assert_eq!(capital("über"), "Über");
    }

    proptest! {
        #[test]
        fn shortened_text_is_short(text in "\\PC{0,40}", limit in 2usize..30) {
            prop_assert!(width(&shortened(&text, limit)) <= limit);
        }
    }
}
