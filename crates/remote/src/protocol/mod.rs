//! What two halves of a study say to each other when trials are driven on another host: lines of
//! JSON, requests one way, replies the other.
//!
//! The program on the host says [`Reply::Hello`] first. Then each request but [`Request::Stop`] and
//! [`Request::Alive`], which may come at any time, is answered by one reply; events may come before
//! it, and for a password there is a question back. Both sides say that they are alive, and end when
//! they do not hear from each other for [`SILENCE`].
//!
//! Lines are bounded, and what comes is believed only as far as it can be understood.

#[doc(hidden)]
pub mod fuzzing;
mod lines;
mod reply;
mod request;
mod secret;

pub use lines::{Lines, TooLong};
pub use reply::{MOST_REPLY, Reply};
pub use request::{Begin, Connect, MOST_REQUEST, Request};
pub use secret::Secret;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// The version of the protocol. The two programs come from one build: others are refused. 5: a result has
/// the amounts that its rates follow from, and an event a window of each part.
pub const PROTOCOL: u32 = 5;

/// How often each side says that it is alive.
pub const PULSE: Duration = Duration::from_secs(5);

/// After so long without a word the other side counts as lost.
pub const SILENCE: Duration = Duration::from_secs(60);

/// A message, as a line.
fn encode(what: &impl Serialize) -> Vec<u8> {
    // Nothing in it can fail: names are text, and so are all keys.
    let mut line = serde_json::to_vec(what).unwrap_or_default();
    line.push(b'\n');
    line
}

/// What a line from the other side says; in an error, why it cannot be understood.
fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    let mut value: Value = serde_json::from_slice(line)
        .map_err(|error| format!("it is not JSON: {:?} at {}", error.classify(), error.column()))?;
    harmless(&mut value);
    serde_json::from_value(value).map_err(|error| harmless_text(&error.to_string()))
}

/// Frees all texts of control characters, which could pass for output of plimsoll.
fn harmless(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => *text = harmless_text(text),
        Value::Array(values) => values.iter_mut().for_each(harmless),
        Value::Object(map) => map.values_mut().for_each(harmless),
        _ => {}
    }
}

fn harmless_text(text: &str) -> String {
    let harmless = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    text.chars().take(MOST_TEXT).map(harmless).collect()
}

/// Letters of a text with control characters that are kept.
const MOST_TEXT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_the_fuzz_targets_are_understood() {
        let seeds = include_str!("../../../../fuzz/corpus/runner_replies/all");
        for line in seeds.lines() {
            let reply = Reply::from_line(line.as_bytes()).unwrap_or_else(|e| panic!("{e}: {line}"));
            let said = reply.to_line();
            assert_eq!(Reply::from_line(&said[..said.len() - 1]), Ok(reply));
        }
        let seeds = include_str!("../../../../fuzz/corpus/runner_requests/all");
        for line in seeds.lines() {
            Request::from_line(line.as_bytes()).unwrap_or_else(|e| panic!("{e}: {line}"));
        }
        fuzzing::requests(seeds.as_bytes());
    }

    #[test]
    fn passwords_travel_whole_and_are_shown_nowhere() {
        let password = "hun\u{1b}ter\n2\"\\";
        let request = Request::Password { password: Secret(password.into()) };
        let line = request.to_line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        let Ok(Request::Password { password: Secret(taken) }) =
            Request::from_line(&line[..line.len() - 1])
        else {
            panic!("understood");
        };
        assert_eq!(taken.reveal(), password);
        assert!(!format!("{request:?}").contains("ter"));
        let broken = Request::from_line(b"{\"request\":\"password\",\"password\":[\"hunter2\"]}");
        assert!(!broken.unwrap_err().contains("hunter2"));
    }

    #[test]
    fn words_of_a_host_are_harmless() {
        let line = br#"{"reply":"failed","failure":{"cause":"trial","tried":"\u001b[2J","on":"a\nb","happened":"","next":""}}"#;
        let Ok(Reply::Failed { failure }) = Reply::from_line(line) else { panic!("a failure") };
        assert_eq!((&*failure.tried, &*failure.on), ("\u{fffd}[2J", "a\nb"));
        let nonsense = Reply::from_line(b"{\"reply\":\"\\u001b[2J\"}").unwrap_err();
        assert!(!nonsense.contains('\u{1b}'), "{nonsense}");
    }
}
