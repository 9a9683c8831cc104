//! A path to an iperf3 server as the subject of a study: a point is a test of the server.

use super::complaints;
use super::control::{ANSWER, Control, Trouble};
use super::protocol::{self, CLIENT_TERMINATE, DONE, Heard, TEST_END, framed};
use super::results::{self, Results};
use super::server::Iperf3Server;
use crate::buffers;
use crate::complaints::closed;
use crate::drive::{REPORTING, SLICE};
use crate::ends::{End, Side};
use crate::figures;
use crate::order::{DRAIN, Once, Order, SETUP, Times};
use crate::report::{Ending, Report};
use crate::rights;
use crate::runner::{Token, Unwatched, broken_off};
use crate::session::Session;
use crate::stalls;
use plimsoll_model::{
    Address, Cause, Event, Failure, Flag, Flow, HostName, Job, LoadObserver, Outcome, PathFacts,
    Phase, PointResult, PointSpec, SubjectFacts, SubjectRunner, TcpStreamJob,
};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for a server to listen again after a test.
const BETWEEN_TESTS: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);
/// Time for a server to read what its host has acknowledged, or datagrams on their way.
const SETTLE: Duration = Duration::from_millis(200);
/// A server that sends goes on for so long after the end of the trial, which the probe takes by its own clock.
const OVERTIME: Duration = Duration::from_millis(150);
/// The same of a server that receives, too: what was sent to it has to be acknowledged first. The probe still reads then
/// ([`DRAIN`]).
const OVERTIME_OF_BOTH: Duration = Duration::from_millis(400);

/// Payload bytes of a whole test, also of the part that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// By the probe at A.
    pub own: u64,
    /// By the server.
    pub server: u64,
}

/// Measures points on the path to an iperf3 server.
pub struct Iperf3Runner {
    near: Option<End>,
    server: Iperf3Server,
    /// Addresses of its name, until one answers.
    addresses: Vec<SocketAddr>,
    session: Option<Session>,
    facts: PathFacts,
    stop: Arc<AtomicBool>,
    token: Token,
    trial: u32,
    /// Whether it has done a test.
    has_answered: bool,
    /// Whether it runs on this machine.
    is_here: bool,
    totals: Option<Totals>,
}

/// A test of the server.
struct Test<'a> {
    near: &'a End,
    server: &'a Iperf3Server,
    job: &'a Job,
    once: Once,
    /// The trial for the probe.
    order: String,
    parameters: Value,
    stop: &'a AtomicBool,
}

/// Results of both ends, and how long the test ran.
struct Exchanged {
    near: Report,
    results: Results,
    whole: Duration,
}

impl Iperf3Runner {
    /// A runner of the path from this end to a server, which is named and has these addresses; `stop` is set when the
    /// user wants an end.
    pub fn new(
        given: String,
        near: End,
        name: HostName,
        addresses: Vec<SocketAddr>,
        stop: Arc<AtomicBool>,
        token: Token,
    ) -> Iperf3Runner {
        let unset = SocketAddr::from((Ipv4Addr::UNSPECIFIED, protocol::PORT));
        let address = addresses.first().copied().unwrap_or(unset);
        let literal = name.name().parse::<Address>().ok();
        let zone = literal.and_then(|address| address.zone);
        Iperf3Runner {
            near: Some(near),
            server: Iperf3Server { name, address, zone },
            addresses,
            session: None,
            facts: PathFacts { label: given.clone(), given, ..PathFacts::default() },
            stop,
            token,
            trial: 0,
            has_answered: false,
            is_here: false,
            totals: None,
        }
    }

    /// What both ends counted in the last test.
    pub fn totals(&self) -> Option<Totals> {
        self.totals
    }

