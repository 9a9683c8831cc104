//! Studies as rich as measured ones: with windows, latencies and loads.
#![allow(dead_code)] // each test program uses its part

#[path = "../../../explain/tests/support/mod.rs"]
pub mod plain;

use plain::pattern_of;
use plimsoll_model::{
    CpuTimes, Flag, Histogram, HostFacts, HostLoad, HostName, HostRole, LatencySummary,
    LoadStretch, Measure, MemoryNow, Metric, Moved, OpKind, OpStats, Pattern, Series, Study, Trial,
    Watched, WatchedBy, Window,
};

pub const TWO: [&str; 2] = ["nfs://nas/volume1", "/srv/data"];

/// Numbers from 0 to 1 that look random and are the same every time (Steele and Vigna 2021, a
/// linear congruential generator with 64 bits).
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Bytes per second: the second target is a third faster, but the same at writing in order, and
/// three times as fast at mixed work.
pub fn rate(target: usize, pattern: Pattern) -> f64 {
    let base = match pattern {
        Pattern::SequentialRead => 112e6,
        Pattern::SequentialWrite => 98e6,
        Pattern::RandomRead => 7334.0 * 4096.0,
        Pattern::RandomWrite => 1210.0 * 4096.0,
        Pattern::RandomMixed | Pattern::SequentialMixed => 2400.0 * 4096.0,
    };
    let factor = match pattern {
        Pattern::SequentialWrite => 1.0,
        Pattern::RandomMixed => 3.1,
        _ => 4.0 / 3.0,
    };
    if target.is_multiple_of(2) { base } else { base * factor }
}

/// A study of these targets with all patterns, with windows, latencies and loads.
pub fn measured(targets: &[&str], blocks: u32) -> Study {
    let mut study = plain::empty(targets, &Pattern::USUAL);
    plain::add_blocks(&mut study, blocks, 0.02, rate);
    enrich(&mut study, 0.1);
    study
}

/// Adds windows of this length, latencies and loads to every trial.
pub fn enrich(study: &mut Study, window_seconds: f64) {
    let mut chance = Chance(7);
    let seconds = study.plan.longest_trial_seconds();
    for trial in &mut study.trials {
        let pattern = pattern_of(study.plan.workload(trial.cell).unwrap());
        windows(trial, pattern, seconds, window_seconds, &mut chance);
        latencies(trial, pattern, &mut chance);
        trial.loads = vec![load(&mut chance, seconds)];
    }
}

/// A quarter of the way through sequential writes a cache is full.
fn windows(
    trial: &mut Trial,
    pattern: Pattern,
    seconds: f64,
    window_seconds: f64,
    chance: &mut Chance,
) {
    let Some(rate) = trial.result.value(0, Metric::all(Measure::THROUGHPUT)) else {
        return;
    };
    let block = pattern.default_block().0;
    let drops = pattern == Pattern::SequentialWrite && trial.cell.subject == 0;
    let count = (seconds / window_seconds) as usize + 1;
    let window = |i: usize| {
        let early = (i as f64) < count as f64 / 4.0;
        let level = if drops && early {
            1.6
        } else if drops {
            0.8
        } else {
            1.0
        };
        let bytes = rate * level * window_seconds * (0.85 + 0.3 * chance.next());
        let ops = (bytes / block as f64) as u64;
        let (reads, writes) = match pattern {
            Pattern::RandomMixed => (ops / 2, ops - ops / 2),
            pattern if pattern.reads() => (ops, 0),
            _ => (0, ops),
        };
        let in_flight_ns = (3.9e9 * window_seconds * (0.97 + 0.03 * chance.next())) as u64;
        let mut window = Window { in_flight_ns, ..Window::default() };
        for (kind, operations) in [(OpKind::READ, reads), (OpKind::WRITE, writes)] {
            if operations > 0 {
                window.add(&Window::only(kind, operations, operations * block));
            }
        }
        window
    };
    let windows: Vec<Window> = (0..count).map(window).collect();
    trial.result.parts[0].series = Series::new(window_seconds, &windows);
    if drops {
        trial.result.flags.push(Flag::TwoPhases {
            at_seconds: seconds / 4.0,
            burst_bytes_per_second: 1.6 * rate,
            sustained_bytes_per_second: 0.8 * rate,
        });
    }
}

