//! Numbers that some tools write into JSON though JSON does not have them.

use std::borrow::Cow;

/// The text as JSON: `nan`, `-inf` and `Infinity` become `null`, and `5.9e 06` of iperf3 3.1.2 becomes `5.9e+06`. Text
/// in quotes stays as it is, and no line begins elsewhere.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut repaired = String::new();
    // What is before it is in `repaired`.
    let mut rest = 0;
    let mut at = 0;
    let mut is_quoted = false;
    while at < bytes.len() {
        let change = match bytes[at] {
            // No JSON text in quotes has a line break: a quote in other text ends with its line.
            b'\n' => {
                is_quoted = false;
                None
            }
            b'\\' if is_quoted => {
                at += 1;
                None
            }
            b'"' => {
                is_quoted = !is_quoted;
                None
            }
            _ if is_quoted || at.checked_sub(1).is_some_and(|b| bytes[b].is_ascii_alphabetic()) => {
                None
            }
            b'e' => is_spaced_exponent(bytes, at).then_some((2, "e+")),
            b'-' | b'n' | b'N' | b'i' | b'I' => {
                not_a_number(&bytes[at..]).map(|length| (length, "null"))
            }
            _ => None,
        };
        match change {
            Some((length, instead)) => {
                repaired.push_str(&text[rest..at]);
                repaired.push_str(instead);
                at += length;
                rest = at;
            }
            None => at += 1,
        }
    }
    match rest {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(repaired + &text[rest..]),
    }
}

/// Whether a digit, this `e`, a blank and a digit follow each other.
fn is_spaced_exponent(bytes: &[u8], at: usize) -> bool {
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    is_digit(at.checked_sub(1)) && bytes.get(at + 1) == Some(&b' ') && is_digit(Some(at + 2))
}

/// Length of a word such as `nan`, `-nan(ind)` or `Infinity` at the start.
fn not_a_number(bytes: &[u8]) -> Option<usize> {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let begins = |word: &&str| {
        bytes[sign..].get(..word.len()).is_some_and(|own| own.eq_ignore_ascii_case(word.as_bytes()))
    };
    let word = ["nan(ind)", "nan", "infinity", "inf"].iter().find(|word| begins(word))?;
    let length = sign + word.len();
    let is_whole = bytes.get(length).is_none_or(|next| !next.is_ascii_alphanumeric());
    is_whole.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn figures_that_json_does_not_have_are_unknown() {
        let text = "{\"a\": -nan, \"b\": nan,\n\"c\":inf, \"d\": [NaN, -Infinity, -nan(ind)], \"e\": 5.924e 06}";
        let value: Value = serde_json::from_str(&repaired(text)).unwrap();
        let none = Value::Null;
        let expected =
            json!({"a": none, "b": none, "c": none, "d": [none, none, none], "e": 5.924e6});
        assert_eq!(value, expected);
        assert_eq!(repaired(text).lines().count(), 2);
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            r#"{"nan": "a nan, \" -inf 1e 5", "b": [null, true, false, -1.5e-3, 1e5]}"#,
            "info: nanny, banan 5e x",
            "",
        ] {
            assert!(matches!(repaired(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        // A quote in a line of other text does not hide the document below it.
        assert_eq!(repaired("say \"hi\n{\"a\": nan}"), "say \"hi\n{\"a\": null}");
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(\\PC|nan|-inf|\"|\\\\|\n|1e 2){0,30}") {
            let lines = |text: &str| text.matches('\n').count();
            prop_assert_eq!(lines(&repaired(&text)), lines(&text));
        }
    }
}
