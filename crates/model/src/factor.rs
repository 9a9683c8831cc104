//! Settings that a study changes and restores: factors and their levels.

use crate::HostName;
use serde::{Deserialize, Serialize};

/// The setting of all rules of a host's packet filter.
pub const RULESET: &str = "nft-ruleset";
/// The setting of a flowtable that forwards known flows.
pub const FLOWTABLE: &str = "flowtable";

/// The setting of a host whose levels say whether it tracks the connections of forwarded packets.
pub const CONNTRACK: &str = "conntrack";

/// A setting of a host that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The setting: `sysctl:net.ipv4.tcp_congestion_control`, `export-sync:/srv/data`.
    pub name: String,
    /// The host that it is set on.
    pub host: HostName,
    /// Its levels; at least one.
    pub levels: Vec<FactorLevel>,
    /// Interruption by a change.
    pub switch: Switch,
}

/// One level of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "level")]
pub enum FactorLevel {
    /// As it was before the study.
    AsFound,
    /// Set to this.
    Set {
        /// The value, as the user wrote it.
        value: String,
    },
}

impl std::fmt::Display for FactorLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FactorLevel::AsFound => f.write_str("as found"),
            FactorLevel::Set { value } => f.write_str(value),
        }
    }
}

/// A setting that a plan defines by lines of POSIX shell, which run on the factor's host. `LEVEL` holds the level
/// there, and `FOUND` what was read before the first change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commands {
    /// Command that prints the current value. The setting is restored when this prints the old
    /// value again.
    pub read: String,
    /// Sets it to `$LEVEL`.
    pub apply: String,
    /// Sets it to what `$FOUND` says.
    pub undo: String,
    /// Fails unless `$LEVEL` is in effect; without it, what `read` prints must be the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// Interruption by a change.
    pub switch: Switch,
}

/// Interruption by a change of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Nothing is interrupted: levels are shuffled within blocks.
    Live,
    /// Something restarts: a block goes through the levels one after the other, as whole plots
    /// (method, section 4).
    Restart,
}

/// A reboot of a host before each whole plot, which every setting is of then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reboot {
    /// The host.
    pub host: HostName,
    /// The line of POSIX shell that reboots it; without one the usual way: `reboot`, and the power of a lab's
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Longest time until it works again, in seconds.
    pub within_seconds: f64,
}

impl Factor {
    /// Its name for tables: of a kernel's setting the last part, `tcp_congestion_control`.
    pub fn short_name(&self) -> &str {
        let last = self.name.strip_prefix("sysctl:").and_then(|name| name.rsplit('.').next());
        last.unwrap_or(&self.name)
    }
}

/// The level of each factor under a setting in words: `tcp_congestion_control=bbr`.
pub fn words(factors: &[Factor], setting: u16) -> Vec<String> {
    let word = |(factor, level): (&Factor, usize)| {
        let level = factor.levels.get(level).map_or_else(String::new, ToString::to_string);
        format!("{}={level}", factor.short_name())
    };
    factors.iter().zip(levels(factors, setting)).map(word).collect()
}

/// The settings of all factors together, as one number: the first factor counts fastest.
pub fn setting(factors: &[Factor], levels: &[usize]) -> u16 {
    let (mut number, mut unit) = (0, 1);
    for (factor, level) in factors.iter().zip(levels) {
        number += level * unit;
        unit *= factor.levels.len().max(1);
    }
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The level of each factor under a setting.
pub fn levels(factors: &[Factor], setting: u16) -> Vec<usize> {
    let mut rest = usize::from(setting);
    factors
        .iter()
        .map(|factor| {
            let count = factor.levels.len().max(1);
            let level = rest % count;
            rest /= count;
            level
        })
        .collect()
}

/// How many settings there are; 1 without factors.
pub fn settings(factors: &[Factor]) -> usize {
    factors.iter().fold(1_usize, |all, factor| all.saturating_mul(factor.levels.len().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbered_by_their_levels() {
        let factor = |count| Factor {
            name: "x".into(),
            host: HostName::Local,
            levels: vec![FactorLevel::AsFound; count],
            switch: Switch::Live,
        };
        let factors = [factor(2), factor(3), factor(2)];
        assert_eq!(settings(&factors), 12);
        for number in 0..12 {
            assert_eq!(setting(&factors, &levels(&factors, number)), number);
        }
        assert_eq!(levels(&factors, 9), [1, 1, 1]);
        assert_eq!((settings(&[]), setting(&[], &[])), (1, 0));
    }

    #[test]
    fn settings_have_words() {
        let factor = |name: &str, value: &str| Factor {
            name: name.into(),
            host: HostName::Local,
            levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: value.into() }],
            switch: Switch::Live,
        };
        let factors = [factor("sysctl:net.core.rmem_max", "1"), factor("export-sync:/srv/x", "on")];
        assert_eq!(words(&factors, 1), ["rmem_max=1", "export-sync:/srv/x=as found"]);
        assert_eq!(words(&factors, 2), ["rmem_max=as found", "export-sync:/srv/x=on"]);
    }
}
