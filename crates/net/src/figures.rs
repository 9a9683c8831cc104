//! Figures of a trial from the reports of both ends. Pure: no input or output.

use crate::report::{Report, Row, Stream};
use crate::stalls::Stalls;
use plimsoll_model::{
    ErrorKind, Flow, Job, LatencySummary, Measure, Metric, OpKind, OpStats, PartResult, Series,
    StreamJob, Window,
};
use std::collections::BTreeMap;

/// Nanoseconds and microseconds of a second.
const NANOSECONDS: f64 = 1e9;
const MICROSECONDS: f64 = 1e6;
/// Most windows of a series: two hours of tenths of a second.
const MOST_WINDOWS: usize = 72_000;

/// The result of one part of a workload. Figures that no end reported are left out.
pub(crate) fn part(job: &Job, near: &Report, far: &Report, window_seconds: f64) -> PartResult {
    let mut figures = Figures(PartResult::default());
    let stalls = match job {
        Job::TcpStream(_) => Stalls::new(near.received().chain(far.received())),
        _ => Stalls::default(),
    };
    match job {
        Job::TcpStream(job) => {
            figures.goodput(job.flow, near, far, stalls.measured_seconds());
            figures.tcp(near, far);
        }
        Job::Datagrams(job) => {
            figures.goodput(job.flow, near, far, 0.0);
            figures.datagrams(near, far);
        }
        Job::Forwarding(job) => {
            figures.goodput(job.flow, near, far, 0.0);
            figures.datagrams(near, far);
        }
        Job::Request(_) => {
            figures.requests(near, OpKind::REQUEST, Measure::REQUESTS);
            figures.cpu_per_packet(near, far, Report::sum(near.streams.iter(), "packets_count"));
        }
        Job::Connect(_) => {
            // Whichever end opens the connections reports their times.
            let opens =
                |report: &&Report| report.streams.iter().any(|s| s.times("latency").is_some());
            let opener = [near, far].into_iter().find(opens).unwrap_or(near);
            figures.requests(opener, OpKind::CONNECT, Measure::CONNECTIONS);
            let count = Report::sum(opener.streams.iter(), "packets_count");
            figures.cpu_per_packet(near, far, count);
        }
        _ => {}
    }
    figures.busiest(near, far);
    figures.series(job, near, far, window_seconds);
    let PartResult { mut quantities, ops, series, .. } = figures.0;
    quantities.retain(|_, value| value.is_finite());
    let elapsed =
        near.streams.iter().chain(&far.streams).filter_map(|s| s.number("total_elapsed_ns"));
    let whole = elapsed.reduce(f64::max).map(|ns| ns / NANOSECONDS);
    let answered_seconds = whole.map(|whole| (whole - stalls.seconds()).max(0.0));
    PartResult {
        quantities,
        ops,
        series,
        answered_seconds,
        stalls: stalls.list(),
        ..PartResult::default()
    }
}

/// Share of the round trips that counts for responsiveness: the longest are left out.
const TRIMMED: f64 = 0.95;

/// Adds the responsiveness to the first part of a workload: requests at a rate, with TCP streams at the same time. As in
/// the draft without TLS, it is the mean of two rates: that of round trips on connections of their own, and that of
/// round trips on the connections of the load. Of the draft's three times of the former only the request is measured, and
/// the latter are those that TCP measures.
pub(crate) fn add_responsiveness(
    jobs: &[&Job],
    reports: &[(Report, Report)],
    parts: &mut [PartResult],
) {
    let ([Job::Request(requests), Job::TcpStream(_)], [_, (near, far)]) = (jobs, reports) else {
        return;
    };
    let Some(first) = parts.first_mut().filter(|_| requests.rate.is_some()) else { return };
    let latency = first.ops.get(&OpKind::REQUEST).map(|stats| &stats.client_latency);
    let histogram = latency.and_then(|latency| latency.histogram.as_ref());
    let apart = histogram.and_then(|histogram| histogram.trimmed_mean_seconds(TRIMMED));
    let trips = round_trips(near, far);
    let kept = (TRIMMED * trips.len() as f64).ceil() as usize;
    let within = mean(&trips[..kept.min(trips.len())]);
    if let (Some(apart), Some(within)) = (apart, within)
        && apart > 0.0
        && within > 0.0
    {
        let rate = (1.0 / apart + 1.0 / within) / 2.0;
        first.quantities.insert(Metric::all(Measure::RESPONSIVENESS), rate);
    }
}

