//! Trials as the probe takes them: a name, and a line for each setting. No input or output.

use crate::ends::Side;
use plimsoll_model::{
    Cause, ConnectJob, DatagramsJob, Failure, Flow, Job, RequestJob, TcpStreamJob,
};
use std::fmt::{Display, Write};
use std::net::IpAddr;
use std::time::Duration;

/// Time for the connections to be opened.
pub(crate) const SETUP: Duration = Duration::from_secs(5);
/// Time for data on its way after the end of a trial.
pub(crate) const DRAIN: Duration = Duration::from_secs(1);
/// The same for datagrams of iperf3, none of which is marked as the last one.
const IPERF3_DRAIN: Duration = Duration::from_millis(500);
/// Length of the intervals that the probe reports.
const INTERVAL: Duration = Duration::from_millis(100);
/// Most intervals of a trial that the probe reports.
const MOST_INTERVALS: u128 = 4000;
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
}

impl Order {
    /// The trial of a job.
    ///
    /// # Errors
    /// [`Cause::Usage`] for a job that is not done to a network path, and for `connect` from the other side.
    pub fn of(job: &Job, opener: Side) -> Result<Order, Failure> {
        match job {
            Job::TcpStream(job) => Ok(tcp(job)),
            Job::Datagrams(job) => Ok(datagrams(job)),
            Job::Request(job) => Ok(requests(job)),
            Job::Connect(job) => Ok(connections(job, opener)),
            other => {
                let happened =
                    format!("{} is not done to a network path by plimsoll net", other.kind());
                let next = "Name TCP or UDP streams, requests or connections.";
                Err(Failure::new(Cause::Usage, "measure a path", "a job", happened, next))
            }
        }
    }

    /// The trial of the end that listens, on any port if `port` is 0.
    pub fn listening(&self, side: Side, once: &Once, peer: IpAddr, port: u16) -> String {
        self.text(side, "listen", once, peer, port)
    }

    /// The trial of the end that connects.
    pub fn connecting(&self, side: Side, once: &Once, peer: IpAddr, port: u16) -> String {
        self.text(side, "connect", once, peer, port)
    }

    /// The trial of A if B is an iperf3 server, which knows its connections by a cookie.
    pub fn to_iperf3(&self, once: &Once, cookie: &str, server: &str, port: u16) -> String {
        let mut text = format!("{}\nopen=connect\npeer={server}\nport={port}\n", self.near);
        line(&mut text, "cookie", cookie);
        if self.is_udp {
            line(&mut text, "header", "iperf3");
        }
        let drain = if self.is_udp { IPERF3_DRAIN } else { DRAIN };
        self.rest(text, once, drain)
    }

    fn text(&self, side: Side, open: &str, once: &Once, peer: IpAddr, port: u16) -> String {
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

    /// What follows the connection.
    fn rest(&self, mut text: String, once: &Once, drain: Duration) -> String {
        let Once { number, lead, duration, .. } = once;
        line(&mut text, "trial", number);
        line(&mut text, "lead_ms", lead.as_millis());
        line(&mut text, "duration_ms", duration.as_millis().max(1));
        line(&mut text, "interval_ms", interval(*lead + *duration).as_millis());
        line(&mut text, "setup_ms", SETUP.as_millis());
        line(&mut text, "drain_ms", drain.as_millis());
        text.push_str(&self.settings);
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
    Order { near, far, is_udp: false, settings }
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
    Order { near, far, is_udp: true, settings }
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
    Order { near: "request", far: "respond", is_udp: false, settings }
}

/// Connections are opened from the end that opens all connections, whichever that is.
fn connections(job: &ConnectJob, opener: Side) -> Order {
    let mut settings = String::new();
    line(&mut settings, "streams", job.streams);
    match opener {
        Side::A => Order { near: "connect", far: "accept", is_udp: false, settings },
        Side::B => Order { near: "accept", far: "connect", is_udp: false, settings },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::StreamJob;
    use std::net::Ipv4Addr;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn once() -> Once {
        Once {
            number: 7,
            token: [0xa5; 16],
            lead: Duration::from_millis(200),
            duration: Duration::from_secs(2),
        }
    }

    #[test]
    fn a_trial_is_lines() {
        let job = TcpStreamJob { streams: 4, ..TcpStreamJob::new(Flow::In) };
        let order = Order::of(&job.into(), Side::A).unwrap();
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
        let other = order.listening(Side::B, &once(), PEER, 0);
        assert!(other.starts_with("send\nopen=listen\npeer="), "{other}");
        assert!(!other.contains("port="), "the kernel chooses: {other}");
    }

    #[test]
    fn an_iperf3_server_gets_a_cookie_and_its_own_header() {
        let text = |job: Job| {
            Order::of(&job, Side::A).unwrap().to_iperf3(&once(), "c00k1e", "192.0.2.1", 5201)
        };
        let tcp = text(TcpStreamJob::new(Flow::Out).into());
        let start = "send\nopen=connect\npeer=192.0.2.1\nport=5201\ncookie=c00k1e\ntrial=7\n";
        assert!(tcp.starts_with(start) && !tcp.contains("token="), "{tcp}");
        let udp = text(DatagramsJob::new(Flow::In).into());
        assert!(udp.starts_with("receive\n") && udp.contains("\nheader=iperf3\n"), "{udp}");
    }

    #[test]
    fn a_name_cannot_smuggle_in_a_setting() {
        let congestion = Some("cubic\nbytes=1".to_owned());
        let job = TcpStreamJob { congestion, ..TcpStreamJob::new(Flow::Out) };
        let text = Order::of(&job.into(), Side::A).unwrap().listening(Side::B, &once(), PEER, 0);
        assert!(!text.contains("bytes=1\n"), "{text}");
    }

    #[test]
    fn what_is_not_done_to_a_path_is_refused() {
        let job = StreamJob { connections: 1, rate: None };
        let failure = Order::of(&job.into(), Side::A).unwrap_err();
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
