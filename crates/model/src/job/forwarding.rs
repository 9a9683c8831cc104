//! UDP frames that a router forwards.

use super::path::facts_of_path;
use super::{CannotSet, Flow, JobFacts, RateUnit, Settable, settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::Bytes;
use crate::{Flag, Measure, Parameter};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::time::Duration;

/// Frames of one size, or of a mix of sizes, through a router, in many flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForwardingJob {
    /// Direction of the frames.
    pub flow: Flow,
    /// Bytes of a frame on Ethernet, its check sequence included; of a mix of sizes the mean.
    pub frame: Bytes,
    /// Of a mix of sizes (IMIX), bytes of the longest frames; `None`: all frames have one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imix: Option<Bytes>,
    /// Flows in each direction, each with a port of its own.
    pub flows: u16,
    /// Frames per second in each direction; `None`: as many as the sender can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<NonZeroU32>,
    /// Whether a trial at a rate ends after its length, however late the sender was: it shows CPU time, and not a rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_timed: bool,
}

impl ForwardingJob {
    /// Flows if the user names none: one flow would test one receive queue.
    pub const FLOWS: u16 = 64;
    /// Time between two batches of frames at a rate, each of as few as it allows.
    pub const PACE: Duration = Duration::from_micros(50);
    /// Sizes of a mix of frames, and how many of each there are. Source: the simple IMIX that testers of routers use.
    pub const IMIX: [u64; 3] = [64, 570, 1518];
    const SHARES: [u64; 3] = [7, 4, 1];
    /// Bytes of an Ethernet frame around its packet: header and check sequence. Source: IEEE 802.3.
    pub const AROUND_PACKET: u64 = 18;
    /// Bytes of a packet before its payload, with IPv4 and IPv6. Source: RFC 791, RFC 8200, RFC 768.
    pub const IPV4_UDP_HEADERS: u64 = 28;
    /// The same with IPv6.
    pub const IPV6_UDP_HEADERS: u64 = 48;

    /// Frames of this size in this direction, as many as the sender can send.
    pub fn new(flow: Flow, frame: Bytes) -> ForwardingJob {
        let flows = ForwardingJob::FLOWS;
        ForwardingJob { flow, frame, imix: None, flows, rate: None, is_timed: false }
    }

    /// Frames of mixed sizes, the longest ones with so many bytes.
    pub fn imix(flow: Flow, longest: Bytes) -> ForwardingJob {
        let mut job = ForwardingJob { imix: Some(longest), ..ForwardingJob::new(flow, longest) };
        let sizes = job.sizes();
        let sum: u64 =
            sizes.iter().zip(ForwardingJob::SHARES).map(|(size, share)| size * share).sum();
        let all: u64 = ForwardingJob::SHARES.iter().sum();
        job.frame = Bytes((sum + all / 2) / all);
        job
    }

    /// Sizes of the frames, the shortest first; one, or the three of a mix.
    pub fn sizes(&self) -> Vec<u64> {
        match self.imix {
            Some(Bytes(longest)) => {
                ForwardingJob::IMIX.iter().map(|size| *size.min(&longest)).collect()
            }
            None => vec![self.frame.0],
        }
    }

    /// Frames that leave the sender at once, at so many per second in each direction.
    pub fn batch(frames_per_second: f64) -> u64 {
        // As many as come due, and no more for rounding.
        let due = frames_per_second * ForwardingJob::PACE.as_secs_f64();
        (due - 1e-6).ceil().max(1.0) as u64
    }

    /// Bytes of the longest frames.
    pub fn longest(&self) -> Bytes {
        self.imix.unwrap_or(self.frame)
    }

    /// The same with no frame longer than that.
    pub fn capped(&self, longest: Bytes) -> ForwardingJob {
        match self.imix {
            Some(_) => ForwardingJob {
                flows: self.flows,
                rate: self.rate,
                is_timed: self.is_timed,
                ..ForwardingJob::imix(self.flow, longest)
            },
            None => ForwardingJob { frame: longest, ..self.clone() },
        }
    }

    /// Bytes of a frame that was sent, of a mix of sizes the mean: fewer than planned where these flags of trials say that
    /// the path did not take the longest ones.
    pub fn frame_sent<'a>(&self, flags: impl IntoIterator<Item = &'a Flag>) -> Bytes {
        let capped = flags.into_iter().find_map(|flag| match flag {
            Flag::FrameCapped { used, .. } if *used < self.longest() => Some(*used),
            _ => None,
        });
        capped.map_or(self.frame, |longest| self.capped(longest).frame)
    }

    /// Payload of a datagram in a frame of this size, 0 if there is no room for one.
    pub fn payload(frame: u64, ipv6: bool) -> u64 {
        let headers = match ipv6 {
            true => ForwardingJob::IPV6_UDP_HEADERS,
            false => ForwardingJob::IPV4_UDP_HEADERS,
        };
        frame.saturating_sub(ForwardingJob::AROUND_PACKET + headers)
    }
}

