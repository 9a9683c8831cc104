//! Whether others used a host during a trial: found by what the same work took of it in the other blocks.

use plimsoll_model::{Flag, HostLoad, HostResource, Outcome, PointResult, Trial};
use plimsoll_stats::outlier;

/// Interfaces that lead nowhere.
const LOOPBACK: &str = "lo";

/// Least that is worth a word, beside which nothing is looked at: cores, and bytes per second.
fn least(resource: HostResource) -> f64 {
    match resource {
        HostResource::Cpu => 0.15,
        HostResource::Disk | HostResource::Network => 1e6,
    }
}

/// What a host did in a trial, and for how much work of ours, each per second.
#[derive(Clone, Copy)]
struct Use {
    used: f64,
    operations: f64,
}

impl Use {
    fn of(result: &PointResult, load: &HostLoad, resource: HostResource) -> Option<Use> {
        let operations: u64 = result.parts.iter().map(|part| part.series.total().operations).sum();
        let used = match resource {
            // Ticks miss some of it where they come late, as in a machine that is emulated.
            HostResource::Cpu => load.cpu.busy().0.max(load.run_seconds.unwrap_or(0.0)),
            HostResource::Disk => {
                let bytes = load.disks.iter().map(|d| d.read_bytes.saturating_add(d.written_bytes));
                bytes.max().unwrap_or(0) as f64
            }
            HostResource::Network => {
                let real = load.interfaces.iter().filter(|i| i.name != LOOPBACK);
                let bytes = real.map(|i| i.received_bytes.saturating_add(i.sent_bytes));
                bytes.max().unwrap_or(0) as f64
            }
        };
        let of = Use { used: used / load.seconds, operations: operations as f64 / load.seconds };
        (of.used.is_finite() && of.operations.is_finite()).then_some(of)
    }
}

/// What others used of each host and resource in this trial of a cell, where that is far more than in the
/// cell's `others`. Those of them in which it was so too do not count.
pub(crate) fn flags(result: &PointResult, loads: &[HostLoad], others: &[&Trial]) -> Vec<Flag> {
    let mut flags = Vec::new();
    if result.outcome == Outcome::Stopped {
        return flags;
    }
    for load in loads {
        for resource in HostResource::ALL {
            let Some(now) = Use::of(result, load, resource) else { continue };
            let usual: Vec<Use> = others
                .iter()
                .filter_map(|trial| undisturbed(trial, &load.host, resource))
                .collect();
            let costs: Vec<f64> = usual.iter().map(|of| of.used / of.operations).collect();
            let Some(cost) = outlier::median(&costs) else { continue };
            // What is left when our own work is taken off, at what it usually costs.
            let rest = |of: &Use| of.used - cost * of.operations;
            let rests: Vec<f64> = usual.iter().map(rest).collect();
            let more = outlier::beyond(&rests, rest(&now));
            if let Some(per_second) = more.filter(|more| *more > least(resource)) {
                flags.push(Flag::OtherLoad { host: load.host.clone(), resource, per_second });
            }
        }
    }
    flags
}

