//! `plimsoll net`: what the network between two hosts carries, how late it is under load, and its bottleneck.

mod design;
mod iperf3;
mod via;

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments, at_least_one};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::settings::CommandArguments;
use crate::signals::Signals;
use crate::{hosts, plan, restore};
use clap::{Args, ValueEnum};
use plimsoll_host::reach::Reach;
use plimsoll_load::SystemClock;
use plimsoll_model::units::{Bytes, parse_duration};
use plimsoll_model::{
    Accept, Cause, Clock, ConnectJob, Contrast, DatagramCall, DatagramsJob, Deadline, Endpoint,
    Failure, Flag, Flow, HostName, Job, Length, Metric, Parameter, Part, PathSubject, Plan,
    RequestJob, ServerHost, Steps, StreamJob, SubjectKind, SubjectRunner, TcpStreamJob, Workload,
};
use plimsoll_net::{
    Addresses, End, Ends, Iperf3Runner, MOST_PACKETS_PER_SECOND, PathRunner, Side, Token, Wanted,
};
use plimsoll_study::RunnerOfKind;
use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;
use std::time::Duration;

/// Seconds of a trial of streams, of requests on the idle path, and of requests under load. At 100 requests a second the
/// last has a median; a 99th percentile needs 2000 requests, and thus a longer --time.
const STREAM_SECONDS: f64 = 2.5;
const REQUEST_SECONDS: f64 = 1.2;
const LOADED_SECONDS: f64 = 7.5;
const QUICK_SECONDS: f64 = 1.5;
/// Seconds of each point of a search for the highest rate, its ends in bytes per second, and the width of its result as
/// a share; the narrower one where differences as small are to be told.
const SEARCH_SECONDS: f64 = 1.0;
const SEARCHED_BYTES_PER_SECOND: [f64; 2] = [1e3, 12.5e9];
const WIDTH: f64 = 0.01;
const FINE_WIDTH: f64 = 0.005;
const FINE_MARGIN: f64 = 0.02;
/// Share of a trial that is not counted, and most of it in seconds: connections start slowly.
const WARM_UP: f64 = 0.2;
const MOST_WARM_UP_SECONDS: f64 = 0.5;
const SHORTEST_SECONDS: f64 = 0.2;
const LONGEST_SECONDS: f64 = 3600.0;
const BASELINE_SECONDS: f64 = 2.0;
/// Streams in each direction of the presets up, down and rrul.
const PRESET_STREAMS: u16 = 4;
/// Most streams in one direction of a trial.
const MOST_STREAMS: u16 = 64;
/// Largest block size that the probe takes, and payloads of datagrams: its header, and the most that IPv4 has room for.
const LARGEST_BLOCK: u64 = 4 << 20;
const PAYLOADS: std::ops::RangeInclusive<u64> = 16..=65_507;
const SOCKET_BUFFERS: std::ops::RangeInclusive<u64> = 1024..=1 << 30;
/// Largest share of datagrams that may be lost at the highest rate, if the user names none.
const LOSS: f64 = 0.005;

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
  The rate that a router forwards between two hosts, by frame size:
    plimsoll net ssh://lan ssh://wan --via ssh://root@router";

const HOSTS_HELP: &str = "One host, or two: ssh://[user@]host[:port], lab://name/host or local; B may be an iperf3 \
server, iperf3://host[:port]. The path leads from A to B; of one host, A is this machine";

