//! Paths as the subjects of a study: a point is a trial of the probes at both ends.

use crate::address::Addresses;
use crate::buffers;
use crate::ends::{Ends, Pair, Side};
use crate::figures;
use crate::fit;
use crate::forwarded;
use crate::order::{DRAIN, Once, Order, SETUP, Times};
use crate::report::{Complaint, Ending, Report};
use crate::rights;
use crate::stalls;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Event, Failure, Flag, HostName, Job, LoadObserver, Outcome, PartResult,
    PathFacts, PathInterface, Phase, PointResult, PointSpec, Prepared, RequestJob, RouterFacts,
    SubjectFacts, SubjectRunner, Workload,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for one end before the other one is looked at.
pub(crate) const SLICE: Duration = Duration::from_millis(10);
/// Time for reports after the end of a trial; a message may queue behind the load.
pub(crate) const REPORTING: Duration = Duration::from_secs(15);
/// Time for a trial to end early.
const CANCELLING: Duration = Duration::from_secs(10);
/// Time by which a part that runs beside the first one outlasts it: the connections of the first one are opened
/// through the queue of the others.
const OUTLASTS: Duration = Duration::from_secs(1);
/// What the probe tried if it cannot have its port, or if the kernel lacks an algorithm or refuses it to users.
const TAKE_THE_PORT: &str = "take the port";
const CHOOSE_CONGESTION_CONTROL: &str = "choose the congestion control";
/// What a stream of the probe tried if its kernel refused a datagram.
const SEND_A_DATAGRAM: &str = "could not send a datagram";
/// Times that a trial is done again.
const MOST_AGAIN: usize = 3;

/// Source of secrets for trials: random bytes that nobody can guess.
pub type Token = Box<dyn FnMut() -> [u8; 16]>;

/// Measures points on one path.
pub struct PathRunner {
    ends: Option<Ends>,
    /// The ways between the ends, each a subject.
    ways: Vec<Way>,
    sessions: Vec<Pair>,
    stop: Arc<AtomicBool>,
    token: Token,
    trial: u32,
    router: Option<HostName>,
}

/// Addresses between which data goes, and what is known of that.
struct Way {
    addresses: Addresses,
    facts: PathFacts,
    /// Largest packet, once one was too large.
    path_mtu: Option<u64>,
    /// The same, if one was too large in the last trial. A setting may change it between two points.
    last_mtu: Option<u64>,
}

impl Way {
    fn new(given: String, label: String, ends: &Ends) -> Way {
        let notes = vec![note(ends)];
        let facts = PathFacts { label, given, notes, ..PathFacts::default() };
        Way { addresses: ends.addresses, facts, path_mtu: None, last_mtu: None }
    }
}

/// A part of a workload under way.
struct Running<'a> {
    job: &'a Job,
    order: Order,
    once: Once,
}

impl PathRunner {
    /// A runner of the path between these ends; `stop` is set when the user wants an end.
    pub fn new(given: String, ends: Ends, stop: Arc<AtomicBool>, token: Token) -> PathRunner {
        PathRunner {
            ways: vec![Way::new(given.clone(), given, &ends)],
            ends: Some(ends),
            sessions: Vec::new(),
            stop,
            token,
            trial: 0,
            router: None,
        }
    }

    /// The same with the interfaces that the data goes through.
    pub fn over(mut self, interfaces: Vec<PathInterface>) -> PathRunner {
        if let Some(way) = self.ways.first_mut() {
            way.facts.interfaces = interfaces;
        }
        self
    }

    /// The same with a second path between these addresses, which does not lead over the router. It is the next subject.
    pub fn beside(mut self, given: String, addresses: Addresses) -> PathRunner {
        if let Some(ends) = &mut self.ends {
            let first = std::mem::replace(&mut ends.addresses, addresses);
            self.ways.push(Way::new(given, "without R".to_owned(), ends));
            ends.addresses = first;
        }
        if let Some(way) = self.ways.first_mut() {
            way.facts.label = "through R".to_owned();
        }
        self
    }

    /// The same with packets that are no larger than this: what a setting makes of the path later.
    pub fn with_packets_of_at_most(mut self, largest: Bytes) -> PathRunner {
        self.ways.iter_mut().for_each(|way| way.path_mtu = Some(largest.0));
        self
    }

    /// The same over a router, which is named where the ends do not reach each other, with its settings.
    pub fn via(mut self, router: Option<HostName>, facts: Option<RouterFacts>) -> PathRunner {
        self.router = router;
        if let Some(way) = self.ways.first_mut() {
            way.facts.router = facts;
        }
        self
    }

