//! What a trial cost the machines, by the operations of the whole trial.

use plimsoll_model::{
    Count, CpuSeconds, Flag, HostLoad, HostName, Measure, Metric, PartResult, Plan, PointResult,
    PointSpec, Target,
};

/// Busy share of a core that is nearly full.
const FULL: f64 = 0.95;
/// Twenty ticks of the kernels' 10 ms: what fewer say of a core is chance.
const TICKS_SECONDS: f64 = 0.2;

/// CPU of each client machine and of the subject's servers, busy minus idle baseline, per operation
/// and per byte; and which of them was nearly full. What several different jobs at once cost a machine
/// together is nobody's cost per operation, and is left out.
pub(crate) fn add(result: &mut PointResult, loads: &[HostLoad], plan: &Plan, spec: &PointSpec) {
    let parts = &spec.workload.parts;
    // Of a path, a full core is a bottleneck like any other, and no flaw of the measurement.
    let is_storage = plan.target(spec.subject).is_some();
    let measures = (Measure::MACHINE_CPU_PER_OP, Measure::MACHINE_CPU_PER_BYTE);
    let mut machines = Some(0.0);
    for number in 0..plan.clients.len().max(1) {
        let name = plan.clients.get(number).unwrap_or(&HostName::Local).to_string();
        let Some(load) = loads.iter().find(|load| load.host == name) else {
            machines = None;
            continue;
        };
        let mut own = (0..).zip(parts).filter(|(_, p)| usize::from(p.client) == number);
        if let (Some((part, _)), None) = (own.next(), own.next()) {
            charge(result.parts.get_mut(part), load.caused(), measures);
        }
        machines = machines.map(|sum| sum + load.caused().0);
        if let Some(core_busy) = full(load).filter(|_| is_storage) {
            let host = Some(name).filter(|_| plan.is_remote());
            let serves = plan.target(spec.subject).is_some_and(Target::is_on_loopback);
            result.flags.push(Flag::ClientSaturated { host, core_busy, serves });
        }
    }
    charge(result.together.as_mut(), CpuSeconds(machines.unwrap_or(f64::NAN)), measures);
    let hosts = || plan.hosts.iter().filter(|host| host.serves(spec.subject));
    let serving: Vec<&HostLoad> =
        loads.iter().filter(|load| hosts().any(|host| host.is(&load.host))).collect();
    // Of a server on several hosts, all count or none.
    if !serving.is_empty() && hosts().all(|host| serving.iter().any(|l| host.is(&l.host))) {
        let caused = CpuSeconds(serving.iter().map(|load| load.caused().0).sum());
        let measures = (Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE);
        match parts.len() {
            1 => charge(result.parts.first_mut(), caused, measures),
            _ => charge(result.together.as_mut(), caused, measures),
        }
    }
    let is_client = |load: &HostLoad| match plan.clients.as_slice() {
        [] => load.host == HostName::Local.to_string(),
        clients => clients.iter().any(|client| load.host == client.to_string()),
    };
    for load in serving.iter().filter(|load| !is_client(load)) {
        if let Some(core_busy) = full(load).filter(|_| is_storage) {
            result.flags.push(Flag::ServerSaturated { host: load.host.clone(), core_busy });
        }
    }
}

/// The busiest core, if it is nearly full. Of a few ticks in a short trial one more or less says so.
fn full(load: &HostLoad) -> Option<f64> {
    let is_full = |busy: &f64| *busy > FULL && busy * load.seconds >= TICKS_SECONDS;
    load.cores_busy.iter().copied().reduce(f64::max).filter(is_full)
}

fn charge(part: Option<&mut PartResult>, spent: CpuSeconds, measures: (Measure, Measure)) {
    let Some(part) = part.filter(|_| spent.0.is_finite()) else { return };
    let Count { operations, bytes } = part.series.served();
    for (measure, count) in [(measures.0, operations), (measures.1, bytes)] {
        if count > 0 {
            part.quantities.insert(Metric::all(measure), spent.0 / count as f64);
        }
    }
}