/// Round trips that TCP measured while the streams were counted, in seconds, in ascending order.
fn round_trips(near: &Report, far: &Report) -> Vec<f64> {
    let counted_trips = |stream: &Stream| {
        let lead = stream.lead_ns();
        let rows = stream.rows.iter().filter(move |row| row.at_ns > lead && row.rtt_us > 0);
        rows.map(|row| row.rtt_us as f64 / MICROSECONDS).collect::<Vec<_>>()
    };
    let mut trips: Vec<f64> = near.sent().chain(far.sent()).flat_map(counted_trips).collect();
    trips.sort_by(f64::total_cmp);
    trips
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

struct Figures(PartResult);

/// Bytes or counts per second of the measured part, of all streams together; `None` without one.
fn rate<'a>(streams: impl Iterator<Item = &'a Stream>, key: &str) -> Option<f64> {
    rate_between(streams, key, 0.0)
}

/// The same between stalls of so many seconds; of a part that is a stall from its begin to its end, in its whole time.
fn rate_between<'a>(
    streams: impl Iterator<Item = &'a Stream>,
    key: &str,
    stalled_seconds: f64,
) -> Option<f64> {
    let rate = |stream: &Stream| {
        let whole = stream.number("elapsed_ns")? / NANOSECONDS;
        let answered = whole - stalled_seconds;
        let seconds = if answered > 0.0 { answered } else { whole };
        (seconds > 0.0).then_some(stream.number(key)? / seconds)
    };
    let rates: Vec<f64> = streams.filter_map(rate).collect();
    (!rates.is_empty()).then(|| rates.iter().sum())
}

/// A share of a whole; `None` of nothing.
fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|whole| *whole > 0.0)?)
}

impl Figures {
    fn put(&mut self, measure: Measure, value: Option<f64>) {
        if let Some(value) = value {
            self.0.quantities.insert(Metric::all(measure), value);
        }
    }

    /// Goodput is counted where it arrives, between stalls of so many seconds.
    fn goodput(&mut self, flow: Flow, near: &Report, far: &Report, stalled_seconds: f64) {
        let out = rate_between(far.received(), "bytes", stalled_seconds);
        let back = rate_between(near.received(), "bytes", stalled_seconds);
        match flow {
            Flow::Out => self.put(Measure::THROUGHPUT, out),
            Flow::In => self.put(Measure::THROUGHPUT, back),
            Flow::Both => {
                self.put(Measure::THROUGHPUT, out.zip(back).map(|(out, back)| out + back));
                self.put(Measure::GOODPUT_OUT, out);
                self.put(Measure::GOODPUT_IN, back);
            }
        }
        let bytes = Report::sum(far.received().chain(near.received()), "bytes");
        for (measure, end) in [(Measure::NEAR_CPU_PER_BYTE, near), (Measure::FAR_CPU_PER_BYTE, far)]
        {
            let cpu = Report::sum(end.streams.iter(), "cpu_ns").map(|ns| ns / NANOSECONDS);
            self.put(measure, share(cpu, bytes));
        }
    }

