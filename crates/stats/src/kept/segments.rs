//! The figures of a trial, from its segments of 100 ms.

use super::slope::{Slope, slope};

/// Length of a segment at the trial's rate.
pub const SEGMENT_SECONDS: f64 = 0.1;
/// Packets that a late sender sends at once at most, on top of those that are due.
const CATCH_UP_PACKETS: f64 = 8.0;
/// Bounds of [`late_seconds`]. Wake-ups that are 0.2 ms late are usual: on a virtual machine that did nothing else, half
/// of the segments had one, and one of 2 ms was in 2 to 8% of them.
const LATE_SECONDS: [f64; 2] = [2e-4, 2e-3];
/// Shortest lead-in: flow tables fill, and clocks rise.
pub const LEAD_SECONDS: f64 = 0.5;
/// Longest lead-in, where the shortest one is not enough.
pub const LONGEST_LEAD_SECONDS: f64 = 1.0;
/// A trial goes on until its good segments sum up to its length, for at most so many times that.
pub const MOST_LENGTHS: u32 = 20;
/// Longest time of a trial after its lead-in, so that a busy machine is found out in minutes.
pub const LONGEST_SECONDS: f64 = 60.0;

/// Windows that agree at the end of the lead-in, and how far they may lie apart as a share.
const AGREEING: usize = 3;
const APART: f64 = 0.02;
/// Packets by which small segments may differ.
const APART_PACKETS: f64 = 2.0;

/// Lateness of a packet, in seconds, from which its segment and the one after it do not count: the time in which as many
/// packets are due as a late sender sends at once.
pub fn late_seconds(packets_per_second: f64) -> f64 {
    let [least, most] = LATE_SECONDS;
    (CATCH_UP_PACKETS / packets_per_second).clamp(least, most)
}

/// What both ends say of the packets of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// Packets sent.
    pub sent: f64,
    /// Of them, packets received.
    pub received: f64,
    /// Greatest lateness of a packet at the sender, in seconds.
    pub late_seconds: f64,
    /// One-way delay on two clocks, in seconds: only its changes say something. `None` if nothing came.
    pub delay_seconds: Option<f64>,
}

/// The figures of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateTrial {
    /// Time of the segments that count.
    pub seconds: f64,
    /// Time of the segments after the shortest lead-in in which the sender was not late.
    pub held_seconds: f64,
    /// Packets sent in them.
    pub sent: f64,
    /// Of them, packets lost.
    pub lost: f64,
    /// Growth of the delay in them.
    pub slope: Option<Slope>,
    /// Share of the segments after the lead-in that did not count, because the sender was late.
    pub void_ratio: f64,
    /// Share of the packets lost in the lead-in: the first packets of each flow.
    pub lead_loss_ratio: f64,
    /// Share lost in the last half of the segments that count.
    pub late_loss_ratio: f64,
    /// Packets received per second of the last half of the segments that count.
    pub plateau: f64,
    /// Runs of segments with a loss.
    pub loss_events: f64,
    /// Packets received in all segments, the lead-in included, and the time of those.
    pub all_received: f64,
    /// Time of all segments.
    pub all_seconds: f64,
    /// Growth of the delay from its least to its greatest value, in seconds: what a queue took.
    pub queue_seconds: f64,
}

impl RateTrial {
    /// The share that counts as lost: what was lost, and what a growing queue took, if it grows faster than `least`
    /// allows.
    pub fn loss(&self, goal: f64) -> f64 {
        if self.sent <= 0.0 {
            return 1.0;
        }
        let grown = self.slope.map_or(0.0, |slope| slope.above(goal));
        (self.lost / self.sent + grown).min(1.0)
    }
}

/// Segments of the lead-in: the shortest one, and more until three windows agree. If none agree, it is no lead-in that
/// makes them differ.
fn lead(segments: &[Segment], shortest: usize) -> usize {
    let share = |segment: &Segment| segment.received / segment.sent.max(1.0);
    let agree = |end: &usize| {
        let Some(last) = end.checked_sub(AGREEING).and_then(|from| segments.get(from..*end)) else {
            return false;
        };
        let most = last.iter().map(share).fold(0.0, f64::max);
        let least = last.iter().map(share).fold(f64::INFINITY, f64::min);
        let sent = last.iter().map(|segment| segment.sent).fold(1.0, f64::max);
        most - least <= APART + APART_PACKETS / sent
    };
    (shortest..=whole_segments(LONGEST_LEAD_SECONDS)).find(agree).unwrap_or(shortest)
}

/// Segments of a time.
fn whole_segments(seconds: f64) -> usize {
    (seconds / SEGMENT_SECONDS).round() as usize
}

