//! Requests and answers over a network path.

use super::path::facts_of_path;
use super::{CannotSet, JobFacts, RateUnit, Settable, settable};
use crate::Parameter;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Requests from A that B answers, in turn on each connection: round trips as programs see them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestJob {
    /// Connections.
    pub streams: u16,
    /// Bytes of a request; 0 if another tool did not report it.
    pub request: Bytes,
    /// Bytes of an answer; 0 likewise.
    pub response: Bytes,
    /// Requests per second of each connection, sent and timed when they are due, whether or not earlier ones are
    /// answered; `None`: one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<NonZeroU32>,
}

impl RequestJob {
    /// One connection, one request of a byte after the other.
    pub fn new() -> RequestJob {
        RequestJob { streams: 1, request: Bytes(1), response: Bytes(1), rate: None }
    }

    /// A sparse flow: 300 requests a second, which put hardly any load of their own on the path. A 99th percentile needs
    /// 2000 of them, so 7 s. Ten connections share them, so that a lost one delays few others.
    pub fn sparse() -> RequestJob {
        RequestJob { streams: 10, rate: NonZeroU32::new(30), ..RequestJob::new() }
    }
}

impl Default for RequestJob {
    fn default() -> Self {
        RequestJob::new()
    }
}

impl JobFacts for RequestJob {
    fn kind(&self) -> &'static str {
        "request"
    }

    fn title(&self) -> String {
        "requests".to_owned()
    }

    facts_of_path!(LATENCY_MEAN);

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![match self.streams {
            1 => "1 connection".to_owned(),
            many => format!("{many} connections"),
        }];
        for (what, size) in [("requests", self.request), ("answers", self.response)] {
            settings.extend((size.0 > 0).then(|| format!("{what} of {size}")));
        }
        settings.push(match self.rate {
            Some(rate) => format!("{rate} a second each"),
            None => "one after the other".to_owned(),
        });
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = vec![
            ("streams", self.streams.to_string()),
            ("request_bytes", self.request.0.to_string()),
            ("response_bytes", self.response.0.to_string()),
        ];
        parameters.extend(self.rate.map(|rate| ("rate_per_second", rate.to_string())));
        parameters
    }

    fn settable(&self) -> Settable {
        Settable { rate: Some(RateUnit::Requests), ..Settable::default() }
    }

    /// All connections share the rate.
    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Rate => {
                self.rate = settable::rate(value / f64::from(self.streams.max(1)))?;
            }
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }
}
