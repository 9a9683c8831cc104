//! Whether others used a host during a trial: found by what the same work took of it in the other blocks.

use plimsoll_model::{Flag, HostLoad, HostName, HostResource, Outcome, PointResult, Trial};
use plimsoll_stats::outlier;

/// Interfaces that lead nowhere.
const LOOPBACK: &str = "lo";
/// Nothing is said of a trial that is slower by less than this factor.
const SLOWER: f64 = 2.0;
/// Of a cell's other trials so many count, the latest: what is usual may change in hours.
pub(crate) const REMEMBERED: usize = 50;

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
    fn new(result: &PointResult, load: &HostLoad, resource: HostResource) -> Option<Use> {
        let used = match resource {
            // Ticks miss some of it where they come late, as in a machine that is emulated. What it uses
            // without us is no news.
            HostResource::Cpu => {
                let busy = load.cpu.busy().0.max(load.run_seconds.unwrap_or(0.0));
                (busy - load.idle_baseline * load.seconds).max(0.0)
            }
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
        let operations = operations(result) / load.seconds;
        let per_second = Use { used: used / load.seconds, operations };
        (per_second.used.is_finite() && per_second.operations.is_finite()).then_some(per_second)
    }

    /// What one operation took of it; of none, as if half a one had been done in a second.
    fn per_operation(&self) -> f64 {
        self.used / self.operations.max(0.5)
    }
}

fn operations(result: &PointResult) -> f64 {
    result.parts.iter().map(|part| part.series.served().operations as f64).sum()
}

/// What shows in this trial of a cell that something beside it held it up or took of the hosts, where that
/// is far from what is usual in the cell's `others`, in their order.
pub(crate) fn flags(result: &PointResult, loads: &[HostLoad], others: &[&Trial]) -> Vec<Flag> {
    if matches!(result.outcome, Outcome::Stopped | Outcome::Void { .. }) {
        return Vec::new();
    }
    let mut flags = Vec::new();
    for load in loads {
        for resource in HostResource::ALL {
            let more = others_used(result, load, resource, others);
            flags.extend(more.map(|per_second| Flag::OtherLoad {
                host: load.host.clone(),
                resource,
                per_second,
            }));
        }
    }
    flags.extend(slower(result, loads, others));
    flags
}

/// How much more was used of a host's resource per second than our own work usually takes. Trials in which
/// it was so too do not count as usual.
fn others_used(
    result: &PointResult,
    load: &HostLoad,
    resource: HostResource,
    others: &[&Trial],
) -> Option<f64> {
    let now = Use::new(result, load, resource)?;
    let undisturbed =
        others.iter().rev().filter_map(|trial| undisturbed(trial, &load.host, resource));
    let usual: Vec<Use> = undisturbed.take(REMEMBERED).collect();
    let costs: Vec<f64> = usual.iter().map(Use::per_operation).collect();
    let cost = outlier::median(&costs)?;
    // What is left when our own work is taken off, at what it usually costs.
    let rest = |of: &Use| of.used - cost * of.operations;
    let rests: Vec<f64> = usual.iter().map(rest).collect();
    // Where speed and cost vary together, as on a host whose processor is shared, what is left varies much,
    // and is small beside what an operation seems to take when nearly none is done.
    let logarithms: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
    let is_far = outlier::beyond(&rests, rest(&now)).is_some()
        || outlier::beyond(&logarithms, now.per_operation().ln()).is_some();
    let centre = outlier::median(&rests)?;
    Some(rest(&now) - centre).filter(|more| is_far && *more > least(resource))
}

/// How many times fewer operations a second it did than usual, where that is far fewer. Trials that something held up
/// do not count as usual, unless most were: what goes on for most of them is no disturbance.
fn slower(result: &PointResult, loads: &[HostLoad], others: &[&Trial]) -> Option<Flag> {
    let speed = |result: &PointResult, loads: &[HostLoad]| {
        let per_second = operations(result) / loads.first()?.seconds;
        Some(per_second.ln()).filter(|speed| speed.is_finite())
    };
    let complete = others.iter().rev().filter(|trial| trial.result.outcome == Outcome::Complete);
    // From the fastest down: what lies far above is far slower.
    let latest: Vec<(f64, bool)> = complete
        .filter_map(|trial| {
            let held_up =
                |flag: &Flag| matches!(flag, Flag::FarSlower { .. } | Flag::OtherLoad { .. });
            Some((-speed(&trial.result, &trial.loads)?, trial.result.flags.iter().any(held_up)))
        })
        .take(REMEMBERED)
        .collect();
    let most_were = 2 * latest.iter().filter(|(_, held_up)| *held_up).count() > latest.len();
    let counted = latest.into_iter().filter(|(_, held_up)| most_were || !held_up);
    let usual: Vec<f64> = counted.map(|(speed, _)| speed).collect();
    let times = outlier::beyond(&usual, -speed(result, loads)?)?.exp();
    (times > SLOWER).then_some(Flag::FarSlower { times })
}

