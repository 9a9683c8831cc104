//! Connection tracking of what a router forwards: left as it is, or off by a table of rules of plimsoll's own.
//!
//! What the host itself receives stays tracked, so that rules which let in the answers of its own connections do. Rules
//! that let forwarded connections through by their state, and address translation, see no connection: a timer on the
//! host removes the table if the link is cut.

use super::{Found, Knob, Original, Scope, alone, command};
use crate::reach::Reach;
use plimsoll_model::{Cause, Failure, Switch};

/// What stands for it.
pub(super) const KIND: &str = "conntrack";

/// The levels.
const TRACKED: &str = "tracked";
const UNTRACKED: &str = "untracked";

/// Name of the table, which nobody else has.
const TABLE: &str = "plimsoll_untracked";

/// The table in the words of nft(8). `raw` comes before the tracking.
const RULES: &str = "table inet plimsoll_untracked {
    chain forwarded {
        type filter hook prerouting priority raw; policy accept;
        fib daddr type local accept
        notrack
    }
}
";

/// Removes the table; nothing if it is not there.
const REMOVE: &str = "! nft list table inet plimsoll_untracked >/dev/null 2>&1 || \
                      nft delete table inet plimsoll_untracked";

/// Key of an [`Original`]: whether the table was there.
const KEY: &str = "table";
const ABSENT: &str = "absent";

#[derive(Debug)]
struct Conntrack;

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Conntrack)
}

impl Conntrack {
    /// Whether the table is there.
    fn is_off(&self, host: &dyn Reach) -> Result<bool, Failure> {
        let tables = command(host, "list the packet filter's tables", "nft list tables", b"")?;
        Ok(tables.lines().any(|line| line.trim() == format!("table inet {TABLE}")))
    }

    fn expect(&self, host: &dyn Reach, off: bool) -> Result<(), Failure> {
        if self.is_off(host)? == off {
            return Ok(());
        }
        let happened = match off {
            true => "the kernel does not list the rules that turn it off",
            false => "the kernel still lists the rules that turn it off",
        };
        let next = "Check nft list tables on the host: another program may set rules.";
        Err(Failure::new(Cause::Trial, format!("set {KIND}"), host.name(), happened, next))
    }
}

impl Knob for Conntrack {
    fn name(&self) -> String {
        KIND.to_owned()
    }

    fn switch(&self) -> Switch {
        Switch::Live
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match [TRACKED, UNTRACKED].contains(&level) {
            true => Ok(()),
            false => Err(format!("it is neither {TRACKED} nor {UNTRACKED}")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        match original.0.get(KEY).map(String::as_str) {
            Some(ABSENT) if original.0.len() == 1 => Ok(()),
            _ => Err("it does not say that the table was absent".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        if self.is_off(host)? {
            let happened = format!("the table inet {TABLE} is there, which only plimsoll makes");
            let next = format!("Remove it: nft delete table inet {TABLE}.");
            let tried = "read the connection tracking";
            return Err(Failure::new(Cause::NotPermitted, tried, host.name(), happened, next));
        }
        let original = Original([(KEY.to_owned(), ABSENT.to_owned())].into());
        Ok(Found { level: TRACKED.to_owned(), original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        let tried = "set the connection tracking";
        match level {
            // Twice the same table would have twice the rules.
            UNTRACKED => {
                command(host, tried, &format!("{REMOVE}; nft -f -"), RULES.as_bytes()).map(drop)
            }
            _ => command(host, tried, REMOVE, b"").map(drop),
        }
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        self.expect(host, level == UNTRACKED)
    }

    fn undo(&self, host: &dyn Reach, _: &Original) -> Result<(), Failure> {
        command(host, "put the connection tracking back", REMOVE, b"")?;
        self.expect(host, false)
    }

    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        Some(REMOVE.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_originals() {
        let knob = make("").unwrap();
        for level in [TRACKED, UNTRACKED] {
            knob.check(level).unwrap();
        }
        for level in ["", "off", "notrack", "tracked "] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        let of = |pairs: &[(&str, &str)]| {
            Original(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        knob.check_original(&of(&[(KEY, ABSENT)])).unwrap();
        for bad in [of(&[]), of(&[(KEY, "present")]), of(&[(KEY, ABSENT), ("more", "")])] {
            assert!(knob.check_original(&bad).is_err(), "{bad:?}");
        }
        assert!(RULES.contains(TABLE) && REMOVE.matches(TABLE).count() == 2);
        assert!(make("x").is_err());
    }
}
