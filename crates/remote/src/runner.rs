//! The study's end: trials driven by the program on the host.

use crate::link::{Link, Nobody, Stop};
use crate::names;
use crate::protocol::{Begin, Connect, Reply, Request, Secret};
use plimsoll_model::{
    Cause, Deadline, Event, Failure, Flag, LoadObserver, Nanos, Outcome, PartResult, Phase,
    PointResult, PointSpec, Prepared, Series, SubjectFacts, SubjectRunner, Target, Window,
    Workload,
};
use plimsoll_reach::Reach;
use plimsoll_reach::clock::{Clocks, RoundTrip};
use plimsoll_reach::deploy::{Deployed, Programs};
use plimsoll_runner::{Cleaned, OpenOptions, RunnerOptions};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Questions to relate the clocks.
const ROUND_TRIPS: usize = 8;

/// Trials driven on another host. Dropping it ends the program there, which removes what it made.
pub struct RemoteRunner {
    // Before the program's directory, so that it ends before that is removed.
    link: Link,
    options: RunnerOptions,
    /// Set once its work is of no use any more.
    useless: Arc<AtomicBool>,
    opened: Vec<(Target, OpenOptions)>,
    facts: Vec<SubjectFacts>,
    deployed: Deployed,
}

impl RemoteRunner {
    /// Deploys the program on a host and begins a study there.
    ///
    /// # Errors
    /// Those of [`Deployed::deploy`], and [`Cause::Usage`] for a program of another build.
    pub fn start(
        reach: Arc<dyn Reach>,
        programs: &Programs,
        options: &RunnerOptions,
    ) -> Result<RemoteRunner, Failure> {
        let deployed = Deployed::deploy(reach, programs, None)?;
        let useless = Arc::default();
        let link = begin(&deployed, options, &useless)?;
        let options = options.clone();
        let (opened, facts) = (Vec::new(), Vec::new());
        Ok(RemoteRunner { link, options, useless, opened, facts, deployed })
    }

    /// Opens a target on the host. Its name is resolved before, and its password found here, once
    /// the server has answered there.
    pub fn connect(&mut self, target: &Target, options: &OpenOptions) -> Result<(), Failure> {
        let host = target.host();
        let addresses = host
            .map_or_else(Vec::new, |host| names::addresses(self.deployed.reach(), host, options));
        let connect = Connect::new(target, options, addresses);
        let mut reply = self.ask(&Request::Connect(Box::new(connect)))?;
        if let (Reply::PasswordWanted, Target::Smb(share)) = (&reply, target) {
            let (request, failure) = match options.passwords.find(share) {
                Ok(password) => (Request::Password { password: Secret(password) }, None),
                Err(failure) => (Request::NoPassword { failure: failure.clone() }, Some(failure)),
            };
            let answer = self.ask(&request);
            // What is reported is what happened here, not its echo.
            reply = failure.map_or(answer, Err)?;
        }
        match reply {
            Reply::Done => {
                self.opened.push((target.clone(), options.clone()));
                Ok(())
            }
            other => Err(self.link.nonsense(&other)),
        }
    }

    /// Removes what dead runs have left on a target, before any is attached: all, or those of this
    /// study alone. Targets are numbered as they were connected.
    pub fn clean(&mut self, target: usize, own: bool) -> Result<Cleaned, Failure> {
        match self.ask(&Request::Clean { target, own })? {
            Reply::Cleaned { cleaned } => Ok(cleaned),
            other => Err(self.link.nonsense(&other)),
        }
    }

    /// Has a new program remove what the old one left that was killed. Where it was not killed but
    /// the connection lost, there is nobody to ask; then it does so by itself.
    fn clean_after(&mut self) -> Result<Vec<Flag>, Failure> {
        // Whoever stopped the study wants it cleaned up all the same.
        let deadline = Deadline::new(self.options.deadline.clock().clone(), Arc::default());
        let options = RunnerOptions { deadline, ..self.options.clone() };
        self.useless = Arc::default();
        self.link = begin(&self.deployed, &options, &self.useless)?;
        let mut flags = Vec::new();
        for (number, (target, options)) in std::mem::take(&mut self.opened).iter().enumerate() {
            self.connect(target, options)?;
            let left = self.clean(number, true)?.left.into_iter();
            flags.extend(left.map(|(directory, _)| Flag::NotCleaned {
                target: target.to_string(),
                directory,
                on: None,
            }));
        }
        Ok(flags)
    }

