//! One host of a study: what it turned out to be, and its figures over all blocks.

use crate::figure::{BANDWIDTH, COUNT, Kind, RATE, TIME};
use crate::text::printable;
use plimsoll_explain::{Findings, Level, Levels};
use plimsoll_model::device::{DisturbedFigure, Measured, Part, Quantity};
use plimsoll_model::{
    BoxFacts, Device, Flag, HostName, Measure, Metric, Study, Subject, SubjectFacts,
};
use std::collections::BTreeMap;
use std::ops::Deref;

/// What marks a figure that was disturbed.
pub(super) const DISTURBED: char = '*';

/// A host of a study. Its details are those of the last measurement.
pub(crate) struct Host<'a> {
    pub(super) study: &'a Study,
    pub(super) facts: &'a BoxFacts,
    /// Its index in the plan.
    pub(super) number: u16,
    /// Its figures in the last measurement.
    pub(super) measured: Vec<Measured>,
    /// Its figures over the blocks, by part.
    levels: BTreeMap<Part, Levels>,
    disturbed: BTreeMap<Part, Disturbed>,
}

/// The figures of a part that were disturbed in any block.
#[derive(Default)]
pub(super) struct Disturbed {
    pub(super) figures: Vec<DisturbedFigure>,
    /// Of so many.
    pub(super) of: u32,
}

impl Deref for Host<'_> {
    type Target = Device;
    fn deref(&self) -> &Device {
        &self.facts.device
    }
}

/// Every host that a study measured by itself.
pub(crate) fn hosts<'a>(study: &'a Study, findings: &Findings) -> Vec<Host<'a>> {
    let numbered = (0..).zip(&study.subjects);
    let hosts = numbered.filter_map(|(number, facts)| Some((number, facts.host()?)));
    hosts.map(|(number, facts)| Host::new(study, findings, number, facts)).collect()
}

impl<'a> Host<'a> {
    fn new(study: &'a Study, findings: &Findings, number: u16, facts: &'a BoxFacts) -> Host<'a> {
        let mut levels = BTreeMap::new();
        for (part, found) in findings.workloads.iter().filter_map(|w| Some((part(w)?, w))) {
            let cell = found.cells.iter().find(|cell| cell.cell.subject == number);
            levels.extend(cell.map(|cell| (part, cell.levels.clone())));
        }
        let mut host = Host {
            study,
            facts,
            number,
            measured: facts.device.measured(),
            levels,
            disturbed: BTreeMap::new(),
        };
        let of_details = Part::ALL.map(|part| (part, facts.device.disturbed(part)));
        for (part, flag) in of_details.into_iter().filter_map(|(p, flag)| Some((p, flag?))) {
            host.add_disturbed(part, &flag);
        }
        for trial in study.trials.iter().filter(|trial| trial.cell.subject == number) {
            let main = study.plan.workload(trial.cell).and_then(|workload| workload.main());
            if let Some(part) = main.and_then(|main| main.job.device_part()) {
                trial.result.flags.iter().for_each(|flag| host.add_disturbed(part, flag));
            }
        }
        host
    }

    fn add_disturbed(&mut self, part: Part, flag: &Flag) {
        let Flag::FiguresDisturbed { figures, of } = flag else { return };
        let known = self.disturbed.entry(part).or_default();
        known.of = known.of.max(*of);
        for figure in figures {
            match known.figures.iter_mut().find(|known| known.figure == figure.figure) {
                Some(known) => {
                    known.cpu_share = least(known.cpu_share, figure.cpu_share);
                    known.slowest_share = least(known.slowest_share, figure.slowest_share);
                }
                None => known.figures.push(figure.clone()),
            }
        }
    }

    /// The host as the user named it.
    pub(super) fn name(&self) -> Option<&HostName> {
        match self.study.plan.subjects.get(usize::from(self.number))? {
            Subject::Host(subject) => Some(&subject.host),
            _ => None,
        }
    }

    /// A figure over the blocks that were measured whole, if there are any.
    fn level(&self, part: Part, figure: &str) -> Option<&Level> {
        let measured = self.measured.iter().find(|m| m.part == part && m.figure == figure)?;
        self.levels.get(&part)?.get(&Metric::all(measure(measured)?))
    }

    /// A figure over the blocks; where none was whole, as it was measured.
    pub(super) fn value(&self, part: Part, figure: &str, detail: f64) -> f64 {
        self.level(part, figure).map_or(detail, |level| level.estimate)
    }

    /// The same in words: "298 MB/s", "298 MB/s [291–305]"; marked where it was disturbed.
    pub(super) fn shown(&self, part: Part, figure: &str, detail: f64, kind: Kind) -> String {
        let interval = self.level(part, figure).and_then(|level| level.interval);
        let shown = kind.with_ends(self.value(part, figure, detail), interval);
        if self.is_disturbed(part, figure) { format!("{shown}{DISTURBED}") } else { shown }
    }

    /// One of its figures in words.
    pub(super) fn shown_figure(&self, figure: &Measured) -> String {
        self.shown(figure.part, &figure.figure, figure.value, figure_kind(figure.quantity))
    }

    /// What of a part was disturbed.
    pub(super) fn disturbed(&self, part: Part) -> Option<&Disturbed> {
        self.disturbed.get(&part)
    }

    /// Whether this figure was.
    pub(super) fn is_disturbed(&self, part: Part, figure: &str) -> bool {
        let figures = self.disturbed(part).map(|disturbed| &disturbed.figures);
        figures.is_some_and(|figures| figures.iter().any(|known| known.figure == figure))
    }

    /// Whether the measurements were short.
    pub(super) fn is_quick(&self) -> bool {
        let mut mains = self.study.plan.workloads.iter().filter_map(|workload| workload.main());
        mains.any(|main| main.job.is_quick())
    }

    /// Most blocks that any of its figures is from.
    pub(super) fn blocks(&self) -> usize {
        let levels = self.levels.values().flat_map(|levels| levels.values());
        levels.map(|level| level.trials).max().unwrap_or(0)
    }

    /// The name that users gave, for a line.
    pub(super) fn given(&self) -> String {
        printable(&self.facts.given)
    }
}

/// The part of a host that a workload measures alone. Figures that were measured during other work are none of the host.
fn part(found: &plimsoll_explain::WorkloadFindings) -> Option<Part> {
    let [only] = &found.workload.parts[..] else { return None };
    only.job.device_part()
}

/// The measure that a figure's trials have.
pub(super) fn measure(figure: &Measured) -> Option<Measure> {
    figure.info().ok().map(|info| info.measure)
}

/// What a host's figure is called: as in its facts, where it is of those.
pub(crate) fn figure(study: &Study, measure: Measure) -> Option<String> {
    let devices = study.subjects.iter().filter_map(SubjectFacts::host).map(|facts| &facts.device);
    let mut figures = devices.flat_map(|device| device.measured());
    let named = figures.find(|figure| self::measure(figure) == Some(measure));
    named.map(|figure| printable(&figure.figure))
}

/// How figures are shown.
fn figure_kind(quantity: Quantity) -> Kind {
    match quantity {
        Quantity::Iterations => COUNT,
        Quantity::Rounds | Quantity::Operations => RATE,
        Quantity::Bandwidth => BANDWIDTH,
        Quantity::Time => TIME,
    }
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
