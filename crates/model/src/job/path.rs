//! Common to the jobs on network paths: the direction of the data, and their measures.
//!
//! A path leads from end A (near) to end B (far). Directions and ends are named from A.

use crate::Measure;
use crate::metric::{Aggregation, Combine, Direction, Row};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Direction of the data on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// From A to B.
    Out,
    /// From B to A.
    In,
    /// In both directions at the same time.
    Both,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flow::Out => "out",
            Flow::In => "in",
            Flow::Both => "both",
        })
    }
}

impl Flow {
    /// The entry of this direction: out, in, both.
    pub(super) fn pick<T: Copy>(self, entries: [T; 3]) -> T {
        entries[self as usize]
    }
}

/// The facts that jobs on paths have in common. They have streams of their own, and are compared by one figure: goodput,
/// or the mean latency of what moves no payload worth counting.
macro_rules! facts_of_path {
    ($speed:ident) => {
        fn subject(&self) -> $crate::SubjectKind {
            $crate::SubjectKind::Path
        }

        fn headline(&self) -> $crate::Metric {
            $crate::Metric::all(self.speed())
        }

        fn speed(&self) -> $crate::Measure {
            $crate::Measure::$speed
        }

        fn moves_payload(&self) -> bool {
            self.speed() == $crate::Measure::THROUGHPUT
        }
    };
}
pub(super) use facts_of_path;

/// "1 stream", "4 streams each way".
pub(super) fn streams(count: u16, flow: Flow) -> String {
    let streams = match count {
        1 => "1 stream".to_owned(),
        many => format!("{many} streams"),
    };
    match flow {
        Flow::Out | Flow::In => streams,
        Flow::Both => format!("{streams} each way"),
    }
}

impl Measure {
    /// Payload bytes per second that B received from A, of jobs in both directions.
    pub const GOODPUT_OUT: Measure = Measure::own("goodput_out_bytes_per_second");
    /// Payload bytes per second that A received from B, of jobs in both directions.
    pub const GOODPUT_IN: Measure = Measure::own("goodput_in_bytes_per_second");
    /// Datagrams received per second, each once.
    pub const PACKETS: Measure = Measure::own("packets_per_second");
    /// Answered requests per second.
    pub const REQUESTS: Measure = Measure::own("requests_per_second");
    /// TCP connections per second.
    pub const CONNECTIONS: Measure = Measure::own("connections_per_second");
    /// CPU time of the probe's processes at A (user and system) per payload byte. Interrupts are not in it.
    pub const NEAR_CPU_PER_BYTE: Measure = Measure::own("near_process_cpu_seconds_per_byte");
    /// The same at B.
    pub const FAR_CPU_PER_BYTE: Measure = Measure::own("far_process_cpu_seconds_per_byte");
    /// CPU time of the probe's processes at A per datagram or request.
    pub const NEAR_CPU_PER_PACKET: Measure = Measure::own("near_process_cpu_seconds_per_packet");
    /// The same at B.
    pub const FAR_CPU_PER_PACKET: Measure = Measure::own("far_process_cpu_seconds_per_packet");
    /// Busy share of the busiest process of the probe at A: each stream is one process.
    pub const NEAR_BUSIEST: Measure = Measure::own("near_busiest_process_ratio");
    /// The same at B.
    pub const FAR_BUSIEST: Measure = Measure::own("far_busiest_process_ratio");
    /// Share of the datagrams that arrived after a later one.
    pub const REORDERED: Measure = Measure::own("reordered_ratio");
    /// Share of the datagrams that arrived more than once.
    pub const DUPLICATED: Measure = Measure::own("duplicated_ratio");
    /// Share of the datagrams that the receiving socket dropped because it was full.
    pub const SOCKET_DROPPED: Measure = Measure::own("socket_dropped_ratio");
    /// Jitter of the one-way delay (RFC 3550, section 6.4.1).
    pub const JITTER: Measure = Measure::own("jitter_seconds");
    /// Share of the TCP payload that was sent again.
    pub const RETRANSMITTED: Measure = Measure::own("retransmitted_ratio");
    /// Median of the round trips that TCP measured within the streams.
    pub const FLOW_RTT_P50: Measure = Measure::own("flow_rtt_p50_seconds");
    /// Largest of them.
    pub const FLOW_RTT_MAX: Measure = Measure::own("flow_rtt_max_seconds");
    /// Smallest round trip that TCP measured on the connections.
    pub const FLOW_RTT_LEAST: Measure = Measure::own("flow_rtt_least_seconds");
    /// Share of the sending time in which the receive window of the other end limited TCP.
    pub const WINDOW_LIMITED: Measure = Measure::own("receive_window_limited_ratio");
    /// Share of the sending time in which the send buffer limited TCP.
    pub const BUFFER_LIMITED: Measure = Measure::own("send_buffer_limited_ratio");
    /// Share of the requests without an answer in time.
    pub const UNANSWERED: Measure = Measure::own("unanswered_ratio");
    /// Share of the sent TCP payload that was not sent again: the TCP efficiency of RFC 6349, section 4.2.
    pub const TCP_EFFICIENCY: Measure = Measure::own("tcp_efficiency_ratio");
    /// Mean of the round trips that TCP measured within the streams.
    pub const FLOW_RTT_MEAN: Measure = Measure::own("flow_rtt_mean_seconds");
    /// Their mean above the smallest round trip, as a share of that: the buffer delay of RFC 6349, section 4.3, with
    /// the smallest round trip of the connections in place of one that is measured without load.
    pub const BUFFER_DELAY: Measure = Measure::own("buffer_delay_ratio");
    /// Share of the delivered packets that the path marked as congestion (ECN); only if both ends use ECN.
    pub const ECN_MARKED: Measure = Measure::own("ecn_marked_ratio");
    /// Payload of a TCP segment.
    pub const SEGMENT: Measure = Measure::own("segment_bytes");
    /// Largest packet of the path, its IP header included.
    pub const PATH_MTU: Measure = Measure::own("path_mtu_bytes");
    /// Round trips per second under load: the responsiveness of draft-ietf-ippm-responsiveness-09, section 5.3.1.1,
    /// which counts them per minute.
    pub const RESPONSIVENESS: Measure = Measure::own("responsiveness_per_second");
}

