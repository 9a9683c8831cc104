//! TCP connections over a network path.

use super::{JobFacts, Settable};
use crate::{Measure, Metric, SubjectKind};
use serde::{Deserialize, Serialize};

/// TCP connections, opened and closed one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectJob {
    /// Connections at a time.
    pub streams: u16,
}

impl JobFacts for ConnectJob {
    fn kind(&self) -> &'static str {
        "connect"
    }

    fn title(&self) -> String {
        "connections".to_owned()
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Path
    }

    fn headline(&self) -> Metric {
        Metric::all(self.speed())
    }

    /// One at a time shows how long a connection takes; several at a time show how many there can be.
    fn speed(&self) -> Measure {
        match self.streams {
            1 => Measure::LATENCY_MEAN,
            _ => Measure::CONNECTIONS,
        }
    }

    fn moves_payload(&self) -> bool {
        false
    }

    fn settings(&self) -> Vec<String> {
        vec![match self.streams {
            1 => "one after the other".to_owned(),
            many => format!("{many} at a time"),
        }]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("streams", self.streams.to_string())]
    }

    fn settable(&self) -> Settable {
        Settable::default()
    }
}
