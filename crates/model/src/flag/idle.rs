//! When something was seen in idle windows: that before the first block, and the short ones between blocks.

use super::Flag;
use crate::units;
use serde::{Deserialize, Serialize};

/// Later windows whose time is kept.
const KEPT: usize = 100;

/// The idle windows in which something was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleWindows {
    /// Whether it was seen in the window before the load began.
    pub before: bool,
    /// The later windows in which it was seen: seconds from the begin of the study.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later_seconds: Vec<f64>,
}

/// Earlier versions kept no time.
impl Default for IdleWindows {
    fn default() -> Self {
        IdleWindows { before: true, later_seconds: Vec::new() }
    }
}

impl IdleWindows {
    /// One window between blocks, so many seconds after the study began.
    pub fn later(seconds: f64) -> IdleWindows {
        IdleWindows { before: false, later_seconds: vec![seconds] }
    }

    /// Whether there is nothing to keep: the window before the load began alone.
    pub(super) fn is_first(&self) -> bool {
        *self == IdleWindows::default()
    }

    /// "before the load began", "in an idle window 12 min into the study".
    pub(super) fn words(&self) -> String {
        let into = units::duration;
        match (self.before, &self.later_seconds[..]) {
            (true, []) => "before the load began".to_owned(),
            (false, []) => "in an idle window".to_owned(),
            (true, later) => {
                format!("before the load began and in {} later idle windows", later.len())
            }
            (false, [one]) => format!("in an idle window {} into the study", into(*one)),
            (false, [first, .., last]) => format!(
                "in {} idle windows between {} and {} into the study",
                self.later_seconds.len(),
                into(*first),
                into(*last)
            ),
        }
    }
}

impl Flag {
    /// When it was seen, if it is of idle windows.
    fn windows(&mut self) -> Option<&mut IdleWindows> {
        match self {
            Flag::BusyBaseline { windows, .. }
            | Flag::OtherTraffic { windows, .. }
            | Flag::BusyProcess { windows, .. }
            | Flag::BusyRaid { windows, .. } => Some(windows),
            _ => None,
        }
    }

    /// Says of a flag of an idle window that this was a later one.
    #[must_use]
    pub fn in_later_window(mut self, seconds: f64) -> Flag {
        if let Some(windows) = self.windows() {
            *windows = IdleWindows::later(seconds);
        }
        self
    }

    /// Takes in what a later window showed of the same: the windows are counted, and the largest figure stays.
    /// `false` where it is about something else.
    pub fn seen_again(&mut self, mut later: Flag) -> bool {
        let larger = |known: &mut f64, new: f64| *known = known.max(new);
        let same = match (&mut *self, &later) {
            (
                Flag::BusyBaseline { host, busy, .. },
                Flag::BusyBaseline { host: of, busy: new, .. },
            ) if host == of => {
                larger(busy, *new);
                true
            }
            (
                Flag::OtherTraffic { host, bytes_per_second, .. },
                Flag::OtherTraffic { host: of, bytes_per_second: new, .. },
            ) if host == of => {
                larger(bytes_per_second, *new);
                true
            }
            (
                Flag::BusyProcess { host, process, cores, .. },
                Flag::BusyProcess { host: of, process: name, cores: new, .. },
            ) if host == of && process == name => {
                larger(cores, *new);
                true
            }
            (Flag::BusyRaid { host, .. }, Flag::BusyRaid { host: of, .. }) => host == of,
            _ => false,
        };
        if same && let (Some(known), Some(new)) = (self.windows(), later.windows()) {
            known.before |= new.before;
            let room = KEPT.saturating_sub(known.later_seconds.len());
            known.later_seconds.extend(new.later_seconds.drain(..).take(room));
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;

    fn traffic(bytes_per_second: f64) -> Flag {
        let (host, windows) = (HostName::by_ssh("nas").unwrap(), IdleWindows::default());
        Flag::OtherTraffic { host, bytes_per_second, windows }
    }

    #[test]
    fn a_later_window_is_never_called_before_the_load() {
        let first = traffic(2e6);
        assert!(first.message().ends_with("(before the load began)"), "{}", first.message());
        let mut later = traffic(3e6).in_later_window(720.0);
        assert_eq!(
            later.message(),
            "Figures may be too low: 3.00 MB/s of other network traffic on ssh://nas (in an idle window 12 min into the study)"
        );
        assert!(later.seen_again(traffic(5e6).in_later_window(1200.0)));
        let said = later.message();
        assert!(said.contains(": 5.00 MB/s"), "the most of all: {said}");
        assert!(
            said.ends_with("in 2 idle windows between 12 min and 20 min into the study)"),
            "{said}"
        );
        let mut first = first;
        assert!(first.seen_again(later));
        assert!(first.message().ends_with("before the load began and in 2 later idle windows)"));
        let other = Flag::OtherTraffic {
            host: HostName::Local,
            bytes_per_second: 1e6,
            windows: IdleWindows::default(),
        };
        assert!(!first.seen_again(other), "of another host");
        // Studies of older versions have no times.
        let old = r#"{"flag":"other_traffic","host":"ssh://nas","bytes_per_second":2e6}"#;
        let old: Flag = serde_json::from_str(old).unwrap();
        assert_eq!(old, traffic(2e6));
        assert!(!serde_json::to_string(&old).unwrap().contains("windows"));
    }
}
