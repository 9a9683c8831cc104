//! Flows of frames that a flowtable of the router forwards, as its table of connections marks them. A flowtable can be
//! there and take none: then a comparison with it compares nothing.

use crate::gather::Gathered;
use crate::thresholds::FEW_FLOWS;
use plimsoll_model::factor::{self, FLOWTABLE, RULESET};
use plimsoll_model::{
    Cell, ConntrackLoad, Factor, FactorLevel, Flow, HostLoad, HostName, Job, Study, SubjectFacts,
    Trial,
};
use plimsoll_stats::interval::mean;

/// Two levels of the setting of a flowtable of plimsoll's own.
const OFF: &str = "off";
const HARDWARE: &str = "hardware";

/// Flows of frames that a router with a flowtable forwards by it, under one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowsTaken {
    /// The cell.
    pub cell: Cell,
    /// Share of the flows, as a mean of the looks after trials.
    pub share: f64,
    /// Whether the hardware forwards them.
    pub in_hardware: bool,
    /// Whether the hardware was to forward them.
    pub wants_hardware: bool,
}

/// Every cell with frames of many flows and a flowtable, if the router's connections were looked at.
pub fn flows_taken(study: &Study) -> Vec<FlowsTaken> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<FlowsTaken> {
    let Job::Forwarding(job) = &study.plan.workload(cell)?.main()?.job else { return None };
    let router = study.plan.router(usize::from(cell.subject))?;
    let wants_hardware = wants_hardware(study, cell, router)?;
    let ways = if job.flow == Flow::Both { 2.0 } else { 1.0 };
    let flows = f64::from(job.flows) * ways;
    if flows < FEW_FLOWS {
        return None;
    }
    let trials = gathered.complete(cell);
    let own = trials.iter().flat_map(|trial| loads(trial)).filter(|load| load.host == *router);
    let tables: Vec<ConntrackLoad> = own.filter_map(|load| load.conntrack).collect();
    let share = |table: &ConntrackLoad| Some((table.offloaded? as f64 / flows).min(1.0));
    let shares: Vec<f64> = tables.iter().filter_map(share).collect();
    let in_hardware = tables.iter().any(|table| table.offloaded_in_hardware);
    Some(FlowsTaken { cell, share: mean(&shares)?, in_hardware, wants_hardware })
}

/// The loads of hosts in a trial and in each of its points.
fn loads(trial: &Trial) -> impl Iterator<Item = &HostLoad> {
    trial.points.iter().flat_map(|point| &point.loads).chain(&trial.loads)
}

/// Whether a flowtable of the router is to forward in hardware under the setting of a cell; `None` if it has none, as far
/// as is known.
fn wants_hardware(study: &Study, cell: Cell, router: &HostName) -> Option<bool> {
    let factors = &study.plan.factors;
    let levels = factor::levels(factors, cell.setting);
    let level = |name: &str| {
        let is_meant =
            |(factor, _): &(&Factor, usize)| factor.name == name && factor.host == *router;
        let (factor, level) = factors.iter().zip(levels.iter().copied()).find(is_meant)?;
        factor.levels.get(level)
    };
    if let Some(FactorLevel::Set { value }) = level(FLOWTABLE) {
        return (value != OFF).then(|| value == HARDWARE);
    }
    let SubjectFacts::Path(path) = study.subjects.get(usize::from(cell.subject))? else {
        return None;
    };
    let tables = path.router.as_ref()?.filter.as_ref()?.nft_flow_tables_count?;
    // The rules as found may have one.
    let has_own_rules = level(RULESET).is_none_or(|level| *level == FactorLevel::AsFound);
    (has_own_rules && tables > 0).then_some(false)
}
