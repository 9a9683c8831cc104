//! A router while new connections are opened through it: its busiest core, its table of connections, and what sets their
//! rate.

use super::lost;
use super::seen::{Loaded, at_end, average, kernel, mean};
use crate::gather::Gathered;
use crate::thresholds::{NOT_OPENED, PATH_SATURATED};
use plimsoll_model::{Cell, ConntrackLoad, Measure, Metric, PathSubject, Study, Subject, Trial};

/// What sets the rate of new connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConnectionLimit {
    /// The router's table of connections, which had no room for another one.
    Table,
    /// A core of the router, which its kernel keeps busy at this utilisation.
    Core {
        /// Utilisation.
        share: f64,
    },
    /// A core of the machine that is the router and an end, at this utilisation.
    SharedCore {
        /// Utilisation.
        share: f64,
    },
    /// A core of an end, at this utilisation: the router takes at least that many.
    End {
        /// Utilisation.
        share: f64,
    },
    /// Attempts that were refused or had no answer, this share of all, while all cores are idle enough.
    NotOpened {
        /// Share.
        share: f64,
    },
    /// The round trips: all cores are idle enough, and more at a time would be more a second.
    RoundTrips,
    /// Nothing is known of the router.
    Unknown,
}

/// A router while new connections are opened through it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewConnections {
    /// The cell.
    pub cell: Cell,
    /// Share of the time that its busiest core spends in soft interrupts.
    pub softirq: Option<f64>,
    /// Its connection tracking.
    pub conntrack: Option<ConntrackLoad>,
    /// What sets the rate.
    pub limit: ConnectionLimit,
}

impl NewConnections {
    /// Its connection tracking, if the table had no room for another connection.
    pub fn full_conntrack(&self) -> Option<ConntrackLoad> {
        self.conntrack.filter(lost::is_full)
    }
}

/// Every cell of new connections through a router that has complete trials.
pub fn new_connections(study: &Study) -> Vec<NewConnections> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered.complete(cell), cell)).collect()
}

fn of_cell(study: &Study, trials: &[&Trial], cell: Cell) -> Option<NewConnections> {
    let job = &study.plan.workload(cell)?.main()?.job;
    let path = study.plan.subjects.get(usize::from(cell.subject)).and_then(Subject::path)?;
    let router = study.plan.router(usize::from(cell.subject))?;
    if job.speed() != Measure::CONNECTIONS || trials.is_empty() {
        return None;
    }
    let own = Loaded::of_trials(trials, router);
    let conntrack = own.iter().filter_map(|at| at.load.conntrack).reduce(|all, one| all + one);
    let facts = study.hosts.iter().find(|facts| facts.name == *router);
    let shares = facts.is_some_and(|facts| facts.is_this_machine);
    let limit = match conntrack {
        Some(table) if lost::is_full(&table) => ConnectionLimit::Table,
        _ if own.is_empty() => ConnectionLimit::Unknown,
        _ if shares => match mean(&own, Loaded::core) {
            Some(share) if share >= PATH_SATURATED => ConnectionLimit::SharedCore { share },
            _ => of_attempts(trials),
        },
        _ => match (mean(&own, |at| at.busiest(kernel)), at_ends(trials, path)) {
            (Some(share), _) if share >= PATH_SATURATED => ConnectionLimit::Core { share },
            (_, Some(share)) if share >= PATH_SATURATED => ConnectionLimit::End { share },
            _ => of_attempts(trials),
        },
    };
    let softirq = mean(&own, |at| at.busiest(|cpu| cpu.softirq));
    Some(NewConnections { cell, softirq, conntrack, limit })
}

/// What sets the rate where no core does: attempts that fail, or the round trips of the others.
fn of_attempts(trials: &[&Trial]) -> ConnectionLimit {
    let failed = |trial: &&Trial| trial.result.value(0, Metric::all(Measure::UNANSWERED));
    match average(&trials.iter().filter_map(failed).collect::<Vec<f64>>()) {
        Some(share) if share >= NOT_OPENED => ConnectionLimit::NotOpened { share },
        _ => ConnectionLimit::RoundTrips,
    }
}

/// The busiest core or process of the busier end.
fn at_ends(trials: &[&Trial], path: &PathSubject) -> Option<f64> {
    let a = Loaded::of_trials(trials, &path.from.host);
    let b = Loaded::of_trials(trials, &path.to.host);
    let a = at_end(trials, &a, Measure::NEAR_BUSIEST);
    let b = at_end(trials, &b, Measure::FAR_BUSIEST);
    [a, b].into_iter().flatten().reduce(f64::max)
}
