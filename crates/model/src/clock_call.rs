//! Clocks of hosts as subjects: the time that a call of clock_gettime takes.

use crate::job::{JobFacts, Settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::subject_info::{FactsInfo, KindInfo, SubjectInfo, SubjectType};
use crate::{HostName, Measure, Metric, NamedBottleneck, SubjectKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of the time of a bare system call from which a call is one. Chosen: in the vDSO a call takes a tenth to a half
/// of it, and the C library adds a few nanoseconds to both.
const LEAST_OF_SYSTEM_CALL: f64 = 0.7;

/// The clocks of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockSubject {
    /// The host.
    pub host: HostName,
}

impl SubjectType for ClockSubject {
    const INFO: KindInfo = KindInfo {
        noun: "the clocks of a host",
        plural: "Clocks",
        title: Some("Clocks"),
        measured_by: "plimsoll clock",
        is_continued: true,
        has_inventory: false,
        has_typical_length: false,
        has_many_figures: false,
        single_block: None,
        measures: &[&MEASURES],
    };
}

impl SubjectInfo for ClockSubject {
    fn hosts(&self) -> Vec<&HostName> {
        vec![&self.host]
    }

    fn short_name(&self) -> String {
        self.host.name().to_owned()
    }
}

impl fmt::Display for ClockSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.host, f)
    }
}

/// Facts of the clocks of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The host as the user wrote it.
    pub given: String,
    /// Clock source of the kernel: "tsc".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Model of the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
}

impl FactsInfo for ClockFacts {
    fn described(&self) -> Vec<(&'static str, String)> {
        let source = self.source.as_ref().map(|source| format!("clock source {source}"));
        let cpu = self.cpu.clone();
        vec![("kernel", source.unwrap_or_default()), ("CPU", cpu.unwrap_or_default())]
    }

    fn model(&self) -> Option<&str> {
        self.cpu.as_deref()
    }

    /// The entry into the kernel if a call takes about as long as a bare system call; else the code of the vDSO.
    fn bottleneck(&self, figure: &dyn Fn(Measure) -> Option<f64>) -> Option<NamedBottleneck> {
        let (call, system_call) = (figure(ClockJob::CALL)?, figure(ClockJob::SYSTEM_CALL)?);
        if !(call > 0.0 && system_call > 0.0) {
            return None;
        }
        if call < LEAST_OF_SYSTEM_CALL * system_call {
            return Some(NamedBottleneck { name: "vDSO", share: None, reason: String::new() });
        }
        let source = self.source.as_ref().map(|source| format!("; clock source: {source}"));
        let reason = format!("The kernel reads it, not the vDSO{}.", source.unwrap_or_default());
        let share = Some((system_call / call).min(1.0));
        Some(NamedBottleneck { name: "system call", share, reason })
    }

    fn changes(&self, now: &Self) -> Vec<String> {
        let changed = |fact: &str, old: &Option<String>, new: &Option<String>| match (old, new) {
            (Some(old), Some(new)) if old != new => Some(format!("{fact}: {old}, now {new}")),
            _ => None,
        };
        let source = changed("clock source", &self.source, &now.source);
        source.into_iter().chain(changed("CPU", &self.cpu, &now.cpu)).collect()
    }
}

/// A clock of clock_gettime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockId {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// CLOCK_REALTIME.
    Realtime,
    /// CLOCK_PROCESS_CPUTIME_ID.
    ProcessCpu,
}

impl ClockId {
    /// Name in requests to the probe.
    pub fn name(self) -> &'static str {
        match self {
            ClockId::Monotonic => "monotonic",
            ClockId::Realtime => "realtime",
            ClockId::ProcessCpu => "process_cpu",
        }
    }
}

/// Reads a clock over and over on each core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJob {
    /// The clock.
    pub clock: ClockId,
}

