//! What a trial that failed says of why, in the words of the probe, and what to do about it.

use crate::ends::{Ends, Side};
use crate::fit;
use crate::report::{Complaint, Ending, Report};
use plimsoll_model::{Cause, Failure, Job};

/// What the probe tried if it cannot have its port, or if the kernel lacks an algorithm or refuses it to users.
const TAKE_THE_PORT: &str = "take the port";
const CHOOSE_CONGESTION_CONTROL: &str = "choose the congestion control";
/// What a stream of the probe tried if its kernel refused a datagram.
const SEND_A_DATAGRAM: &str = "could not send a datagram";

/// Fails if the trial failed as a whole at an end.
pub(crate) fn expect_no_failure(
    ends: &Ends,
    job: &Job,
    near: &Report,
    far: &Report,
) -> Result<(), Failure> {
    let Some((side, why)) = first_complaint(ends.opener, near, far) else { return Ok(()) };
    if are_refused(ends.opener, job, near, far) {
        return Ok(());
    }
    let mut why = why.clone();
    // What ended first is not known.
    if let Some((other, also)) = own_complaint(side.other(), near, far) {
        why.happened = format!("{}; {other} says: {}", why.happened, also.happened);
    }
    let stage = match (far.port.or(near.port), near.is_started && far.is_started) {
        (None, _) => Stage::Listening,
        (Some(_), false) => Stage::Connecting,
        (Some(_), true) => Stage::Loaded,
    };
    Err(failed(ends, job, side, &why, stage))
}

/// Whether no connection was opened though many were tried: a rate of 0, of which the other end knows only that nobody came.
fn are_refused(opener: Side, job: &Job, near: &Report, far: &Report) -> bool {
    let (opens, accepts) = if opener == Side::A { (near, far) } else { (far, near) };
    let tried = ["unanswered_count", "refused_count"]
        .map(|key| Report::sum(opens.streams.iter(), key).unwrap_or(0.0));
    let has_ended = opens.failed.is_none() && accepts.port.is_some();
    matches!(job, Job::Connect(_)) && has_ended && tried.iter().sum::<f64>() > 0.0
}

/// The complaint of the end that opens the connections, which knows best why that failed; else that of the other one.
/// An end that was cancelled because the other one had failed has no reason of its own.
fn first_complaint<'a>(
    opener: Side,
    near: &'a Report,
    far: &'a Report,
) -> Option<(Side, &'a Complaint)> {
    own_complaint(opener, near, far).or_else(|| own_complaint(opener.other(), near, far))
}

fn own_complaint<'a>(
    side: Side,
    near: &'a Report,
    far: &'a Report,
) -> Option<(Side, &'a Complaint)> {
    let report = if side == Side::A { near } else { far };
    let own = report.failed.as_ref().filter(|_| report.end != Some(Ending::Cancelled));
    Some((side, own?))
}

/// Fails unless the trial ran to its end at both ends.
pub(crate) fn expect_whole(
    ends: &Ends,
    job: &Job,
    near: &Report,
    far: &Report,
) -> Result<(), Failure> {
    for (side, report) in [(Side::A, near), (Side::B, far)] {
        if are_refused(ends.opener, job, near, far) && side != ends.opener {
            continue;
        }
        let broken = report.streams.iter().find_map(|stream| stream.broken.clone());
        let unsaid = (report.end == Some(Ending::Failed)).then(|| "no reason given".to_owned());
        if let Some(happened) = broken.or(unsaid) {
            let tried = format!("keep the connections of {} open", job.title());
            let next = "Check both hosts and the network between them, and try again.";
            let on = format!("{side} ({})", ends.end(side).name);
            return Err(Failure::new(Cause::Trial, tried).on(on).happened(happened).next(next));
        }
    }
    Ok(())
}

/// How far a trial came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// One end was to listen.
    Listening,
    /// The other one was to connect.
    Connecting,
    /// All connections were up.
    Loaded,
}

