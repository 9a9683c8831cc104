//! One point of several clients: each does its own parts of it, and all begin at one instant.

use super::events::Events;
use super::gate::{self, Begun, Start};
use super::{merge, own};
use crate::runner::RemoteRunner;
use plimsoll_model::{
    Cause, Event, Failure, Flag, LoadObserver, Measure, Metric, Nanos, Outcome, PartResult, Phase,
    PointResult, PointSpec,
};
use plimsoll_reach::clock::Clocks;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often is looked whether a stop was asked for.
const LOOK: Duration = Duration::from_millis(100);

/// Measures one point on all clients that have a part in it; and how each of them began.
pub(super) fn measure(
    runners: &mut [RemoteRunner],
    stop: &AtomicBool,
    spec: &PointSpec,
    observer: &mut dyn LoadObserver,
) -> (PointResult, Vec<Option<Begun>>) {
    let (mut members, mut work) = (Vec::new(), Vec::new());
    for (client, runner) in runners.iter_mut().enumerate() {
        let Some(own) = of_client(spec, client) else { continue };
        let (gate, opened) = mpsc::channel();
        let (host, useless) = (runner.host().to_owned(), runner.useless());
        members.push(Member { client, host, useless, gate, ready: None, ended: None });
        work.push((runner, own, opened));
    }
    let clients = members.iter().map(|member: &Member| places(spec, member.client));
    let events = Events::new(clients.collect(), observer);
    let mut point = Point { members, stop, starts: None, refused: None, events };
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for (number, (runner, own, opened)) in work.into_iter().enumerate() {
            let sender = sender.clone();
            scope.spawn(move || {
                let say = |message| drop(sender.send((number, message)));
                let mut start = |clocks| {
                    say(Message::Ready(clocks));
                    opened.recv().ok().flatten()
                };
                let ended = runner.point_from(&own, &mut start, &mut Forward(&say));
                say(Message::Ended(Box::new(ended)));
            });
        }
        drop(sender);
        while point.members.iter().any(|member| member.ended.is_none()) {
            match receiver.recv_timeout(LOOK) {
                Ok((number, message)) => point.take(number, message),
                Err(RecvTimeoutError::Timeout) => point.look(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    point.result(spec)
}

/// What a client is to do, with offsets of its own.
fn of_client(spec: &PointSpec, client: usize) -> Option<PointSpec> {
    let seed = spec.seed.wrapping_add((client as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Some(PointSpec { seed, workload: own(&spec.workload, client)?, ..spec.clone() })
}

/// Places of a client's parts in the workload.
fn places(spec: &PointSpec, client: usize) -> Vec<usize> {
    let parts = spec.workload.parts.iter().enumerate();
    parts.filter(|(_, part)| usize::from(part.client) == client).map(|(place, _)| place).collect()
}

type Ended = (PointResult, Option<Duration>);

enum Message {
    /// Everything is prepared, and this is known of the clock.
    Ready(Clocks),
    Event(Event),
    LoadEnds,
    Ended(Box<Ended>),
}

/// Hands on what a client says.
struct Forward<'a>(&'a dyn Fn(Message));

impl LoadObserver for Forward<'_> {
    // It waits for the others then.
    fn load_begins(&mut self) {}

    fn load_ends(&mut self) {
        (self.0)(Message::LoadEnds);
    }

    fn event(&mut self, event: Event) {
        (self.0)(Message::Event(event));
    }
}

/// A client that has a part in the point.
struct Member {
    /// Its number in the plan.
    client: usize,
    host: String,
    useless: Arc<AtomicBool>,
    gate: Sender<Option<Nanos>>,
    ready: Option<Clocks>,
    ended: Option<Ended>,
}

/// A point under way.
struct Point<'a> {
    members: Vec<Member>,
    stop: &'a AtomicBool,
    /// When they begin, once that is agreed; none of them does: there is no start any more.
    starts: Option<Vec<Start>>,
    /// Why they do not begin.
    refused: Option<Failure>,
    events: Events<'a>,
}

impl Point<'_> {
    fn take(&mut self, number: usize, message: Message) {
        match message {
            Message::Event(event) => self.events.take(number, event),
            Message::LoadEnds => self.events.load_ends(number),
            Message::Ready(clocks) => {
                self.members[number].ready = Some(clocks);
                match self.starts {
                    // It was decided before that they do not begin.
                    Some(_) => drop(self.members[number].gate.send(None)),
                    None => self.open(),
                }
            }
            Message::Ended(mut ended) => {
                self.events.load_ends(number);
                if let Outcome::Failed { failure, .. } = &mut ended.0.outcome {
                    name_host(failure, &self.members[number].host);
                    // The study ends with a host that is lost, or a target that is gone.
                    if failure.cause != Cause::Trial {
                        let useless = self.members.iter().map(|member| &member.useless);
                        useless.for_each(|flag| flag.store(true, Ordering::Relaxed));
                    }
                }
                self.members[number].ended = Some(*ended);
                self.do_not_begin();
            }
        }
    }

    /// Whether a stop was asked for.
    fn look(&mut self) {
        if self.stop.load(Ordering::Relaxed) {
            self.do_not_begin();
        }
    }

    /// Opens the gate once all are ready.
    fn open(&mut self) {
        let all: Option<Vec<Clocks>> = self.members.iter().map(|member| member.ready).collect();
        let Some(clocks) = all else { return self.look() };
        match gate::agree(&clocks, Instant::now()) {
            Ok(starts) => {
                for (member, start) in self.members.iter().zip(&starts) {
                    let _ = member.gate.send(Some(start.at));
                }
                self.starts = Some(starts);
                std::thread::sleep(gate::QUIET);
                self.events.load_begins();
            }
            Err(apart) => {
                let mut failure = apart.failure(&self.members[apart.client].host);
                // It was good enough when the study began.
                failure.cause = Cause::Trial;
                self.refused = Some(failure);
                self.do_not_begin();
            }
        }
    }

    /// Lets those go that wait, where they have not begun.
    fn do_not_begin(&mut self) {
        if self.starts.is_none() {
            self.starts = Some(Vec::new());
            for member in self.members.iter().filter(|member| member.ready.is_some()) {
                let _ = member.gate.send(None);
            }
        }
    }

    /// What came of it.
    fn result(self, spec: &PointSpec) -> (PointResult, Vec<Option<Begun>>) {
        let starts = self.starts.unwrap_or_default();
        let starts = starts.into_iter().map(Some).chain(std::iter::repeat(None));
        let mut outcome = self.refused.map_or(Outcome::Complete, |failure| {
            let phase = Phase::Measure.to_string();
            Outcome::Failed { phase, failure }
        });
        let (mut begun, mut flags) = (Vec::new(), Vec::<Flag>::new());
        let mut parts: Vec<PartResult> = vec![PartResult::default(); spec.workload.parts.len()];
        let mut any = false;
        for (member, start) in self.members.into_iter().zip(starts) {
            let Some((result, late)) = member.ended else { continue };
            begun.push(start.zip(late).map(|(start, late)| Begun { start, late }));
            any |= !result.parts.is_empty();
            let own = places(spec, member.client).into_iter().zip(result.parts);
            own.for_each(|(place, part)| parts[place] = part);
            let new: Vec<Flag> = result.flags.into_iter().filter(|f| !flags.contains(f)).collect();
            flags.extend(new);
            outcome = outcome.worse(result.outcome);
        }
        if !any {
            return (PointResult { flags, ..PointResult::empty(outcome) }, begun);
        }
        let complete = outcome == Outcome::Complete;
        if !complete {
            for part in &mut parts {
                part.quantities.clear();
                part.rate_basis = None;
            }
        }
        let mut together = spec.workload.together().map(|_| merge::together(spec, &parts));
        if let Some(all) = together.as_mut().filter(|_| complete)
            && let Some(begun) = begun.iter().copied().collect::<Option<Vec<Begun>>>()
        {
            let spread = gate::spread(&begun);
            for (measure, time) in [
                (Measure::START_SPREAD, spread.measured),
                (Measure::START_SPREAD_ERROR, spread.error),
            ] {
                all.quantities.insert(Metric::all(measure), time.as_secs_f64());
            }
        }
        (PointResult { parts, together, flags, ..PointResult::empty(outcome) }, begun)
    }
}

/// A failure of one client says which one it was.
fn name_host(failure: &mut Failure, host: &str) {
    if !failure.on.contains(host) {
        failure.on = format!("{} (from {host})", failure.on);
    }
}
