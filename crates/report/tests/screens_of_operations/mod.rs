//! Screens of single operations, and of sweeps over blocks and depths.

use super::{fits, screen, sequential, words};
use crate::support::plain::servers::{self, SERVER, Truth};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::*;
use std::num::NonZeroU16;

/// The defaults of the command.
const BLOCKS: [f64; 7] = [512.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];
const DEPTHS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

fn workload(job: Job, steps: Option<Steps>) -> Workload {
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 0.5, warm_up_seconds: 0.0 };
    Workload { steps, ..Workload::of(part, length) }
}

/// All kinds of operations, and sweeps over blocks and depths, on servers of which all is known.
pub fn operations(targets: &[&str], truths: &[Truth]) -> Study {
    let mut study = sequential(targets, &[]);
    let pattern = |pattern, over, values: &[f64]| {
        let job = PatternJob::new(pattern, Bytes(4096), Bytes(64 * MIB));
        workload(job.into(), Some(Steps::Sweep { over, values: values.to_vec() }))
    };
    let kinds = OperationsJob { entries: 640, block: Bytes(4096) };
    study.plan.workloads = vec![workload(kinds.into(), None)];
    for (over, values) in [(Parameter::Block, &BLOCKS[..]), (Parameter::Depth, &DEPTHS)] {
        for way in [Pattern::SequentialRead, Pattern::SequentialWrite] {
            study.plan.workloads.push(pattern(way, over, values));
        }
    }
    study.plan.contrasts.clear();
    study.plan.design.rule = Rule::Fixed { blocks: 3 };
    study.plan.command = "plimsoll ops nfs://nas/volume1".into();
    let host: HostName = SERVER.parse().unwrap();
    study.plan.hosts = vec![ServerHost { host, subject: None, guessed: false }];
    study.hosts.push(HostFacts { name: SERVER.into(), cpus: 2, ..HostFacts::default() });
    study.hosts[0].link_rates.insert("eth0".into(), 1_000_000_000);
    for block in 0..3 {
        for (subject, truth) in (0..).zip(truths) {
            for number in 0..study.plan.workloads.len() as u16 {
                let slower = 1.0 + 0.02 * f64::from(block);
                let truth =
                    Truth { server: truth.server * slower, link: truth.link * slower, ..*truth };
                trial(&mut study, block, Cell { subject, workload: number, setting: 0 }, &truth);
            }
        }
    }
    study
}

fn trial(study: &mut Study, block: u32, cell: Cell, truth: &Truth) {
    let (mut part, loads) = truth.run(1, true);
    let mean = part.quantities[&Metric::all(Measure::IN_FLIGHT)]
        / part.quantities[&Metric::all(Measure::IOPS)];
    let steps = study.plan.workloads[usize::from(cell.workload)].steps.clone();
    let points: Vec<Point> = match steps {
        Some(Steps::Sweep { over, values }) => {
            let point = |at: &f64| {
                let depth = if over == Parameter::Depth { *at as u16 } else { 1 };
                let (part, loads) = truth.run(depth, true);
                Point { at: *at, accepted: None, parts: vec![part], loads }
            };
            values.iter().map(point).collect()
        }
        _ => {
            for kind in OperationsJob::KINDS {
                let metric = Metric { kind: Some(kind), measure: Measure::LATENCY_MEAN };
                part.quantities.insert(metric, mean);
            }
            Vec::new()
        }
    };
    let (parts, loads) = match points.last() {
        Some(last) => (last.parts.clone(), last.loads.clone()),
        None => (vec![part], loads),
    };
    servers::add(study, block, cell.workload, parts, loads, points);
    study.trials.last_mut().unwrap().cell = cell;
}

/// A link that carries a thousand of these a second, and a server that works a millisecond on each with one core.
pub const TRUTHS: [Truth; 2] = [
    Truth { depth: 1, driver: 1e-5, server: 1e-5, link: 1e-3, at_a_time: 1.0, ..NONE },
    Truth { depth: 1, driver: 1e-5, server: 1e-3, one_core: true, link: 1e-5, ..NONE },
];
const NONE: Truth = Truth {
    depth: 1,
    driver: 0.0,
    server: 0.0,
    one_core: false,
    disk: 0.0,
    at_a_time: 0.0,
    link: 0.0,
    round_trip: 0.0,
    hidden: 0.0,
    idle: 0.0,
    seconds: 0.0,
};

/// The bottleneck of a sweep is the one at the depth that carries most, and two targets fit a screen.
#[test]
fn operations_of_two_targets() {
    let study = operations(&["nfs://nas/volume1", "smb://me@nas/volume1"], &TRUTHS);
    let screen = screen(&study);
    fits(&screen);
    let row = |name: &str| screen.lines().find(|line| line.starts_with(name)).unwrap_or(&screen);
    for way in ["read", "write"] {
        assert!(row(&format!("nfs, {way}")).contains(" link "), "{screen}");
        assert!(row(&format!("smb, {way}")).contains(" server CPU core "), "{screen}");
    }
    assert!(screen.contains("Bottleneck of one operation at a time: "), "{screen}");
    insta::assert_snapshot!(screen);
}

/// "The bottleneck is CPU or disk work" was said of a saturated link.
#[test]
fn no_bottleneck_is_claimed_that_no_resource_supports() {
    let study = operations(&["nfs://nas/volume1"], &TRUTHS[..1]);
    let screen = screen(&study);
    for name in ["read 1 MiB × 1", "read 4 KiB × "] {
        let row = screen.lines().find(|line| line.starts_with(name)).unwrap_or(&screen);
        assert!(row.contains("  link "), "{name} in\n{screen}");
    }
    assert!(!words(&screen).contains("CPU or disk work"), "{screen}");
}
