//! TCP streams over a network path.

use super::path::{facts_of_path, streams};
use super::{CannotSet, Flow, JobFacts, Settable, settable};
use crate::Parameter;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// TCP streams that send as fast as they can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpStreamJob {
    /// Direction of the data.
    pub flow: Flow,
    /// Streams in each direction.
    pub streams: u16,
    /// Bytes of each system call, at both ends; 0 if another tool did not report it.
    pub block: Bytes,
    /// Socket buffers at both ends; `None`: the kernel adjusts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_buffer: Option<Bytes>,
    /// Congestion control of the sender; `None`: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Whether Nagle's algorithm is off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_delay: bool,
}

impl TcpStreamJob {
    /// Bytes of a system call if the user names no number.
    pub const BLOCK: Bytes = Bytes(128 << 10);

    /// One stream in this direction, with the settings of the system.
    pub fn new(flow: Flow) -> TcpStreamJob {
        TcpStreamJob {
            flow,
            streams: 1,
            block: TcpStreamJob::BLOCK,
            socket_buffer: None,
            congestion: None,
            no_delay: false,
        }
    }
}

impl JobFacts for TcpStreamJob {
    fn kind(&self) -> &'static str {
        self.flow.pick(["tcp-out", "tcp-in", "tcp-both"])
    }

    fn title(&self) -> String {
        format!("TCP {}", self.flow)
    }

    facts_of_path!(THROUGHPUT);

    fn settings(&self) -> Vec<String> {
        let block = (self.block.0 > 0).then(|| format!("block size {}", self.block));
        let mut settings: Vec<String> = block.into_iter().collect();
        settings.push(streams(self.streams, self.flow));
        settings.extend(self.socket_buffer.map(|bytes| format!("socket buffers of {bytes}")));
        settings.extend(self.congestion.as_ref().map(|name| format!("congestion control {name}")));
        settings.extend(self.no_delay.then(|| "without Nagle's algorithm".to_owned()));
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters =
            vec![("direction", self.flow.to_string()), ("streams", self.streams.to_string())];
        parameters.extend(self.block().map(|block| ("block_bytes", block.0.to_string())));
        parameters.push(("no_delay", self.no_delay.to_string()));
        parameters.extend(self.socket_buffer.map(|b| ("socket_buffer_bytes", b.0.to_string())));
        parameters.extend(self.congestion.clone().map(|name| ("congestion", name)));
        parameters
    }

    fn settable(&self) -> Settable {
        Settable { block: true, ..Settable::default() }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.block).filter(|block| block.0 > 0)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.block = settable::block(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }
}
