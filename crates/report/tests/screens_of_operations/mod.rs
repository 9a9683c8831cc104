//! Screens of single operations, and of sweeps over blocks and depths.

use super::{SCREEN, fits, screen, sequential, words};
use crate::support::plain::servers::{self, SERVER, Truth};
use crate::support::plain::storage;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::*;
use plimsoll_report::Document;
use std::num::NonZeroU16;

/// The defaults of the command.
const BLOCKS: [f64; 7] = [512.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];
const DEPTHS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

fn workload(job: Job, steps: Option<Steps>) -> Workload {
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 0.5, warm_up_seconds: 0.0 };
    Workload { steps, ..Workload::new(part, length) }
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
    study.plan.watched.push(Watched::new(host, HostRole::Server));
    study.hosts.push(HostFacts { name: SERVER.parse().unwrap(), cpus: 2, ..HostFacts::default() });
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

/// All that is said of a study of one server whose link is its bottleneck, in one line.
fn said(change: impl FnOnce(&mut Study)) -> String {
    let mut study = operations(&["nfs://nas/volume1"], &TRUTHS[..1]);
    change(&mut study);
    words(&Document::of_study(&study).text(&SCREEN))
}

/// "8 in flight bring 10.2 × one" was said, and how many were enough.
#[test]
fn a_gain_that_cannot_be_is_flagged_and_nothing_follows_from_it() {
    let reads_in_flight = |study: &mut Study| {
        let iops = Metric::all(Measure::IOPS);
        for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 3) {
            let alone = trial.points[0].parts[0].quantities[&iops];
            let eight = trial.points.iter_mut().find(|point| point.at == 8.0).unwrap();
            eight.parts[0].quantities.insert(iops, 10.2 * alone);
        }
    };
    let said = said(reads_in_flight);
    let flagged = "8 in flight measured 10.2× one, which is impossible: these figures contradict each other, and are \
                   not used.";
    assert_eq!(said.matches(flagged).count(), 1, "{said}");
    assert!(said.contains("read 4 KiB × 8 contradictory"), "{said}");
    // What is enough is said of writes alone.
    let (_, enough) =
        said.split_once("90% of these rates with: read ").unwrap_or_else(|| panic!("{said}"));
    let (read, write) = enough.split_once("; write ").unwrap_or_else(|| panic!("{said}"));
    assert!(!read.contains("in flight"), "{said}");
    assert!(write.split_once(". ").is_some_and(|(write, _)| write.contains("in flight")), "{said}");
}

/// 1 MiB was 256 calls on a server with MaxRead = 4096, and the rate had no cause.
#[test]
fn a_largest_transfer_that_makes_many_calls_is_named_as_the_cause() {
    let cause = "Cause of its rate: client and server agreed on at most 4 KiB in a call, so 1 MiB are 256 calls";
    let largest =
        |bytes: u32| said(|study| storage(&mut study.subjects[0]).read_size_bytes = bytes);
    let small = largest(4096);
    assert!(small.matches(cause).count() == 1 && small.contains("MaxRead"), "{small}");
    let large = largest(1 << 20);
    assert!(!large.contains("Cause of its rate"), "{large}");
}

/// A round trip of 63 µs stood above a lookup of 53 without a word.
#[test]
fn a_round_trip_that_is_longer_than_a_lookup_is_flagged() {
    let with_trip = |seconds: f64| {
        said(|study| {
            storage(&mut study.subjects[0]).round_trip_seconds = Some(seconds);
            let lookup = Metric { kind: Some(OpKind::LOOKUP), measure: Measure::LATENCY_MEAN };
            for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 0) {
                trial.result.parts[0].quantities.insert(lookup, 53e-6);
            }
        })
    };
    let flagged = "The round trip of 63.0 µs is longer than lookup (53.0 µs)";
    let longer = with_trip(63e-6);
    assert!(longer.contains(flagged) && longer.contains("and is not used."), "{longer}");
    let shorter = with_trip(50e-6);
    assert!(!shorter.contains("is longer than"), "{shorter}");
}
