//! What a run of iperf3 moved in each direction. The client's output has the counts of both ends; the server's has its
//! own counts, and zeros in place of the client's.

use super::{number, text};
use crate::import::paths::{Interval, MOST_INTERVALS};
use plimsoll_model::Flow;
use serde_json::Value;

/// Ends of the names of the sums of what the server sent, if data went both ways.
const REVERSE: &str = "_bidir_reverse";

/// Data in one direction. What is not known is absent.
#[derive(Debug)]
pub(super) struct Way {
    /// Out of the client, or in.
    pub(super) flow: Flow,
    /// Bytes per second that arrived.
    pub(super) received: Option<f64>,
    /// Bytes per second that were sent.
    pub(super) sent: Option<f64>,
    /// Bytes that arrived; if that is not known, bytes that were sent.
    pub(super) bytes: Option<f64>,
    pub(super) seconds: Option<f64>,
    /// Datagrams that were sent.
    pub(super) packets: Option<f64>,
    /// Datagrams that did not arrive.
    pub(super) lost: Option<f64>,
    pub(super) jitter_seconds: Option<f64>,
    /// Segments that TCP sent again.
    pub(super) sent_again: Option<f64>,
    /// In the order in which they were, without those that the user left out.
    pub(super) intervals: Vec<Interval>,
}

/// A result, and how its directions are told apart.
struct Directions<'a> {
    result: &'a Value,
    is_server: bool,
    is_udp: bool,
    /// iperf3 3.7 to 3.10 give the sums of both directions the same names: then the streams are added up.
    is_by_stream: bool,
}

/// Whether this is the output of the server.
pub(super) fn is_server(result: &Value) -> bool {
    let start = &result["start"];
    start.get("accepted_connection").is_some() && start.get("connecting_to").is_none()
}

/// Directions of the data. Versions before 3.13 do not say that it went both ways.
pub(super) fn flow(result: &Value) -> Flow {
    let is_set =
        |key: &str| number(result, &["start", "test_start", key]).is_some_and(|value| value > 0.0);
    let streams = || result["end"]["streams"].as_array().into_iter().flatten();
    let is_sender = |wanted: bool| streams().any(|stream| sends(stream) == Some(wanted));
    if is_set("bidir") || has_reverse(result) || (is_sender(true) && is_sender(false)) {
        return Flow::Both;
    }
    if is_set("reverse") { Flow::In } else { Flow::Out }
}

/// Whether the sums of what the server sent have names of their own.
fn has_reverse(result: &Value) -> bool {
    let end = result["end"].as_object();
    end.is_some_and(|end| end.keys().any(|key| key.ends_with(REVERSE)))
}

/// Whether the end that wrote the output sent a stream.
fn sends(stream: &Value) -> Option<bool> {
    let sender = |of: &Value| of.get("sender").and_then(Value::as_bool);
    let parts = ["sender", "receiver", "udp"].iter().filter_map(|key| stream.get(key));
    sender(stream).or(parts.filter_map(sender).next())
}

/// What was moved in each direction.
pub(super) fn ways(result: &Value) -> Vec<Way> {
    let flow = flow(result);
    let directions = Directions {
        result,
        is_server: is_server(result),
        is_udp: text(result, &["start", "test_start", "protocol"]) == Some("UDP"),
        is_by_stream: flow == Flow::Both && !has_reverse(result),
    };
    match flow {
        Flow::Both => vec![directions.way(Flow::Out, ""), directions.way(Flow::In, REVERSE)],
        one => vec![directions.way(one, "")],
    }
}

