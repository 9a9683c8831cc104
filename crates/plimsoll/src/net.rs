//! `plimsoll net`: what the network between two hosts carries, how late it is under load, and its bottleneck.

mod arguments;
mod checks;
mod connections;
mod design;
mod design_arguments;
mod iperf3;
mod kinds;
mod layers;
mod parts;
pub mod tunnel;
mod via;
mod via_arguments;
mod workloads;

pub use arguments::{EXAMPLES, NetArguments};
pub use kinds::{CONNECTIONS, FORWARDING, KINDS, PathKind};
pub use workloads::at_rates;

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::public::expect_rules_stay;
use crate::signals::Signals;
use crate::{hosts, plan, restore};
use arguments::{JobChoice, SideChoice};
use checks::{expect_routable, expect_sizes, expect_used, expect_zones};
use plimsoll_load::SystemClock;
use plimsoll_model::{
    Cause, Clock, Contrast, Deadline, Endpoint, Failure, Flag, HostName, HostRole, PathSubject,
    Plan, Study, Subject, SubjectKind, SubjectRunner, Watched, Workload,
};
use plimsoll_net::{Addresses, End, Ends, Iperf3Runner, PathRunner, Side, Token, Wanted};
use plimsoll_reach::Reach;
use plimsoll_study::RunnerOfKind;
use std::net::Ipv4Addr;
use std::num::NonZeroU16;
use std::sync::Arc;
use workloads::workloads;

const BASELINE_SECONDS: f64 = 2.0;

/// The jobs if the user names none.
const DEFAULT_JOBS: [JobChoice; 5] = [
    JobChoice::TcpOut,
    JobChoice::TcpIn,
    JobChoice::TcpBoth,
    JobChoice::Request,
    JobChoice::Loaded,
];

/// Measures a path and returns the exit code.
pub fn run(arguments: &NetArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    let [a, b] = ends(arguments)?;
    let mut plan = plan(arguments, &a, &b)?;
    plan.command = plan::repeatable_command(&plan);
    arguments.commands.expect_consent(&plan)?;
    let (study, interrupted) = measure(plan, arguments, &arguments.output, kept)?;
    Ok(check::exit_code(&study, interrupted))
}

/// The hosts at the ends of the path.
pub fn ends(arguments: &NetArguments) -> Result<[HostName; 2], Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let named = arguments.hosts.iter().map(|host| host.parse::<HostName>());
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let ends = match named.as_slice() {
        [b] => [HostName::Local, b.clone()],
        [a, b, ..] => [a.clone(), b.clone()],
        [] => [HostName::Local, HostName::Local],
    };
    expect_zones(ends.each_ref())?;
    Ok(ends)
}

