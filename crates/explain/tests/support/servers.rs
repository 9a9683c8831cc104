//! Servers whose truth is known: what a closed network of given demands carries, and what the counters of its
//! hosts would show of it.

use super::{empty, storage};
use plimsoll_model::*;
use plimsoll_stats::closed;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

pub const PATTERN: Pattern = Pattern::RandomRead;
pub const SERVER: &str = "ssh://root@nas";

/// What one operation takes, in seconds of each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    pub depth: u16,
    pub driver: f64,
    /// Of one core of the two that the server has; `core` if it is always the same one.
    pub server: f64,
    pub one_core: bool,
    pub disk: f64,
    /// Operations that the disk has at a time while it is busy.
    pub at_a_time: f64,
    /// On a link of 1 Gbit/s.
    pub link: f64,
    pub round_trip: f64,
    /// That nobody sees.
    pub hidden: f64,
    /// Seconds of CPU a second that the server is busy with anyway.
    pub idle: f64,
    /// Of a trial; 0 for two.
    pub seconds: f64,
}

impl Truth {
    pub fn carries(&self, depth: u16) -> f64 {
        let spare = 1.0 - self.idle / 2.0;
        let (queue, delay) = match self.one_core {
            true => (self.server, 0.0),
            false => (self.server / 2.0 / spare, self.server / 2.0),
        };
        let demands = [self.driver, queue, self.disk, self.link, self.hidden];
        closed::mva(depth, &demands, self.round_trip + delay).unwrap().per_second
    }

    /// A result, and the loads of both hosts, over the seconds of a trial.
    pub fn run(&self, depth: u16, watched: bool) -> (PartResult, Vec<HostLoad>) {
        let seconds = if self.seconds > 0.0 { self.seconds } else { 2.0 };
        let per_second = self.carries(depth);
        let count = (per_second * seconds) as u64;
        // No more than the link carries, headers included.
        let carried = if self.link > 0.0 { self.link * 125e6 / 1.05 } else { f64::INFINITY };
        let payload = carried.min(4096.0) as u64;
        let column = Column { operations: vec![count], bytes: vec![count * payload] };
        let quantities = BTreeMap::from([
            (Metric::all(Measure::IOPS), per_second),
            (Metric::all(Measure::THROUGHPUT), per_second * 4096.0),
            (Metric::all(Measure::IN_FLIGHT), depth.into()),
            (Metric::all(Measure::CLIENT_CPU_PER_OP), self.driver),
        ]);
        let series = Series {
            window_seconds: seconds,
            kinds: BTreeMap::from([(OpKind::READ, column)]),
            ..Series::default()
        };
        let bytes = (self.link * 125e6 * per_second * seconds) as u64;
        let interface = InterfaceLoad {
            name: "eth0".into(),
            received_bytes: bytes,
            received_packets: count,
            ..InterfaceLoad::default()
        };
        let driving = [per_second * self.driver, 0.0];
        let client =
            HostLoad { interfaces: vec![interface], ..load("local", seconds, driving, 0.0) };
        let busy = per_second * self.server + self.idle;
        let cores = if self.one_core { [busy, 0.0] } else { [busy / 2.0; 2] };
        let disk = DiskLoad {
            name: "sda".into(),
            reads: count,
            busy_seconds: self.disk * per_second * seconds,
            in_flight_seconds: self.at_a_time * self.disk * per_second * seconds,
            ..DiskLoad::default()
        };
        let server = HostLoad { disks: vec![disk], ..load(SERVER, seconds, cores, self.idle) };
        let loads = std::iter::once(client).chain(watched.then_some(server)).collect();
        (PartResult { quantities, series, ..PartResult::default() }, loads)
    }
}

pub fn load(host: &str, seconds: f64, busy: [f64; 2], idle: f64) -> HostLoad {
    let core = |busy: f64| CpuTimes {
        system: busy * seconds,
        idle: (1.0 - busy) * seconds,
        ..CpuTimes::default()
    };
    let cores: Vec<CpuTimes> = busy.into_iter().map(core).collect();
    HostLoad {
        host: host.parse().unwrap(),
        seconds,
        cpu: cores[0] + cores[1],
        cores_busy: busy.to_vec(),
        cores,
        idle_baseline: idle,
        ..HostLoad::default()
    }
}

