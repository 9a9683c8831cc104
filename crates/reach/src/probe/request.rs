//! What the probe is asked for.

use super::frame::LONGEST_TO_PROBE;
use plimsoll_model::{Cause, Failure};
use std::fmt::{self, Display, Write};
use std::time::Duration;

/// A verb with its settings (probe/README.md has both).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    verb: &'static str,
    settings: Vec<(&'static str, String)>,
    limit: Duration,
}

impl Request {
    /// A request whose settings are the probe's own defaults and which ends after ten minutes.
    pub fn new(verb: &'static str) -> Self {
        Request { verb, settings: Vec::new(), limit: Duration::from_secs(600) }
    }

    /// Sets a key. `path` of the inventory may be set several times.
    #[must_use]
    pub fn set(mut self, key: &'static str, value: impl Display) -> Self {
        self.settings.push((key, value.to_string()));
        self
    }

    /// The longest that the verb may take, in whole seconds, at least one.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Duration::from_secs(limit.as_secs().max(1));
        self
    }

    /// The longest that the verb may take.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// The verb.
    pub fn verb(&self) -> &'static str {
        self.verb
    }

    /// The body of the frame.
    ///
    /// # Errors
    /// [`Cause::Usage`] where a value holds what the protocol cannot carry, or is too long.
    pub(super) fn encode(&self) -> Result<Vec<u8>, Failure> {
        let refused = |key: &str, happened: &str| {
            let next = "Name a shorter path without line breaks.";
            Failure::new(Cause::Usage, format!("request {}", self.verb))
                .on(key)
                .happened(happened)
                .next(next)
        };
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.verb);
        for (key, value) in &self.settings {
            if value.contains(['\n', '\0']) {
                return Err(refused(key, "its value holds a line break or a zero byte"));
            }
            let _ = writeln!(text, "{key}={value}");
        }
        let _ = writeln!(text, "limit_seconds={}", self.limit.as_secs());
        if text.len() > LONGEST_TO_PROBE {
            return Err(refused("its settings", "they exceed the length of a request"));
        }
        Ok(text.into_bytes())
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_lines() {
        let request = Request::new("cpu").set("duration_ms", 1000).within(Duration::from_secs(9));
        assert_eq!(request.encode().unwrap(), b"cpu\nduration_ms=1000\nlimit_seconds=9\n");
        assert_eq!(request.limit(), Duration::from_secs(9));
    }

    #[test]
    fn a_value_cannot_smuggle_in_a_setting() {
        for path in ["/a\nsize_bytes=1", "/a\0b"] {
            let failure = Request::new("disk").set("path", path).encode().unwrap_err();
            assert_eq!(failure.cause, Cause::Usage);
            assert_eq!(failure.on, "path");
        }
        let long = "x".repeat(LONGEST_TO_PROBE);
        assert!(Request::new("disk").set("path", long).encode().is_err());
    }
}