/// Conducts the plan of a path, which was made of these arguments. Returns the study and the cause of an interruption.
pub fn measure(
    mut plan: Plan,
    arguments: &NetArguments,
    output: &OutputArguments,
    kept: &StoreArguments,
) -> Result<(Study, Option<Cause>), Failure> {
    let [a, b] = ends(arguments)?;
    let router = arguments.via.router()?;
    let mut concerned = vec![&a, &b];
    concerned.extend(&router);
    concerned.extend(plan.factors.iter().map(|factor| &factor.host));
    restore::expect_none_left(&concerned, &[])?;
    expect_rules_stay(&plan.factors, arguments.via.allow_open)?;
    if let Some(router) = router.as_ref().filter(|_| !arguments.via.parts.is_empty()) {
        let priced = parts::look(arguments, &a, &b, router)?;
        (plan.factors, plan.parts) = (priced.factors, Some(priced.parts));
    }
    let quiet = output.quiet;
    check::conducted(plan, output, kept, More::default(), |plan, id, signals| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let deadline = Deadline::new(clock.clone(), signals.stop.clone());
        let progress = Progress::new(quiet);
        let (at_a, reach_a) = end(Side::A, &a, arguments, &deadline, &progress)?;
        let given = plan.subjects.first().map(ToString::to_string).unwrap_or_default();
        let stop = signals.stop.clone();
        let token: Token = Box::new(rand::random::<[u8; 16]>);
        let mut flags = Vec::new();
        let runner: Box<dyn SubjectRunner> = match &b {
            HostName::Iperf3 { host, port } => {
                let (from, host, port) = (a.clone(), host.clone(), *port);
                let addresses =
                    Signals::leave_when_over(&deadline, "find the server", &b, move || {
                        iperf3::addresses(&from, &host, port)
                    })?;
                let name = b.clone();
                Box::new(Iperf3Runner::new(given, at_a, name, addresses, stop, token))
            }
            _ => {
                let (at_b, reach_b) = end(Side::B, &b, arguments, &deadline, &progress)?;
                let opener = arguments.connect_from.side();
                let wanted = wanted(arguments, &a, &b)?;
                let beside = arguments.via.direct.map(|b| Wanted { a: None, b: Some(b) });
                let (reach_a, on_path) = (reach_a.clone(), reach_a.clone());
                let inside = match opener {
                    Side::A => reach_a.clone(),
                    Side::B => reach_b.clone(),
                };
                let (addresses, interfaces, direct, routers) =
                    Signals::leave_when_over(&deadline, "find the addresses", &b, move || {
                        let addresses =
                            Addresses::find(&*reach_a, &*reach_b, opener.other(), wanted)?;
                        let interfaces = plimsoll_net::interfaces(&*reach_a, &*reach_b, addresses);
                        let routers = plimsoll_net::routers(&*reach_a, &*reach_b, addresses);
                        let find = |wanted| Addresses::find(&*reach_a, &*reach_b, Side::B, wanted);
                        Ok((addresses, interfaces, beside.map(find).transpose()?, routers))
                    })?;
                let (mut translated, mut facts) = (None, None);
                if let Some(router) = &router {
                    let router = router.clone();
                    let is_allowed = arguments.via.allow_wan;
                    let listens = addresses.end(opener.other());
                    (flags, translated, facts) =
                        Signals::leave_when_over(&deadline, "check the route", &b, move || {
                            let at_router = hosts::open(&router, false)?;
                            let flags =
                                via::look(&*at_router, &*on_path, addresses, direct, is_allowed)?;
                            let own = via::own_address_towards(&*at_router, listens.ip);
                            let own_of_ends =
                                via::own_addresses_of_ends(&*inside, opener, addresses);
                            let names = via::own_interfaces(&*at_router, own_of_ends);
                            let facts = plimsoll_device::router(&*at_router, &names);
                            Ok((flags, own, Some(facts)))
                        })?;
                } else {
                    let named = |side: Side| if side == Side::A { &a } else { &b };
                    let flag = |side: Side| Flag::EndIsGateway { host: named(side).clone() };
                    flags = routers.into_iter().map(flag).collect();
                }
                let port = arguments.port.map_or(0, NonZeroU16::get);
                let ends = Ends { a: at_a, b: at_b, addresses, translated, opener, port };
                let runner = PathRunner::new(given, ends, stop, token).over(interfaces);
                let runner = runner.via(router.clone(), facts);
                let runner = match tunnel::largest_packet(plan) {
                    Some(largest) => runner.with_packets_of_at_most(largest),
                    None => runner,
                };
                Box::new(match direct {
                    Some(direct) => {
                        let given = plan.subjects.get(1).map(ToString::to_string);
                        runner.with_direct_path(given.unwrap_or_default(), direct)
                    }
                    None => runner,
                })
            }
        };
        let on = plan.clients().map(|_| reach_a.clone()).collect();
        let runners = vec![RunnerOfKind { kind: SubjectKind::Path, runner }];
        let ready = SetUp::unwatched(runners, clock);
        let mut ready = ready.watched(plan, id, on, &deadline)?;
        ready.watching.flags.extend(flags);
        Ok(ready.beginning_now())
    })
}

/// Reaches the host of an end and deploys the probe there.
fn end(
    side: Side,
    host: &HostName,
    arguments: &NetArguments,
    deadline: &Deadline,
    progress: &Progress,
) -> Result<(End, Arc<dyn Reach>), Failure> {
    let directory = arguments.study.probe_dir.as_deref();
    let proposing =
        |failure| if side == Side::B { iperf3::proposed(failure, host) } else { failure };
    let measured = hosts::with_probe(host, directory, deadline, progress);
    let hosts::Measured { reach, placed } = measured.map_err(|failure| match failure.cause {
        Cause::Usage => failure,
        _ => proposing(failure),
    })?;
    Ok((End { name: host.clone(), placed: placed.map_err(proposing)? }, reach))
}