fn undisturbed(trial: &Trial, host: &HostName, resource: HostResource) -> Option<Use> {
    let disturbed = |flag: &Flag| match flag {
        Flag::OtherLoad { host: of, resource: what, .. } => of == host && *what == resource,
        _ => false,
    };
    if trial.result.outcome != Outcome::Complete || trial.result.flags.iter().any(disturbed) {
        return None;
    }
    let load = trial.loads.iter().find(|load| load.host == *host)?;
    Use::new(&trial.result, load, resource).filter(|of| of.operations > 0.0)
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
            parts: vec![PartResult { series, ..PartResult::default() }],
            ..PointResult::empty(Outcome::Complete)
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
            host: HostName::Local,
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
            cell: Cell::new(0, 0, 0),
            started_seconds: 0.0,
            result,
            points: Vec::new(),
            loads: vec![load],
            mount: None,
            imported: None,
        }
    }

    fn all(now: &Trial, before: &[Trial]) -> Vec<Flag> {
        flags(&now.result, &now.loads, &before.iter().collect::<Vec<_>>())
    }

    fn found(now: &Trial, before: &[Trial]) -> Vec<HostResource> {
        let resource = |flag: &Flag| match flag {
            Flag::OtherLoad { host, resource, per_second } => {
                assert!(*host == HostName::Local && *per_second > 0.0);
                Some(*resource)
            }
            Flag::FarSlower { .. } => None,
            other => panic!("{other:?}"),
        };
        all(now, before).iter().filter_map(resource).collect()
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

    /// A server whose processor is shared: operations get dearer as they get fewer, and what it uses stays.
    fn shared(operations: u64) -> Trial {
        let used = 0.4 + (operations % 7) as f64 * 0.01;
        trial(operations, (used - operations as f64 * 1e-3, 0, 0))
    }

    #[test]
    fn a_server_whose_speed_varies_and_that_others_use_up_or_that_is_held_back() {
        let usual: Vec<Trial> = (0..40).map(|n| shared(300 + n * 13 % 500)).collect();
        for speed in [250, 300, 500, 820] {
            assert_eq!(all(&shared(speed), &usual), [], "{speed}");
        }
        let slower = |flags: &[Flag]| match flags {
            [.., Flag::FarSlower { times }] => *times,
            other => panic!("{other:?}"),
        };
        // A process has all of the processor.
        let busy = all(&trial(12, (1.0 - 0.012, 0, 0)), &usual);
        assert!(
            matches!(&busy[0], Flag::OtherLoad { resource: HostResource::Cpu, .. }),
            "{busy:?}"
        );
        assert!((35.0..60.0).contains(&slower(&busy)), "{busy:?}");
        // A quota leaves a tenth of it, of which the machine itself sees nothing.
        let held_back = all(&trial(30, (0.01, 0, 0)), &usual);
        assert_eq!(held_back.len(), 1, "{held_back:?}");
        assert!((15.0..25.0).contains(&slower(&held_back)), "{held_back:?}");
        // What lasts for most of the trials that are remembered is usual.
        let mut lasting = usual;
        lasting.extend((0..30).map(|n| trial(30 + n % 3, (0.01, 0, 0))));
        assert_eq!(all(&trial(30, (0.01, 0, 0)), &lasting), []);
        // However alike the others are, a little slower is none.
        assert_eq!(all(&trial(201, (0.0, 0, 0)), &vec![trial(400, (0.0, 0, 0)); 40]), []);
    }

    #[test]
    fn what_a_host_does_without_us_is_no_news() {
        let usual: Vec<Trial> = (0..20).map(|n| trial(400 + n, (0.3, 0, 0))).collect();
        let stalled = trial(4, (0.3, 0, 0));
        let known = |mut trial: Trial| {
            trial.loads[0].idle_baseline = 0.3;
            trial
        };
        let flags = all(&known(stalled), &usual.into_iter().map(known).collect::<Vec<_>>());
        assert!(matches!(flags[..], [Flag::FarSlower { .. }]), "{flags:?}");
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

    /// With two fifths of the trials held up, what is usual is what the others did; with three fifths it is that.
    #[test]
    fn what_is_held_up_often_is_still_seen() {
        let found = |slow: u64, quick: u64| {
            let held_up = (0..slow).map(|number| {
                let mut trial = trial(10 + number, (0.0, 0, 0));
                trial.result.flags.push(Flag::FarSlower { times: 10.0 });
                trial
            });
            let undisturbed = (0..quick).map(|number| trial(150 + 4 * number, (0.0, 0, 0)));
            let known: Vec<Trial> = held_up.chain(undisturbed).collect();
            let now = trial(20, (0.0, 0, 0));
            let flags = flags(&now.result, &now.loads, &known.iter().collect::<Vec<_>>());
            flags.iter().any(|flag| matches!(flag, Flag::FarSlower { .. }))
        };
        assert!(found(0, 50) && found(20, 30));
        assert!(!found(30, 20), "what goes on for most of them is no disturbance");
    }
}
