//! Letters in URLs: letters of all scripts are shown, and only unsafe characters are escaped.

use crate::printable::steers;
use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use std::fmt::{self, Write};

/// Part of a URL: letters unchanged; characters of `set`, characters that control a terminal and
/// spaces of any kind as %-escapes. It can be copied as one word, and is parsed to the same value.
pub(super) struct Escaped<'a>(pub(super) &'a str, pub(super) &'static AsciiSet);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match is_letter(c) {
            true => f.write_char(c),
            false => utf8_percent_encode(c.encode_utf8(&mut [0; 4]), self.1).fmt(f),
        })
    }
}

/// Whether a character beyond ASCII is safe without an escape. For ASCII, the set of the URL's part
/// decides.
fn is_letter(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !steers(c)
}

/// Target for readers: letters and spaces replace their %-escapes in any text. Escapes of unsafe
/// characters, and escapes that a URL needs (`%25`, `%2F`), stay. Not for commands.
pub fn with_letters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('%') {
        shown.push_str(&rest[..start]);
        rest = &rest[start..];
        let escapes = rest.as_bytes().chunks_exact(3).take_while(|escape| {
            escape[0] == b'%' && escape[1..].iter().all(u8::is_ascii_hexdigit)
        });
        let length = (3 * escapes.count()).max(1);
        let (run, after) = rest.split_at(length);
        decode_run(run, &mut shown);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// One run of escapes; a lone `%` stays.
fn decode_run(run: &str, shown: &mut String) {
    let bytes: Vec<u8> = percent_decode_str(run).collect();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let length = 3 * c.len_utf8();
            match c == ' ' || is_letter(c) {
                true => shown.push(c),
                false => shown.push_str(run.get(at..at + length).unwrap_or(run)),
            }
            at += length;
        }
        let invalid = 3 * chunk.invalid().len();
        shown.push_str(run.get(at..at + invalid).unwrap_or_default());
        at += invalid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NfsTarget, SmbTarget, Target, printable};
    use proptest::prelude::*;

    #[test]
    fn letters_are_shown_and_what_is_unsafe_is_escaped() {
        let url = "nfs://nas/Zdj%C4%99cia%20rodzinne";
        let target: Target = url.parse().unwrap();
        assert_eq!(target.to_string(), "nfs://nas/Zdjęcia%20rodzinne");
        assert_eq!(with_letters(url), "nfs://nas/Zdjęcia rodzinne");
        assert_eq!(with_letters(&target.to_string()), "nfs://nas/Zdjęcia rodzinne");
        let smb: Target = "smb://J%C3%B6rg@nas/%E5%86%99%E7%9C%9F/U%CC%88b".parse().unwrap();
        assert_eq!(smb.to_string(), "smb://Jörg@nas/写真/U\u{308}b");
        // Controls, bidirectional overrides, line breaks, spaces without width or of another kind.
        let unsafe_ones = "%1B%0A%C2%9B%E2%80%AE%E2%80%A8%C2%A0%E2%80%8B";
        let hostile: Target = format!("nfs://nas/{unsafe_ones}").parse().unwrap();
        assert_eq!(hostile.to_string(), format!("nfs://nas/{unsafe_ones}"));
        for kept in
            [unsafe_ones, "100%", "%", "%2", "%zz", "%25C4%2599", "%C4", "a%C4%2Fb", "%E2%80"]
        {
            assert_eq!(with_letters(kept), kept);
        }
    }

    proptest! {
        /// Nothing that steers a terminal gets out of a URL, it is one word, and it means the same again.
        #[test]
        fn urls_are_safe_and_mean_the_same(path in "(/[^/\0]{1,12}){1,3}", share in "[^/\0]{1,12}") {
            let nfs = NfsTarget { host: "nas".into(), path, ..NfsTarget::default() };
            let smb = SmbTarget { host: "nas".into(), share, ..SmbTarget::default() };
            for target in [Target::Nfs(nfs), Target::Smb(smb)] {
                let url = target.to_string();
                prop_assert!(!url.chars().any(|c| steers(c) || c.is_whitespace()), "{url:?}");
                prop_assert_eq!(printable(&url), url.as_str());
                // Names that a protocol cannot have are refused.
                if let Ok(parsed) = url.parse::<Target>() {
                    prop_assert_eq!(&parsed, &target);
                }
                prop_assert!(!with_letters(&url).chars().any(steers), "{url:?}");
            }
        }

        /// Unsafe characters stay escaped, and no character is lost.
        #[test]
        fn decoding_never_makes_anything_unsafe(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
            let shown = with_letters(&text);
            prop_assert!(!shown.chars().any(|c| steers(c) || (c.is_whitespace() && c != ' ')), "{shown:?}");
            prop_assert_eq!(percent_decode_str(&shown).collect::<Vec<_>>(), bytes);
        }

        #[test]
        fn any_text_is_taken(text in ".{0,40}") {
            let shown = with_letters(&text);
            prop_assert_eq!(
                shown.chars().filter(|c| steers(*c)).count(),
                text.chars().filter(|c| steers(*c)).count()
            );
        }
    }
}
