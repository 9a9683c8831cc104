//! What a trial cost the machines, by the operations of the whole trial.

use plimsoll_explain::thresholds::{CORE_SATURATED, FEW_TICKS_SECONDS};
use plimsoll_model::{
    Count, CpuSeconds, CpuTimes, Flag, HostLoad, HostName, Measure, Metric, PointResult, PointSpec,
    Study, Target,
};
use std::collections::BTreeMap;

/// CPU of each client machine and of the hosts at the subject's other end, busy minus idle baseline, per operation
/// and per byte; and which of them was nearly full. What several parts at once cost a machine together is no part's
/// cost: it is charged once, to the whole workload. Each part has the CPU time of its own threads.
pub(crate) fn add(result: &mut PointResult, loads: &[HostLoad], study: &Study, spec: &PointSpec) {
    let plan = &study.plan;
    let parts = &spec.workload.parts;
    // Of a path, a full core is a bottleneck like any other, and no flaw of the measurement.
    let is_storage = plan.target(spec.subject).is_some();
    let measures = (Measure::MACHINE_CPU_PER_OP, Measure::MACHINE_CPU_PER_BYTE);
    let mut machines = Some(0.0);
    for (number, client) in plan.clients().enumerate() {
        let mut own = (0..).zip(parts).filter(|(_, p)| usize::from(p.client) == number);
        let (first, second) = (own.next(), own.next());
        let load = loads.iter().find(|load| load.host == *client);
        if first.is_some() {
            machines = machines.zip(load).map(|(sum, load)| sum + load.caused().0);
        }
        let Some(load) = load else { continue };
        if let (Some((part, _)), None) = (first, second)
            && let Some(part) = result.parts.get_mut(part)
        {
            charge(&mut part.quantities, part.series.served(), load.caused(), measures);
        }
        if let Some(core_busy) = full(load).filter(|_| is_storage) {
            let host = plan.is_remote().then(|| client.clone());
            let serves = plan.target(spec.subject).is_some_and(Target::is_on_loopback);
            result.flags.push(Flag::ClientSaturated { host, core_busy, serves });
        }
    }
    if let Some(machines) = machines {
        charge_all(result, CpuSeconds(machines), measures);
    }
    let hosts: Vec<&HostName> = plan.far_ends(spec.subject).map(|host| &host.host).collect();
    let serving: Vec<&HostLoad> = loads.iter().filter(|load| hosts.contains(&&load.host)).collect();
    // Of a server on several hosts, all count or none. The time of a client's machine is the client's already.
    let is_alone = |host: &&HostName| {
        serving.iter().any(|load| load.host == **host) && !study.is_on_machine_of_client(host)
    };
    if !hosts.is_empty() && hosts.iter().all(is_alone) {
        let caused = CpuSeconds(serving.iter().map(|load| load.caused().0).sum());
        charge_all(result, caused, (Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE));
    }
    for load in serving.iter().filter(|load| !study.is_on_machine_of_client(&load.host)) {
        if let Some(core_busy) = full(load).filter(|_| is_storage) {
            result.flags.push(Flag::ServerSaturated { host: load.host.clone(), core_busy });
        }
    }
}

/// CPU time of a router in its kernel for each frame that was sent. Where the router shares its machine with the ends of the
/// path, system time is that of their system calls; else it may be that of packets that threads of the kernel take.
pub(crate) fn add_of_router(
    result: &mut PointResult,
    loads: &[HostLoad],
    study: &Study,
    spec: &PointSpec,
) {
    let Some(router) = study.plan.router(spec.subject) else { return };
    let Some(load) = loads.iter().find(|load| load.host == *router) else { return };
    let Some(part) = result.parts.first_mut() else { return };
    let sent = part.quantities.get(&Metric::all(Measure::ALL_SENT)).copied();
    let Some(sent) = sent.filter(|sent| *sent > 0.0) else { return };
    let facts = study.hosts.iter().find(|facts| facts.name == *router);
    let shares = facts.is_some_and(|facts| facts.is_this_machine);
    let kernel = |cpu: &CpuTimes| cpu.irq + cpu.softirq + if shares { 0.0 } else { cpu.system };
    let idle = load.idle.as_ref().map_or(0.0, kernel);
    let seconds = kernel(&load.cpu) - idle * load.seconds;
    if seconds.is_finite() {
        part.quantities.insert(Metric::all(Measure::ROUTER_CPU_PER_PACKET), seconds / sent);
    }
}

/// The busiest core, if it is nearly full. Of a few ticks in a short trial one more or less says so.
fn full(load: &HostLoad) -> Option<f64> {
    let is_full = |busy: &f64| *busy > CORE_SATURATED && busy * load.seconds >= FEW_TICKS_SECONDS;
    load.cores_busy.iter().copied().reduce(f64::max).filter(is_full)
}

/// Charges what a machine spent on all parts: to the only one, to all together, or to the whole workload.
fn charge_all(result: &mut PointResult, spent: CpuSeconds, measures: (Measure, Measure)) {
    match (&mut result.together, &mut result.parts[..]) {
        (Some(only), _) | (None, [only]) => {
            charge(&mut only.quantities, only.series.served(), spent, measures);
        }
        (None, parts) => {
            let mut served = Count::default();
            parts.iter().for_each(|part| served.add(part.series.served()));
            charge(&mut result.whole, served, spent, measures);
        }
    }
}

