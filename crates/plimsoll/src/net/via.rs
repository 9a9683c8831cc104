//! A router between the ends: the rate that it forwards, by direction and frame size.

use super::arguments::{NetArguments, RateChoice, SideChoice};
use super::via_arguments::{DirectionChoice, Frame};
use super::workloads::{FINE_MARGIN, FINE_WIDTH, LOSS, WIDTH, part};
use super::{connections, layers};
use crate::hosts;
use crate::public::{is_local, own_addresses};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Bound, Cause, Design, Failure, Flag, Flow, ForwardingJob, Length, Measure, Metric, Parameter,
    Rule, Steps, Workload,
};
use plimsoll_net::{Addresses, Side};
use plimsoll_reach::{Reach, quote};
use plimsoll_stats::kept::LEAD_SECONDS;
use std::net::IpAddr;

/// Sizes of frames if the user names none, of a whole study and of a quick one.
const FRAMES: [Frame; 2] = [Frame::Bytes(128), Frame::Bytes(1518)];
const QUICK_FRAMES: [Frame; 1] = [Frame::Bytes(1518)];
/// The same where parts of the path are priced: most of their cost does not depend on the size.
const PRICED_FRAMES: [Frame; 1] = [Frame::Bytes(128)];
/// Most flows of the probe.
const MOST_FLOWS: u16 = 1024;
/// Lowest and highest rate, in frames per second.
const LOWEST: f64 = 20.0;
const HIGHEST: f64 = 10e6;
/// Blocks and time limit where the user names none: intervals of searches say little with fewer.
const BLOCKS: u32 = 6;
const CAP_SECONDS: f64 = 2400.0;
const QUICK_CAP_SECONDS: f64 = 60.0;
/// Seconds of a usual trial of the search, and of one that prices parts of the path.
const TRIAL_SECONDS: f64 = 1.0;
const PRICED_SECONDS: f64 = 4.0;

/// Refuses a direct path whose address belongs to the end that opens the connections.
pub(super) fn expect_direct_possible(arguments: &NetArguments) -> Result<(), Failure> {
    if arguments.connect_from == SideChoice::A {
        return Ok(());
    }
    let happened = "connections of that path are opened from A";
    let next = "Leave --connect-from b out, or measure the path in a study of its own.";
    Err(Failure::new(Cause::Usage, "plan the study").on("--direct").happened(happened).next(next))
}

/// The design of the study. A quick one ends in a minute, and later by the seconds of the confirming trials that the user
/// wants longer; parts of the path are priced in as many trials as there are settings.
pub(super) fn design(
    arguments: &NetArguments,
    confirming_seconds: f64,
    baseline_seconds: f64,
) -> Design {
    let study = &arguments.study;
    let cap_seconds = match study.quick && arguments.via.parts.is_empty() {
        true => QUICK_CAP_SECONDS + confirming_seconds,
        false => CAP_SECONDS,
    };
    let design = study.design(cap_seconds, baseline_seconds);
    match (study.repeats, study.quick) {
        (None, false) => Design { rule: Rule::Fixed { blocks: BLOCKS }, ..design },
        _ => design,
    }
}

/// A search for each direction, size and number of flows, and a trial of each number of connections.
pub(super) fn workloads(arguments: &NetArguments) -> Result<Vec<Workload>, Failure> {
    let refuse = |option: &str, value: String, happened: &str, next: &str| {
        let on = format!("{option} {value}");
        Err(Failure::new(Cause::Usage, "plan the study").on(on).happened(happened).next(next))
    };
    let via = &arguments.via;
    if !connections::measures_frames(arguments) {
        return connections::workloads(arguments);
    }
    let prices = !via.parts.is_empty();
    let frames: &[Frame] = match (via.frames.as_slice(), arguments.study.quick) {
        ([], _) if prices => &PRICED_FRAMES,
        ([], true) => &QUICK_FRAMES,
        ([], false) => &FRAMES,
        (given, _) => given,
    };
    if let Some(flows) = via.flows.iter().find(|flows| flows.get() > MOST_FLOWS) {
        let happened = "a trial has at most 1024 flows in one direction";
        return refuse("--flows", flows.to_string(), happened, "Give 1024 at most.");
    }
    let directions: &[DirectionChoice] = match via.direction.as_slice() {
        [] if prices => &[DirectionChoice::Out],
        [] => &[DirectionChoice::Out, DirectionChoice::In],
        given => given,
    };
    let numbers: Vec<u16> = match via.flows.as_slice() {
        [] => vec![ForwardingJob::FLOWS],
        given => given.iter().map(|flows| flows.get()).collect(),
    };
    let mut workloads = Vec::new();
    for direction in directions {
        for frame in frames {
            let job = job(direction.flow(), *frame);
            let jobs = numbers.iter().map(|flows| ForwardingJob { flows: *flows, ..job.clone() });
            workloads.extend(jobs.map(|job| match prices {
                true => priced(arguments, job),
                false => searched(arguments, job),
            }));
        }
    }
    workloads.extend(connections::workloads(arguments)?);
    Ok(workloads)
}

fn job(flow: Flow, frame: Frame) -> ForwardingJob {
    match frame {
        Frame::Bytes(bytes) => ForwardingJob::new(flow, Bytes(bytes.into())),
        Frame::Imix => ForwardingJob::imix(flow, Bytes(ForwardingJob::IMIX[2])),
    }
}

