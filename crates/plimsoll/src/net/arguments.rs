//! Arguments of `plimsoll net`.

use super::via_arguments::address;
use super::{design_arguments, via_arguments};
use crate::arguments::{OutputArguments, ProbeArguments, at_least_one};
use crate::settings::CommandArguments;
use clap::{Args, ValueEnum};
use plimsoll_model::Address;
use plimsoll_model::units::{Bytes, parse_duration};
use plimsoll_net::{MOST_PACKETS_PER_SECOND, Side};
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

/// Shown by `--help`.
pub const EXAMPLES: &str = "Examples:
  The network between this machine and a NAS, in about a minute:
    plimsoll net ssh://root@nas
  Between two other hosts, whose connections go from the first to the second:
    plimsoll net ssh://laptop ssh://root@nas
  Block sizes of TCP:
    plimsoll net --job tcp-out --blocks 1KiB,8KiB,128KiB ssh://root@nas
  Packets per second with little loss, by payload:
    plimsoll net --job udp-out --payloads 18,400,1400 ssh://root@nas
  Latency while four streams run in each direction:
    plimsoll net --job rrul ssh://root@nas
  A fixed port, because of a firewall:
    plimsoll net --port 5201 ssh://root@nas
  A host without a login, where iperf3 -s runs:
    plimsoll net iperf3://nas
  Figure 1 of a published evaluation of routers, repeated:
    plimsoll net --design kofler2011 --figure 1 ssh://root@router ssh://pc
  Figure 3: UDP that a router forwards, at rising rates:
    plimsoll net --design kofler2011 --figure 3 ssh://wan ssh://lan --via ssh://root@router
  Forwarding rate of a router between two hosts, by frame size:
    plimsoll net ssh://lan ssh://wan --via ssh://root@router
  CPU time per packet of the router's rules and queueing discipline:
    plimsoll net ssh://lan ssh://wan --via ssh://root@router --parts rules,qdisc";

const HOSTS_HELP: &str = "One host, or two: ssh://[user@]host[:port], lab://name/host or local; B may be an iperf3 \
server, iperf3://host[:port]. The path leads from A to B; with one host, A is this machine";

#[derive(Args)]
pub struct NetArguments {
    #[arg(required = true, num_args = 1..=2, value_name = "HOST", help = HOSTS_HELP)]
    pub hosts: Vec<String>,
    /// Kinds of load [default: tcp-out, tcp-in, tcp-both, request, loaded; with an iperf3 server tcp-out, tcp-in]
    #[arg(long = "job", value_name = "JOBS", value_enum, value_delimiter = ',')]
    pub jobs: Vec<JobChoice>,
    /// Bytes of each system call of TCP streams [default: 128KiB]
    ///
    /// Several sizes are measured one by one
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub blocks: Vec<Bytes>,
    /// Payloads of datagrams in bytes [default: 1400]
    ///
    /// Several payloads are measured one by one
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub payloads: Vec<Bytes>,
    /// Streams in each direction [default: 1; 4 for up, down and rrul]
    ///
    /// Several numbers are measured one by one
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub streams: Vec<NonZeroU16>,
    /// Datagrams per second of each stream, or max [default: the highest rate with little loss]
    ///
    /// With 'max', the sender sends as many as it can
    #[arg(long, value_name = "PER SECOND", value_parser = rate)]
    pub rate: Option<RateChoice>,
    /// Largest loss at the highest rate of UDP [default: 0.5]
    #[arg(long, value_name = "PERCENT", value_parser = loss)]
    pub loss: Option<f64>,
    /// How datagrams are handed to the kernel [default: one]
    #[arg(long, value_enum)]
    pub call: Option<CallChoice>,
    /// Socket buffers at both ends [default: the system's]
    #[arg(long, value_name = "SIZE")]
    pub socket_buffer: Option<Bytes>,
    /// Nagle's algorithm of TCP, which delays small segments [default: on]
    ///
    /// Several values are measured one by one
    #[arg(long, value_name = "VALUES", value_enum, value_delimiter = ',')]
    pub nagle: Vec<NagleChoice>,
    /// Congestion control of TCP [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Data address of B [default: the address at which ssh reached it]
    ///
    /// A link-local address of IPv6 needs the interface of A that leads to it: fe80::1%eth0
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub address: Option<Address>,
    /// Data address of A [default: the address from which it reaches B]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub address_a: Option<Address>,
    /// Port for TCP and UDP [default: a free one]
    ///
    /// Jobs with several parts use the following ports, too
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroU16>)]
    pub port: Option<NonZeroU16>,
    /// End that opens all connections, in either direction of the data
    ///
    /// Choose b if a firewall at B refuses connections
    #[arg(long, value_enum, default_value = "a")]
    pub connect_from: SideChoice,
    /// Compare values of a setting of a host [default host: A]
    ///
    /// As for plimsoll check: docs/settings.md lists the settings
    #[arg(long = "set", value_name = "[HOST/]NAME=A,B")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub commands: CommandArguments,
    /// Length of one trial [default: 2.5s; 1.2s for requests, 7.5s under load, 4s for --connections, 1s for each rate of
    /// a search]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub design: design_arguments::DesignArguments,
    #[command(flatten)]
    pub via: via_arguments::ViaArguments,
    #[command(flatten)]
    pub study: ProbeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JobChoice {
    /// TCP from A to B
    TcpOut,
    /// TCP from B to A
    TcpIn,
    /// TCP in both directions
    TcpBoth,
    /// UDP from A to B at the highest rate with little loss
    UdpOut,
    /// UDP from B to A at the highest rate with little loss
    UdpIn,
    /// Round trips, one after the other
    Request,
    /// 300 round trips a second during TCP in both directions
    Loaded,
    /// TCP connections, one after the other
    Connect,
    /// Round trips during four streams from A to B
    Up,
    /// Round trips during four streams from B to A
    Down,
    /// Round trips during four streams in each direction
    Rrul,
}

/// The rate of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChoice {
    /// As many as the sender can.
    Max,
    /// So many per second.
    Fixed(NonZeroU32),
}

pub(super) fn rate(text: &str) -> Result<RateChoice, String> {
    match text {
        "max" => Ok(RateChoice::Max),
        _ => match text.parse::<NonZeroU32>() {
            Ok(rate) if rate.get() <= MOST_PACKETS_PER_SECOND => Ok(RateChoice::Fixed(rate)),
            _ => Err(format!(
                "'{text}' is neither max nor a whole number from 1 to {MOST_PACKETS_PER_SECOND}"
            )),
        },
    }
}

fn loss(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("'{text}' is not a percentage from 0 to 50")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CallChoice {
    /// One datagram a call
    One,
    /// sendmmsg and recvmmsg
    Mmsg,
    /// UDP_SEGMENT and UDP_GRO
    Gso,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NagleChoice {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SideChoice {
    A,
    B,
}

impl SideChoice {
    pub(super) fn side(self) -> Side {
        match self {
            SideChoice::A => Side::A,
            SideChoice::B => Side::B,
        }
    }
}