fn undisturbed(trial: &Trial, host: &str, resource: HostResource) -> Option<Use> {
    let disturbed = |flag: &Flag| match flag {
        Flag::OtherLoad { host: of, resource: what, .. } => of == host && *what == resource,
        _ => false,
    };
    if trial.result.outcome != Outcome::Complete || trial.result.flags.iter().any(disturbed) {
        return None;
    }
    let load = trial.loads.iter().find(|load| load.host == host)?;
    Use::of(&trial.result, load, resource).filter(|of| of.operations > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{
        Cell, Column, CpuTimes, DiskLoad, InterfaceLoad, OpKind, PartResult, Series,
    };

    /// A trial of one second with so many operations, each of which costs the server 1 ms and 4 KiB on its
    /// network; and what others did beside it: cores, and bytes of disk and network.
    fn trial(operations: u64, others: (f64, u64, u64)) -> Trial {
        let column = Column { operations: vec![operations], bytes: vec![operations * 4096] };
        let series = Series {
            window_seconds: 1.0,
            kinds: [(OpKind::READ, column)].into(),
            ..Series::default()
        };
        let result = PointResult {
            outcome: Outcome::Complete,
            parts: vec![PartResult { series, ..PartResult::default() }],
            together: None,
            flags: Vec::new(),
        };
        let disk = |name: &str, read_bytes| DiskLoad {
            name: name.into(),
            read_bytes,
            ..DiskLoad::default()
        };
        let interface = |name: &str, sent_bytes| InterfaceLoad {
            name: name.into(),
            sent_bytes,
            ..InterfaceLoad::default()
        };
        let (cores, disk_bytes, network_bytes) = others;
        let load = HostLoad {
            host: "nas".into(),
            seconds: 1.0,
            cpu: CpuTimes {
                user: operations as f64 * 1e-3 + cores,
                iowait: 5.0,
                ..CpuTimes::default()
            },
            disks: vec![disk("sda", disk_bytes)],
            interfaces: vec![
                interface("lo", 1 << 30),
                interface("eth0", operations * 4096 + network_bytes),
            ],
            ..HostLoad::default()
        };
        Trial {
            number: 0,
            block: Some(0),
            cell: Cell::of(0, 0, 0),
            started_seconds: 0.0,
            result,
            points: Vec::new(),
            loads: vec![load],
            mount: None,
            imported: None,
        }
    }

    fn found(now: &Trial, before: &[Trial]) -> Vec<HostResource> {
        let flags = flags(&now.result, &now.loads, &before.iter().collect::<Vec<_>>());
        let resource = |flag: &Flag| match flag {
            Flag::OtherLoad { host, resource, per_second } => {
                assert!(host == "nas" && *per_second > 0.0);
                *resource
            }
            other => panic!("{other:?}"),
        };
        flags.iter().map(resource).collect()
    }

    #[test]
    fn what_others_do_is_seen_though_our_own_work_is_less_for_it() {
        // Whatever the speed: what it costs is its own.
        let usual: Vec<Trial> =
            [400, 380, 420, 410, 390, 300].map(|n| trial(n, (0.01, 0, 3000))).into();
        assert_eq!(found(&trial(200, (0.01, 0, 3000)), &usual), []);
        assert_eq!(found(&trial(800, (0.0, 900_000, 900_000)), &usual), []);
        // As busy as ever, by half of the work.
        assert_eq!(found(&trial(200, (0.2, 0, 0)), &usual), [HostResource::Cpu]);
        assert_eq!(found(&trial(100, (0.0, 9_000_000, 0)), &usual), [HostResource::Disk]);
        assert_eq!(found(&trial(0, (0.5, 0, 0)), &usual), [HostResource::Cpu], "it stood still");
        assert_eq!(found(&trial(300, (0.0, 0, 2_000_000)), &usual), [HostResource::Network]);
        // Which ticks have not seen.
        let mut hidden = trial(300, (0.0, 0, 0));
        hidden.loads[0].run_seconds = Some(0.9);
        assert_eq!(found(&hidden, &usual), [HostResource::Cpu]);
        assert_eq!(found(&trial(200, (0.9, 9_000_000, 9_000_000)), &usual), HostResource::ALL);
    }

    #[test]
    fn little_is_known_from_few_trials_and_from_disturbed_ones() {
        let usual = trial(400, (0.0, 0, 0));
        let scrub = trial(300, (0.0, 50_000_000, 0));
        assert_eq!(found(&scrub, &vec![usual.clone(); 4]), []);
        assert_eq!(found(&scrub, &vec![usual.clone(); 5]), [HostResource::Disk]);
        // A long scrub stays one.
        let mut known = vec![usual; 5];
        for _ in 0..20 {
            let mut again = scrub.clone();
            again.result.flags =
                flags(&again.result, &again.loads, &known.iter().collect::<Vec<_>>());
            assert_eq!(again.result.flags.len(), 1);
            known.push(again);
        }
        // One that was stopped says nothing.
        let mut stopped = scrub;
        stopped.result.outcome = Outcome::Stopped;
        assert_eq!(found(&stopped, &known), []);
    }
}