/// A search for the rates of a job.
fn searched(arguments: &NetArguments, job: ForwardingJob) -> Workload {
    let steps = Some(kept(arguments));
    let seconds = LEAD_SECONDS + TRIAL_SECONDS;
    let length = Length::For { seconds, warm_up_seconds: LEAD_SECONDS };
    Workload { steps, ..Workload::new(part(job.into()), length) }
}

/// Trials of one length at one rate.
fn priced(arguments: &NetArguments, job: ForwardingJob) -> Workload {
    let rate = match arguments.rate {
        Some(RateChoice::Fixed(rate)) => Some(rate),
        Some(RateChoice::Max) | None => None,
    };
    let job = ForwardingJob { rate, is_timed: true, ..job };
    let counted = arguments.time.map_or(PRICED_SECONDS, |time| time.as_secs_f64());
    let seconds = LEAD_SECONDS + counted;
    Workload::new(part(job.into()), Length::For { seconds, warm_up_seconds: LEAD_SECONDS })
}

/// The direction of the frames whose path is priced.
pub(super) fn direction(arguments: &NetArguments) -> Flow {
    arguments.via.direction.first().map_or(Flow::Out, |direction| direction.flow())
}

/// The search for the rates kept with the loss that is allowed, and without loss.
fn kept(arguments: &NetArguments) -> Steps {
    let width = if arguments.study.margin <= FINE_MARGIN { FINE_WIDTH } else { WIDTH };
    let mut losses = vec![arguments.loss.unwrap_or(LOSS), 0.0];
    losses.dedup();
    let final_seconds = arguments.via.confirming.map(|time| time.as_secs_f64());
    let delay = Metric::all(Measure::QUEUE_P99);
    let accept = arguments.via.latency.map(|most| Bound::at_most(delay, most.as_secs_f64()));
    let (over, from, to) = (Parameter::Rate, LOWEST, HIGHEST);
    let is_quick = arguments.study.quick;
    Steps::Kept { over, from, to, width, losses, final_seconds, accept, is_quick }
}

/// Looks at the way before it is overloaded.
///
/// # Errors
/// [`Cause::NotPermitted`] if it leaves the local networks, and that is not allowed.
pub(super) fn look(
    router: &dyn Reach,
    a: &dyn Reach,
    addresses: Addresses,
    direct: Option<Addresses>,
    is_allowed: bool,
) -> Result<Vec<Flag>, Failure> {
    let ends = [addresses.a.ip, addresses.b.ip];
    let mut hops = Vec::from(ends);
    let direct = direct.map(|direct| direct.b.ip);
    hops.extend(direct);
    hops.extend(direct.and_then(|b| next_hop(a, b)));
    hops.extend(next_hop(a, addresses.b.ip));
    hops.extend(ends.iter().filter_map(|end| next_hop(router, *end)));
    if let Some(hop) = hops.iter().find(|hop| !is_local(**hop)).filter(|_| !is_allowed) {
        let on = format!("the hop {hop}");
        let happened = "it is outside of the local networks, and others use it too (RFC 6815)";
        let next = "Measure in a lab, or give --allow-wan if all of the path is yours.";
        let tried = "overload the path";
        return Err(Failure::new(Cause::NotPermitted, tried).on(on).happened(happened).next(next));
    }
    let is_end = own_addresses(router).into_iter().any(|own| ends.contains(&own));
    let host = router.name().parse()?;
    Ok(is_end.then_some(Flag::RouterIsEnd { host }).into_iter().collect())
}

/// The address from which a router sends to an end itself: where it masquerades, what it forwards comes from there.
pub(super) fn own_address_towards(router: &dyn Reach, end: IpAddr) -> Option<IpAddr> {
    route_word(router, end, "src")
}

/// The addresses as a router knows them whose other routers translate them, too: the end that opens the flows, which is
/// inside, has that from which it sends.
pub(super) fn own_addresses_of_ends(
    inside: &dyn Reach,
    opener: Side,
    addresses: Addresses,
) -> Addresses {
    let source = route_word(inside, addresses.end(opener.other()).ip, "src");
    let Some(source) = source.filter(|source| *source != addresses.end(opener).ip) else {
        return addresses;
    };
    match opener {
        Side::A => Addresses { a: source.into(), ..addresses },
        Side::B => Addresses { b: source.into(), ..addresses },
    }
}

/// The interfaces from which a router sends to the ends, and the cards below them.
pub(super) fn own_interfaces(router: &dyn Reach, addresses: Addresses) -> Vec<String> {
    let towards = [addresses.a, addresses.b].map(|end| interface_towards(router, end.ip));
    let mut names: Vec<String> = towards.into_iter().flatten().collect();
    names.dedup();
    let cards = layers::cards(router, &names);
    names.extend(cards);
    names
}

/// The interface from which a router sends to an end.
pub(super) fn interface_towards(router: &dyn Reach, end: IpAddr) -> Option<String> {
    word_of_route(router, end, "dev")
}

/// The router that a host sends to first, if it is not on the same link.
fn next_hop(host: &dyn Reach, to: IpAddr) -> Option<IpAddr> {
    route_word(host, to, "via")
}

/// The address behind a word of a host's route.
fn route_word(host: &dyn Reach, to: IpAddr, word: &str) -> Option<IpAddr> {
    word_of_route(host, to, word)?.parse().ok()
}

/// What follows a word of a host's route.
fn word_of_route(host: &dyn Reach, to: IpAddr, word: &str) -> Option<String> {
    let route = hosts::said(host, &format!("ip route get {} 2>/dev/null", quote(&to.to_string())));
    route.split_whitespace().skip_while(|own| *own != word).nth(1).map(str::to_owned)
}
