//! The machines that took part: how busy they were, trial by trial and inside the trials.

use super::over_time::{complete, phase};
use super::{Figure, Part};
use crate::chart::{Areas, Axis, COUNT, Heat, Layer, SECONDS, SHARE};
use crate::names;
use crate::study::Shown;
use crate::text::{capital, printable};
use explain::WorkloadFindings;
use model::{CpuStretch, CpuTimes, HostLoad, Trial};

/// One class out of all.
type Class = fn(&CpuTimes) -> f64;

/// The classes of CPU time that are busy, and waiting, which is idle. Those next to each other are
/// drawn in different lightness, which is what their styles are chosen for; nice and hard interrupts
/// are rare.
const CLASSES: [(&str, usize, Class); 7] = [
    ("user", 0, |cpu| cpu.user),
    ("nice", 5, |cpu| cpu.nice),
    ("system", 1, |cpu| cpu.system),
    ("hard interrupts", 4, |cpu| cpu.irq),
    ("soft interrupts", 2, |cpu| cpu.softirq),
    ("stolen", 6, |cpu| cpu.steal),
    ("waiting for I/O (idle)", 3, |cpu| cpu.iowait),
];

/// CPU by class and core of every host that was watched; `None` where none was.
pub(super) fn part(shown: &Shown<'_>) -> Option<Part> {
    let mut part = Part {
        id: "machines".to_owned(),
        heading: "CPU of the machines".to_owned(),
        ..Part::default()
    };
    let mut hosts: Vec<&str> = Vec::new();
    for load in shown.study.trials.iter().flat_map(|t| &t.loads) {
        if !hosts.contains(&load.host.as_str()) {
            hosts.push(&load.host);
        }
    }
    for (number, host) in hosts.into_iter().enumerate() {
        let loads: Vec<(u32, &HostLoad)> = shown
            .study
            .trials
            .iter()
            .filter_map(|t| Some((t.number, t.loads.iter().find(|l| l.host == host)?)))
            .collect();
        let id = match number {
            0 => "cpu".to_owned(),
            n => format!("cpu-{}", n + 1),
        };
        part.figures.push(classes(&loads, host, id.clone()));
        part.figures.extend(cores(&loads, host, format!("{id}-cores")));
    }
    (!part.figures.is_empty()).then_some(part)
}

/// Classes of CPU time as shares of all cores, a stretch a trial.
fn classes(loads: &[(u32, &HostLoad)], host: &str, id: String) -> Figure {
    let layers = CLASSES.iter().map(|(label, style, of)| Layer {
        label: (*label).to_owned(),
        style: *style,
        values: loads.iter().map(|(_, load)| of(&load.cpu) / load.cpu.total()).collect(),
    });
    let caption =
        "Share of the time of all cores in each trial, warm-up included, in the order run. \
                   What is missing to 100% was idle."
            .to_owned();
    let chart = Areas {
        title: format!("CPU of {} by class", printable(host)),
        description: caption.clone(),
        x: Axis::new("trial, in the order run", COUNT),
        y: Axis::new("share of all cores", SHARE),
        whole: Some(1.0),
        edges: (0..=loads.len()).map(|i| i as f64).collect(),
        layers: worth_showing(layers),
        phases: Vec::new(),
    };
    Figure { id, chart: Box::new(chart), caption }
}

/// Targets up to which each has a chart of every host under every workload.
const WITHIN: usize = 4;
/// Shorter stretches, such as a rest at the end, hold too few ticks to tell classes apart.
const SHORTEST_SECONDS: f64 = 0.1;

/// CPU by class over the time of a trial, for every target and every host that was looked at
/// meanwhile.
pub(super) fn within(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    part: &str,
    name: &str,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for target in found.targets.iter().filter(|t| t.complete > 0).take(WITHIN) {
        let trials = complete(shown, target.target, &found.workload);
        let mut hosts: Vec<&str> = Vec::new();
        for load in trials.iter().flat_map(|t| &t.loads).filter(|l| !l.stretches.is_empty()) {
            if !hosts.contains(&load.host.as_str()) {
                hosts.push(&load.host);
            }
        }
        for (number, host) in hosts.into_iter().enumerate() {
            let id = format!("{part}-cpu-{}-{}", target.target + 1, number + 1);
            let subject = names::of(&shown.names, target.target);
            let title =
                format!("{}, {subject}: CPU of {} over time", capital(name), printable(host));
            figures.extend(over_trial(&trials, host, id, title, &subject));
        }
    }
    figures
}

fn over_trial(
    trials: &[&Trial],
    host: &str,
    id: String,
    title: String,
    subject: &str,
) -> Option<Figure> {
    let loads = || trials.iter().flat_map(|t| &t.loads).filter(|l| l.host == host);
    let most = loads().map(|l| l.stretches.len()).max()?;
    let (mut edges, mut sums) = (vec![0.0], Vec::new());
    for at in 0..most {
        let stretches: Vec<&CpuStretch> = loads().filter_map(|l| l.stretches.get(at)).collect();
        let seconds = stretches.iter().map(|s| s.seconds).sum::<f64>() / stretches.len() as f64;
        if seconds < SHORTEST_SECONDS || !seconds.is_finite() {
            continue;
        }
        edges.push(edges.last().copied().unwrap_or(0.0) + seconds);
        sums.push(stretches.iter().fold(CpuTimes::default(), |sum, s| sum + s.cpu));
    }
    let caption =
        "Share of the time of all cores, the mean of the trials. What is missing to 100% \
                   was idle."
            .to_owned();
    let layers = CLASSES.iter().map(|(label, style, of)| Layer {
        label: (*label).to_owned(),
        style: *style,
        values: sums.iter().map(|cpu| of(cpu) / cpu.total()).collect(),
    });
    let chart = Areas {
        title,
        description: caption.clone(),
        x: Axis::new("time in the trial", SECONDS),
        y: Axis::new("share of all cores", SHARE),
        whole: Some(1.0),
        edges,
        layers: worth_showing(layers),
        phases: phase(trials, subject).into_iter().collect(),
    };
    (sums.len() > 1).then(|| Figure { id, chart: Box::new(chart), caption })
}

/// Classes that can be seen somewhere.
fn worth_showing(layers: impl Iterator<Item = Layer>) -> Vec<Layer> {
    layers.filter(|layer| layer.values.iter().any(|share| *share > 0.002)).collect()
}

/// Busy share of each core: one that is full limits like a full host.
fn cores(loads: &[(u32, &HostLoad)], host: &str, id: String) -> Option<Figure> {
    let count = loads.iter().map(|(_, load)| load.cores_busy.len()).max()?;
    if count < 2 {
        return None;
    }
    let row = |core: usize| {
        let busy = loads.iter().map(|(_, load)| load.cores_busy.get(core).copied());
        (format!("{core}"), busy.collect())
    };
    let caption =
        "Darkness: how busy each core was in each trial. One full core limits like a full \
                   machine where the work does not spread."
            .to_owned();
    let chart = Heat {
        title: format!("Cores of {}", printable(host)),
        description: caption.clone(),
        x: "trial, in the order run".to_owned(),
        columns: loads.iter().map(|(number, _)| number.to_string()).collect(),
        y: "core".to_owned(),
        rows: (0..count).map(row).collect(),
        value: "share of the time busy".to_owned(),
        kind: SHARE,
        darkest: 1.0,
    };
    Some(Figure { id, chart: Box::new(chart), caption })
}