impl JobFacts for ForwardingJob {
    fn kind(&self) -> &'static str {
        self.flow.pick(["forward-out", "forward-in", "forward-both"])
    }

    fn title(&self) -> String {
        match self.flow {
            Flow::Both => "both ways".to_owned(),
            flow => flow.to_string(),
        }
    }

    facts_of_path!(FORWARDED);

    fn settings(&self) -> Vec<String> {
        let flows = match self.flows {
            1 => "1 flow".to_owned(),
            many => format!("{many} flows"),
        };
        let frames = match self.imix {
            Some(_) => format!("imix frames, {} B on average", self.frame.0),
            None => format!("{} B frames", self.frame.0),
        };
        let mut settings = vec![frames, flows];
        settings.extend(self.rate.map(|rate| format!("{rate} frames a second")));
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let frame = self.imix.map_or_else(|| self.frame.0.to_string(), |_| "imix".to_owned());
        let mut parameters = vec![
            ("direction", self.flow.to_string()),
            ("frame_bytes", frame),
            ("flows", self.flows.to_string()),
        ];
        parameters.extend(self.rate.map(|rate| ("rate_per_second", rate.to_string())));
        parameters
    }

    fn settable(&self) -> Settable {
        Settable { block: true, rate: Some(RateUnit::Frames), ..Settable::default() }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.frame)
    }

    fn has_fixed_rate(&self) -> bool {
        self.is_timed && self.rate.is_some()
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => (self.frame, self.imix) = (settable::block(value)?, None),
            Parameter::Rate => self.rate = settable::rate(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }
}

impl Measure {
    /// Frames per second that the router keeps within the loss that is allowed: the middle between the highest rate
    /// kept and the lowest one that is not; where credit lets more through for a while, the rate after that.
    pub const FORWARDED: Measure = Measure::own("forwarded_frames_per_second");
    /// Highest rate kept with the loss that is allowed.
    pub const KEPT: Measure = Measure::own("kept_frames_per_second");
    /// Highest rate kept without loss.
    pub const KEPT_WITHOUT_LOSS: Measure = Measure::own("kept_without_loss_frames_per_second");
    /// Frames per second received at overload.
    pub const OVERLOADED: Measure = Measure::own("overload_frames_per_second");
    /// Frames per second that were sent, by the clock of the sender.
    pub const OFFERED_FRAMES: Measure = Measure::own("offered_frames_per_second");
    /// Time of the segments that count, in a trial of a search.
    pub const COUNTED: Measure = Measure::own("counted_seconds");
    /// Time in which the sender kept the rate up after the lead-in.
    pub const HELD: Measure = Measure::own("held_seconds");
    /// Frames sent in the segments that count.
    pub const COUNTED_SENT: Measure = Measure::own("counted_sent_frames");
    /// Of them, frames lost.
    pub const COUNTED_LOST: Measure = Measure::own("counted_lost_frames");
    /// Runs of segments with a loss, per second, at half of the rate that is kept.
    pub const EVENTS_AT_HALF: Measure = Measure::own("half_rate_loss_events_per_second");
    /// The same at nine tenths of it.
    pub const EVENTS_AT_MOST: Measure = Measure::own("nine_tenths_rate_loss_events_per_second");
    /// Growth of the one-way delay, in seconds per second.
    pub const DELAY_SLOPE: Measure = Measure::own("delay_slope_ratio");
    /// Its lower 95% bound.
    pub const DELAY_SLOPE_LOW: Measure = Measure::own("delay_slope_low_ratio");
    /// Share of the segments that do not count because the sender was late.
    pub const VOID: Measure = Measure::own("void_segments_ratio");
    /// Share of the frames lost in the lead-in, the first of each flow among them.
    pub const LEAD_LOSS: Measure = Measure::own("lead_loss_ratio");
    /// Share of the frames lost in the last half of a trial.
    pub const LATE_LOSS: Measure = Measure::own("late_loss_ratio");
    /// Frames received per second in the last half of a trial.
    pub const LATE_RATE: Measure = Measure::own("late_frames_per_second");
    /// Runs of segments with a loss.
    pub const LOSS_EVENTS: Measure = Measure::own("loss_events_count");
    /// Frames received in all segments of a trial.
    pub const ALL_RECEIVED: Measure = Measure::own("all_received_frames");
    /// Time of all segments of a trial at its rate.
    pub const ALL_SEGMENTS: Measure = Measure::own("all_segments_seconds");
    /// Growth of the delay within a trial.
    pub const QUEUE_GROWTH: Measure = Measure::own("queue_growth_seconds");
    /// Median of the one-way delay above the shortest one.
    pub const QUEUE_P50: Measure = Measure::own("queue_p50_seconds");
    /// 99th percentile of the one-way delay above the shortest one.
    pub const QUEUE_P99: Measure = Measure::own("queue_p99_seconds");
    /// Longest one-way delay above the shortest one.
    pub const QUEUE_MOST: Measure = Measure::own("queue_most_seconds");
    /// Frames sent in a trial, those that do not count included.
    pub const ALL_SENT: Measure = Measure::own("all_sent_frames");
    /// CPU time of the router per frame that was sent: interrupts and soft interrupts, and of a router that shares no
    /// machine with the ends also system time; less its idle baseline.
    pub const ROUTER_CPU_PER_PACKET: Measure = Measure::own("router_kernel_cpu_seconds_per_packet");
}