    /// Runs a test. The reports of A, and of B as far as the server reports; `None` if it was stopped.
    fn run(
        &mut self,
        job: &Job,
        times: Times,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<(Report, Report)>, Failure> {
        let Times { lead, duration } = times;
        self.totals = None;
        let Some(near) = &self.near else { return Err(closed()) };
        let parameters = protocol::parameters(job, lead + duration)?;
        let order = Order::new(job, Side::A, false)?;
        self.trial = self.trial.wrapping_add(1);
        let token = (self.token)();
        let once = Once { number: self.trial, token, lead, duration, most: duration };
        let cookie = cookie(&once);
        if let Some(stale) = self.session.take_if(|session| session.is_stale()) {
            stale.stop();
        }
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::start(&near.placed)?),
        };
        let (peer, port) = (self.server.peer(), self.server.address.port());
        let test = Test {
            near,
            server: &self.server,
            job,
            once,
            order: order.to_iperf3(&once, &cookie, peer, port),
            parameters,
            stop: &self.stop,
        };
        let mut control = match test.contact(&cookie, self.has_answered) {
            Err(Trouble::Stopped) => return Ok(None),
            control => control.map_err(|trouble| complaints::failure(&trouble, &self.server))?,
        };
        if !self.has_answered {
            let own = control.own_address();
            self.facts.notes.push(note(own, peer));
            // The source address of a route is its destination where that is the machine's own.
            self.is_here = peer.ip.is_loopback() || own == Some(peer.ip);
            self.has_answered = true;
        }
        observer.load_begins();
        let ran = test.drive(session, &mut control);
        observer.load_ends();
        let exchanged = match ran {
            Ok(exchanged) => exchanged,
            Err(Broken::Trouble(Trouble::Stopped)) => {
                let _ = session.cancel();
                control.close(CLIENT_TERMINATE);
                return Ok(None);
            }
            Err(Broken::Trouble(trouble)) => {
                return Err(complaints::failure(&trouble, &self.server));
            }
            Err(Broken::Probe(failure)) => {
                control.close(CLIENT_TERMINATE);
                return Err(failure);
            }
        };
        control.close(DONE);
        let Exchanged { near, results, whole } = exchanged;
        let own = Report::sum(near.streams.iter(), "total_bytes").map(|bytes| bytes as u64);
        self.totals = own.zip(results.bytes()).map(|(own, server)| Totals { own, server });
        let far = results.report(job, &near, whole);
        Ok(Some((near, far)))
    }
}

/// 36 letters and digits that nobody can guess.
fn cookie(once: &Once) -> String {
    let token = once.token.iter().map(|byte| format!("{byte:02x}"));
    format!("{}{:04x}", token.collect::<String>(), once.number & 0xffff)
}

/// "data between 10.0.0.1 and 10.0.0.2; B is an iperf3 server".
fn note(own: Option<IpAddr>, other: Address) -> String {
    let own = own.map_or_else(|| "A".to_owned(), |address| address.to_string());
    format!(
        "data between {own} and {other}; B is an iperf3 server, which reports less than a probe"
    )
}

/// Why a test broke off.
enum Broken {
    Trouble(Trouble),
    Probe(Failure),
}

