//! Runs made up for tests.

use crate::news::{Header, News, Told};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    CpuTimes, HostLoad, Layout, Pattern, Plan, Rule, Stability, StudyId, Window, Workload,
};
use std::num::NonZeroU16;

pub(crate) fn workload(pattern: Pattern) -> Workload {
    Workload {
        pattern,
        block: pattern.default_block(),
        size: Bytes(1 << 30),
        workers: NonZeroU16::new(4).unwrap(),
        depth: NonZeroU16::MIN,
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    }
}

pub(crate) fn header() -> Header {
    let targets = ["nfs://nas.example/volume1/films", "/mnt/films"];
    let plan = Plan {
        targets: targets.iter().map(|t| t.parse().unwrap()).collect(),
        workloads: Pattern::ALL.map(workload).to_vec(),
        trial_seconds: 5.0,
        warm_up_seconds: 0.5,
        rule: Rule::Stein { pilot: 6, half_width: 0.025 },
        cap_seconds: 600.0,
        baseline_seconds: 5.0,
        margin: 0.05,
        confidence: 0.95,
        operation_timeout_seconds: 30.0,
        seed: 1,
        on: None,
        server_memory: None,
        hosts: Vec::new(),
        engine: None,
        adapt_size: true,
        fit_size: false,
        command: "plimsoll check".to_owned(),
    };
    Header { pid: 42, ..Header::new(StudyId("00c0ffee".to_owned()), 1_760_000_000, plan) }
}

pub(crate) fn told(at_seconds: f64, news: News) -> Told {
    Told { at_seconds, news }
}

/// Trial `number` begins: on the targets in turn, a second each.
pub(crate) fn trial(number: u32) -> Told {
    let workload = workload(Pattern::ALL[number as usize / 2 % 5]);
    let (block, target) = (number / 10, number as usize % 2);
    let seconds_left = f64::from(60 - number.min(60));
    let news = News::Trial { number, block, target, workload, planned: 60, seconds_left };
    told(f64::from(number), news)
}

pub(crate) fn window(at_seconds: f64) -> Told {
    let ops = 100 + (at_seconds * 10.0) as u64 % 7 * 5;
    let window = Window { read_ops: ops, read_bytes: ops << 20, ..Window::default() };
    told(at_seconds, News::Window { trial_seconds: at_seconds.fract().max(0.1), window })
}

pub(crate) fn loads(at_seconds: f64) -> Told {
    let cpu = CpuTimes { user: 0.2, system: 0.5, softirq: 0.3, idle: 1.0, ..CpuTimes::default() };
    let load = HostLoad {
        host: "local".to_owned(),
        seconds: 1.0,
        cpu,
        cores_busy: vec![0.8, 0.2],
        ..HostLoad::default()
    };
    told(at_seconds, News::Loads { hosts: vec![load] })
}
