//! What went wrong with an iperf3 server, and what to do about it.

use super::control::Trouble;
use super::protocol::{Heard, Refusal};
use super::server::Iperf3Server;
use crate::complaints::sentence;
use crate::report::{Complaint, Report, Stream};
use plimsoll_model::{Cause, Failure};
use std::io::ErrorKind;

/// Numbers of iperf3's errors that have a cause of their own.
const RATE_LIMIT: u32 = 27;
const TIME_LIMIT: u32 = 37;
const CONGESTION: u32 = 134;
const BUFFER: [u32; 2] = [123, 141];
const AUTHENTICATION: u32 = 142;

/// The failure of a control connection.
pub(super) fn failure(trouble: &Trouble, server: &Iperf3Server) -> Failure {
    let port = server.address.port();
    let elsewhere = format!("Name the port of an iperf3 server: iperf3://HOST:PORT (not {port}).");
    let (cause, happened, next) = match trouble {
        Trouble::Unconnected(error) => unconnected(error.kind(), &error.to_string(), port),
        Trouble::Unrelayed(failure) => {
            let next = format!(
                "Start iperf3 -s on the host of the server, and check that firewalls let port {port} through, TCP \
                 and UDP."
            );
            (Cause::Unreachable, failure.happened.clone(), next)
        }
        Trouble::Refused(Refusal::Foreign(start)) => {
            let happened = format!("it is no iperf3 server: it answered \"{start}\"");
            (Cause::Unreachable, happened, elsewhere)
        }
        Trouble::Refused(Refusal::Busy) => {
            let next = "Wait for the end of the other client's test, and try again.".to_owned();
            (Cause::Unreachable, "the server is busy with another client".to_owned(), next)
        }
        Trouble::Refused(Refusal::Error(number)) => error(*number),
        Trouble::Refused(Refusal::Terminated) => {
            let next = "Start it again, and try again.".to_owned();
            (Cause::Trial, "the server was stopped during the test".to_owned(), next)
        }
        Trouble::Refused(Refusal::Malformed(words)) => {
            let next = "Use iperf3 3.1 or later at the server.".to_owned();
            (Cause::Trial, format!("its answer is invalid: {words}"), next)
        }
        Trouble::Lost(None) => {
            let happened = "it closed the connection without a word".to_owned();
            (Cause::Unreachable, happened, elsewhere)
        }
        Trouble::Lost(Some(Heard::WantsParameters)) => {
            let happened = "it closed the connection after the parameters of the test".to_owned();
            let next = "Read the output of the server: it may require authentication, or refuse the test. \
                        plimsoll cannot log in to it."
                .to_owned();
            (Cause::Trial, happened, next)
        }
        Trouble::Lost(Some(_)) => {
            let happened = "the server closed the control connection during the test".to_owned();
            let next = "Check whether the server ended, start it again, and try again.".to_owned();
            (Cause::Trial, happened, next)
        }
        Trouble::Silent(None) => {
            let happened = "it accepts connections and says nothing, as iperf 2 does".to_owned();
            (Cause::Unreachable, happened, elsewhere)
        }
        Trouble::Silent(Some(Heard::WantsStreams)) => {
            let happened = "it did not start the test after all connections were open".to_owned();
            (Cause::Trial, happened, "Restart the server, and try again.".to_owned())
        }
        Trouble::Silent(Some(_)) => {
            let happened = "the server does not answer any more".to_owned();
            let next =
                "Check that the server runs and the network works, and try again.".to_owned();
            (Cause::Trial, happened, next)
        }
        Trouble::Stopped => (Cause::Interrupted, "it was interrupted".to_owned(), String::new()),
    };
    Failure::new(cause, "measure with the iperf3 server").on(server).happened(happened).next(next)
}

fn unconnected(kind: ErrorKind, words: &str, port: u16) -> (Cause, String, String) {
    let (happened, next) = match kind {
        ErrorKind::ConnectionRefused => (
            format!("nothing listens at port {port}"),
            "Start iperf3 -s on the host, or name the port: iperf3://HOST:PORT.".to_owned(),
        ),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => (
            "there is no answer".to_owned(),
            format!("Check the address, and that firewalls let port {port} through, TCP and UDP."),
        ),
        _ => (words.to_owned(), "Check the address and the network.".to_owned()),
    };
    (Cause::Unreachable, happened, next)
}

/// An error that the server reports by its number.
fn error(number: u32) -> (Cause, String, String) {
    let (cause, happened, next) = match number {
        AUTHENTICATION => (
            Cause::Authentication,
            "the server requires authentication".to_owned(),
            "Start a server without --authorized-users-path: plimsoll cannot log in to it.",
        ),
        RATE_LIMIT => (
            Cause::Trial,
            "the test exceeds the server's limit of the rate".to_owned(),
            "Give a lower --rate, or start the server without --server-bitrate-limit.",
        ),
        TIME_LIMIT => (
            Cause::Trial,
            "the test exceeds the server's limit of the time".to_owned(),
            "Give a shorter --time, or start the server without --server-max-duration.",
        ),
        CONGESTION => (
            Cause::Trial,
            "the server's system does not have the congestion control".to_owned(),
            "Choose another --congestion.",
        ),
        number if BUFFER.contains(&number) => (
            Cause::Trial,
            "the server's system does not grant the socket buffers".to_owned(),
            "Give a smaller --socket-buffer.",
        ),
        other => (
            Cause::Trial,
            format!("the server reports error {other} of iperf3"),
            "Read the output of the server.",
        ),
    };
    (cause, happened, next.to_owned())
}

/// The failure of a test in both directions whose server sent nothing. Versions before 3.7 do not know the parameter: they
/// take the connections to send for those of another client, to which they say at most that they are busy.
pub(super) fn of_one_way(near: &Report, server: &Iperf3Server, job: &str) -> Option<Failure> {
    let is_silent =
        |stream: &Stream| stream.number("total_bytes").is_some_and(|bytes| bytes <= 1.0);
    near.received().find(|stream| is_silent(stream))?;
    let happened =
        "the server sent nothing: iperf3 before 3.7 cannot send and receive at the same time";
    let next = "Update iperf3 at the server, or choose --job tcp-out,tcp-in.";
    let (tried, on) = (format!("run {job}"), format!("A to {server}"));
    Some(Failure::new(Cause::Trial, tried).on(on).happened(happened).next(next))
}

/// The failure of the probe at A, in its own words.
pub(super) fn of_probe(near: &Report, server: &Iperf3Server, job: &str) -> Option<Failure> {
    let on = || format!("A to {server}");
    if let Some(Complaint { tried, happened, next, path_mtu, .. }) = &near.failed {
        let next = match path_mtu {
            Some(bytes) => {
                format!("Use a smaller payload: packets of this path have at most {bytes} bytes.")
            }
            None if near.is_started => {
                next.as_deref().map_or_else(|| "Try again.".to_owned(), sentence)
            }
            None => format!(
                "Check that firewalls let port {} through, TCP and UDP.",
                server.address.port()
            ),
        };
        let tried = format!("{tried} for {job}");
        return Some(Failure::new(Cause::Trial, tried).on(on()).happened(happened).next(next));
    }
    let broken = near.streams.iter().find_map(|stream| stream.broken.clone())?;
    let next = "Check the server and the network, and try again.";
    let tried = format!("keep the connections of {job} open");
    Some(Failure::new(Cause::Trial, tried).on(on()).happened(broken).next(next))
}