fn charge(
    quantities: &mut BTreeMap<Metric, f64>,
    served: Count,
    spent: CpuSeconds,
    measures: (Measure, Measure),
) {
    for (measure, count) in [(measures.0, served.operations), (measures.1, served.bytes)] {
        if count > 0 && spent.0.is_finite() {
            quantities.insert(Metric::all(measure), spent.0 / count as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::Bytes;
    use plimsoll_model::{
        Design, Ended, Endpoint, Flow, ForwardingJob, HostFacts, HostRole, Length, OpKind, Origin,
        Outcome, Part, PartResult, PathSubject, Plan, SCHEMA, Series, StudyId, Watched, Window,
        Workload,
    };
    use std::num::NonZeroU16;

    const PEER: &str = "ssh://wan";
    const ROUTER: &str = "ssh://root@router";

    fn host(name: &str) -> HostName {
        name.parse().unwrap()
    }

    /// Frames through a router, from this machine to a peer.
    fn routed() -> Study {
        let end = |name: &str| Endpoint { host: host(name), address: None };
        let path = PathSubject { from: end("local"), to: end(PEER), via: Some(host(ROUTER)) };
        let job = ForwardingJob::new(Flow::Out, Bytes(128)).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let workload = Workload::new(part, Length::For { seconds: 4.5, warm_up_seconds: 0.5 });
        let mut plan = Plan::new(vec![path.into()], vec![workload], Design::default());
        plan.watched.push(Watched::new(host(PEER), HostRole::Peer));
        plan.watched.push(Watched::new(host(ROUTER), HostRole::Router));
        Study {
            schema: SCHEMA.to_owned(),
            id: StudyId("5eed0001".into()),
            started_unix_seconds: 1,
            origin: Origin::Measured { version: "0.1.0".into() },
            plan,
            subjects: Vec::new(),
            hosts: vec![HostFacts { name: host(ROUTER), ..HostFacts::default() }],
            flags: Vec::new(),
            measures: Vec::new(),
            trials: Vec::new(),
            ended: Ended::Open,
        }
    }

    fn spec(study: &Study) -> PointSpec {
        PointSpec {
            number: 0,
            subject: 0,
            workload: study.plan.workloads[0].clone(),
            rotation: 0,
            window_seconds: 0.1,
            left_seconds: 1.0,
            seed: 0,
        }
    }

    /// 100,000 frames through a router: 0.4 s of interrupts, 0.6 s of system time, of which the idle router has 0.1 s.
    #[test]
    fn the_kernel_time_of_a_router_is_shared_out_to_the_frames() {
        let mut study = routed();
        let idle = CpuTimes { softirq: 0.01, system: 0.01, ..CpuTimes::default() };
        let load = HostLoad {
            host: host(ROUTER),
            seconds: 5.0,
            cpu: CpuTimes { irq: 0.1, softirq: 0.3, system: 0.6, user: 2.0, ..CpuTimes::default() },
            idle: Some(idle),
            ..HostLoad::default()
        };
        let cost = |study: &Study, loads: &[HostLoad]| {
            let sent = (Metric::all(Measure::ALL_SENT), 100_000.0);
            let part = PartResult { quantities: [sent].into(), ..PartResult::default() };
            let mut result =
                PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) };
            add_of_router(&mut result, loads, study, &spec(study));
            result.value(0, Metric::all(Measure::ROUTER_CPU_PER_PACKET))
        };
        let loads = [load];
        assert!((cost(&study, &loads).unwrap() - 9e-6).abs() < 1e-12);
        assert_eq!(cost(&study, &[]), None, "the router is not monitored");
        study.hosts[0].is_this_machine = true;
        assert!((cost(&study, &loads).unwrap() - 3.5e-6).abs() < 1e-12);
    }

    /// 1 s of A, 2 s of B and 4 s of the router for 1000 packets.
    #[test]
    fn the_other_end_of_a_path_is_its_peer_and_not_its_router() {
        let cost = |study: &Study, measure| {
            let windows = [Window::only(OpKind::SEND, 1000, 128_000)];
            let part = PartResult { series: Series::new(0.1, &windows), ..PartResult::default() };
            let mut result =
                PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) };
            let load = |host: &str, user: f64| HostLoad {
                host: self::host(host),
                seconds: 5.0,
                cpu: CpuTimes { user, ..CpuTimes::default() },
                ..HostLoad::default()
            };
            let loads = [load("local", 1.0), load(PEER, 2.0), load(ROUTER, 4.0)];
            add(&mut result, &loads, study, &spec(study));
            result.value(0, Metric::all(measure))
        };
        let mut study = routed();
        assert_eq!(cost(&study, Measure::MACHINE_CPU_PER_OP), Some(1.0 / 1000.0));
        assert_eq!(cost(&study, Measure::SERVER_CPU_PER_OP), Some(2.0 / 1000.0));
        // Of one machine at both ends, all time is that of A.
        study.flags.push(Flag::SameMachine { host: host(PEER) });
        assert_eq!(cost(&study, Measure::MACHINE_CPU_PER_OP), Some(1.0 / 1000.0));
        assert_eq!(cost(&study, Measure::SERVER_CPU_PER_OP), None);
    }
}