/// The figures of a trial with this lead-in at least. Its last segment is left out unless it is whole.
pub fn count(segments: &[Segment], lead_seconds: f64) -> RateTrial {
    let segments = match segments {
        [first, .., last] if last.sent < first.sent => &segments[..segments.len() - 1],
        all => all,
    };
    let shortest = whole_segments(lead_seconds);
    let lead = lead(segments, shortest).min(segments.len());
    let mut seen = RateTrial {
        all_received: segments.iter().map(|segment| segment.received).sum(),
        all_seconds: segments.len() as f64 * SEGMENT_SECONDS,
        ..RateTrial::default()
    };
    let (sent, received) = sums(&segments[..lead]);
    seen.lead_loss_ratio = if sent > 0.0 { ((sent - received) / sent).max(0.0) } else { 0.0 };

    let per_segment = segments.first().map_or(0.0, |first| first.sent);
    let allowed = late_seconds(per_segment / SEGMENT_SECONDS);
    let is_late =
        |number: usize| segments.get(number).is_some_and(|segment| segment.late_seconds > allowed);
    let is_void = |number: usize| is_late(number) || number.checked_sub(1).is_some_and(is_late);
    let held = (shortest..segments.len()).filter(|number| !is_void(*number)).count();
    seen.held_seconds = held as f64 * SEGMENT_SECONDS;
    let counted = (lead..segments.len()).map(|number| (!is_void(number)).then(|| segments[number]));
    let counted: Vec<Option<Segment>> = counted.collect();
    let delays: Vec<Option<f64>> =
        counted.iter().map(|one| one.and_then(|s| s.delay_seconds)).collect();
    let good: Vec<Segment> = counted.into_iter().flatten().collect();
    let after = segments.len() - lead;
    if after > 0 {
        seen.void_ratio = (after - good.len()) as f64 / after as f64;
    }
    let (sent, received) = sums(&good);
    seen.seconds = good.len() as f64 * SEGMENT_SECONDS;
    // Less than half a packet is rounding.
    (seen.sent, seen.lost) =
        (sent, Some(sent - received).filter(|lost| *lost >= 0.5).unwrap_or(0.0));
    seen.slope = slope(&delays, SEGMENT_SECONDS);
    seen.loss_events = events(&good);
    let half = &good[good.len() / 2..];
    let (sent, received) = sums(half);
    if sent > 0.0 {
        seen.late_loss_ratio = ((sent - received) / sent).max(0.0);
        seen.plateau = received / (half.len() as f64 * SEGMENT_SECONDS);
    }
    let known = || segments.iter().filter_map(|segment| segment.delay_seconds);
    let (least, greatest) = (known().reduce(f64::min), known().reduce(f64::max));
    seen.queue_seconds = least.zip(greatest).map_or(0.0, |(least, greatest)| greatest - least);
    seen
}

fn sums(segments: &[Segment]) -> (f64, f64) {
    segments.iter().fold((0.0, 0.0), |(sent, received), segment| {
        (sent + segment.sent, received + segment.received.min(segment.sent))
    })
}

fn events(good: &[Segment]) -> f64 {
    let loses = |segment: &Segment| segment.received + 0.5 < segment.sent;
    let begins = |pair: &[Segment]| loses(&pair[1]) && !loses(&pair[0]);
    let first = usize::from(good.first().is_some_and(loses));
    (first + good.windows(2).filter(|pair| begins(pair)).count()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(received: f64) -> Segment {
        Segment { sent: 100.0, received, late_seconds: 0.0, delay_seconds: Some(0.001) }
    }

    fn counted(segments: &[Segment]) -> RateTrial {
        count(segments, LEAD_SECONDS)
    }

    #[test]
    fn a_packet_may_be_as_late_as_eight_packets_take() {
        assert!((late_seconds(16_000.0) - 5e-4).abs() < 1e-12);
        assert_eq!(late_seconds(1e6), 2e-4);
        assert_eq!(late_seconds(100.0), 2e-3);
        assert_eq!(late_seconds(0.0), 2e-3);
    }

    #[test]
    fn the_lead_in_does_not_count() {
        let slow = [whole(20.0), whole(60.0), whole(100.0), whole(100.0), whole(100.0)];
        let seen = counted(&[&slow[..], &[whole(99.0); 10]].concat());
        assert_eq!((seen.sent, seen.lost), (1000.0, 10.0));
        assert!((seen.seconds - 1.0).abs() < 1e-9);
        assert!((seen.lead_loss_ratio - 0.24).abs() < 1e-9);
        assert!((seen.plateau - 990.0).abs() < 1e-9);
        assert!((seen.loss(0.0) - 0.01).abs() < 1e-9);
        // A flow table that fills for longer has a longer lead-in.
        let slow = [20.0, 30.0, 40.0, 50.0, 60.0, 80.0].map(whole);
        let seen = counted(&[&slow[..], &[whole(100.0); 10]].concat());
        assert_eq!(seen.lost, 0.0, "{seen:?}");
    }

    #[test]
    fn a_segment_with_a_late_packet_and_the_one_after_it_are_void() {
        let mut segments = vec![whole(100.0); 15];
        segments[7] = Segment { late_seconds: 0.003, ..whole(90.0) };
        segments[8] = whole(95.0);
        let seen = counted(&segments);
        assert_eq!((seen.sent, seen.lost, seen.void_ratio), (800.0, 0.0, 0.2));
        // A late packet at the end of the lead-in voids the first segment after it.
        let mut segments = vec![whole(100.0); 15];
        segments[4].late_seconds = 0.003;
        assert_eq!(counted(&segments).sent, 900.0);
    }

    #[test]
    fn what_is_not_whole_does_not_count() {
        let mut segments = vec![whole(100.0); 15];
        segments.push(Segment { sent: 30.0, received: 0.0, ..Segment::default() });
        let seen = counted(&segments);
        assert_eq!((seen.sent, seen.lost), (1000.0, 0.0));
        assert_eq!(counted(&[]), RateTrial::default());
        assert_eq!(RateTrial::default().loss(0.005), 1.0, "nothing sent is nothing kept");
    }

    #[test]
    fn runs_of_loss_are_events() {
        let received = [100.0, 90.0, 80.0, 100.0, 100.0, 99.0, 100.0, 100.0, 100.0, 100.0];
        let lossy = received.map(whole);
        assert_eq!(counted(&[&[whole(100.0); 5][..], &lossy].concat()).loss_events, 2.0);
    }
}
