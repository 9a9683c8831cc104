//! Bottlenecks outside the storage, and rates that are bounds.

use super::{Words, capital, place};
use crate::HostName;
use crate::flag::{RateCaveat, Severity};
use crate::units::{self, Bytes};

pub(super) fn client_saturated(
    host: Option<&HostName>,
    core_busy: f64,
    serves: bool,
    seen: &str,
) -> Words {
    let machine = host.map_or_else(|| "this machine".to_owned(), ToString::to_string);
    let name = capital(&machine);
    let busy = format!("a core was {:.0}% busy{seen}", core_busy * 100.0);
    let words = match serves {
        true => {
            Words::new(Severity::Limit, format!("{name} may be the bottleneck: {busy}"))
                .action("Client and server share it: run plimsoll on another machine.")
                .advice(format!(
                    "Client and server share {machine}: monitor it as the server, too, with --host {}, or run \
                     plimsoll on another machine.",
                    host.unwrap_or(&HostName::Local)
                ))
        }
        false => Words::new(
            Severity::Limit,
            format!("{name} may be the bottleneck, not the storage: {busy}"),
        )
        .action("Use fewer workers or a faster CPU."),
    };
    words.fact(format!("a core of {machine} was {:.0}% busy", core_busy * 100.0))
}

pub(super) fn server_saturated(host: &HostName, core_busy: f64, seen: &str) -> Words {
    Words::new(
        Severity::Limit,
        format!(
            "The CPU of {} may be the bottleneck: a core was {:.0}% busy{seen}",
            place(host),
            core_busy * 100.0
        ),
    )
    .fact(format!("a core of {} was {:.0}% busy", place(host), core_busy * 100.0))
}

pub(super) fn near_client_ceiling(bytes_per_second: f64, ceiling_bytes_per_second: f64) -> Words {
    Words::new(
        Severity::Limit,
        format!(
            "The client may be the bottleneck: {} is near the {} that it handles without storage",
            units::bytes_per_second(bytes_per_second),
            units::bytes_per_second(ceiling_bytes_per_second)
        ),
    )
    .action("Use a faster client.")
    .advice(
        "The storage may be faster than that: use a faster client, more --workers, or no --verify.",
    )
    .fact(format!(
        "{} is near the {} that the client handles without storage",
        units::bytes_per_second(bytes_per_second),
        units::bytes_per_second(ceiling_bytes_per_second)
    ))
}

pub(super) fn same_machine(host: &HostName) -> Words {
    Words::new(
        // Hosts of a lab may be parts of one machine.
        if matches!(host, HostName::Lab { .. }) { Severity::Note } else { Severity::Limit },
        format!(
            "Client and server ({host}) share one machine, whose CPU cannot be divided between them"
        ),
    )
    .action("To tell them apart, run plimsoll on another machine.")
}

pub(super) fn behind_schedule(due_per_second: f64, per_second: f64) -> Words {
    Words::new(
        Severity::Limit,
        format!(
            "The storage did not keep up with the rate: {due_per_second:.0} operations a second were due and \
             {per_second:.0} were done; latencies include the delay"
        ),
    )
    .action("Lower --rate.")
    .advice("Lower --rate, or leave it out to measure the highest rate.")
    .fact(format!(
        "{due_per_second:.0} operations a second were due and {per_second:.0} were done"
    ))
}

pub(super) fn frame_capped(wanted: Bytes, used: Bytes, path_mtu: Bytes) -> Words {
    Words::new(
        Severity::NotMeant,
        format!(
            "Frames of {} bytes do not fit: the path takes packets of {} bytes, so frames of {} were sent",
            wanted.0, path_mtu.0, used.0
        ),
    )
}

pub(super) fn payload_capped(wanted: Bytes, used: Bytes, path_mtu: Bytes) -> Words {
    Words::new(
        Severity::NotMeant,
        format!(
            "A payload of {} bytes does not fit: the path takes packets of {} bytes, so {} bytes were sent",
            wanted.0, path_mtu.0, used.0
        ),
    )
}

pub(super) fn socket_buffer_capped(host: &HostName, wanted: Bytes, used: Bytes) -> Words {
    Words::new(
        Severity::NotMeant,
        format!(
            "{} has socket buffers of {used} instead of {wanted}: its kernel grants no more without root",
            place(host)
        ),
    )
    .action("Log in as root, or raise net.core.rmem_max and net.core.wmem_max there.")
}

pub(super) fn end_is_gateway(host: &HostName) -> Words {
    Words::new(
        Severity::NotMeant,
        format!(
            "{host} is the gateway of the other end: its own programs send or receive this data, and it forwards at another rate"
        ),
    )
    .action("Measure its forwarding rate with --via.")
}

