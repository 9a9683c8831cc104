//! Where the CPU time of every watched host went, and what an operation cost it.

use crate::gather::Gathered;
use crate::thresholds::BUSY_ANYWAY;
use plimsoll_model::{Cell, CpuTimes, HostFacts, HostLoad, HostName, Study, Trial};
use plimsoll_stats::interval::{Interval, t_interval};
use std::collections::BTreeMap;

/// One trial tells nothing of how the idle baseline varies. What it cost is above idle if it is more
/// than so much of the baseline, and more than so many seconds: two ticks.
const BASELINE_VARIES: f64 = 0.5;
const TICKS_SECONDS: f64 = 0.02;

/// What was seen of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFindings {
    /// The host.
    pub host: HostName,
    /// A row for each cell it took part in: all of the client's, those of the subjects that a server
    /// serves.
    pub work: Vec<HostWork>,
    /// Share of one core that watching took on the host; `None` where that is not known.
    pub watching: Option<f64>,
    /// Cores that were busy on average by the kernel's accounting, and that tasks ran on by the
    /// scheduler's own clock; `None` where the latter cannot be read.
    pub seen_and_ran: Option<(f64, f64)>,
}

/// What the trials of one cell were for a host. Complete trials together, warm-up and final
/// flush included.
#[derive(Clone, Debug, PartialEq)]
pub struct HostWork {
    /// Which.
    pub cell: Cell,
    /// Trials it is from.
    pub trials: usize,
    /// Shares (0..1) of the time of all its cores by class.
    pub shares: CpuTimes,
    /// Busy share of its busiest core, the mean of the trials.
    pub busiest_core: f64,
    /// The fullest of its links whose rate is known.
    pub link: Option<LinkUse>,
    /// CPU seconds by class that one operation cost: busy minus idle baseline. The classes that are
    /// not busy are 0. A class may be below 0: see `above_idle`. `None` without operations.
    pub per_operation: Option<CpuTimes>,
    /// The same per payload byte.
    pub per_byte: Option<CpuTimes>,
    /// CPU seconds that an operation cost in each trial, with the interval of their mean (Student's
    /// t, at the study's confidence). `None` below two trials.
    pub operation_interval: Option<Interval>,
    /// The same per payload byte.
    pub byte_interval: Option<Interval>,
    /// Whether the cost can be distinguished from what the host does anyway.
    pub above_idle: bool,
    /// Whether other work took more than half of the time of its cores in idle windows, so that busy minus idle is no
    /// cost: there is none.
    pub busy_anyway: bool,
}

/// How full a link was, in its fuller direction, over the trials of a cell's figures together.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// The interface.
    pub interface: String,
    /// What it is connected at.
    pub bits_per_second: u64,
    /// Share (0..1) of that, headers of frames included.
    pub share: f64,
}

/// Every host that has loads, in the order of their first appearance.
pub(crate) fn hosts(study: &Study, gathered: &Gathered<'_>) -> Vec<HostFindings> {
    let mut names: Vec<&HostName> = Vec::new();
    for load in study.trials.iter().flat_map(|trial| &trial.loads) {
        if !names.contains(&&load.host) {
            names.push(&load.host);
        }
    }
    let facts = |host: &HostName| study.hosts.iter().find(|facts| facts.name == *host);
    let found_on = |host: &HostName| {
        let takes_part = |subject: u16| {
            let mut roles = study.plan.others().filter(|other| other.host == *host).peekable();
            study.plan.is_client(host)
                || roles.peek().is_none()
                || roles.any(|role| role.concerns(usize::from(subject)))
        };
        let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
        let cells = workloads.flat_map(|workload| gathered.cells(workload));
        let confidence = study.plan.design.confidence;
        let work = cells
            .filter(|cell| takes_part(cell.subject))
            .filter_map(|cell| work(&gathered.counted(cell), host, confidence))
            .map(|work| HostWork { link: link(&gathered.counted(work.cell), facts(host)), ..work });
        let loads = || study.trials.iter().filter_map(|trial| load_of(trial, host));
        HostFindings {
            host: host.clone(),
            work: work.collect(),
            watching: rate(loads().map(|load| (load.watcher_cpu_seconds, load.seconds))),
            seen_and_ran: rate(loads().map(|load| (load.run_seconds, load.seconds)))
                // The scheduler may count stolen time as run.
                .zip(rate(loads().map(|l| (Some(l.cpu.busy().0 + l.cpu.steal), l.seconds))))
                .map(|(ran, seen)| (seen, ran)),
        }
    };
    names.into_iter().map(found_on).collect()
}

fn load_of<'a>(trial: &'a Trial, host: &HostName) -> Option<&'a HostLoad> {
    trial.loads.iter().find(|load| load.host == *host)
}

/// CPU seconds per second; `None` where nothing has them.
fn rate(parts: impl Iterator<Item = (Option<f64>, f64)>) -> Option<f64> {
    let known = parts.filter_map(|(cpu, seconds)| Some((cpu?, seconds)));
    let (cpu, seconds) = known.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    (seconds > 0.0).then(|| cpu / seconds).filter(|rate| rate.is_finite())
}