impl ClockJob {
    /// Time of a call through the C library, which may read the clock in the vDSO.
    pub const CALL: Measure = Measure::own("clock_call_seconds");
    /// Time of the same call as a bare system call.
    pub const SYSTEM_CALL: Measure = Measure::own("clock_system_call_seconds");
}

/// Cores make different numbers of calls.
const MEASURES: [Row; 2] = [
    (ClockJob::CALL, "s", "", Direction::Less, Aggregation::Geometric, Combine::WeightedMean),
    (
        ClockJob::SYSTEM_CALL,
        "s",
        "",
        Direction::Less,
        Aggregation::Geometric,
        Combine::WeightedMean,
    ),
];

impl JobFacts for ClockJob {
    fn kind(&self) -> &'static str {
        match self.clock {
            ClockId::Monotonic => "clock-monotonic",
            ClockId::Realtime => "clock-realtime",
            ClockId::ProcessCpu => "clock-process-cpu",
        }
    }

    fn title(&self) -> String {
        match self.clock {
            ClockId::Monotonic => "monotonic clock",
            ClockId::Realtime => "realtime clock",
            ClockId::ProcessCpu => "process CPU clock",
        }
        .to_owned()
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Clock
    }

    fn headline(&self) -> Metric {
        Metric::all(self.speed())
    }

    fn speed(&self) -> Measure {
        ClockJob::CALL
    }

    fn moves_payload(&self) -> bool {
        false
    }

    fn settings(&self) -> Vec<String> {
        vec!["each core for itself".to_owned()]
    }

    fn settable(&self) -> Settable {
        Settable::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PathFacts, Subject, SubjectFacts};

    #[test]
    fn a_clock_is_one_line_of_a_study() {
        let clock = Subject::from(ClockSubject { host: "ssh://root@nas".parse().unwrap() });
        let text = serde_json::to_string(&clock).unwrap();
        assert_eq!(text, r#"{"subject":"clock","host":"ssh://root@nas"}"#);
        assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), clock);
        assert_eq!((clock.short_name().as_str(), clock.hosts().len()), ("nas", 1));
    }

    #[test]
    fn another_clock_source_is_a_change() {
        let with =
            |source: &str| ClockFacts { source: Some(source.to_owned()), ..ClockFacts::default() };
        assert_eq!(with("tsc").changes(&with("hpet")), ["clock source: tsc, now hpet"]);
        assert!(with("tsc").changes(&with("tsc")).is_empty());
        // An unknown fact is no change.
        assert!(ClockFacts::default().changes(&with("tsc")).is_empty());
        // The same of a subject of which only the kind is known; another kind is none.
        let [before, now] = ["tsc", "hpet"].map(|source| SubjectFacts::Clock(with(source)));
        assert_eq!(before.changes(&now), ["clock source: tsc, now hpet"]);
        assert!(before.changes(&SubjectFacts::Path(PathFacts::default())).is_empty());
    }

    #[test]
    fn a_call_as_long_as_a_system_call_is_one() {
        let facts = ClockFacts { source: Some("hpet".into()), ..ClockFacts::default() };
        let named = |call: f64, system_call: f64| {
            let figure =
                move |measure| Some(if measure == ClockJob::CALL { call } else { system_call });
            facts.bottleneck(&figure)
        };
        let found = named(1.0, 0.75).unwrap();
        assert_eq!((found.name, found.share), ("system call", Some(0.75)));
        assert_eq!(found.reason, "The kernel reads it, not the vDSO; clock source: hpet.");
        assert_eq!(named(1e-7, 1.2e-7).unwrap().share, Some(1.0));
        assert_eq!(named(2.5e-8, 1.2e-7).unwrap().name, "vDSO");
        assert_eq!(named(0.0, 1.2e-7), None);
        assert_eq!(facts.bottleneck(&|_| None), None);
    }

    #[test]
    fn cores_are_combined_by_their_calls() {
        let combine = ClockJob::CALL.info().unwrap().combine;
        assert_eq!(combine.apply([(0.25, 300.0), (0.5, 100.0)]), Some(0.3125));
    }
}
