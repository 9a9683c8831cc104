//! Paths as the subjects of a study: a point is a trial of the probes at both ends.

use crate::address::Addresses;
use crate::buffers;
use crate::complaints::{closed, expect_no_failure, expect_whole, may_pass};
use crate::drive::{Running, drive};
use crate::ends::{Ends, Pair, Side};
use crate::figures;
use crate::fit;
use crate::forwarded;
use crate::order::{Once, Order, Times};
use crate::report::Report;
use crate::rights;
use crate::stalls;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Event, Failure, Flag, HostName, Job, LoadObserver, Outcome, PartResult, PathFacts,
    PathInterface, Phase, PointResult, PointSpec, Prepared, RequestJob, RouterFacts, SubjectFacts,
    SubjectRunner, Workload,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time by which a part that runs beside the first one outlasts it: the connections of the first one are opened
/// through the queue of the others.
const OUTLASTS: Duration = Duration::from_secs(1);
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
    pub fn with_direct_path(mut self, given: String, addresses: Addresses) -> PathRunner {
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
            expect_no_failure(ends, running.job, near, far)?;
        }
        for (running, (near, far)) in running.iter().zip(&reports) {
            expect_whole(ends, running.job, near, far)?;
        }
        Ok(reports)
    }

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
        let way = self.ways.get(subject);
        match self.router.as_ref().zip(way).filter(|_| is_unreachable) {
            Some((router, way)) => not_forwarded(router, way.addresses.a.ip.is_ipv6(), failure),
            None => failure,
        }
    }

    /// Whether a frame is longer than the path is known to take.
    fn is_too_long(&self, subject: usize, jobs: &[Job]) -> bool {
        !self.fit(subject, &mut jobs.to_vec()).is_empty()
    }
}

/// The failure to reach the other end over a router.
fn not_forwarded(router: &HostName, is_ipv6: bool, failure: Failure) -> Failure {
    let switch = if is_ipv6 { "net.ipv6.conf.all.forwarding" } else { "net.ipv4.ip_forward" };
    let next = format!(
        "Check that {router} forwards (sysctl {switch}, rules of its firewall), and that both ends have a route over \
         it. {}",
        failure.next
    );
    Failure { next, ..failure }
}

fn all(jobs: &[Job]) -> Vec<&Job> {
    jobs.iter().collect()
}

/// The result of a point that failed, or that the user stopped.
pub(crate) fn broken_off(failure: Failure, stop: &AtomicBool) -> PointResult {
    match stop.load(Ordering::Relaxed) {
        true => PointResult::empty(Outcome::Stopped),
        false => {
            let phase = Phase::Measure.to_string();
            PointResult::empty(Outcome::Failed { phase, failure })
        }
    }
}

/// Observer of a trial that belongs to no point.
pub(crate) struct Unwatched;

impl LoadObserver for Unwatched {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, _: Event) {}
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
        let flag = |ends: &Ends| Flag::SameMachine { host: ends.b.name.clone() };
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
                    let capped_buffers = |(job, (near, far)): (&&Job, &(Report, Report))| {
                        let at = |side, report| buffers::flag(job, report, &ends.end(side).name);
                        [at(Side::A, near), at(Side::B, far)]
                    };
                    for flag in jobs.iter().zip(&reports).flat_map(capped_buffers).flatten() {
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
                broken_off(failure, &self.stop)
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
    fn forwarding_is_switched_on_apart_in_each_family() {
        let failure = || Failure::new(Cause::Unreachable, "connect").next("Check the address.");
        let router = "ssh://root@router".parse().unwrap();
        let next = |is_ipv6| not_forwarded(&router, is_ipv6, failure()).next;
        assert!(next(false).contains("ssh://root@router forwards (sysctl net.ipv4.ip_forward,"));
        assert!(next(true).contains("(sysctl net.ipv6.conf.all.forwarding,"));
        assert!(next(true).ends_with("Check the address."));
    }
}