fn work(trials: &[&Trial], host: &HostName, confidence: f64) -> Option<HostWork> {
    let loads: Vec<(&Trial, &HostLoad)> =
        trials.iter().filter_map(|trial| Some((*trial, load_of(trial, host)?))).collect();
    let (first, _) = loads.first()?;
    let mut cpu = CpuTimes::default();
    let mut caused = Some(CpuTimes::default());
    let (mut operations, mut bytes, mut busiest) = (0, 0, 0.0);
    for (trial, load) in &loads {
        cpu = cpu + load.cpu;
        caused = caused.zip(caused_by_class(load)).map(|(sum, more)| sum + more);
        let moved = trial.result.moved();
        operations += u128::from(moved.operations);
        bytes += u128::from(moved.bytes);
        busiest += load.cores_busy.iter().copied().fold(0.0, f64::max) / loads.len() as f64;
    }
    let idle_of = |load: &HostLoad| load.idle_baseline * load.seconds;
    let all_of = |load: &HostLoad| load.cores_busy.len() as f64 * load.seconds;
    let sum = |of: &dyn Fn(&HostLoad) -> f64| loads.iter().map(|(_, load)| of(load)).sum::<f64>();
    let all = sum(&all_of);
    let busy_anyway = all > 0.0 && sum(&idle_of) > BUSY_ANYWAY * all;
    let caused = caused.filter(|_| !busy_anyway);
    let per = |count: u128| caused.filter(|_| count > 0).map(|cpu| cpu * (1.0 / count as f64));
    let interval = |count: fn(&Trial) -> u64| {
        let costs = loads.iter().filter(|(trial, _)| count(trial) > 0);
        let costs: Vec<f64> =
            costs.map(|(trial, load)| load.caused().0 / count(trial) as f64).collect();
        t_interval(&costs, confidence)
    };
    let operation_interval = interval(|trial| trial.result.moved().operations);
    let byte_interval = interval(|trial| trial.result.moved().bytes);
    let counted: Vec<(f64, &HostLoad)> =
        loads.iter().map(|(trial, load)| (trial.result.moved().operations as f64, *load)).collect();
    let above_idle = above_idle(&counted, confidence);
    let total = cpu.total();
    (total > 0.0 && total.is_finite()).then(|| HostWork {
        cell: first.cell,
        trials: loads.len(),
        shares: cpu * (1.0 / total),
        busiest_core: busiest,
        link: None,
        per_operation: per(operations),
        per_byte: per(bytes),
        operation_interval,
        byte_interval,
        above_idle,
        busy_anyway,
    })
}

/// Whether what operations cost a host, so many of them during each load, can be distinguished from what it does
/// anyway.
pub(crate) fn above_idle(loads: &[(f64, &HostLoad)], confidence: f64) -> bool {
    let costs = loads.iter().filter(|(operations, _)| *operations > 0.0);
    let costs: Vec<f64> = costs.map(|(operations, load)| load.caused().0 / operations).collect();
    match t_interval(&costs, confidence) {
        Some(interval) => interval.low > 0.0,
        None => loads.iter().all(|(_, load)| {
            let idle = load.cpu.busy().0 - load.caused().0;
            load.caused().0 > TICKS_SECONDS + BASELINE_VARIES * idle
        }),
    }
}

/// The fullest link of a host in these trials.
fn link(trials: &[&Trial], facts: Option<&HostFacts>) -> Option<LinkUse> {
    let facts = facts?;
    let loads = || trials.iter().filter_map(|trial| load_of(trial, &facts.name));
    let seconds: f64 = loads().map(|load| load.seconds).sum();
    let mut moved: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for interface in loads().flat_map(|load| &load.interfaces) {
        let sums = moved.entry(&interface.name).or_default();
        sums.0 += interface.received_bytes as f64;
        sums.1 += interface.sent_bytes as f64;
    }
    let used = moved.into_iter().filter_map(|(name, (received, sent))| {
        let bits_per_second = facts.link_rate(name)?;
        let share = 8.0 * received.max(sent) / seconds / bits_per_second as f64;
        share.is_finite().then(|| LinkUse { interface: name.to_owned(), bits_per_second, share })
    });
    used.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Busy CPU seconds by class that the trial caused. `None` where the idle baseline by class is not
/// known though there was one.
fn caused_by_class(load: &HostLoad) -> Option<CpuTimes> {
    let idle = match load.idle {
        Some(idle) => idle,
        None if load.idle_baseline == 0.0 => CpuTimes::default(),
        None => return None,
    };
    // Not the difference of counters that runs no lower than 0: a class may be below its baseline.
    let above_idle = |class: fn(&CpuTimes) -> f64| class(&load.cpu) - class(&idle) * load.seconds;
    Some(CpuTimes {
        user: above_idle(|c| c.user),
        nice: above_idle(|c| c.nice),
        system: above_idle(|c| c.system),
        irq: above_idle(|c| c.irq),
        softirq: above_idle(|c| c.softirq),
        steal: 0.0,
        idle: 0.0,
        iowait: 0.0,
    })
}