    /// Runs all jobs at the same time, the first one last, so that the others are under way when it begins. The
    /// reports of A and B for each.
    fn run(
        &mut self,
        subject: usize,
        jobs: &[&Job],
        times: Times,
        most: Duration,
        observer: &mut dyn LoadObserver,
    ) -> Result<Vec<(Report, Report)>, Failure> {
        let (Some(ends), Some(way)) = (&mut self.ends, self.ways.get(subject)) else {
            return Err(closed());
        };
        ends.addresses = way.addresses;
        let ends = &*ends;
        let ipv6 = ends.addresses.a.ip.is_ipv6();
        let mut running = Vec::new();
        for (number, job) in jobs.iter().enumerate() {
            self.trial = self.trial.wrapping_add(1);
            let longer = if number == 0 { Duration::ZERO } else { OUTLASTS };
            let (token, duration) = ((self.token)(), times.duration + longer);
            let once = Once { number: self.trial, token, lead: times.lead, duration, most };
            running.push(Running { job, order: Order::new(job, ends.opener, ipv6)?, once });
        }
        self.sessions.resize_with(jobs.len().max(self.sessions.len()), Pair::default);
        for pair in self.sessions.iter_mut().take(jobs.len()) {
            pair.ready(ends)?;
        }
        observer.load_begins();
        let ran = drive(ends, &mut self.sessions, &running, &self.stop);
        observer.load_ends();
        ran?;
        let reports = self.sessions.iter_mut().take(jobs.len()).map(Pair::take_reports);
        let reports: Vec<(Report, Report)> = reports.collect();
        let too_long = reports.iter().flat_map(|(near, far)| [near, far]);
        let mtu = too_long.filter_map(|report| report.failed.as_ref()?.path_mtu).min();
        if let Some(way) = self.ways.get_mut(subject) {
            way.path_mtu = mtu.or(way.path_mtu);
            way.last_mtu = mtu;
        }
        // Where one part failed, the connections of the others broke off.
        for (running, (near, far)) in running.iter().zip(&reports) {
            expect_no_failure(ends, running, near, far)?;
        }
        for (running, (near, far)) in running.iter().zip(&reports) {
            expect_whole(ends, running, near, far)?;
        }
        Ok(reports)
    }
}

impl PathRunner {
    /// Makes frames and payloads as short as the path needs; a flag for each that was longer.
    fn fit(&self, subject: usize, jobs: &mut [Job]) -> Vec<Flag> {
        let Some(way) = self.ways.get(subject) else { return Vec::new() };
        let shorten = |job: &mut Job| match job {
            Job::Forwarding(job) => fit::frame(job, way.path_mtu?),
            Job::Datagrams(job) => fit::payload(job, way.last_mtu?, way.addresses.a.ip),
            _ => None,
        };
        jobs.iter_mut().filter_map(shorten).collect()
    }

    /// A failure to reach the other end, with the router on the way to it.
    fn named(&self, subject: usize, failure: Failure) -> Failure {
        let is_unreachable = subject == 0 && failure.cause == Cause::Unreachable;
        let Some(router) = self.router.as_ref().filter(|_| is_unreachable) else { return failure };
        let next = format!(
            "Check that {router} forwards (sysctl net.ipv4.ip_forward, rules of its firewall), and that both ends have a \
             route over it. {}",
            failure.next
        );
        Failure { next, ..failure }
    }

    /// Whether a frame is longer than the path is known to take.
    fn is_too_long(&self, subject: usize, jobs: &[Job]) -> bool {
        !self.fit(subject, &mut jobs.to_vec()).is_empty()
    }
}

/// Whether a trial may succeed when it is done again: a frame or payload was too long for a router on the path, which the
/// sender is told by its kernel; or the ends of a path that forwards did not find each other, though they have before: a
/// search of minutes does not end with that.
fn may_pass(jobs: &[Job], failure: &Failure) -> bool {
    let forwards = jobs.iter().any(|job| matches!(job, Job::Forwarding(_)));
    let sends = forwards || jobs.iter().any(|job| matches!(job, Job::Datagrams(_)));
    let is_lost = failure.cause == Cause::Unreachable;
    forwards && is_lost || sends && failure.happened.contains(SEND_A_DATAGRAM)
}

fn all(jobs: &[Job]) -> Vec<&Job> {
    jobs.iter().collect()
}

/// Observer of a trial that belongs to no point.
pub(crate) struct Unwatched;

impl LoadObserver for Unwatched {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, _: Event) {}
}

