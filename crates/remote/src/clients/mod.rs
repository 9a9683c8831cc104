//! Several clients at once: each point is one of all of them, begun together.

mod events;
mod gate;
mod merge;
mod point;

pub use gate::{Begun, Start};

use crate::link::Nobody;
use crate::runner::RemoteRunner;
use events::Events;
use plimsoll_model::{
    Cause, Event, Failure, Flag, Length, LoadObserver, PointResult, PointSpec, Prepared,
    SubjectFacts, SubjectRunner, Target, Workload,
};
use plimsoll_reach::Reach;
use plimsoll_reach::clock::Clocks;
use plimsoll_reach::deploy::Programs;
use plimsoll_runner::{OpenOptions, RunnerOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

/// Directories of a study on one target, of one client.
const NONCES: u32 = 1 << 16;

/// Runners on several hosts that do each workload together, on the same targets at the same time:
/// each does the parts that are its own, by its number in the plan. Each has its own connections,
/// its own run directory and files of its own.
pub struct Clients {
    runners: Vec<RemoteRunner>,
    stop: Arc<AtomicBool>,
    begun: Vec<Option<Begun>>,
}

impl Clients {
    /// Deploys the program on the hosts, begins a study there, and looks whether the clocks are known
    /// well enough to begin together.
    ///
    /// # Errors
    /// Those of [`RemoteRunner::start`]; [`Cause::Usage`] for hosts whose clocks are too far apart.
    pub fn start(
        hosts: Vec<Arc<dyn Reach>>,
        programs: &Programs,
        options: &RunnerOptions,
    ) -> Result<Clients, Failure> {
        let mut runners = Vec::with_capacity(hosts.len());
        for (number, reach) in (0..).zip(hosts) {
            let nonce = options.nonce.wrapping_add(NONCES.wrapping_mul(number));
            let options = RunnerOptions { nonce, ..options.clone() };
            runners.push(RemoteRunner::start(reach, programs, &options)?);
        }
        let stop = options.deadline.stop().clone();
        let mut clients = Clients { runners, stop, begun: Vec::new() };
        let clocks: Vec<Clocks> = clients.each(&mut Nobody, |_, runner, _| runner.clocks())?;
        gate::agree(&clocks, Instant::now())
            .map_err(|apart| apart.failure(clients.runners[apart.client].host()))?;
        Ok(clients)
    }

    /// Opens a target on every host.
    ///
    /// # Errors
    /// Those of [`RemoteRunner::connect`].
    pub fn connect(&mut self, target: &Target, options: &OpenOptions) -> Result<(), Failure> {
        // One after the other: a password is asked for once.
        self.runners.iter_mut().try_for_each(|runner| runner.connect(target, options))
    }

    /// How those clients began that took part in the last point, in the order of the hosts; `None`
    /// for one that did not begin.
    pub fn begun(&self) -> &[Option<Begun>] {
        &self.begun
    }

    /// Has every client do something at the same time. Where one fails, the others are stopped: the
    /// study ends.
    fn each<T: Send>(
        &mut self,
        observer: &mut dyn LoadObserver,
        work: impl Fn(usize, &mut RemoteRunner, &mut dyn LoadObserver) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let useless: Vec<_> = self.runners.iter().map(RemoteRunner::useless).collect();
        let mut events = Events::new(vec![Vec::new(); self.runners.len()], observer);
        let mut done: Vec<Option<T>> = self.runners.iter().map(|_| None).collect();
        let mut failed = None;
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for (number, runner) in self.runners.iter_mut().enumerate() {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move || {
                    let mut forward = Forward(|event| drop(sender.send((number, Err(event)))));
                    let result = work(number, runner, &mut forward);
                    let _ = sender.send((number, Ok(result)));
                });
            }
            drop(sender);
            for (number, message) in receiver {
                match message {
                    Err(event) => events.take(number, event),
                    Ok(Ok(value)) => done[number] = Some(value),
                    Ok(Err(failure)) => {
                        // Why the others end is that they were asked to.
                        failed.get_or_insert(failure);
                        useless.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
                    }
                }
            }
        });
        match failed {
            Some(failure) => Err(failure),
            None => Ok(done.into_iter().flatten().collect()),
        }
    }

    /// Whether all parts of a workload are somebody's, and end together.
    fn check(&self, workload: &Workload) -> Result<(), Failure> {
        let clients = self.runners.len();
        let part = |part: &&plimsoll_model::Part| usize::from(part.client) >= clients;
        let happened = if let Some(part) = workload.parts.iter().find(part) {
            format!(
                "a part is assigned to client {}, but only {clients} clients exist",
                part.client + 1
            )
        } else if matches!(workload.length, Length::UntilDone { .. })
            && workload.together().is_none()
            && workload.parts.iter().any(|part| part.client != workload.parts[0].client)
        {
            "clients with different jobs would end at different times".to_owned()
        } else {
            return Ok(());
        };
        let next = "Give a length in seconds, or give all clients the same job.";
        Err(Failure::new(Cause::Usage, "assign the work")
            .on("the clients")
            .happened(happened)
            .next(next))
    }
}

/// What a client does of a workload; `None`: nothing.
fn own(workload: &Workload, client: usize) -> Option<Workload> {
    let mut own = workload.clone();
    own.parts.retain(|part| usize::from(part.client) == client);
    own.parts.iter_mut().for_each(|part| part.client = 0);
    (!own.parts.is_empty()).then_some(own)
}

/// Hands progress on. Begin and end of a load are not any single client's.
struct Forward<F: FnMut(Event)>(F);

impl<F: FnMut(Event)> LoadObserver for Forward<F> {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, event: Event) {
        (self.0)(event);
    }
}

impl SubjectRunner for Clients {
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        // One after the other, so that each sees the directories of those before.
        let flags = self.runners.iter_mut().map(|runner| runner.attach(subject));
        flags.collect::<Result<Vec<_>, _>>().map(|flags| flags.concat())
    }

    /// That of the slowest while all write.
    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        let rates = self
            .each(observer, |_, runner, observer| runner.lay_out_rate(subject, bytes, observer))?;
        Ok(rates.into_iter().flatten().reduce(f64::min))
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        workloads.iter().try_for_each(|workload| self.check(workload))?;
        let prepared = self.each(observer, |client, runner, observer| {
            let own: Vec<Workload> = workloads.iter().filter_map(|w| own(w, client)).collect();
            runner.prepare(subject, &own, observer)
        })?;
        let more = prepared.iter().any(|client| client.more);
        Ok(Prepared { flags: prepared.into_iter().flat_map(|client| client.flags).collect(), more })
    }

    /// What the subjects are to the first client.
    fn facts(&self) -> Vec<SubjectFacts> {
        self.runners.first().map(|runner| runner.facts()).unwrap_or_default()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let (result, begun) = point::measure(&mut self.runners, &self.stop, spec, observer);
        self.begun = begun;
        result
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.each(&mut Nobody, |_, runner, _| runner.release()).map(drop)
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        self.each(&mut Nobody, |_, runner, _| runner.reopen()).map(drop)
    }

    fn close(&mut self) -> Vec<Flag> {
        std::thread::scope(|scope| {
            let closing = |runner| scope.spawn(move || RemoteRunner::close(runner));
            let all: Vec<_> = self.runners.iter_mut().map(closing).collect();
            let flags = all.into_iter().map(|thread| thread.join());
            flags.flat_map(|f| f.unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        })
    }
}