use Aggregation::{Arithmetic, Geometric};
use Direction::{Less, More, Neither};

pub(super) const MEASURES: [Row; 29] = [
    (Measure::GOODPUT_OUT, "B/s", "", More, Geometric, Combine::None),
    (Measure::GOODPUT_IN, "B/s", "", More, Geometric, Combine::None),
    (Measure::PACKETS, "1/s", "", More, Geometric, Combine::None),
    (Measure::REQUESTS, "1/s", "", More, Geometric, Combine::None),
    (Measure::CONNECTIONS, "1/s", "", More, Geometric, Combine::None),
    (Measure::NEAR_CPU_PER_BYTE, "s", "byte", Less, Arithmetic, Combine::None),
    (Measure::FAR_CPU_PER_BYTE, "s", "byte", Less, Arithmetic, Combine::None),
    (Measure::NEAR_CPU_PER_PACKET, "s", "packet", Less, Arithmetic, Combine::None),
    (Measure::FAR_CPU_PER_PACKET, "s", "packet", Less, Arithmetic, Combine::None),
    (Measure::NEAR_BUSIEST, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::FAR_BUSIEST, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::REORDERED, "1", "", Less, Arithmetic, Combine::None),
    (Measure::DUPLICATED, "1", "", Less, Arithmetic, Combine::None),
    (Measure::SOCKET_DROPPED, "1", "", Less, Arithmetic, Combine::None),
    (Measure::JITTER, "s", "", Less, Geometric, Combine::None),
    (Measure::RETRANSMITTED, "1", "", Less, Arithmetic, Combine::None),
    (Measure::FLOW_RTT_P50, "s", "", Less, Geometric, Combine::None),
    (Measure::FLOW_RTT_MAX, "s", "", Less, Geometric, Combine::None),
    (Measure::FLOW_RTT_LEAST, "s", "", Less, Geometric, Combine::None),
    (Measure::WINDOW_LIMITED, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::BUFFER_LIMITED, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::UNANSWERED, "1", "", Less, Arithmetic, Combine::None),
    (Measure::TCP_EFFICIENCY, "1", "", More, Arithmetic, Combine::None),
    (Measure::FLOW_RTT_MEAN, "s", "", Less, Geometric, Combine::None),
    (Measure::BUFFER_DELAY, "1", "", Less, Arithmetic, Combine::None),
    (Measure::ECN_MARKED, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::SEGMENT, "B", "", Neither, Arithmetic, Combine::None),
    (Measure::PATH_MTU, "B", "", Neither, Arithmetic, Combine::None),
    (Measure::RESPONSIVENESS, "1/s", "", More, Geometric, Combine::None),
];
