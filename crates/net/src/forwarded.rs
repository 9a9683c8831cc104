//! Figures of frames that were forwarded: what both ends say of each segment. Pure: no input or output.

use crate::report::{Report, Stream};
use plimsoll_model::{Job, Measure, Metric, PartResult, StreamJob};
use plimsoll_stats::kept::{RateTrial, Segment, count};

/// Nanoseconds of a second.
const NANOSECONDS: f64 = 1e9;

/// Adds the figures of a trial of forwarding with this lead-in. Where frames go both ways, a figure is that of the worse
/// way.
pub(crate) fn add(job: &Job, near: &Report, far: &Report, lead_seconds: f64, to: &mut PartResult) {
    if !matches!(job, Job::Forwarding(_)) {
        return;
    }
    let ways: Vec<Way<'_>> = [(near, far), (far, near)]
        .into_iter()
        .flat_map(|(from, to)| from.sent().filter_map(move |sender| Way::new(sender, to)))
        .collect();
    let mut put = |measure: Measure, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            to.quantities.insert(Metric::all(measure), value);
        }
    };
    let least = |of: &dyn Fn(&Way<'_>) -> Option<f64>| ways.iter().filter_map(of).reduce(f64::min);
    let most = |of: &dyn Fn(&Way<'_>) -> Option<f64>| ways.iter().filter_map(of).reduce(f64::max);
    put(Measure::OFFERED_FRAMES, least(&|way: &Way<'_>| per_second(way.sender)));
    put(Measure::PACKETS, least(&|way: &Way<'_>| per_second(way.receiver)));
    let sent = ways.iter().filter_map(|way| way.sender.number("total_packets_count"));
    put(Measure::ALL_SENT, sent.reduce(|all, one| all + one));
    for (measure, quantile) in [(Measure::QUEUE_P50, "0.5"), (Measure::QUEUE_P99, "0.99")] {
        put(measure, most(&|way: &Way<'_>| way.receiver.times("delay")?.quantile(quantile)));
    }
    let longest = |way: &Way<'_>| Some(way.receiver.times("delay")?.max_seconds);
    put(Measure::QUEUE_MOST, most(&longest));
    let seen: Vec<RateTrial> = ways
        .iter()
        .map(Way::segments)
        .filter(|segments| !segments.is_empty())
        .map(|segments| count(&segments, lead_seconds))
        .collect();
    let worse = seen.iter().max_by(|a, b| a.loss(0.0).total_cmp(&b.loss(0.0)));
    let Some(worse) = worse else { return };
    let least = |of: fn(&RateTrial) -> f64| seen.iter().map(of).reduce(f64::min);
    let most = |of: fn(&RateTrial) -> f64| seen.iter().map(of).reduce(f64::max);
    put(Measure::COUNTED, least(|seen| seen.seconds));
    put(Measure::HELD, least(|seen| seen.held_seconds));
    put(Measure::VOID, most(|seen| seen.void_ratio));
    put(Measure::LEAD_LOSS, most(|seen| seen.lead_loss_ratio));
    put(Measure::LOSS_EVENTS, most(|seen| seen.loss_events));
    put(Measure::COUNTED_SENT, Some(worse.sent));
    put(Measure::COUNTED_LOST, Some(worse.lost));
    put(Measure::DELAY_SLOPE, worse.slope.map(|slope| slope.estimate));
    put(Measure::DELAY_SLOPE_LOW, worse.slope.map(|slope| slope.low));
    put(Measure::LATE_LOSS, Some(worse.late_loss_ratio));
    put(Measure::LATE_RATE, Some(worse.plateau));
    put(Measure::ALL_RECEIVED, Some(worse.all_received));
    put(Measure::ALL_SEGMENTS, Some(worse.all_seconds));
    put(Measure::QUEUE_GROWTH, Some(worse.queue_seconds));
    put(StreamJob::LOSS, (worse.sent > 0.0).then(|| worse.lost / worse.sent));
}

/// Frames in one direction.
struct Way<'a> {
    sender: &'a Stream,
    receiver: &'a Stream,
}

impl<'a> Way<'a> {
    fn new(sender: &'a Stream, to: &'a Report) -> Option<Way<'a>> {
        let receiver = to.received().find(|stream| stream.number == sender.number)?;
        Some(Way { sender, receiver })
    }

    fn segments(&self) -> Vec<Segment> {
        let seconds = |ns: i64| ns as f64 / NANOSECONDS;
        let each = |(number, sent): (usize, &crate::report::SegmentRow)| {
            let received = self.receiver.segments.get(number).filter(|row| row.packets > 0);
            Segment {
                sent: sent.packets as f64,
                received: received.map_or(0.0, |row| row.packets.min(sent.packets) as f64),
                late_seconds: seconds(sent.most_ns),
                delay_seconds: received.map(|row| seconds(row.least_ns)),
            }
        };
        self.sender.segments.iter().enumerate().map(each).collect()
    }
}

/// Frames per second of the whole trial but its lead-in.
fn per_second(stream: &Stream) -> Option<f64> {
    let seconds = stream.number("elapsed_ns")? / NANOSECONDS;
    (seconds > 0.0).then_some(stream.number("packets_count")? / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::Bytes;
    use plimsoll_model::{Flow, ForwardingJob};
    use serde_json::json;

    /// An end with one stream of these segments: frames, and a time of each segment.
    fn end(number: u64, direction: &str, segments: &[(u64, i64)]) -> Report {
        let frames: u64 = segments.iter().map(|(frames, _)| frames).sum();
        let rows: Vec<serde_json::Value> =
            segments.iter().map(|(frames, ns)| json!([frames, ns, ns, ns])).collect();
        let mut report = Report::default();
        let stream = json!({"section": "net_stream", "stream_number": number, "direction": direction,
            "outcome": "done", "elapsed_ns": 1_000_000_000_u64, "packets_count": frames,
            "total_packets_count": frames});
        let rows = json!({"section": "net_segments", "stream_number": number,
            "columns": ["times_count", "times_least_ns", "times_most_ns", "times_sum_ns"],
            "rows": rows});
        report.take(&stream, 0).unwrap();
        report.take(&rows, 0).unwrap();
        report
    }

    fn figures(near: &Report, far: &Report) -> impl Fn(Measure) -> Option<f64> + use<> {
        let job = Job::from(ForwardingJob::new(Flow::Out, Bytes(512)));
        let mut result = PartResult::default();
        add(&job, near, far, 0.5, &mut result);
        move |measure| result.quantities.get(&Metric::all(measure)).copied()
    }

    #[test]
    fn what_both_ends_say_of_a_segment_is_put_together() {
        let mut sent = [(100, 50_000); 15];
        // A late frame voids two segments, whatever was lost in them.
        sent[7].1 = 3_000_000;
        let mut received = [(100, -20_000); 15];
        received[7].0 = 60;
        received[10].0 = 98;
        let value = figures(&end(0, "send", &sent), &end(0, "receive", &received));
        assert_eq!(value(Measure::COUNTED_SENT), Some(800.0));
        assert_eq!(value(Measure::COUNTED_LOST), Some(2.0));
        assert_eq!(value(Measure::VOID), Some(0.2));
        assert_eq!(value(StreamJob::LOSS), Some(2.0 / 800.0));
        assert_eq!(value(Measure::ALL_SENT), Some(1500.0));
        assert_eq!(value(Measure::LOSS_EVENTS), Some(1.0));
        assert!(value(Measure::DELAY_SLOPE).unwrap().abs() < 1e-9);
    }

    #[test]
    fn of_both_ways_the_worse_one_counts() {
        let whole = [(100, 0); 15];
        let mut lossy = whole;
        lossy[12].0 = 50;
        let mut near = end(0, "send", &whole);
        near.streams.extend(end(1, "receive", &lossy).streams);
        let mut far = end(0, "receive", &whole);
        far.streams.extend(end(1, "send", &whole).streams);
        let value = figures(&near, &far);
        assert_eq!(value(Measure::COUNTED_LOST), Some(50.0));
        assert_eq!(value(Measure::ALL_SENT), Some(3000.0));
        // What never arrived is lost.
        let value = figures(&end(0, "send", &whole), &end(0, "receive", &[]));
        assert_eq!(value(StreamJob::LOSS), Some(1.0));
    }
}