pub(super) fn router_is_end(host: &HostName) -> Words {
    Words::new(
        Severity::NotMeant,
        format!("{host} is the router and an end: it does not forward these frames, it ends or sends them"),
    )
    .action("Name two hosts on both sides of it.")
}

pub(super) fn not_watched(host: &HostName, reason: &str) -> Words {
    Words::new(Severity::Limit, format!("{} was not monitored: {reason}", place(host))).action(
        "Check that ssh logs in without a prompt, or name the host with --host ssh://[user@]host.",
    )
}

pub(super) fn asked_to_wait(target: &str, times: u64) -> Words {
    Words::new(
        Severity::Limit,
        format!(
            "Latencies include waiting: the server of {target} returned \"try later\" {}",
            if times == 1 { "once".to_owned() } else { format!("{times} times") }
        ),
    )
    .action("See the server's log.")
    .fact(format!(
        "the server of {target} returned \"try later\" {}",
        if times == 1 { "once".to_owned() } else { format!("{times} times") }
    ))
}

pub(super) fn retransmitted(target: &str, times: u64, late: u64, doubled: u64) -> Words {
    Words::new(
        Severity::Limit,
        format!(
            "{target}: calls over UDP sent again: {times}; replies dropped: {late} too late, {doubled} doubled"
        ),
    )
    .action(
        "Datagrams were lost or slow, and the measured times include the waits. Check the losses of the \
         network and the receive buffer of the server, or compare with proto=tcp.",
    )
}

/// Frames a second in three digits, "38100": the others are those of chance.
fn frames(per_second: f64) -> String {
    let step = 10_f64.powf((per_second.max(1.0).log10().floor() - 2.0).max(0.0));
    format!("{:.0} frames a second", (per_second / step).round() * step)
}

/// What has to be said with the rate of a workload.
pub(super) fn kept_rate(workload: &str, frame: Bytes, caveat: &RateCaveat, seen: &str) -> Words {
    let load = format!("{workload}, {} B", frame.0);
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    match caveat {
        RateCaveat::AtLeast => Words::new(
            Severity::Limit,
            format!(
                "{load}: the router keeps at least this rate: the sender could send no more, or the search had no \
                 time for a higher rate{seen}"
            ),
        )
        .action("Send from a faster machine, or from several."),
        RateCaveat::CannotHold { void_ratio } => Words::new(
            Severity::NotMeant,
            format!(
                "{load}: this machine cannot hold the rate: it was late in {} of the time{seen}",
                percent(*void_ratio)
            ),
        )
        .action("Stop other work on the sending machine, or send from a faster one."),
        RateCaveat::QuietMoments { share } => Words::new(
            Severity::NotMeant,
            format!(
                "{load}: the rate holds in quiet moments ({} of the time): the sender was late in the rest{seen}",
                percent(*share)
            ),
        )
        .action("Stop other work on the sending machine and the router."),
        RateCaveat::BurstCredit { bytes, frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: burst credit of {} kB: the router forwards more until it is used up, then {}{seen}",
                units::three_digits(bytes / 1e3),
                frames(*frames_per_second)
            ),
        ),
        RateCaveat::Collapse { frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: overload collapse: under overload, the router forwards only {}{seen}",
                frames(*frames_per_second)
            ),
        ),
        RateCaveat::Interruptions { frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: interruptions set the rate, not the router's capacity: between them it forwards about \
                 {}{seen}",
                frames(*frames_per_second)
            ),
        )
        .action("Look for the cause: other work on the router, or a link that fails now and then."),
        RateCaveat::Unfinished { width_ratio } => Words::new(
            Severity::NotMeant,
            format!(
                "{load}: unfinished: the time of the search was over when the rate was known within {}{seen}",
                percent(*width_ratio)
            ),
        )
        .action("Measure without --quick, or with fewer frame sizes, flows and directions."),
        RateCaveat::Unsteady { loss_ratio, seconds } => Words::new(
            Severity::Limit,
            format!(
                "{load}: the rate was kept in trials of a second; one of {seconds:.0} s lost {:.1}%{seen}",
                100.0 * loss_ratio
            ),
        ),
        RateCaveat::Late { delay_seconds, seconds } => Words::new(
            Severity::Limit,
            format!(
                "{load}: the delay was kept in trials of a second; in one of {seconds:.0} s the queue p99 was {:.1} ms{seen}",
                1e3 * delay_seconds
            ),
        ),
    }
}
