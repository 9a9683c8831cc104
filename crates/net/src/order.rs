//! Trials as the probe takes them: a name, and a line for each setting. No input or output.

use crate::ends::Side;
use plimsoll_model::{
    Address, Cause, ConnectJob, DatagramsJob, Failure, Flow, ForwardingJob, Job, Length,
    RequestJob, TcpStreamJob, Workload,
};
use plimsoll_stats::kept::{LONGEST_SECONDS, MOST_LENGTHS, SEGMENT_SECONDS, late_seconds};
use std::fmt::{Display, Write};
use std::net::IpAddr;
use std::time::Duration;

/// Time for the connections to be opened.
pub(crate) const SETUP: Duration = Duration::from_secs(5);
/// Longest time that the probe waits for a connection or an answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Time for data on its way after the end of a trial.
pub(crate) const DRAIN: Duration = Duration::from_secs(1);
/// The same for datagrams of iperf3, none of which is marked as the last one.
const IPERF3_DRAIN: Duration = Duration::from_millis(500);
/// Length of the intervals that the probe reports.
const INTERVAL: Duration = Duration::from_millis(100);
/// Most intervals of a trial that the probe reports.
const MOST_INTERVALS: u128 = 4000;
/// Least payload of a datagram of the probe: its header.
pub(crate) const LEAST_PAYLOAD: u64 = 16;
/// Most datagrams per second that the probe takes of a stream; no sender reaches them.
pub const MOST_PACKETS_PER_SECOND: u32 = 100_000_000;

/// A trial on a path, before its ends know each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    /// Its name at A.
    near: &'static str,
    /// Its name at B.
    far: &'static str,
    is_udp: bool,
    settings: String,
    punctual: Option<PunctualRate>,
}

/// Rate of frames whose sender is watched segment by segment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PunctualRate {
    per_second: u32,
    /// Whether the trial ends after its length; else it goes on until the sender was punctual for its length.
    is_timed: bool,
}

/// What only one trial has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once {
    /// Number for the reports.
    pub number: u32,
    /// Secret of both ends.
    pub token: [u8; 16],
    /// Time that is not counted.
    pub lead: Duration,
    /// Time that counts.
    pub duration: Duration,
    /// Longest time that it may take to sum up, while the sender is late now and then.
    pub most: Duration,
}

/// How long a trial of a workload lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Time that is not counted.
    pub lead: Duration,
    /// Time that counts.
    pub duration: Duration,
}

impl Times {
    /// Those of a trial that shows whether the ends reach each other.
    pub const FIRST_CONTACT: Times =
        Times { lead: Duration::ZERO, duration: Duration::from_millis(50) };

    pub fn new(workload: &Workload) -> Times {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        match workload.length {
            Length::For { seconds, warm_up_seconds } => {
                Times { lead: time(warm_up_seconds), duration: time(seconds - warm_up_seconds) }
            }
            Length::UntilDone { at_most_seconds } => {
                Times { lead: Duration::ZERO, duration: time(at_most_seconds) }
            }
        }
    }
}

impl Order {
    /// The trial of a job.
    ///
    /// # Errors
    /// [`Cause::Usage`] for a job that is not done to a network path, and for frames that are too short.
    pub fn new(job: &Job, opener: Side, ipv6: bool) -> Result<Order, Failure> {
        match job {
            Job::Forwarding(job) => forwarding(job, ipv6),
            Job::TcpStream(job) => Ok(tcp(job)),
            Job::Datagrams(job) => Ok(datagrams(job)),
            Job::Request(job) => Ok(requests(job)),
            Job::Connect(job) => Ok(connections(job, opener)),
            other => {
                let happened =
                    format!("{} is not done to a network path by plimsoll net", other.kind());
                let next = "Name TCP or UDP streams, requests, connections or forwarding.";
                Err(Failure::new(Cause::Usage, "measure a path")
                    .on("a job")
                    .happened(happened)
                    .next(next))
            }
        }
    }

