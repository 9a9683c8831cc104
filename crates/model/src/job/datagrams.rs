//! UDP datagrams over a network path.

use super::path::{facts_of_path, streams};
use super::{CannotSet, Flow, JobFacts, RateUnit, Settable, settable};
use crate::Parameter;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

/// Streams of UDP datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramsJob {
    /// Direction of the data.
    pub flow: Flow,
    /// Streams in each direction.
    pub streams: u16,
    /// Payload of a datagram; 0 if another tool did not report it.
    pub payload: Bytes,
    /// How datagrams are handed to the kernel.
    #[serde(default)]
    pub call: DatagramCall,
    /// Datagrams per second of each stream; `None`: as many as the sender can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<NonZeroU32>,
    /// Socket buffers at both ends; `None`: the probe's defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_buffer: Option<Bytes>,
}

/// How datagrams are handed to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatagramCall {
    /// One for each system call.
    #[default]
    One,
    /// Several for each system call: sendmmsg and recvmmsg.
    Mmsg,
    /// Several as one large segment that the kernel cuts: UDP_SEGMENT and UDP_GRO.
    Gso,
}

impl fmt::Display for DatagramCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DatagramCall::One => "one",
            DatagramCall::Mmsg => "mmsg",
            DatagramCall::Gso => "gso",
        })
    }
}

impl DatagramsJob {
    /// Payload if the user names none: it fits into a packet of Ethernet, tunnels included.
    pub const PAYLOAD: Bytes = Bytes(1400);

    /// One stream in this direction, one datagram a call, as fast as the sender can.
    pub fn new(flow: Flow) -> DatagramsJob {
        DatagramsJob {
            flow,
            streams: 1,
            payload: DatagramsJob::PAYLOAD,
            call: DatagramCall::One,
            rate: None,
            socket_buffer: None,
        }
    }
}

impl JobFacts for DatagramsJob {
    fn kind(&self) -> &'static str {
        self.flow.pick(["udp-out", "udp-in", "udp-both"])
    }

    fn title(&self) -> String {
        format!("UDP {}", self.flow)
    }

    facts_of_path!(THROUGHPUT);

    fn settings(&self) -> Vec<String> {
        let payload = (self.payload.0 > 0).then(|| format!("{} payload", self.payload));
        let mut settings: Vec<String> = payload.into_iter().collect();
        settings.push(streams(self.streams, self.flow));
        settings.push(match self.call {
            DatagramCall::One => "one datagram a call".to_owned(),
            DatagramCall::Mmsg => "sendmmsg".to_owned(),
            DatagramCall::Gso => "UDP segmentation".to_owned(),
        });
        settings.extend(self.rate.map(|rate| format!("{rate} datagrams a second each")));
        settings.extend(self.socket_buffer.map(|bytes| format!("socket buffers of {bytes}")));
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters =
            vec![("direction", self.flow.to_string()), ("streams", self.streams.to_string())];
        parameters.extend(self.block().map(|payload| ("payload_bytes", payload.0.to_string())));
        parameters.push(("call", self.call.to_string()));
        parameters.extend(self.rate.map(|rate| ("rate_per_second", rate.to_string())));
        parameters.extend(self.socket_buffer.map(|b| ("socket_buffer_bytes", b.0.to_string())));
        parameters
    }

    /// Where the payload is not known, neither is a rate of bytes.
    fn settable(&self) -> Settable {
        let rate = self.block().map(|_| RateUnit::Bytes);
        Settable { block: true, rate, ..Settable::default() }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.payload).filter(|payload| payload.0 > 0)
    }

    /// All streams of a direction share the rate.
    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.payload = settable::block(value)?,
            Parameter::Rate if self.payload.0 > 0 => {
                let one_each = self.payload.0 as f64 * f64::from(self.streams.max(1));
                self.rate = settable::rate(value / one_each)?;
            }
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_the_offered_rate() {
        let mut job = DatagramsJob { streams: 4, ..DatagramsJob::new(Flow::In) };
        job.set(Parameter::Rate, 5_600_000.0).unwrap();
        assert_eq!(job.rate, NonZeroU32::new(1000));
        job.set(Parameter::Rate, 1.0).unwrap();
        assert_eq!(job.rate, NonZeroU32::new(1), "never none: that is as fast as it can");
        assert_eq!(job.set(Parameter::Rate, 0.0), Err(CannotSet::Value));
        job.set(Parameter::Rate, f64::INFINITY).unwrap();
        assert_eq!(job.rate, None);
        let mut unknown = DatagramsJob { payload: Bytes(0), ..job };
        assert_eq!(unknown.set(Parameter::Rate, 1e6), Err(CannotSet::Parameter));
    }
}