/// A study of one workload on one server, as it would be measured.
pub fn study(truth: Truth, watched: bool) -> Study {
    let mut study = empty(&["nfs://nas/a"], &[PATTERN]);
    let depth = NonZeroU16::new(truth.depth).unwrap();
    let part = &mut study.plan.workloads[0].parts[0];
    (part.workers, part.arrival) = (NonZeroU16::MIN, Arrival::Closed { depth });
    let host: HostName = SERVER.parse().unwrap();
    if watched {
        study.hosts.push(HostFacts { name: host.clone(), cpus: 2, ..HostFacts::default() });
        study.plan.watched.push(Watched::new(host, HostRole::Server));
    }
    study.hosts[0].link_rates.insert("eth0".into(), 1_000_000_000);
    if truth.round_trip > 0.0 {
        storage(&mut study.subjects[0]).round_trip_seconds = Some(truth.round_trip);
    }
    for block in 0..3 {
        let (part, loads) = truth.run(truth.depth, watched);
        add(&mut study, block, 0, vec![part], loads, Vec::new());
    }
    study
}

pub fn add(
    study: &mut Study,
    block: u32,
    workload: u16,
    parts: Vec<PartResult>,
    loads: Vec<HostLoad>,
    points: Vec<Point>,
) {
    study.trials.push(Trial {
        number: study.trials.len() as u32,
        block: Some(block),
        cell: Cell { workload, ..Cell::default() },
        started_seconds: 3.0 * study.trials.len() as f64,
        result: PointResult { parts, ..PointResult::empty(Outcome::Complete) },
        points,
        loads,
        mount: None,
        imported: None,
    });
}

/// Adds the same work at these depths.
pub fn with_ladder(
    mut study: Study,
    watched: bool,
    depths: [u16; 3],
    at: impl Fn(u16) -> Truth,
) -> Study {
    let mut sweep = study.plan.workloads[0].clone();
    let values = depths.iter().map(|depth| f64::from(*depth)).collect();
    sweep.steps = Some(Steps::Sweep { over: Parameter::Depth, values });
    study.plan.workloads.push(sweep);
    let point = |depth: u16| {
        let (part, loads) = at(depth).run(depth, watched);
        Point { at: depth.into(), accepted: None, parts: vec![part], loads }
    };
    let points: Vec<Point> = depths.into_iter().map(point).collect();
    let first = points[0].clone();
    add(&mut study, 0, 1, first.parts, first.loads, points);
    study
}

/// As if client and server were one machine with two cores, watched as both.
pub fn on_one_machine(study: &mut Study) {
    for trial in &mut study.trials {
        let Some(server) = trial.loads.pop() else { continue };
        let client = &mut trial.loads[0];
        (client.disks, client.idle_baseline) = (server.disks, server.idle_baseline);
        for (own, more) in client.cores.iter_mut().zip(server.cores) {
            own.system = (own.system + more.system).min(client.seconds);
            own.idle = client.seconds - own.system;
        }
        count_cores(client);
    }
    study.plan.watched[1].host = HostName::Local;
    study.hosts.pop();
    study.flags.push(Flag::SameMachine { host: HostName::Local });
}

/// As if both were namespaces of one machine: the counters of either are those of all of it.
pub fn in_namespaces(study: &mut Study) {
    for trial in &mut study.trials {
        let [client, server] = &mut trial.loads[..] else { continue };
        for (own, more) in client.cores.iter_mut().zip(&server.cores) {
            own.system = (own.system + more.system).min(client.seconds);
            own.idle = client.seconds - own.system;
        }
        (server.cores, client.idle_baseline) = (client.cores.clone(), server.idle_baseline);
        count_cores(client);
        count_cores(server);
    }
    study.flags.push(Flag::SameMachine { host: SERVER.parse().unwrap() });
}

/// Sums and shares of a host's cores.
pub fn count_cores(load: &mut HostLoad) {
    let share = |core: &CpuTimes| core.busy().0 / core.total().max(f64::MIN_POSITIVE);
    load.cpu = load.cores.iter().fold(CpuTimes::default(), |sum, core| sum + *core);
    load.cores_busy = load.cores.iter().map(share).collect();
}

/// A number in 0..1 that looks random and depends on its arguments alone.
pub fn uniform(seed: u64, of: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ of.wrapping_mul(0xd1b5_4a32_d192_ed03);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