#[derive(Args)]
pub struct NetArguments {
    #[arg(required = true, num_args = 1..=2, value_name = "HOST", help = HOSTS_HELP)]
    pub hosts: Vec<String>,
    /// Kinds of load [default: tcp-out, tcp-in, tcp-both, request, loaded; of an iperf3 server tcp-out, tcp-in]
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
    /// Streams in each direction [default: 1; 4 of up, down and rrul]
    ///
    /// Several numbers are measured one by one
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub streams: Vec<NonZeroU16>,
    /// Datagrams per second of each stream, or max [default: the highest rate with little loss]
    ///
    /// With 'max', as many as the sender can
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
    /// Congestion control of TCP [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Data address of B [default: the address at which ssh reached it]
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<IpAddr>,
    /// Data address of A [default: the address from which it reaches B]
    #[arg(long, value_name = "ADDRESS")]
    pub address_a: Option<IpAddr>,
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
    /// Length of one trial [default: 2.5s; 1.2s of requests, 7.5s under load, 1s of each rate of a search]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub design: design::DesignArguments,
    #[command(flatten)]
    pub via: via::ViaArguments,
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
    /// 100 round trips a second during TCP in both directions
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

fn rate(text: &str) -> Result<RateChoice, String> {
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
pub enum SideChoice {
    A,
    B,
}

impl SideChoice {
    fn side(self) -> Side {
        match self {
            SideChoice::A => Side::A,
            SideChoice::B => Side::B,
        }
    }
}

/// The jobs if the user names none.
const DEFAULT_JOBS: [JobChoice; 5] = [
    JobChoice::TcpOut,
    JobChoice::TcpIn,
    JobChoice::TcpBoth,
    JobChoice::Request,
    JobChoice::Loaded,
];

/// Measures a path and returns the exit code.
pub fn run(arguments: &NetArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let named = arguments.hosts.iter().map(|host| host.parse::<HostName>());
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let (a, b) = match named.as_slice() {
        [b] => (HostName::Local, b.clone()),
        [a, b, ..] => (a.clone(), b.clone()),
        [] => (HostName::Local, HostName::Local),
    };
    iperf3::expect_possible(arguments, &a, &b)?;
    let router = arguments.via.router()?;
    let mut plan = plan(arguments, &a, &b)?;
    plan.command = plan::repeatable_command(&plan);
    arguments.commands.expect_consent(&plan)?;
    let mut concerned = vec![&a, &b];
    concerned.extend(&router);
    concerned.extend(plan.factors.iter().map(|factor| &factor.host));
    restore::expect_none_left(&concerned, &[])?;
    let (output, quiet) = (&arguments.output, arguments.output.quiet);
    let (study, interrupted) =
        check::conducted(plan, output, kept, More::default(), |plan, id, signals| {
            let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
            let deadline = Deadline::new(clock.clone(), signals.stop.clone());
            let progress = Progress::new(quiet);
            let (at_a, reach_a) = end((Side::A, &a), arguments, &deadline, &progress)?;
            let given = plan.subjects.first().map(ToString::to_string).unwrap_or_default();
            let stop = signals.stop.clone();
            let token: Token = Box::new(rand::random::<[u8; 16]>);
            let mut flags = Vec::new();
            let runner: Box<dyn SubjectRunner> = match &b {
                HostName::Iperf3 { host, port } => {
                    let (host, port) = (host.clone(), *port);
                    let addresses =
                        Signals::leave_when_over(&deadline, "find the server", &b, move || {
                            iperf3::addresses(&host, port)
                        })?;
                    Box::new(Iperf3Runner::new(given, at_a, (b.clone(), addresses), stop, token))
                }
                _ => {
                    let (at_b, reach_b) = end((Side::B, &b), arguments, &deadline, &progress)?;
                    let opener = arguments.connect_from.side();
                    let wanted = wanted(arguments, &a, &b)?;
                    let beside = arguments.via.direct.map(|b| Wanted { a: None, b: Some(b) });
                    let (reach_a, on_path) = (reach_a.clone(), reach_a.clone());
                    let (addresses, interfaces, direct, routers) =
                        Signals::leave_when_over(&deadline, "find the addresses", &b, move || {
                            let addresses =
                                Addresses::find(&*reach_a, &*reach_b, opener.other(), wanted)?;
                            let interfaces =
                                plimsoll_net::interfaces(&*reach_a, &*reach_b, addresses);
                            let routers = plimsoll_net::routers(&*reach_a, &*reach_b, addresses);
                            let find =
                                |wanted| Addresses::find(&*reach_a, &*reach_b, Side::B, wanted);
                            Ok((addresses, interfaces, beside.map(find).transpose()?, routers))
                        })?;
                    if let Some(router) = &router {
                        let router = router.clone();
                        let is_allowed = arguments.via.allow_wan;
                        flags = Signals::leave_when_over(
                            &deadline,
                            "look at the route",
                            &b,
                            move || via::look(&router, &*on_path, (addresses, direct), is_allowed),
                        )?;
                    } else {
                        let named = |side: Side| if side == Side::A { &a } else { &b };
                        let flag =
                            |side: Side| Flag::EndIsGateway { host: named(side).to_string() };
                        flags = routers.into_iter().map(flag).collect();
                    }
                    let port = arguments.port.map_or(0, NonZeroU16::get);
                    let ends = Ends { a: at_a, b: at_b, addresses, opener, port };
                    let runner = PathRunner::new(given, ends, stop, token).over(interfaces);
                    let runner = runner.via(router.clone());
                    Box::new(match direct {
                        Some(direct) => {
                            let given = plan.subjects.get(1).map(ToString::to_string);
                            runner.beside(given.unwrap_or_default(), direct)
                        }
                        None => runner,
                    })
                }
            };
            let on = plan.clients.iter().map(|_| reach_a.clone()).collect();
            let runner = RunnerOfKind { kind: SubjectKind::Path, runner };
            let ready = SetUp::unwatched(runner, clock);
            let mut ready = ready.watched(plan, id, on, &deadline)?;
            ready.watching.flags.extend(flags);
            Ok(SetUp { begun: ready.clock.now(), ..ready })
        })?;
    Ok(check::exit_code(&study, interrupted))
}

/// Reaches the host of an end and deploys the probe there.
fn end(
    (side, host): (Side, &HostName),
    arguments: &NetArguments,
    deadline: &Deadline,
    progress: &Progress,
) -> Result<(End, Arc<dyn Reach>), Failure> {
    let directory = arguments.study.probe_dir.as_deref();
    let proposing =
        |failure| if side == Side::B { iperf3::proposed(failure, host) } else { failure };
    let measured = hosts::with_probe(host, directory, deadline, progress);
    let hosts::Measured { reach, placed } = measured.map_err(|failure| match failure.cause {
        Cause::Usage => failure,
        _ => proposing(failure),
    })?;
    Ok((End { name: host.clone(), placed: placed.map_err(proposing)? }, reach))
}

/// The addresses that the user names, or a lab knows.
fn wanted(arguments: &NetArguments, a: &HostName, b: &HostName) -> Result<Wanted, Failure> {
    let of_lab = |own: &HostName, other: &HostName| match own {
        HostName::Lab { lab, host } => {
            let status = plimsoll_lab::status_of(lab)?;
            let at = |host: &str| status.hosts.get(host).map(|known| &known.addresses);
            let others = match other {
                HostName::Lab { lab: same, host } if same == lab => at(host),
                _ => None,
            };
            let Some(own) = at(host) else { return Ok(None) };
            // On the link that both have, if there is one.
            let shared = own.iter().find(|(link, _)| others.is_some_and(|o| o.contains_key(*link)));
            Ok(shared.or(own.iter().next()).map(|(_, address)| IpAddr::V4(*address)))
        }
        // Both ends are this machine.
        HostName::Local if own == other => Ok(Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))),
        HostName::Local | HostName::Ssh { .. } | HostName::Iperf3 { .. } => Ok::<_, Failure>(None),
    };
    let b_opens = arguments.connect_from == SideChoice::B;
    // The end that listens must be known; the other one is asked for its route.
    Ok(Wanted {
        a: match arguments.address_a {
            None if b_opens || a == b => of_lab(a, b)?,
            named => named,
        },
        b: match arguments.address {
            None if !b_opens || a == b => of_lab(b, a)?,
            named => named,
        },
    })
}