    /// What may be left on every target, as nobody can tell.
    fn not_cleaned(&self) -> Vec<Flag> {
        let directory = format!(".plimsoll-{}-*", self.options.study);
        let targets = self.opened.iter().map(|(target, _)| target.to_string());
        let flag = |target| Flag::NotCleaned { target, directory: directory.clone(), on: None };
        targets.map(flag).collect()
    }

    /// Flags as they are for who is here.
    fn seen_from_here(&self, mut flags: Vec<Flag>) -> Vec<Flag> {
        for flag in &mut flags {
            if let Flag::NotCleaned { on, .. } | Flag::Leftovers { on, .. } = flag {
                *on = Some(self.deployed.reach().name().to_owned());
            }
        }
        flags
    }

    /// The host, to run commands there.
    pub fn reach(&self) -> &dyn Reach {
        self.deployed.reach()
    }

    /// The host.
    pub fn host(&self) -> &str {
        self.deployed.reach().name()
    }

    /// Relates the host's clock to this machine's.
    pub fn clocks(&mut self) -> Result<Clocks, Failure> {
        let mut clocks = Clocks::default();
        for _ in 0..ROUND_TRIPS {
            let heard = self.link.ask_timed(&Request::Clock, &mut Nobody)?;
            let Reply::Clock { now } = heard.reply else {
                return Err(self.link.nonsense(&heard.reply));
            };
            let (sent, received) = (heard.sent, heard.received);
            clocks.learn(RoundTrip { sent, received, begin: now, end: now });
        }
        Ok(clocks)
    }

    /// What to set to have it stop what it does, as its work is of no use any more.
    pub(crate) fn useless(&self) -> Arc<AtomicBool> {
        self.useless.clone()
    }

    /// [`point`](SubjectRunner::point), whose load begins when `start` says so. That is called once
    /// everything is ready, with what is known of the host's clock then; `None`: it does not begin.
    /// Returns also how long after that instant it did.
    pub(crate) fn point_from(
        &mut self,
        spec: &PointSpec,
        start: &mut dyn FnMut(Clocks) -> Option<Nanos>,
        observer: &mut dyn LoadObserver,
    ) -> (PointResult, Option<Duration>) {
        self.measure(spec, Some(start), observer)
    }

    fn measure(
        &mut self,
        spec: &PointSpec,
        start: Option<&mut dyn FnMut(Clocks) -> Option<Nanos>>,
        observer: &mut dyn LoadObserver,
    ) -> (PointResult, Option<Duration>) {
        let mut seen = PointRelay::new(observer);
        match self.result(spec, start, &mut seen) {
            Ok(Reply::Result { result, late }) => (*result, late.map(|late| late - Nanos(0))),
            Ok(other) => (seen.failed(spec, self.link.nonsense(&other)), None),
            Err(failure) => (seen.failed(spec, failure), None),
        }
    }

    /// The last reply of a point.
    fn result(
        &mut self,
        spec: &PointSpec,
        start: Option<&mut dyn FnMut(Clocks) -> Option<Nanos>>,
        observer: &mut dyn LoadObserver,
    ) -> Result<Reply, Failure> {
        let request = Request::Point { spec: Box::new(spec.clone()), gated: start.is_some() };
        match (self.link.ask(&request, observer)?, start) {
            (Reply::Ready, Some(start)) => {
                let at = start(self.clocks()?);
                self.link.ask(&Request::Start { at }, observer)
            }
            (reply, _) => Ok(reply),
        }
    }

    /// Asks for something that is done or fails.
    fn done(&mut self, request: &Request) -> Result<(), Failure> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            other => Err(self.link.nonsense(&other)),
        }
    }

    /// Asks for something that has no events.
    fn ask(&mut self, request: &Request) -> Result<Reply, Failure> {
        self.link.ask(request, &mut Nobody)
    }

    /// Takes in what a target turned out to be.
    fn target(&mut self, target: usize, reply: Reply) -> Result<Prepared, Failure> {
        let Reply::Target { flags, facts, more } = reply else {
            return Err(self.link.nonsense(&reply));
        };
        match self.facts.get_mut(target) {
            Some(known) => *known = *facts,
            None => self.facts.push(*facts),
        }
        Ok(Prepared { flags: self.seen_from_here(flags), more })
    }
}