/// The addresses that the user names, or a lab knows.
fn wanted(arguments: &NetArguments, a: &HostName, b: &HostName) -> Result<Wanted, Failure> {
    // Both ends are this machine.
    let known = |own: &HostName, other: &HostName| match own {
        HostName::Local if own == other => Ok(Some(Ipv4Addr::LOCALHOST.into())),
        _ => hosts::address_in_lab(own, other),
    };
    let b_opens = arguments.connect_from == SideChoice::B;
    // The end that listens must be known; the other one is asked for its route.
    Ok(Wanted {
        a: match arguments.address_a {
            None if b_opens || a == b => known(a, b)?,
            named => named,
        },
        b: match arguments.address {
            None if !b_opens || a == b => known(b, a)?,
            named => named,
        },
    })
}

/// The plan of a study of one path.
fn plan(arguments: &NetArguments, a: &HostName, b: &HostName) -> Result<Plan, Failure> {
    let mut plan = plan_of(arguments, a, b, work(arguments, a, b)?)?;
    (plan.factors, plan.commands) = arguments.commands.factors(&design::settings(arguments), a)?;
    plan.contrasts = Contrast::against_first(&plan);
    Ok(plan)
}

/// Work of a study of a path.
#[derive(Default)]
pub struct PathWork {
    pub workloads: Vec<Workload>,
    /// Seconds of all trials that confirm rates, where the user chose their length.
    confirming_seconds: f64,
}

impl PathWork {
    /// Adds more work.
    pub fn add(&mut self, more: PathWork) {
        self.workloads.extend(more.workloads);
        self.confirming_seconds += more.confirming_seconds;
    }
}

/// The work that the arguments name.
///
/// # Errors
/// [`Cause::Usage`] for what cannot be measured, and for options that no job uses.
pub fn work(arguments: &NetArguments, a: &HostName, b: &HostName) -> Result<PathWork, Failure> {
    iperf3::expect_possible(arguments, a, b)?;
    let jobs = match arguments.jobs.as_slice() {
        [] if matches!(b, HostName::Iperf3 { .. }) => &iperf3::DEFAULT_JOBS[..],
        [] => &DEFAULT_JOBS[..],
        jobs => jobs,
    };
    expect_sizes(arguments)?;
    let router = arguments.via.router()?;
    let planned = match (design::workloads(arguments)?, router) {
        (Some(published), _) => published,
        (None, Some(_)) => {
            expect_routable(arguments)?;
            via::workloads(arguments)?
        }
        (None, None) => {
            expect_used(arguments, jobs)?;
            jobs.iter().flat_map(|job| self::workloads(arguments, *job)).collect()
        }
    };
    let mut workloads: Vec<Workload> = Vec::new();
    for workload in planned {
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    let confirming = arguments.via.confirming.map_or(0.0, |time| time.as_secs_f64());
    let confirming_seconds = confirming * workloads.len() as f64;
    Ok(PathWork { workloads, confirming_seconds })
}

/// The plan of this work, without settings and comparisons. Options of single jobs are not looked at.
pub fn plan_of(
    arguments: &NetArguments,
    a: &HostName,
    b: &HostName,
    work: PathWork,
) -> Result<Plan, Failure> {
    let router = arguments.via.router()?;
    let end = |host: &HostName, address| Endpoint { host: host.clone(), address };
    let path = PathSubject {
        from: end(a, arguments.address_a),
        to: end(b, arguments.address),
        via: router.clone(),
    };
    let mut subjects: Vec<Subject> = vec![path.into()];
    if let Some(direct) = arguments.via.direct {
        via::expect_direct_possible(arguments)?;
        let path = PathSubject { from: end(a, None), to: end(b, Some(direct)), via: None };
        subjects.push(path.into());
    }
    let baseline_seconds = if arguments.study.quick { 1.0 } else { BASELINE_SECONDS };
    let design = match (&router, arguments.design.design) {
        (_, Some(_)) => design::design(arguments, &work.workloads, baseline_seconds),
        (Some(_), None) => {
            let confirming_seconds = subjects.len() as f64 * work.confirming_seconds;
            via::design(arguments, confirming_seconds, baseline_seconds)
        }
        (None, None) => arguments.study.design(ProbeArguments::CAP_SECONDS, baseline_seconds),
    };
    let mut plan = Plan::new(subjects, work.workloads, design);
    plan.drive_on([a.clone()]);
    // Nobody logs in to an iperf3 server.
    if !matches!(b, HostName::Iperf3 { .. }) {
        plan.watched.push(Watched::new(b.clone(), HostRole::Peer));
    }
    // The direct path does not go through it.
    let router_of_path =
        |host| Watched { subject: Some(0), ..Watched::new(host, HostRole::Router) };
    plan.watched.extend(router.map(router_of_path));
    Ok(plan)
}

#[cfg(test)]
mod tests;