/// The plan of a study of one path.
fn plan(arguments: &NetArguments, a: &HostName, b: &HostName) -> Result<Plan, Failure> {
    let is_iperf3 = matches!(b, HostName::Iperf3 { .. });
    let jobs = match arguments.jobs.as_slice() {
        [] if is_iperf3 => &iperf3::DEFAULT_JOBS[..],
        [] => &DEFAULT_JOBS[..],
        jobs => jobs,
    };
    expect_sizes(arguments)?;
    expect_used(arguments, jobs)?;
    let router = arguments.via.router()?;
    let mut workloads: Vec<Workload> = Vec::new();
    let planned = match (&router, design::workloads(arguments)) {
        (Some(_), _) => via::workloads(arguments)?,
        (None, Some(published)) => published,
        (None, None) => jobs.iter().flat_map(|job| self::workloads(arguments, *job)).collect(),
    };
    for workload in planned {
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    let end = |host: &HostName, address| Endpoint { host: host.clone(), address };
    let path = PathSubject {
        from: end(a, arguments.address_a),
        to: end(b, arguments.address),
        via: router.clone(),
    };
    let baseline_seconds = if arguments.study.quick { 1.0 } else { BASELINE_SECONDS };
    let design = match (&router, arguments.design.design) {
        (Some(_), _) => via::design(&arguments.study, baseline_seconds),
        (None, Some(_)) => design::design(&arguments.study, baseline_seconds),
        (None, None) => arguments.study.design(ProbeArguments::CAP_SECONDS, baseline_seconds),
    };
    let mut subjects = vec![path.into()];
    if let Some(direct) = arguments.via.direct {
        via::expect_direct_possible(arguments)?;
        let path = PathSubject { from: end(a, None), to: end(b, Some(direct)), via: None };
        subjects.push(path.into());
    }
    let mut plan = Plan::new(subjects, workloads, design);
    plan.clients = plan::clients(&[a.to_string()])?;
    // Nobody logs in to an iperf3 server.
    if !is_iperf3 {
        plan.hosts = vec![ServerHost { host: b.clone(), subject: None, guessed: false }];
    }
    plan.hosts.extend(router.map(|host| ServerHost { host, subject: None, guessed: false }));
    (plan.factors, plan.commands) = arguments.commands.factors(&arguments.set, a)?;
    plan.contrasts = Contrast::against_first(&plan);
    Ok(plan)
}

/// Refuses sizes that the probe does not take.
fn expect_sizes(arguments: &NetArguments) -> Result<(), Failure> {
    let refuse = |option: &str, size: String, happened: &str, next: &str| {
        let on = format!("{option} {size}");
        Err(Failure::new(Cause::Usage, "plan the study", on, happened, next))
    };
    if let Some(block) = arguments.blocks.iter().find(|b| !(1..=LARGEST_BLOCK).contains(&b.0)) {
        let happened = "a block size is 1 byte to 4 MiB";
        return refuse("--blocks", block.to_string(), happened, "Give a size such as 128KiB.");
    }
    if let Some(payload) = arguments.payloads.iter().find(|p| !PAYLOADS.contains(&p.0)) {
        let happened = "a datagram has 16 to 65507 bytes of payload, 16 of which are its header";
        return refuse("--payloads", payload.to_string(), happened, "Give a size such as 1400.");
    }
    if let Some(streams) = arguments.streams.iter().find(|s| s.get() > MOST_STREAMS) {
        let happened = "a trial has at most 64 streams in one direction";
        return refuse("--streams", streams.to_string(), happened, "Give 64 at most.");
    }
    if let Some(time) = arguments.time.filter(|time| time.as_secs_f64() < SHORTEST_SECONDS) {
        let happened = "a trial must last at least 200 ms";
        let next = "Give --time 2s or more for reliable figures.";
        return refuse("--time", format!("{time:?}"), happened, next);
    }
    if let Some(time) = arguments.time.filter(|time| time.as_secs_f64() > LONGEST_SECONDS) {
        let happened = "a trial may last at most an hour";
        let next = "Give a shorter --time, and more --repeats.";
        return refuse("--time", format!("{time:?}"), happened, next);
    }
    let buffer = arguments.socket_buffer.filter(|buffer| !SOCKET_BUFFERS.contains(&buffer.0));
    if let Some(buffer) = buffer {
        let happened = "a socket buffer has 1 KiB to 1 GiB";
        let next = "Give a size such as 4MiB.";
        return refuse("--socket-buffer", buffer.to_string(), happened, next);
    }
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let is_none = |name: &&String| name.is_empty() || !plain(name);
    if let Some(name) = arguments.congestion.as_ref().filter(is_none) {
        let happened = "it is not the name of a congestion control";
        return refuse("--congestion", name.clone(), happened, "Give a name such as bbr or cubic.");
    }
    Ok(())
}

/// Refuses options that none of the jobs has a use for.
fn expect_used(arguments: &NetArguments, jobs: &[JobChoice]) -> Result<(), Failure> {
    let is_udp = |job: &JobChoice| matches!(job, JobChoice::UdpOut | JobChoice::UdpIn);
    let has_streams = |job: &JobChoice| !matches!(job, JobChoice::Request | JobChoice::Connect);
    let (udp, streams) = (jobs.iter().any(is_udp), jobs.iter().any(has_streams));
    let tcp = jobs.iter().any(|job| has_streams(job) && !is_udp(job));
    let (of_tcp, of_udp) = (("TCP streams", "tcp-out"), ("UDP jobs", "udp-out"));
    // A router's rates have losses, too.
    let searches = arguments.via.via.is_some() || udp;
    let options = [
        ("--streams", !arguments.streams.is_empty(), streams, of_tcp),
        ("--socket-buffer", arguments.socket_buffer.is_some(), streams, of_tcp),
        ("--blocks", !arguments.blocks.is_empty(), tcp, of_tcp),
        ("--congestion", arguments.congestion.is_some(), tcp, of_tcp),
        ("--payloads", !arguments.payloads.is_empty(), udp, of_udp),
        ("--rate", arguments.rate.is_some(), udp, of_udp),
        ("--call", arguments.call.is_some(), udp, of_udp),
        ("--loss", arguments.loss.is_some(), searches, of_udp),
    ];
    let refuse = |option: &str, happened: String, next: String| {
        Err(Failure::new(Cause::Usage, "plan the study", option, happened, next))
    };
    let unused = options.into_iter().find(|(_, is_given, is_used, _)| *is_given && !is_used);
    if let Some((option, _, _, (of, job))) = unused {
        let happened = format!("{option} is for {of}, and the study has none");
        return refuse(option, happened, format!("Add --job {job}, or leave {option} out."));
    }
    if let Some(rate) = arguments.rate.filter(|_| arguments.loss.is_some()) {
        let happened = match rate {
            RateChoice::Max => "with --rate max, no rate is searched",
            RateChoice::Fixed(_) => "with a --rate, no rate is searched",
        };
        let next =
            "Leave --rate out to search the highest rate with this loss, or leave --loss out.";
        return refuse("--loss", happened.to_owned(), next.to_owned());
    }
    Ok(())
}

/// The workloads of a kind of load: one for each combination of the sizes and numbers that matter to it.
fn workloads(arguments: &NetArguments, job: JobChoice) -> Vec<Workload> {
    let seconds = |usual: f64| match (arguments.time, arguments.study.quick) {
        (Some(time), _) => time.as_secs_f64(),
        (None, true) => usual.min(QUICK_SECONDS),
        (None, false) => usual,
    };
    let streams: Vec<Option<u16>> = match arguments.streams.as_slice() {
        [] => vec![None],
        some => some.iter().map(|streams| Some(streams.get())).collect(),
    };
    let blocks: Vec<Bytes> = match arguments.blocks.as_slice() {
        [] => vec![TcpStreamJob::BLOCK],
        some => some.to_vec(),
    };
    let tcp = |flow: Flow, usual: u16| -> Vec<TcpStreamJob> {
        let all = streams.iter().flat_map(|s| blocks.iter().map(move |b| (*s, *b)));
        all.map(|(streams, block)| TcpStreamJob {
            streams: streams.unwrap_or(usual),
            block,
            socket_buffer: arguments.socket_buffer,
            congestion: arguments.congestion.clone(),
            ..TcpStreamJob::new(flow)
        })
        .collect()
    };
    let udp = |flow: Flow| -> Vec<Workload> {
        let payloads: Vec<Bytes> = match arguments.payloads.as_slice() {
            [] => vec![DatagramsJob::PAYLOAD],
            some => some.to_vec(),
        };
        let all = streams.iter().flat_map(|s| payloads.iter().map(move |p| (*s, *p)));
        all.map(|(streams, payload)| {
            Job::Datagrams(DatagramsJob {
                streams: streams.unwrap_or(1),
                payload,
                call: match arguments.call {
                    None | Some(CallChoice::One) => DatagramCall::One,
                    Some(CallChoice::Mmsg) => DatagramCall::Mmsg,
                    Some(CallChoice::Gso) => DatagramCall::Gso,
                },
                rate: match arguments.rate {
                    Some(RateChoice::Fixed(rate)) => Some(rate),
                    Some(RateChoice::Max) | None => None,
                },
                socket_buffer: arguments.socket_buffer,
                ..DatagramsJob::new(flow)
            })
        })
        .map(|job| match arguments.rate {
            Some(_) => Workload::of(part(job), length(seconds(STREAM_SECONDS))),
            None => Workload {
                steps: Some(highest_rate(arguments)),
                ..Workload::of(part(job), length(seconds(SEARCH_SECONDS)))
            },
        })
        .collect()
    };
    let alone = |jobs: Vec<Job>, usual: f64| -> Vec<Workload> {
        jobs.into_iter().map(|job| Workload::of(part(job), length(seconds(usual)))).collect()
    };
    let streams_alone =
        |flow: Flow| alone(tcp(flow, 1).into_iter().map(Job::from).collect(), STREAM_SECONDS);
    let under = |flow: Flow, usual: u16| -> Vec<Workload> {
        let load = tcp(flow, usual).into_iter().map(|load| Workload {
            parts: vec![part(RequestJob::sparse().into()), part(load.into())],
            steps: None,
            length: length(seconds(LOADED_SECONDS)),
        });
        load.collect()
    };
    match job {
        JobChoice::TcpOut => streams_alone(Flow::Out),
        JobChoice::TcpIn => streams_alone(Flow::In),
        JobChoice::TcpBoth => streams_alone(Flow::Both),
        JobChoice::UdpOut => udp(Flow::Out),
        JobChoice::UdpIn => udp(Flow::In),
        JobChoice::Request => alone(vec![RequestJob::new().into()], REQUEST_SECONDS),
        JobChoice::Connect => alone(vec![ConnectJob { streams: 1 }.into()], REQUEST_SECONDS),
        JobChoice::Loaded => under(Flow::Both, 1),
        JobChoice::Up => under(Flow::Out, PRESET_STREAMS),
        JobChoice::Down => under(Flow::In, PRESET_STREAMS),
        JobChoice::Rrul => under(Flow::Both, PRESET_STREAMS),
    }
}

/// The search for the highest rate with little loss.
fn highest_rate(arguments: &NetArguments) -> Steps {
    let [from, to] = SEARCHED_BYTES_PER_SECOND;
    let resolution = if arguments.study.margin <= FINE_MARGIN { FINE_WIDTH } else { WIDTH };
    let accept =
        Accept { metric: Metric::all(StreamJob::LOSS), at_most: arguments.loss.unwrap_or(LOSS) };
    Steps::Search { over: Parameter::Rate, from, to, resolution, accept }
}

fn part(job: Job) -> Part {
    Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)
}