/// Around the mean, with a long tail.
fn latencies(trial: &mut Trial, pattern: Pattern, chance: &mut Chance) {
    let Some(mean) = trial.result.value(0, Metric::all(Measure::LATENCY_MEAN)) else {
        return;
    };
    let mut add_latencies = |kind| {
        let buckets = (0..120u32).map(|i| {
            let nanoseconds = mean * 1e9 * 0.3 * 1.05f64.powi(i as i32);
            let distance = (f64::from(i) - 24.0) / 9.0;
            let tail = 30.0 * (-f64::from(i) / 25.0).exp();
            let count = 3000.0 * (-distance * distance / 2.0).exp() * (0.9 + 0.2 * chance.next());
            (nanoseconds as u64, (count + tail) as u64)
        });
        let histogram = Histogram { buckets_ns: buckets.filter(|b| b.1 > 0).collect() };
        let latency = LatencySummary {
            mean_seconds: mean,
            min_seconds: 0.3 * mean,
            max_seconds: 10.0 * mean,
            histogram: Some(histogram),
            ..LatencySummary::default()
        };
        let count = latency.histogram.as_ref().unwrap().count();
        let stats = OpStats { count, client_latency: latency, ..OpStats::default() };
        trial.result.parts[0].ops.insert(kind, stats);
    };
    if pattern.reads() {
        add_latencies(OpKind::READ);
    }
    if pattern.writes() {
        add_latencies(OpKind::WRITE);
    }
}

fn load(chance: &mut Chance, seconds: f64) -> HostLoad {
    let looks = 10;
    let seconds_each = seconds / f64::from(looks);
    let mut stretch = |_| LoadStretch {
        seconds: seconds_each,
        cpu: cpu(chance, 2.0 * seconds_each),
        ..LoadStretch::default()
    };
    let stretches: Vec<LoadStretch> = (0..looks).map(&mut stretch).collect();
    HostLoad {
        host: "local".parse().unwrap(),
        seconds,
        cpu: stretches.iter().fold(CpuTimes::default(), |sum, s| sum + s.cpu),
        cores_busy: vec![0.3 + 0.6 * chance.next(), 0.5 * chance.next()],
        idle_baseline: 0.05,
        stretches,
        ..HostLoad::default()
    }
}

/// Has the first target's own host watched in every trial: one core, slow, with a disk.
pub fn watch(study: &mut Study, host: &str) {
    let mut chance = Chance(11);
    let host: HostName = host.parse().unwrap();
    let server = Watched::new(host.clone(), HostRole::Server);
    study.plan.watched.push(Watched { subject: Some(0), ..server });
    study.hosts.push(HostFacts {
        name: host.clone(),
        cpu_model: "MIPS 74Kc V4.12".into(),
        cpus: 1,
        watched_by: Some(WatchedBy::Shell),
        ..study.hosts[0].clone()
    });
    for trial in &mut study.trials {
        let mut load = load(&mut chance, study.plan.longest_trial_seconds());
        for (i, stretch) in load.stretches.iter_mut().enumerate() {
            stretch.cpu = stretch.cpu * 0.5;
            let dirty_bytes = (i as u64) << 20;
            stretch.memory = Some(MemoryNow {
                total_bytes: 128 << 20,
                available_bytes: 80 << 20,
                cached_bytes: 60 << 20,
                dirty_bytes,
            });
            let bytes = (stretch.seconds * 30e6 * (0.8 + 0.4 * chance.next())) as u64;
            stretch.moved = Some(Moved {
                disk_written_bytes: bytes,
                received_bytes: bytes + bytes / 20,
                sent_bytes: bytes / 50,
                ..Moved::default()
            });
        }
        load.host = host.clone();
        load.cpu = load.cpu * 0.5;
        load.cores_busy.truncate(1);
        load.idle = Some(CpuTimes { system: 0.05, ..CpuTimes::default() });
        load.watcher_cpu_seconds = Some(0.02 * load.seconds);
        if trial.cell.subject == 0 {
            let moved = trial.result.moved();
            let quantities = &mut trial.result.parts[0].quantities;
            let caused = load.caused().0;
            let mut set = |measure, count: u64| {
                quantities.insert(Metric::all(measure), caused / count as f64);
            };
            set(Measure::SERVER_CPU_PER_OP, moved.operations);
            set(Measure::SERVER_CPU_PER_BYTE, moved.bytes);
        }
        trial.loads.push(load);
    }
}

/// CPU seconds of cores that have so many to give.
fn cpu(chance: &mut Chance, seconds: f64) -> CpuTimes {
    CpuTimes {
        user: seconds * (0.1 + 0.05 * chance.next()),
        system: seconds * (0.2 + 0.1 * chance.next()),
        softirq: seconds * 0.08,
        irq: seconds * 0.01,
        iowait: seconds * 0.15 * chance.next(),
        idle: seconds * 0.4,
        ..CpuTimes::default()
    }
}