impl Directions<'_> {
    fn way(&self, flow: Flow, suffix: &str) -> Way {
        let sum = |name: &str, key: &str| match self.is_by_stream {
            true => self.by_stream(flow, name, key),
            false => number(&self.result["end"], &[&format!("{name}{suffix}"), key]),
        };
        let is_known = |value: &f64| *value > 0.0;
        let rate =
            |name: &str| sum(name, "bits_per_second").map(|bits| bits / 8.0).filter(is_known);
        // The server has its own counts alone.
        let arrives_here = (flow == Flow::Out) == self.is_server;
        let knows = |is_here: bool| is_here || !self.is_server;
        let intervals = self.intervals(flow, suffix);
        let (counted, lasted) = intervals
            .iter()
            .fold((0.0, 0.0), |(bytes, seconds), one| (bytes + one.bytes, seconds + one.seconds));
        let counted = Some(counted).filter(is_known).filter(|_| arrives_here);
        let packets = sum("sum", "packets").filter(is_known);
        let lost = sum("sum", "lost_packets").filter(|_| self.is_udp && knows(arrives_here));
        // Version 3.12 loses more datagrams than it sends, after seconds that are left out.
        let lost = lost.filter(|lost| packets.is_some_and(|packets| *lost <= packets));
        let arrived = lost.zip(packets).map(|(lost, packets)| 1.0 - lost / packets);
        let of_sum = |value: Option<f64>| value.zip(arrived).map(|(sent, arrived)| sent * arrived);
        let received = rate("sum_received").or_else(|| of_sum(rate("sum")));
        let received = received.or_else(|| counted.map(|bytes| bytes / lasted));
        let bytes = |name: &str| sum(name, "bytes").filter(is_known);
        let sent = rate("sum_sent").or_else(|| rate("sum"));
        let sent = sent.filter(|_| knows(!arrives_here));
        let seconds = sum("sum_received", "seconds").or_else(|| sum("sum", "seconds"));
        Way {
            flow,
            received: received.filter(|_| knows(arrives_here)),
            sent,
            bytes: bytes("sum_received")
                .or_else(|| of_sum(bytes("sum")))
                .or(counted)
                .or_else(|| bytes("sum_sent")),
            seconds: seconds.filter(is_known),
            packets: packets.filter(|_| self.is_udp),
            lost,
            jitter_seconds: sum("sum", "jitter_ms")
                .filter(|_| self.is_udp && knows(arrives_here))
                .map(|ms| ms / 1e3),
            sent_again: sum("sum_sent", "retransmits").filter(|_| knows(!arrives_here)),
            intervals,
        }
    }

    fn is_of(&self, stream: &Value, flow: Flow) -> bool {
        sends(stream) == Some((flow == Flow::Out) != self.is_server)
    }

    /// A figure of the streams of a direction together.
    fn by_stream(&self, flow: Flow, name: &str, key: &str) -> Option<f64> {
        let part = match (self.is_udp, name) {
            (true, "sum") => "udp",
            (false, "sum_sent") => "sender",
            (false, "sum_received") => "receiver",
            _ => return None,
        };
        let streams = self.result["end"]["streams"].as_array()?.iter();
        let own = streams.filter(|stream| self.is_of(stream, flow));
        let all: Vec<f64> = own.filter_map(|stream| number(stream, &[part, key])).collect();
        if all.is_empty() {
            return None;
        }
        let sum: f64 = all.iter().sum();
        Some(match key {
            "seconds" | "jitter_ms" => sum / all.len() as f64,
            _ => sum,
        })
    }

    fn intervals(&self, flow: Flow, suffix: &str) -> Vec<Interval> {
        let intervals = self.result["intervals"].as_array().into_iter().flatten();
        let interval = |interval: &Value| {
            let sum = &interval[&*format!("sum{suffix}")];
            let is_omitted = |of: &Value| of.get("omitted").and_then(Value::as_bool) == Some(true);
            if !self.is_by_stream {
                let seconds = number(sum, &["seconds"])?;
                let bytes = number(sum, &["bytes"])?;
                return (!is_omitted(sum)).then_some(Interval { seconds, bytes });
            }
            let streams = interval["streams"].as_array()?.iter();
            let own: Vec<&Value> = streams.filter(|stream| self.is_of(stream, flow)).collect();
            let seconds = own.iter().find_map(|stream| number(stream, &["seconds"]))?;
            let bytes = own.iter().filter_map(|stream| number(stream, &["bytes"])).sum();
            let is_omitted = own.iter().any(|stream| is_omitted(stream));
            (!is_omitted).then_some(Interval { seconds, bytes })
        };
        intervals.filter_map(interval).take(MOST_INTERVALS).collect()
    }
}
