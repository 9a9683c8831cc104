//! TCP connections over a network path.

use super::JobFacts;
use super::path::facts_of_path;
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

    facts_of_path!(LATENCY_MEAN);

    fn settings(&self) -> Vec<String> {
        vec![match self.streams {
            1 => "one after the other".to_owned(),
            many => format!("{many} at a time"),
        }]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("streams", self.streams.to_string())]
    }
}