impl SubjectRunner for RemoteRunner {
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let reply = self.ask(&Request::Attach { target: subject })?;
        Ok(self.target(subject, reply)?.flags)
    }

    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        match self.link.ask(&Request::LayOutRate { target: subject, bytes }, observer)? {
            Reply::Rate { bytes_per_second } if bytes_per_second.is_none_or(|rate| rate > 0.0) => {
                Ok(bytes_per_second)
            }
            other => Err(self.link.nonsense(&other)),
        }
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let request = Request::Prepare { target: subject, workloads: workloads.to_vec() };
        let reply = self.link.ask(&request, observer)?;
        self.target(subject, reply)
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        self.facts.clone()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        self.measure(spec, None, observer).0
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.done(&Request::Release)
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        self.done(&Request::Reopen)
    }

    fn close(&mut self) -> Vec<Flag> {
        let flags = match self.ask(&Request::Close) {
            Ok(Reply::Closed { flags }) => flags,
            // Somebody waits for the end, and it would not answer another either.
            _ if self.link.is_silent() => self.not_cleaned(),
            // Why it is lost was reported.
            _ => self.clean_after().unwrap_or_default(),
        };
        self.seen_from_here(flags)
    }
}

/// Starts the program and tells it what holds for all trials.
fn begin(
    deployed: &Deployed,
    options: &RunnerOptions,
    useless: &Arc<AtomicBool>,
) -> Result<Link, Failure> {
    let stop = Stop { user: options.deadline.stop().clone(), useless: useless.clone() };
    let mut link = Link::start(deployed, stop)?;
    match link.ask(&Request::Begin(Begin::from(options)), &mut Nobody)? {
        Reply::Done => Ok(link),
        other => Err(link.nonsense(&other)),
    }
}

/// What is seen of a point on its way to the observer, for where its result does not come. The load
/// ends for the observer with the point, whatever the program still says.
struct PointRelay<'a> {
    observer: &'a mut dyn LoadObserver,
    loaded: bool,
    phase: Phase,
    /// Of each part.
    windows: Vec<Vec<Window>>,
}

/// Most windows of a point that are kept without its result.
const MOST_WINDOWS: usize = 100_000;

impl<'a> PointRelay<'a> {
    fn new(observer: &'a mut dyn LoadObserver) -> PointRelay<'a> {
        PointRelay { observer, loaded: false, phase: Phase::Prepare, windows: Vec::new() }
    }

    /// A point without its result: what was seen of it is kept.
    fn failed(&mut self, spec: &PointSpec, failure: Failure) -> PointResult {
        let outcome = match failure.cause {
            Cause::Interrupted => Outcome::Stopped,
            _ => Outcome::Failed { phase: self.phase.to_string(), failure },
        };
        let part = |part: usize| {
            let windows = self.windows.iter().map(|parts| parts.get(part).cloned());
            let windows: Vec<Window> = windows.map(Option::unwrap_or_default).collect();
            let series = Series::new(spec.window_seconds, &windows);
            PartResult { series, ..PartResult::default() }
        };
        let parts = (0..spec.workload.parts.len()).map(part).collect();
        PointResult { parts, ..PointResult::empty(outcome) }
    }
}

impl Drop for PointRelay<'_> {
    fn drop(&mut self) {
        self.load_ends();
    }
}

impl LoadObserver for PointRelay<'_> {
    fn load_begins(&mut self) {
        if !self.loaded {
            self.loaded = true;
            self.observer.load_begins();
        }
    }

    fn load_ends(&mut self) {
        if self.loaded {
            self.loaded = false;
            self.observer.load_ends();
        }
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::Phase { phase, .. } => self.phase = *phase,
            Event::Window { parts, .. } if self.windows.len() < MOST_WINDOWS => {
                self.windows.push(parts.clone());
            }
            _ => {}
        }
        self.observer.event(event);
    }
}