impl From<Trouble> for Broken {
    fn from(trouble: Trouble) -> Broken {
        Broken::Trouble(trouble)
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Broken {
        Broken::Probe(failure)
    }
}

impl Test<'_> {
    /// Opens the control connection; after a test, the server may need a moment.
    fn contact(&self, cookie: &str, has_answered: bool) -> Result<Control, Trouble> {
        let until = Instant::now() + BETWEEN_TESTS;
        loop {
            match Control::open(self.near, self.server, cookie, self.stop) {
                Err(trouble) if has_answered && trouble.may_pass() && Instant::now() < until => {
                    self.expect_no_stop()?;
                    std::thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    fn expect_no_stop(&self) -> Result<(), Trouble> {
        if self.stop.load(Ordering::Relaxed) { Err(Trouble::Stopped) } else { Ok(()) }
    }

    fn flow(&self) -> Flow {
        match self.job {
            Job::TcpStream(job) => job.flow,
            Job::Datagrams(job) => job.flow,
            _ => Flow::Out,
        }
    }

    /// The whole test, from its parameters to the results.
    fn drive(&self, session: &mut Session, control: &mut Control) -> Result<Exchanged, Broken> {
        control.send(&framed(&self.parameters))?;
        control.expect(Heard::WantsStreams, ANSWER, self.stop)?;
        session.begin(self.once.number, &self.order)?;
        let setup = SETUP + REPORTING;
        self.watch(session, control, setup, |session| session.report.is_started)?;
        control.expect(Heard::Runs, ANSWER, self.stop)?;
        let begun = Instant::now();
        let trial = self.once.lead + self.once.duration;
        match self.flow() {
            Flow::Out => {
                self.watch(session, control, trial + DRAIN + REPORTING, |_| false)?;
                std::thread::sleep(SETTLE);
            }
            // A server that sends would never end by itself.
            flow => {
                let overtime = if flow == Flow::Both { OVERTIME_OF_BOTH } else { OVERTIME };
                let end = begun + trial + overtime;
                self.watch(session, control, trial + REPORTING, |_| Instant::now() >= end)?;
            }
        }
        let whole = begun.elapsed();
        control.send(&[TEST_END])?;
        control.expect(Heard::WantsResults, ANSWER, self.stop)?;
        let until = Instant::now() + DRAIN + REPORTING;
        while session.is_busy() {
            session.take_in(Instant::now() + SLICE)?;
            if Instant::now() > until {
                return Err(session.late(DRAIN + REPORTING).into());
            }
        }
        self.expect_whole(session, control)?;
        let near = std::mem::take(&mut session.report);
        control.send(&framed(&results::own(&near)))?;
        control.expect(Heard::Over, ANSWER, self.stop)?;
        let results = control.results().unwrap_or_default();
        Ok(Exchanged { near, results, whole })
    }

    /// Waits until the probe has ended the trial or `enough` is true, and fails if one of the ends does.
    fn watch(
        &self,
        session: &mut Session,
        control: &mut Control,
        patience: Duration,
        enough: impl Fn(&Session) -> bool,
    ) -> Result<(), Broken> {
        let until = Instant::now() + patience;
        while session.is_busy() && !enough(session) {
            self.expect_no_stop()?;
            session.take_in(Instant::now() + SLICE)?;
            control.hear(Instant::now())?;
            if Instant::now() > until {
                return Err(session.late(patience).into());
            }
        }
        self.expect_whole(session, control)
    }

    /// Fails if the trial failed at A. The server knows better why, if it says so.
    fn expect_whole(&self, session: &Session, control: &mut Control) -> Result<(), Broken> {
        let one_way = (self.flow() == Flow::Both)
            .then(|| complaints::of_one_way(&session.report, self.server, &self.job.title()));
        if let Some(failure) = one_way.flatten() {
            return Err(failure.into());
        }
        let failure = complaints::of_probe(&session.report, self.server, &self.job.title());
        let unsaid = session.report.end == Some(Ending::Failed);
        if failure.is_some() || unsaid {
            control.expect(Heard::Over, SETTLE, self.stop).or_else(|trouble| match trouble {
                Trouble::Silent(_) => Ok(()),
                trouble => Err(trouble),
            })?;
        }
        match failure {
            Some(failure) => Err(failure.into()),
            None if unsaid => Err(Trouble::Lost(Some(Heard::Runs)).into()),
            None => Ok(()),
        }
    }
}

impl SubjectRunner for Iperf3Runner {
    /// Starts the probe, and finds out with a short test whether the server does tests.
    fn attach(&mut self, _: usize) -> Result<Vec<Flag>, Failure> {
        let job = Job::from(TcpStreamJob::new(Flow::Out));
        let mut tried = Err(closed());
        for address in std::mem::take(&mut self.addresses) {
            self.server.address = address;
            tried = self.run(&job, Times::FIRST_CONTACT, &mut Unwatched);
            // Perhaps it listens at another address of its name.
            if !matches!(&tried, Err(failure) if failure.cause == Cause::Unreachable) {
                break;
            }
        }
        if let Err(failure) = tried {
            self.session = None;
            return Err(failure);
        }
        let session = self.session.as_ref().ok_or_else(closed)?;
        self.facts.root_adds = rights::root_adds(&[(Side::A, session.facts().clone())]);
        let host = self.server.name.clone();
        Ok(self.is_here.then_some(Flag::SameMachine { host }).into_iter().collect())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        vec![SubjectFacts::Path(self.facts.clone())]
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        let run = match spec.workload.parts.as_slice() {
            [part] => {
                observer.event(Event::Step { what: part.job.title() });
                self.run(&part.job, Times::new(&spec.workload), observer).map(|reports| {
                    let (near, far) = reports?;
                    let capped = self.near.as_ref();
                    let capped = capped.and_then(|end| buffers::flag(&part.job, &near, &end.name));
                    Some((figures::part(&part.job, &near, &far, spec.window_seconds), capped))
                })
            }
            _ => Err(protocol::unavailable("several loads at the same time")),
        };
        match run {
            Ok(Some((part, capped))) if !self.stop.load(Ordering::Relaxed) => {
                let parts = vec![part];
                let mut flags = stalls::flags(&parts);
                flags.extend(capped);
                PointResult { parts, flags, ..PointResult::empty(Outcome::Complete) }
            }
            Ok(_) => PointResult::empty(Outcome::Stopped),
            Err(failure) => {
                // What still runs ends with its session.
                self.session = None;
                broken_off(failure, &self.stop)
            }
        }
    }

    fn close(&mut self) -> Vec<Flag> {
        if let Some(session) = self.session.take() {
            session.stop();
        }
        self.near.take().and_then(End::remove).into_iter().collect()
    }
}