    /// The trial of the end that listens, on any port if `port` is 0. The peer comes from its own address, or from the one
    /// that a router puts in its place.
    pub fn listening(
        &self,
        side: Side,
        once: &Once,
        peer: Address,
        translated: Option<IpAddr>,
        port: u16,
    ) -> String {
        let mut text = self.text(side, "listen", once, peer, port);
        if let Some(translated) = translated {
            line(&mut text, "translated", translated);
        }
        text
    }

    /// The trial of the end that connects.
    pub fn connecting(&self, side: Side, once: &Once, peer: Address, port: u16) -> String {
        self.text(side, "connect", once, peer, port)
    }

    /// The trial of A if B is an iperf3 server, which knows its connections by a cookie.
    pub fn to_iperf3(&self, once: &Once, cookie: &str, server: Address, port: u16) -> String {
        let mut text = format!("{}\nopen=connect\npeer={server}\nport={port}\n", self.near);
        line(&mut text, "cookie", cookie);
        if self.is_udp {
            line(&mut text, "header", "iperf3");
        }
        let drain = if self.is_udp { IPERF3_DRAIN } else { DRAIN };
        self.rest(text, once, drain)
    }

    fn text(&self, side: Side, open: &str, once: &Once, peer: Address, port: u16) -> String {
        let mut text = String::new();
        let name = if side == Side::A { self.near } else { self.far };
        let _ = writeln!(text, "{name}\nopen={open}\npeer={peer}");
        if port != 0 {
            line(&mut text, "port", port);
        }
        text.push_str("token=");
        for byte in once.token {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        self.rest(text, once, DRAIN)
    }

    /// Longest time that counts. The probe ends a trial earlier when the sender was punctual for long enough.
    pub fn longest(&self, once: &Once) -> Duration {
        let Once { duration, most, .. } = once;
        match self.punctual {
            Some(PunctualRate { is_timed: false, .. }) => {
                let most = Duration::from_secs_f64(LONGEST_SECONDS).min(*most);
                duration.saturating_mul(MOST_LENGTHS).min(most).max(*duration)
            }
            Some(PunctualRate { is_timed: true, .. }) | None => *duration,
        }
    }

    /// Whether opening connections is the work itself.
    fn connects(&self) -> bool {
        [self.near, self.far].contains(&"connect")
    }

    /// What follows the connection.
    fn rest(&self, mut text: String, once: &Once, drain: Duration) -> String {
        let Once { number, lead, duration, .. } = once;
        line(&mut text, "trial", number);
        line(&mut text, "lead_ms", lead.as_millis());
        let longest = self.longest(once);
        line(&mut text, "duration_ms", longest.as_millis().max(1));
        line(&mut text, "interval_ms", interval(*lead + longest).as_millis());
        // Where all attempts are refused, the end that accepts waits for the end of the trial: that is a figure.
        let refusable = if self.connects() { *lead + longest + TIMEOUT } else { Duration::ZERO };
        line(&mut text, "setup_ms", (SETUP + refusable).as_millis());
        line(&mut text, "drain_ms", drain.as_millis());
        text.push_str(&self.settings);
        if let Some(PunctualRate { per_second: rate, .. }) = self.punctual {
            let packets = (f64::from(rate) * SEGMENT_SECONDS).round().max(1.0);
            let segments = (duration.as_secs_f64() * f64::from(rate) / packets).round().max(1.0);
            line(&mut text, "segment_packets", packets);
            line(&mut text, "good_segments", segments);
            line(&mut text, "late_us", (late_seconds(packets / SEGMENT_SECONDS) * 1e6).round());
        }
        text
    }
}

/// Intervals of a tenth of a second, or longer ones of a trial that would have too many.
fn interval(whole: Duration) -> Duration {
    let fewest = whole.as_millis().div_ceil(MOST_INTERVALS);
    INTERVAL.max(Duration::from_millis(u64::try_from(fewest).unwrap_or(u64::MAX)))
}

fn line(text: &mut String, key: &str, value: impl Display) {
    let _ = writeln!(text, "{key}={value}");
}

/// The names of streams at A and B.
fn streams(flow: Flow) -> (&'static str, &'static str) {
    match flow {
        Flow::Out => ("send", "receive"),
        Flow::In => ("receive", "send"),
        Flow::Both => ("both", "both"),
    }
}

fn tcp(job: &TcpStreamJob) -> Order {
    let (near, far) = streams(job.flow);
    let mut settings = String::new();
    line(&mut settings, "streams", job.streams);
    line(&mut settings, "block_bytes", job.block.0);
    if let Some(bytes) = job.socket_buffer {
        line(&mut settings, "send_buffer_bytes", bytes.0);
        line(&mut settings, "receive_buffer_bytes", bytes.0);
    }
    // A name with a line break would be a setting of its own.
    if let Some(name) = job.congestion.as_ref().filter(|name| !name.contains(['\n', '\0'])) {
        line(&mut settings, "congestion", name);
    }
    line(&mut settings, "nodelay", u8::from(job.no_delay));
    Order { near, far, is_udp: false, settings, punctual: None }
}

fn datagrams(job: &DatagramsJob) -> Order {
    let (near, far) = streams(job.flow);
    let mut settings = String::new();
    line(&mut settings, "transport", "udp");
    line(&mut settings, "streams", job.streams);
    line(&mut settings, "payload_bytes", job.payload.0);
    line(&mut settings, "call", job.call);
    if let Some(rate) = job.rate {
        line(&mut settings, "packets_per_second", rate.get().min(MOST_PACKETS_PER_SECOND));
        line(&mut settings, "realtime", 1);
    }
    if let Some(bytes) = job.socket_buffer {
        line(&mut settings, "send_buffer_bytes", bytes.0);
        line(&mut settings, "receive_buffer_bytes", bytes.0);
    }
    Order { near, far, is_udp: true, settings, punctual: None }
}

/// One sequence of frames over all flows, each sent when it is due.
fn forwarding(job: &ForwardingJob, ipv6: bool) -> Result<Order, Failure> {
    let (near, far) = streams(job.flow);
    let sizes = job.sizes();
    let payloads: Vec<u64> =
        sizes.iter().map(|frame| ForwardingJob::payload(*frame, ipv6)).collect();
    let (frame, payload) = (sizes[0], payloads[0]);
    if payload < LEAST_PAYLOAD {
        let (family, headers) = match ipv6 {
            true => ("IPv6", ForwardingJob::IPV6_UDP_HEADERS),
            false => ("IPv4", ForwardingJob::IPV4_UDP_HEADERS),
        };
        let on = match job.imix {
            Some(_) => format!("a mix of frames, the shortest of {frame} bytes"),
            None => format!("frames of {frame} bytes"),
        };
        let happened =
            format!("they have no room for the headers of {family} and 16 bytes of payload");
        let least = ForwardingJob::AROUND_PACKET + headers + LEAST_PAYLOAD;
        let next = format!("Give --frames of {least} bytes or more.");
        return Err(Failure::new(Cause::Usage, "send frames").on(on).happened(happened).next(next));
    }
    let mut settings = String::new();
    line(&mut settings, "transport", "udp");
    line(&mut settings, "flows", job.flows);
    let keys = ["payload_bytes", "middle_bytes", "small_bytes"];
    for (key, payload) in keys.into_iter().zip(payloads.iter().rev()) {
        line(&mut settings, key, payload);
    }
    line(&mut settings, "call", "mmsg");
    let rate = job.rate.map(|rate| rate.get().min(MOST_PACKETS_PER_SECOND));
    if let Some(rate) = rate {
        line(&mut settings, "packets_per_second", rate);
        line(&mut settings, "realtime", 1);
        line(&mut settings, "pace_us", ForwardingJob::PACE.as_micros());
    }
    let punctual = rate.map(|per_second| PunctualRate { per_second, is_timed: job.is_timed });
    Ok(Order { near, far, is_udp: true, settings, punctual })
}

fn requests(job: &RequestJob) -> Order {
    let mut settings = String::new();
    line(&mut settings, "streams", job.streams);
    line(&mut settings, "request_bytes", job.request.0);
    line(&mut settings, "response_bytes", job.response.0);
    if let Some(rate) = job.rate {
        line(&mut settings, "requests_per_second", rate);
        line(&mut settings, "realtime", 1);
    }
    Order { near: "request", far: "respond", is_udp: false, settings, punctual: None }
}

/// Connections are opened from the end that opens all connections, whichever that is.
fn connections(job: &ConnectJob, opener: Side) -> Order {
    let mut settings = String::new();
    line(&mut settings, "streams", job.streams);
    match opener {
        Side::A => {
            Order { near: "connect", far: "accept", is_udp: false, settings, punctual: None }
        }
        Side::B => {
            Order { near: "accept", far: "connect", is_udp: false, settings, punctual: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::StreamJob;
    use plimsoll_model::units::Bytes;
    use std::net::Ipv4Addr;

    const PEER: Address = Address { ip: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), zone: None };

    fn once() -> Once {
        Once {
            number: 7,
            token: [0xa5; 16],
            lead: Duration::from_millis(200),
            duration: Duration::from_secs(2),
            most: Duration::MAX,
        }
    }

    #[test]
    fn a_trial_is_lines() {
        let job = TcpStreamJob { streams: 4, ..TcpStreamJob::new(Flow::In) };
        let order = Order::new(&job.into(), Side::A, false).unwrap();
        let text = order.connecting(Side::A, &once(), PEER, 5001);
        let token = "a5".repeat(16);
        assert_eq!(
            text,
            format!(
                "receive\nopen=connect\npeer=192.0.2.1\nport=5001\ntoken={token}\ntrial=7\nlead_ms=200\n\
                 duration_ms=2000\ninterval_ms=100\nsetup_ms=5000\ndrain_ms=1000\nstreams=4\nblock_bytes=131072\n\
                 nodelay=0\n"
            )
        );
        let other = order.listening(Side::B, &once(), PEER, None, 0);
        assert!(other.starts_with("send\nopen=listen\npeer="), "{other}");
        assert!(!other.contains("port="), "the kernel chooses: {other}");
    }

    /// A trial of 2 s at 1000 frames a second: segments of 100 frames, 20 of which have to be good within 40 s.
    #[test]
    fn frames_at_a_rate_go_on_until_the_sender_was_punctual_for_long_enough() {
        let mut job = ForwardingJob::new(Flow::In, Bytes(512));
        let text = |job: &ForwardingJob, ipv6| {
            let order = Order::new(&job.clone().into(), Side::A, ipv6).unwrap();
            order.connecting(Side::A, &once(), PEER, 5001)
        };
        let most = text(&job, false);
        assert!(most.contains("duration_ms=2000\n") && !most.contains("segment"), "{most}");
        job.rate = std::num::NonZeroU32::new(1000);
        let held = text(&job, false);
        for line in [
            "receive",
            "duration_ms=40000",
            "lead_ms=200",
            "flows=64",
            "payload_bytes=466",
            "packets_per_second=1000",
            "pace_us=50",
            "segment_packets=100",
            "good_segments=20",
            "late_us=2000",
        ] {
            assert!(held.lines().any(|own| own == line), "{line} in {held}");
        }
        assert!(text(&job, true).contains("payload_bytes=446\n"));
        // The search that it belongs to has no more time.
        let order = Order::new(&job.clone().into(), Side::A, false).unwrap();
        let soon = Once { most: Duration::from_secs(5), ..once() };
        assert!(order.connecting(Side::A, &soon, PEER, 5001).contains("duration_ms=5000\n"));
        let never = Once { most: Duration::ZERO, ..once() };
        assert!(order.connecting(Side::A, &never, PEER, 5001).contains("duration_ms=2000\n"));
        let timed = ForwardingJob { is_timed: true, ..job.clone() };
        let timed = text(&timed, false);
        assert!(
            timed.contains("duration_ms=2000\n") && timed.contains("segment_packets=100\n"),
            "{timed}"
        );
        let tiny = ForwardingJob::new(Flow::Out, Bytes(64)).into();
        let failure = Order::new(&tiny, Side::A, true).unwrap_err();
        assert!(failure.next.contains("--frames of 82 bytes"), "{failure}");
        let mix = ForwardingJob::imix(Flow::Out, Bytes(1518)).into();
        assert!(Order::new(&mix, Side::A, false).is_ok());
        let failure = Order::new(&mix, Side::A, true).unwrap_err();
        assert!(failure.to_string().contains("a mix of frames, the shortest of 64"), "{failure}");
    }

    #[test]
    fn whoever_accepts_connections_waits_for_the_end_of_the_trial() {
        let order = Order::new(&ConnectJob { streams: 16 }.into(), Side::B, false).unwrap();
        let text = order.listening(Side::A, &once(), PEER, None, 0);
        assert!(text.starts_with("accept\n") && text.contains("\nsetup_ms=8200\n"), "{text}");
    }

    #[test]
    fn an_iperf3_server_gets_a_cookie_and_its_own_header() {
        let text = |job: Job| {
            Order::new(&job, Side::A, false).unwrap().to_iperf3(&once(), "c00k1e", PEER, 5201)
        };
        let tcp = text(TcpStreamJob::new(Flow::Out).into());
        let start = "send\nopen=connect\npeer=192.0.2.1\nport=5201\ncookie=c00k1e\ntrial=7\n";
        assert!(tcp.starts_with(start) && !tcp.contains("token="), "{tcp}");
        let both = text(TcpStreamJob::new(Flow::Both).into());
        assert!(both.starts_with("both\nopen=connect\n"), "{both}");
        let udp = text(DatagramsJob::new(Flow::In).into());
        assert!(udp.starts_with("receive\n") && udp.contains("\nheader=iperf3\n"), "{udp}");
    }

    #[test]
    fn streams_go_without_nagles_algorithm_and_over_an_interface_if_the_user_wants_so() {
        let job = TcpStreamJob { no_delay: true, ..TcpStreamJob::new(Flow::Out) };
        let order = Order::new(&job.into(), Side::A, true).unwrap();
        let text = order.connecting(Side::A, &once(), "fe80::1%lan".parse().unwrap(), 5001);
        for line in ["peer=fe80::1%lan", "nodelay=1"] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }

    #[test]
    fn a_name_cannot_smuggle_in_a_setting() {
        let congestion = Some("cubic\nbytes=1".to_owned());
        let job = TcpStreamJob { congestion, ..TcpStreamJob::new(Flow::Out) };
        let order = Order::new(&job.into(), Side::A, false).unwrap();
        let text = order.listening(Side::B, &once(), PEER, None, 0);
        assert!(!text.contains("bytes=1\n"), "{text}");
    }

    #[test]
    fn what_is_not_done_to_a_path_is_refused() {
        let job = StreamJob { connections: 1, rate: None };
        let failure = Order::new(&job.into(), Side::A, false).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.happened.contains("stream"), "{failure}");
    }

    #[test]
    fn a_long_trial_has_longer_intervals() {
        assert_eq!(interval(Duration::from_secs(3)), INTERVAL);
        let hour = interval(Duration::from_secs(3600));
        assert!(Duration::from_secs(3600).as_millis() / hour.as_millis() <= MOST_INTERVALS);
    }
}
