//! One setting of a host, and commands that read and change it.

use crate::Scope;
use plimsoll_model::{Cause, Failure, Switch};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::last_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What any one step on a host may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Before every command: daemons lie where the search path of ordinary users does not lead.
pub(crate) const BEGIN: &str =
    "LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH";

/// Longest level and longest name of a setting, in bytes.
pub(crate) const LONGEST: usize = 512;

/// One setting of a host.
pub trait Knob: Send + Sync {
    /// Its name as the user gives it, in its one canonical form: [`knob`](crate::knob) makes the same of it.
    fn name(&self) -> String;

    /// What changing it takes. Only a setting that needs a restart says so.
    fn switch(&self) -> Switch {
        Switch::Live
    }

    /// What of a host it belongs to.
    fn scope(&self) -> Scope {
        Scope::Host
    }

    /// Whether this can be a level of it, and why not; the host is not asked.
    fn check(&self, level: &str) -> Result<(), String>;

    /// Whether this can have come from [`Knob::read`]; journals are bytes from outside.
    fn check_original(&self, original: &Original) -> Result<(), String>;

    /// The levels that the host lists, where it lists them. It may take more, as a kernel that loads a
    /// module for one: others are tried before a study begins. Nothing: each of them is.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        None
    }

    /// What it is now.
    fn read(&self, host: &dyn Reach) -> Result<Found, Failure>;

    /// Whether the host would take a level, as far as can be told without a change.
    fn check_on(&self, _: &dyn Reach, _: &Original, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    /// Sets it to a level. What was found before the first change is `original`.
    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure>;

    /// Fails unless the level is in effect: the host may have refused, clamped or changed it.
    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure>;

    /// Puts back what was found and verifies that it is in effect. Undoing what is undone already
    /// does nothing, but fails where undoing would.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure>;

    /// A line of POSIX shell that undoes it, for settings whose change may cut the link.
    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        None
    }

    /// Whether it is `now` as it was found. What undoing takes may hold more than the setting itself,
    /// such as other settings of a server that has to be started again.
    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        original == now
    }
}

/// What a host had before a setting of it was changed: all that undoing takes, by keys of the
/// knob's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Original(pub BTreeMap<String, String>);

impl Original {
    /// Value of a key; an empty text if it has none.
    pub fn value(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// Values of several keys.
    pub fn values<const N: usize>(&self, keys: [&str; N]) -> [&str; N] {
        keys.map(|key| self.value(key))
    }
}

/// A setting as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its level, in the words that [`Knob::apply`] takes where it has one.
    pub level: String,
    /// What undoing takes.
    pub original: Original,
}

/// For settings of which a host has one alone.
pub(crate) fn alone(rest: &str, knob: impl Knob + 'static) -> Result<Box<dyn Knob>, String> {
    match rest {
        "" => Ok(Box::new(knob)),
        _ => Err("its name is incomplete".into()),
    }
}

/// Runs a command on a host; what it wrote, which must be text.
pub(crate) fn command(
    host: &dyn Reach,
    tried: &str,
    text: &str,
    input: &[u8],
) -> Result<String, Failure> {
    let failed = |happened: String| {
        let next = "To change settings, plimsoll needs root on the host, and a kernel with these \
            settings.";
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    };
    let output = host.run(&format!("{BEGIN}; {text}"), input, PATIENCE)?;
    if output.status != Some(0) {
        let why = last_line(&output.errors);
        return Err(failed(why.unwrap_or_else(|| "the command failed without a message".into())));
    }
    if output.cut {
        return Err(failed("its output is too long".into()));
    }
    String::from_utf8(output.output).map_err(|_| failed("its output is not text".into()))
}
