//! Sizes and options that cannot be.

use super::arguments::{JobChoice, NetArguments, RateChoice};
use super::connections::measures_frames;
use plimsoll_model::{Address, Cause, Failure, HostName};

const SHORTEST_SECONDS: f64 = 0.2;
const LONGEST_SECONDS: f64 = 3600.0;
/// Most streams in one direction of a trial.
const MOST_STREAMS: u16 = 64;
/// Largest block size that the probe takes, and payloads of datagrams: its header, and the most that IPv4 has room for.
const LARGEST_BLOCK: u64 = 4 << 20;
const PAYLOADS: std::ops::RangeInclusive<u64> = 16..=65_507;
const SOCKET_BUFFERS: std::ops::RangeInclusive<u64> = 1024..=1 << 30;

/// Refuses sizes that the probe does not take.
pub(super) fn expect_sizes(arguments: &NetArguments) -> Result<(), Failure> {
    let refuse = |option: &str, size: String, happened: &str, next: &str| {
        let on = format!("{option} {size}");
        Err(Failure::new(Cause::Usage, "plan the study").on(on).happened(happened).next(next))
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

/// Refuses a host at a link-local address without the interface that leads there.
pub(super) fn expect_zones(hosts: [&HostName; 2]) -> Result<(), Failure> {
    for host in hosts {
        let (HostName::Ssh { host: name, .. } | HostName::Iperf3 { host: name, .. }) = host else {
            continue;
        };
        if name.parse::<Address>().is_ok_and(|address| address.lacks_zone()) {
            return Err(Failure::new(Cause::Usage, "plan the study")
                .on(host)
                .happened("its address is link-local, and each interface has such addresses")
                .next(format!("Add the interface that leads to it, such as [{name}%eth0].")));
        }
    }
    Ok(())
}

/// Refuses options that none of the jobs has a use for.
pub(super) fn expect_used(arguments: &NetArguments, jobs: &[JobChoice]) -> Result<(), Failure> {
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
        ("--nagle", !arguments.nagle.is_empty(), tcp, of_tcp),
        ("--congestion", arguments.congestion.is_some(), tcp, of_tcp),
        ("--payloads", !arguments.payloads.is_empty(), udp, of_udp),
        ("--rate", arguments.rate.is_some(), udp, of_udp),
        ("--call", arguments.call.is_some(), udp, of_udp),
        ("--loss", arguments.loss.is_some(), searches, of_udp),
    ];
    let refuse = |option: &str, happened: String, next: String| {
        Err(Failure::new(Cause::Usage, "plan the study").on(option).happened(happened).next(next))
    };
    let unused = options.into_iter().find(|(_, is_given, is_used, _)| *is_given && !is_used);
    if let Some((option, _, _, (of, job))) = unused {
        let happened = format!("{option} is for {of}, and the study has none");
        return refuse(option, happened, format!("Add --job {job}, or leave {option} out."));
    }
    if let Some(rate) = arguments.rate.filter(|_| arguments.loss.is_some()) {
        let happened = match rate {
            RateChoice::Max => "with --rate max, there is no search",
            RateChoice::Fixed(_) => "with a --rate, there is no search",
        };
        let next =
            "Leave --rate out to search for the highest rate with this loss, or leave --loss out.";
        return refuse("--loss", happened.to_owned(), next.to_owned());
    }
    Ok(())
}

/// Refuses what a study over a router has no use for.
pub(super) fn expect_routable(arguments: &NetArguments) -> Result<(), Failure> {
    let refuse = |on: &str, happened: &str, next: &str| {
        Err(Failure::new(Cause::Usage, "measure the cost of the parts of the path")
            .on(on)
            .happened(happened)
            .next(next))
    };
    if !arguments.payloads.is_empty() {
        let next = "Give the sizes of frames, such as --frames 128,1518, or choose --figure 3.";
        return Err(Failure::new(Cause::Usage, "plan the study")
            .on("--payloads")
            .happened("frames go through a router, and have sizes of their own")
            .next(next));
    }
    if arguments.via.parts.is_empty() {
        let is_searched = measures_frames(arguments);
        let fixed = [
            ("--rate", arguments.rate.is_some()),
            ("--time", arguments.time.is_some() && is_searched),
        ];
        let given = fixed.into_iter().find(|(_, is_given)| *is_given);
        return match given {
            Some((option, _)) => {
                let happened = "a search chooses its rates and the lengths of its trials";
                let next = format!(
                    "Leave {option} out, or measure the cost of parts of the path with --parts."
                );
                Err(Failure::new(Cause::Usage, "plan the study")
                    .on(option)
                    .happened(happened)
                    .next(next))
            }
            None => Ok(()),
        };
    }
    if arguments.rate == Some(RateChoice::Max) {
        return refuse(
            "--rate max",
            "the cost of parts is measured below the rate that R keeps",
            "Give a number.",
        );
    }
    let via = &arguments.via;
    if via.frames.len() > 1 || via.direction.len() > 1 || via.flows.len() > 1 {
        let happened = "the cost of parts is measured with one size of frames in one direction";
        let next = "Give one size, direction and number of flows, such as --frames 128 --direction out --flows 64.";
        return refuse("--parts", happened, next);
    }
    Ok(())
}
