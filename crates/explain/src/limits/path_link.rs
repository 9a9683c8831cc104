//! The rate of a link by layer: bits on the wire, frames, and the payload of TCP.

use crate::thresholds::AROUND_FRAME_BYTES;

/// Bytes of the shortest Ethernet frame as interfaces count it. Source: IEEE 802.3.
const SHORTEST_FRAME: f64 = 60.0;
/// Bytes of a frame's header, and of its check sequence.
const FRAME_HEADER: f64 = 14.0;
const CHECK_SEQUENCE: f64 = 4.0;

/// The layer whose bytes the rate of a link counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// The wire (L1): frames with their preamble, check sequence and gap. Rates of Ethernet.
    Wire,
    /// Frames as interfaces count them (L2). Rates of shapers.
    Frames,
}

impl LinkLayer {
    /// Bytes of the rate that so many bytes in so many frames take, as interfaces count both.
    pub(super) fn taken(self, bytes: u64, packets: u64) -> f64 {
        let (bytes, packets) = (bytes as f64, packets as f64);
        match self {
            LinkLayer::Wire => bytes.max(SHORTEST_FRAME * packets) + AROUND_FRAME_BYTES * packets,
            LinkLayer::Frames => bytes,
        }
    }

    /// Bytes of the rate that a packet takes.
    fn of_packet(self, bytes: f64) -> f64 {
        match self {
            LinkLayer::Wire => bytes + FRAME_HEADER + AROUND_FRAME_BYTES,
            LinkLayer::Frames => bytes + FRAME_HEADER,
        }
    }
}

/// The nominal rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NominalRate {
    /// Bits per second.
    pub bits_per_second: u64,
    /// The bits that it counts.
    pub layer: LinkLayer,
}

/// Highest goodput of TCP over the slowest link at an end, in one direction: the maximum achievable throughput of
/// RFC 6349, section 4.1.1, for frames of Ethernet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdealGoodput {
    /// Payload bytes per second.
    pub bytes_per_second: f64,
    /// Rate of the link.
    pub rate: NominalRate,
    /// Payload bytes of a segment.
    pub segment_bytes: f64,
    /// Bytes of the largest packet.
    pub packet_bytes: f64,
}

impl IdealGoodput {
    pub(super) fn new(rate: NominalRate, segment_bytes: f64, packet_bytes: f64) -> IdealGoodput {
        let taken = rate.layer.of_packet(packet_bytes).max(segment_bytes);
        let bytes_per_second = rate.bits_per_second as f64 / 8.0 * segment_bytes / taken;
        IdealGoodput { bytes_per_second, rate, segment_bytes, packet_bytes }
    }

    /// Bytes of frames per second, with their check sequences if the rate is that of the wire (RFC 2544 counts them).
    pub fn frame_bytes_per_second(&self) -> f64 {
        let bytes = self.rate.bits_per_second as f64 / 8.0;
        match self.rate.layer {
            LinkLayer::Wire => {
                let frame = self.packet_bytes + FRAME_HEADER + CHECK_SEQUENCE;
                bytes * frame / LinkLayer::Wire.of_packet(self.packet_bytes)
            }
            LinkLayer::Frames => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small datagrams filled a link that was reported to be at 71%.
    #[test]
    fn a_full_ethernet_is_full_whatever_the_size_of_its_frames() {
        for (bytes, packets) in [(60, 1_488_095), (46, 1_488_095), (1514, 81_274)] {
            let share = 8.0 * LinkLayer::Wire.taken(bytes * packets, packets) / 1e9;
            assert!((share - 1.0).abs() < 1e-4, "{bytes} bytes: {share}");
        }
        assert_eq!(
            LinkLayer::Frames.taken(46, 1),
            46.0,
            "a shaper counts what the interface counts"
        );
    }

    /// 1 Gbit/s of Ethernet carries 941 Mbit/s of TCP with time stamps, in frames of 987 Mbit/s.
    #[test]
    fn each_layer_has_its_rate() {
        let ideal = |layer| {
            IdealGoodput::new(NominalRate { bits_per_second: 1_000_000_000, layer }, 1448.0, 1500.0)
        };
        let megabits = |bytes: f64| (8.0 * bytes / 1e5).round() / 10.0;
        let (wire, frames) = (ideal(LinkLayer::Wire), ideal(LinkLayer::Frames));
        assert_eq!(megabits(wire.bytes_per_second), 941.5);
        assert_eq!(megabits(wire.frame_bytes_per_second()), 987.0);
        assert_eq!(megabits(frames.bytes_per_second), 956.4);
        assert_eq!(megabits(frames.frame_bytes_per_second()), 1000.0);
    }
}
