//! Parts of the path of a packet through a router, and the chain of settings that switches them off one after the other.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Part of the path of a packet through a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathPart {
    /// Flows that pass the rules by (flowtable).
    Flowtable,
    /// Rules of the packet filter.
    Rules,
    /// Address translation.
    Nat,
    /// Connection tracking.
    Conntrack,
    /// Queueing discipline of the interface that sends.
    Qdisc,
    /// Generic receive offload of the interface that receives.
    Offload,
}

impl PathPart {
    /// All of them, in the order in which a chain switches them off: address translation needs connection tracking, and
    /// rules may add flows to a flowtable.
    pub const ALL: [PathPart; 6] = [
        PathPart::Flowtable,
        PathPart::Rules,
        PathPart::Nat,
        PathPart::Conntrack,
        PathPart::Qdisc,
        PathPart::Offload,
    ];
}

impl fmt::Display for PathPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathPart::Flowtable => "flowtable",
            PathPart::Rules => "rules",
            PathPart::Nat => "nat",
            PathPart::Conntrack => "conntrack",
            PathPart::Qdisc => "qdisc",
            PathPart::Offload => "offload",
        })
    }
}

/// Parts of a router's path that a study prices, with the settings that show the cost of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathParts {
    /// Setting that the router was found with.
    pub whole: u16,
    /// The same setting under another number: the A/A control.
    pub control: u16,
    /// Parts that are priced, in the order in which they are switched off.
    pub priced: Vec<PricedPart>,
    /// Parts that can be switched off while all parts before them stay: whether they are independent of those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<PartAlone>,
    /// Parts that are not priced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingPart>,
}

/// Part of a router's path that is switched off alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAlone {
    /// The part, which is priced, too.
    pub part: PathPart,
    /// Setting without it, and with all other parts.
    pub setting: u16,
}

/// Part of a router's path that is priced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricedPart {
    /// The part.
    pub part: PathPart,
    /// Setting with it.
    pub with: u16,
    /// Setting that differs by this part alone.
    pub without: u16,
}

/// Part of a router's path that is not priced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPart {
    /// The part.
    pub part: PathPart,
    /// Reason, as a clause.
    pub reason: String,
}

impl PathParts {
    /// Settings that are measured, each once.
    pub fn settings(&self) -> Vec<u16> {
        let of_parts = self.priced.iter().flat_map(|priced| [priced.with, priced.without]);
        let alone = self.alone.iter().map(|alone| alone.setting);
        let mut settings: Vec<u16> =
            [self.whole, self.control].into_iter().chain(of_parts).chain(alone).collect();
        settings.sort_unstable();
        settings.dedup();
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_two_steps_is_measured_once() {
        let priced = |part, with, without| PricedPart { part, with, without };
        let parts = PathParts {
            whole: 0,
            control: 1,
            priced: vec![
                priced(PathPart::Rules, 0, 2),
                priced(PathPart::Nat, 2, 3),
                priced(PathPart::Qdisc, 3, 8),
            ],
            alone: vec![PartAlone { part: PathPart::Qdisc, setting: 5 }],
            missing: Vec::new(),
        };
        assert_eq!(parts.settings(), [0, 1, 2, 3, 5, 8]);
    }
}
