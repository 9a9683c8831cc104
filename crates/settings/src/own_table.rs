//! Settings that are a table of nftables rules of plimsoll's own: as found without it, and with other rules at each
//! level.
//!
//! Such rules may cut the link to the host: a timer on the host removes the table then.

use super::{Found, Knob, Original, Scope, alone, command};
use plimsoll_model::{Cause, Failure, Switch};
use plimsoll_reach::Reach;

/// Key of an [`Original`]: whether the table was there.
const KEY: &str = "table";
const ABSENT: &str = "absent";

/// A setting of this sort.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTable {
    /// What stands for it.
    pub kind: &'static str,
    /// Name of the table, of the family `inet`. Nobody else has one of that name.
    pub table: &'static str,
    /// The level without the table.
    pub absent: &'static str,
    /// The levels with it, each with words that the kernel lists if it is in effect.
    pub levels: &'static [(&'static str, &'static str)],
    /// What the table holds at a level, in the words of nft(8).
    pub content: fn(&dyn Reach, &str) -> Result<String, Failure>,
    /// Fails where the host's own rules do the same.
    pub expect_free: fn(&dyn Reach) -> Result<(), Failure>,
}

impl OwnTable {
    pub(super) fn make(self, rest: &str) -> Result<Box<dyn Knob>, String> {
        alone(rest, self)
    }

    /// The table as the kernel lists it; empty if it is not there.
    fn listed(&self, host: &dyn Reach) -> Result<String, Failure> {
        let tables = command(host, "list the packet filter's tables", "nft list tables", b"")?;
        match tables.lines().any(|line| line.trim() == format!("table inet {}", self.table)) {
            false => Ok(String::new()),
            true => {
                let list = format!("nft list table inet {}", self.table);
                command(host, "list a table of the packet filter", &list, b"")
            }
        }
    }

    fn expect(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let listed = self.listed(host)?;
        let words = self.levels.iter().find(|(name, _)| *name == level).map(|(_, words)| *words);
        let happened = match words {
            None if listed.is_empty() => return Ok(()),
            Some(words) if listed.contains(words) => return Ok(()),
            None => format!("the kernel still lists the table inet {}", self.table),
            Some(_) => {
                format!("the kernel does not list the rules of the table inet {}", self.table)
            }
        };
        let next = "Check nft list ruleset on the host: another program may set rules.";
        Err(Failure::new(Cause::Trial, format!("set {}", self.kind))
            .on(host.name())
            .happened(happened)
            .next(next))
    }

    /// The table at a level, in the words of nft(8).
    fn rules(&self, host: &dyn Reach, level: &str) -> Result<String, Failure> {
        let content = (self.content)(host, level)?;
        Ok(format!("table inet {} {{\n{content}}}\n", self.table))
    }

    /// Removes the table; nothing if it is not there.
    fn removal(&self) -> String {
        let table = self.table;
        format!("! nft list table inet {table} >/dev/null 2>&1 || nft delete table inet {table}")
    }
}

impl Knob for OwnTable {
    fn name(&self) -> String {
        self.kind.to_owned()
    }

    fn switch(&self) -> Switch {
        Switch::Live
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let mut names: Vec<&str> = self.levels.iter().map(|(name, _)| *name).collect();
        names.insert(0, self.absent);
        match names.contains(&level) {
            true => Ok(()),
            false => Err(format!("it is not one of {}", names.join(", "))),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        match original.0.get(KEY).map(String::as_str) {
            Some(ABSENT) if original.0.len() == 1 => Ok(()),
            _ => Err("it does not say that the table was absent".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        if !self.listed(host)?.is_empty() {
            let table = self.table;
            let happened = format!("the table inet {table} exists, and only plimsoll creates it");
            let next = format!("Remove it: nft delete table inet {table}.");
            let tried = format!("read {}", self.kind);
            return Err(Failure::new(Cause::NotPermitted, tried)
                .on(host.name())
                .happened(happened)
                .next(next));
        }
        (self.expect_free)(host)?;
        let original = Original([(KEY.to_owned(), ABSENT.to_owned())].into());
        Ok(Found { level: self.absent.to_owned(), original })
    }

    /// nft checks rules without loading them.
    fn check_on(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        if level == self.absent {
            return Ok(());
        }
        let tried = format!("check whether {} can be {level}", self.kind);
        let rules = self.rules(host, level)?;
        command(host, &tried, "nft -c -f -", rules.as_bytes()).map(drop)
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        let tried = format!("set {} to {level}", self.kind);
        if level == self.absent {
            return command(host, &tried, &self.removal(), b"").map(drop);
        }
        let rules = self.rules(host, level)?;
        // Twice the same table would have twice the rules.
        let text = format!("{}; nft -f -", self.removal());
        command(host, &tried, &text, rules.as_bytes()).map(drop)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        self.expect(host, level)
    }

    fn undo(&self, host: &dyn Reach, _: &Original) -> Result<(), Failure> {
        command(host, &format!("restore {}", self.kind), &self.removal(), b"")?;
        self.expect(host, self.absent)
    }

    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        Some(self.removal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_originals() {
        let table = OwnTable {
            kind: "shade",
            table: "plimsoll_shade",
            absent: "off",
            levels: &[("light", "accept"), ("dark", "drop")],
            content: |_, _| Ok(String::new()),
            expect_free: |_| Ok(()),
        };
        let knob = table.make("").unwrap();
        for level in ["off", "light", "dark"] {
            knob.check(level).unwrap();
        }
        for level in ["", "on", "dark "] {
            assert_eq!(
                knob.check(level),
                Err("it is not one of off, light, dark".into()),
                "{level:?}"
            );
        }
        let original = |pairs: &[(&str, &str)]| {
            Original(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        knob.check_original(&original(&[(KEY, ABSENT)])).unwrap();
        for bad in
            [original(&[]), original(&[(KEY, "present")]), original(&[(KEY, ABSENT), ("more", "")])]
        {
            assert!(knob.check_original(&bad).is_err(), "{bad:?}");
        }
        assert!(table.make("x").is_err());
    }
}
