//! Arguments of `plimsoll net --via`.

use crate::arguments::at_least_one;
use clap::{Args, ValueEnum};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Address, Cause, Failure, Flow, HostName, PathPart};
use std::num::NonZeroU16;
use std::time::Duration;

/// Frames of Ethernet, jumbo frames included.
const SIZES: std::ops::RangeInclusive<u16> = 64..=9018;
/// Connections at a time. Of one, the round trip would be measured; the probe has at most 64 streams.
const NUMBERS: std::ops::RangeInclusive<i64> = 2..=64;

#[derive(Args)]
#[command(next_help_heading = "Through a router")]
pub struct ViaArguments {
    /// Router between A and B: measure its forwarding rate
    ///
    /// The router is monitored, and needs a login. The default of --repeats is 6, and that of --max-time is 40min
    #[arg(
        long,
        value_name = "HOST",
        conflicts_with_all = ["jobs", "blocks", "streams", "call", "socket_buffer", "nagle",
            "congestion"]
    )]
    pub via: Option<String>,
    /// Sizes of Ethernet frames in bytes, their check sequence included [default: 128,1518; 1518 with --quick]
    ///
    /// The shortest frame of IPv4 has 64 bytes. imix is a mix: of 12 frames, 7 have 64 bytes, 4 have 570 and 1 has 1518.
    /// plimsoll shortens a frame that is too long for the path
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = frame, requires = "via")]
    pub frames: Vec<Frame>,
    /// Directions of the frames [default: out,in]
    #[arg(long, value_name = "DIRECTIONS", value_enum, value_delimiter = ',', requires = "via")]
    pub direction: Vec<DirectionChoice>,
    /// Flows in each direction, each with a port of its own [default: 64]
    ///
    /// Several numbers are measured one by one
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "via")]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub flows: Vec<NonZeroU16>,
    /// Measure new TCP connections a second, with this many at a time
    ///
    /// 2 to 64, each opened, used for one exchange and reset. Several numbers are measured one by one. Frames are
    /// measured too if --frames, --direction or --flows is given
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        requires = "via",
        conflicts_with = "parts"
    )]
    #[arg(value_parser = clap::value_parser!(u16).range(NUMBERS))]
    pub connections: Vec<u16>,
    /// Address of B on a link without the router: measure that path, too
    ///
    /// It shows the throughput of the two ends alone
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    #[arg(requires = "via", conflicts_with = "set")]
    pub direct: Option<Address>,
    /// Length of the trial that confirms each rate [default: 10s]
    ///
    /// 60s is the shortest that RFC 2544 permits
    #[arg(long = "final", value_name = "TIME", requires = "via", conflicts_with = "parts")]
    #[arg(value_parser = confirming_time)]
    pub confirming: Option<Duration>,
    /// Largest 99th percentile of the queueing delay at a kept rate [default: none]
    ///
    /// The queueing delay of a frame is its one-way delay minus the shortest one of the trial. With fewer than 2000
    /// frames, the longest delay counts
    #[arg(long, value_name = "TIME", requires = "via", conflicts_with = "parts", value_parser = latency)]
    pub latency: Option<Duration>,
    /// Measure the CPU time per packet of these parts of R's path
    ///
    /// The parts are switched off one after the other, at a fixed rate of frames of one size. flowtable, rules, nat and
    /// conntrack need nftables on R. The result names parts that R does not have
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',', requires = "via")]
    #[arg(conflicts_with_all = ["set", "direct", "loss"])]
    pub parts: Vec<PartChoice>,
    /// Remove the packet filter rules also from a host with a public address, for some seconds
    #[arg(long)]
    pub allow_open: bool,
    /// Overload a path that leaves the local networks
    ///
    /// Others use such a path, too (RFC 6815)
    #[arg(long, requires = "via")]
    pub allow_wan: bool,
}

/// Size of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Of each.
    Bytes(u16),
    /// A mix of sizes.
    Imix,
}

fn frame(text: &str) -> Result<Frame, String> {
    match text {
        "imix" => Ok(Frame::Imix),
        _ => match text.parse::<u16>() {
            Ok(bytes) if SIZES.contains(&bytes) => Ok(Frame::Bytes(bytes)),
            _ => Err(format!("'{text}' is neither imix nor a whole number from 64 to 9018")),
        },
    }
}

/// Shortest and longest trial that confirms a rate, in seconds.
const CONFIRMING: std::ops::RangeInclusive<f64> = 1.0..=3600.0;

fn confirming_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    match CONFIRMING.contains(&time.as_secs_f64()) {
        true => Ok(time),
        false => Err(format!("'{text}' is not a time from 1 s to an hour")),
    }
}

/// Least and greatest bound on the delay, in seconds.
const LATENCY: std::ops::RangeInclusive<f64> = 1e-4..=10.0;

fn latency(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    match LATENCY.contains(&time.as_secs_f64()) {
        true => Ok(time),
        false => Err(format!("'{text}' is not a time from 0.1ms to 10s")),
    }
}

/// Direction of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DirectionChoice {
    /// From A to B
    Out,
    /// From B to A
    In,
    /// Both at the same time
    Both,
}

impl DirectionChoice {
    pub(super) fn flow(self) -> Flow {
        match self {
            DirectionChoice::Out => Flow::Out,
            DirectionChoice::In => Flow::In,
            DirectionChoice::Both => Flow::Both,
        }
    }
}

impl ViaArguments {
    /// The router.
    pub fn router(&self) -> Result<Option<HostName>, Failure> {
        // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
        let router = self.via.as_deref().map(str::parse::<HostName>).transpose()?;
        match router {
            Some(HostName::Iperf3 { .. }) => {
                let happened = "an iperf3 server cannot be monitored";
                let next = "Name the router: --via ssh://root@router.";
                Err(Failure::new(Cause::Usage, "plan the study")
                    .on("--via")
                    .happened(happened)
                    .next(next))
            }
            router => Ok(router),
        }
    }
}

/// A part of the router's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartChoice {
    /// Rules of the packet filter (nftables)
    Rules,
    /// Connection tracking
    Conntrack,
    /// Address translation (nftables)
    Nat,
    /// Flows that bypass the rules (nftables flowtable)
    Flowtable,
    /// Queueing discipline of the interface that sends, compared with pfifo
    Qdisc,
    /// Generic receive offload of the interface that receives
    Offload,
}

impl PartChoice {
    pub(super) fn part(self) -> PathPart {
        match self {
            PartChoice::Rules => PathPart::Rules,
            PartChoice::Conntrack => PathPart::Conntrack,
            PartChoice::Nat => PathPart::Nat,
            PartChoice::Flowtable => PathPart::Flowtable,
            PartChoice::Qdisc => PathPart::Qdisc,
            PartChoice::Offload => PathPart::Offload,
        }
    }
}

/// An address that somebody can send to.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let address: Address = text.parse()?;
    match address.lacks_zone() {
        true => Err(format!(
            "'{address}' is link-local: add the interface that leads to it, such as {address}%eth0"
        )),
        false => Ok(address),
    }
}