    /// What TCP knows of its connections, at the ends that sent.
    fn tcp(&mut self, near: &Report, far: &Report) {
        let sent = || near.sent().chain(far.sent());
        let sum = |key: &str| Report::sum(sent(), key);
        let by_bytes = sum("retransmitted_bytes").zip(sum("acked_bytes"));
        let retransmitted = match by_bytes {
            Some((again, acked)) => share(Some(again), Some(again + acked)),
            None => share(sum("retransmits_count"), sum("sent_segments_count")),
        };
        self.put(Measure::RETRANSMITTED, retransmitted);
        self.put(Measure::TCP_EFFICIENCY, retransmitted.map(|share| 1.0 - share));
        // Without ECN nothing is marked, which says nothing of the path.
        let ecn = || sent().filter(|stream| stream.is("ecn_negotiated"));
        let (marked, delivered) =
            (Report::sum(ecn(), "ecn_marked_count"), Report::sum(ecn(), "delivered_count"));
        self.put(Measure::ECN_MARKED, share(marked, delivered));
        let least_of = |key: &str| {
            sent().filter_map(|stream| stream.number(key)).filter(|b| *b > 0.0).reduce(f64::min)
        };
        self.put(Measure::SEGMENT, least_of("send_mss_bytes"));
        self.put(Measure::PATH_MTU, least_of("path_mtu_bytes"));
        self.put(Measure::WINDOW_LIMITED, share(sum("window_limited_us"), sum("busy_us")));
        self.put(Measure::BUFFER_LIMITED, share(sum("buffer_limited_us"), sum("busy_us")));
        let least = least_of("least_rtt_us").map(|us| us / MICROSECONDS);
        self.put(Measure::FLOW_RTT_LEAST, least);
        let trips = round_trips(near, far);
        self.put(Measure::FLOW_RTT_P50, trips.get(trips.len() / 2).copied());
        self.put(Measure::FLOW_RTT_MAX, trips.last().copied());
        let mean = mean(&trips);
        self.put(Measure::FLOW_RTT_MEAN, mean);
        // The smoothed round trip may be below the smallest by rounding.
        let delay = mean.zip(least).map(|(mean, least)| (mean - least).max(0.0));
        self.put(Measure::BUFFER_DELAY, share(delay, least));
    }

    fn datagrams(&mut self, near: &Report, far: &Report) {
        let received = || near.received().chain(far.received());
        let sum = |key: &str| Report::sum(received(), key);
        self.put(Measure::PACKETS, rate(received(), "packets_count"));
        self.put(StreamJob::OFFERED, rate(near.sent().chain(far.sent()), "bytes"));
        let (got, lost) = (sum("received_count"), sum("lost_count"));
        let due = got.zip(lost).map(|(got, lost)| got + lost);
        self.put(StreamJob::LOSS, share(lost, due));
        self.put(Measure::REORDERED, share(sum("reordered_count"), got));
        self.put(Measure::DUPLICATED, share(sum("duplicate_count"), got));
        self.put(Measure::SOCKET_DROPPED, share(sum("socket_dropped_count"), due));
        let jitter = received().filter_map(|stream| stream.number("jitter_ns"));
        self.put(Measure::JITTER, jitter.reduce(f64::max).map(|ns| ns / NANOSECONDS));
        self.cpu_per_packet(near, far, sum("packets_count"));
    }

    fn requests(&mut self, opener: &Report, kind: OpKind, per_second: Measure) {
        let streams = || opener.streams.iter();
        self.put(per_second, rate(streams(), "packets_count"));
        let answered = Report::sum(streams(), "packets_count");
        let mut unanswered = Report::sum(streams(), "unanswered_count");
        if kind == OpKind::CONNECT {
            // Also those that were refused, or timed out before they were up.
            let refused = Report::sum(streams(), "refused_count").unwrap_or(0.0);
            unanswered = unanswered.map(|count| count + refused);
        }
        let asked = answered.zip(unanswered).map(|(answered, not)| answered + not);
        self.put(Measure::UNANSWERED, share(unanswered, asked));
        let mut latency: Option<LatencySummary> = None;
        for times in streams().filter_map(|stream| stream.times("latency")) {
            match &mut latency {
                Some(all) => all.add(&times),
                None => latency = Some(times),
            }
        }
        let Some(client_latency) = latency.filter(|times| times.histogram.is_some()) else {
            return;
        };
        client_latency.figures().for_each(|(measure, value)| self.put(measure, Some(value)));
        let count = client_latency.histogram.as_ref().map_or(0, |histogram| histogram.count());
        let errors = unanswered.filter(|count| *count > 0.0);
        let errors = errors.map(|count| (ErrorKind::TimedOut, count as u64)).into_iter().collect();
        let stats = OpStats { count, bytes: 0, errors, client_latency, rpc_latency: None };
        self.0.ops = BTreeMap::from([(kind, stats)]);
    }

