//! The machines that took part: how busy they were, trial by trial and inside the trials.

use super::common::only_some;
use super::over_time::{complete, phase};
use super::resources;
use crate::chart::{Areas, Axis, COUNT, Heat, Layer, SECONDS, SHARE};
use crate::document::{Figure, Layout, Section};
use crate::study::{Shown, hosts};
use crate::text::capital;
use plimsoll_explain::{CellFindings, HostFindings, WorkloadFindings};
use plimsoll_model::{CpuTimes, HostLoad, HostName, LoadStretch, Trial};

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

/// A section for every host that was watched: where its CPU time went, and what its memory, its
/// network and its disks did.
pub(super) fn sections(shown: &Shown<'_>) -> Vec<Section> {
    let hosts = shown.findings.hosts.iter().enumerate();
    hosts.map(|(number, host)| section(shown, number, host)).collect()
}

fn section(shown: &Shown<'_>, number: usize, host: &HostFindings) -> Section {
    // Of a server the trials of other subjects show nothing but its rest.
    let takes_part = |t: &&Trial| {
        host.work.is_empty() || host.work.iter().any(|work| work.cell.subject == t.cell.subject)
    };
    let trials = shown.study.trials.iter().filter(takes_part);
    let loads: Vec<(u32, &HostLoad)> = trials
        .filter_map(|t| Some((t.number, t.loads.iter().find(|l| l.host == host.host)?)))
        .collect();
    // The first is the machine that plimsoll ran on.
    let numbered = |name: &str| match number {
        0 => name.to_owned(),
        n => format!("{name}-{}", n + 1),
    };
    let id = numbered("cpu");
    let mut figures = vec![classes(&loads, &host.host, id.clone())];
    figures.extend(cores(&loads, &host.host, format!("{id}-cores")));
    if host.host != HostName::Local {
        figures.extend(resources::figures(&loads, &host.host, &numbered("machine")));
    }
    let mut section = Section::details(numbered("machines"), hosts::heading(host));
    if !host.work.is_empty() {
        section.table(hosts::classes(shown, host).table(), Layout::Figures);
        section.table(hosts::costs(shown, host).table(), Layout::Words);
        section.texts(hosts::remarks(shown, host));
    }
    section.texts(hosts::without_probe(shown, host));
    section.figures(figures);
    section
}

/// Classes of CPU time as shares of all cores, a stretch a trial.
fn classes(loads: &[(u32, &HostLoad)], host: &HostName, id: String) -> Figure {
    let layers = CLASSES.iter().map(|(label, style, of)| Layer {
        label: (*label).to_owned(),
        style: *style,
        values: loads.iter().map(|(_, load)| of(&load.cpu) / load.cpu.total()).collect(),
    });
    let caption =
        "Share of the time of all cores in each trial, warm-up included, in the order run. The rest up to \
         100% was idle."
            .to_owned();
    let chart = Areas {
        title: format!("CPU of {} by class", hosts::name(host)),
        description: caption.clone(),
        x: Axis::new("trial, in the order run", COUNT),
        y: Axis::new("share of all cores", SHARE),
        whole: Some(1.0),
        edges: (0..=loads.len()).map(|i| i as f64).collect(),
        layers: worth_showing(layers),
        phases: Vec::new(),
    };
    Figure::new(id, Box::new(chart), caption)
}

/// Subjects up to which each has a chart of every host under every workload.
const WITHIN: usize = 4;
/// Shorter stretches, such as a rest at the end, hold too few ticks to tell classes apart.
const SHORTEST_SECONDS: f64 = 0.1;

/// CPU by class over the time of a trial, for every subject and every host that was looked at
/// meanwhile.
pub(super) fn within(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    part: &str,
    name: &str,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    let measured = || found.cells.iter().filter(|c| c.complete > 0);
    let only = only_some(WITHIN, measured().count());
    for CellFindings { cell, .. } in measured().take(WITHIN) {
        let trials = complete(shown, *cell);
        let takes_part = |host: &&HostFindings| host.work.iter().any(|w| w.cell == *cell);
        let hosts = shown.findings.hosts.iter().filter(takes_part);
        for (number, host) in hosts.map(|host| &host.host).enumerate() {
            let place = shown.names.place(*cell) + 1;
            let id = format!("{part}-cpu-{place}-{}", number + 1);
            let setup = shown.names.setup(*cell);
            let title =
                format!("{}, {setup}: CPU of {} over time", capital(name), hosts::name(host));
            figures.extend(over_trial(&trials, host, id, title, &setup, &only));
        }
    }
    figures
}

fn over_trial(
    trials: &[&Trial],
    host: &HostName,
    id: String,
    title: String,
    setup: &str,
    only: &str,
) -> Option<Figure> {
    let loads = || trials.iter().flat_map(|t| &t.loads).filter(|l| l.host == *host);
    let most = loads().map(|l| l.stretches.len()).max()?;
    let (mut edges, mut sums) = (vec![0.0], Vec::new());
    for at in 0..most {
        let stretches: Vec<&LoadStretch> = loads().filter_map(|l| l.stretches.get(at)).collect();
        let seconds = stretches.iter().map(|s| s.seconds).sum::<f64>() / stretches.len() as f64;
        if seconds < SHORTEST_SECONDS || !seconds.is_finite() {
            continue;
        }
        edges.push(edges.last().copied().unwrap_or(0.0) + seconds);
        sums.push(stretches.iter().fold(CpuTimes::default(), |sum, s| sum + s.cpu));
    }
    let caption = format!(
        "Share of the time of all cores, the mean of the trials. The rest up to 100% was idle.{only}"
    );
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
        phases: phase(trials, setup).into_iter().collect(),
    };
    (sums.len() > 1).then(|| Figure::new(id, Box::new(chart), caption))
}

/// Classes that can be seen somewhere.
fn worth_showing(layers: impl Iterator<Item = Layer>) -> Vec<Layer> {
    layers.filter(|layer| layer.values.iter().any(|share| *share > 0.002)).collect()
}

/// Busy share of each core: one that is full limits like a full host.
fn cores(loads: &[(u32, &HostLoad)], host: &HostName, id: String) -> Option<Figure> {
    let count = loads.iter().map(|(_, load)| load.cores_busy.len()).max()?;
    if count < 2 {
        return None;
    }
    let row = |core: usize| {
        let busy = loads.iter().map(|(_, load)| load.cores_busy.get(core).copied());
        (format!("{core}"), busy.collect())
    };
    let caption =
        "Darker is busier: each core in each trial. One saturated core is the bottleneck of work that \
         cannot use several cores."
            .to_owned();
    let chart = Heat {
        title: format!("Cores of {}", hosts::name(host)),
        description: caption.clone(),
        x: "trial, in the order run".to_owned(),
        columns: loads.iter().map(|(number, _)| number.to_string()).collect(),
        y: "core".to_owned(),
        rows: (0..count).map(row).collect(),
        value: "share of the time busy".to_owned(),
        kind: SHARE,
        darkest: 1.0,
    };
    Some(Figure::new(id, Box::new(chart), caption))
}