use Aggregation::{Arithmetic, Geometric};
use Direction::{Less, More, Neither};

pub(super) const MEASURES: [Row; 26] = [
    (Measure::FORWARDED, "1/s", "", More, Geometric, Combine::None),
    (Measure::KEPT, "1/s", "", More, Geometric, Combine::None),
    (Measure::KEPT_WITHOUT_LOSS, "1/s", "", More, Geometric, Combine::None),
    (Measure::OVERLOADED, "1/s", "", More, Geometric, Combine::None),
    (Measure::OFFERED_FRAMES, "1/s", "", Neither, Geometric, Combine::None),
    (Measure::COUNTED, "s", "", Neither, Arithmetic, Combine::None),
    (Measure::HELD, "s", "", Neither, Arithmetic, Combine::None),
    (Measure::COUNTED_SENT, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::COUNTED_LOST, "1", "", Less, Arithmetic, Combine::None),
    (Measure::EVENTS_AT_HALF, "1/s", "", Less, Arithmetic, Combine::None),
    (Measure::EVENTS_AT_MOST, "1/s", "", Less, Arithmetic, Combine::None),
    (Measure::DELAY_SLOPE, "1", "", Less, Arithmetic, Combine::None),
    (Measure::DELAY_SLOPE_LOW, "1", "", Less, Arithmetic, Combine::None),
    (Measure::VOID, "1", "", Less, Arithmetic, Combine::None),
    (Measure::LEAD_LOSS, "1", "", Less, Arithmetic, Combine::None),
    (Measure::LATE_LOSS, "1", "", Less, Arithmetic, Combine::None),
    (Measure::LATE_RATE, "1/s", "", Neither, Arithmetic, Combine::None),
    (Measure::LOSS_EVENTS, "1", "", Less, Arithmetic, Combine::None),
    (Measure::ALL_RECEIVED, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::ALL_SEGMENTS, "s", "", Neither, Arithmetic, Combine::None),
    (Measure::QUEUE_GROWTH, "s", "", Less, Arithmetic, Combine::None),
    (Measure::QUEUE_P50, "s", "", Less, Arithmetic, Combine::None),
    (Measure::QUEUE_P99, "s", "", Less, Arithmetic, Combine::None),
    (Measure::QUEUE_MOST, "s", "", Less, Arithmetic, Combine::None),
    (Measure::ALL_SENT, "1", "", Neither, Arithmetic, Combine::None),
    (Measure::ROUTER_CPU_PER_PACKET, "s", "packet", Less, Arithmetic, Combine::None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_holds_its_headers() {
        assert_eq!([64, 1518].map(|frame| ForwardingJob::payload(frame, false)), [18, 1472]);
        assert_eq!(ForwardingJob::payload(64, true), 0);
    }

    #[test]
    fn frames_come_due_at_once_above_one_in_a_pace() {
        let rates = [0.0, 100.0, 20_000.0, 20_100.0, 40_000.0, 100_000.0, f64::NAN];
        assert_eq!(rates.map(ForwardingJob::batch), [1, 1, 1, 2, 2, 5, 1]);
    }

    #[test]
    fn a_mix_has_a_mean() {
        let job = ForwardingJob::imix(Flow::Out, Bytes(1518));
        // (7 x 64 + 4 x 570 + 1518) / 12
        assert_eq!((job.frame, job.longest(), job.sizes().len()), (Bytes(354), Bytes(1518), 3));
        let shorter = job.capped(Bytes(1310));
        assert_eq!((shorter.frame, shorter.longest()), (Bytes(337), Bytes(1310)));
        let one = ForwardingJob::new(Flow::In, Bytes(1518)).capped(Bytes(1310));
        assert_eq!((one.frame, one.sizes()), (Bytes(1310), vec![1310]));
        let capped = |wanted, used| Flag::FrameCapped { wanted, used, path_mtu: Bytes(1292) };
        let flags = [capped(Bytes(1518), Bytes(1310))];
        assert_eq!((job.frame_sent(&flags), job.frame_sent(&flags[..0])), (Bytes(337), Bytes(354)));
        assert_eq!(ForwardingJob::new(Flow::In, Bytes(1518)).frame_sent(&flags), Bytes(1310));
        assert_eq!(ForwardingJob::new(Flow::In, Bytes(128)).frame_sent(&flags), Bytes(128));
    }

    #[test]
    fn a_rate_is_one_of_frames_whatever_their_size() {
        let mut job = ForwardingJob::new(Flow::In, Bytes(512));
        job.set(Parameter::Rate, 1000.25).unwrap();
        assert_eq!(job.rate, NonZeroU32::new(1000));
        job.set(Parameter::Rate, f64::INFINITY).unwrap();
        assert_eq!(job.rate, None, "as many as the sender can");
        job.set(Parameter::Rate, 0.25).unwrap();
        assert_eq!(job.rate, NonZeroU32::new(1));
        assert_eq!(job.set(Parameter::Rate, 5e9), Err(CannotSet::Value));
    }
}
