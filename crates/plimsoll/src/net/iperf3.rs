//! An iperf3 server at the far end of a path: the jobs and options that it can do, and its addresses.

use super::arguments::{JobChoice, NetArguments, SideChoice};
use plimsoll_model::{Address, Cause, Failure, HostName};
use plimsoll_net::IPERF3_PORT;
use plimsoll_reach::is_unresolved;
use std::net::{SocketAddr, ToSocketAddrs};

/// The jobs if the user names none.
pub(super) const DEFAULT_JOBS: [JobChoice; 2] = [JobChoice::TcpOut, JobChoice::TcpIn];

/// Refuses an iperf3 server as A, and what cannot be done with one as B.
pub(super) fn expect_possible(
    arguments: &NetArguments,
    a: &HostName,
    b: &HostName,
) -> Result<(), Failure> {
    let refuse = |on: String, happened: &str, next: &str| {
        Err(Failure::new(Cause::Usage, "plan the study").on(on).happened(happened).next(next))
    };
    if let HostName::Iperf3 { .. } = a {
        let happened = "an iperf3 server is the far end of a path";
        let next = format!("Name it last: plimsoll net local {a}.");
        return refuse(a.to_string(), happened, &next);
    }
    let HostName::Iperf3 { .. } = b else { return Ok(()) };
    let possible = [
        JobChoice::TcpOut,
        JobChoice::TcpIn,
        JobChoice::TcpBoth,
        JobChoice::UdpOut,
        JobChoice::UdpIn,
    ];
    if let Some(job) = arguments.jobs.iter().find(|job| !possible.contains(job)) {
        let name = clap::ValueEnum::to_possible_value(job);
        let name = name.map_or_else(String::new, |value| value.get_name().to_owned());
        let happened = "iperf3 has no such test: it needs a probe at both ends";
        let next = "Choose tcp-out, tcp-in, tcp-both, udp-out or udp-in, or name a host with a login: ssh://HOST.";
        return refuse(format!("--job {name}"), happened, next);
    }
    let options = [
        ("--via", arguments.via.via.is_some()),
        ("--address", arguments.address.is_some()),
        ("--address-a", arguments.address_a.is_some()),
        ("--port", arguments.port.is_some()),
        ("--connect-from b", arguments.connect_from == SideChoice::B),
    ];
    if let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) {
        let happened = "all connections go from A to the address and port of the server";
        return refuse(option.to_owned(), happened, "Name both: iperf3://HOST:PORT.");
    }
    Ok(())
}

/// A failure to log in to B or to start the probe there, with what needs neither.
pub(super) fn proposed(failure: Failure, b: &HostName) -> Failure {
    let HostName::Ssh { host, .. } = b else { return failure };
    // No program on the host helps where its address is not known.
    let is_interrupted = matches!(failure.cause, Cause::Interrupted | Cause::Terminated);
    if is_interrupted || is_unresolved(&failure) {
        return failure;
    }
    let server = HostName::Iperf3 { host: host.clone(), port: None };
    let next = format!("{} Or start iperf3 -s on it, and name {server}.", failure.next);
    Failure { next: next.trim_start().to_owned(), ..failure }
}

/// Addresses of a server for `from`, as this machine knows its name.
///
/// # Errors
/// [`Cause::Unreachable`] for a name without an address.
pub(super) fn addresses(
    from: &HostName,
    host: &str,
    port: Option<u16>,
) -> Result<Vec<SocketAddr>, Failure> {
    let zoned = host.parse::<Address>().ok().filter(|address| address.zone.is_some());
    let port = port.unwrap_or(IPERF3_PORT);
    // The interface is one of `from`, which this machine does not know.
    if let Some(Address { ip, .. }) = zoned.filter(|_| *from != HostName::Local) {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unknown = |happened: String| {
        let next = match zoned {
            Some(_) => "Check the interface behind the '%': ip link lists them.",
            None => "Check the name, or give an address.",
        };
        Failure::new(Cause::Unreachable, "find the address of the iperf3 server")
            .on(host)
            .happened(happened)
            .next(next)
    };
    let found = (host, port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| unknown(error.to_string()))?.collect();
    if found.is_empty() { Err(unknown("the name has no address".to_owned())) } else { Ok(found) }
}