    fn cpu_per_packet(&mut self, near: &Report, far: &Report, packets: Option<f64>) {
        for (measure, end) in
            [(Measure::NEAR_CPU_PER_PACKET, near), (Measure::FAR_CPU_PER_PACKET, far)]
        {
            let cpu = Report::sum(end.streams.iter(), "cpu_ns").map(|ns| ns / NANOSECONDS);
            self.put(measure, share(cpu, packets));
        }
    }

    /// Each stream is a process, which one core at most works for.
    fn busiest(&mut self, near: &Report, far: &Report) {
        for (measure, end) in [(Measure::NEAR_BUSIEST, near), (Measure::FAR_BUSIEST, far)] {
            let busy =
                |stream: &Stream| share(stream.number("cpu_ns"), stream.number("elapsed_ns"));
            self.put(measure, end.streams.iter().filter_map(busy).reduce(f64::max));
        }
    }

    /// What arrived, window by window, from the start of the streams.
    fn series(&mut self, job: &Job, near: &Report, far: &Report, window_seconds: f64) {
        let kinds: Vec<(OpKind, Vec<&Stream>)> = match job {
            Job::TcpStream(_) | Job::Datagrams(_) | Job::Forwarding(_) => vec![
                (OpKind::SEND, far.received().collect()),
                (OpKind::RECEIVE, near.received().collect()),
            ],
            Job::Request(_) => vec![(OpKind::REQUEST, near.streams.iter().collect())],
            Job::Connect(_) => vec![(OpKind::CONNECT, near.streams.iter().collect())],
            _ => Vec::new(),
        };
        let mut windows: Vec<Window> = Vec::new();
        for (kind, streams) in kinds {
            for stream in streams {
                add_windows(&mut windows, kind, &stream.rows, window_seconds);
            }
        }
        self.0.series = Series::new(window_seconds, &windows);
    }
}