/// Starts every part and waits for the end of all.
fn drive(
    ends: &Ends,
    sessions: &mut [Pair],
    running: &[Running<'_>],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let under_way = &mut sessions[..running.len()];
    let is_over = |pairs: &mut [Pair]| {
        let mut all = pairs.iter_mut().flat_map(Pair::both);
        stop.load(Ordering::Relaxed) || all.any(|s| s.report.end == Some(Ending::Failed))
    };
    // All listen before the first load begins, behind which their messages would queue.
    for (number, part) in running.iter().enumerate() {
        if !is_over(under_way) {
            listen(ends, &mut under_way[number], number, part, stop)?;
        }
    }
    for (number, part) in running.iter().enumerate().rev() {
        if !is_over(under_way) {
            connect(ends, &mut under_way[number], part)?;
        }
    }
    let longest = running.iter().map(|part| part.once.lead + part.order.longest(&part.once)).max();
    let (begun, mut is_cancelled) = (Instant::now(), false);
    let mut patience = SETUP + longest.unwrap_or_default() + DRAIN + REPORTING;
    while under_way.iter_mut().flat_map(Pair::both).any(|session| session.is_busy()) {
        if !is_cancelled && is_over(under_way) {
            is_cancelled = true;
            // A host that hangs holds nobody up for the rest of the trial.
            patience = patience.min(begun.elapsed() + CANCELLING);
            for session in under_way.iter_mut().flat_map(Pair::both) {
                session.cancel()?;
            }
        }
        for session in under_way.iter_mut().flat_map(Pair::both) {
            session.take_in(Instant::now() + SLICE)?;
            if session.is_busy() && begun.elapsed() > patience {
                return Err(session.late(patience));
            }
        }
    }
    Ok(())
}

/// Starts a part at the end that listens, and waits for its port.
fn listen(
    ends: &Ends,
    pair: &mut Pair,
    number: usize,
    part: &Running<'_>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let listener = ends.opener.other();
    let end = Instant::now() + REPORTING;
    // Parts at the same time cannot share a port.
    let port = match ends.port {
        0 => 0,
        port => port.saturating_add(u16::try_from(number).unwrap_or(0)),
    };
    let peer = ends.addresses.end(ends.opener);
    let translated = ends.translated.filter(|address| *address != peer.ip);
    let text = part.order.listening(listener, &part.once, peer, translated, port);
    let Some(session) = pair.at(listener) else { return Err(closed()) };
    session.begin(part.once.number, &text)?;
    while session.report.port.is_none() && session.is_busy() && !stop.load(Ordering::Relaxed) {
        session.take_in(Instant::now() + SLICE)?;
        if session.report.port.is_none() && Instant::now() > end {
            return Err(session.late(REPORTING));
        }
    }
    Ok(())
}

/// Starts a part at the end that connects; not if the other one does not listen, which says why.
fn connect(ends: &Ends, pair: &mut Pair, part: &Running<'_>) -> Result<(), Failure> {
    let (opener, listener) = (ends.opener, ends.opener.other());
    let Some(session) = pair.at(listener) else { return Err(closed()) };
    let Some(port) = session.report.port.filter(|_| session.is_busy()) else { return Ok(()) };
    let text = part.order.connecting(opener, &part.once, ends.addresses.end(listener), port);
    let Some(session) = pair.at(opener) else { return Err(closed()) };
    session.begin(part.once.number, &text)
}

/// Fails if the trial failed as a whole at an end.
fn expect_no_failure(
    ends: &Ends,
    part: &Running<'_>,
    near: &Report,
    far: &Report,
) -> Result<(), Failure> {
    let Some((side, why)) = first_complaint(ends.opener, near, far) else { return Ok(()) };
    if are_refused(ends.opener, part.job, near, far) {
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
    Err(failed(ends, part, side, &why, stage))
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
fn expect_whole(
    ends: &Ends,
    part: &Running<'_>,
    near: &Report,
    far: &Report,
) -> Result<(), Failure> {
    for (side, report) in [(Side::A, near), (Side::B, far)] {
        if are_refused(ends.opener, part.job, near, far) && side != ends.opener {
            continue;
        }
        let broken = report.streams.iter().find_map(|stream| stream.broken.clone());
        let unsaid = (report.end == Some(Ending::Failed)).then(|| "no reason given".to_owned());
        if let Some(happened) = broken.or(unsaid) {
            let tried = format!("keep the connections of {} open", part.job.title());
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
fn failed(ends: &Ends, part: &Running<'_>, side: Side, why: &Complaint, stage: Stage) -> Failure {
    let Complaint { tried, on, happened, next, path_mtu } = why;
    let (opener, listener) = (ends.opener, ends.opener.other());
    let place =
        |side: Side| format!("{side} ({}, {})", ends.end(side).name, ends.addresses.end(side));
    let on = match on {
        Some(on) => format!("{}: {on}", place(side)),
        None => place(side),
    };
    let tried = format!("{tried} for {}", part.job.title());
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

/// "data from 10.0.0.1 to 10.0.0.2".
fn note(ends: &Ends) -> String {
    let opened = match ends.opener {
        Side::A => "",
        Side::B => ", connections opened from B",
    };
    format!("data between {} and {}{opened}", ends.addresses.a, ends.addresses.b)
}

impl SubjectRunner for PathRunner {
    /// Starts the probes, and finds out with a few requests whether they reach each other.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let job = Job::from(RequestJob::new());
        let times = Times::FIRST_CONTACT;
        let ran = self.run(subject, &[&job], times, times.duration, &mut Unwatched);
        if let Err(failure) = ran {
            self.sessions.clear();
            return Err(self.named(subject, failure));
        }
        let Some(pair) = self.sessions.first_mut() else { return Err(closed()) };
        let facts = Side::BOTH.map(|side| Some((side, pair.at(side)?.facts().clone())));
        if let Some(way) = self.ways.get_mut(subject) {
            way.facts.root_adds = rights::root_adds(&Vec::from_iter(facts.into_iter().flatten()));
        }
        let one = self.ends.as_ref().filter(|ends| ends.addresses.are_one());
        let flag = |ends: &Ends| Flag::SameMachine { host: ends.b.name.to_string() };
        Ok(one.map(flag).into_iter().collect())
    }

    /// Refuses what no trial could send, such as frames that are too short for the addresses of the path.
    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        _: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let (Some(ends), Some(way)) = (&self.ends, self.ways.get(subject)) else {
            return Err(closed());
        };
        let ipv6 = way.addresses.a.ip.is_ipv6();
        for part in workloads.iter().flat_map(|workload| &workload.parts) {
            Order::new(&part.job, ends.opener, ipv6)?;
        }
        Ok(Prepared::default())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        self.ways.iter().map(|way| SubjectFacts::Path(way.facts.clone())).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        if let Some(main) = spec.workload.main() {
            observer.event(Event::Step { what: main.job.title() });
        }
        let mut jobs: Vec<Job> = spec.workload.parts.iter().map(|part| part.job.clone()).collect();
        if let Some(way) = self.ways.get_mut(spec.subject) {
            way.last_mtu = None;
        }
        let mut flags = self.fit(spec.subject, &mut jobs);
        let times = Times::new(&spec.workload);
        let left = Duration::try_from_secs_f64(spec.left_seconds).unwrap_or(Duration::MAX);
        let most = left.saturating_sub(times.lead);
        let mut ran = self.run(spec.subject, &all(&jobs), times, most, observer);
        // The path says that a frame is too long when it gets one, and is asked for its size before the next one. That
        // the ends reach each other is known.
        for _ in 0..MOST_AGAIN {
            let Err(failure) = &ran else { break };
            let may_pass = may_pass(&jobs, failure) && !self.stop.load(Ordering::Relaxed);
            if !self.is_too_long(spec.subject, &jobs) && !may_pass {
                break;
            }
            self.sessions.clear();
            flags = self.fit(spec.subject, &mut jobs);
            ran = self.run(spec.subject, &all(&jobs), times, most, observer);
        }
        let jobs = all(&jobs);
        match ran {
            Ok(_) if self.stop.load(Ordering::Relaxed) => PointResult::empty(Outcome::Stopped),
            Ok(reports) => {
                let lead = times.lead.as_secs_f64();
                let parts = jobs.iter().zip(&reports).map(|(job, (near, far))| {
                    let mut part = figures::part(job, near, far, spec.window_seconds);
                    forwarded::add(job, near, far, lead, &mut part);
                    part
                });
                let mut parts: Vec<PartResult> = parts.collect();
                figures::add_responsiveness(&jobs, &reports, &mut parts);
                if let Some(ends) = &self.ends {
                    let of = |(job, (near, far)): (&&Job, &(Report, Report))| {
                        let at = |side, report| buffers::flag(job, report, &ends.end(side).name);
                        [at(Side::A, near), at(Side::B, far)]
                    };
                    for flag in jobs.iter().zip(&reports).flat_map(of).flatten() {
                        // Both ends may be one host.
                        if !flags.contains(&flag) {
                            flags.push(flag);
                        }
                    }
                }
                flags.extend(stalls::flags(&parts));
                PointResult { parts, flags, ..PointResult::empty(Outcome::Complete) }
            }
            Err(failure) => {
                // What still runs ends with its session.
                self.sessions.clear();
                match self.stop.load(Ordering::Relaxed) {
                    true => PointResult::empty(Outcome::Stopped),
                    false => {
                        let phase = Phase::Measure.to_string();
                        PointResult::empty(Outcome::Failed { phase, failure })
                    }
                }
            }
        }
    }

    fn close(&mut self) -> Vec<Flag> {
        self.sessions.drain(..).for_each(Pair::stop);
        self.ends.take().map(Ends::remove).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
