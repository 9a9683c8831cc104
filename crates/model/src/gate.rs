//! Gates: conditions under which a study fails, compared with earlier studies of the same subject.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Comparison of a study with earlier ones, and what makes it fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Latest study of the baseline: its id, or `last` for the latest of the same subject.
    pub baseline: String,
    /// Conditions; may be empty: then nothing fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<GateCondition>,
}

impl Gate {
    /// Baseline that ends with the latest study of the same subject.
    pub const LAST: &str = "last";
}

/// Condition of a gate, written as `read<-10%` or `elapsed>+20%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateCondition {
    /// Word in the name of the work that it is about: "read", "random-write"; "all" for all work.
    pub work: String,
    /// Which way it fails.
    pub fails: GateSide,
    /// Change as a share of the baseline, above 0.
    pub share: f64,
}

/// Side on which a condition fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateSide {
    /// A figure that is lower by more than the share.
    Below,
    /// A figure that is higher by more than the share.
    Above,
}

impl GateCondition {
    /// Word of all work.
    pub const ALL: &str = "all";

    /// Whether it is about work of this kind and title: the kind itself, or words that the title has in a row.
    pub fn is_about(&self, kind: &str, title: &str) -> bool {
        let words = |text: &str| {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect::<Vec<_>>()
        };
        let asked = words(&self.work);
        let has = |text: &str| words(text).windows(asked.len().max(1)).any(|some| some == asked);
        self.work == GateCondition::ALL || has(kind) || has(title)
    }
}

/// Smallest change of a condition: 0.01%.
const LEAST_SHARE: f64 = 1e-4;

impl FromStr for GateCondition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let condition = || {
            let at = text.find(['<', '>'])?;
            let (work, bound) = text.split_at(at);
            let (fails, number) = match bound.split_at(1) {
                ("<", number) => (GateSide::Below, number.trim().strip_prefix('-')?),
                (_, number) => {
                    let number = number.trim();
                    (GateSide::Above, number.strip_prefix('+').unwrap_or(number))
                }
            };
            let share = number.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0;
            let most = match fails {
                GateSide::Below => 0.9999,
                GateSide::Above => 100.0,
            };
            let is_possible = (LEAST_SHARE..=most).contains(&share);
            let work = work.trim().to_owned();
            let has_word = work.chars().any(char::is_alphanumeric) && work.len() <= 64;
            (is_possible && has_word).then_some(GateCondition { work, fails, share })
        };
        condition().ok_or_else(|| {
            format!(
                "'{text}' is not a condition; write read<-10% (fails if a read is more than 10% slower), or \
                 update>+20% for a time"
            )
        })
    }
}

impl fmt::Display for GateCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.fails {
            GateSide::Below => "<-",
            GateSide::Above => ">+",
        };
        // Not 30.000000000000004%.
        let percent = (1e8 * self.share).round() / 1e6;
        write!(f, "{}{sign}{percent}%", self.work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn conditions_are_read_and_written() {
        for text in ["read<-10%", "random-write<-2.5%", "update>+20%", "all<-30%"] {
            assert_eq!(text.parse::<GateCondition>().unwrap().to_string(), text);
        }
        assert_eq!("up > 20 %".parse::<GateCondition>().unwrap().to_string(), "up>+20%");
        for text in [
            "",
            "read",
            "read<10%",
            "read<-0%",
            "read<-100%",
            "read<-x%",
            "<-10%",
            "read<-10",
            "-<-1%",
            "read=-10%",
            "read<-nan%",
            "read>-5%",
            "read>inf%",
        ] {
            let refused = text.parse::<GateCondition>().unwrap_err();
            assert!(refused.contains("read<-10%"), "{text}: {refused}");
        }
    }

    #[test]
    fn words_choose_work() {
        let about = |word: &str, kind: &str, title: &str| {
            let condition = GateCondition { work: word.into(), fails: GateSide::Below, share: 0.1 };
            condition.is_about(kind, title)
        };
        assert!(about("read", "sequential-read", "sequential read"));
        assert!(about("sequential-read", "sequential-read", "sequential read"));
        assert!(!about("random-read", "sequential-read", "sequential read"));
        assert!(!about("rea", "sequential-read", "sequential read"), "whole words");
        assert!(about("all", "scan", "scan") && !about("write", "scan", "scan"));
        assert!(about("Pictures up", "copy", "pictures up, as rsync"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            if let Ok(condition) = text.parse::<GateCondition>() {
                let again: GateCondition = condition.to_string().parse().unwrap();
                prop_assert_eq!(again.to_string(), condition.to_string());
            }
        }
    }
}
