//! What there is to say of a flag, and phrases that several flags use.

use crate::HostName;
use crate::flag::Severity;
use crate::units::{Bytes, GIB, MIB};

/// What there is to say of a flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// How much it explains.
    pub severity: Severity,
    /// The effect on the figures, then the cause: a sentence without its full stop.
    pub text: String,
    /// Further facts, for the details; may be empty.
    pub details: String,
    /// What to do: a sentence that is short enough for a screen; may be empty.
    pub action: String,
    /// The same at length, for the details; empty where `action` says all.
    pub(super) advice: String,
    /// The observation without its effect, for tables of exports; empty where the text is that.
    pub(super) fact: String,
}

impl Words {
    pub(super) fn new(severity: Severity, text: impl Into<String>) -> Words {
        Words {
            severity,
            text: text.into(),
            details: String::new(),
            action: String::new(),
            advice: String::new(),
            fact: String::new(),
        }
    }

    pub(super) fn details(self, details: impl Into<String>) -> Words {
        Words { details: details.into(), ..self }
    }

    pub(super) fn action(self, action: impl Into<String>) -> Words {
        Words { action: action.into(), ..self }
    }

    pub(super) fn advice(self, advice: impl Into<String>) -> Words {
        Words { advice: advice.into(), ..self }
    }

    pub(super) fn fact(self, fact: impl Into<String>) -> Words {
        Words { fact: fact.into(), ..self }
    }
}

/// Begin of what disturbs a study.
pub(super) const LOW: &str = "Figures may be too low";
pub(super) const RUN_AGAIN: &str = "Stop this load, then run again.";
/// The user that stands for nobody: -2 in 16 bits, as in Linux, or in 32.
pub(super) const NOBODY: [u32; 2] = [65_534, u32::MAX - 1];

/// "1 operation", "2 operations".
pub(super) fn operations(count: u64) -> String {
    format!("{count} operation{}", if count == 1 { "" } else { "s" })
}

/// A host in words.
pub(super) fn place(host: &HostName) -> String {
    match host {
        HostName::Local => "this machine".to_owned(),
        other => other.to_string(),
    }
}

/// With a capital letter, unless it is an address.
pub(super) fn capital(name: &str) -> String {
    match name.strip_prefix("this") {
        Some(rest) => format!("This{rest}"),
        None => name.to_owned(),
    }
}

/// As an option takes it: "4GiB".
pub(super) fn close(size: Bytes) -> String {
    size.to_string().replace(' ', "")
}

/// A size of at least so much that can be read, as an option takes it: "48GiB" where a host has 23.54 GiB of memory.
pub(super) fn at_least(size: Bytes) -> String {
    let steps = [GIB, 64 * MIB, MIB];
    let step = steps.into_iter().find(|step| size.0 >= 8 * step).unwrap_or(1);
    close(Bytes(size.0.checked_next_multiple_of(step).unwrap_or(size.0)))
}

/// The command that removes leftovers.
pub(super) fn clean(on: Option<&str>, target: &str) -> String {
    let on = on.map_or_else(String::new, |host| format!("--on {host} "));
    format!("plimsoll clean {on}'{target}'")
}

/// A time to plan with: "3 min", "2 h".
pub(super) fn minutes(seconds: f64) -> String {
    if seconds < 5400.0 {
        format!("{:.0} min", (seconds / 60.0).ceil())
    } else {
        format!("{:.0} h", (seconds / 3600.0).ceil())
    }
}
