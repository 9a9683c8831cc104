//! What a trial cost the machines, by the operations of the whole trial.

use plimsoll_model::{CpuSeconds, Flag, HostLoad, Measure, Metric, Plan, PointResult};

/// Busy share of a core that is nearly full.
const FULL: f64 = 0.95;

/// CPU of the client machine and of the target's servers, busy minus idle baseline, per operation
/// and per byte; and which of them was nearly full.
pub(crate) fn add(result: &mut PointResult, loads: &[HostLoad], plan: &Plan, target: usize) {
    let name = plan.client().to_string();
    if let Some(client) = loads.iter().find(|load| load.host == name) {
        let measures = (Measure::MACHINE_CPU_PER_OP, Measure::MACHINE_CPU_PER_BYTE);
        charge(result, client.caused(), measures);
        if let Some(core_busy) = full(client) {
            let host = Some(name.clone()).filter(|_| plan.on.is_some());
            result.flags.push(Flag::ClientSaturated { host, core_busy });
        }
    }
    let hosts = || plan.hosts.iter().filter(|host| host.serves(target));
    let serving: Vec<&HostLoad> =
        loads.iter().filter(|load| hosts().any(|host| host.is(&load.host))).collect();
    // Of a server on several hosts, all count or none.
    if !serving.is_empty() && hosts().all(|host| serving.iter().any(|l| host.is(&l.host))) {
        let caused = serving.iter().map(|load| load.caused().0).sum();
        let measures = (Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE);
        charge(result, CpuSeconds(caused), measures);
    }
    for load in serving.iter().filter(|load| load.host != name) {
        if let Some(core_busy) = full(load) {
            result.flags.push(Flag::ServerSaturated { host: load.host.clone(), core_busy });
        }
    }
}

/// The busiest core, if it is nearly full.
fn full(load: &HostLoad) -> Option<f64> {
    load.cores_busy.iter().copied().reduce(f64::max).filter(|busy| *busy > FULL)
}

fn charge(result: &mut PointResult, spent: CpuSeconds, measures: (Measure, Measure)) {
    let (operations, bytes) = result.series.totals();
    for (measure, count) in [(measures.0, operations), (measures.1, bytes)] {
        if count > 0 {
            result.quantities.insert(Metric::all(measure), spent.0 / count as f64);
        }
    }
}