/// Adds what a stream did in each window: its sums, interpolated at the ends of the windows.
fn add_windows(windows: &mut Vec<Window>, kind: OpKind, rows: &[Row], window_seconds: f64) {
    let window_ns = window_seconds * NANOSECONDS;
    let Some(last) = rows.last().filter(|_| window_ns >= 1.0) else { return };
    let count = ((last.at_ns as f64 / window_ns).ceil() as usize).min(MOST_WINDOWS);
    let (mut before, mut row) = (Row::default(), 0);
    for number in 0..count {
        let end = if number + 1 == count { f64::INFINITY } else { (number + 1) as f64 * window_ns };
        while rows.get(row).is_some_and(|next| (next.at_ns as f64) < end) {
            row += 1;
        }
        let at = match (row.checked_sub(1).map(|at| rows[at]), rows.get(row)) {
            (earlier, Some(later)) => {
                let earlier = earlier.unwrap_or_default();
                let span = (later.at_ns - earlier.at_ns).max(1) as f64;
                let passed = ((end - earlier.at_ns as f64) / span).clamp(0.0, 1.0);
                let between = |a: u64, b: u64| {
                    a.saturating_add(((b - a) as f64 * passed).round() as u64).min(b)
                };
                Row {
                    bytes: between(earlier.bytes, later.bytes),
                    operations: between(earlier.operations, later.operations),
                    ..Row::default()
                }
            }
            (_, None) => *last,
        };
        let window = Window::only(
            kind,
            at.operations.saturating_sub(before.operations),
            at.bytes.saturating_sub(before.bytes),
        );
        before = at;
        if windows.len() == number {
            windows.push(Window::default());
        }
        windows[number].add(&window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{ConnectJob, DatagramsJob, RequestJob, TcpStreamJob};
    use serde_json::{Value, json};

    fn report(sections: &[Value]) -> Report {
        let mut report = Report::default();
        sections.iter().for_each(|section| report.take(section, 0).unwrap());
        report
    }

    fn stream(direction: &str, more: Value) -> Value {
        let mut section = json!({"section": "net_stream", "stream_number": 0, "direction": direction,
            "outcome": "done", "elapsed_ns": 2_000_000_000_u64, "cpu_ns": 500_000_000_u64,
            "total_elapsed_ns": 2_200_000_000_u64});
        let values = more.as_object().cloned().unwrap();
        section.as_object_mut().unwrap().extend(values);
        section
    }

    #[track_caller]
    fn value(result: &PartResult, measure: Measure) -> f64 {
        *result
            .quantities
            .get(&Metric::all(measure))
            .unwrap_or_else(|| panic!("{measure}: {result:?}"))
    }

    #[test]
    fn goodput_is_what_the_receiver_got_and_cpu_is_known_at_both_ends() {
        let rows = json!({"section": "net_intervals", "stream_number": 0,
            "columns": ["at_ns", "bytes", "calls_count", "rtt_us"],
            "rows": [[150_000_000, 1500, 3, 0], [250_000_000, 2500, 5, 0]]});
        let sent = stream(
            "send",
            json!({"bytes": 9_000_000, "retransmitted_bytes": 100, "acked_bytes": 9900,
            "ecn_negotiated": true, "ecn_marked_count": 3, "delivered_count": 12,
            "send_mss_bytes": 1448, "path_mtu_bytes": 1500, "busy_us": 2000, "window_limited_us": 500, "buffer_limited_us": 0, "least_rtt_us": 90}),
        );
        let trips = json!({"section": "net_intervals", "stream_number": 0, "columns": ["at_ns", "rtt_us"],
            "rows": [[100_000_000, 5], [1_200_000_000, 100], [1_700_000_000, 300], [2_200_000_000_u64, 200]]});
        let near = report(&[sent, trips]);
        let far = report(&[stream("receive", json!({"bytes": 8_000_000})), rows]);
        let result = part(&TcpStreamJob::new(Flow::Out).into(), &near, &far, 0.1);
        assert_eq!(value(&result, Measure::THROUGHPUT), 4e6);
        assert_eq!(value(&result, Measure::NEAR_CPU_PER_BYTE), 0.5 / 8e6);
        assert_eq!(value(&result, Measure::FAR_BUSIEST), 0.25);
        assert_eq!(value(&result, Measure::RETRANSMITTED), 0.01);
        assert_eq!(value(&result, Measure::WINDOW_LIMITED), 0.25);
        let trip = |measure| (value(&result, measure) * 1e6).round();
        // That of the lead-in is left out.
        assert_eq!((trip(Measure::FLOW_RTT_P50), trip(Measure::FLOW_RTT_MAX)), (200.0, 300.0));
        assert_eq!(trip(Measure::FLOW_RTT_LEAST), 90.0);
        // RFC 6349: (200 - 90) / 90.
        assert_eq!(trip(Measure::FLOW_RTT_MEAN), 200.0);
        assert!((value(&result, Measure::BUFFER_DELAY) - 110.0 / 90.0).abs() < 1e-9);
        assert_eq!(value(&result, Measure::TCP_EFFICIENCY), 0.99);
        assert_eq!(value(&result, Measure::ECN_MARKED), 0.25);
        assert_eq!(value(&result, Measure::SEGMENT), 1448.0);
        assert_eq!(value(&result, Measure::PATH_MTU), 1500.0);
        assert_eq!(result.answered_seconds, Some(2.2));
        let windows: Vec<(u64, u64)> =
            result.series.windows().map(|window| (window.operations(), window.bytes())).collect();
        assert_eq!(windows, [(2, 1000), (2, 1000), (1, 500)]);
    }

    /// Requests take 10 ms, and once 1 s, which is left out; in the streams TCP measures 40 ms.
    #[test]
    fn responsiveness_is_the_mean_of_the_rates_apart_from_the_load_and_within_it() {
        let ns = 10_000_000_u64;
        let asked = stream(
            "send",
            json!({"packets_count": 40, "latency": {"count": 40, "sum_ns": 39 * ns + 1_000_000_000,
                "least_ns": ns, "most_ns": 1_000_000_000, "steps": [[ns, 39], [1_000_000_000, 1]]}}),
        );
        let sent = stream("send", json!({"bytes": 1_000_000}));
        let rows = json!({"section": "net_intervals", "stream_number": 0,
            "columns": ["at_ns", "rtt_us"], "rows": [[1_000_000_000, 40_000], [2_200_000_000_u64, 40_000]]});
        let reports = [
            (report(&[asked]), Report::default()),
            (report(&[sent, rows]), report(&[stream("receive", json!({"bytes": 1_000_000}))])),
        ];
        let jobs = [Job::from(RequestJob::sparse()), TcpStreamJob::new(Flow::Out).into()];
        let mut parts: Vec<PartResult> =
            jobs.iter().zip(&reports).map(|(job, (near, far))| part(job, near, far, 0.1)).collect();
        add_responsiveness(&[&jobs[0], &jobs[1]], &reports, &mut parts);
        let rate = value(&parts[0], Measure::RESPONSIVENESS);
        assert!((rate - (100.0 + 25.0) / 2.0).abs() < 1.0, "{rate}");
        // Nothing is said of round trips without a load.
        let mut alone = vec![parts[0].clone()];
        alone[0].quantities.remove(&Metric::all(Measure::RESPONSIVENESS));
        add_responsiveness(&[&jobs[0]], &reports[..1], &mut alone);
        assert!(!alone[0].quantities.contains_key(&Metric::all(Measure::RESPONSIVENESS)));
    }

    #[test]
    fn both_directions_are_summed_and_shown_apart() {
        let near = report(&[
            stream("send", json!({"bytes": 1})),
            stream("receive", json!({"bytes": 2_000_000})),
        ]);
        let far = report(&[stream("receive", json!({"bytes": 6_000_000}))]);
        let result = part(&TcpStreamJob::new(Flow::Both).into(), &near, &far, 0.1);
        assert_eq!(value(&result, Measure::GOODPUT_OUT), 3e6);
        assert_eq!(value(&result, Measure::GOODPUT_IN), 1e6);
        assert_eq!(value(&result, Measure::THROUGHPUT), 4e6);
    }

    #[test]
    fn datagrams_are_lost_reordered_and_late() {
        let near = report(&[stream("send", json!({"bytes": 10_000_000}))]);
        let received = json!({"bytes": 4_000_000, "packets_count": 1000, "received_count": 900, "lost_count": 100,
            "reordered_count": 9, "duplicate_count": 0, "socket_dropped_count": 50, "jitter_ns": 2000});
        let far = report(&[stream("receive", received)]);
        let result = part(&DatagramsJob::new(Flow::Out).into(), &near, &far, 0.1);
        assert_eq!(value(&result, StreamJob::LOSS), 0.1);
        assert_eq!(value(&result, StreamJob::OFFERED), 5e6);
        assert_eq!(value(&result, Measure::PACKETS), 500.0);
        assert_eq!(value(&result, Measure::SOCKET_DROPPED), 0.05);
        assert_eq!(value(&result, Measure::FAR_CPU_PER_PACKET), 0.0005);
    }

    #[test]
    fn requests_have_a_distribution() {
        let latency = json!({"count": 4000, "sum_ns": 800_000_000_u64, "least_ns": 150_000, "most_ns": 400_000,
            "steps": [[200_000, 3900], [400_000, 100]]});
        let near = report(&[stream(
            "send",
            json!({"packets_count": 4000, "unanswered_count": 0, "latency": latency}),
        )]);
        let result = part(&RequestJob::new().into(), &near, &Report::default(), 0.1);
        assert_eq!(value(&result, Measure::REQUESTS), 2000.0);
        assert!((value(&result, Measure::LATENCY_MEAN) - 200e-6).abs() < 1e-9);
        assert!((value(&result, Measure::LATENCY_P99) / 400e-6 - 1.0).abs() < 0.01);
        assert_eq!(result.ops[&OpKind::REQUEST].count, 4000);
        assert_eq!(value(&result, Measure::UNANSWERED), 0.0);
    }

    #[test]
    fn refused_connections_are_unanswered() {
        let latency = json!({"count": 30, "sum_ns": 30_000, "least_ns": 1000, "most_ns": 1000,
            "steps": [[1000, 30]]});
        let counts = json!({"packets_count": 30, "unanswered_count": 4, "refused_count": 6, "latency": latency});
        let near = report(&[stream("send", counts)]);
        let result = part(&ConnectJob { streams: 1 }.into(), &near, &Report::default(), 0.1);
        assert_eq!(value(&result, Measure::UNANSWERED), 0.25);
        assert_eq!(result.ops[&OpKind::CONNECT].errors[&ErrorKind::TimedOut], 10);
    }

    /// The end of a window between two sums that no sender can have.
    #[test]
    fn sums_near_the_largest_number_make_no_panic() {
        let rows = json!({"section": "net_intervals", "stream_number": 0, "columns": ["at_ns", "bytes"],
            "rows": [[50_000_000, 5], [100_000_000, u64::MAX], [u64::MAX, u64::MAX]]});
        let far = report(&[stream("receive", json!({"bytes": 1})), rows]);
        let result = part(&TcpStreamJob::new(Flow::Out).into(), &Report::default(), &far, 0.1);
        assert!(!result.series.is_empty());
    }

    /// It was a low rate, and nothing said why.
    #[test]
    fn tcp_that_stops_in_a_trial_has_its_rate_between_stalls() {
        let sums: Vec<Value> = (1..=22_u64)
            .map(|tenth| json!([tenth * 100_000_000, 1_000_000 * tenth.min(7), 100 * tenth.min(7)]))
            .collect();
        let rows = json!({"section": "net_intervals", "stream_number": 0,
            "columns": ["at_ns", "bytes", "calls_count"], "rows": sums});
        let counts = json!({"bytes": 5_000_000, "total_bytes": 7_000_000});
        let far = report(&[stream("receive", counts), rows]);
        let result = part(&TcpStreamJob::new(Flow::Out).into(), &Report::default(), &far, 0.1);
        // 0.5 s of the 2 s that count were before the stall.
        assert!((value(&result, Measure::THROUGHPUT) - 1e7).abs() < 1.0, "{result:?}");
        assert_eq!(result.stalls.len(), 1);
        assert!((result.stalls[0].seconds - 1.5).abs() < 1e-9, "{result:?}");
        assert!((result.answered_seconds.unwrap() - 0.7).abs() < 1e-9, "{result:?}");
    }

    #[test]
    fn nothing_reported_is_no_figure() {
        let none = Report::default();
        let result = part(&TcpStreamJob::new(Flow::Both).into(), &none, &none, 0.1);
        assert!(result.quantities.is_empty() && result.ops.is_empty(), "{result:?}");
        assert!(result.series.is_empty() && result.answered_seconds.is_none());
    }
}