fn length(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: (WARM_UP * seconds).min(MOST_WARM_UP_SECONDS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Arguments, Command};
    use clap::Parser;

    pub(super) fn planned(words: &[&str]) -> Result<Plan, Failure> {
        let words = ["plimsoll", "net"].iter().chain(words);
        let Command::Net(given) = Arguments::parse_from(words).command else { panic!() };
        plan(&given, &HostName::Local, &"ssh://nas".parse().unwrap())
    }

    #[test]
    fn without_options_a_study_takes_about_a_minute() {
        let plan = planned(&["ssh://nas"]).unwrap();
        let names: Vec<String> =
            plan.workloads.iter().map(|w| w.main().unwrap().job.title()).collect();
        assert_eq!(names, ["TCP out", "TCP in", "TCP both", "requests", "requests"]);
        let seconds: f64 = plan.workloads.iter().map(Workload::seconds).sum();
        let all = seconds * f64::from(ProbeArguments::BLOCKS) + BASELINE_SECONDS;
        assert!((40.0..60.0).contains(&all), "{all} s");
        assert!(plan.clients.is_empty() && plan.contrasts.is_empty());
        assert_eq!(plan.hosts[0].host.to_string(), "ssh://nas");
    }

    #[test]
    fn lists_are_measured_one_by_one() {
        let plan = planned(&["ssh://nas", "--job=tcp-out", "--blocks=1KiB,8KiB", "--streams=1,4"])
            .unwrap();
        assert_eq!(plan.workloads.len(), 4);
        let plan = planned(&["ssh://nas", "--job=udp-in,udp-in", "--payloads=18,1400"]).unwrap();
        assert_eq!(plan.workloads.len(), 2, "the same twice is measured once");
        assert!(plan.workloads.iter().all(|udp| udp.steps.is_some()), "a search");
        for (rate, expected) in [("max", None), ("500", NonZeroU32::new(500))] {
            let plan = planned(&["ssh://nas", "--job=udp-out", "--rate", rate]).unwrap();
            let Job::Datagrams(job) = &plan.workloads[0].parts[0].job else { panic!() };
            assert_eq!((job.rate, &plan.workloads[0].steps), (expected, &None));
        }
        let plan = planned(&["ssh://nas", "--job=rrul"]).unwrap();
        let Job::TcpStream(load) = &plan.workloads[0].parts[1].job else { panic!() };
        assert_eq!((load.streams, load.flow), (4, Flow::Both));
    }

    #[test]
    fn of_an_iperf3_server_only_its_own_tests_are_planned() {
        let given = |words: &[&str]| {
            let words = ["plimsoll", "net", "local", "iperf3://nas"].iter().chain(words);
            let Command::Net(given) = Arguments::parse_from(words).command else { panic!() };
            given
        };
        let (local, server) = (HostName::Local, "iperf3://nas".parse::<HostName>().unwrap());
        let plan = plan(&given(&[]), &local, &server).unwrap();
        assert_eq!((plan.workloads.len(), plan.hosts.len()), (2, 0));
        for (words, expected) in [
            (&["--job=request"][..], "--job request"),
            (&["--job=tcp-out,loaded"], "--job loaded"),
            (&["--port=5202"], "--port"),
            (&["--connect-from=b"], "--connect-from"),
        ] {
            let failure = iperf3::expect_possible(&given(words), &local, &server).unwrap_err();
            assert_eq!((failure.cause, failure.on.contains(expected)), (Cause::Usage, true));
        }
        let elsewhere = "ssh://laptop".parse().unwrap();
        iperf3::expect_possible(&given(&[]), &elsewhere, &server).unwrap();
        let failure = iperf3::expect_possible(&given(&[]), &server, &local).unwrap_err();
        assert!(failure.next.contains("plimsoll net local iperf3://nas"), "{failure}");
        iperf3::expect_possible(&given(&["--job=udp-in,tcp-both"]), &local, &server).unwrap();
    }

    #[test]
    fn options_without_a_job_that_uses_them_are_refused() {
        for (words, option, job) in [
            (&["--streams=2", "--job=request,connect"][..], "--streams", "tcp-out"),
            (&["--socket-buffer=4MiB", "--job=connect"], "--socket-buffer", "tcp-out"),
            (&["--blocks=1KiB", "--job=udp-in,request"], "--blocks", "tcp-out"),
            (&["--congestion=cubic", "--job=udp-in"], "--congestion", "tcp-out"),
            (&["--payloads=18"], "--payloads", "udp-out"),
            (&["--rate=500", "--job=tcp-out"], "--rate", "udp-out"),
            (&["--call=gso", "--job=rrul"], "--call", "udp-out"),
            (&["--loss=1"], "--loss", "udp-out"),
        ] {
            let failure = planned(&[&["ssh://nas"], words].concat()).unwrap_err();
            assert_eq!((failure.cause, &*failure.on), (Cause::Usage, option), "{failure}");
            assert!(failure.next.contains(&format!("Add --job {job}")), "{failure}");
        }
        for rate in ["max", "500"] {
            let words = ["ssh://nas", "--job=udp-in", "--loss=1", "--rate", rate];
            let failure = planned(&words).unwrap_err();
            assert_eq!((failure.cause, &*failure.on), (Cause::Usage, "--loss"), "{failure}");
            assert!(failure.happened.contains("--rate"), "{failure}");
        }
        for words in [
            &["--streams=2", "--job=up"][..],
            &["--streams=2", "--blocks=1KiB", "--congestion=cubic"],
            &["--socket-buffer=4MiB", "--payloads=18", "--rate=max", "--job=tcp-in,udp-out"],
            &["--job=udp-in", "--loss=1"],
            &["--via=ssh://router", "--loss=1"],
        ] {
            planned(&[&["ssh://nas"], words].concat()).unwrap();
        }
    }

    #[test]
    fn a_rate_that_the_probe_does_not_take_is_refused() {
        let most = NonZeroU32::new(100_000_000).unwrap();
        assert_eq!(rate("100000000"), Ok(RateChoice::Fixed(most)));
        for text in ["100000001", "5000000000", "0", "-1", "1e3"] {
            assert!(rate(text).unwrap_err().contains("from 1 to 100000000"), "{text}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (words, expected) in [
            (["--payloads=8", "--job=udp-out"], "16 to 65507"),
            (["--blocks=8MiB", "--job=tcp-out"], "4 MiB"),
            (["--streams=100", "--job=tcp-out"], "64 streams"),
            (["--congestion=a b", "--job=tcp-out"], "congestion control"),
            (["--time=10ms", "--job=tcp-out"], "200 ms"),
            (["--time=2h", "--job=tcp-out"], "an hour"),
            (["--socket-buffer=100", "--job=tcp-out"], "1 KiB to 1 GiB"),
        ] {
            let failure = planned(&[&["ssh://nas"][..], &words].concat()).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage);
            assert!(failure.happened.contains(expected), "{failure}");
        }
    }
}