/// A trial that failed as a whole, in the words of the probe.
fn failed(ends: &Ends, job: &Job, side: Side, why: &Complaint, stage: Stage) -> Failure {
    let Complaint { tried, on, happened, next, path_mtu } = why;
    let (opener, listener) = (ends.opener, ends.opener.other());
    let place =
        |side: Side| format!("{side} ({}, {})", ends.end(side).name, ends.addresses.end(side));
    let on = match on {
        Some(on) => format!("{}: {on}", place(side)),
        None => place(side),
    };
    let tried = format!("{tried} for {}", job.title());
    if let Some(bytes) = path_mtu {
        let headers = fit::udp_headers(ends.addresses.a.ip);
        let happened =
            format!("the payload does not fit into a packet of the path ({bytes} bytes)");
        let next = format!("Give --payloads {} or less.", bytes.saturating_sub(headers));
        return Failure::new(Cause::Trial, tried).on(on).happened(happened).next(next);
    }
    if why.tried == CHOOSE_CONGESTION_CONTROL {
        let happened = "the kernel lacks it, or allows it to root only";
        let next = "Name one of those in /proc/sys/net/ipv4/tcp_allowed_congestion_control on both hosts: \
                    --congestion NAME.";
        return Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next);
    }
    let own = |otherwise: &str| next.as_deref().map_or_else(|| otherwise.to_owned(), sentence);
    match stage {
        Stage::Listening if ends.port != 0 && why.tried == TAKE_THE_PORT => {
            let next = format!("Choose another port than {}: --port N.", ends.port);
            return Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next);
        }
        Stage::Listening => {
            let next = own("Check the address of this end: --address for B, --address-a for A.");
            return Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next);
        }
        Stage::Loaded => {
            return Failure::new(Cause::Trial, tried)
                .on(on)
                .happened(happened)
                .next(own("Try again."));
        }
        Stage::Connecting => {}
    }
    let port = match ends.port {
        0 => "a free port (--port names a fixed one)".to_owned(),
        port => format!("port {port}"),
    };
    let advice = format!(
        "Check the addresses and the firewalls: all connections go from {} to {}, {port}, TCP and UDP. --address and \
         --address-a name other addresses (jump hosts and address translation hide them), and --connect-from {} opens \
         the connections from there.",
        place(opener),
        place(listener),
        listener.to_string().to_lowercase(),
    );
    // No other trial would come through, either.
    Failure::new(Cause::Unreachable, tried).on(on).happened(happened).next(advice)
}

/// Advice of the probe, as a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

pub(crate) fn closed() -> Failure {
    Failure::new(Cause::Trial, "measure a path").on("its ends").happened("they are closed already")
}

/// Whether a trial may succeed when it is done again: a frame or payload was too long for a router on the path, which the
/// sender is told by its kernel; or the ends of a path that forwards did not find each other, though they have before: a
/// search of minutes does not end with that.
pub(crate) fn may_pass(jobs: &[Job], failure: &Failure) -> bool {
    let forwards = jobs.iter().any(|job| matches!(job, Job::Forwarding(_)));
    let sends = forwards || jobs.iter().any(|job| matches!(job, Job::Datagrams(_)));
    let is_lost = failure.cause == Cause::Unreachable;
    forwards && is_lost || sends && failure.happened.contains(SEND_A_DATAGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::RequestJob;

    #[test]
    fn connections_that_are_all_refused_are_a_figure() {
        let counts = serde_json::json!({"section": "net_stream", "stream_number": 0, "direction": "send",
            "outcome": "done", "packets_count": 0, "unanswered_count": 0, "refused_count": 48});
        let mut opens = Report::default();
        opens.take(&counts, 0).unwrap();
        let nobody = Complaint { happened: "it timed out".to_owned(), ..Complaint::default() };
        let accepts = Report { failed: Some(nobody), port: Some(5001), ..Report::default() };
        let job = Job::from(plimsoll_model::ConnectJob { streams: 16 });
        assert!(are_refused(Side::A, &job, &opens, &accepts));
        assert!(are_refused(Side::B, &job, &accepts, &opens));
        assert!(!are_refused(Side::B, &job, &opens, &accepts), "who opens says nothing");
        assert!(!are_refused(Side::A, &RequestJob::new().into(), &opens, &accepts));
        let unheard = Report { port: None, ..accepts };
        assert!(!are_refused(Side::A, &job, &opens, &unheard), "nobody listened");
    }

    /// "The trial was cancelled" was the reason of a firewall that dropped datagrams.
    #[test]
    fn the_reason_is_that_of_an_end_that_was_not_cancelled() {
        let report = |happened: &str, end| Report {
            failed: Some(Complaint { happened: happened.to_owned(), ..Complaint::default() }),
            end: Some(end),
            ..Report::default()
        };
        let cancelled = report("the trial was cancelled", Ending::Cancelled);
        let silent = report("the peer did not come in time", Ending::Failed);
        let (side, why) = first_complaint(Side::A, &cancelled, &silent).unwrap();
        assert_eq!((side, &*why.happened), (Side::B, "the peer did not come in time"));
        let refused = report("nobody listens at that port", Ending::Failed);
        let (side, _) = first_complaint(Side::A, &refused, &silent).unwrap();
        assert_eq!(side, Side::A, "the end that opens the connections comes first");
        assert!(first_complaint(Side::B, &cancelled, &Report::default()).is_none());
    }
}
