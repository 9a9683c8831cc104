//! Bytes through a network path, from one end to the other.

use super::{CannotSet, JobFacts, RateUnit, Settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::bytes_per_second;
use crate::{Measure, Metric, Parameter, SubjectKind};
use serde::{Deserialize, Serialize};

/// A stream over one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamJob {
    /// Connections side by side.
    pub connections: u16,
    /// Offered rate in bytes per second of payload; `None`: as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl StreamJob {
    /// Share of the sent data that did not arrive, 0 to 1.
    pub const LOSS: Measure = Measure::own("loss_ratio");
    /// Offered rate, in bytes per second of payload.
    pub const OFFERED: Measure = Measure::own("offered_bytes_per_second");
}

pub(super) const MEASURES: [Row; 2] = [
    (StreamJob::LOSS, "1", "", Direction::Less, Aggregation::Arithmetic, Combine::None),
    (StreamJob::OFFERED, "B/s", "", Direction::Neither, Aggregation::Geometric, Combine::None),
];

impl JobFacts for StreamJob {
    fn kind(&self) -> &'static str {
        "stream"
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Path
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::THROUGHPUT)
    }

    fn speed(&self) -> Measure {
        Measure::THROUGHPUT
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![match self.connections {
            1 => "1 connection".to_owned(),
            many => format!("{many} connections"),
        }];
        settings.extend(self.rate.map(|rate| format!("{} offered", bytes_per_second(rate))));
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let rate = self.rate.map(|rate| ("rate_bytes_per_second", rate.to_string()));
        let connections = ("connections", self.connections.to_string());
        [connections].into_iter().chain(rate).collect()
    }

    /// Pages name the workers of its part, beside its connections.
    fn settable(&self) -> Settable {
        Settable { rate: Some(RateUnit::Bytes), ..Settable::OF_WORKERS }
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Rate if value > 0.0 => self.rate = Some(value).filter(|r| r.is_finite()),
            Parameter::Rate => return Err(CannotSet::Value),
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }
}
